//! The map of an instance, for the operator's page: its avatars with their positions, and its ground.
//!
//! The page polls instead of opening a socket: the browser attaches the token by itself, so any page could open a WebSocket with it,
//! while only pages of this address can read the replies to plain requests.

use super::answers::{ApiRefusal, PathId, bad_id, blocking};
use axum::Extension;
use axum::extract::{Json, Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use gateway::http::map::{Map, MapObjects, heights, positions_in};
use gateway::places::{Places, Scene};
use ids::Uuid;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use workplace::instances::{Instances, Refusal};

pub(super) fn routes() -> OpenApiRouter<Arc<Instances>> {
    OpenApiRouter::new()
        .routes(routes!(show_map))
        .routes(routes!(show_positions))
        .routes(routes!(show_heights))
        .routes(routes!(show_objects))
}

/// Avatars in an instance.
#[utoipa::path(get, path = "/v1/worlds/{id}/map", params(("id" = Uuid, Path)), security(("token" = ["worlds:read"])),
    responses(
        (status = 200, body = Map),
        (status = 404, description = "There is no such instance."),
        (status = 409, description = "It is not in memory."),
    ))]
async fn show_map(
    State(instances): State<Arc<Instances>>,
    Extension(places): Extension<Arc<Places>>,
    id: PathId,
) -> Response {
    let Path(id) = match id {
        Ok(id) => id,
        Err(rejection) => return bad_id(&rejection),
    };
    blocking(instances, move |instances| Ok::<_, ApiRefusal>(Json(Map::of(&*scene(instances, &places, id)?))))
        .await
}

/// Positions of the avatars in an instance.
///
/// All little-endian: kind (u8, 1), the world's number (u32), count (u32); then for each avatar its id (u32), x and y (u16, 0 to 65,535
/// over the world's side), direction (u8, 256 to a turn, counter-clockwise from east) and speed (u8, 0.1 m/s).
#[utoipa::path(get, path = "/v1/worlds/{id}/map/positions", params(("id" = Uuid, Path)), security(("token" = ["worlds:read"])),
    responses(
        (status = 200, description = "A frame.", body = String, content_type = "application/octet-stream"),
        (status = 404, description = "There is no such instance."),
        (status = 409, description = "It is not in memory."),
    ))]
async fn show_positions(
    State(instances): State<Arc<Instances>>,
    Extension(places): Extension<Arc<Places>>,
    id: PathId,
) -> Response {
    let Path(id) = match id {
        Ok(id) => id,
        Err(rejection) => return bad_id(&rejection),
    };
    blocking(instances, move |instances| {
        Ok::<_, ApiRefusal>(binary(positions_in(&*scene(instances, &places, id)?)))
    })
    .await
}

/// The ground of an instance.
///
/// 128 × 128 heights in metres (f32, little-endian) at even distances, rows from south to north.
#[utoipa::path(get, path = "/v1/worlds/{id}/map/heights", params(("id" = Uuid, Path)), security(("token" = ["worlds:read"])),
    responses(
        (status = 200, description = "Heights.", body = String, content_type = "application/octet-stream"),
        (status = 404, description = "There is no such instance."),
        (status = 409, description = "It is not in memory."),
    ))]
async fn show_heights(
    State(instances): State<Arc<Instances>>,
    Extension(places): Extension<Arc<Places>>,
    id: PathId,
) -> Response {
    let Path(id) = match id {
        Ok(id) => id,
        Err(rejection) => return bad_id(&rejection),
    };
    blocking(instances, move |instances| {
        Ok::<_, ApiRefusal>(binary(heights(&*scene(instances, &places, id)?)))
    })
    .await
}

/// The boxes and portals of an instance.
#[utoipa::path(get, path = "/v1/worlds/{id}/map/objects", params(("id" = Uuid, Path)), security(("token" = ["worlds:read"])),
    responses(
        (status = 200, body = MapObjects),
        (status = 404, description = "There is no such instance."),
        (status = 409, description = "It is not in memory."),
    ))]
async fn show_objects(
    State(instances): State<Arc<Instances>>,
    Extension(places): Extension<Arc<Places>>,
    id: PathId,
) -> Response {
    let Path(id) = match id {
        Ok(id) => id,
        Err(rejection) => return bad_id(&rejection),
    };
    blocking(instances, move |instances| {
        Ok::<_, ApiRefusal>(Json(MapObjects::of(&*scene(instances, &places, id)?)))
    })
    .await
}

/// An instance as clients are shown it.
fn scene(instances: &Instances, places: &Places, id: Uuid) -> Result<Arc<Scene>, Refusal> {
    let summary = instances.summary(id)?;
    places.scene(summary.world).ok_or(Refusal::Resting(summary.phase))
}

fn binary(bytes: impl IntoResponse) -> Response {
    ([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response()
}
