//! Assets over the operator's address: `/v1/assets` and `/v1/asset-reports`, with tokens of the scopes `assets.read` and `assets.write`.
//!
//! Each request reads the database on a thread of its own. The report on assets that nothing names is a job.

use super::archives::{ArchiveParts, AssetReport};
use super::asset_threads::AssetFigures;
use super::content::ConfiguredContent;
use assets::AssetKind;
use axum::Extension;
use axum::extract::{Json, Path, Query, State};
use grid::tokens::Caller;
use ids::{AgentId, Uuid};
use job_desk::{JobApiRefusal, JobDesk, JobOrder, JobQuery, JobReply};
use jobs::{JobEntry, JobKind, JobNumber};
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;
use store::{AssetContent, AssetCount, AssetRow, Store, StoreError, StoreUrl, StoredAsset};
use telemetry::recorder::frame_end;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use workplace::opaque_debug;

/// Contents in quarantine that one answer lists.
const LISTED_MAX: u32 = 500;
/// Assets that are named of each content.
const NAMED_MAX: u32 = 8;

/// State behind the routes.
#[derive(Clone)]
pub struct AssetDesk {
    /// Rows of assets and accounts.
    pub store: Arc<Store>,
    /// Figures of the threads of assets.
    pub figures: Arc<AssetFigures>,
    /// Takes orders of reports.
    pub jobs: JobDesk,
    /// The parts that reports use.
    pub parts: Arc<ArchiveParts>,
    /// Address of the database, for reports.
    pub database: StoreUrl,
    /// Content of the templates, whose assets are named, too.
    pub templates: Arc<[ConfiguredContent]>,
    /// Days of a pass of the scrubber.
    pub scrub_days: u32,
}

opaque_debug!(AssetDesk);

/// The routes.
pub fn router(desk: AssetDesk) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show))
        .routes(routes!(verify))
        .routes(routes!(order_report))
        .routes(routes!(show_report))
        .with_state(desk)
}

impl AssetDesk {
    async fn blocking<R: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<R, JobApiRefusal> + Send + 'static,
    ) -> Result<R, JobApiRefusal> {
        let desk = self.clone();
        let recorded = move || {
            let done = work(&desk);
            // The runtime marks idle time of its workers, but not of these threads.
            frame_end();
            done
        };
        let done = tokio::task::spawn_blocking(recorded).await;
        done.expect("blocking work does not panic and is not cancelled")
    }

    fn asset(&self, id: Uuid) -> Result<StoredAsset, JobApiRefusal> {
        let found = self.store.asset(id).map_err(|error| no_answer(&error))?;
        found.ok_or_else(|| JobApiRefusal::absent(format!("No asset with the id {id} is stored.")))
    }

    fn name_of(&self, account: AgentId) -> Result<Option<String>, JobApiRefusal> {
        let found = self.store.account(account).map_err(|error| no_answer(&error))?;
        Ok(found.map(|account| format!("{} {}", account.first, account.last)))
    }
}

fn no_answer(error: &StoreError) -> JobApiRefusal {
    JobApiRefusal::unavailable(format!("The database does not answer: {error}."))
}

/// Assets of one kind.
#[derive(Serialize, ToSchema)]
#[schema(as = AssetKindCount)]
struct KindRow {
    /// In words, such as `texture`.
    kind: String,
    /// Temporary ones included.
    assets: u64,
    /// Bakes, and files of messages that no item names yet.
    temporary: u64,
    /// Those whose content is in quarantine.
    damaged: u64,
    /// Bytes of all, equal ones counted each time.
    bytes: u64,
}

impl KindRow {
    fn new(count: AssetCount) -> Self {
        let AssetCount { kind, assets, temporary, damaged, bytes } = count;
        Self { kind: AssetKind::name_of(kind), assets, temporary, damaged, bytes }
    }
}

/// A content in quarantine.
#[derive(Serialize, ToSchema)]
#[schema(as = QuarantinedContent)]
struct QuarantinedRow {
    /// Name of its file: 64 hexadecimal digits.
    hash: String,
    /// Length that it should have.
    bytes: u32,
    /// Evidence of the damage.
    damage: String,
    /// The first eight assets with this content.
    assets: Vec<Uuid>,
}

/// All assets in numbers, and those in quarantine.
#[derive(Serialize, ToSchema)]
#[schema(as = Assets)]
struct AssetsReply {
    /// Counts by kind, five minutes old at most.
    kinds: Vec<KindRow>,
    /// Share of the present pass of the scrubber that is done, 0 to 1.
    scrub_position: f64,
    /// Contents that it has verified since the start of the server.
    scrub_verified: u64,
    /// Those of them that it has found damaged.
    scrub_damaged: u64,
    /// Days that a pass takes.
    scrub_days: u32,
    /// Contents in quarantine now.
    quarantined: u64,
    /// The first 500 of them, by their hashes.
    quarantine: Vec<QuarantinedRow>,
}

/// Assets by kind, the scrubber's progress, and the contents in quarantine.
#[utoipa::path(get, path = "/v1/assets", operation_id = "list_assets", security(("token" = ["assets.read"])),
    responses(
        (status = 200, body = AssetsReply),
        (status = 503, description = "The database does not answer."),
    ))]
async fn list(State(desk): State<AssetDesk>) -> Result<Json<AssetsReply>, JobApiRefusal> {
    let read = |desk: &AssetDesk| {
        let read = || -> Result<_, StoreError> {
            let mut quarantine = Vec::new();
            for AssetContent { hash, length, damage } in desk.store.quarantined_contents(LISTED_MAX)? {
                let assets = desk.store.assets_of_content(hash, NAMED_MAX)?;
                let damage = damage.unwrap_or_default();
                quarantine.push(QuarantinedRow { hash: hash.to_string(), bytes: length, damage, assets });
            }
            Ok((desk.store.n_quarantined_contents()?, quarantine))
        };
        read().map_err(|error| no_answer(&error))
    };
    let (quarantined, quarantine) = desk.blocking(read).await?;
    let scrub = desk.figures.scrub();
    Ok(Json(AssetsReply {
        kinds: desk.figures.counts().into_iter().map(KindRow::new).collect(),
        scrub_position: scrub.position,
        scrub_verified: scrub.verified,
        scrub_damaged: scrub.damaged,
        scrub_days: desk.scrub_days,
        quarantined,
        quarantine,
    }))
}

/// An asset without its bytes.
#[derive(Serialize, ToSchema)]
#[schema(as = Asset)]
struct AssetReply {
    id: Uuid,
    /// In words, such as `texture`.
    kind: String,
    bytes: u32,
    /// BLAKE3 hash of its bytes, and the name of their file.
    hash: String,
    /// Account that has made it; the null id for the server's own.
    creator: Uuid,
    /// "First Last", if the account is here.
    creator_name: Option<String>,
    /// Seconds since 1970.
    created_s: i64,
    /// Source of the bytes, such as "upload" or the name of an archive.
    origin: String,
    /// Last recorded use of a temporary asset, seconds since 1970; none for a lasting one.
    used_s: Option<i64>,
    /// Evidence of damage, if its content is in quarantine.
    damage: Option<String>,
}

/// An asset: its kind, hash, creator and source.
#[utoipa::path(get, path = "/v1/assets/{id}", operation_id = "show_asset", params(("id" = Uuid, Path)),
    security(("token" = ["assets.read"])),
    responses(
        (status = 200, body = AssetReply),
        (status = 404, description = "No such asset is stored. The server's own are in the program."),
        (status = 503, description = "The database does not answer."),
    ))]
async fn show(
    State(desk): State<AssetDesk>,
    Path(id): Path<Uuid>,
) -> Result<Json<AssetReply>, JobApiRefusal> {
    let read = move |desk: &AssetDesk| {
        let stored = desk.asset(id)?;
        let creator_name = desk.name_of(stored.row.creator)?;
        Ok((stored, creator_name))
    };
    let (StoredAsset { row, damage }, creator_name) = desk.blocking(read).await?;
    let AssetRow { id, hash, kind, length, creator, created_s, origin, used_s } = row;
    Ok(Json(AssetReply {
        id,
        kind: AssetKind::name_of(kind),
        bytes: length,
        hash: hash.to_string(),
        creator: creator.0,
        creator_name,
        created_s,
        origin,
        used_s,
        damage,
    }))
}

/// Outcome of a verification.
#[derive(Serialize, ToSchema)]
#[schema(as = AssetVerified)]
struct VerifiedReply {
    id: Uuid,
    hash: String,
    /// True if its bytes match their hash: it is in no quarantine from now on.
    sound: bool,
    /// Evidence of the damage otherwise.
    damage: Option<String>,
}

/// Verify the bytes of an asset now. It leaves the quarantine if they match, such as after its file was restored, and is put into it if they do not.
#[utoipa::path(post, path = "/v1/assets/{id}/verify", operation_id = "verify_asset", params(("id" = Uuid, Path)),
    security(("token" = ["assets.write"])),
    responses(
        (status = 200, body = VerifiedReply),
        (status = 404, description = "No such asset is stored."),
        (status = 503, description = "Database or disk do not answer."),
    ))]
async fn verify(
    State(desk): State<AssetDesk>,
    Path(id): Path<Uuid>,
) -> Result<Json<VerifiedReply>, JobApiRefusal> {
    let work = move |desk: &AssetDesk| {
        let hash = desk.asset(id)?.row.hash;
        let verified = desk.figures.verify_again(hash);
        let failed = |error| JobApiRefusal::unavailable(format!("The asset cannot be verified: {error}."));
        Ok((hash, verified.map_err(failed)?))
    };
    let (hash, verified) = desk.blocking(work).await?;
    let damage = verified.err();
    Ok(Json(VerifiedReply { id, hash: hash.to_string(), sound: damage.is_none(), damage }))
}

/// Order a report on lasting assets that nothing names, by creator and kind: a job, whose outcome has the figures. It deletes nothing.
#[utoipa::path(post, path = "/v1/asset-reports", operation_id = "report_assets", security(("token" = ["assets.read"])),
    responses(
        (status = 200, description = "It waits or runs.", body = JobReply),
        (status = 409, description = "A report waits or runs."),
        (status = 429, description = "As many jobs wait as may."),
        (status = 503, description = "The database does not answer, or the server ends."),
    ))]
async fn order_report(
    State(desk): State<AssetDesk>,
    Extension(caller): Extension<Arc<Caller>>,
) -> Result<Json<JobReply>, JobApiRefusal> {
    let report = AssetReport {
        parts: Arc::clone(&desk.parts),
        database: desk.database.clone(),
        templates: Arc::clone(&desk.templates),
    };
    let job = desk.jobs.submit(JobOrder::Other(Arc::new(report)), &caller.name).await?;
    Ok(Json(JobReply::new(&job)))
}

/// A report with its figures.
#[utoipa::path(get, path = "/v1/asset-reports/{id}", operation_id = "show_asset_report",
    params(("id" = u64, Path), JobQuery), security(("token" = ["assets.read"])),
    responses((status = 200, body = JobReply), (status = 404, description = "There is no such report.")))]
async fn show_report(
    State(desk): State<AssetDesk>,
    Path(id): Path<u64>,
    Query(JobQuery { wait_s }): Query<JobQuery>,
) -> Result<Json<JobReply>, JobApiRefusal> {
    let number = JobNumber(id);
    let is_report = |job: &JobEntry| job.kind == JobKind::AssetReport;
    let unknown = || JobApiRefusal::unknown(number);
    desk.jobs.job(number).filter(is_report).ok_or_else(unknown)?;
    let job = desk.jobs.wait(number, Duration::from_secs(wait_s.unwrap_or(0))).await;
    job.map(|job| Json(JobReply::with_result(&job))).ok_or_else(unknown)
}
