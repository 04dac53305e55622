//! Land of a world that is edited: rows of each batch, and the land at the next start.

use super::*;
use crate::keeper::{Batch, Following, Keeper};
use crate::testing::{GROUND, OWNER, REGION, config, world_with};
use glam::Vec2;
use ids::{Epoch, SessionKey, Tick, Uuid};
use link::{
    Action, Brush, Command, EstateEdit, Event, GroundEdit, LandCommand, LandEdit, LandEvent, LandRect,
    PATCH_SAMPLES, ParcelEdit, StoredLand, StoredObjects, Stroke, StrokeArea,
};
use proptest::prelude::*;
use std::time::Duration;
use store::Store;
use world::World;

const TICK: Duration = Duration::from_millis(50);
const FRESH: Uuid = Uuid::from_u128(0xF00);

/// A region with its keeper and its store.
struct Town {
    store: Store,
    world: World,
    keeper: Keeper,
    frame: Frame,
    tick: u64,
    sequence: u64,
}

impl Town {
    fn new() -> Self {
        Self::of(Store::open_in_memory().expect("memory"))
    }

    /// Begins with the region as it is stored.
    fn of(store: Store) -> Self {
        let (keeper, land) = loaded(&store);
        let world = world_with(StoredObjects::default(), land).expect("a world accepts it");
        let mut town = Self { store, world, keeper, frame: Frame::empty(), tick: 0, sequence: 0 };
        assert_eq!(town.step(Vec::new()), Following::Current);
        town
    }

    fn now(&self) -> Instant {
        Instant::from_millis(50 * self.tick)
    }

    /// A frame that does not reach the keeper.
    fn step_unseen(&mut self, actions: Vec<Action>) {
        let commands = actions.into_iter().map(|action| {
            self.sequence += 1;
            Command::by_node(SessionKey::NODE, self.sequence, action)
        });
        let mut commands: Vec<Command> = commands.collect();
        self.world.step(Tick(self.tick), TICK, 1.0, &mut commands, &mut self.frame);
        self.tick += 1;
    }

    fn step(&mut self, actions: Vec<Action>) -> Following {
        self.step_unseen(actions);
        self.keeper.handle_frame(self.now(), &self.frame)
    }

    fn edit(&mut self, edit: LandEdit) {
        self.step(vec![land(edit)]);
        let outcome = &self.frame.events[..];
        assert!(matches!(outcome, [Event::Land(SessionKey::NODE, LandEvent::Done { .. })]), "{outcome:?}");
    }

    /// The batch that is due a quarter of a second from now.
    fn poll(&mut self) -> Option<Batch> {
        self.tick += 5;
        self.keeper.poll_batch(self.now())
    }

    /// Saves the next batch; its rows.
    fn save(&mut self) -> (Vec<String>, Vec<String>) {
        let batch = self.poll().expect("due");
        self.store.save_region(REGION, &batch.changes).expect("memory");
        self.keeper.handle_saved(self.now(), batch.id, true);
        rows_of(&batch)
    }

    /// All land of the world, as of its last frame.
    fn whole(&mut self) -> SnapshotChunk {
        self.step(vec![Action::Resync]);
        self.frame.snapshot.take().expect("it was asked for")
    }

    /// Compares the stored land with that of the world.
    fn check(&mut self) {
        let SnapshotChunk { ground, baked, land: state, .. } = self.whole();
        let (_, stored) = loaded(&self.store);
        assert_eq!(Some(&stored.state), state.as_ref());
        assert!(stored.ground == ground && stored.baked == baked, "the ground is another one");
    }
}

fn loaded(store: &Store) -> (Keeper, StoredLand) {
    let stored = store.region_objects(REGION).expect("memory");
    let (keeper, region) = Keeper::load(&config(), &stored, FRESH).expect("of this build");
    assert_eq!((stored.damages, region.damaged_land), (Vec::new(), Vec::new()));
    (keeper, region.land)
}

/// New and changed rows of land in a batch, and removed ones.
fn rows_of(batch: &Batch) -> (Vec<String>, Vec<String>) {
    let LandChanges { rows, gone } = &batch.changes.land;
    (rows.iter().map(|(key, _)| key.to_string()).collect(), gone.iter().map(|key| key.to_string()).collect())
}

fn land(edit: LandEdit) -> Action {
    Action::Land(Box::new(LandCommand { at_s: 0, edit }))
}

const fn rect(west: f32, south: f32, east: f32, north: f32) -> LandRect {
    LandRect { west, south, east, north }
}

/// Raises the ground of a rectangle by a metre.
fn raise(area: LandRect) -> LandEdit {
    let (brush, area) = (Brush::Raise, StrokeArea::Rect(area));
    LandEdit::Ground(GroundEdit::Stroke(Stroke { brush, area, seconds: 1.0, height_m: 0.0 }))
}

fn divide(area: LandRect, id: u128) -> LandEdit {
    LandEdit::Divide { area, id: Uuid::from_u128(id) }
}

/// The described ground at a patch.
fn described(column: u8, row: u8) -> GroundPatch {
    GroundPatch::new(column, row, GROUND.patch(column, row)).expect("heights of a ground")
}

#[test]
fn a_new_region_is_saved_with_one_parcel_of_the_owner_of_its_estate() {
    let mut town = Town::new();
    let rows = town.save();
    assert_eq!(rows, (vec!["estate".to_owned(), "parcel 1".to_owned()], vec![]));
    town.check();
    let (_, stored) = loaded(&town.store);
    assert_eq!((stored.state.parcels[0].owner, &*stored.state.estate.name), (Some(OWNER), "Hills"));
    assert_eq!(town.poll(), None, "nothing else");
}

#[test]
fn an_edit_writes_its_own_rows() {
    let mut town = Town::new();
    town.save();
    let texts = |rows: &[&str]| rows.iter().map(|row| (*row).to_owned()).collect::<Vec<_>>();
    town.edit(raise(rect(16.0, 16.0, 47.0, 31.0)));
    assert_eq!(
        town.save(),
        (texts(&["patch of the ground 17", "patch of the ground 18"]), vec![]),
        "a row of patches has 16"
    );
    town.edit(divide(rect(0.0, 0.0, 64.0, 64.0), 0xB));
    assert_eq!(town.save(), (texts(&["estate", "parcel 1", "parcel 2"]), vec![]));
    town.edit(LandEdit::Parcel(ParcelNumber(2), ParcelEdit::ForceOwner(None)));
    town.edit(LandEdit::Parcel(ParcelNumber(2), ParcelEdit::AutoReturn { minutes: 5 }));
    assert_eq!(town.save(), (texts(&["parcel 2"]), vec![]), "once");
    town.edit(LandEdit::Ground(GroundEdit::Bake));
    assert_eq!(
        town.save(),
        (texts(&["patch of the baked ground 17", "patch of the baked ground 18"]), vec![])
    );
    town.edit(LandEdit::Ground(GroundEdit::Load(vec![described(1, 1)])));
    assert_eq!(town.save(), (vec![], texts(&["patch of the ground 17"])), "the described ground has no row");
    town.edit(LandEdit::Parcel(ParcelNumber(2), ParcelEdit::ForceOwner(Some(OWNER))));
    town.edit(LandEdit::Join(rect(0.0, 0.0, 256.0, 256.0)));
    assert_eq!(town.save(), (texts(&["parcel 1"]), texts(&["parcel 2"])));
    town.edit(LandEdit::Estate(EstateEdit::Name("Lake".into())));
    assert_eq!(town.save(), (texts(&["estate"]), vec![]));
    town.check();
}

#[test]
fn an_edit_that_is_taken_back_before_its_batch_writes_nothing() {
    let mut town = Town::new();
    town.save();
    town.edit(raise(rect(16.0, 16.0, 31.0, 31.0)));
    assert_eq!(town.keeper.unsaved_since(), Some(town.now()));
    town.edit(LandEdit::Ground(GroundEdit::Undo));
    assert_eq!((town.poll(), town.keeper.unsaved_since()), (None, None));
}

#[test]
fn a_failed_batch_is_written_again_with_the_newest_state() {
    let mut town = Town::new();
    town.save();
    town.edit(raise(rect(16.0, 16.0, 31.0, 31.0)));
    let edited_at = town.now();
    let failed = town.poll().expect("due");
    assert_eq!(failed.since, Some(edited_at));
    // Its rows may be on the disk or not, so a parcel that is taken back is removed in any case.
    town.edit(LandEdit::Ground(GroundEdit::Undo));
    town.edit(raise(rect(64.0, 64.0, 79.0, 79.0)));
    town.keeper.handle_saved(town.now(), failed.id, false);
    assert_eq!(town.keeper.unsaved_since(), Some(edited_at));
    town.tick += 20;
    assert_eq!(
        town.save(),
        (vec!["patch of the ground 68".to_owned()], vec!["patch of the ground 17".to_owned()])
    );
    town.check();
}

#[test]
fn after_a_gap_the_land_of_a_snapshot_is_compared() {
    let mut town = Town::new();
    town.save();
    town.edit(raise(rect(16.0, 16.0, 31.0, 31.0)));
    town.save();
    town.step_unseen(vec![land(divide(rect(0.0, 0.0, 64.0, 64.0), 0xB))]);
    let back = GroundEdit::Load(vec![described(1, 1)]);
    assert_eq!(town.step(vec![land(LandEdit::Ground(back))]), Following::NeedsSnapshot);
    assert_eq!(town.step(vec![Action::Resync]), Following::Current);
    let (rows, gone) = town.save();
    assert_eq!(rows, ["estate", "parcel 1", "parcel 2"], "the number that was given last is the highest");
    assert_eq!(gone, ["patch of the ground 17"]);
    town.check();
}

#[test]
fn numbers_of_parcels_are_not_given_again_after_a_start() {
    let mut town = Town::new();
    town.edit(divide(rect(0.0, 0.0, 64.0, 64.0), 0xB));
    town.edit(LandEdit::Join(rect(0.0, 0.0, 256.0, 256.0)));
    town.save();
    let mut town = Town::of(town.store);
    town.edit(divide(rect(0.0, 0.0, 64.0, 64.0), 0xC));
    let parcel = town.world.land().and_then(|land| land.parcel_at(Vec2::ONE)).expect("inside");
    assert_eq!(parcel.number, ParcelNumber(3));
}

#[test]
fn a_later_life_of_the_world_is_compared() {
    let mut town = Town::new();
    town.save();
    town.edit(raise(rect(16.0, 16.0, 31.0, 31.0)));
    town.save();
    let SnapshotChunk { objects, land, .. } = town.whole();
    // It begins again without the edit.
    let part = SnapshotChunk { objects, land, index: 0, count: 1, ..SnapshotChunk::default() };
    let frame = Frame { world: REGION, epoch: Epoch(1), snapshot: Some(part), ..Frame::empty() };
    assert_eq!(town.keeper.handle_frame(town.now(), &frame), Following::Current);
    assert_eq!(town.save(), (vec![], vec!["patch of the ground 17".to_owned()]));
}

/// As an import does it with the land of a file.
#[test]
fn other_land_takes_the_place_of_a_regions_own() {
    let mut town = Town::new();
    town.edit(raise(rect(16.0, 16.0, 47.0, 31.0)));
    town.edit(divide(rect(0.0, 0.0, 64.0, 64.0), 0xB));
    town.save();
    let estate = Estate::new("Lake", None, 19.0);
    let state = LandState::of_one_parcel(256, Uuid::from_u128(0xE), estate, 5);
    let high = GroundPatch::new(9, 9, [60.0; PATCH_SAMPLES]).expect("a height");
    let ground: Vec<GroundPatch> = (0..16_u8)
        .flat_map(|row| (0..16).map(move |column| (column, row)))
        .map(|place| if place == (9, 9) { high.clone() } else { described(place.0, place.1) })
        .collect();
    let land = vec![LandChange::Whole(state.clone()), LandChange::Baked(ground.clone())];
    let next = Frame { world: REGION, sequence: town.frame.sequence + 1, ground, land, ..Frame::empty() };
    assert_eq!(town.keeper.handle_frame(town.now(), &next), Following::Current);
    let (rows, gone) = town.save();
    assert_eq!(rows, ["estate", "parcel 1", "patch of the ground 153", "patch of the baked ground 153"]);
    assert_eq!(gone, ["parcel 2", "patch of the ground 17", "patch of the ground 18"]);
    let (_, stored) = loaded(&town.store);
    assert_eq!((&stored.state, &stored.ground, &stored.baked), (&state, &vec![high.clone()], &vec![high]));
}

#[derive(Clone, Debug)]
enum Deed {
    Edit(LandEdit),
    /// The keeper does not get the next frame.
    Lose,
    /// A batch is saved, or not, and answered, or not.
    Save {
        is_saved: bool,
        is_answered: bool,
    },
    /// Server and world begin again from the store.
    Crash,
}

fn deed() -> impl Strategy<Value = Deed> {
    let metres = || (0..=16_u8).prop_map(|n| f32::from(n) * 16.0);
    let area = (metres(), metres(), metres(), metres())
        .prop_map(|(a, b, c, d)| rect(a.min(c), b.min(d), a.max(c), b.max(d)));
    let number = || (1..6_u16).prop_map(ParcelNumber);
    let patch = (0..16_u8, 0..16_u8, any::<bool>()).prop_map(|(column, row, is_described)| {
        let other = || GroundPatch::new(column, row, [30.0; PATCH_SAMPLES]).expect("a height");
        if is_described { described(column, row) } else { other() }
    });
    let edit = prop_oneof![
        4 => area.clone().prop_map(raise),
        2 => patch.prop_map(|patch| LandEdit::Ground(GroundEdit::Load(vec![patch]))),
        2 => Just(LandEdit::Ground(GroundEdit::Undo)),
        1 => Just(LandEdit::Ground(GroundEdit::Bake)),
        4 => (area.clone(), 1..u128::MAX).prop_map(|(area, id)| divide(area, id)),
        2 => area.prop_map(LandEdit::Join),
        2 => (number(), any::<u32>()).prop_map(|(number, minutes)| {
            LandEdit::Parcel(number, ParcelEdit::AutoReturn { minutes })
        }),
        1 => number().prop_map(|number| LandEdit::Parcel(number, ParcelEdit::Release)),
        1 => any::<bool>().prop_map(|is_named| {
            LandEdit::Estate(EstateEdit::Name(if is_named { "Lake".into() } else { "Hills".into() }))
        }),
    ];
    prop_oneof![
        12 => edit.prop_map(Deed::Edit),
        1 => Just(Deed::Lose),
        6 => (prop::bool::weighted(0.7), prop::bool::weighted(0.8))
            .prop_map(|(is_saved, is_answered)| Deed::Save { is_saved, is_answered }),
        1 => Just(Deed::Crash),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// After any edits, failures and crashes, the next save leaves the land of its frame.
    #[test]
    fn the_stored_land_is_that_of_the_last_saved_frame(deeds in prop::collection::vec(deed(), 1..40)) {
        let mut town = Town::new();
        for deed in deeds {
            match deed {
                Deed::Edit(edit) => {
                    // Many are refused, as those of parcels that are gone.
                    if town.step(vec![land(edit)]) == Following::NeedsSnapshot {
                        town.step(vec![Action::Resync]);
                    }
                }
                Deed::Lose => town.step_unseen(vec![land(raise(rect(0.0, 0.0, 16.0, 16.0)))]),
                Deed::Save { is_saved, is_answered } => {
                    let Some(batch) = town.poll() else { continue };
                    if is_saved {
                        town.store.save_region(REGION, &batch.changes).expect("memory");
                    }
                    town.keeper.handle_saved(town.now(), batch.id, is_saved && is_answered);
                }
                Deed::Crash => town = Town::of(town.store),
            }
        }
        // Also behind a gap that was not noticed yet, and after pauses.
        town.step(vec![Action::Resync]);
        town.step(vec![Action::Resync]);
        town.tick += 10_000;
        if let Some(batch) = town.poll() {
            town.store.save_region(REGION, &batch.changes).expect("memory");
            town.keeper.handle_saved(town.now(), batch.id, true);
        }
        town.check();
    }
}
