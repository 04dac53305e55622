//! Return and deletion of objects: commands of bounded size, one after the other.

use super::answers::RegionRefusal;
use super::filter::{AskedFilter, FoundObjects, find};
use super::shared::Regions;
use axum::extract::{Json, Path, State};
use ids::{LocalId, Uuid, WorldId};
use link::{Derez, DerezKind, EDIT_OBJECTS_MAX, ObjectCommand};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// Objects of one request, unless it says otherwise, and at most: ten commands, which ten ticks carry out. The bound in the description is a
/// literal.
const OBJECTS_MAX: u32 = 2_550;
/// Prims of one command, but for a single linkset with more: their removal takes a step about a millisecond.
const PRIMS_PER_COMMAND: usize = 1_024;

/// Objects to be taken out of a region. At least one condition is needed: a request without any would clear the region.
#[derive(Deserialize, ToSchema)]
#[schema(as = RegionObjectsOrder)]
#[serde(deny_unknown_fields)]
pub(super) struct RemovalOrder {
    /// Owner: "First Last", or the id of an account.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 63)]
    owner: Option<String>,
    /// Number of the parcel on which the object's root stands.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 65_535)]
    parcel: Option<u16>,
    /// Place and radius, metres: roots at most that far from it.
    #[serde(default)]
    #[schema(value_type = Option<Vec<f32>>, min_items = 4, max_items = 4)]
    within: Option<[f32; 4]>,
    /// Objects behind this local id: `next` of the former answer.
    #[serde(default)]
    after: Option<u32>,
    /// Objects at most, 2,550 without it.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 2_550)]
    limit: Option<u32>,
    /// True to change nothing: the answer says how many objects meet the conditions.
    #[serde(default)]
    dry_run: bool,
}

/// Result of such a request.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RegionObjectsRemoved)]
pub(super) struct RemovalReply {
    /// Objects of the region that met the conditions, in all.
    matching: usize,
    /// Those that this request is about, in the order of their local ids.
    chosen: usize,
    /// Those that are gone.
    done: u64,
    /// Those that the world refused: they were gone already, or are part of another object now.
    refused: u64,
    /// The reason for the first of these, as in `throng_object_edits_total`.
    reason: Option<&'static str>,
    /// Argument `after` for the next objects; none at the end.
    next: Option<u32>,
}

/// Return objects to their owners. One request takes 2,550 at most; `next` of its answer leads to the others.
#[utoipa::path(post, path = "/v1/regions/{name}/objects/return", operation_id = "return_region_objects",
    params(("name" = String, Path, description = "Name of the region.")), request_body = RemovalOrder,
    security(("token" = ["regions.write"])),
    responses(
        (status = 200, body = RemovalReply),
        (status = 400, description = "No condition was given, or an impossible one."),
        (status = 404, description = "There is no such region, account or parcel."),
        (status = 503, description = "The region does not answer. The text says how many objects are gone."),
    ))]
pub(super) async fn return_objects(
    State(regions): State<Arc<Regions>>,
    Path(name): Path<String>,
    Json(order): Json<RemovalOrder>,
) -> Result<Json<RemovalReply>, RegionRefusal> {
    remove(&regions, name, order, DerezKind::Return).await.map(Json)
}

/// Delete objects, which cannot be undone. One request takes 2,550 at most; `next` of its answer leads to the others.
#[utoipa::path(post, path = "/v1/regions/{name}/objects/delete", operation_id = "delete_region_objects",
    params(("name" = String, Path, description = "Name of the region.")), request_body = RemovalOrder,
    security(("token" = ["regions.write"])),
    responses(
        (status = 200, body = RemovalReply),
        (status = 400, description = "No condition was given, or an impossible one."),
        (status = 404, description = "There is no such region, account or parcel."),
        (status = 503, description = "The region does not answer. The text says how many objects are gone."),
    ))]
pub(super) async fn delete_objects(
    State(regions): State<Arc<Regions>>,
    Path(name): Path<String>,
    Json(order): Json<RemovalOrder>,
) -> Result<Json<RemovalReply>, RegionRefusal> {
    remove(&regions, name, order, DerezKind::Delete).await.map(Json)
}

async fn remove(
    regions: &Arc<Regions>,
    name: String,
    order: RemovalOrder,
    kind: DerezKind,
) -> Result<RemovalReply, RegionRefusal> {
    let RemovalOrder { owner, parcel, within, after, limit, dry_run } = order;
    let asked = AskedFilter { owner, parcel, within };
    let limit = limit.unwrap_or(OBJECTS_MAX).min(OBJECTS_MAX) as usize;
    let (world, found) =
        regions.blocking(move |regions| choose(regions, &name, &asked, after, limit)).await?;
    let FoundObjects { roots, n_matching, next } = found;
    let mut reply = RemovalReply {
        matching: n_matching,
        chosen: roots.len(),
        done: 0,
        refused: 0,
        reason: None,
        next: next.map(|id| id.0),
    };
    if dry_run {
        return Ok(reply);
    }
    for objects in commands(roots) {
        let (folder, transaction) = (Uuid::nil(), Uuid::nil());
        let request = ObjectCommand::Derez(Derez { objects, kind, folder, transaction });
        let outcome = regions.node_edits.carry_out(world, request).await;
        let outcome = outcome.map_err(|why| {
            let (done, kind) = (reply.done, kind.label());
            RegionRefusal::unavailable(format!("{why} Objects that are gone by this {kind}: {done}."))
        })?;
        reply.done += u64::from(outcome.done);
        reply.refused += u64::from(outcome.refused);
        reply.reason = reply.reason.or_else(|| outcome.reason.map(link::EditRefusal::label));
    }
    Ok(reply)
}

fn choose(
    regions: &Regions,
    name: &str,
    asked: &AskedFilter,
    after: Option<u32>,
    limit: usize,
) -> Result<(WorldId, FoundObjects), RegionRefusal> {
    let place = regions.region(name)?;
    if asked.is_empty() {
        let why = "Name the objects by `owner`, `parcel` or `within`: without a condition the region would be cleared.";
        return Err(RegionRefusal::bad(why));
    }
    let filter = asked.resolve(regions, place.world())?;
    let replica = place.scene.feed.current();
    Ok((place.world(), find(replica.objects(), &filter, after.map(LocalId), limit)))
}

/// Objects as the contents of commands.
fn commands(roots: Vec<(LocalId, usize)>) -> Vec<Vec<LocalId>> {
    let mut commands: Vec<Vec<LocalId>> = Vec::new();
    let mut n_prims_of_last = 0;
    for (id, n_prims) in roots {
        let fits = n_prims_of_last + n_prims <= PRIMS_PER_COMMAND;
        match commands.last_mut().filter(|last| fits && last.len() < EDIT_OBJECTS_MAX) {
            Some(last) => {
                last.push(id);
                n_prims_of_last += n_prims;
            }
            None => {
                commands.push(vec![id]);
                n_prims_of_last = n_prims;
            }
        }
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_a_bounded_number_of_objects_and_prims() {
        let sizes = |roots: &[usize]| {
            let roots = (0..).map(LocalId).zip(roots.iter().copied()).collect();
            commands(roots).iter().map(Vec::len).collect::<Vec<_>>()
        };
        assert!(sizes(&[]).is_empty());
        assert_eq!(sizes(&[1; 511]), [255, 255, 1]);
        assert_eq!(sizes(&[256; 9]), [4, 4, 1]);
        assert_eq!(sizes(&[1_000, 24, 1, 2_000, 1]), [2, 1, 1, 1]);
    }

    #[test]
    fn the_bounds_in_the_description_are_those_of_the_commands() {
        assert_eq!(OBJECTS_MAX as usize, 10 * EDIT_OBJECTS_MAX);
    }
}
