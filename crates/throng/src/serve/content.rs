//! Content of regions and templates: whole regions from files, as `throng region export` writes them.

use crate::config::RegionSection;
use ids::{Uuid, WorldId};
use keeper::RegionIds;
use keeper::region_file::{self, RegionFile, RegionFileError};
use link::{GroundSpec, Scenery, SceneryError, Terrain, kept_object_ids, shared_local_ids};
use std::fs::File;
use std::io::{self, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::RegionChanges;
use thiserror::Error;

/// Reasons for which content is not used. Without it the world would be another one, so that the server does not start.
#[derive(Debug, Error)]
pub(super) enum ContentError {
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

/// Rows of a new region with the objects and the land of its content, over its described ground; `None` for a region without content.
pub(super) fn rows(
    region: &RegionSection,
    ids: &RegionIds,
    cache_id: Uuid,
    ground: &Arc<Terrain>,
) -> Result<Option<RegionChanges>, ContentError> {
    let path = &region.content;
    if path.as_os_str().is_empty() {
        return Ok(None);
    }
    Ok(Some(read(path, region.size_m, &ids.kept)?.rows(ids, cache_id, ground)))
}

/// The ground of a template with the prims of its content, if it has any.
pub(super) fn put_into(ground: GroundSpec, path: &Path) -> Result<GroundSpec, ContentError> {
    if path.as_os_str().is_empty() {
        return Ok(ground);
    }
    // Instances number their static objects anew; these ids only keep the prims of the file apart.
    let kept = kept_object_ids(&shared_local_ids(WorldId(1)));
    let placed = read(path, ground.size_m, &kept)?.placed();
    let scenery: Scenery = Arc::unwrap_or_clone(ground.scenery);
    let scenery = scenery.with_content(placed);
    let scenery = scenery.map_err(|source| ContentError::Scenery { path: path.into(), source })?;
    Ok(GroundSpec { scenery: Arc::new(scenery), ..ground })
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
    use glam::Vec3;
    use ids::{AgentId, LocalId};
    use keeper::region_file::RegionAbout;
    use link::{Motion, ObjectPage, PrimMotion, RestingIds, StoredObjects, VersionedBody};
    use prim::{Body, Shape, ShapeKind};
    use std::error::Error as _;

    fn ids() -> RegionIds {
        let all = shared_local_ids(WorldId(1));
        RegionIds { kept: kept_object_ids(&all), temporary: link::temporary_object_ids(&all) }
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
        let with = put_into(ground(), &file(folder.path(), 256)).unwrap();
        assert_eq!(with.scenery.len(), 5);
        assert_eq!(with.scenery.prims()[3].position, Vec3::splat(20.0));
        assert_eq!(with.scenery.prims()[4].position, Vec3::splat(30.0), "a part beside its root");
        assert_eq!(with.scenery.body(4).unwrap().shape, Shape::plain(ShapeKind::Torus));
        assert_eq!(put_into(ground(), Path::new("")).unwrap(), ground());
    }

    #[test]
    fn a_new_region_begins_with_the_objects_of_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let region = RegionSection { content: file(folder.path(), 256), ..RegionSection::default() };
        let flat = Arc::new(Terrain::flat(256, 21.0));
        let changes = rows(&region, &ids(), Uuid::from_u128(5), &flat).unwrap().expect("content");
        assert_eq!((changes.bodies.len(), changes.states.len()), (2, 2));
        assert_eq!(changes.row.cache_id, Uuid::from_u128(5));
        assert!(rows(&RegionSection::default(), &ids(), Uuid::nil(), &flat).unwrap().is_none());
    }

    #[test]
    fn content_that_cannot_be_is_refused_with_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        let error = put_into(ground(), &missing).unwrap_err();
        assert!(error.to_string().contains("missing"), "{error}");
        let broken = folder.path().join("broken");
        std::fs::write(&broken, b"no region").unwrap();
        let error = put_into(ground(), &broken).unwrap_err();
        assert!(error.source().is_some(), "{error}");
        let error = put_into(ground(), &file(folder.path(), 512)).unwrap_err();
        assert!(error.to_string().contains("512 m"), "{error}");
    }
}
