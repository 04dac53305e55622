//! Lists of objects, and single ones.

use super::answers::RegionRefusal;
use super::filter::{AskedFilter, find, parse_within};
use super::shared::Regions;
use axum::extract::{Json, Path, Query, State};
use glam::Vec3;
use ids::{AgentId, Instant, LocalId, Uuid};
use link::PrimFlags;
use prim::Permissions;
use replicate::objects::{ObjectEntry, ObjectReplica};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::ToSchema;

/// Objects in one answer, unless the request says otherwise.
const OBJECTS_DEFAULT: u32 = 100;
/// Objects in one answer at most. The bound in the description is a literal.
const OBJECTS_MAX: u32 = 1_000;

/// A linkset in the API, described by its root.
#[derive(Serialize, ToSchema)]
#[schema(as = RegionObject)]
pub(super) struct ObjectRow {
    /// Its id on every grid.
    id: Uuid,
    /// Its number in the region.
    local_id: u32,
    name: String,
    owner: Uuid,
    /// First and last name of that account, if it exists.
    owner_name: Option<String>,
    creator: Uuid,
    /// First and last name of that account, if it exists.
    creator_name: Option<String>,
    /// Prims of the linkset.
    prims: usize,
    /// Metres from the region's corner: east, north, up.
    #[schema(value_type = Vec<f32>, min_items = 3, max_items = 3)]
    position: [f32; 3],
    /// Moved by physics, asleep or awake.
    physical: bool,
    /// Vanishes by itself, and is not saved.
    temporary: bool,
    /// Collides with nothing.
    phantom: bool,
    /// Seconds since the last change of any prim of the linkset; none if it is unchanged since the region began.
    changed_s: Option<u64>,
}

/// A part of a region's objects.
#[derive(Serialize, ToSchema)]
#[schema(as = RegionObjects)]
pub(super) struct ObjectList {
    /// In the order of their local ids.
    #[schema(max_items = 1_000)]
    objects: Vec<ObjectRow>,
    /// Objects of the region that meet the conditions, in all.
    matching: usize,
    /// Argument `after` for the next part; none at the end.
    next: Option<u32>,
}

/// An object with its settings and parts.
#[derive(Serialize, ToSchema)]
#[schema(as = RegionObjectDetails)]
pub(super) struct ObjectDetails {
    object: ObjectRow,
    description: String,
    last_owner: Uuid,
    /// Null for none.
    group: Option<Uuid>,
    /// Seconds since 1970.
    created_s: u64,
    /// Size of the root along its axes, metres.
    #[schema(value_type = Vec<f32>, min_items = 3, max_items = 3)]
    size_m: [f32; 3],
    /// Rights as bits of the protocol.
    masks: MaskRow,
    /// Price; none if it is not for sale.
    price: Option<i32>,
    /// Prims of the linkset beside its root, in their order.
    #[schema(max_items = 255)]
    parts: Vec<PartRow>,
}

/// Rights as bits of the protocol.
#[derive(Serialize, ToSchema)]
#[schema(as = RegionObjectMasks)]
struct MaskRow {
    base: u32,
    owner: u32,
    group: u32,
    everyone: u32,
    next_owner: u32,
}

impl From<&Permissions> for MaskRow {
    fn from(masks: &Permissions) -> Self {
        let Permissions { base, owner, group, everyone, next_owner } = masks;
        Self {
            base: base.bits(),
            owner: owner.bits(),
            group: group.bits(),
            everyone: everyone.bits(),
            next_owner: next_owner.bits(),
        }
    }
}

/// A part of a linkset.
#[derive(Serialize, ToSchema)]
#[schema(as = RegionObjectPart)]
struct PartRow {
    id: Uuid,
    local_id: u32,
    name: String,
}

/// Conditions and part of a list.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct ObjectQuery {
    /// Owner: "First Last", or the id of an account. The bound counts characters as they stand in the address.
    #[serde(default)]
    #[param(min_length = 1, max_length = 189)]
    owner: Option<String>,
    /// Number of the parcel on which the object's root stands.
    #[serde(default)]
    #[param(minimum = 1, maximum = 65_535)]
    parcel: Option<u16>,
    /// `X,Y,Z,R`: roots at most R metres from a place.
    #[serde(default)]
    #[param(min_length = 1, max_length = 100)]
    within: Option<String>,
    /// Objects behind this local id: `next` of the former part.
    #[serde(default)]
    after: Option<u32>,
    /// Objects in the answer at most, 100 without it.
    #[serde(default)]
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<u32>,
}

/// An object as the replica has it, before names are looked up.
struct ReplicaRow {
    id: LocalId,
    object: Uuid,
    name: Arc<str>,
    owner: AgentId,
    creator: AgentId,
    n_prims: usize,
    position: Vec3,
    flags: PrimFlags,
    changed_at: Option<Instant>,
}

impl ReplicaRow {
    fn new(id: LocalId, entry: &ObjectEntry, n_prims: usize) -> Self {
        let body = &entry.body;
        Self {
            id,
            object: body.id,
            name: Arc::clone(&body.names.name),
            owner: body.ownership.owner,
            creator: body.ownership.creator,
            n_prims,
            position: entry.position,
            flags: entry.prim.flags,
            changed_at: entry.changed_at(),
        }
    }

    fn reply(self, now: Instant, names: &BTreeMap<AgentId, Arc<str>>) -> ObjectRow {
        let name_of = |agent: AgentId| names.get(&agent).map(|name| name.to_string());
        ObjectRow {
            id: self.object,
            local_id: self.id.0,
            name: self.name.to_string(),
            owner: self.owner.0,
            owner_name: name_of(self.owner),
            creator: self.creator.0,
            creator_name: name_of(self.creator),
            prims: self.n_prims,
            position: self.position.to_array(),
            physical: self.flags.any(PrimFlags::PHYSICS),
            temporary: self.flags.any(PrimFlags::TEMPORARY),
            phantom: self.flags.any(PrimFlags::PHANTOM),
            changed_s: self.changed_at.map(|at| now.since(at).as_secs()),
        }
    }
}

/// Rows with the names of accounts.
fn replies(regions: &Regions, rows: Vec<ReplicaRow>) -> Vec<ObjectRow> {
    let names = regions.owners.names(rows.iter().flat_map(|row| [row.owner, row.creator]));
    let now = (regions.clock)();
    rows.into_iter().map(|row| row.reply(now, &names)).collect()
}

/// Objects of a region, the linksets that stand in it.
#[utoipa::path(get, path = "/v1/regions/{name}/objects", operation_id = "list_region_objects",
    params(("name" = String, Path, description = "Name of the region."), ObjectQuery),
    security(("token" = ["regions.read"])),
    responses(
        (status = 200, body = ObjectList),
        (status = 404, description = "There is no such region, account or parcel."),
    ))]
pub(super) async fn list(
    State(regions): State<Arc<Regions>>,
    Path(name): Path<String>,
    Query(query): Query<ObjectQuery>,
) -> Result<Json<ObjectList>, RegionRefusal> {
    let list = move |regions: &Regions| {
        let place = regions.region(&name)?;
        let ObjectQuery { owner, parcel, within, after, limit } = query;
        let within = within.as_deref().map(parse_within).transpose()?;
        let filter = AskedFilter { owner, parcel, within }.resolve(regions, place.world())?;
        let limit = limit.unwrap_or(OBJECTS_DEFAULT).min(OBJECTS_MAX) as usize;
        let (rows, n_matching, next) = {
            // Its buffer is needed for the next frames, so that the database is not asked meanwhile.
            let replica = place.scene.feed.current();
            let objects = replica.objects();
            let found = find(objects, &filter, after.map(LocalId), limit);
            let row =
                |&(id, n_prims): &(LocalId, usize)| Some(ReplicaRow::new(id, objects.get(id)?, n_prims));
            let rows: Vec<ReplicaRow> = found.roots.iter().filter_map(row).collect();
            (rows, found.n_matching, found.next)
        };
        let objects = replies(regions, rows);
        Ok(ObjectList { objects, matching: n_matching, next: next.map(|id| id.0) })
    };
    regions.blocking(list).await.map(Json)
}

/// One object, by its id or that of one of its parts.
#[utoipa::path(get, path = "/v1/regions/{name}/objects/{id}", operation_id = "show_region_object",
    params(("name" = String, Path, description = "Name of the region."), ("id" = Uuid, Path)),
    security(("token" = ["regions.read"])),
    responses(
        (status = 200, body = ObjectDetails),
        (status = 404, description = "There is no such region or object."),
    ))]
pub(super) async fn show(
    State(regions): State<Arc<Regions>>,
    Path((name, id)): Path<(String, Uuid)>,
) -> Result<Json<ObjectDetails>, RegionRefusal> {
    let show = move |regions: &Regions| {
        let place = regions.region(&name)?;
        let absent = || RegionRefusal::absent(format!("There is no object {id} in {}.", place.name()));
        let (row, complete) = {
            let replica = place.scene.feed.current();
            linkset_of(replica.objects(), id).ok_or_else(absent)?
        };
        let object = replies(regions, vec![row]).pop().expect("as many as there were rows");
        Ok(complete(object))
    };
    regions.blocking(show).await.map(Json)
}

/// The linkset of a prim, and a function that completes its details by its row.
fn linkset_of(
    objects: &ObjectReplica,
    id: Uuid,
) -> Option<(ReplicaRow, impl FnOnce(ObjectRow) -> ObjectDetails + use<>)> {
    let named = objects.of_id(id)?;
    let parent = objects.get(named)?.prim.parent;
    let root_id = if objects.get(parent).is_some() { parent } else { named };
    let root = objects.get(root_id)?;
    let mut parts: Vec<(u8, PartRow)> = objects
        .entries()
        .filter(|(_, entry)| entry.prim.parent == root_id)
        .map(|(id, entry)| {
            let name = entry.body.names.name.to_string();
            (entry.prim.link_number, PartRow { id: entry.body.id, local_id: id.0, name })
        })
        .collect();
    parts.sort_by_key(|(number, _)| *number);
    let row = ReplicaRow::new(root_id, root, 1 + parts.len());
    let body = Arc::clone(&root.body);
    let complete = move |object| {
        let ownership = &body.ownership;
        let group = ownership.group;
        ObjectDetails {
            object,
            description: body.names.description.to_string(),
            last_owner: ownership.last_owner.0,
            group: (!group.is_nil()).then_some(group),
            created_s: body.created_us / 1_000_000,
            size_m: body.scale.to_array(),
            masks: MaskRow::from(&ownership.permissions),
            price: (body.sale.kind != prim::SaleKind::No).then_some(body.sale.price),
            parts: parts.into_iter().map(|(_, part)| part).collect(),
        }
    };
    Some((row, complete))
}
