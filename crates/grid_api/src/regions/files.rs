//! Export and import of regions. Files lie in the folder `regions` of the data directory, so that a token opens no other file of the machine.
//!
//! An export is read from the database, after a save: it costs the world nothing, and is the region of one frame. An import goes into the running
//! world: its land, if that is to come in, in one step, then its objects in portions, a few in each tick.

use super::answers::RegionRefusal;
use super::estate;
use super::shared::Regions;
use super::state::save_now;
use axum::extract::{Json, Path, State};
use content_threads::region_transfer::{self, MissingPart, WrittenRegion};
use data_dir::path_below;
use ids::{Uuid, WorldId};
use keeper::region_file::{LandToWrite, RegionAbout};
use keeper::{Keeper, KeeperConfig, Linkset};
use link::{
    INSERT_PRIMS_MAX, InsertedLinkset, Insertion, LandEdit, LandReplacement, LandState, ObjectCommand,
    ReplacedGround, ReplacedParcels, StoredLand,
};
use region_threads::node_edits::NodeEditError;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use utoipa::ToSchema;

/// Region files name their owners, and have texts of theirs.
const PRIVATE_DIR: u32 = 0o700;
/// Portions that go into a world together: 512 prims, which a step adds in a few milliseconds.
const PORTIONS_AT_ONCE: usize = 2;

/// A file of a region.
#[derive(Deserialize, ToSchema)]
#[schema(as = RegionFileOrder)]
#[serde(deny_unknown_fields)]
pub(super) struct FileOrder {
    /// Name of the file in the folder `regions` of the server's data directory: at most 200 bytes, without folders of its own and without
    /// control characters.
    #[schema(
        value_type = String,
        min_length = 1,
        max_length = 200,
        pattern = r"^(\.{0,2}[^/.\u0000-\u001F\u007F-\u009F][^/\u0000-\u001F\u007F-\u009F]*|\.{3,}[^/\u0000-\u001F\u007F-\u009F]*)$",
        extensions(("x-max-bytes" = json!(200)))
    )]
    file: PathBuf,
    /// Put the file's land, which is its ground, parcels and estate, in place of the region's.
    #[serde(default)]
    land: bool,
}

/// A file of a region that is to be made.
#[derive(Deserialize, ToSchema)]
#[schema(as = RegionExportOrder)]
#[serde(deny_unknown_fields)]
pub(super) struct ExportOrder {
    /// Name of the file to make in the folder `regions` of the server's data directory: at most 200 bytes, without folders of its own and without
    /// control characters.
    #[schema(
        value_type = String,
        min_length = 1,
        max_length = 200,
        pattern = r"^(\.{0,2}[^/.\u0000-\u001F\u007F-\u009F][^/\u0000-\u001F\u007F-\u009F]*|\.{3,}[^/\u0000-\u001F\u007F-\u009F]*)$",
        extensions(("x-max-bytes" = json!(200)))
    )]
    file: PathBuf,
    /// Write the file also if rows of the region are damaged, without these parts.
    #[serde(default)]
    partial: bool,
}

/// A region that was exported.
#[derive(Serialize, ToSchema)]
#[schema(as = RegionExported)]
pub(super) struct ExportReply {
    /// Life of the region's world whose frame the file has, at least.
    epoch: u32,
    /// Number of that frame.
    sequence: u64,
    prims: usize,
    bytes: u64,
    /// Parts that are damaged in the database and missing in the file.
    damaged: Vec<MissingPart>,
}

/// A file that was imported.
#[derive(Serialize, ToSchema)]
#[schema(as = RegionImported)]
pub(super) struct ImportReply {
    /// Linksets in the file.
    linksets: usize,
    /// Prims in the file.
    prims: usize,
    /// Linksets that the region has now.
    added: u64,
    /// Linksets that the world refused.
    refused: u64,
    /// The reason for the first of these, as in `throng_object_edits_total`.
    reason: Option<&'static str>,
    /// True if the region has the file's land now.
    land: bool,
}

/// Export a region to a new file: its objects as they are after a save, read back and compared.
#[utoipa::path(post, path = "/v1/regions/{name}/export", operation_id = "export_region",
    params(("name" = String, Path, description = "Name of the region.")), request_body = ExportOrder,
    security(("token" = ["regions.write"])),
    responses(
        (status = 200, body = ExportReply),
        (status = 400, description = "No such file can be made."),
        (status = 404, description = "There is no such region."),
        (status = 409, description = "There is such a file, it cannot be written, or it would be partial without that being ordered: the text names the damaged parts."),
        (status = 503, description = "The region cannot be saved, or the database does not answer."),
    ))]
pub(super) async fn export(
    State(regions): State<Arc<Regions>>,
    Path(name): Path<String>,
    Json(ExportOrder { file, partial }): Json<ExportOrder>,
) -> Result<Json<ExportReply>, RegionRefusal> {
    let world = regions.region(&name)?.world();
    let path = path_below(&regions.folder, &file).map_err(RegionRefusal::bad)?;
    let frame = save_now(&regions, &name).await?;
    let written = regions.blocking(move |regions| write(regions, world, &path, partial)).await?;
    let (WrittenRegion { n_prims, bytes }, damaged) = written;
    tracing::info!(region = name, file = %file.display(), prims = n_prims, bytes, damaged = damaged.len(), "exported");
    Ok(Json(ExportReply { epoch: frame.epoch.0, sequence: frame.sequence, prims: n_prims, bytes, damaged }))
}

fn write(
    regions: &Regions,
    world: WorldId,
    path: &std::path::Path,
    is_partial: bool,
) -> Result<(WrittenRegion, Vec<MissingPart>), RegionRefusal> {
    let unread = |why: String| RegionRefusal::unavailable(format!("The region cannot be read: {why}."));
    let stored = regions.store.read_region(world).map_err(|error| unread(error.to_string()))?;
    let config = &regions.settings(world).keeper;
    let (_, region) =
        Keeper::load(config, &stored, Uuid::nil()).map_err(|error| unread(error.to_string()))?;
    let refused = |error: region_transfer::TransferError| RegionRefusal::conflict(format!("{error}."));
    let missing = region_transfer::check_whole(&stored, &region, is_partial).map_err(refused)?;
    let place = regions.places.of_world(world).expect("a region has a place");
    let about = RegionAbout {
        name: place.name().to_owned(),
        size_m: place.ground().size_m,
        build: format!("throng {}", env!("CARGO_PKG_VERSION")),
        exported_s: regions.unix_start_s + (regions.clock)().0 / 1_000_000_000,
    };
    let made = DirBuilder::new().recursive(true).mode(PRIVATE_DIR).create(&regions.folder);
    made.map_err(|error| {
        RegionRefusal::conflict(format!("Cannot make {}: {error}.", regions.folder.display()))
    })?;
    let land = LandToWrite { land: &region.land, described: &config.land.terrain };
    let written = region_transfer::write(path, &about, (&region.objects, Some(land)), &config.ids);
    Ok((written.map_err(refused)?, missing))
}

/// Import a file into a region beside the objects that it has. Objects keep their ids, as far as they are free, and their owners. Land takes the place of the
/// region's, and cannot be undone.
#[utoipa::path(post, path = "/v1/regions/{name}/import", operation_id = "import_region",
    params(("name" = String, Path, description = "Name of the region.")), request_body = FileOrder,
    security(("token" = ["regions.write"])),
    responses(
        (status = 200, body = ImportReply),
        (status = 400, description = "That is not the name of a file."),
        (status = 404, description = "There is no such region."),
        (status = 409, description = "The file cannot be read or is damaged, has no land for this region, or the region has no room for all of it. Nothing was added or replaced."),
        (status = 503, description = "The region does not answer. The text says how many linksets were added; land may have been replaced."),
    ))]
pub(super) async fn import(
    State(regions): State<Arc<Regions>>,
    Path(name): Path<String>,
    Json(FileOrder { file, land: takes_land }): Json<FileOrder>,
) -> Result<Json<ImportReply>, RegionRefusal> {
    let world = regions.region(&name)?.world();
    let path = path_below(&regions.folder, &file).map_err(RegionRefusal::bad)?;
    let (linksets, land) = regions.blocking(move |regions| read(regions, world, &path, takes_land)).await?;
    let (n_linksets, prims) = (linksets.len(), linksets.iter().map(Vec::len).sum());
    let has_land = land.is_some();
    if let Some(land) = land {
        let edit = LandEdit::Replace(Box::new(replacement(&regions, world, land)?));
        regions.land.carry_out(world, &edit).await.map_err(estate::refusal)?;
    }
    let mut reply =
        ImportReply { linksets: n_linksets, prims, added: 0, refused: 0, reason: None, land: has_land };
    let mut portions = portions(linksets).into_iter().peekable();
    while portions.peek().is_some() {
        let failed = |added: u64| {
            move |why: NodeEditError| {
                RegionRefusal::unavailable(format!("{why} Linksets that were added, at least: {added}."))
            }
        };
        let mut pending = Vec::with_capacity(PORTIONS_AT_ONCE);
        for linksets in portions.by_ref().take(PORTIONS_AT_ONCE) {
            let ids = random_id()?;
            let request = ObjectCommand::Insert(Box::new(Insertion { ids, linksets }));
            pending.push(regions.node_edits.send(world, request).map_err(failed(reply.added))?);
        }
        for edit in pending {
            let outcome = edit.wait().await.map_err(failed(reply.added))?;
            reply.added += u64::from(outcome.done);
            reply.refused += u64::from(outcome.refused);
            reply.reason = reply.reason.or_else(|| outcome.reason.map(link::EditRefusal::label));
        }
    }
    let ImportReply { added, refused, .. } = reply;
    tracing::info!(region = name, file = %file.display(), prims, added, refused, has_land, "imported");
    Ok(Json(reply))
}

fn read(
    regions: &Regions,
    world: WorldId,
    path: &std::path::Path,
    takes_land: bool,
) -> Result<(Vec<Linkset>, Option<StoredLand>), RegionRefusal> {
    let settings = regions.settings(world);
    let place = regions.places.of_world(world).expect("a region has a place");
    let KeeperConfig { ids, land, .. } = &settings.keeper;
    let read = region_transfer::read_import(path, ids, &land.terrain, takes_land);
    let (linksets, land) = read.map_err(|error| RegionRefusal::conflict(format!("{error}.")))?;
    let n_new: usize = linksets.iter().map(Vec::len).sum();
    let n_there = place.scene.feed.current().objects().len();
    if n_there + n_new > settings.objects_max as usize {
        return Err(RegionRefusal::conflict(format!(
            "The region has {n_there} prims of {} at most (`region.max_objects`), and the file has {n_new}.",
            settings.objects_max
        )));
    }
    Ok((linksets, land))
}

/// Land of a file for a region. A parcel whose id one of another region has gets a new one.
fn replacement(
    regions: &Regions,
    world: WorldId,
    land: StoredLand,
) -> Result<LandReplacement, RegionRefusal> {
    let StoredLand { state, ground, baked, .. } = land;
    let LandState { mut parcels, squares, estate } = state;
    let mut taken = HashSet::new();
    for place in regions.places.iter().filter(|place| place.world() != world) {
        let replica = place.scene.feed.current();
        taken.extend(replica.land().into_iter().flat_map(|land| land.parcels()).map(|it| it.parcel.id));
    }
    for parcel in parcels.iter_mut().filter(|parcel| taken.contains(&parcel.id)) {
        Arc::make_mut(parcel).id = random_id()?;
    }
    Ok(LandReplacement {
        parcels: Some(ReplacedParcels { parcels, squares }),
        estate: Some(estate),
        ground: Some(ReplacedGround { patches: ground, baked }),
    })
}

/// Linksets as the contents of commands.
fn portions(linksets: Vec<Linkset>) -> Vec<Vec<InsertedLinkset>> {
    let mut portions: Vec<Vec<InsertedLinkset>> = Vec::new();
    let mut n_prims_of_last = INSERT_PRIMS_MAX;
    for linkset in linksets {
        if n_prims_of_last + linkset.len() > INSERT_PRIMS_MAX {
            portions.push(Vec::new());
            n_prims_of_last = 0;
        }
        n_prims_of_last += linkset.len();
        let prims = linkset.into_iter().map(|(place, versioned)| (place, versioned.body)).collect();
        portions.last_mut().expect("just pushed").push(InsertedLinkset { prims });
    }
    portions
}

/// A random id.
pub(super) fn random_id() -> Result<Uuid, RegionRefusal> {
    let random =
        || getrandom::u64().map_err(|_| RegionRefusal::unavailable("The system gives no random numbers."));
    Ok(Uuid::from_u64_pair(random()?, random()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::AgentId;
    use link::{PrimMotion, VersionedBody};
    use prim::{Body, Shape};

    #[test]
    fn a_portion_has_as_many_prims_as_the_largest_linkset() {
        let owner = AgentId(Uuid::from_u128(9));
        let body = Arc::new(Body::new(Uuid::from_u128(1), Shape::BOX, Arc::default(), owner, 0));
        let prim = (PrimMotion::NONE, VersionedBody { version: 1, body });
        let sizes = |linksets: &[usize]| {
            let linksets = linksets.iter().map(|&n| vec![prim.clone(); n]).collect();
            portions(linksets).iter().map(Vec::len).collect::<Vec<_>>()
        };
        assert!(sizes(&[]).is_empty());
        assert_eq!(sizes(&[256, 1, 255, 1]), [1, 2, 1]);
        assert_eq!(sizes(&[1; 600]), [256, 256, 88]);
    }
}
