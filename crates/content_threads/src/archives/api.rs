//! The routes. Files lie in the folder `archives` of the data directory, so that a token opens no other file of the machine.

use super::bodies::{IarLoadBody, IarSaveBody, OarLoadBody, OarSaveBody, rights_of};
use super::iar_load::IarLoad;
use super::iar_save::IarSave;
use super::oar_load::OarLoad;
use super::oar_save::{OarSave, OarSaveOptions};
use super::parts::ArchiveParts;
use axum::Extension;
use axum::extract::{Json, Path, Query, State};
use grid::tokens::Caller;
use job_desk::{JobApiRefusal, JobDesk, JobOrder, JobQuery, JobReply, JobWork};
use jobs::{CancelReply, JobEntry, JobGroup, JobNumber};
use std::path::Path as FilePath;
use std::sync::Arc;
use std::time::Duration;
use telemetry::recorder::frame_end;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The whole inventory.
const ALL: &str = "/";

/// State behind the routes.
#[derive(Clone)]
pub(super) struct ArchiveDesk {
    parts: Arc<ArchiveParts>,
    jobs: JobDesk,
}

/// The routes.
pub fn router(parts: Arc<ArchiveParts>, jobs: JobDesk) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(load_oar))
        .routes(routes!(save_oar))
        .routes(routes!(load_iar))
        .routes(routes!(save_iar))
        .routes(routes!(list_jobs))
        .routes(routes!(show_job, cancel_job))
        .with_state(ArchiveDesk { parts, jobs })
}

/// Order a load of an archive into a region: a job, whose outcome has the figures. The region has all of it in the end, or nothing, also after a crash.
#[utoipa::path(post, path = "/v1/archives/oar/load", operation_id = "load_oar", request_body = OarLoadBody,
    security(("token" = ["archives"])),
    responses(
        (status = 200, description = "It waits or runs.", body = JobReply),
        (status = 400, description = "That is not the name of a file, or a number has no meaning."),
        (status = 404, description = "There is no such file or region."),
        (status = 409, description = "The same work waits or runs."),
        (status = 429, description = "As many jobs wait as may."),
        (status = 503, description = "The database does not answer, or the server ends."),
    ))]
pub(super) async fn load_oar(
    State(desk): State<ArchiveDesk>,
    Extension(caller): Extension<Arc<Caller>>,
    Json(body): Json<OarLoadBody>,
) -> Result<Json<JobReply>, JobApiRefusal> {
    let options = body.options().map_err(JobApiRefusal::bad)?;
    let OarLoadBody { file, title, region, .. } = body;
    desk.parts.region(&region).map_err(JobApiRefusal::absent)?;
    desk.need_file(&file)?;
    let title = shown_title(title, &file);
    let parts = Arc::clone(&desk.parts);
    desk.order(OarLoad { parts, region, file, title, options }, &caller).await
}

/// Order a save of a region, or of all, into a new archive: a job. The region is as it was in one moment, while building continues.
#[utoipa::path(post, path = "/v1/archives/oar/save", operation_id = "save_oar", request_body = OarSaveBody,
    security(("token" = ["archives"])),
    responses(
        (status = 200, description = "It waits or runs.", body = JobReply),
        (status = 400, description = "No such file can be made, or the rights have other letters."),
        (status = 404, description = "There is no such region."),
        (status = 409, description = "The same work waits or runs."),
        (status = 429, description = "As many jobs wait as may."),
        (status = 503, description = "The database does not answer, or the server ends."),
    ))]
pub(super) async fn save_oar(
    State(desk): State<ArchiveDesk>,
    Extension(caller): Extension<Arc<Caller>>,
    Json(body): Json<OarSaveBody>,
) -> Result<Json<JobReply>, JobApiRefusal> {
    let OarSaveBody { file, title, region, home, no_assets, publish, perm } = body;
    let rights = rights_of(perm.as_deref()).map_err(JobApiRefusal::bad)?;
    desk.parts.path(&file).map_err(JobApiRefusal::bad)?;
    if let Some(region) = &region {
        desk.parts.region(region).map_err(JobApiRefusal::absent)?;
    }
    let options = OarSaveOptions { home, skips_assets: no_assets, is_published: publish, rights };
    let title = shown_title(title, &file);
    let parts = Arc::clone(&desk.parts);
    desk.order(OarSave { parts, region, file, title, options }, &caller).await
}

/// Order a load of an archive into a folder of an inventory: a job. All of it is in the inventory then, or nothing.
#[utoipa::path(post, path = "/v1/archives/iar/load", operation_id = "load_iar", request_body = IarLoadBody,
    security(("token" = ["archives"])),
    responses(
        (status = 200, description = "It waits or runs.", body = JobReply),
        (status = 400, description = "That is not the name of a file."),
        (status = 404, description = "There is no such file or account."),
        (status = 409, description = "The same work waits or runs."),
        (status = 429, description = "As many jobs wait as may."),
        (status = 503, description = "The database does not answer, or the server ends."),
    ))]
pub(super) async fn load_iar(
    State(desk): State<ArchiveDesk>,
    Extension(caller): Extension<Arc<Caller>>,
    Json(body): Json<IarLoadBody>,
) -> Result<Json<JobReply>, JobApiRefusal> {
    let IarLoadBody { file, title, user, folder, merge: is_merged, skip_assets: skips_assets } = body;
    desk.need_file(&file)?;
    desk.need_account(&user).await?;
    let title = shown_title(title, &file);
    let folder = folder.unwrap_or_else(|| ALL.to_owned());
    let parts = Arc::clone(&desk.parts);
    desk.order(IarLoad { parts, user, folder, file, title, is_merged, skips_assets }, &caller).await
}

/// Order a save of a folder of an inventory into a new archive: a job.
#[utoipa::path(post, path = "/v1/archives/iar/save", operation_id = "save_iar", request_body = IarSaveBody,
    security(("token" = ["archives"])),
    responses(
        (status = 200, description = "It waits or runs.", body = JobReply),
        (status = 400, description = "No such file can be made, or the rights have other letters."),
        (status = 404, description = "There is no such account."),
        (status = 409, description = "The same work waits or runs."),
        (status = 429, description = "As many jobs wait as may."),
        (status = 503, description = "The database does not answer, or the server ends."),
    ))]
pub(super) async fn save_iar(
    State(desk): State<ArchiveDesk>,
    Extension(caller): Extension<Arc<Caller>>,
    Json(body): Json<IarSaveBody>,
) -> Result<Json<JobReply>, JobApiRefusal> {
    let IarSaveBody { file, title, user, folder, home, no_assets: skips_assets, perm } = body;
    let rights = rights_of(perm.as_deref()).map_err(JobApiRefusal::bad)?;
    desk.parts.path(&file).map_err(JobApiRefusal::bad)?;
    desk.need_account(&user).await?;
    let title = shown_title(title, &file);
    let folder = folder.unwrap_or_else(|| ALL.to_owned());
    let parts = Arc::clone(&desk.parts);
    desk.order(IarSave { parts, user, folder, file, title, home, skips_assets, rights }, &caller).await
}

/// Jobs on archives that wait and run, and those of the last 500 jobs that have ended.
#[utoipa::path(get, path = "/v1/archives/jobs", operation_id = "list_archive_jobs",
    security(("token" = ["archives"])),
    responses((status = 200, description = "The newest first.", body = Vec<JobReply>)))]
pub(super) async fn list_jobs(State(desk): State<ArchiveDesk>) -> Json<Vec<JobReply>> {
    Json(desk.jobs.jobs().iter().filter(|job| is_of_archives(job)).map(JobReply::new).collect())
}

/// A job on an archive with the figures of its outcome.
#[utoipa::path(get, path = "/v1/archives/jobs/{id}", operation_id = "show_archive_job",
    params(("id" = u64, Path), JobQuery), security(("token" = ["archives"])),
    responses((status = 200, body = JobReply), (status = 404, description = "There is no such job.")))]
pub(super) async fn show_job(
    State(desk): State<ArchiveDesk>,
    Path(id): Path<u64>,
    Query(JobQuery { wait_s }): Query<JobQuery>,
) -> Result<Json<JobReply>, JobApiRefusal> {
    let number = desk.need_job(id)?;
    let job = desk.jobs.wait(number, Duration::from_secs(wait_s.unwrap_or(0))).await;
    job.map(|job| Json(JobReply::with_result(&job))).ok_or_else(|| JobApiRefusal::unknown(number))
}

/// End a waiting job on an archive, or ask a running one to end: what has come of it goes.
#[utoipa::path(delete, path = "/v1/archives/jobs/{id}", operation_id = "cancel_archive_job",
    params(("id" = u64, Path)), security(("token" = ["archives"])),
    responses(
        (status = 200, description = "It has ended, or has been asked to.", body = JobReply),
        (status = 404, description = "There is no such job."),
        (status = 409, description = "It had ended before."),
        (status = 503, description = "The database does not answer, or the server ends."),
    ))]
pub(super) async fn cancel_job(
    State(desk): State<ArchiveDesk>,
    Path(id): Path<u64>,
) -> Result<Json<JobReply>, JobApiRefusal> {
    let number = desk.need_job(id)?;
    match desk.jobs.cancel(number).await? {
        CancelReply::Ended | CancelReply::Asked => {}
        CancelReply::Over(state) => {
            return Err(JobApiRefusal::conflict(format!("Job {number} is {state} already.")));
        }
        CancelReply::Unknown => return Err(JobApiRefusal::unknown(number)),
    }
    let job = desk.jobs.job(number);
    job.map(|job| Json(JobReply::new(&job))).ok_or_else(|| JobApiRefusal::unknown(number))
}

impl ArchiveDesk {
    async fn order(
        &self,
        work: impl JobWork + 'static,
        caller: &Caller,
    ) -> Result<Json<JobReply>, JobApiRefusal> {
        let job = self.jobs.submit(JobOrder::Other(Arc::new(work)), &caller.name).await?;
        Ok(Json(JobReply::new(&job)))
    }

    /// Refuses a file that is not there: the job would fail.
    fn need_file(&self, file: &FilePath) -> Result<(), JobApiRefusal> {
        let path = self.parts.path(file).map_err(JobApiRefusal::bad)?;
        if path.is_file() {
            Ok(())
        } else {
            Err(JobApiRefusal::absent(format!("There is no file {}.", path.display())))
        }
    }

    /// Refuses a name without an account.
    async fn need_account(&self, name: &str) -> Result<(), JobApiRefusal> {
        let (parts, asked) = (Arc::clone(&self.parts), name.to_owned());
        let find = move || {
            let found = parts.find_account(&asked);
            // The runtime marks idle time of its workers, but not of these threads.
            frame_end();
            found
        };
        let found = tokio::task::spawn_blocking(find).await;
        match found.expect("blocking work does not panic and is not cancelled") {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(JobApiRefusal::absent(format!("There is no account {name:?}."))),
            Err(error) => Err(JobApiRefusal::unavailable(format!("The database does not answer: {error}."))),
        }
    }

    /// The number of a job on an archive: others are none of this scope.
    fn need_job(&self, id: u64) -> Result<JobNumber, JobApiRefusal> {
        let number = JobNumber(id);
        let job = self.jobs.job(number).filter(is_of_archives);
        job.map(|_| number).ok_or_else(|| JobApiRefusal::unknown(number))
    }
}

fn is_of_archives(job: &JobEntry) -> bool {
    job.kind.group() == JobGroup::Archives
}

/// The name of an archive in lists and in the log.
fn shown_title(title: Option<String>, file: &FilePath) -> String {
    let title = title.unwrap_or_else(|| file.display().to_string());
    title.chars().map(|c| if c.is_control() { '_' } else { c }).collect()
}
