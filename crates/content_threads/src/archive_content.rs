//! Archives of regions as content: regions and instances that begin with one.
//!
//! The server starts only if the archive can be read to its end and has room. Objects that no world takes are left out, with a word in the log.

use super::archive_assets::{AssetWay, LoadAssetsError, LoadedAssets, store_assets};
use archive::check::{ArchiveReport, CheckConfig, CheckError, check_oar_with};
use archive::file::{ArchiveLimits, FileError};
use archive::oar::{OarReader, TerrainHeights};
use archiver::region::{
    FoundTelehub, LinksetConverter, ParcelRules, Placing, PlacingOptions, PlanError, RegionContents,
    RegionPlan, RegionPlanner, TooManyParcels, estate_of, ground_of, parcels_of, patches_of, read_terrain,
};
use archiver::{AccountRules, IdRule, RenewedIds};
use assets::{AddAssetError, AssetStore};
use grid::capability::{MATERIALS_MAX, archived_material};
use ids::Uuid;
use keeper::region_file::{RegionAbout, RegionFile};
use keeper::{Linkset, NewLand};
use link::{InsertedLinkset, LandState, StoredLand, VersionedBody};
use prim::{Body, PCode, check_texture_entry};
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use store::RegionDocument;

/// Ending of the names of archives.
const ENDING: &str = "oar";

/// Reasons for which an archive is no content.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveContentError {
    /// The file.
    #[error("cannot read the file")]
    Io(#[from] io::Error),
    /// Its contents.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// It ends early.
    #[error("{0}")]
    CutShort(Box<str>),
    /// Its region.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A part of it.
    #[error(transparent)]
    File(#[from] FileError),
    /// A region that is larger than the world.
    #[error("it is of a region of {width} x {depth} m, and this one has {expected} m")]
    Size {
        /// Its width.
        width: u32,
        /// Its depth.
        depth: u32,
        /// Width of the world.
        expected: u32,
    },
    /// Too many prims.
    #[error("it has more prims than there are local ids")]
    Prims,
    /// Too many parcels.
    #[error(transparent)]
    Parcels(#[from] TooManyParcels),
    /// Assets that cannot be stored.
    #[error(transparent)]
    Assets(#[from] LoadAssetsError),
}

/// True for the name of an archive.
pub(super) fn is_archive(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(ENDING))
}

/// The world that an archive is for.
pub(super) struct ContentTarget<'a> {
    /// Name of the region or template, which also chooses one of several regions.
    pub(super) name: &'a str,
    pub(super) size_m: u32,
    /// Local ids for its objects.
    pub(super) kept: &'a Range<u32>,
    pub(super) accounts: AccountRules<'a>,
    pub(super) ids: IdRule,
    /// Seed of ids.
    pub(super) seed: [u8; 32],
}

/// Objects of an archive, and the other content of its region.
pub(super) struct ArchiveContent {
    /// The region without land.
    pub(super) file: RegionFile,
    plan: RegionPlan,
    placing: Placing,
    telehub: Option<FoundTelehub>,
    terrain: Option<TerrainHeights>,
}

/// Land of an archive for a region that begins with it.
pub(super) struct ContentLand {
    pub(super) land: StoredLand,
    /// Documents of settings and parcels, for archives that are saved later.
    pub(super) documents: Vec<RegionDocument>,
}

/// Reads an archive, and checks all of it.
pub(super) fn read(path: &Path, target: &ContentTarget<'_>) -> Result<ArchiveContent, ArchiveContentError> {
    let file = File::open(path)?;
    let mut planner = RegionPlanner::default();
    let report = check_oar_with(&file, &CheckConfig::default(), &mut planner)?;
    if let Some(why) = &report.cut_short {
        return Err(ArchiveContentError::CutShort(why.clone()));
    }
    warn_of(path, &report);
    let plan = planner.finish(None, target.name, &report)?;
    let ((width, depth), expected) = (plan.size_m(), target.size_m);
    if width.max(depth) > expected {
        return Err(ArchiveContentError::Size { width, depth, expected });
    }
    let placing = plan.placing(PlacingOptions::default(), expected);
    let ids = RenewedIds::new(target.ids, target.seed);
    let mut converter = LinksetConverter::new(placing, target.accounts, ids, plan.telehub());
    let mut contents = RegionContents::new(reopened(&file)?, plan.directory(), plan.n_documents());
    let (mut linksets, mut n_unfit) = (Vec::new(), 0_u64);
    while let Some(portion) = contents.next_portion(&mut converter, &|_| false)? {
        for linkset in portion {
            match checked(linkset) {
                Some(linkset) => linksets.push(linkset),
                None => n_unfit += 1,
            }
        }
    }
    if n_unfit > 0 {
        tracing::warn!(file = %path.display(), n_unfit, "objects that no world takes are left out");
    }
    for finding in converter.findings().listed() {
        tracing::info!(file = %path.display(), object = &*finding.what, "{}", finding.why);
    }
    let terrain = read_terrain(&mut reopened(&file)?, plan.directory())?;
    let about = RegionAbout { name: target.name.to_owned(), size_m: expected, ..RegionAbout::default() };
    let file = RegionFile::of_linksets(about, linksets, None, target.kept);
    let file = file.ok_or(ArchiveContentError::Prims)?;
    let telehub = converter.telehub().cloned();
    Ok(ArchiveContent { file, plan, placing, telehub, terrain })
}

impl ArchiveContent {
    /// Land with the settings, parcels and terrain of the archive, as far as it has them; otherwise the land of a new region.
    pub(super) fn land(
        &self,
        new: &NewLand,
        target: &ContentTarget<'_>,
    ) -> Result<ContentLand, ArchiveContentError> {
        let NewLand { terrain: described, estate, now_s } = new;
        let settings = self.plan.settings();
        let estate = settings
            .map_or_else(|| estate.clone(), |settings| estate_of(settings, estate, self.telehub.as_ref()));
        // Each region has ids of its own, however many begin with the same archive.
        let mut ids = RenewedIds::new(IdRule::Renew, target.seed);
        let size_m = target.size_m;
        let rules = ParcelRules {
            placing: self.placing,
            accounts: target.accounts,
            estate_owner: estate.owner,
            region_m: size_m,
            now_s: *now_s,
        };
        let (state, parcels) = match self.plan.parcels() {
            [] => {
                let parcel = ids.part(Uuid::nil(), 1);
                (LandState::of_one_parcel(size_m, parcel, estate, *now_s), Vec::new())
            }
            archived => {
                let loaded = parcels_of(archived, None, &rules, &mut ids)?;
                let (parcels, squares) = (loaded.replaced.parcels, loaded.replaced.squares);
                (LandState { parcels, squares, estate: Arc::new(estate) }, loaded.loaded)
            }
        };
        let ground = self.terrain.as_ref().map(|terrain| ground_of(terrain, &self.placing, described));
        let patches = ground.map_or_else(Vec::new, |ground| patches_of(&ground, described));
        let land = StoredLand { ground: patches.clone(), baked: patches, ..StoredLand::new(state, *now_s) };
        Ok(ContentLand { land, documents: self.plan.documents(true, &parcels) })
    }
}

/// Stores the assets of an archive; returns the values of its legacy materials, as far as a region has room for them.
pub(super) fn store_content(
    path: &Path,
    assets: &dyn AssetStore,
) -> Result<Vec<(Uuid, Vec<u8>)>, ArchiveContentError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // No client uploads before the server has started.
    let pause = || Err(AddAssetError::Busy);
    let way = AssetWay { store: assets, origin: Arc::from(&*name), pause: &pause };
    let mut materials = Vec::new();
    let mut take_material = |id: Uuid, document: &[u8]| {
        let has_room = materials.len() < MATERIALS_MAX as usize;
        materials.extend(archived_material(document).filter(|_| has_room).map(|value| (id, value)));
    };
    let loaded = store_assets(File::open(path)?, &way, &mut take_material)?;
    let LoadedAssets { n_stored, n_unfit, n_kept, .. } = loaded;
    tracing::info!(file = %path.display(), n_stored, n_unfit, n_kept, "assets of an archive");
    Ok(materials)
}

fn warn_of(path: &Path, report: &ArchiveReport) {
    let (missing, damaged) = (report.missing.n_total, report.damaged.n_total);
    let unreadable = report.unreadable.n_total;
    if missing + damaged + unreadable > 0 {
        let (file, advice) = (path.display(), "`throng oar check` lists them");
        tracing::warn!(%file, missing, damaged, unreadable, "an archive is not whole: {advice}");
    }
}

fn reopened(file: &File) -> Result<OarReader<&File>, ArchiveContentError> {
    let mut from_start = file;
    from_start.seek(SeekFrom::Start(0))?;
    Ok(OarReader::open(file, ArchiveLimits::default())?)
}

/// A linkset as worlds have them, whole; `None` if no world takes it.
fn checked(linkset: InsertedLinkset) -> Option<Linkset> {
    let prims = linkset.prims.into_iter().map(|(place, body)| {
        let body = checked_body(&body)?;
        // Random, as the id that it is taken from: a viewer may have cached another state of an object with the same id.
        let version = (body.id.as_u64_pair().1 as u32).max(1);
        Some((place, VersionedBody { version, body: Arc::new(body) }))
    });
    prims.collect()
}

fn checked_body(body: &Body) -> Option<Body> {
    let mut body = body.clone().checked().ok()?;
    body.shape = body.shape.clamped().ok()?;
    check_texture_entry(&body.texture_entry).ok()?;
    if body.p_code == PCode::Prim {
        // The attachment point of a linkset that was worn when it was saved.
        body.state = 0;
    }
    Some(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::file::ArchiveWriter;
    use archive::oar::{ArchivedSettings, OarControl, OarWriter, RegionSize};
    use archive::object::{PartPlace, SceneGroup, ScenePart, WriteOptions, write_group};
    use glam::Vec3;
    use ids::AgentId;
    use link::{Estate, Terrain};
    use prim::Shape;

    const KEPT: Range<u32> = 1 << 20..1 << 20 | 1 << 10;

    fn part(n: u128, position: Vec3) -> ScenePart {
        let texture = Arc::new(link::plain_texture(7));
        let owner = AgentId(Uuid::from_u128(9));
        let body = Arc::new(Body::new(Uuid::from_u128(n), Shape::BOX, texture, owner, 0));
        ScenePart { place: PartPlace { position, ..PartPlace::default() }, flags: 0, body }
    }

    /// A linkset of two, a terrain and settings.
    fn archive(folder: &Path, side_m: u32) -> std::path::PathBuf {
        let size = RegionSize { width_m: side_m, depth_m: side_m };
        let control = OarControl::single(Uuid::from_u128(1), size, 7);
        let mut writer = OarWriter::begin(ArchiveWriter::plain(Vec::new()), &control).unwrap();
        let settings = ArchivedSettings { water_m: 18.0, ..ArchivedSettings::default() };
        writer.settings(None, "Harbour", &settings).unwrap();
        let n_heights = (side_m * side_m) as usize;
        let terrain = TerrainHeights { width: side_m, depth: side_m, heights: vec![30.0; n_heights] };
        writer.terrain(None, "Harbour", &terrain).unwrap();
        let group = SceneGroup { root: part(1, Vec3::splat(20.0)), others: vec![part(2, Vec3::X)] };
        let document = write_group(&group, &WriteOptions::default());
        writer.object(None, ("Box", [20.0; 3], Uuid::from_u128(1)), &document).unwrap();
        let path = folder.join("harbour.oar");
        std::fs::write(&path, writer.finish().unwrap()).unwrap();
        path
    }

    fn target(size_m: u32) -> ContentTarget<'static> {
        let accounts = AccountRules { is_known: &|_| true, default_user: AgentId(Uuid::nil()) };
        ContentTarget { name: "Harbour", size_m, kept: &KEPT, accounts, ids: IdRule::Keep, seed: [1; 32] }
    }

    #[test]
    fn a_region_begins_with_objects_and_land_of_an_archive() {
        let folder = tempfile::tempdir().unwrap();
        let path = archive(folder.path(), 256);
        let content = read(&path, &target(256)).unwrap();
        let placed = content.file.placed();
        let positions: Vec<Vec3> = placed.iter().map(|(position, ..)| *position).collect();
        assert_eq!(positions, [Vec3::splat(20.0), Vec3::new(21.0, 20.0, 20.0)]);
        let terrain = Arc::new(Terrain::flat(256, 21.0));
        let new = NewLand { terrain, estate: Estate::new("My Estate", None, 20.0), now_s: 7 };
        let ContentLand { land, documents } = content.land(&new, &target(256)).unwrap();
        assert_eq!(land.state.estate.levels.water_m, 18.0);
        assert_eq!((land.state.parcels.len(), land.ground.len()), (1, 256));
        assert_eq!(documents.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [Uuid::nil()]);
    }

    #[test]
    fn archives_that_cannot_be_used_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = archive(folder.path(), 512);
        let refused = |path: &Path| read(path, &target(256)).err().expect("refused").to_string();
        assert!(refused(&path).contains("512 x 512 m"));
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        assert!(refused(&path).contains("ends early"), "{}", refused(&path));
        std::fs::write(&path, b"no archive").unwrap();
        assert!(!refused(&path).is_empty());
        assert!(is_archive(Path::new("a/b.OAR")) && !is_archive(Path::new("oar")));
    }

    #[test]
    fn a_template_may_have_a_larger_world_than_its_archive() {
        let folder = tempfile::tempdir().unwrap();
        let path = archive(folder.path(), 256);
        assert_eq!(read(&path, &target(512)).unwrap().file.placed().len(), 2);
        let assets = assets::MemoryAssets::default();
        assert!(store_content(&path, &assets).unwrap().is_empty());
    }
}
