//! The file of a region: read as it was written, in every version that there has been, or refused.

use super::*;
use crate::testing::{
    GROUND, IDS, NOW_S, OWNER, at, body, body_with_contents, carried, golden, golden_or_new, item, kept,
    moving, rich_body, temporary, world_of, world_with,
};
use ids::Uuid;
use link::{Estate, GroundPatch, LandState, PATCH_SAMPLES, Parcel, ParcelNumber, PrimFlags, PrimMotion};
use prim::{CARRIED_MAX, CONTENT_ITEMS_MAX, ContentItem, Contents};
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;
use store::LandKind;

/// Golden files of the versions, the oldest first.
const FILES: [&str; 2] = ["region-1", "region-1-prim2"];
/// The same of files with land.
const LAND_FILES: [&str; 2] = ["region-1-land", "region-1-land-prim2"];

fn about() -> RegionAbout {
    RegionAbout { name: "Harbour".into(), size_m: 256, build: "1.2.3".into(), exported_s: 1_700_000_000 }
}

fn objects(prims: Vec<PlacedPrim>) -> StoredObjects {
    let n_used = prims.last().map_or(0, |prim| prim.id.0 - IDS.kept.start + 1);
    let kept = RestingIds { n_used, resting: Vec::new() };
    StoredObjects { pages: pages_of(prims), kept, ..StoredObjects::default() }
}

fn prim(n: u32, motion: PrimMotion) -> PlacedPrim {
    let body = if n.is_multiple_of(2) { body(n.into()) } else { rich_body(n.into()) };
    PlacedPrim { id: kept(n), motion, body }
}

/// A linkset of three, and one in motion.
fn some() -> StoredObjects {
    let part = |number| PrimMotion { parent: kept(300), link_number: number, ..at(f32::from(number)) };
    objects(vec![prim(1, part(2)), prim(2, part(1)), prim(300, at(50.0)), prim(301, moving(9.0))])
}

fn written(objects: &StoredObjects) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut bytes, &about(), objects, None, &IDS).unwrap();
    bytes
}

fn read_all(mut bytes: &[u8]) -> Result<RegionFile, RegionFileError> {
    read(&mut bytes, &IDS.kept)
}

#[test]
fn a_region_of_linksets_is_as_its_file_is_read() {
    let linksets = crate::linksets(&some());
    let file = RegionFile::of_linksets(about(), linksets.clone(), None, &IDS.kept).unwrap();
    assert_eq!(file.objects.kept.n_used, 4);
    let bodies = |linksets: &[crate::Linkset]| -> Vec<Vec<Uuid>> {
        let ids = |prims: &crate::Linkset| prims.iter().map(|(_, versioned)| versioned.body.id).collect();
        linksets.iter().map(ids).collect()
    };
    assert_eq!(bodies(&crate::linksets(&file.objects)), bodies(&linksets));
    assert_eq!(read_all(&written(&file.objects)).unwrap().objects.kept, file.objects.kept);
    assert!(world_of(file.objects).is_some());
    let few = IDS.kept.start..IDS.kept.start + 3;
    assert_eq!(RegionFile::of_linksets(about(), linksets, None, &few), None);
}

#[test]
fn a_region_is_read_as_it_was_written() {
    for objects in [StoredObjects::default(), some()] {
        let file = read_all(&written(&objects)).unwrap();
        assert_eq!(file, RegionFile { about: about(), objects: objects.clone(), land: None });
        assert!(world_of(file.objects).is_some());
    }
}

/// Land of two parcels with an edited ground, of which a part was baked.
fn land() -> StoredLand {
    let estate = Estate::new("Lake", Some(OWNER), 19.0);
    let mut state = LandState::of_one_parcel(256, Uuid::from_u128(0xA), estate, NOW_S);
    let mut squares = state.squares.to_vec();
    squares[100..200].fill(ParcelNumber(2));
    let first = Parcel { n_squares: 3_996, ..(*state.parcels[0]).clone() };
    let second = Parcel { n_squares: 100, ..Parcel::new(ParcelNumber(2), Uuid::from_u128(0xB), None, NOW_S) };
    state.parcels = vec![first.into(), second.into()];
    state.squares = squares.into();
    let patch =
        |column, height| GroundPatch::new(column, 1, [height; PATCH_SAMPLES]).expect("heights of a ground");
    StoredLand {
        last_number: ParcelNumber(7),
        ground: vec![patch(1, 30.0), patch(2, 31.0)],
        baked: vec![patch(1, 25.0), patch(2, 31.0)],
        ..StoredLand::new(state, NOW_S)
    }
}

fn written_with(land: &StoredLand) -> Vec<u8> {
    let mut bytes = Vec::new();
    let land = LandToWrite { land, described: &GROUND };
    write(&mut bytes, &about(), &some(), Some(land), &IDS).unwrap();
    bytes
}

#[test]
fn land_is_read_as_it_was_written_over_any_ground() {
    let file = read_all(&written_with(&land())).unwrap();
    let whole = file.land.expect("the file has land");
    assert_eq!((whole.ground.len(), whole.baked.len()), (256, 256));
    let over = whole.clone().over(&GROUND);
    assert_eq!((&over.state, over.last_number), (&land().state, ParcelNumber(7)));
    assert!(over.ground == land().ground && over.baked == land().baked);
    assert!(world_with(file.objects, over).is_some());
    let elsewhere = whole.over(&Terrain::flat(256, 30.0));
    assert_eq!(elsewhere.ground.len(), 255, "all but the patch of that height");
    assert_eq!(elsewhere.ground[0].heights()[0], 21.0);
}

#[test]
fn golden_land_is_read_and_this_build_writes_the_newest() {
    let written = written_with(&land());
    let newest = golden_or_new(LAND_FILES.last().expect("one at least"), &written);
    assert!(
        records_of(&newest) == records_of(&written),
        "other records than before; raise the version of the part that changed"
    );
    for name in LAND_FILES {
        let file = read_all(&golden(name)).unwrap();
        assert!(file.land.is_some_and(|read| read.over(&GROUND).state == land().state), "{name}");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/internals/formats.md");
        assert!(std::fs::read_to_string(path).unwrap().contains(name), "{name} is not in the document");
    }
}

/// Rows of the land in a file.
fn read_rows(bytes: &[u8]) -> LandRows {
    let mut rows = LandRows::default();
    for (head, body) in records_of(bytes) {
        if head.tag == LAND.tag {
            read_land_rows(&body, 0, &mut rows).unwrap();
        }
    }
    rows
}

#[test]
fn land_that_is_not_whole_is_refused_with_the_reason() {
    let all = read_rows(&written_with(&land()));
    let without = |left_out: LandKey| {
        let mut rows = LandRows::default();
        all.iter().filter(|(key, _)| *key != left_out).for_each(|(key, value)| rows.push(key, value));
        read_land(256, &rows).expect_err("refused").to_string()
    };
    assert_eq!(without(LandKey::new(LandKind::Estate, 0)), "estate: it is missing");
    assert_eq!(without(LandKey::new(LandKind::Parcel, 2)), "estate: 100 squares are of no parcel");
    assert_eq!(without(LandKey::new(LandKind::Ground, 255)), "patch of the ground 255: it is missing");
    assert_eq!(read_land(300, &all).unwrap_err().to_string(), "a region cannot be 300 m wide");
    assert!(read_land(512, &all).is_err());
    let twice = [0; 8].repeat(2);
    for part in [&twice[..], &twice[..5], &[0, 0, 9, 0, 0, 0, 0, 0]] {
        let read = read_land_rows(part, 5, &mut LandRows::default());
        assert!(matches!(read, Err(RegionFileError::LandRow(5))), "{part:?}");
    }
}

/// Records of a file, inflated: another version of the library may deflate the same content to other bytes.
fn records_of(bytes: &[u8]) -> Vec<(record::Head, Vec<u8>)> {
    let mut cursor = RecordCursor::begin(&FORMAT, &bytes[..PREAMBLE_LEN]).unwrap();
    let (mut rest, mut body, mut records) = (&bytes[PREAMBLE_LEN..], Vec::new(), Vec::new());
    while let Some(head) = cursor.read(&mut rest, &mut body).unwrap() {
        records.push((record::Head { offset: 0, ..head }, body.clone()));
    }
    records
}

#[test]
fn golden_files_are_read_and_this_build_writes_the_newest() {
    let written = written(&some());
    let newest = golden_or_new(FILES.last().expect("one at least"), &written);
    assert!(
        records_of(&newest) == records_of(&written),
        "other records than before; raise the version of the part that changed"
    );
    for name in FILES {
        assert_eq!(
            read_all(&golden(name)).unwrap(),
            RegionFile { about: about(), objects: some(), land: None },
            "{name}"
        );
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/internals/formats.md");
        assert!(
            std::fs::read_to_string(path).unwrap().contains(&format!("`{name}`")),
            "{name} is not in the document"
        );
    }
}

#[test]
fn objects_get_the_local_ids_of_the_importing_region() {
    let other = 5 << 20..(5 << 20) + (1 << 19);
    let file = read(&mut &written(&some())[..], &other).unwrap();
    let prims: Vec<_> = file.objects.pages.iter().flat_map(ObjectPage::prims).collect();
    let ids: Vec<u32> = prims.iter().map(|(id, ..)| id.0 - other.start).collect();
    assert_eq!(ids, [1, 2, 300, 301]);
    assert_eq!(prims[0].1.parent, LocalId(other.start + 300));
    let small = read(&mut &written(&some())[..], &(5 << 20..(5 << 20) + 300));
    assert!(
        matches!(small, Err(RegionFileError::Prim { place: 1, why: RowError::Foreign })),
        "no room: {small:?}"
    );
}

#[test]
fn temporary_and_worn_objects_stay() {
    let worn = PrimMotion { parent: LocalId(IDS.temporary.end + 7), ..at(1.0) };
    let flagged = PrimMotion { flags: PrimFlags::TEMPORARY, ..at(1.0) };
    let there = prim(1, at(1.0));
    let upper = PlacedPrim { id: temporary(4), ..prim(4, at(1.0)) };
    let all = objects(vec![there.clone(), prim(2, worn), prim(3, flagged), upper]);
    assert_eq!(read_all(&written(&all)).unwrap().objects, objects(vec![there]));
}

#[test]
fn many_prims_are_in_records_of_bounded_size() {
    let prims: Vec<PlacedPrim> = (0..3_000).map(|n| prim(n, at(n as f32))).collect();
    let bytes = written(&objects(prims.clone()));
    let records = records_of(&bytes);
    let sizes: Vec<usize> =
        records.iter().filter(|(head, _)| head.tag == PRIMS.tag).map(|(_, body)| body.len()).collect();
    assert!(sizes.len() > 2 && sizes.iter().all(|size| *size < PART_BYTES + 2_000), "{sizes:?}");
    assert_eq!(read_all(&bytes).unwrap().objects, objects(prims));
}

/// Prims with as many items and data as they may have, each of which is longer than a record of others.
#[test]
fn full_prims_have_records_of_their_own() {
    let full = |n: u32| {
        let items = (0..CONTENT_ITEMS_MAX as u128).map(|n| {
            let data = carried(if n < 8 { CARRIED_MAX } else { 0 });
            Arc::new(ContentItem { carried: data, ..(*item(n + 1, &format!("{n:063}"))).clone() })
        });
        let contents = Contents { serial: 1, items: items.collect() };
        let mut versioned = body_with_contents(n.into());
        Arc::make_mut(&mut versioned.body).contents = Some(Arc::new(contents));
        PlacedPrim { id: kept(n), motion: at(n as f32), body: versioned }
    };
    let all = objects(vec![prim(1, at(1.0)), full(2), full(3), prim(4, at(4.0)), prim(5, at(5.0))]);
    let bytes = written(&all);
    let n_records = records_of(&bytes).iter().filter(|(head, _)| head.tag == PRIMS.tag).count();
    assert_eq!(n_records, 4);
    assert_eq!(read_all(&bytes).unwrap().objects, all);
}

/// A file of records with right checksums, whatever they contain.
fn file_of(records: &[(&Part, &[u8])], n_prims: u32) -> Result<RegionFile, RegionFileError> {
    let mut buffer = RecordBuffer::new(&FORMAT);
    records.iter().for_each(|(part, body)| buffer.push_bytes(part, body));
    buffer.push_end(&n_prims);
    read_all(&buffer.take_bytes())
}

fn part_of(prims: &[PlacedPrim]) -> Vec<u8> {
    let (mut part, mut value) = (Vec::new(), Vec::new());
    for PlacedPrim { id, motion, body } in prims {
        part.extend_from_slice(&(id.0 - IDS.kept.start).to_le_bytes());
        value.clear();
        push_body(&mut value, &body.body);
        push_sized(&mut part, &value);
        value.clear();
        push_state(&mut value, &IDS.kept, motion, body);
        push_sized(&mut part, &value);
    }
    part
}

#[test]
fn a_file_that_contradicts_itself_is_refused_with_the_reason() {
    let head = {
        let mut buffer = RecordBuffer::new(&FORMAT);
        buffer.push(&ABOUT, &about());
        buffer.take_bytes()[PREAMBLE_LEN + record::RECORD_HEAD_LEN..].to_vec()
    };
    let about = (&ABOUT, &head[..]);
    let why = |records: &[(&Part, &[u8])], n| file_of(records, n).expect_err("refused").to_string();
    let two = part_of(&[prim(1, at(1.0)), prim(2, at(2.0))]);
    assert!(file_of(&[about, (&PRIMS, &two)], 2).is_ok());
    assert_eq!(why(&[about, (&PRIMS, &two)], 3), "the region file has 2 prims instead of 3");
    assert_eq!(why(&[about, (&PRIMS, &two), (&PRIMS, &two)], 4), "prim 1 is out of order");
    assert!(why(&[(&PRIMS, &two)], 2).contains("\"PRIM\" at byte 8 is out of order"));
    assert!(why(&[about, about], 0).contains("\"ABOT\""));
    assert!(why(&[], 0).contains("\"END \" at byte 8 is out of order"));
    assert!(
        why(&[about, (&Part::new(*b"WHAT", "what"), b"")], 0).contains("part that this build does not have")
    );
    let skipped = Part { is_skippable: true, ..Part::new(*b"WHAT", "what") };
    assert!(file_of(&[about, (&skipped, b"?")], 0).is_ok());
    assert!(why(&[about, (&PRIMS, &two[..two.len() - 1])], 2).contains("cut off"));
    assert!(why(&[about, (&PRIMS, &two[..2])], 2).contains("cut off"));
    let one_id = part_of(&[prim(1, at(1.0)), PlacedPrim { id: kept(2), ..prim(1, at(1.0)) }]);
    assert_eq!(
        why(&[about, (&PRIMS, &one_id)], 2),
        "prim 2 contradicts the others: another object has the same id"
    );
    let orphan = part_of(&[prim(1, PrimMotion { parent: kept(9), link_number: 1, ..at(1.0) })]);
    assert_eq!(
        why(&[about, (&PRIMS, &orphan)], 1),
        "prim 1 contradicts the others: the root of its linkset is missing"
    );
    let gap =
        part_of(&[prim(1, at(1.0)), prim(2, PrimMotion { parent: kept(1), link_number: 2, ..at(1.0) })]);
    assert_eq!(why(&[about, (&PRIMS, &gap)], 2), "prim 2 contradicts the others: its number in its linkset");
    let nowhere = part_of(&[prim(1, at(f32::NAN))]);
    assert_eq!(why(&[about, (&PRIMS, &nowhere)], 1), "prim 1: its place is not a number");
}

#[test]
fn a_file_that_is_cut_off_altered_or_goes_on_is_refused() {
    let bytes = written(&some());
    for at in 0..bytes.len() {
        let mut altered = bytes.clone();
        altered[at] ^= 0x10;
        assert!(read_all(&bytes[..at]).is_err() && read_all(&altered).is_err(), "byte {at}");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert!(read_all(&longer).unwrap_err().to_string().contains("goes on"));
}

proptest! {
    #[test]
    fn any_prims_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), at in 0..400_usize, with in any::<u8>()) {
        let _ = read_all(&bytes);
        let mut part = part_of(&[prim(1, at_of(at)), prim(3, moving(2.0))]);
        let len = part.len();
        part[at % len] = with;
        let mut buffer = RecordBuffer::new(&FORMAT);
        buffer.push(&ABOUT, &about());
        buffer.push_bytes(&PRIMS, &part);
        buffer.push_end(&2_u32);
        // Whatever is read can be written, and a world accepts it.
        if let Ok(file) = read_all(&buffer.take_bytes()) {
            prop_assert_eq!(&read_all(&written(&file.objects)).unwrap().objects, &file.objects);
            prop_assert!(world_of(file.objects).is_some());
        }
    }
}

fn at_of(x: usize) -> PrimMotion {
    at(x as f32)
}

#[test]
fn a_region_without_rows_begins_with_the_objects_of_a_file() {
    let file = RegionFile { about: about(), objects: some(), land: None };
    let cache_id = Uuid::from_u128(9);
    let changes = file.rows(&IDS, cache_id, &GROUND);
    let stored = store::StoredRegion {
        row: Some(changes.row),
        bodies: changes.bodies,
        states: changes.states,
        ..store::StoredRegion::default()
    };
    let (_, region) = crate::Keeper::load(&crate::testing::config(), &stored, Uuid::nil()).unwrap();
    assert_eq!((region.objects, region.cache_id), (some(), cache_id));
    assert!(region.damaged.is_empty() && region.n_mended == 0);
}

#[test]
fn a_region_without_rows_begins_with_the_land_of_a_file_of_its_size() {
    let file = read_all(&written_with(&land())).unwrap();
    let loaded = |file: &RegionFile| {
        let changes = file.rows(&IDS, Uuid::from_u128(9), &GROUND);
        assert!(changes.land.gone.is_empty());
        let stored = store::StoredRegion {
            row: Some(changes.row),
            bodies: changes.bodies,
            states: changes.states,
            land: changes.land.rows,
            ..store::StoredRegion::default()
        };
        let (_, region) = crate::Keeper::load(&crate::testing::config(), &stored, Uuid::nil()).unwrap();
        assert!(region.damaged_land.is_empty());
        region.land
    };
    let begun = loaded(&file);
    assert_eq!((&begun.state, begun.last_number), (&land().state, ParcelNumber(7)));
    assert!(begun.ground == land().ground && begun.baked == land().baked);
    let larger = RegionFile { about: RegionAbout { size_m: 512, ..about() }, ..file };
    assert_eq!(loaded(&larger).state.parcels.len(), 1, "that of a new region");
}

#[test]
fn parts_of_linksets_are_placed_in_the_region() {
    let file = RegionFile { about: about(), objects: some(), land: None };
    let placed = file.placed();
    let root = file.objects.pages.iter().flat_map(ObjectPage::prims).find(|(id, ..)| *id == kept(300));
    let (_, root, _) = root.expect("the root");
    // The part with number 2 is the first prim.
    let (position, rotation, body) = &placed[0];
    let own = at(2.0).motion;
    assert_eq!(body.id, prim(1, at(2.0)).body.body.id);
    assert!(position.distance(root.motion.position + root.motion.rotation * own.position) < 1e-4);
    assert!(rotation.dot(root.motion.rotation * own.rotation).abs() > 0.999);
    assert_eq!(placed[3].0, moving(9.0).motion.position);
}
