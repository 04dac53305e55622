//! A region with everything that its operator looks at first, and its restart.

use super::answers::RegionRefusal;
use super::estate::estate_of;
use super::shared::Regions;
use super::state::{RegionRow, SavesReply};
use axum::extract::{Json, Path, State};
use ids::{Epoch, Uuid};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use utoipa::ToSchema;
use workplace::restarts::RestartRefusal;

/// Time limit of an ordered restart, which takes some milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);
/// A world that is in a step for longer is not restarted: the restart would wait for its end, and those of other worlds with it.
const STEP_MAX: Duration = Duration::from_secs(1);

/// A region in full.
#[derive(Serialize, ToSchema)]
#[schema(as = RegionDetails)]
pub(super) struct RegionDetails {
    region: RegionRow,
    id: Uuid,
    /// Position on the grid, in squares of 256 m.
    x: u32,
    y: u32,
    /// Visitors at once (`region.max_avatars`).
    avatars_max: u32,
    /// Height of the water, metres.
    water_m: f32,
    /// Name of the estate; none in a region without land.
    estate: Option<String>,
    /// Number of its parcels.
    parcels: usize,
    saves: SavesReply,
}

/// A restart.
#[derive(Default, Deserialize, ToSchema)]
#[schema(as = RegionRestartOrder)]
#[serde(deny_unknown_fields)]
pub(super) struct RestartBody {
    /// Text for the region's visitors, at most 254 bytes.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 254, extensions(("x-max-bytes" = json!(254))))]
    message: Option<String>,
}

/// A region that has begun again.
#[derive(Serialize, ToSchema)]
#[schema(as = RegionRestarted)]
pub(super) struct RestartedReply {
    /// Name of the region.
    region: String,
    /// Number of its world's present life, from 0.
    epoch: u32,
}

/// A region: place, size, numbers, estate, and the state of its saves.
#[utoipa::path(get, path = "/v1/regions/{name}", operation_id = "show_region",
    params(("name" = String, Path, description = "Name of the region.")), security(("token" = ["regions.read"])),
    responses((status = 200, body = RegionDetails), (status = 404, description = "There is no such region.")))]
pub(super) async fn show(
    State(regions): State<Arc<Regions>>,
    Path(name): Path<String>,
) -> Result<Json<RegionDetails>, RegionRefusal> {
    let place = regions.region(&name)?;
    let (world, (x, y)) = (place.world(), place.handle.grid());
    let estate = estate_of(place);
    let saves = regions.saves.of(world).unwrap_or_default();
    Ok(Json(RegionDetails {
        region: RegionRow::new(&regions, place),
        id: place.region_id,
        x,
        y,
        avatars_max: place.scene.max_avatars,
        water_m: estate.as_ref().map_or(place.ground().water_m, |estate| estate.levels.water_m),
        estate: estate.map(|estate| estate.name.to_string()),
        parcels: regions.parcels.of(world).map_or(0, |map| map.parcels().count()),
        saves: SavesReply::new((regions.clock)(), saves),
    }))
}

/// Begin a region's world again from its present state. Visitors, objects and land stay; visitors see a short pause. A recording of the region ends.
#[utoipa::path(post, path = "/v1/regions/{name}/restart", operation_id = "restart_region",
    params(("name" = String, Path, description = "Name of the region.")), request_body = RestartBody,
    security(("token" = ["regions.write"])),
    responses(
        (status = 200, body = RestartedReply),
        (status = 404, description = "There is no such region."),
        (status = 409, description = "It is down already, and begins again by itself."),
        (status = 503, description = "Its world is in a step that does not end, too many restarts wait, or the server stops."),
    ))]
pub(super) async fn restart(
    State(regions): State<Arc<Regions>>,
    Path(name): Path<String>,
    Json(RestartBody { message }): Json<RestartBody>,
) -> Result<Json<RestartedReply>, RegionRefusal> {
    let place = Arc::clone(regions.region(&name)?);
    let world = place.world();
    let since = regions.worlds.in_step_since().find(|(id, ..)| *id == world).map(|(.., since)| since);
    if let Some(since) = since {
        let lasts = (regions.clock)().since(since);
        if lasts > STEP_MAX {
            let why = format!(
                "{} is in a step that has taken {:.1} s: its restart would wait for the end of it.",
                place.name(),
                lasts.as_secs_f32()
            );
            return Err(RegionRefusal::unavailable(why));
        }
    }
    if let Some(message) = &message {
        regions.sessions.with(|hub| hub.alert_in(world, message));
    }
    let (sender, outcome) = oneshot::channel::<Result<Epoch, RestartRefusal>>();
    let reply = move |outcome| {
        // The request may have been given up.
        let _ = sender.send(outcome);
    };
    regions.restarts.order(world, reply).map_err(refusal)?;
    let Epoch(epoch) = match tokio::time::timeout(PATIENCE, outcome).await {
        Ok(Ok(outcome)) => outcome.map_err(refusal)?,
        Ok(Err(_)) => return Err(refusal(RestartRefusal::Ended)),
        Err(_) => {
            let why = format!("The restart has not ended within {} s.", PATIENCE.as_secs());
            return Err(RegionRefusal::unavailable(why));
        }
    };
    Ok(Json(RestartedReply { region: place.name().to_owned(), epoch }))
}

fn refusal(refusal: RestartRefusal) -> RegionRefusal {
    let why = format!("Not restarted: {refusal}.");
    match refusal {
        RestartRefusal::Unknown => RegionRefusal::absent(why),
        RestartRefusal::Down => RegionRefusal::conflict(why),
        RestartRefusal::Busy | RestartRefusal::Ended => RegionRefusal::unavailable(why),
    }
}
