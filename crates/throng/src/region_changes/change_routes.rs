//! Routes that create, remove and rename regions, and the list of what the next start of the server changes.

use super::RegionChanges;
use super::change_orders::{content_deleted, created, listed, removed, renamed};
use super::changes::{ChangedReply, ChangesReply, CreateBody, RemoveBody, RenameBody};
use axum::extract::{Json, Path, State};
use grid_api::regions::RegionRefusal;
use std::sync::Arc;

/// Differences between the regions that run and those that the next start of the server has, and stored content of regions that are not configured.
#[utoipa::path(get, path = "/v1/region-changes", operation_id = "list_region_changes",
    security(("token" = ["regions.read"])),
    responses(
        (status = 200, body = ChangesReply),
        (status = 503, description = "The database does not answer."),
    ))]
pub(super) async fn list(
    State(regions): State<Arc<RegionChanges>>,
) -> Result<Json<ChangesReply>, RegionRefusal> {
    regions.blocking(listed).await.map(Json)
}

/// Add a region to the configuration. A restart of the server applies it.
#[utoipa::path(post, path = "/v1/regions", operation_id = "create_region", request_body = CreateBody,
    security(("token" = ["regions.write"])),
    responses(
        (status = 200, body = ChangedReply),
        (status = 400, description = "One of `x` and `y` is missing."),
        (status = 404, description = "There is no such account."),
        (status = 409, description = "The server has no configuration file, the file was changed meanwhile, or a server would not start with the region: its name or its squares are taken, a value is not allowed, or stored content of that name is of another size."),
        (status = 503, description = "The file cannot be written, another order is under way, or the database does not answer."),
    ))]
pub(super) async fn create(
    State(regions): State<Arc<RegionChanges>>,
    Json(order): Json<CreateBody>,
) -> Result<Json<ChangedReply>, RegionRefusal> {
    regions.blocking(move |regions| created(regions, order)).await.map(Json)
}

/// Remove a region from the configuration, which a restart of the server applies; its content stays stored. Or, with `delete_content`, delete the stored content of a region
/// that is neither configured nor running, at once.
#[utoipa::path(post, path = "/v1/regions/{name}/remove", operation_id = "remove_region",
    params(("name" = String, Path, description = "Name of the region; or, of one that is not configured, its number.")),
    request_body = RemoveBody, security(("token" = ["regions.write"])),
    responses(
        (status = 200, body = ChangedReply),
        (status = 404, description = "There is no such region."),
        (status = 409, description = "The server has no configuration file, the file was changed meanwhile, a server would not start without the region, or content to be deleted is that of a region that is configured or runs."),
        (status = 503, description = "The file cannot be written, another order is under way, or the database does not answer."),
    ))]
pub(super) async fn remove(
    State(regions): State<Arc<RegionChanges>>,
    Path(name): Path<String>,
    Json(RemoveBody { delete_content }): Json<RemoveBody>,
) -> Result<Json<ChangedReply>, RegionRefusal> {
    let order = move |regions: &RegionChanges| {
        if delete_content { content_deleted(regions, &name) } else { removed(regions, &name) }
    };
    regions.blocking(order).await.map(Json)
}

/// Give a region another name in the configuration, which a restart of the server applies. Its number, its place, its content and landmarks to it stay.
#[utoipa::path(post, path = "/v1/regions/{name}/rename", operation_id = "rename_region",
    params(("name" = String, Path, description = "Name of the region.")), request_body = RenameBody,
    security(("token" = ["regions.write"])),
    responses(
        (status = 200, body = ChangedReply),
        (status = 404, description = "There is no such region."),
        (status = 409, description = "The server has no configuration file, the file was changed meanwhile, or a server would not start with the name: it is taken or not allowed."),
        (status = 503, description = "The file cannot be written, another order is under way, or the database does not answer."),
    ))]
pub(super) async fn rename(
    State(regions): State<Arc<RegionChanges>>,
    Path(name): Path<String>,
    Json(RenameBody { to }): Json<RenameBody>,
) -> Result<Json<ChangedReply>, RegionRefusal> {
    regions.blocking(move |regions| renamed(regions, &name, to)).await.map(Json)
}
