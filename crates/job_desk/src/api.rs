//! The routes.

use super::desk::JobDesk;
use super::orders::JobOrder;
use super::replies::{BackupsReply, JobApiRefusal, JobReply};
use axum::Extension;
use axum::extract::{Json, Path, Query, State};
use grid::tokens::Caller;
use jobs::{CancelReply, JobNumber};
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
pub fn router(desk: JobDesk) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show, cancel))
        .routes(routes!(backups, back_up))
        .routes(routes!(rehearse))
        .routes(routes!(verify))
        .with_state(desk)
}

/// A backup that is ordered.
#[derive(Deserialize, ToSchema)]
#[schema(as = BackupOrder)]
#[serde(deny_unknown_fields)]
pub(super) struct BackupOrderBody {
    /// Whole path of a directory of backups on the server's machine; the configured one without it. With the token of the data directory only.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 1000)]
    directory: Option<String>,
}

/// A rehearsal that is ordered.
#[derive(Deserialize, ToSchema)]
#[schema(as = RehearsalOrder)]
#[serde(deny_unknown_fields)]
pub(super) struct RehearsalOrderBody {
    /// Name of a backup in the configured directory; the newest one without it.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 40)]
    backup: Option<String>,
}

/// A look through all that is stored.
#[derive(Deserialize, ToSchema)]
#[schema(as = VerifyOrder)]
#[serde(deny_unknown_fields)]
pub(super) struct VerifyOrderBody {
    /// Also read the bytes of all files, and compare their hashes.
    #[serde(default)]
    deep: bool,
}

/// The wait for a job.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct JobQuery {
    /// Answer when the job has ended, or after this number of seconds; at once without it.
    #[serde(default)]
    #[param(maximum = 30)]
    pub wait_s: Option<u64>,
}

/// All jobs that wait and run, and the last 500 that have ended.
#[utoipa::path(get, path = "/v1/jobs", operation_id = "list_jobs", security(("token" = ["backup"])),
    responses((status = 200, description = "The newest first.", body = Vec<JobReply>)))]
pub(super) async fn list(State(desk): State<JobDesk>) -> Json<Vec<JobReply>> {
    Json(desk.jobs().iter().map(JobReply::new).collect())
}

/// A job with the figures of its outcome.
#[utoipa::path(get, path = "/v1/jobs/{id}", operation_id = "show_job", params(("id" = u64, Path), JobQuery),
    security(("token" = ["backup"])),
    responses((status = 200, body = JobReply), (status = 404, description = "There is no such job.")))]
pub(super) async fn show(
    State(desk): State<JobDesk>,
    Path(id): Path<u64>,
    Query(JobQuery { wait_s }): Query<JobQuery>,
) -> Result<Json<JobReply>, JobApiRefusal> {
    let number = JobNumber(id);
    let job = desk.wait(number, Duration::from_secs(wait_s.unwrap_or(0))).await;
    job.map(|job| Json(JobReply::with_result(&job))).ok_or_else(|| JobApiRefusal::unknown(number))
}

/// End a waiting job, or ask a running one to end, which takes some seconds.
#[utoipa::path(delete, path = "/v1/jobs/{id}", operation_id = "cancel_job", params(("id" = u64, Path)),
    security(("token" = ["backup"])),
    responses(
        (status = 200, description = "It has ended, or has been asked to.", body = JobReply),
        (status = 404, description = "There is no such job."),
        (status = 409, description = "It had ended before."),
        (status = 503, description = "The database does not answer, or the server ends."),
    ))]
pub(super) async fn cancel(
    State(desk): State<JobDesk>,
    Path(id): Path<u64>,
) -> Result<Json<JobReply>, JobApiRefusal> {
    let number = JobNumber(id);
    match desk.cancel(number).await? {
        CancelReply::Ended | CancelReply::Asked => {}
        CancelReply::Over(state) => {
            return Err(JobApiRefusal::conflict(format!("Job {number} is {state} already.")));
        }
        CancelReply::Unknown => return Err(JobApiRefusal::unknown(number)),
    }
    let job = desk.job(number);
    job.map(|job| Json(JobReply::new(&job))).ok_or_else(|| JobApiRefusal::unknown(number))
}

/// The backups in the configured directory, with the times of their verification and rehearsal.
#[utoipa::path(get, path = "/v1/backups", operation_id = "list_backups", security(("token" = ["backup"])),
    responses((status = 200, body = BackupsReply)))]
pub(super) async fn backups(State(desk): State<JobDesk>) -> Json<BackupsReply> {
    Json(BackupsReply::new(&desk.status))
}

/// Order a backup.
#[utoipa::path(post, path = "/v1/backups", operation_id = "back_up", request_body = BackupOrderBody,
    security(("token" = ["backup"])),
    responses(
        (status = 200, description = "It waits or runs.", body = JobReply),
        (status = 403, description = "Only the token of the data directory may name a directory."),
        (status = 409, description = "No directory is configured, it is no whole path, or the same work waits or runs."),
        (status = 429, description = "As many jobs wait as may."),
        (status = 503, description = "The database does not answer, or the server ends."),
    ))]
pub(super) async fn back_up(
    State(desk): State<JobDesk>,
    Extension(caller): Extension<Arc<Caller>>,
    Json(BackupOrderBody { directory }): Json<BackupOrderBody>,
) -> Result<Json<JobReply>, JobApiRefusal> {
    let directory = match directory.map(PathBuf::from) {
        None => desk.status.directory().map(ToOwned::to_owned).ok_or_else(no_directory)?,
        Some(_) if !caller.is_operator() => {
            let why = "A directory may be named with the token of the data directory only.";
            return Err(JobApiRefusal::forbidden(why));
        }
        Some(directory) if directory.is_absolute() => directory,
        Some(directory) => {
            return Err(JobApiRefusal::conflict(format!("{} is no whole path.", directory.display())));
        }
    };
    order(&desk, JobOrder::Backup { directory }, &caller).await
}

/// Order a rehearsal: a backup of the configured directory is restored for trial, verified byte by byte, and its worlds run for a second.
#[utoipa::path(post, path = "/v1/rehearsals", operation_id = "rehearse_backup", request_body = RehearsalOrderBody,
    security(("token" = ["backup"])),
    responses(
        (status = 200, description = "It waits or runs.", body = JobReply),
        (status = 409, description = "No directory is configured, or the same work waits or runs."),
        (status = 429, description = "As many jobs wait as may."),
        (status = 503, description = "The database does not answer, or the server ends."),
    ))]
pub(super) async fn rehearse(
    State(desk): State<JobDesk>,
    Extension(caller): Extension<Arc<Caller>>,
    Json(RehearsalOrderBody { backup }): Json<RehearsalOrderBody>,
) -> Result<Json<JobReply>, JobApiRefusal> {
    if desk.status.directory().is_none() {
        return Err(no_directory());
    }
    order(&desk, JobOrder::Rehearsal { backup }, &caller).await
}

/// Order a look through all that is stored.
#[utoipa::path(post, path = "/v1/verify", operation_id = "verify", request_body = VerifyOrderBody,
    security(("token" = ["backup"])),
    responses(
        (status = 200, description = "It waits or runs.", body = JobReply),
        (status = 409, description = "The same work waits or runs."),
        (status = 429, description = "As many jobs wait as may."),
        (status = 503, description = "The database does not answer, or the server ends."),
    ))]
pub(super) async fn verify(
    State(desk): State<JobDesk>,
    Extension(caller): Extension<Arc<Caller>>,
    Json(VerifyOrderBody { deep }): Json<VerifyOrderBody>,
) -> Result<Json<JobReply>, JobApiRefusal> {
    order(&desk, JobOrder::Verification { is_deep: deep }, &caller).await
}

async fn order(desk: &JobDesk, order: JobOrder, caller: &Caller) -> Result<Json<JobReply>, JobApiRefusal> {
    let job = desk.submit(order, &caller.name).await?;
    Ok(Json(JobReply::new(&job)))
}

fn no_directory() -> JobApiRefusal {
    JobApiRefusal::conflict("No directory of backups is configured (`backup.directory`).")
}
