//! A world that begins again after a panic: from which state, and with which numbers.

use crate::stage::{TICK, config, enter_at};
use glam::{Quat, Vec2, Vec3};
use ids::{AgentId, Epoch, Instant, LocalId, SessionKey, Tick, Uuid};
use link::{
    Action, Brush, Change, Command, Derez, DerezKind, Estate, Frame, GroundEdit, LandCommand, LandEdit,
    LandRect, LandState, NewObject, ObjectChange, ObjectCommand, ObjectPage, Placement, PrimFlags,
    StoredLand, StoredObjects, Stroke, StrokeArea, Terrain,
};
use prim::Shape;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use world::{Beginning, Life, World, WorldConfig};

/// A life whose frames are followed as a replica would.
struct Play {
    life: Life,
    now: Instant,
    tick: u64,
    /// Present avatars, by session.
    here: BTreeMap<u64, LocalId>,
    frame: Frame,
}

impl Play {
    fn begin(share: f32) -> Self {
        let life = Life::new(config(Terrain::flat(256, 21.0)), share);
        Self { life, now: Instant::ZERO, tick: 0, here: BTreeMap::new(), frame: Frame::empty() }
    }

    /// A world that is built on.
    fn begin_with_objects() -> Self {
        let objects = Some(StoredObjects::default());
        let config = WorldConfig { local_ids: 1 << 20..2 << 20, objects, ..config(Terrain::flat(256, 21.0)) };
        Self { life: Life::new(config, 0.0), ..Self::begin(0.0) }
    }

    /// A step that panics after its changes.
    fn fail(&mut self, actions: Vec<(u64, Action)>) {
        self.life.arm(Box::new(|| panic!("a fault of this test")));
        let failed = catch_unwind(AssertUnwindSafe(|| self.step(actions)));
        assert!(failed.is_err());
    }

    fn step(&mut self, actions: Vec<(u64, Action)>) {
        let mut commands: Vec<Command> = actions
            .into_iter()
            .zip(0..)
            .map(|((session, action), sequence)| Command::by_session(SessionKey(session), sequence, action))
            .collect();
        self.life.step(self.now, Tick(self.tick), TICK, 1.0, &mut commands, &mut self.frame);
        self.now += TICK;
        self.tick += 1;
        let snapshot = self.frame.snapshot.iter().flat_map(|part| &part.entities);
        let created = self.frame.changes.iter().filter_map(|change| match change {
            Change::Created(entity) => Some(entity),
            _ => None,
        });
        for entity in created.chain(snapshot) {
            self.here.insert(entity.avatar.session.0, entity.id);
        }
        for change in &self.frame.changes {
            if let Change::Removed(id) = change {
                self.here.retain(|_, here| here != id);
            }
        }
    }

    fn let_in(&mut self, session: u64) {
        self.step(vec![(session, enter_at(Vec3::splat(100.0)))]);
    }

    fn enter(&mut self, session: u64) -> LocalId {
        self.let_in(session);
        self.here[&session]
    }

    fn run(&mut self, duration: Duration) {
        let end = self.now + duration;
        while self.now < end {
            self.step(Vec::new());
        }
    }

    /// The restart of a supervisor after a step that panicked, and the first step after it.
    fn begin_again(&mut self, in_a_row: u32) -> Beginning {
        // The step that failed.
        self.tick += 1;
        let (beginning, _) = self.life.begin_again(in_a_row);
        self.here.clear();
        self.step(Vec::new());
        beginning
    }
}

#[test]
fn a_checkpoint_says_what_a_snapshot_says() {
    let mut play = Play::begin(0.0);
    (1..5).for_each(|session| play.let_in(session));
    let world = play.life.world();
    let checkpoint = world.checkpoint();
    assert_eq!((checkpoint.encode(), checkpoint.n_avatars()), (world.snapshot(), 4));
    let resumed = World::resume(play.life.config().clone(), &checkpoint).unwrap();
    assert_eq!((resumed.state_hash(), resumed.snapshot()), (world.state_hash(), world.snapshot()));
}

#[test]
fn a_checkpoint_into_the_memory_of_another_is_as_one_of_its_own() {
    let mut play = Play::begin(0.0);
    (1..5).for_each(|session| play.let_in(session));
    let mut checkpoint = play.life.world().checkpoint();
    (5..8).for_each(|session| play.let_in(session));
    play.run(Duration::from_secs(1));
    for _ in 0..2 {
        play.life.world().checkpoint_into(&mut checkpoint);
        assert_eq!(checkpoint.encode(), play.life.world().snapshot());
        play.step(vec![(1, Action::Leave), (2, Action::Leave)]);
    }
}

#[test]
fn avatars_of_the_checkpoint_are_there_again_under_the_same_ids() {
    let mut play = Play::begin(0.0);
    let early = play.enter(1);
    play.run(Life::CHECKPOINT_PERIOD);
    let late = play.enter(2);
    assert_eq!(play.begin_again(1), Beginning::Newest);
    assert_eq!((play.here.get(&1), play.here.get(&2)), (Some(&early), None));
    assert!(play.enter(2) > late, "the id of a presence that is gone stands for no other");
}

#[test]
fn a_restarted_world_sends_its_whole_state_from_its_first_frame_on() {
    let mut play = Play::begin(0.0);
    play.enter(1);
    play.run(Life::CHECKPOINT_PERIOD);
    play.begin_again(1);
    let first = &play.frame;
    assert_eq!((first.epoch, first.sequence), (Epoch(2), 0));
    let part = first.snapshot.as_ref().unwrap();
    assert_eq!((part.index, part.count, part.entities.len()), (0, 1, 1));
}

#[test]
fn a_state_that_cannot_go_on_is_given_up_step_by_step() {
    let mut play = Play::begin(0.0);
    let first = play.enter(1);
    play.run(Life::CHECKPOINT_PERIOD);
    play.enter(2);
    play.run(Life::CHECKPOINT_PERIOD);
    assert_eq!((play.begin_again(1), play.here.len()), (Beginning::Newest, 2));
    assert_eq!((play.begin_again(2), play.here.len()), (Beginning::Older, 1));
    assert_eq!((play.begin_again(3), play.here.len()), (Beginning::Empty, 0));
    assert_eq!(play.frame.epoch, Epoch(4));
    assert!(play.enter(1) > first);
    assert_eq!(play.begin_again(1), Beginning::Empty, "an abandoned world does not come back");
}

#[test]
fn without_a_checkpoint_a_world_begins_empty_and_goes_on_with_its_ids() {
    let mut play = Play::begin(1.0);
    let id = play.enter(1);
    assert_eq!(play.begin_again(1), Beginning::Empty);
    assert!(play.frame.snapshot.is_some(), "replicas have to learn that the world is empty");
    assert!(play.enter(1) > id);
}

/// The tick in which each of two worlds takes checkpoints follows from the avatars that are there after a restart.
#[test]
fn worlds_take_their_checkpoints_in_different_ticks_and_often_enough() {
    let taken_in = |share: f32| {
        let period = (Life::CHECKPOINT_PERIOD.as_nanos() / TICK.as_nanos()) as u64;
        let knows = |steps: u64| {
            let mut play = Play::begin(share);
            // One more comes in every tick.
            (1..=3 * period + steps).for_each(|session| play.let_in(session));
            play.begin_again(1);
            play.here.len() as u64
        };
        let newest: Vec<u64> = (0..period).map(knows).collect();
        assert!(newest.iter().zip(3 * period..).all(|(known, now)| known + period >= now), "{newest:?}");
        newest.windows(2).position(|pair| pair[0] != pair[1])
    };
    assert_ne!(taken_in(0.0), taken_in(0.5));
}

fn new_box(id: u128) -> Action {
    let object = NewObject {
        id: Uuid::from_u128(id),
        created_us: 1 << 50,
        p_code: 9,
        state: 0,
        material: 3,
        shape: Shape::BOX,
        scale: Vec3::splat(0.5),
        position: Vec3::splat(50.0),
        ray: None,
        rotation: Quat::IDENTITY,
        group: Uuid::nil(),
        flags: PrimFlags::default(),
        is_selected: false,
    };
    Action::Object(Box::new(ObjectCommand::Create(Box::new(object))))
}

fn delete(id: LocalId) -> Action {
    let derez =
        Derez { objects: vec![id], kind: DerezKind::Delete, folder: Uuid::nil(), transaction: Uuid::nil() };
    Action::Object(Box::new(ObjectCommand::Derez(derez)))
}

#[test]
fn objects_are_those_of_the_last_frame_after_any_panic() {
    for (in_a_row, expected) in [(1, Beginning::Newest), (2, Beginning::Older), (3, Beginning::Empty)] {
        let mut play = Play::begin_with_objects();
        play.let_in(1);
        play.step(vec![(1, new_box(1))]);
        let [ObjectChange::Set { id: first, .. }] = play.frame.objects[..] else { panic!("one new box") };
        play.run(2 * Life::CHECKPOINT_PERIOD + TICK);
        // Clients are shown it, and no checkpoint has it.
        play.step(vec![(1, new_box(2))]);
        play.fail(vec![(1, new_box(3)), (1, delete(first))]);
        assert_eq!(play.begin_again(in_a_row), expected);
        let shown = play.frame.snapshot.as_ref().expect("the whole state").objects.iter();
        let shown: Vec<u128> =
            shown.flat_map(ObjectPage::prims).map(|(.., versioned)| versioned.body.id.as_u128()).collect();
        assert_eq!(shown, [1, 2], "after {in_a_row} panics");
    }
}

#[test]
fn a_step_that_moves_an_object_and_fails_leaves_the_objects_of_the_one_before() {
    let mut play = Play::begin_with_objects();
    play.let_in(1);
    play.step(vec![(1, new_box(1))]);
    let [ObjectChange::Set { id, .. }] = play.frame.objects[..] else { panic!("one new box") };
    let place = |x| {
        let placement = Placement {
            position: Some(Vec3::new(x, 50.0, 50.0)),
            is_linked_set: true,
            ..Placement::default()
        };
        Action::Object(Box::new(ObjectCommand::Place(vec![(id, placement)])))
    };
    play.run(2 * Life::CHECKPOINT_PERIOD + TICK);
    play.step(vec![(1, place(60.0))]);
    play.fail(vec![(1, place(70.0))]);
    assert_eq!(play.begin_again(1), Beginning::Newest);
    let shown = play.frame.snapshot.as_ref().expect("the whole state").objects.iter();
    let at: Vec<f32> = shown.flat_map(ObjectPage::prims).map(|(_, prim, _)| prim.motion.position.x).collect();
    assert_eq!(at, [60.0], "clients were shown it, and no checkpoint has it");
}

/// A world that is built on, whose ground its visitors may edit.
fn begin_with_land() -> Play {
    // All visitors have one account.
    let owner = AgentId(Uuid::from_u128(7));
    let estate = Estate::new("Hills", Some(owner), 20.0);
    let land = StoredLand::new(LandState::of_one_parcel(256, Uuid::from_u128(0xA), estate, 0), 0);
    let config = WorldConfig {
        local_ids: 1 << 20..2 << 20,
        objects: Some(StoredObjects::default()),
        land: Some(land),
        ..config(Terrain::flat(256, 21.0))
    };
    Play { life: Life::new(config, 0.0), ..Play::begin(0.0) }
}

fn edit_land(edit: LandEdit) -> Action {
    Action::Land(Box::new(LandCommand { at_s: 0, edit }))
}

/// Raises the ground by up to 5 m.
fn raise(x: f32, y: f32) -> Action {
    let area = StrokeArea::Disc { at: Vec2::new(x, y), radius_m: 8.0 };
    edit_land(LandEdit::Ground(GroundEdit::Stroke(Stroke {
        brush: Brush::Raise,
        area,
        seconds: 5.0,
        height_m: 0.0,
    })))
}

#[test]
fn land_is_that_of_the_last_frame_after_any_panic() {
    let area = LandRect { west: 0.0, south: 0.0, east: 64.0, north: 64.0 };
    let all = LandRect { east: 256.0, north: 256.0, ..area };
    for (in_a_row, expected) in [(1, Beginning::Newest), (2, Beginning::Older), (3, Beginning::Empty)] {
        let mut play = begin_with_land();
        play.let_in(1);
        play.run(2 * Life::CHECKPOINT_PERIOD + TICK);
        // Clients are shown it, and no checkpoint has it. The avatar stands in the middle of the new hill.
        let divide = edit_land(LandEdit::Divide { area, id: Uuid::from_u128(0xB) });
        play.step(vec![(1, raise(100.0, 100.0)), (1, divide)]);
        let shown = play.frame.ground.clone();
        assert!(!shown.is_empty() && play.frame.events.is_empty(), "{:?}", play.frame.events);
        play.fail(vec![(1, raise(200.0, 200.0)), (1, edit_land(LandEdit::Join(all)))]);
        assert_eq!(play.begin_again(in_a_row), expected);
        let part = play.frame.snapshot.as_ref().expect("the whole state");
        let parcels = part.land.as_ref().map(|land| land.parcels.len());
        assert_eq!((&part.ground, parcels), (&shown, Some(2)), "after {in_a_row} panics");
        let heights: Vec<f32> = play.life.world().avatars().map(|entity| entity.motion.position.z).collect();
        assert_eq!(heights.len(), usize::from(expected != Beginning::Empty));
        assert!(heights.iter().all(|&z| z > 25.0), "below the ground: {heights:?}");
    }
}

#[test]
fn a_step_that_fails_without_an_edit_leaves_the_land_of_the_one_before() {
    let mut play = begin_with_land();
    play.let_in(1);
    play.step(vec![(1, raise(100.0, 100.0))]);
    let shown = play.frame.ground.clone();
    play.fail(Vec::new());
    play.begin_again(1);
    assert_eq!(play.frame.snapshot.as_ref().map(|part| &part.ground), Some(&shown));
}

#[test]
fn a_world_that_is_built_on_has_land_and_keeps_it_after_it_has_begun_empty() {
    let mut play = Play::begin_with_objects();
    play.step(Vec::new());
    let land = |play: &Play| {
        let land = play.life.world().land().expect("it is built on");
        land.parcel_at(Vec2::splat(100.0)).expect("each square has a parcel").clone()
    };
    let first = land(&play);
    assert_eq!((first.owner, first.area_m2()), (None, 256 * 256));
    assert_eq!(play.begin_again(3), Beginning::Empty);
    assert_eq!(play.begin_again(1), Beginning::Newest, "it is not to begin empty again");
    assert_eq!(land(&play), first);
}
