//! Lists of regions, of their newest edits and parcels, and the state of their saves.

use super::answers::RegionRefusal;
use super::shared::Regions;
use axum::extract::{Json, Path, State};
use gateway::places::Place;
use ids::{AgentId, Instant, LocalId, Uuid};
use link::ParcelNumber;
use region_threads::keepers::{RegionSaves, SavedFrame};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use utoipa::ToSchema;

/// Time limit of an ordered save. A pause after failures lasts half of it at most.
const SAVE_PATIENCE: Duration = Duration::from_secs(60);

/// A region in the API.
#[derive(Serialize, ToSchema)]
#[schema(as = Region)]
pub(super) struct RegionRow {
    name: String,
    /// Its world's number in captures.
    world: u32,
    size_m: u32,
    avatars: usize,
    /// Prims that can be changed.
    prims: usize,
    /// Prims that it may have (`region.max_objects`).
    prims_max: u32,
    /// Prims of linksets that physics moves, asleep or awake.
    physical: usize,
    /// Objects in motion, which are awake.
    moving: usize,
    /// Prims of linksets that vanish by themselves.
    temporary: usize,
    /// Age of the oldest change of an object that is not on the disk, seconds.
    lag_s: f64,
    /// The reason for which the last save failed; none if it did not.
    failure: Option<String>,
}

impl RegionRow {
    pub(super) fn new(regions: &Regions, place: &Place) -> Self {
        let world = place.world();
        let totals = regions.worlds.counted_of(world).unwrap_or_default();
        let saves = regions.saves.of(world).unwrap_or_default();
        Self {
            name: place.name().to_owned(),
            world: world.0,
            size_m: place.ground().size_m,
            avatars: totals.n_avatars,
            prims: totals.objects.prims,
            prims_max: regions.settings(world).objects_max,
            physical: totals.objects.physical,
            moving: saves.n_moving,
            temporary: totals.objects.temporary,
            lag_s: age_s((regions.clock)(), saves.unsaved_since),
            failure: saves.failing.map(|(_, why)| why),
        }
    }
}

/// State of a region's saves.
#[derive(Serialize, ToSchema)]
#[schema(as = RegionSaves)]
pub(super) struct SavesReply {
    /// The last save since the start of the server.
    saved: Option<SavedReply>,
    /// Age of the oldest change of an object that is not on the disk, without movements; seconds.
    lag_s: f64,
    /// Objects with unsaved changes.
    unsaved: usize,
    /// Objects in motion, which are saved every 5 s and at rest.
    moving: usize,
    /// Time by which the save of an object in motion is overdue at most; seconds.
    moving_lag_s: f64,
    /// Saves that failed in a row.
    failures: u32,
    /// Seconds since the first of them.
    failing_s: Option<f64>,
    /// The reason of the last of them.
    failure: Option<String>,
}

/// A frame that is on the disk.
#[derive(Serialize, ToSchema)]
#[schema(as = RegionSaved)]
pub(super) struct SavedReply {
    /// Life of the region's world, from 0; one more after each restart of the world.
    epoch: u32,
    /// Number of the frame in that life.
    sequence: u64,
    /// Seconds since it was durable.
    age_s: f64,
}

impl SavedReply {
    fn new(now: Instant, SavedFrame { epoch, sequence, at }: SavedFrame) -> Self {
        Self { epoch: epoch.0, sequence, age_s: now.since(at).as_secs_f64() }
    }
}

impl SavesReply {
    pub(super) fn new(now: Instant, saves: RegionSaves) -> Self {
        let RegionSaves { saved, unsaved_since, n_unsaved, n_moving, moving_lag, failures, failing, .. } =
            saves;
        let (failing_since, failure) = failing.unzip();
        Self {
            saved: saved.map(|frame| SavedReply::new(now, frame)),
            lag_s: age_s(now, unsaved_since),
            unsaved: n_unsaved,
            moving: n_moving,
            moving_lag_s: moving_lag.as_secs_f64(),
            failures,
            failing_s: failing_since.map(|since| now.since(since).as_secs_f64()),
            failure,
        }
    }
}

/// An edit of a region's objects.
#[derive(Serialize, ToSchema)]
#[schema(as = RegionEdit)]
pub(super) struct EditRow {
    /// Seconds since it was carried out.
    age_s: f64,
    /// Account of its author; none for an operator.
    author: Option<Uuid>,
    /// First and last name of that account, if it exists.
    author_name: Option<String>,
    /// Name of the request, such as `create`, `place`, `link` or `return`.
    what: &'static str,
    /// The first object that it names, or makes.
    object: Option<Uuid>,
    /// Name of that object before the edit; empty if it is not known.
    name: String,
    /// Objects that were changed.
    done: u64,
    /// Objects that stay as they are.
    refused: u64,
    /// The reason for the first of them, as in `throng_object_edits_total`.
    reason: Option<&'static str>,
}

/// A parcel of a region.
#[derive(Serialize, ToSchema)]
#[schema(as = RegionParcel)]
pub(super) struct ParcelRow {
    /// Its number in the region.
    number: u16,
    id: Uuid,
    name: String,
    /// None for public land.
    owner: Option<Uuid>,
    /// First and last name of that account, if it exists.
    owner_name: Option<String>,
    area_m2: u32,
    /// Prims of linksets whose roots stand on it.
    prims: usize,
    /// Settings as bits of the protocol.
    flags: u32,
}

/// The regions of this server.
#[utoipa::path(get, path = "/v1/regions", operation_id = "list_regions", security(("token" = ["regions.read"])),
    responses((status = 200, body = Vec<RegionRow>)))]
pub(super) async fn list(State(regions): State<Arc<Regions>>) -> Json<Vec<RegionRow>> {
    Json(regions.places.iter().map(|place| RegionRow::new(&regions, place)).collect())
}

/// The newest edits of a region's objects, the newest first, each with its author.
#[utoipa::path(get, path = "/v1/regions/{name}/edits", operation_id = "list_region_edits",
    params(("name" = String, Path, description = "Name of the region.")), security(("token" = ["regions.read"])),
    responses((status = 200, body = Vec<EditRow>), (status = 404, description = "There is no such region.")))]
pub(super) async fn edits(
    State(regions): State<Arc<Regions>>,
    Path(name): Path<String>,
) -> Result<Json<Vec<EditRow>>, RegionRefusal> {
    let list = move |regions: &Regions| {
        let edits = regions.worlds.newest_edits(regions.region(&name)?.world());
        let names = regions.owners.names(edits.iter().filter_map(|timed| timed.edit.agent));
        let now = (regions.clock)();
        let row = |timed: workplace::worlds::TimedEdit| {
            let edit = timed.edit;
            EditRow {
                age_s: now.since(timed.at).as_secs_f64(),
                author: edit.agent.map(|agent| agent.0),
                author_name: edit.agent.and_then(|agent| names.get(&agent)).map(|name| name.to_string()),
                what: edit.what,
                object: edit.object,
                name: edit.name.to_string(),
                done: edit.done,
                refused: edit.refused,
                reason: edit.reason.map(link::EditRefusal::label),
            }
        };
        Ok(edits.into_iter().map(row).collect())
    };
    regions.blocking(list).await.map(Json)
}

/// The parcels of a region.
#[utoipa::path(get, path = "/v1/regions/{name}/parcels", operation_id = "list_region_parcels",
    params(("name" = String, Path, description = "Name of the region.")), security(("token" = ["regions.read"])),
    responses(
        (status = 200, body = Vec<ParcelRow>),
        (status = 404, description = "There is no such region, or it is not divided into parcels."),
    ))]
pub(super) async fn parcels(
    State(regions): State<Arc<Regions>>,
    Path(name): Path<String>,
) -> Result<Json<Vec<ParcelRow>>, RegionRefusal> {
    let list = move |regions: &Regions| {
        let place = regions.region(&name)?;
        let map = regions.parcels.of(place.world());
        let map = map.ok_or_else(|| RegionRefusal::absent("This region is not divided into parcels."))?;
        let mut prims: BTreeMap<ParcelNumber, usize> = BTreeMap::new();
        {
            let replica = place.scene.feed.current();
            let objects = replica.objects();
            // The place of a prim is that of its root, also in a linkset. Worn ones stand nowhere.
            let is_worn = |parent: LocalId| {
                let root_parent = objects.get(parent).map(|root| root.prim.parent);
                parent != LocalId(0) && root_parent != Some(LocalId(0))
            };
            for (_, entry) in objects.entries().filter(|(_, entry)| !is_worn(entry.prim.parent)) {
                if let Some(number) = map.at(entry.position.x, entry.position.y) {
                    *prims.entry(number).or_default() += 1;
                }
            }
        }
        let names = regions.owners.names(map.parcels().filter_map(|parcel| parcel.owner));
        let name_of = |agent: AgentId| names.get(&agent).map(|name| name.to_string());
        let row = |parcel: &Arc<link::Parcel>| ParcelRow {
            number: parcel.number.0,
            id: parcel.id,
            name: parcel.settings.name.to_string(),
            owner: parcel.owner.map(|owner| owner.0),
            owner_name: parcel.owner.and_then(name_of),
            area_m2: parcel.area_m2(),
            prims: prims.get(&parcel.number).copied().unwrap_or_default(),
            flags: parcel.settings.flags.0,
        };
        Ok(map.parcels().map(row).collect())
    };
    regions.blocking(list).await.map(Json)
}

/// State of a region's saves: the last one, its age, the backlog, and failures.
#[utoipa::path(get, path = "/v1/regions/{name}/saves", operation_id = "show_region_saves",
    params(("name" = String, Path, description = "Name of the region.")), security(("token" = ["regions.read"])),
    responses((status = 200, body = SavesReply), (status = 404, description = "There is no such region.")))]
pub(super) async fn saves(
    State(regions): State<Arc<Regions>>,
    Path(name): Path<String>,
) -> Result<Json<SavesReply>, RegionRefusal> {
    let world = regions.region(&name)?.world();
    let saves = regions.saves.of(world).unwrap_or_default();
    Ok(Json(SavesReply::new((regions.clock)(), saves)))
}

/// Save a region now, objects in motion included. The answer comes when all that its frames have shown is on the disk.
#[utoipa::path(post, path = "/v1/regions/{name}/save", operation_id = "save_region",
    params(("name" = String, Path, description = "Name of the region.")), security(("token" = ["regions.write"])),
    responses(
        (status = 200, body = SavedReply),
        (status = 404, description = "There is no such region."),
        (status = 503, description = "It cannot be saved now."),
    ))]
pub(super) async fn save(
    State(regions): State<Arc<Regions>>,
    Path(name): Path<String>,
) -> Result<Json<SavedReply>, RegionRefusal> {
    let frame = save_now(&regions, &name).await?;
    Ok(Json(SavedReply::new((regions.clock)(), frame)))
}

/// Has a region saved, and waits for that.
pub(super) async fn save_now(regions: &Regions, name: &str) -> Result<SavedFrame, RegionRefusal> {
    let world = regions.region(name)?.world();
    let reply = regions.orders.order(world).map_err(RegionRefusal::unavailable)?;
    match tokio::time::timeout(SAVE_PATIENCE, reply).await {
        Ok(Ok(reply)) => reply.map_err(RegionRefusal::unavailable),
        Ok(Err(_)) => Err(RegionRefusal::unavailable("The server no longer saves regions.")),
        Err(_) => {
            let seconds = SAVE_PATIENCE.as_secs();
            Err(RegionRefusal::unavailable(format!(
                "It was not saved within {seconds} s. It goes on being tried."
            )))
        }
    }
}

fn age_s(now: Instant, since: Option<Instant>) -> f64 {
    since.map_or(0.0, |since| now.since(since).as_secs_f64())
}
