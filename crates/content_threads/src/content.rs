//! Content of regions and templates: whole regions from files, as `throng region export` writes them, or from archives (`archive_content`).

use super::archive_content::{self, ArchiveContentError, ContentTarget, is_archive, store_content};
use archiver::{AccountRules, IdRule};
use assets::AssetStore;
use grid::capability::MATERIALS_MAX;
use ids::{AgentId, Uuid, WorldId};
use keeper::KeeperConfig;
use keeper::region_file::{self, RegionFile, RegionFileError};
use link::{GroundSpec, PlacedBody, Scenery, SceneryError, kept_object_ids, shared_local_ids};
use prim::Body;
use std::fs::File;
use std::io::{self, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{DocumentChanges, RegionChanges, Store, StoreError};
use thiserror::Error;
use workplace::opaque_debug;

/// Reasons for which content is not used. Without it the world would be another one, so that the server does not start.
#[derive(Debug, Error)]
pub enum ContentError {
    /// The file cannot be opened.
    #[error("cannot open the content {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// The file is damaged, or no file of a region.
    #[error("cannot read the content {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: RegionFileError,
    },
    /// The region of the file is larger than the world.
    #[error("the content {} is of a region of {found} m, and this one has {expected} m", path.display())]
    Size {
        /// The file.
        path: PathBuf,
        /// Width of its region.
        found: u32,
        /// Width of the world.
        expected: u32,
    },
    /// The archive cannot be used.
    #[error("cannot use the archive {}", path.display())]
    Archive {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: ArchiveContentError,
    },
    /// Documents beside the rows of the region cannot be kept.
    #[error("cannot keep what belongs to the content {}", path.display())]
    Store {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: StoreError,
    },
    /// A prim that cannot stand in a world without changes.
    #[error("the content {} has a prim that cannot stand there", path.display())]
    Scenery {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: SceneryError,
    },
}

/// Content of a region or a template, as it is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredContent {
    /// Name of the region or template.
    pub name: String,
    /// The file; empty: none.
    pub path: PathBuf,
    /// Width of the world.
    pub size_m: u32,
}

/// Stores that a region's content needs.
#[derive(Clone, Copy)]
pub struct ContentStores<'a> {
    /// The database.
    pub store: &'a Store,
    /// The assets.
    pub assets: &'a dyn AssetStore,
}

opaque_debug!(ContentStores<'_>);

/// Rows of a new region with the objects and the land of its content, over its described ground; `None` for a region without content. The assets of an archive
/// are stored then, and its materials: without the rows nothing names them.
///
/// # Errors
/// [`ContentError`].
pub fn rows(
    region: &ConfiguredContent,
    keeper: &KeeperConfig,
    cache_id: Uuid,
    stores: ContentStores<'_>,
) -> Result<Option<RegionChanges>, ContentError> {
    let (path, ids, ground) = (&region.path, &keeper.ids, &keeper.land.terrain);
    if path.as_os_str().is_empty() {
        return Ok(None);
    }
    if is_archive(path) {
        return archive_rows(region, keeper, cache_id, stores).map(Some);
    }
    Ok(Some(read(path, region.size_m, &ids.kept)?.rows(ids, cache_id, ground)))
}

fn archive_rows(
    region: &ConfiguredContent,
    keeper: &KeeperConfig,
    cache_id: Uuid,
    ContentStores { store, assets }: ContentStores<'_>,
) -> Result<RegionChanges, ContentError> {
    let path = &region.path;
    let failed = |source| ContentError::Archive { path: path.clone(), source };
    let unkept = |source| ContentError::Store { path: path.clone(), source };
    let estate_owner = keeper.land.estate.owner;
    // Without an owner of the estate, owners stay as they are.
    let is_known = |account: AgentId| {
        estate_owner.is_none() || store.account(account).is_ok_and(|account| account.is_some())
    };
    let accounts =
        AccountRules { is_known: &is_known, default_user: estate_owner.unwrap_or(AgentId(Uuid::nil())) };
    let mut seed = [0; 32];
    seed[..16].copy_from_slice(cache_id.as_bytes());
    let target = ContentTarget {
        name: &region.name,
        size_m: region.size_m,
        kept: &keeper.ids.kept,
        accounts,
        ids: IdRule::Renew,
        seed,
    };
    let content = archive_content::read(path, &target).map_err(failed)?;
    let land = content.land(&keeper.land, &target).map_err(failed)?;
    let materials = store_content(path, assets).map_err(failed)?;
    let world = keeper.region;
    store.add_region_materials(world, &materials, MATERIALS_MAX).map_err(unkept)?;
    let documents = DocumentChanges { rows: land.documents, replaces: true };
    let file = RegionFile { land: Some(land.land), ..content.file };
    let rows = file.rows(&keeper.ids, cache_id, &keeper.land.terrain);
    Ok(RegionChanges { documents, ..rows })
}

/// Stores the assets of the archive that a template has as content, if that is one: instances name them, and no row of a region does.
///
/// # Errors
/// [`ContentError::Archive`].
pub fn store_template_assets(
    content: &ConfiguredContent,
    assets: &dyn AssetStore,
) -> Result<(), ContentError> {
    let path = &content.path;
    if is_archive(path) {
        store_content(path, assets).map_err(|source| ContentError::Archive { path: path.clone(), source })?;
    }
    Ok(())
}

/// The ground of a template with the prims of its content, if it has any.
///
/// # Errors
/// [`ContentError`].
pub fn put_into(ground: GroundSpec, name: &str, path: &Path) -> Result<GroundSpec, ContentError> {
    if path.as_os_str().is_empty() {
        return Ok(ground);
    }
    let placed = placed(name, path, ground.size_m)?;
    let scenery: Scenery = Arc::unwrap_or_clone(ground.scenery);
    let scenery = scenery.with_content(placed);
    let scenery = scenery.map_err(|source| ContentError::Scenery { path: path.into(), source })?;
    Ok(GroundSpec { scenery: Arc::new(scenery), ..ground })
}

/// Prims of the content of a template, which no row of a region has.
pub(crate) fn template_prims(content: &ConfiguredContent) -> Result<Vec<Arc<Body>>, ContentError> {
    let ConfiguredContent { name, path, size_m } = content;
    if path.as_os_str().is_empty() {
        return Ok(Vec::new());
    }
    Ok(placed(name, path, *size_m)?.into_iter().map(|(_, _, body)| body).collect())
}

fn placed(name: &str, path: &Path, size_m: u32) -> Result<Vec<PlacedBody>, ContentError> {
    // Instances number their static objects anew; these ids only keep the prims of the file apart.
    let kept = kept_object_ids(&shared_local_ids(WorldId(1)));
    if !is_archive(path) {
        return Ok(read(path, size_m, &kept)?.placed());
    }
    // Owners mean nothing there, since no prim can be changed.
    let accounts = AccountRules { is_known: &|_| true, default_user: AgentId(Uuid::nil()) };
    let target = ContentTarget { name, size_m, kept: &kept, accounts, ids: IdRule::Keep, seed: [0; 32] };
    let content = archive_content::read(path, &target);
    let content = content.map_err(|source| ContentError::Archive { path: path.into(), source })?;
    Ok(content.file.placed())
}

fn read(path: &Path, size_m: u32, kept: &Range<u32>) -> Result<RegionFile, ContentError> {
    let file = File::open(path).map_err(|source| ContentError::Open { path: path.into(), source })?;
    let file = region_file::read(&mut BufReader::new(file), kept);
    let file = file.map_err(|source| ContentError::Read { path: path.into(), source })?;
    if file.about.size_m > size_m {
        let found = file.about.size_m;
        return Err(ContentError::Size { path: path.into(), found, expected: size_m });
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::keeper_config;
    use assets::MemoryAssets;
    use glam::Vec3;
    use ids::LocalId;
    use keeper::RegionIds;
    use keeper::region_file::RegionAbout;
    use link::{Motion, ObjectPage, PrimMotion, RestingIds, StoredObjects, Terrain, VersionedBody};
    use prim::{Shape, ShapeKind};
    use std::error::Error as _;

    fn ids() -> RegionIds {
        keeper_config().ids
    }

    fn content(path: impl Into<PathBuf>) -> ConfiguredContent {
        ConfiguredContent { name: "Arena".into(), path: path.into(), size_m: 256 }
    }

    /// A file with a torus and a part that is linked to it.
    fn file(folder: &Path, size_m: u32) -> PathBuf {
        let first = LocalId(ids().kept.start);
        let mut page = ObjectPage::empty(first);
        for n in 0..2_usize {
            let shape = Shape::plain(ShapeKind::Torus);
            let id = Uuid::from_u128(n as u128 + 1);
            let body = Body::new(id, shape, Arc::new(link::plain_texture(7)), AgentId(Uuid::from_u128(9)), 0);
            let versioned = VersionedBody { version: 1, body: Arc::new(body) };
            Arc::make_mut(&mut page.bodies)[n] = Some(versioned);
            let motion = Motion { position: Vec3::splat(20.0 - 10.0 * n as f32), ..Motion::default() };
            let parent = if n == 0 { LocalId(0) } else { first };
            Arc::make_mut(&mut page.motions)[n] =
                PrimMotion { motion, parent, link_number: n as u8, ..PrimMotion::NONE };
        }
        let kept = RestingIds { n_used: 2, resting: Vec::new() };
        let objects = StoredObjects { pages: vec![page], kept, ..StoredObjects::default() };
        let about = RegionAbout { name: "Harbour".into(), size_m, ..RegionAbout::default() };
        let path = folder.join("harbour.region");
        region_file::write(&mut File::create(&path).unwrap(), &about, &objects, None, &ids()).unwrap();
        path
    }

    fn ground() -> GroundSpec {
        let terrain = Arc::new(Terrain::flat(256, 21.0));
        let boxes = Scenery::boxes(3, &terrain, 1);
        GroundSpec::new(terrain, Arc::new(boxes), 20.0)
    }

    #[test]
    fn a_template_has_the_prims_of_its_content_behind_its_boxes() {
        let folder = tempfile::tempdir().unwrap();
        let with = put_into(ground(), "Arena", &file(folder.path(), 256)).unwrap();
        assert_eq!(with.scenery.len(), 5);
        assert_eq!(with.scenery.prims()[3].position, Vec3::splat(20.0));
        assert_eq!(with.scenery.prims()[4].position, Vec3::splat(30.0), "a part beside its root");
        assert_eq!(with.scenery.body(4).unwrap().shape, Shape::plain(ShapeKind::Torus));
        assert_eq!(put_into(ground(), "Arena", Path::new("")).unwrap(), ground());
        let arena = content(folder.path().join("harbour.region"));
        assert_eq!(template_prims(&arena).unwrap().len(), 2);
        assert!(template_prims(&content("")).unwrap().is_empty());
    }

    #[test]
    fn a_new_region_begins_with_the_objects_of_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let region = content(file(folder.path(), 256));
        let keeper = keeper_config();
        let (store, assets) = (Store::open_in_memory().unwrap(), MemoryAssets::default());
        let stores = ContentStores { store: &store, assets: &assets };
        let changes = rows(&region, &keeper, Uuid::from_u128(5), stores).unwrap().expect("content");
        assert_eq!((changes.bodies.len(), changes.states.len()), (2, 2));
        assert_eq!(changes.row.cache_id, Uuid::from_u128(5));
        assert!(rows(&content(""), &keeper, Uuid::nil(), stores).unwrap().is_none());
    }

    #[test]
    fn content_that_cannot_be_is_refused_with_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        let error = put_into(ground(), "Arena", &missing).unwrap_err();
        assert!(error.to_string().contains("missing"), "{error}");
        let broken = folder.path().join("broken");
        std::fs::write(&broken, b"no region").unwrap();
        let error = put_into(ground(), "Arena", &broken).unwrap_err();
        assert!(error.source().is_some(), "{error}");
        let error = put_into(ground(), "Arena", &file(folder.path(), 512)).unwrap_err();
        assert!(error.to_string().contains("512 m"), "{error}");
    }
}
