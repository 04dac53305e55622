//! The collection of archives for round trips: one of every version that the readers and writers know, and those of other programs that lie in a folder.

use super::failed;
use super::generate::{OarPlan, ObjectMaker, WrittenOar, write_oar};
use crate::error::ExperimentError;
use archive::ArchivedKind;
use archive::file::{ArchiveWriteError, ArchiveWriter};
use archive::iar::{
    ArchivedItem, IarControl, IarWriter, LINK_TO_FOLDER, LINK_TO_ITEM, NodeLocation, NodeName,
};
use archive::object::{WriteOptions, XmlForm, write_group};
use bots::carry::Content;
use bots::carry::item_row::{COPY, MODIFY, MOVE, NOTECARD, TEXTURE, TRANSFER};
use bots::rng::Rng;
use ids::Uuid;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// Versions of archives of regions, and of inventories.
pub(super) const OAR_VERSIONS: [(u32, u32); 10] =
    [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (0, 6), (0, 7), (0, 8), (1, 0), (1, 1)];
pub(super) const IAR_VERSIONS: [(u32, u32); 6] = [(0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2)];

/// The variable of the environment that names a folder with archives of other programs.
pub(super) const FOREIGN_FOLDER: &str = "THRONG_OARS";

/// Seed of the first archive; the others follow.
const SEED: u64 = 64;
/// Textures and uncompressed bytes of an archive of a region.
const TEXTURES: u32 = 8;
const BYTES: u64 = 1_200_000;
/// Prims of the object in an archive of an inventory.
const ITEM_PRIMS: u32 = 5;

/// Kinds of assets and items that are objects.
const OBJECT: i8 = 6;
/// Upper half of ids of folders and items; the beginning of lower halves is the variant of random ids.
const NODES: u64 = 0x6961_7200_0000_4000;
const VARIANT: u64 = 0x8000_0000_0000_0000;
const ALL_RIGHTS: u32 = TRANSFER | MODIFY | COPY | MOVE;

/// The outer folder in an archive of an inventory, by the number of its version.
pub(super) fn folder_name(n: usize) -> String {
    format!("Chest {n}")
}

/// Writes an archive of a region in the `n`th version, all of which belongs to an account.
pub(in crate::keep) fn write_region(
    path: &Path,
    n: usize,
    n_prims: u32,
    owner: Uuid,
) -> Result<WrittenOar, ExperimentError> {
    let (version, seed) = (OAR_VERSIONS[n % OAR_VERSIONS.len()], SEED + n as u64);
    let plan =
        OarPlan { version, owner, n_prims, n_textures: TEXTURES, bytes: BYTES, has_assets: true, seed };
    write_oar(path, &plan)
}

/// Writes an archive of an inventory in the `n`th version: a folder with an empty one and one with an object, a notecard and links.
pub(in crate::keep) fn write_inventory(path: &Path, n: usize, owner: Uuid) -> Result<(), ExperimentError> {
    let file =
        File::create(path).map_err(|source| ExperimentError::File { path: path.to_owned(), source })?;
    let archive = ArchiveWriter::gzip(BufWriter::new(file), 6);
    write_nodes(archive, n, owner).map_err(|why| failed(path, why))
}

fn write_nodes(
    archive: ArchiveWriter<BufWriter<File>>,
    n: usize,
    owner: Uuid,
) -> Result<(), ArchiveWriteError> {
    let (version, seed) = (IAR_VERSIONS[n % IAR_VERSIONS.len()], SEED + n as u64);
    let id = |n: u64| Uuid::from_u64_pair(NODES | seed, VARIANT | n);
    let states_assets = version >= (0, 3) && version.0 == 0 || version >= (1, 2);
    let assets_included = states_assets.then_some(true);
    let control = IarControl { version, assets_included, ..IarControl::default() };
    let mut writer = IarWriter::begin(archive, &control)?;
    let node = |name: &str, n: u64| NodeName { name: name.into(), id: id(n) };
    let folders = vec![node(&folder_name(n), 1), node("A/B & C", 2)];
    writer.folder(&NodeLocation { folders: folders.clone(), item: None })?;
    let empty = vec![folders[0].clone(), node("Empty", 3)];
    writer.folder(&NodeLocation { folders: empty, item: None })?;
    for (n, name, asset, asset_type) in [
        (10, "Chair/table", id(20), OBJECT.into()),
        (11, "Read me", id(21), NOTECARD.into()),
        (12, "Link", id(10), LINK_TO_ITEM),
        (13, "Folder", id(3), LINK_TO_FOLDER),
    ] {
        let item = ArchivedItem {
            id: id(n),
            name: name.to_owned(),
            inventory_type: asset_type,
            asset_type,
            asset,
            creator: owner.to_string(),
            owner,
            base_mask: ALL_RIGHTS,
            owner_mask: ALL_RIGHTS,
            ..ArchivedItem::default()
        };
        let location = NodeLocation { folders: folders.clone(), item: Some(node(name, n)) };
        writer.item(&location, &item)?;
    }
    let kind = |number| ArchivedKind::from_number(number).expect("archives have these kinds");
    let (object, plan) = object(owner, seed);
    writer.asset(id(20), kind(OBJECT), object.as_bytes())?;
    let mut rng = Rng::new(seed, 2);
    writer.asset(id(21), kind(NOTECARD), &Content::notecard(&mut rng).bytes)?;
    for texture in plan.textures() {
        writer.asset(texture, kind(TEXTURE), &Content::texture(&mut rng, 2_000).bytes)?;
    }
    writer.finish()?.flush()?;
    Ok(())
}

/// An object as inventories have them, and the plan that its textures are of.
fn object(owner: Uuid, seed: u64) -> (String, OarPlan) {
    let plan = OarPlan {
        version: (0, 8),
        owner,
        n_prims: ITEM_PRIMS,
        n_textures: ITEM_PRIMS,
        bytes: 0,
        has_assets: true,
        seed: seed | 0x800,
    };
    let group = ObjectMaker::new(&plan).bare_group();
    let options = WriteOptions { form: XmlForm::Original, creators: None };
    (write_group(&group, &options), plan)
}

/// Archives of regions of other programs, in the order of their names; none if no folder is named.
pub(super) fn foreign() -> Result<Vec<PathBuf>, ExperimentError> {
    let Some(folder) = std::env::var_os(FOREIGN_FOLDER).map(PathBuf::from) else { return Ok(Vec::new()) };
    let failed = |source| ExperimentError::File { path: folder.clone(), source };
    let mut paths = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "oar") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}
