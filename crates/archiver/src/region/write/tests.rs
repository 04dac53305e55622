//! Regions as archives: everything comes back, but for the parts that were left out.

use super::*;
use crate::region::{
    LinksetConverter, RegionContents, RegionPlan, RegionPlanner, estate_of, ground_of, parcels_of,
    read_terrain,
};
use crate::testing::*;
use crate::{IdRule, RenewedIds};
use archive::check::{ArchiveReport, CheckConfig, CheckVerdict, check_oar_with};
use archive::file::{ArchiveLimits, ArchiveWriter};
use archive::oar::{OarControl, OarReader, RegionSize};
use archive::object::ScenePart;
use glam::Vec3;
use link::{Estate, LandState, PrimMotion, VersionedBody};

fn prim(part: &ScenePart) -> (PrimMotion, VersionedBody) {
    let mut place = PrimMotion::NONE;
    (place.motion.position, place.motion.rotation) = (part.place.position, part.place.rotation);
    (place, VersionedBody { version: 3, body: Arc::clone(&part.body) })
}

struct Sample {
    linksets: Vec<PlacedLinkset>,
    land: StoredLand,
    ground: Terrain,
    documents: BTreeMap<Uuid, Vec<u8>>,
}

impl Sample {
    fn new() -> Self {
        let lamp = with(part(10, Vec3::new(10.0, 20.0, 30.0)), |body| {
            body.names.name = "Lamp/1".into();
            // There are no groups.
            let contents = notecards(&[50], agent(1)).map(|contents| contents.with_group(Uuid::nil()));
            body.contents = contents.map(Arc::new);
        });
        let bench = part(20, Vec3::new(200.0, 20.0, 30.0));
        let estate = Estate::new("Hills", Some(agent(1)), 20.0);
        Self {
            linksets: vec![vec![prim(&lamp), prim(&part(11, Vec3::X))], vec![prim(&bench)]],
            land: StoredLand::new(LandState::of_one_parcel(256, id(5), estate, 7), 7),
            ground: Terrain::hills(256, 3),
            documents: BTreeMap::new(),
        }
    }

    fn write(&self, options: &RegionWriteOptions<'_>) -> (Vec<u8>, RegionWritten, AssetClosure) {
        let size = RegionSize { width_m: 256, depth_m: 256 };
        let control = OarControl::single(id(1), size, 7);
        let mut writer = OarWriter::begin(ArchiveWriter::plain(Vec::new()), &control).unwrap();
        let region = RegionToWrite {
            name: "Harbour",
            directory: None,
            linksets: &self.linksets,
            land: &self.land,
            ground: &self.ground,
            documents: &self.documents,
        };
        let mut closure = AssetClosure::default();
        let mut calls = 0;
        let mut progress = |n_objects, bytes| {
            calls += 1;
            assert!(n_objects == calls && bytes > 0);
            Ok::<(), ArchiveWriteError>(())
        };
        let written = write_region(&mut writer, &region, options, &mut closure, &mut progress).unwrap();
        (writer.finish().unwrap(), written, closure)
    }
}

fn options() -> RegionWriteOptions<'static> {
    RegionWriteOptions { home: None, name_of: &|_| None, is_published: false, rights: Mask::NONE }
}

fn plan(file: &[u8]) -> (RegionPlan, ArchiveReport) {
    let mut planner = RegionPlanner::default();
    let report = check_oar_with(file, &CheckConfig::default(), &mut planner).unwrap();
    assert_eq!(report.verdict(), CheckVerdict::Loads, "{report:?}");
    (planner.finish(None, "Harbour", &report).unwrap(), report)
}

/// Loads an archive as it is.
fn load(file: &[u8]) -> (Vec<PlacedLinkset>, ParcelsAndGround) {
    let (plan, _) = plan(file);
    let placing = plan.placing(PlacingOptions::default(), 256);
    let accounts = AccountRules { is_known: &|_| true, default_user: agent(9) };
    let ids = RenewedIds::new(IdRule::Keep, [1; 32]);
    let mut converter = LinksetConverter::new(placing, accounts, ids, plan.telehub());
    let reader = OarReader::open(file, ArchiveLimits::default()).unwrap();
    let mut contents = RegionContents::new(reader, None, plan.n_documents());
    let mut linksets = Vec::new();
    while let Some(portion) = contents.next_portion(&mut converter, &|_| false).unwrap() {
        let prim = |(place, body): (PrimMotion, Arc<prim::Body>)| (place, VersionedBody { version: 1, body });
        linksets.extend(portion.into_iter().map(|it| it.prims.into_iter().map(prim).collect::<Vec<_>>()));
    }
    let owner = Some(agent(1));
    let rules = ParcelRules { placing, accounts, estate_owner: owner, region_m: 256, now_s: 7 };
    let mut ids = RenewedIds::new(IdRule::Keep, [1; 32]);
    let parcels = parcels_of(plan.parcels(), None, &rules, &mut ids).unwrap();
    let former = Estate::new("Hills", owner, 1.0);
    let estate = estate_of(plan.settings().expect("settings"), &former, converter.telehub());
    let mut reader = OarReader::open(file, ArchiveLimits::default()).unwrap();
    let terrain = read_terrain(&mut reader, None).unwrap().expect("a terrain");
    let ground = ground_of(&terrain, &placing, &Terrain::flat(256, 1.0));
    let documents = plan.documents(true, &parcels.loaded).into_iter().collect();
    let (parcels, squares) = (parcels.replaced.parcels, parcels.replaced.squares);
    let state = LandState { parcels, squares, estate: Arc::new(estate) };
    (linksets, ParcelsAndGround { state, ground, documents })
}

struct ParcelsAndGround {
    state: LandState,
    ground: Terrain,
    documents: BTreeMap<Uuid, Vec<u8>>,
}

#[test]
fn a_region_comes_back_from_its_archive_and_its_archive_from_that() {
    let sample = Sample::new();
    let (file, written, closure) = sample.write(&options());
    let expected = RegionWritten { n_objects: 2, n_prims: 3, n_left_out: 0, n_parcels: 1 };
    assert_eq!((written, closure.n_waiting() > 0), (expected, true));
    let (linksets, loaded) = load(&file);
    let ids = |linksets: &[PlacedLinkset]| -> Vec<Vec<Uuid>> {
        linksets.iter().map(|prims| prims.iter().map(|(_, versioned)| versioned.body.id).collect()).collect()
    };
    assert_eq!(ids(&linksets), ids(&sample.linksets));
    assert_eq!(loaded.state.parcels, sample.land.state.parcels);
    assert_eq!(loaded.state.estate, sample.land.state.estate);
    assert!(loaded.ground == sample.ground);
    let land = StoredLand::new(loaded.state, 7);
    let again = Sample { linksets, land, ground: loaded.ground, documents: loaded.documents };
    assert!(again.write(&options()).0 == file, "load and save change nothing");
}

#[test]
fn parts_of_a_millimetre_and_of_200_metres_come_back_with_their_sizes() {
    let sized = |n: u128, position: Vec3, scale: Vec3| {
        prim(&with(part(n, position), |body| {
            body.scale = scale;
        }))
    };
    let sizes =
        [Vec3::new(0.001, 4.0, 200.0), Vec3::new(200.0, 0.001, 0.005), Vec3::new(256.0, 64.5, 0.0099)];
    let places = [Vec3::splat(100.0), Vec3::X, Vec3::Y];
    let linkset = (60..).zip(places).zip(sizes).map(|((n, place), size)| sized(n, place, size));
    let mut sample = Sample::new();
    sample.linksets.push(linkset.collect());
    let (file, ..) = sample.write(&options());
    let (linksets, _) = load(&file);
    let scales: Vec<Vec3> = linksets[2].iter().map(|(_, versioned)| versioned.body.scale).collect();
    assert_eq!(scales, sizes);
}

#[test]
fn published_archives_have_no_owners_and_archives_for_other_grids_have_homes() {
    let sample = Sample::new();
    let (file, ..) = sample.write(&RegionWriteOptions { is_published: true, ..options() });
    let owner = format!("<OwnerID><UUID>{}", id(1));
    let text = String::from_utf8_lossy(&file);
    assert!(!text.contains(&owner) && !text.contains(&format!("<OwnerID>{}", id(1))), "an owner is left");
    assert!(text.contains(&format!("<CreatorID><UUID>{}", id(1))));
    let name_of = |agent_id: AgentId| (agent_id == agent(1)).then(|| "Ada Lovelace".to_owned());
    let home = RegionWriteOptions { home: Some("http://grid.example:8002/"), name_of: &name_of, ..options() };
    let (file, ..) = sample.write(&home);
    let text = String::from_utf8_lossy(&file);
    assert!(text.contains("<CreatorData>http://grid.example:8002/;Ada Lovelace</CreatorData>"));
}

#[test]
fn objects_without_the_rights_are_left_out() {
    let mut sample = Sample::new();
    let bare = with(part(30, Vec3::ONE), |body| {
        let ownership = Arc::make_mut(&mut body.ownership);
        ownership.creator = agent(3);
        ownership.permissions.base = Mask::MOVE | Mask::COPY;
    });
    sample.linksets.push(vec![prim(&bare)]);
    for (rights, n_objects) in [(Mask::NONE, 3), (Mask::COPY, 3), (Mask::COPY | Mask::TRANSFER, 2)] {
        let (file, written, _) = sample.write(&RegionWriteOptions { rights, ..options() });
        assert_eq!((written.n_objects, written.n_left_out), (n_objects, 3 - n_objects));
        assert_eq!(plan(&file).1.n_objects, n_objects);
    }
}
