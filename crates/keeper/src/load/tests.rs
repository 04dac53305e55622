//! Regions from rows: a world begins with whatever is left.

use super::*;
use crate::rows::{push_body, push_region, push_state};
use crate::testing::{ALL_IDS, IDS, REGION, at, config, kept, rich_body, temporary, world_of, world_with};
use crate::{Batch, Following, Keeper};
use ids::{Epoch, Instant, Ticket};
use link::Frame;
use proptest::prelude::*;
use std::time::Duration;
use store::{LandChanges, LandKind, ObjectRows, RegionChanges, RegionRow, Store};

const FRESH: Uuid = Uuid::from_u128(99);

/// Values of an object, each of which may be missing.
type Values = BTreeMap<LocalId, (Option<Vec<u8>>, Option<Vec<u8>>)>;

fn stored(values: &Values) -> StoredRegion {
    let (mut bodies, mut states) = (ObjectRows::default(), ObjectRows::default());
    for (&id, (body, state)) in values {
        body.iter().for_each(|value| bodies.push(id, value));
        state.iter().for_each(|value| states.push(id, value));
    }
    StoredRegion { bodies, states, ..StoredRegion::default() }
}

fn row(state: &RegionState) -> RegionRow {
    let mut value = Vec::new();
    push_region(&mut value, state);
    let (name, ticket) = ("Harbour".into(), Ticket(40));
    RegionRow { epoch: Epoch(2), sequence: 3, cache_id: Uuid::from_u128(7), state: value, name, ticket }
}

/// A root and two parts of it, and a root beside them.
fn linkset() -> Values {
    let part = |number| PrimMotion { parent: kept(1), link_number: number, ..at(f32::from(number)) };
    let prims = [(1, at(50.0)), (2, part(2)), (3, part(1)), (400, at(9.0))];
    let values = prims.iter().map(|(n, motion)| {
        let (mut body, mut state) = (Vec::new(), Vec::new());
        let versioned = rich_body(u128::from(*n));
        push_body(&mut body, &versioned.body);
        push_state(&mut state, &IDS.kept, motion, &versioned);
        (kept(*n), (Some(body), Some(state)))
    });
    values.collect()
}

fn loaded(values: &Values) -> LoadedObjects {
    load(&IDS, &stored(values), FRESH).expect("of this build").region
}

/// Places of the objects: in the range, of the root from 1, number in the linkset.
fn places(region: &LoadedObjects) -> Vec<(u32, u32, u8)> {
    let prims = region.objects.pages.iter().flat_map(ObjectPage::prims);
    let place = |LocalId(id): LocalId| id.saturating_sub(IDS.kept.start);
    prims.map(|(id, motion, _)| (place(id), place(motion.parent), motion.link_number)).collect()
}

fn damages(region: &LoadedObjects) -> Vec<(u32, &str)> {
    let place = |object: &DamagedObject| object.id.0.wrapping_sub(IDS.kept.start);
    region.damaged.iter().map(|object| (place(object), object.why.as_str())).collect()
}

#[test]
fn a_whole_region_is_loaded_as_it_was_saved() {
    let state = RegionState {
        now_ns: 90,
        kept: RestingIds { n_used: 500, resting: vec![(7, 60)] },
        temporary: RestingIds { n_used: 3, resting: vec![(2, 90)] },
    };
    let values = linkset();
    let region = StoredRegion { row: Some(row(&state)), ..stored(&values) };
    let Loading { region, rows, state: again } = load(&IDS, &region, FRESH).unwrap();
    assert_eq!((places(&region), region.n_mended), (vec![(1, 0, 0), (2, 1, 2), (3, 1, 1), (400, 0, 0)], 0));
    assert_eq!((damages(&region), region.cache_id, &again), (vec![], Uuid::from_u128(7), &state));
    assert_eq!(region.objects.pages.len(), 2);
    assert_eq!((region.objects.kept.clone(), region.objects.now_ns), (state.kept, 90));
    assert_eq!(region.objects.temporary, state.temporary);
    assert_eq!(region.objects.transfers, StoredTransfers { last: Ticket(40), ..StoredTransfers::default() });
    let first = region.objects.pages[0].prims().next().unwrap();
    assert_eq!(first, (kept(1), &at(50.0), &rich_body(1)));
    assert_eq!(rows.iter().map(|(id, _)| *id).collect::<Vec<_>>(), values.into_keys().collect::<Vec<_>>());
    assert!(world_of(region.objects).is_some());
}

#[test]
fn a_region_that_was_never_saved_is_empty() {
    let region = load(&IDS, &StoredRegion::default(), FRESH).unwrap().region;
    assert_eq!((region.objects.clone(), region.cache_id), (StoredObjects::default(), FRESH));
    assert!(world_of(region.objects).is_some());
}

#[test]
fn a_region_without_a_row_gives_no_ticket_of_its_held_objects_again() {
    let region = StoredRegion { last_held: Ticket(7), ..stored(&linkset()) };
    let objects = load(&IDS, &region, FRESH).unwrap().region.objects;
    assert_eq!(objects.transfers.last, Ticket(7));
}

#[test]
fn an_object_with_a_damaged_row_is_named_and_the_others_are_there() {
    let mut values = linkset();
    values.get_mut(&kept(3)).unwrap().0.as_mut().unwrap().truncate(20);
    values.get_mut(&kept(400)).unwrap().1 = None;
    values.insert(temporary(1), values[&kept(1)].clone());
    let region = loaded(&values);
    assert_eq!(places(&region), [(1, 0, 0), (2, 1, 1)]);
    let damages = damages(&region);
    assert!(damages[0].0 == 3 && damages[0].1.contains("it ends too early"), "{damages:?}");
    assert_eq!(damages[1], (400, "its state is missing"));
    assert_eq!(damages[2], (1 << 19 | 1, "its local id or that of its root is not one of the region's"));
    let names: Vec<_> = region.damaged.iter().map(|object| object.name.as_deref()).collect();
    assert_eq!((names, region.n_mended), (vec![Some("Lamp"), None, Some("Lamp")], 1));
    assert!(world_of(region.objects).is_some());
}

/// A keeper that has followed the first frame of its world, with the damage that it was told of, and what the world has begun with.
fn begun(store: &Store) -> (Keeper, LoadedRegion) {
    let stored = store.region_objects(REGION).expect("memory");
    let (mut keeper, region) = Keeper::load(&config(), &stored, FRESH).expect("of this build");
    let mut world = world_with(region.objects.clone(), region.land.clone()).expect("a world accepts it");
    let mut first = Frame::empty();
    world.step(ids::Tick(0), Duration::from_millis(50), 1.0, &mut Vec::new(), &mut first);
    assert_eq!(keeper.handle_frame(Instant::ZERO, &first), Following::Current);
    (keeper, region)
}

#[test]
fn damaged_rows_are_set_aside_with_the_save_of_what_is_left() {
    let store = Store::open_in_memory().expect("memory");
    // The root of a linkset is damaged, and a parcel.
    let mut values = linkset();
    values.get_mut(&kept(1)).expect("the root").0.as_mut().expect("its body").truncate(20);
    let StoredRegion { bodies, states, .. } = stored(&values);
    let parcel = LandKey::new(LandKind::Parcel, 1);
    let mut land = LandChanges::default();
    land.rows.push(parcel, b"PARC\x01\0\0\0");
    let row = row(&RegionState::default());
    let damaged = RegionChanges { row, bodies, states, land, ..RegionChanges::default() };
    store.save_region(REGION, &damaged).expect("memory");
    let on_disk = store.region_objects(REGION).expect("memory");

    // A start that ends before its first save leaves the damage to the next one.
    let (_, first) = begun(&store);
    assert_eq!(store.region_objects(REGION).expect("memory"), on_disk);
    let (mut keeper, region) = begun(&store);
    assert_eq!((&region.damaged, &region.objects.pages), (&first.damaged, &first.objects.pages));
    assert_eq!((region.damaged.len(), region.damaged_land.len()), (1, 1));
    assert_eq!(region.damaged_land[0].key, parcel);
    // It is due at once, and after a failure as well.
    let is_aside = |batch: &Batch| {
        let rows = batch.changes.aside.iter().map(|row| (row.damage.part, row.damage.object));
        let land = (ObjectPart::Land, LocalId(parcel.code()));
        let expected = [(ObjectPart::Body, kept(1)), (ObjectPart::State, kept(1)), land];
        assert_eq!(rows.collect::<Vec<_>>(), expected);
    };
    let failed = keeper.poll_batch(Instant::ZERO).expect("an ordered one");
    is_aside(&failed);
    keeper.handle_saved(Instant::ZERO, failed.id, false);
    let now = Instant::from_millis(1_000);
    let batch = keeper.poll_batch(now).expect("once more");
    is_aside(&batch);
    assert!(batch.changes.states.iter().any(|(id, _)| id == kept(3)), "the part that is a root now");
    store.save_region(REGION, &batch.changes).expect("memory");
    keeper.handle_saved(now, batch.id, true);
    keeper.order_save();
    assert_eq!(keeper.poll_batch(now).expect("an ordered one").changes.aside, []);

    let (_, last) = begun(&store);
    assert_eq!((last.damaged, last.damaged_land, last.n_mended), (vec![], vec![], 0));
    assert_eq!(last.objects.pages, region.objects.pages);
    assert_eq!(last.land.state.parcels, region.land.state.parcels);
}

#[test]
fn bodies_of_a_mebibyte_are_set_aside_and_the_others_are_there() {
    let store = Store::open_in_memory().expect("memory");
    let mut values = linkset();
    // One has nothing of a prim behind its head, the other one has more behind its end.
    for (n, kept_bytes) in [(3, 8), (400, usize::MAX)] {
        let body = values.get_mut(&kept(n)).expect("a prim").0.as_mut().expect("its body");
        body.truncate(kept_bytes);
        body.resize(1 << 20, 0xFF);
    }
    let StoredRegion { bodies, states, .. } = stored(&values);
    let row = row(&RegionState::default());
    let damaged = RegionChanges { row, bodies, states, ..RegionChanges::default() };
    store.save_region(REGION, &damaged).expect("memory");

    let (mut keeper, region) = begun(&store);
    let named: Vec<LocalId> = region.damaged.iter().map(|object| object.id).collect();
    assert_eq!(named, [kept(3), kept(400)]);
    let there = region.objects.pages.iter().flat_map(ObjectPage::prims).map(|(id, ..)| id);
    assert_eq!(there.collect::<Vec<_>>(), [kept(1), kept(2)]);
    let batch = keeper.poll_batch(Instant::ZERO).expect("an ordered one");
    let bodies = batch.changes.aside.iter().filter(|row| row.damage.part == ObjectPart::Body);
    assert_eq!(bodies.map(|row| row.damage.object).collect::<Vec<_>>(), named);
    store.save_region(REGION, &batch.changes).expect("memory");
    let (_, last) = begun(&store);
    assert_eq!((last.damaged, last.objects.pages), (vec![], region.objects.pages));
}

#[test]
fn rows_that_the_store_found_damaged_are_set_aside_whatever_they_hold() {
    let damage = |part, object| ObjectDamage { region: REGION, object, part, why: "its checksum".into() };
    let damages = vec![damage(ObjectPart::Region, LocalId(0)), damage(ObjectPart::State, kept(400))];
    let mut values = linkset();
    values.get_mut(&kept(400)).expect("a root").1 = None;
    let region = StoredRegion { damages, ..stored(&values) };
    let lost = loaded(&values).damaged;
    let rows = rows_aside(REGION, &region, &lost, &[]);
    let rows: Vec<_> =
        rows.iter().map(|row| (row.damage.part, row.damage.object, row.value.is_some())).collect();
    let expected = [
        (ObjectPart::Region, LocalId(0), false),
        (ObjectPart::State, kept(400), false),
        (ObjectPart::Body, kept(400), true),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn parts_stay_where_they_are_without_the_body_of_their_root() {
    let mut values = linkset();
    values.get_mut(&kept(1)).unwrap().0 = None;
    let region = loaded(&values);
    assert_eq!(places(&region), [(2, 3, 1), (3, 0, 0), (400, 0, 0)]);
    assert_eq!(damages(&region), [(1, "its body is missing")]);
    assert!(world_of(region.objects).is_some());
    values.get_mut(&kept(1)).unwrap().1 = None;
    let region = loaded(&values);
    assert_eq!(places(&region), [(400, 0, 0)]);
    let why = "the root of its linkset is missing";
    assert_eq!(damages(&region), [(2, why), (3, why)]);
    assert_eq!(region.damaged[0].name.as_deref(), Some("Lamp"));
}

#[test]
fn rows_of_another_build_keep_the_region_from_starting() {
    let mut values = linkset();
    values.get_mut(&kept(2)).unwrap().1.as_mut().unwrap()[4] = 2;
    let why = load(&IDS, &stored(&values), FRESH).err().expect("another build").to_string();
    assert!(why.starts_with("object 1048578 was written by another build"), "{why}");
    let mut newer = row(&RegionState::default());
    newer.state[4] = 2;
    let region = StoredRegion { row: Some(newer), ..StoredRegion::default() };
    assert!(matches!(load(&IDS, &region, FRESH), Err(LoadError::OtherRegion(_))));
}

#[test]
fn local_ids_that_contradict_the_objects_are_set_right() {
    let kept = RestingIds { n_used: 3, resting: vec![(1, 5), (2, 6), (2, 7), (401, 8), (399, u64::MAX)] };
    let state =
        RegionState { now_ns: 50, kept, temporary: RestingIds { n_used: 1, resting: vec![(0, 9), (0, 10)] } };
    let region = StoredRegion { row: Some(row(&state)), ..stored(&linkset()) };
    let objects = load(&IDS, &region, FRESH).unwrap().region.objects;
    assert_eq!(objects.kept, RestingIds { n_used: 401, resting: vec![(399, 50)] });
    assert_eq!(objects.temporary, RestingIds { n_used: 1, resting: vec![(0, 9)] });
    assert!(world_of(objects).is_some());
    let mut damaged = row(&state);
    damaged.state.truncate(9);
    let region = StoredRegion { row: Some(damaged), ..stored(&linkset()) };
    let Loading { region, .. } = load(&IDS, &region, FRESH).unwrap();
    assert_eq!((region.cache_id, region.objects.kept.n_used), (Uuid::from_u128(7), 401));
}

proptest! {
    #[test]
    fn a_world_accepts_whatever_is_left(
        altered in prop::collection::vec((0..4_usize, any::<bool>(), 8..300_usize, any::<u8>()), 1..6),
        lost in prop::collection::vec((0..4_usize, any::<bool>()), 0..3),
    ) {
        let mut values = linkset();
        let ids: Vec<LocalId> = values.keys().copied().collect();
        for (which, is_body, at, with) in altered {
            let (body, state) = values.get_mut(&ids[which]).expect("one of them");
            let value = if is_body { body } else { state };
            let value = value.as_mut().expect("not lost yet");
            let at = 8 + at % (value.len() - 8);
            value[at] = with;
        }
        for (which, is_body) in lost {
            let (body, state) = values.get_mut(&ids[which]).expect("one of them");
            let value = if is_body { body } else { state };
            *value = None;
        }
        let region = loaded(&values);
        let n_there = places(&region).len();
        let n_rows = values.values().filter(|(body, state)| body.is_some() || state.is_some()).count();
        prop_assert_eq!(n_there + region.damaged.len(), n_rows, "each is there or named");
        prop_assert!(world_of(region.objects).is_some());
    }

    #[test]
    fn any_values_are_loaded_without_panic(
        rows in prop::collection::btree_map(0..500_u32, (any::<bool>(), prop::collection::vec(any::<u8>(), 0..80)), 0..4),
    ) {
        let value = |tag: &[u8; 4], bytes: &[u8]| [&tag[..], &[1, 0, 0, 0], bytes].concat();
        let rows = rows.into_iter().map(|(n, (is_whole, bytes))| {
            (kept(n), (Some(value(b"BODY", &bytes)), is_whole.then(|| value(b"STAT", &bytes))))
        });
        let region = loaded(&rows.collect());
        prop_assert!(world_of(region.objects).is_some());
    }
}

#[test]
fn regions_of_tests_are_shared_worlds() {
    assert_eq!(link::shared_local_ids(REGION), ALL_IDS);
}
