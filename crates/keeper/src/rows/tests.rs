//! Values: read as they were written, in every version that there has been, and never beyond what a world accepts.

use super::body::BODY;
use super::held::HELD;
use super::land::{ESTATE, PARCEL, PATCH};
use super::region::REGION;
use super::state::STATE;
use super::*;
use crate::testing::{
    IDS, at, body, body_with_contents, body_with_media, carried, golden, golden_or_new, item, kept, moving,
    rich_body,
};
use glam::{Quat, Vec3};
use ids::{AgentId, LocalId, SessionKey, Uuid};
use link::{
    AccessEntry, DerezKind, Environment, Estate, GroundPatch, HeldObject, Landing, LandingKind, Maturity,
    Motion, PATCH_SAMPLES, Parcel, ParcelFlags, ParcelMedia, ParcelNumber, ParcelSettings, PrimFlags,
    RegionOptions, RestingIds, Sun, Telehub,
};
use prim::{CARRIED_MAX, CONTENT_ITEMS_MAX, ContentItem, Contents, Media};
use proptest::prelude::*;
use std::ops::Range;
use std::path::Path;

/// Golden files of the versions of each part, the oldest first.
const BODIES: &[&str] = &["object-body-1", "object-body-2"];
const STATES: &[&str] = &["object-state-1"];
const REGIONS: &[&str] = &["region-row-1"];
const LINKSETS: &[&str] = &["held-linkset-1", "held-linkset-2"];
const ESTATES: &[&str] = &["estate-1"];
const PARCELS: &[&str] = &["parcel-1"];
const PATCHES: &[&str] = &["ground-patch-1"];

fn values(motion: &PrimMotion, versioned: &VersionedBody) -> (Vec<u8>, Vec<u8>) {
    let (mut body, mut state) = (Vec::new(), Vec::new());
    push_body(&mut body, &versioned.body);
    push_state(&mut state, &IDS.kept, motion, versioned);
    (body, state)
}

fn read(body: &[u8], state: &[u8]) -> Result<(PrimMotion, VersionedBody), RowError> {
    let interned = &mut Interned::default();
    let body = read_body(body, Versions::Recent, interned)?;
    join(body, read_state(state, &IDS.kept, Versions::Recent, interned)?)
}

/// A part in motion.
fn part() -> PrimMotion {
    let motion = Motion {
        velocity: Vec3::new(1.0, 2.0, 3.0),
        acceleration: Vec3::new(0.0, 0.0, -9.8),
        angular_velocity: Vec3::new(0.1, 0.2, 0.3),
        ..at(4.0).motion
    };
    PrimMotion {
        motion,
        parent: kept(300),
        link_number: 255,
        flags: PrimFlags(PrimFlags::PHYSICS.0 | PrimFlags::PHANTOM.0),
    }
}

fn region() -> RegionState {
    let resting = vec![(5, 7), (6, 7), (7, 7), (3, 7), (4, 8), (9, 1 << 40)];
    RegionState {
        now_ns: 1 << 41,
        kept: RestingIds { n_used: 20, resting },
        temporary: RestingIds { n_used: 2, resting: vec![(1, 0)] },
    }
}

/// A linkset of two, as it is read.
fn linkset() -> HeldObject {
    let root = PrimMotion { parent: LocalId(0), link_number: 0, ..part() };
    let part = PrimMotion { parent: LocalId(1), link_number: 1, ..part() };
    HeldObject {
        owner: AgentId(Uuid::from_u128(2)),
        by: SessionKey(1 << 48 | 7),
        kind: DerezKind::Return,
        folder: Uuid::from_u128(8),
        transaction: Uuid::from_u128(9),
        is_worn: false,
        linksets: vec![vec![(root, rich_body(3)), (part, rich_body(3))]],
    }
}

/// Several linksets, one of them with contents, that were worn.
fn coalesced() -> HeldObject {
    let HeldObject { mut linksets, .. } = linkset();
    let root = PrimMotion { parent: LocalId(0), link_number: 0, ..part() };
    linksets.insert(0, vec![(root, body_with_contents(4))]);
    linksets.push(vec![(root, body(5))]);
    HeldObject { linksets, is_worn: true, kind: DerezKind::Take, ..linkset() }
}

fn held_value(object: &HeldObject) -> Vec<u8> {
    let mut value = Vec::new();
    push_held(&mut value, object);
    value
}

#[test]
fn a_held_linkset_is_read_as_it_left_but_for_local_ids_and_lives() {
    let read = |object: &HeldObject| read_held(&held_value(object), Versions::Recent);
    let expected = linkset();
    let mut left = linkset();
    for (place, _) in &mut left.linksets[0] {
        place.flags = PrimFlags(place.flags.0 | PrimFlags::TEMPORARY.0);
        place.link_number = 9;
        place.parent = IDS.temporary.clone().map(LocalId).nth(5).expect("a temporary id");
    }
    assert_eq!(read(&left).unwrap(), expected);
    let whole = HeldObject { linksets: vec![vec![(at(1.0), body(1)); 256]; 2], ..linkset() };
    let lengths = read(&whole).unwrap().linksets.iter().map(Vec::len).collect::<Vec<_>>();
    assert_eq!(lengths, [256, 256]);
    assert_eq!(read(&coalesced()).unwrap(), coalesced());
    let none = HeldObject { linksets: Vec::new(), ..linkset() };
    assert!(matches!(read(&none), Err(RowError::Linkset)));
    let deleted = HeldObject { kind: DerezKind::Delete, ..linkset() };
    assert_eq!(read(&deleted).unwrap_err().to_string(), "its destination 0 is unknown");
}

#[test]
fn held_linksets_that_are_cut_off_or_go_on_are_refused() {
    for object in [linkset(), coalesced()] {
        let value = held_value(&object);
        for len in 0..value.len() {
            assert!(read_held(&value[..len], Versions::Recent).is_err(), "{len} bytes");
        }
        assert!(read_held(&[&value[..], &[0]].concat(), Versions::Recent).is_err());
    }
}

fn agent(n: u128) -> AgentId {
    AgentId(Uuid::from_u128(n))
}

/// An estate with something in every field.
fn estate() -> Estate {
    let plain = Estate::new("Hügel", Some(agent(1)), 19.5);
    Estate {
        managers: vec![agent(2), agent(3)],
        allowed: vec![agent(4)],
        groups: vec![Uuid::from_u128(5)],
        banned: vec![agent(6)],
        covenant: Uuid::from_u128(7),
        covenant_s: 1_700_000_000,
        region: RegionOptions {
            agent_limit: 40,
            object_bonus: 1.5,
            maturity: Maturity::Moderate,
            ..plain.region
        },
        sun: Sun { is_fixed: true, is_estates: true, hour: 12.5 },
        environment: Some(Environment { version: 3, bytes: vec![1, 2, 3].into() }),
        telehub: Some(Telehub {
            object: Uuid::from_u128(8),
            name: "Hub".into(),
            position: Vec3::new(100.0, 50.0, 25.0),
            rotation: Quat::from_rotation_z(1.0),
            spawn_points: vec![Vec3::X, Vec3::Y],
        }),
        ..plain
    }
}

/// A parcel of two runs of squares with something in every field.
fn parcel() -> (Parcel, SquareRuns) {
    let plain = Parcel::new(ParcelNumber(300), Uuid::from_u128(8), Some(agent(2)), 1_700_000_000);
    let settings = ParcelSettings {
        description: "At the lake".into(),
        flags: ParcelFlags::NEW.union(ParcelFlags::USE_BAN_LIST),
        category: 5,
        landing: Landing { kind: LandingKind::Point, at: Vec3::new(1.0, 2.0, 30.0), look_at: Vec3::X },
        media: ParcelMedia { url: "https://example.org/".into(), width: 640, ..ParcelMedia::default() },
        ..ParcelSettings::new("Garden")
    };
    let entry = |n, expires_s| AccessEntry { agent: agent(n), expires_s };
    let parcel = Parcel {
        n_squares: 66,
        allowed: [entry(4, 0)].into(),
        banned: [entry(5, 9), entry(6, u64::MAX)].into(),
        auto_return_min: 60,
        environment: Some(Environment { version: -1, bytes: vec![9].into() }),
        settings,
        ..plain
    };
    (parcel, vec![0..64, 128..130])
}

fn patch() -> GroundPatch {
    let heights: [f32; PATCH_SAMPLES] = std::array::from_fn(|n| n as f32 / 8.0 - 3.0);
    GroundPatch::new(3, 2, heights).expect("heights of a ground")
}

const fn run(start: u32, end: u32) -> Range<u32> {
    start..end
}

/// Values of estate, parcel and patch.
fn land_values() -> [Vec<u8>; 3] {
    let mut values = [const { Vec::new() }; 3];
    let (parcel, runs) = parcel();
    push_estate(&mut values[0], ParcelNumber(301), &estate());
    push_parcel(&mut values[1], &parcel, &runs);
    push_patch(&mut values[2], &patch());
    values
}

/// Reads each of [`land_values`].
fn read_land([of_estate, of_parcel, of_patch]: [&[u8]; 3], versions: Versions) -> Result<(), RowError> {
    assert_eq!(read_estate(of_estate, versions)?, (ParcelNumber(301), estate()));
    assert_eq!(read_parcel(of_parcel, versions, ParcelNumber(300), 256)?, parcel());
    assert_eq!(read_patch(of_patch, versions, 35, 256)?, patch());
    Ok(())
}

#[test]
fn land_is_read_as_it_was_written() {
    let values = land_values();
    read_land(values.each_ref().map(Vec::as_slice), Versions::Recent).expect("of this build");
    assert!(values[2].len() <= 8 + 4 + 4 * PATCH_SAMPLES, "{} bytes of a patch", values[2].len());
}

#[test]
fn land_of_another_place_or_beyond_its_bounds_is_refused() {
    let [of_estate, of_parcel, of_patch] = land_values();
    let read_at = |number| read_parcel(&of_parcel, Versions::Recent, ParcelNumber(number), 256);
    assert!(matches!(read_at(301), Err(RowError::Misplaced)));
    for (number, size_m) in [(34, 256), (35, 512)] {
        let read = read_patch(&of_patch, Versions::Recent, number, size_m);
        assert!(matches!(read, Err(RowError::Misplaced)), "{number} in {size_m}");
    }
    let with_runs = |runs: &[Range<u32>]| {
        let mut value = Vec::new();
        push_parcel(&mut value, &parcel().0, runs);
        read_parcel(&value, Versions::Recent, ParcelNumber(300), 256)
    };
    for runs in [vec![run(0, 65)], vec![0..64, 64..66], vec![run(4_032, 4_098)], vec![0..66, 66..66]] {
        assert!(matches!(with_runs(&runs), Err(RowError::Squares)), "{runs:?}");
    }
    let mut value = Vec::new();
    push_estate(&mut value, ParcelNumber(1), &Estate { managers: vec![agent(3), agent(2)], ..estate() });
    assert!(matches!(read_estate(&value, Versions::Recent), Err(RowError::Bounds)));
    let mut value = Vec::new();
    record::push_value(&mut value, &PATCH, &(3_u8, 2_u8, vec![f32::NAN; PATCH_SAMPLES]));
    assert!(matches!(read_patch(&value, Versions::Recent, 35, 256), Err(RowError::Height)));
    for value in [&of_estate, &of_parcel, &of_patch] {
        for len in 0..value.len() {
            let cut = &value[..len];
            assert!(read_estate(cut, Versions::Recent).is_err());
            assert!(read_parcel(cut, Versions::Recent, ParcelNumber(300), 256).is_err());
            assert!(read_patch(cut, Versions::Recent, 35, 256).is_err());
        }
    }
}

#[test]
fn squares_of_parcels_are_runs_of_the_map() {
    let map: Vec<ParcelNumber> = [1, 1, 2, 1, 3, 3].map(ParcelNumber).into();
    let wanted = [1, 3, 4].map(ParcelNumber).into();
    let runs = runs_of(&map, &wanted);
    assert_eq!(runs[&ParcelNumber(1)], [0..2, 3..4]);
    assert_eq!(runs[&ParcelNumber(3)], [run(4, 6)]);
    assert_eq!(runs.len(), 2);
}

#[test]
fn a_prim_is_read_as_it_was_written() {
    let prims = [
        (at(1.0), body(1)),
        (moving(2.0), rich_body(2)),
        (part(), rich_body(3)),
        (at(2.0), body_with_media(4)),
        (at(3.0), body_with_contents(5)),
    ];
    for prim in prims {
        let (body, state) = values(&prim.0, &prim.1);
        assert_eq!(read(&body, &state).unwrap(), prim);
        assert!(state.len() <= state_len(&prim.1), "{} bytes", state.len());
    }
}

#[test]
fn golden_values_are_read_and_this_build_writes_the_newest() {
    let (body, state) = values(&part(), &body_with_contents(3));
    let mut row = Vec::new();
    push_region(&mut row, &region());
    let mut held = Vec::new();
    push_held(&mut held, &linkset());
    let [estate, parcel, patch] = land_values();
    let others = [(LINKSETS, held), (ESTATES, estate), (PARCELS, parcel), (PATCHES, patch)];
    for (names, written) in [(BODIES, body), (STATES, state), (REGIONS, row)].into_iter().chain(others) {
        let newest = names.last().expect("every part has golden files");
        let is_same = golden_or_new(newest, &written) == written;
        assert!(is_same, "{newest}: other bytes than before; raise the version of the part that changed");
    }
    let versions = [BODY, STATE, REGION, HELD, ESTATE, PARCEL, PATCH].map(|part| usize::from(part.version()));
    let files = [BODIES, STATES, REGIONS, LINKSETS, ESTATES, PARCELS, PATCHES].map(<[&str]>::len);
    assert_eq!(versions, files, "a golden file of each version");
    for ((estate, parcel), patch) in ESTATES.iter().zip(PARCELS).zip(PATCHES) {
        let files = [estate, parcel, patch].map(|name| golden(name));
        read_land(files.each_ref().map(Vec::as_slice), Versions::All).expect("of an earlier build");
    }
    for (name, expected) in BODIES.iter().zip([rich_body(3), body_with_contents(3)]) {
        for versions in [Versions::Recent, Versions::All] {
            let read = read_body(&golden(name), versions, &mut Interned::default()).unwrap();
            let expected = &expected.body;
            assert_eq!((read.id, read.sit_target), (expected.id, expected.sit_target), "{name}");
            assert_eq!((&read.contents, &read.carried), (&expected.contents, &expected.carried), "{name}");
        }
    }
    for name in STATES {
        let read = read_state(&golden(name), &IDS.kept, Versions::All, &mut Interned::default()).unwrap();
        assert_eq!(read.motion, part(), "{name}");
    }
    for name in REGIONS {
        assert_eq!(read_region(&golden(name), &IDS.kept, &IDS.temporary).unwrap(), region(), "{name}");
    }
    for name in LINKSETS {
        assert_eq!(read_held(&golden(name), Versions::All).unwrap(), linkset(), "{name}");
    }
}

/// The table of `docs/internals/formats.md`.
#[test]
fn the_document_names_the_golden_file_of_each_part() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/internals/formats.md");
    let document = std::fs::read_to_string(path).unwrap();
    let others = [(HELD, LINKSETS), (ESTATE, ESTATES), (PARCEL, PARCELS), (PATCH, PATCHES)];
    for (part, names) in [(BODY, BODIES), (STATE, STATES), (REGION, REGIONS)].into_iter().chain(others) {
        for (version, name) in (1..).zip(names) {
            let row = format!("| `{}` | {version} | `../../keeper/tests/formats/{name}` |", part.tag);
            assert!(document.contains(&row), "{row} is not in the document");
        }
    }
}

#[test]
fn a_prim_without_contents_has_a_row_as_long_as_before() {
    let (body, _) = values(&part(), &rich_body(3));
    let before = golden(BODIES[0]);
    // Tag, version and zeros come first.
    assert_eq!((&body[8..], body[..4] == before[..4]), (&before[8..], true));
}

#[test]
fn a_prim_with_all_that_it_may_hold_is_read_as_it_was_written() {
    let long = |n: u128| {
        let item = item(n + 1, &format!("{n:063}"));
        let carried = carried(if n < 8 { CARRIED_MAX } else { 0 });
        Arc::new(ContentItem { carried, description: "d".repeat(127).into(), ..(*item).clone() })
    };
    let items = (0..CONTENT_ITEMS_MAX as u128).map(long).collect();
    let mut full = body_with_contents(1);
    let body = Arc::make_mut(&mut full.body);
    body.contents = Some(Arc::new(Contents { serial: u32::MAX, items }));
    body.carried = Some(Arc::new(carried(CARRIED_MAX)));
    let (body, state) = values(&at(1.0), &full);
    assert!(body.len() < 1 << 20, "{} bytes: a record of a region file has room for one", body.len());
    assert_eq!(read(&body, &state).unwrap(), (at(1.0), full));
}

#[test]
fn equal_fields_are_in_memory_once() {
    let interned = &mut Interned::default();
    let mut read = |n| {
        let (body, state) = values(&at(1.0), &rich_body(n));
        let body = read_body(&body, Versions::Recent, interned).unwrap();
        let state = read_state(&state, &IDS.kept, Versions::Recent, interned).unwrap();
        join(body, state).unwrap().1.body
    };
    let (one, same) = (read(1), read(257));
    assert!(Arc::ptr_eq(&one.texture_entry, &same.texture_entry));
    assert!(Arc::ptr_eq(&one.particles, &same.particles));
    assert!(Arc::ptr_eq(&one.names.name, &same.names.name));
    assert!(std::ptr::eq(one.extra_params.as_bytes(), same.extra_params.as_bytes()));
    assert!(!Arc::ptr_eq(&one.texture_entry, &read(2).texture_entry));
    assert!(Arc::ptr_eq(&one.ownership, &same.ownership) && one.created_us != same.created_us);
}

#[test]
fn damage_is_refused_with_its_reason() {
    let with = |motion: PrimMotion, change: &dyn Fn(&mut Body)| {
        let mut versioned = rich_body(1);
        change(Arc::make_mut(&mut versioned.body));
        let (body, state) = values(&motion, &versioned);
        read(&body, &state).expect_err("damaged").to_string()
    };
    let turned = |rotation| {
        let motion = Motion { rotation, ..Motion::default() };
        PrimMotion { motion, ..PrimMotion::NONE }
    };
    let none = |_: &mut Body| {};
    assert_eq!(with(at(f32::NAN), &none), "its place is not a number");
    assert_eq!(with(moving(f32::INFINITY), &none), "its place is not a number");
    assert_eq!(with(turned(Quat::from_xyzw(0.0, 0.0, 0.0, f32::NAN)), &none), "its place is not a number");
    let temporary = PrimMotion { flags: PrimFlags::TEMPORARY, ..at(1.0) };
    assert_eq!(with(temporary, &none), "it is temporary");
    let foreign = PrimMotion { parent: LocalId(IDS.kept.end), ..at(1.0) };
    assert_eq!(with(foreign, &none), "its local id or that of its root is not one of the region's");
    assert!(with(at(1.0), &|body| body.scale.x = f32::NAN).contains("a size that is not a number"));
    assert!(with(at(1.0), &|body| body.shape.path_curve = 7).contains("0x07"));
    assert!(
        with(at(1.0), &|body| body.particles = vec![0; 1 << 20].into())
            .contains("particles of 1048576 bytes")
    );
    let limited = |body: &mut Body| {
        let faces = vec![None; 46];
        body.media = Some(Arc::new(Media { version: 1, editor: body.ownership.owner, faces }));
    };
    assert!(with(at(1.0), &limited).contains("media of 46 faces"));
    let doubled = |body: &mut Body| {
        body.contents = Some(Arc::new(Contents { serial: 1, items: vec![item(1, "a"), item(1, "b")] }));
    };
    assert!(with(at(1.0), &doubled).contains("two items with the id"));
    assert!(with(at(1.0), &|body| body.physics.density = f32::NAN).contains("matter"));
    assert!(with(at(1.0), &|body| body.names.name = "x".repeat(64).into()).contains("name of 64 bytes"));
    let (body, state) = values(&at(1.0), &VersionedBody { version: 0, ..rich_body(1) });
    assert_eq!(read(&body, &state).unwrap_err().to_string(), "its version is 0");
    assert!(
        read(&state, &body).unwrap_err().to_string().contains("does not have"),
        "each is of its own part"
    );
}

#[test]
fn values_of_another_build_are_no_damage() {
    let (body, mut state) = values(&at(1.0), &body(1));
    state[4] += 1;
    let newer = read(&body, &state).unwrap_err();
    assert!(!newer.is_damage() && newer.to_string().contains("has version 2"), "{newer}");
    state.truncate(7);
    assert!(read(&body, &state).unwrap_err().is_damage());
}

#[test]
fn neighbours_that_were_freed_together_are_one_run() {
    let many = |ids: Vec<u32>| {
        let kept = RestingIds { n_used: 100_000, resting: ids.into_iter().map(|id| (id, 1 << 50)).collect() };
        let state = RegionState { kept, ..RegionState::default() };
        let mut value = Vec::new();
        push_region(&mut value, &state);
        assert_eq!(read_region(&value, &IDS.kept, &IDS.temporary).unwrap(), state);
        value.len()
    };
    assert!(many((7..45_007).collect()) < 40);
    assert!(many((0..45_000).map(|n| 2 * n).collect()) < 45_000 * 6);
}

#[test]
fn runs_that_claim_more_ids_than_the_region_has_are_refused() {
    let value = |first: u32, n: u32, n_runs: usize| {
        let mut value = Vec::new();
        let runs = vec![(first, n, 0_u64); n_runs];
        record::push_value(
            &mut value,
            &REGION,
            &(0_u64, (0_u32, runs), (0_u32, Vec::<(u32, u32, u64)>::new())),
        );
        read_region(&value, &IDS.kept, &IDS.temporary)
    };
    assert!(value(0, 1 << 19, 1).is_ok());
    assert!(matches!(value(1, 1 << 19, 1), Err(RowError::Ids)));
    assert!(matches!(value(u32::MAX, u32::MAX, 1), Err(RowError::Ids)));
    assert!(matches!(value(0, 1 << 19, 2), Err(RowError::Ids)));
}

#[test]
fn values_that_are_cut_off_or_go_on_are_refused() {
    let (body, state) = values(&part(), &rich_body(3));
    for len in 0..body.len() {
        assert!(read(&body[..len], &state).is_err(), "{len} bytes of a body");
    }
    for len in 0..state.len() {
        assert!(read(&body, &state[..len]).is_err(), "{len} bytes of a state");
    }
    assert!(
        read(&[&body[..], &[0]].concat(), &state).is_err()
            && read(&body, &[&state[..], &[0]].concat()).is_err()
    );
}

proptest! {
    #[test]
    fn a_prim_of_altered_values_can_be_written(at in 0..1_000_usize, with in any::<u8>(), is_body in any::<bool>()) {
        let (mut body, mut state) = values(&part(), &body_with_contents(3));
        let value = if is_body { &mut body } else { &mut state };
        let at = at % value.len();
        value[at] = with;
        if let Ok(prim) = read(&body, &state) {
            let (body, state) = values(&prim.0, &prim.1);
            prop_assert_eq!(read(&body, &state).unwrap(), prim);
        }
    }

    #[test]
    fn a_linkset_of_an_altered_value_can_be_written(at in 0..1_000_usize, with in any::<u8>()) {
        let mut value = held_value(&linkset());
        let at = at % value.len();
        value[at] = with;
        if let Ok(linkset) = read_held(&value, Versions::Recent) {
            prop_assert_eq!(read_held(&held_value(&linkset), Versions::Recent).unwrap(), linkset);
        }
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let value = |part: Part| [&part.tag.0[..], &[1, 0, 0, 0], &bytes].concat();
        let _ = read(&value(BODY), &value(STATE));
        let _ = read_region(&value(REGION), &IDS.kept, &IDS.temporary);
        let _ = read_held(&value(HELD), Versions::Recent);
    }
}
