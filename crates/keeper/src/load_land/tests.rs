//! Land from damaged rows: a world begins with whatever is left.

use super::*;
use crate::rows::{push_estate, push_parcel, push_patch};
use crate::testing::{GROUND, NOW_S, OWNER, REGION, new_land, world_with};
use ids::{AgentId, LocalId};
use link::{PATCH_SAMPLES, StoredObjects};
use proptest::prelude::*;

const FRESH: Uuid = Uuid::from_u128(0xF00);

type Values = BTreeMap<LandKey, Vec<u8>>;

const fn parcel_key(number: u16) -> LandKey {
    LandKey::new(LandKind::Parcel, number)
}

const fn run(start: u32, end: u32) -> Range<u32> {
    start..end
}

fn parcel(number: u16, runs: &[Range<u32>]) -> Vec<u8> {
    let owner = Some(AgentId(Uuid::from_u128(u128::from(number) + 100)));
    let id = Uuid::from_u128(u128::from(number) + 1_000);
    let n_squares = runs.iter().map(|run| run.end - run.start).sum();
    let parcel = Parcel { n_squares, ..Parcel::new(ParcelNumber(number), id, owner, 5) };
    let mut value = Vec::new();
    push_parcel(&mut value, &parcel, runs);
    value
}

fn patch(column: u8, row: u8, height: f32) -> Vec<u8> {
    let mut value = Vec::new();
    push_patch(&mut value, &GroundPatch::new(column, row, [height; PATCH_SAMPLES]).expect("a height"));
    value
}

/// Three parcels, and a hill that is higher than the baked one.
fn values() -> Values {
    let mut estate = Vec::new();
    push_estate(&mut estate, ParcelNumber(9), &Estate::new("Lake", None, 19.0));
    Values::from([
        (ESTATE, estate),
        (parcel_key(1), parcel(1, &[run(0, 100), run(200, 4_000)])),
        (parcel_key(2), parcel(2, &[run(100, 200)])),
        (parcel_key(7), parcel(7, &[run(4_000, 4_096)])),
        (LandKey::new(LandKind::Ground, 17), patch(1, 1, 30.0)),
        (LandKey::new(LandKind::Ground, 18), patch(2, 1, 31.0)),
        (LandKey::new(LandKind::Baked, 17), patch(1, 1, 25.0)),
    ])
}

fn load(values: &Values) -> LoadedLand {
    load_without(values, &[])
}

/// Loads rows beside others that the store has set aside.
fn load_without(values: &Values, lost: &[LandKey]) -> LoadedLand {
    let mut rows = LandRows::default();
    values.iter().for_each(|(key, value)| rows.push(*key, value));
    let lost = lost.iter().map(|key| ObjectDamage {
        region: REGION,
        object: LocalId(key.code()),
        part: ObjectPart::Land,
        why: "the checksum does not match".into(),
    });
    let lost: Vec<ObjectDamage> = lost.collect();
    load_land(&new_land(), &rows, &lost, FRESH).expect("of this build")
}

/// Numbers of the parcels, with their squares.
fn parcels(land: &StoredLand) -> Vec<(u16, u32)> {
    land.state.parcels.iter().map(|parcel| (parcel.number.0, parcel.n_squares)).collect()
}

fn damages(loaded: &LoadedLand) -> Vec<(String, &str)> {
    loaded.damaged.iter().map(|damaged| (damaged.key.to_string(), damaged.why.as_str())).collect()
}

fn is_accepted(land: StoredLand) -> bool {
    world_with(StoredObjects::default(), land).is_some()
}

#[test]
fn whole_land_is_loaded_as_it_was_saved() {
    let loaded = load(&values());
    assert_eq!(damages(&loaded), []);
    let land = &loaded.land;
    assert_eq!(parcels(land), [(1, 3_900), (2, 100), (7, 96)]);
    assert_eq!((land.last_number, land.now_ns / 1_000_000_000), (ParcelNumber(9), NOW_S));
    assert_eq!((&*land.state.estate.name, land.state.squares[150]), ("Lake", ParcelNumber(2)));
    let places = |patches: &[GroundPatch]| -> Vec<(u8, f32)> {
        patches.iter().map(|patch| (patch.column(), patch.heights()[0])).collect()
    };
    assert_eq!((places(&land.ground), places(&land.baked)), (vec![(1, 30.0), (2, 31.0)], vec![(1, 25.0)]));
    assert!(loaded.disk.values().all(Option::is_some));
    assert!(is_accepted(loaded.land));
}

#[test]
fn a_region_without_rows_has_one_parcel_of_the_owner_of_its_estate() {
    let land = load(&Values::new()).land;
    assert_eq!((parcels(&land), land.state.parcels[0].owner), (vec![(1, 4_096)], Some(OWNER)));
    assert_eq!((land.last_number, &*land.state.estate.name), (ParcelNumber(1), "Hills"));
    assert!(land.ground.is_empty() && is_accepted(land));
}

#[test]
fn patches_of_the_described_ground_are_left_out() {
    let mut values = values();
    let mut value = Vec::new();
    push_patch(&mut value, &GroundPatch::new(2, 1, GROUND.patch(2, 1)).expect("heights of a ground"));
    values.insert(LandKey::new(LandKind::Ground, 18), value);
    let land = load(&values).land;
    assert_eq!(land.ground.len(), 1);
    assert!(is_accepted(land), "a description may have changed");
}

#[test]
fn a_damaged_parcel_is_named_and_its_squares_are_the_estate_owners() {
    let mut values = values();
    values.get_mut(&parcel_key(2)).unwrap().truncate(40);
    let loaded = load(&values);
    assert_eq!(loaded.damaged.len(), 1);
    assert_eq!((loaded.damaged[0].key, loaded.disk[&parcel_key(2)]), (parcel_key(2), None));
    assert_eq!(parcels(&loaded.land), [(1, 3_900), (2, 100), (7, 96)]);
    let rest = &loaded.land.state.parcels[1];
    assert_eq!((rest.owner, rest.claimed_s), (None, NOW_S), "this estate has no owner");
    assert!(is_accepted(loaded.land));
    // Set aside by the store before.
    values.remove(&parcel_key(2));
    values.remove(&ESTATE);
    let loaded = load_without(&values, &[ESTATE, parcel_key(2)]);
    assert_eq!((damages(&loaded), parcels(&loaded.land)), (vec![], vec![(1, 3_900), (2, 100), (7, 96)]));
    assert_eq!(loaded.land.state.parcels[1].owner, Some(OWNER), "that of a new region");
    assert!(is_accepted(loaded.land));
}

#[test]
fn parcels_that_contradict_each_other_are_named() {
    let mut values = values();
    values.insert(parcel_key(2), parcel(2, &[run(50, 200)]));
    let loaded = load(&values);
    assert_eq!(damages(&loaded), [("parcel 2".to_owned(), "squares of it are those of another parcel")]);
    assert_eq!(loaded.damaged[0].name.as_deref(), Some("Your Parcel"));
    assert_eq!(parcels(&loaded.land), [(1, 3_900), (2, 100), (7, 96)]);
    assert!(is_accepted(loaded.land));
}

#[test]
fn a_damaged_patch_is_the_baked_one_and_a_damaged_baked_one_the_described() {
    let mut values = values();
    let heights = |values: &Values| {
        let LoadedLand { land, damaged, .. } = load(values);
        let highest = |patches: &[GroundPatch]| -> Vec<f32> {
            patches.iter().map(|patch| patch.heights()[0]).collect()
        };
        let found = (highest(&land.ground), highest(&land.baked), damaged.len());
        assert!(is_accepted(land));
        found
    };
    let ground = LandKey::new(LandKind::Ground, 17);
    values.get_mut(&ground).unwrap().truncate(100);
    assert_eq!(heights(&values), (vec![25.0, 31.0], vec![25.0], 1));
    values.get_mut(&LandKey::new(LandKind::Baked, 17)).unwrap().truncate(100);
    assert_eq!(heights(&values), (vec![31.0], vec![], 2));
}

#[test]
fn rows_of_another_build_keep_the_region_from_starting() {
    let mut values = values();
    values.get_mut(&parcel_key(7)).unwrap()[4] = 9;
    let mut rows = LandRows::default();
    values.iter().for_each(|(key, value)| rows.push(*key, value));
    let (key, why) = load_land(&new_land(), &rows, &[], FRESH).expect_err("another build");
    assert!(key == parcel_key(7) && why.to_string().contains("has version 9"), "{why}");
}

proptest! {
    #[test]
    fn a_world_accepts_whatever_is_left(
        altered in prop::collection::vec((0..7_usize, 8..2_000_usize, any::<u8>()), 1..6),
        removed in prop::collection::vec(0..7_usize, 0..3),
    ) {
        let mut values = values();
        let keys: Vec<LandKey> = values.keys().copied().collect();
        for (which, at, with) in altered {
            let value = values.get_mut(&keys[which]).expect("one of them");
            let at = 8 + at % (value.len() - 8);
            value[at] = with;
        }
        let removed: BTreeSet<LandKey> = removed.into_iter().map(|which| keys[which]).collect();
        values.retain(|key, _| !removed.contains(key));
        let lost: Vec<LandKey> = removed.into_iter().collect();
        let loaded = load_without(&values, &lost);
        prop_assert!(is_accepted(loaded.land));
    }

    #[test]
    fn any_values_are_loaded_without_panic(
        rows in prop::collection::btree_map(0..4_u32 << 16, prop::collection::vec(any::<u8>(), 0..80), 0..6),
    ) {
        let rows = rows.into_iter().map(|(code, bytes)| {
            let key = LandKey::of_code(code).expect("a known kind");
            let tag = match key.kind {
                LandKind::Estate => b"ESTA",
                LandKind::Parcel => b"PARC",
                LandKind::Ground | LandKind::Baked => b"GRND",
            };
            (key, [&tag[..], &[1, 0, 0, 0], &bytes].concat())
        });
        prop_assert!(is_accepted(load(&rows.collect()).land));
    }
}
