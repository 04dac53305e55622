//! Objects that left the regions for their owners: lists, the way back into a region, and their end.

use super::answers::RegionRefusal;
use super::claims::RestoreClaim;
use super::files::random_id;
use super::shared::Regions;
use axum::extract::{Json, Path, Query, State};
use glam::Vec3;
use ids::{AgentId, HeldKey, Ticket, Uuid, WorldId};
use keeper::{RestoreOrder, RestoreSource, held_object};
use link::{HeldObject, RestorePlace};
use region_threads::keepers::RestoreReply;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use store::{HeldEntry, HeldFilter, HeldPage, StoreError, TakeHeld};
use tokio::sync::oneshot;
use utoipa::ToSchema;

/// Objects in one answer, unless the request says otherwise, and at most: each is decoded. The bound in the description is a literal.
const OBJECTS_MAX: u32 = 100;
/// Time limit of an order: it waits for a step and a save.
const PATIENCE: Duration = Duration::from_secs(60);

/// An object that is held, described by its root.
#[derive(Serialize, ToSchema)]
#[schema(as = HeldObject)]
pub(super) struct HeldRow {
    /// Its key: the numbers of the region that it left and of its ticket, as in `1-27`.
    held: String,
    /// Name of the region that it left; none if that is not in the configuration any more.
    region: Option<String>,
    name: String,
    owner: Uuid,
    /// First and last name of that account, if it exists.
    owner_name: Option<String>,
    /// The reason for which it left: `return`, `trash`, `take`, `take_copy` or `save`.
    kind: &'static str,
    /// Prims of all its linksets.
    prims: usize,
    /// Its place then, metres from the region's corner: east, north, up.
    #[schema(value_type = Vec<f32>, min_items = 3, max_items = 3)]
    position: [f32; 3],
    /// Time at which it left, seconds since 1970.
    held_s: i64,
    /// Number of the region that it is on its way to; none if it is not.
    on_its_way_to: Option<u32>,
}

/// A part of the objects that are held.
#[derive(Serialize, ToSchema)]
#[schema(as = HeldObjects)]
pub(super) struct HeldList {
    /// In the order of their keys.
    #[schema(max_items = 100)]
    objects: Vec<HeldRow>,
    /// Objects of this part that cannot be read.
    damaged: usize,
    /// Argument `after` for the next part; none at the end.
    next: Option<u64>,
}

/// Conditions and part of a list.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct HeldQuery {
    /// Owner: "First Last", or the id of an account. The bound counts characters as they stand in the address.
    #[serde(default)]
    #[param(min_length = 1, max_length = 189)]
    owner: Option<String>,
    /// Name of the region that they left. The bound counts characters as they stand in the address.
    #[serde(default)]
    #[param(min_length = 1, max_length = 189)]
    region: Option<String>,
    /// Objects behind this one: `next` of the former part.
    #[serde(default)]
    #[param(maximum = 8_796_093_022_207_i64)]
    after: Option<u64>,
    /// Objects in the answer at most, 100 without it.
    #[serde(default)]
    #[param(minimum = 1, maximum = 100)]
    limit: Option<u32>,
}

/// The destination of a held object.
#[derive(Deserialize, ToSchema)]
#[schema(as = HeldObjectOrder)]
#[serde(deny_unknown_fields)]
pub(super) struct RestoreOrderBody {
    /// Name of the region; the one that it left without it.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 63)]
    region: Option<String>,
    /// New place of its root, metres from the region's corner; where it was without it.
    #[serde(default)]
    #[schema(value_type = Option<Vec<f32>>, min_items = 3, max_items = 3)]
    position: Option<[f32; 3]>,
}

/// An object that is in a region again.
#[derive(Serialize, ToSchema)]
#[schema(as = HeldObjectRestored)]
pub(super) struct RestoredReply {
    held: String,
    /// Name of that region.
    region: String,
}

/// An object that is gone.
#[derive(Serialize, ToSchema)]
#[schema(as = HeldObjectDiscarded)]
pub(super) struct DiscardedReply {
    held: String,
}

/// Objects that left the regions for their owners: returned, deleted and taken ones.
#[utoipa::path(get, path = "/v1/held", operation_id = "list_held_objects", params(HeldQuery),
    security(("token" = ["regions.read"])),
    responses(
        (status = 200, body = HeldList),
        (status = 404, description = "There is no such region or account."),
        (status = 503, description = "The database does not answer."),
    ))]
pub(super) async fn list(
    State(regions): State<Arc<Regions>>,
    Query(query): Query<HeldQuery>,
) -> Result<Json<HeldList>, RegionRefusal> {
    regions.blocking(move |regions| listed(regions, &query)).await.map(Json)
}

fn listed(regions: &Regions, query: &HeldQuery) -> Result<HeldList, RegionRefusal> {
    let region = query.region.as_deref().map(|name| regions.region(name)).transpose()?;
    let filter = HeldFilter {
        owner: query.owner.as_deref().map(|owner| regions.user(owner)).transpose()?,
        region: region.map(|place| place.world()),
    };
    let limit = query.limit.unwrap_or(OBJECTS_MAX).min(OBJECTS_MAX);
    let page =
        regions.store.held_objects(filter, query.after.map(key_of), limit).map_err(|error| failed(&error))?;
    let HeldPage { entries, damages, next } = page;
    let names = regions.owners.names(entries.iter().map(|entry| entry.row.owner));
    let n_entries = entries.len();
    let row = |entry: HeldEntry| Some(row_of(regions, &names, &entry, &held_object(&entry.row).ok()?));
    let objects: Vec<HeldRow> = entries.into_iter().filter_map(row).collect();
    let damaged = damages.len() + n_entries - objects.len();
    Ok(HeldList { objects, damaged, next: next.map(number_of) })
}

fn row_of(
    regions: &Regions,
    names: &BTreeMap<AgentId, Arc<str>>,
    entry: &HeldEntry,
    object: &HeldObject,
) -> HeldRow {
    let HeldEntry { row, taken_by } = entry;
    let (place, root) = object.root().expect("an object that was read has prims");
    HeldRow {
        held: row.key.to_string(),
        region: regions.places.of_world(row.key.region).map(|place| place.name().to_owned()),
        name: root.body.names.name.to_string(),
        owner: row.owner.0,
        owner_name: names.get(&row.owner).map(|name| name.to_string()),
        kind: object.kind.label(),
        prims: object.n_prims(),
        position: place.motion.position.to_array(),
        held_s: row.held_s,
        on_its_way_to: taken_by.map(|WorldId(region)| region),
    }
}

/// Put a held object into a region. The answer comes when that is on the disk.
#[utoipa::path(post, path = "/v1/held/{held}/restore", operation_id = "restore_held_object",
    params(("held" = String, Path, description = "Key of the object.")), request_body = RestoreOrderBody,
    security(("token" = ["regions.write"])),
    responses(
        (status = 200, body = RestoredReply),
        (status = 400, description = "That is no place."),
        (status = 404, description = "There is no such object or region."),
        (status = 409, description = "It is on its way to a region, it cannot be read, or the region does not take it."),
        (status = 503, description = "It cannot be done now. The text says whether it is still under way."),
    ))]
pub(super) async fn restore(
    State(regions): State<Arc<Regions>>,
    Path(held): Path<String>,
    Json(order): Json<RestoreOrderBody>,
) -> Result<Json<RestoredReply>, RegionRefusal> {
    let key = parse(&held)?;
    let RestoreOrderBody { region, position } = order;
    let position = position.map(Vec3::from_array);
    if position.is_some_and(|position| !position.is_finite()) {
        return Err(RegionRefusal::bad("A place has three finite numbers."));
    }
    // Goes on when the client goes away: an object that the region does not get is to lose its mark.
    let order = tokio::spawn(carry_out(regions, key, region, position));
    match tokio::time::timeout(PATIENCE, order).await {
        Ok(done) => done.expect("an order does not panic and is not cancelled").map(Json),
        Err(_) => {
            let seconds = PATIENCE.as_secs();
            let why = format!(
                "The region has not answered within {seconds} s. The object is still on its way into it."
            );
            Err(RegionRefusal::unavailable(why))
        }
    }
}

async fn carry_out(
    regions: Arc<Regions>,
    key: HeldKey,
    region: Option<String>,
    position: Option<Vec3>,
) -> Result<RestoredReply, RegionRefusal> {
    // Without it a failed order could take the mark of another one away, and the object could come into two regions.
    let claim = regions.restoring.claim(key).ok_or_else(under_way)?;
    let (claim, region, reply) =
        regions.blocking(move |regions| send(regions, claim, region.as_deref(), position)).await?;
    match reply.await {
        Ok(RestoreReply::Done) => {
            tracing::info!(region, held = %key, "a held object is in a region again");
            Ok(RestoredReply { held: key.to_string(), region })
        }
        Ok(RestoreReply::Refused(reason)) => {
            let reason = reason.label();
            Err(RegionRefusal::conflict(format!(
                "{region} does not take it ({reason}). It is held as before."
            )))
        }
        // The mark is that of the order under way.
        Ok(RestoreReply::UnderWay) => Err(under_way()),
        Ok(RestoreReply::NotSent(why)) => {
            regions
                .blocking(move |regions| {
                    release(regions, &claim);
                    Ok(())
                })
                .await?;
            Err(RegionRefusal::unavailable(why))
        }
        // The next server takes the mark away.
        Err(_) => Err(RegionRefusal::unavailable("The server no longer changes regions.")),
    }
}

fn under_way() -> RegionRefusal {
    RegionRefusal::conflict("It is on its way to a region already.")
}

/// Marks the object and orders its way. The claim, and the name of the region.
fn send(
    regions: &Regions,
    claim: RestoreClaim,
    region: Option<&str>,
    position: Option<Vec3>,
) -> Result<(RestoreClaim, String, oneshot::Receiver<RestoreReply>), RegionRefusal> {
    let key = claim.key();
    let place = match region {
        Some(name) => regions.region(name)?,
        None => regions.places.of_world(key.region).ok_or_else(|| {
            RegionRefusal::absent("The region that it left is not there any more: name another one.")
        })?,
    };
    let world = place.world();
    let ids = random_id()?;
    let taken = regions.store.take_held(key, world).map_err(|error| {
        // It may be marked.
        release(regions, &claim);
        failed(&error)
    })?;
    let row = match taken {
        TakeHeld::Taken(row) => row,
        TakeHeld::Unknown => return Err(unknown(&key.to_string())),
        TakeHeld::Busy(WorldId(other)) => {
            return Err(RegionRefusal::conflict(format!(
                "It is on its way to the region with the number {other}."
            )));
        }
        TakeHeld::Damaged(damage) => {
            return Err(RegionRefusal::conflict(format!("It cannot be read, and was set aside: {damage}.")));
        }
    };
    if let Err(error) = held_object(&row) {
        let why = error.to_string();
        regions.store.set_held_aside(key, &why).map_err(|error| {
            release(regions, &claim);
            failed(&error)
        })?;
        return Err(RegionRefusal::conflict(format!("It cannot be read, and was set aside: {why}.")));
    }
    let place_in = position.map_or(RestorePlace::Former, RestorePlace::At);
    let order = RestoreOrder { source: RestoreSource::Held(row), place: place_in, ids };
    let reply = regions.restores.order(world, order).map_err(|why| {
        release(regions, &claim);
        RegionRefusal::unavailable(why)
    })?;
    Ok((claim, place.name().to_owned(), reply))
}

/// Takes the mark of an order away from its object, which has not gone to a region.
fn release(regions: &Regions, claim: &RestoreClaim) {
    if let Err(error) = regions.store.release_held(claim.key()) {
        tracing::warn!(held = %claim.key(), %error, "a held object stays marked until the server starts again");
    }
}

/// Delete a held object for good.
#[utoipa::path(post, path = "/v1/held/{held}/discard", operation_id = "discard_held_object",
    params(("held" = String, Path, description = "Key of the object.")), security(("token" = ["regions.write"])),
    responses(
        (status = 200, body = DiscardedReply),
        (status = 404, description = "There is no such object, or it is on its way to a region."),
        (status = 503, description = "The database does not answer."),
    ))]
pub(super) async fn discard(
    State(regions): State<Arc<Regions>>,
    Path(held): Path<String>,
) -> Result<Json<DiscardedReply>, RegionRefusal> {
    let key = parse(&held)?;
    let is_gone = regions
        .blocking(move |regions| regions.store.remove_held(key).map_err(|error| failed(&error)))
        .await?;
    if !is_gone {
        let why = format!("There is no held object {held}, or it is on its way to a region.");
        return Err(RegionRefusal::absent(why));
    }
    tracing::info!(held, "a held object was discarded");
    Ok(Json(DiscardedReply { held }))
}

fn parse(held: &str) -> Result<HeldKey, RegionRefusal> {
    held.parse().map_err(|_| unknown(held))
}

fn unknown(held: &str) -> RegionRefusal {
    RegionRefusal::absent(format!("There is no held object {held}."))
}

fn failed(error: &StoreError) -> RegionRefusal {
    RegionRefusal::unavailable(format!("The database does not answer: {error}."))
}

/// A key as a number that grows with it.
fn number_of(HeldKey { region, ticket }: HeldKey) -> u64 {
    u64::from(region.0) << 32 | u64::from(ticket.0)
}

/// The key of a number within the described bound.
const fn key_of(number: u64) -> HeldKey {
    HeldKey { region: WorldId((number >> 32) as u32), ticket: Ticket(number as u32) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_numbers_within_the_described_bound() {
        let last = HeldKey { region: WorldId(2_047), ticket: Ticket(u32::MAX) };
        assert_eq!(number_of(last), 8_796_093_022_207);
        for key in [last, HeldKey { region: WorldId(1), ticket: Ticket(27) }] {
            assert_eq!(key_of(number_of(key)), key);
        }
    }
}
