//! Linksets that fall, rest, are pulled and leave, in a world that is built on.

use crate::objects::ObjectStore;
use crate::{World, WorldConfig};
use glam::{Quat, Vec3};
use ids::{AgentId, Epoch, LocalId, SessionKey, Tick, Uuid, WorldId};
use link::{
    Action, Command, Derez, DerezKind, EditRefusal, Enter, Estate, Event, FlagsEdit, Frame, LandCommand,
    LandEdit, LandRect, LandState, NewObject, ObjectChange, ObjectCommand, ObjectLimits, ParcelEdit,
    ParcelFlags, ParcelNumber, Placement, PrimFlags, StoredLand, StoredObjects, Terrain, Transfer,
};
use prim::Shape;
use std::sync::Arc;
use std::time::Duration;

const ADA: SessionKey = SessionKey(1);
const EVE: SessionKey = SessionKey(2);
const TICK: Duration = Duration::from_millis(50);
const GROUND_M: f32 = 21.0;

fn config() -> WorldConfig {
    WorldConfig {
        id: WorldId(1),
        epoch: Epoch(0),
        size_m: 256,
        local_ids: 1 << 20..2 << 20,
        terrain: Arc::new(Terrain::flat(256, GROUND_M)),
        scenery: Arc::default(),
        objects: None,
        land: None,
        cast: None,
        water_m: 20.0,
        max_avatars: 10,
        seed: 1,
    }
}

fn agent_of(session: SessionKey) -> AgentId {
    AgentId(Uuid::from_u128(100 + u128::from(session.0)))
}

struct Stage {
    world: World,
    frame: Frame,
    tick: u64,
    n_made: u128,
}

impl Stage {
    fn new() -> Self {
        let world = World::with_objects(config(), StoredObjects::default()).expect("no objects");
        let mut stage = Self { world, frame: Frame::empty(), tick: 0, n_made: 0 };
        for session in [ADA, EVE] {
            let enter = Enter {
                agent: agent_of(session),
                first_name: "Ada".into(),
                last_name: "Resident".into(),
                position: Vec3::splat(50.0),
                look_at: Vec3::X,
                flying: false,
                appearance: None,
            };
            stage.step(vec![Command::by_session(session, 0, Action::Enter(Box::new(enter)))]);
        }
        stage
    }

    /// The same in another world.
    fn in_world(&self, world: World) -> Self {
        Self { world, frame: Frame::empty(), tick: self.tick, n_made: self.n_made }
    }

    fn step(&mut self, mut commands: Vec<Command>) {
        self.world.step(Tick(self.tick), TICK, 1.0, &mut commands, &mut self.frame);
        self.tick += 1;
    }

    fn pass(&mut self, ticks: u32) {
        (0..ticks).for_each(|_| self.step(Vec::new()));
    }

    /// One request, and the reason for which it is refused, if it is.
    fn ask(&mut self, by: SessionKey, request: ObjectCommand) -> Option<EditRefusal> {
        self.step(vec![Command::by_session(by, self.tick, Action::Object(Box::new(request)))]);
        self.frame.events.iter().find_map(|event| match event {
            Event::ObjectsRefused { reason, .. } => Some(*reason),
            _ => None,
        })
    }

    /// A box of Ada's, with these flags.
    fn rez(&mut self, position: Vec3, scale: Vec3, flags: PrimFlags) -> LocalId {
        self.n_made += 1;
        let object = NewObject {
            id: Uuid::from_u128(1_000 + self.n_made),
            created_us: 1 << 50,
            p_code: 9,
            state: 0,
            material: 3,
            shape: Shape::BOX,
            scale,
            position,
            ray: None,
            rotation: Quat::IDENTITY,
            group: Uuid::nil(),
            flags,
            is_selected: false,
        };
        assert_eq!(self.ask(ADA, ObjectCommand::Create(Box::new(object))), None);
        self.store().local_id(Uuid::from_u128(1_000 + self.n_made)).expect("it was made")
    }

    fn rez_physical(&mut self, position: Vec3) -> LocalId {
        self.rez(position, Vec3::splat(0.5), PrimFlags::PHYSICS)
    }

    fn store(&self) -> &ObjectStore {
        self.world.objects.as_ref().expect("built on")
    }

    fn motion(&self, id: LocalId) -> link::Motion {
        self.store().motion(id).expect("it is there").motion
    }

    fn stored(&self) -> super::StoredBodies {
        self.world.bodies.as_ref().expect("built on").stored()
    }

    fn is_idle(&self) -> bool {
        self.world.bodies.as_ref().expect("built on").is_idle()
    }

    /// Ticks until nothing moves.
    fn settle(&mut self) {
        for _ in 0..400 {
            if self.is_idle() {
                return;
            }
            self.step(Vec::new());
        }
        panic!("{} bodies still move", self.world.n_awake_bodies());
    }
}

fn physical(id: LocalId, is_physical: bool) -> ObjectCommand {
    ObjectCommand::Flags(id, FlagsEdit { is_physical, ..FlagsEdit::default() })
}

#[test]
fn a_physical_box_falls_onto_the_ground_and_its_rest_is_in_one_frame() {
    let mut stage = Stage::new();
    let id = stage.rez(Vec3::new(100.0, 100.0, 25.0), Vec3::splat(0.5), PrimFlags::default());
    stage.pass(10);
    assert_eq!(stage.motion(id).position.z, 25.0, "it is not physical");
    assert_eq!(stage.ask(ADA, physical(id, true)), None);
    stage.pass(2);
    assert!(stage.motion(id).velocity.z < -0.5 && !stage.world.is_quiet());
    let mut n_rests = 0;
    while !stage.is_idle() {
        stage.step(Vec::new());
        for change in &stage.frame.objects {
            let ObjectChange::Moved(moved, prim) = change else { panic!("{change:?}") };
            assert_eq!(*moved, id);
            n_rests += u32::from(prim.motion.at_rest());
        }
    }
    let at = stage.motion(id).position;
    assert!((at.z - GROUND_M - 0.25).abs() < 0.02, "{at}");
    assert_eq!(n_rests, 1);
    stage.step(Vec::new());
    assert_eq!(stage.frame.objects, []);
}

#[test]
fn a_box_that_is_physical_no_more_stays_in_the_air() {
    let mut stage = Stage::new();
    let id = stage.rez_physical(Vec3::new(100.0, 100.0, 40.0));
    stage.pass(5);
    assert_eq!(stage.ask(ADA, physical(id, false)), None);
    let there = stage.motion(id).position;
    stage.pass(5);
    assert_eq!(stage.motion(id).position, there);
    assert!(there.z > 30.0 && stage.is_idle() && stage.motion(id).at_rest());
    assert_eq!(stage.world.n_physical_prims(), 0);
}

#[test]
fn a_box_that_is_moved_by_its_owner_falls_from_there() {
    let mut stage = Stage::new();
    let id = stage.rez_physical(Vec3::new(100.0, 100.0, 40.0));
    stage.pass(5);
    let place = Placement {
        position: Some(Vec3::new(150.0, 120.0, 30.0)),
        is_linked_set: true,
        ..Placement::default()
    };
    assert_eq!(stage.ask(ADA, ObjectCommand::Place(vec![(id, place)])), None);
    let at = stage.motion(id).position;
    assert!(at.distance(Vec3::new(150.0, 120.0, 30.0)) < 1.0, "{at}");
    stage.settle();
    let at = stage.motion(id).position;
    // It bounces, and may roll.
    assert!(at.distance(Vec3::new(150.0, 120.0, GROUND_M + 0.25)) < 1.5, "{at}");
}

#[test]
fn a_box_that_is_deleted_while_it_falls_is_gone() {
    let mut stage = Stage::new();
    let id = stage.rez_physical(Vec3::new(100.0, 100.0, 40.0));
    stage.pass(5);
    let (folder, transaction) = (Uuid::nil(), Uuid::nil());
    let derez = Derez { objects: vec![id], kind: DerezKind::Delete, folder, transaction };
    assert_eq!(stage.ask(ADA, ObjectCommand::Derez(derez)), None);
    assert!(stage.store().motion(id).is_none());
    stage.step(Vec::new());
    assert!(stage.is_idle() && stage.frame.objects.is_empty());
}

#[test]
fn a_sleeping_box_falls_when_the_prim_below_it_is_deleted() {
    let mut stage = Stage::new();
    let shelf = stage.rez(Vec3::new(100.0, 100.0, 30.0), Vec3::new(2.0, 2.0, 0.2), PrimFlags::default());
    let id = stage.rez_physical(Vec3::new(100.0, 100.0, 30.5));
    stage.settle();
    assert!((stage.motion(id).position.z - 30.35).abs() < 0.02, "{}", stage.motion(id).position);
    let (folder, transaction) = (Uuid::nil(), Uuid::nil());
    let derez = Derez { objects: vec![shelf], kind: DerezKind::Delete, folder, transaction };
    assert_eq!(stage.ask(ADA, ObjectCommand::Derez(derez)), None);
    assert!(!stage.is_idle());
    stage.settle();
    assert!((stage.motion(id).position.z - GROUND_M - 0.25).abs() < 0.02);
}

#[test]
fn a_box_that_leaves_the_region_goes_back_to_its_owner() {
    let mut stage = Stage::new();
    // A steep slope at the border: a box on it slides out.
    let slope = Quat::from_rotation_y(1.0);
    let id = stage.rez_physical(Vec3::new(254.5, 100.0, 40.0));
    let ramp = stage.rez(Vec3::new(254.5, 100.0, 36.0), Vec3::new(6.0, 4.0, 0.5), PrimFlags::default());
    let turn = Placement { rotation: Some(slope), is_linked_set: true, ..Placement::default() };
    assert_eq!(stage.ask(ADA, ObjectCommand::Place(vec![(ramp, turn)])), None);
    let mut held = Vec::new();
    for _ in 0..100 {
        stage.step(Vec::new());
        held.extend(stage.frame.events.iter().filter_map(|event| match event {
            Event::Transfer(_, Transfer::Held(held)) => Some(Arc::clone(held)),
            _ => None,
        }));
    }
    assert_eq!((held.len(), held[0].owner, held[0].kind), (1, agent_of(ADA), DerezKind::Return));
    assert!(stage.store().motion(id).is_none());
    assert_eq!(stage.world.counters().bodies_left, 1);
}

#[test]
fn a_box_that_leaves_the_region_and_has_no_room_in_the_store_stops_at_the_border() {
    let mut stage = Stage::new();
    let id = stage.rez_physical(Vec3::new(254.5, 100.0, 40.0));
    let ramp = stage.rez(Vec3::new(254.5, 100.0, 36.0), Vec3::new(6.0, 4.0, 0.5), PrimFlags::default());
    let turn =
        Placement { rotation: Some(Quat::from_rotation_y(1.0)), is_linked_set: true, ..Placement::default() };
    assert_eq!(stage.ask(ADA, ObjectCommand::Place(vec![(ramp, turn)])), None);
    let full = Action::HeldFull { owner: agent_of(ADA), is_full: true };
    stage.step(vec![Command::by_node(SessionKey::NODE, 1 << 40, full)]);
    stage.pass(100);
    let at = stage.motion(id).position;
    assert!((0.0..=256.0).contains(&at.x) && stage.is_idle(), "{at}");
    assert!(!stage.store().motion(id).expect("it is there").flags.any(PrimFlags::PHYSICS));
    assert_eq!((stage.world.counters().bodies_left, stage.world.counters().bodies_stopped), (0, 1));
}

#[test]
fn owners_pull_their_boxes_and_strangers_do_not() {
    let mut stage = Stage::new();
    let id = stage.rez_physical(Vec3::new(100.0, 100.0, GROUND_M + 0.3));
    stage.settle();
    let target = Vec3::new(102.0, 100.0, GROUND_M + 3.0);
    let drag = ObjectCommand::Drag { object: id, grip: Vec3::ZERO, target };
    assert_eq!(stage.ask(EVE, drag.clone()), Some(EditRefusal::Rights));
    assert!(stage.is_idle());
    assert_eq!(stage.ask(ADA, drag), None);
    stage.pass(100);
    assert!(stage.motion(id).position.distance(target) < 0.1, "{}", stage.motion(id).position);
    assert_eq!(stage.ask(ADA, ObjectCommand::Release), None);
    stage.settle();
    assert!((stage.motion(id).position.z - GROUND_M - 0.25).abs() < 0.02);
}

#[test]
fn a_pull_ends_with_the_visit() {
    let mut stage = Stage::new();
    let id = stage.rez_physical(Vec3::new(100.0, 100.0, GROUND_M + 0.3));
    let target = Vec3::new(100.0, 100.0, GROUND_M + 5.0);
    assert_eq!(stage.ask(ADA, ObjectCommand::Drag { object: id, grip: Vec3::ZERO, target }), None);
    stage.pass(60);
    assert!(stage.motion(id).position.z > GROUND_M + 4.0);
    stage.step(vec![Command::by_session(ADA, 1 << 40, Action::Leave)]);
    stage.settle();
    assert!((stage.motion(id).position.z - GROUND_M - 0.25).abs() < 0.02);
}

#[test]
fn prims_that_physics_moves_are_limited() {
    let mut stage = Stage::new();
    let limits = ObjectLimits { physical_max: 3, ..ObjectLimits::default() };
    stage.step(vec![Command::by_node(SessionKey::NODE, 1, Action::ObjectLimits(limits))]);
    let fixed: Vec<LocalId> = (0_u8..3)
        .map(|n| {
            let at = Vec3::new(60.0 + 2.0 * f32::from(n), 100.0, 30.0);
            stage.rez(at, Vec3::splat(0.5), PrimFlags::default())
        })
        .collect();
    let body = stage.rez_physical(Vec3::new(100.0, 100.0, 30.0));
    assert_eq!(stage.ask(ADA, ObjectCommand::Link(fixed.clone())), None);
    assert_eq!(stage.ask(ADA, physical(fixed[0], true)), Some(EditRefusal::TooManyPhysical));
    assert_eq!(stage.ask(ADA, ObjectCommand::Link(vec![body, fixed[0]])), Some(EditRefusal::TooManyPhysical));
    assert_eq!(stage.world.n_physical_prims(), 1);
    assert_eq!(stage.ask(ADA, ObjectCommand::Delink(vec![fixed[2]])), None);
    assert_eq!(stage.ask(ADA, physical(fixed[0], true)), None);
    assert_eq!(stage.world.n_physical_prims(), 3);
    assert_eq!(stage.ask(ADA, physical(fixed[2], true)), Some(EditRefusal::TooManyPhysical));
}

/// Boxes in a heap, of which some still fall.
fn heap() -> Stage {
    let mut stage = Stage::new();
    stage.rez(Vec3::new(100.5, 100.0, 22.0), Vec3::new(3.0, 3.0, 1.0), PrimFlags::default());
    for n in 0_u8..12 {
        let (column, layer) = (f32::from(n % 4), f32::from(n / 4));
        stage.rez_physical(Vec3::new(99.6 + 0.55 * column + 0.1 * layer, 100.0, 23.0 + 0.7 * layer));
    }
    stage
}

#[test]
fn a_restored_world_continues_with_the_same_frames() {
    for ticks in [0, 7, 25] {
        let mut stage = heap();
        stage.pass(ticks);
        let restored = World::restore(config(), &stage.world.snapshot()).expect("its own snapshot");
        let mut restored = stage.in_world(restored);
        assert_eq!(restored.world.state_hash(), stage.world.state_hash());
        assert_eq!(restored.stored(), stage.stored());
        for tick in 0..60 {
            stage.step(Vec::new());
            restored.step(Vec::new());
            assert_eq!(restored.frame, stage.frame, "tick {tick} after {ticks}");
        }
        assert_eq!(restored.stored(), stage.stored());
    }
}

#[test]
fn a_world_that_begins_again_from_values_lets_what_moved_move_on() {
    let mut stage = heap();
    stage.pass(3);
    let mut checkpoint = stage.world.checkpoint();
    stage.world.checkpoint_into(&mut checkpoint);
    let before: Vec<link::Motion> = stage.store().prims().map(|(_, prim, _)| prim.motion).collect();
    let resumed = World::resume(config(), &checkpoint).expect("its own checkpoint");
    let mut resumed = stage.in_world(resumed);
    let after: Vec<link::Motion> = resumed.store().prims().map(|(_, prim, _)| prim.motion).collect();
    assert_eq!(before, after);
    assert!(!resumed.is_idle());
    resumed.settle();
    assert!(resumed.store().prims().all(|(_, prim, _)| prim.motion.at_rest()));
    assert!(resumed.store().prims().skip(1).all(|(_, prim, _)| prim.motion.position.z < 24.5));
}

#[test]
fn a_world_without_visitors_is_quiet_once_all_has_come_to_rest() {
    let mut stage = heap();
    stage.step([ADA, EVE].map(|session| Command::by_session(session, 1 << 40, Action::Leave)).into());
    assert!(!stage.world.is_quiet());
    stage.settle();
    stage.step(Vec::new());
    assert!(stage.world.is_quiet());
}

#[test]
fn a_box_that_is_dragged_stays_out_of_a_parcel_without_entry() {
    let mut stage = Stage::new();
    let state = LandState::of_one_parcel(256, Uuid::from_u128(0xA), Estate::new("Hills", None, 20.0), 0);
    let Stage { world, frame, tick, n_made } = stage;
    let world = world.with_land(StoredLand::new(state, 0)).expect("land of this ground");
    stage = Stage { world, frame, tick, n_made };
    let edit = |stage: &mut Stage, edit| {
        let action = Action::Land(Box::new(LandCommand { at_s: 0, edit }));
        stage.step(vec![Command::by_node(SessionKey::NODE, stage.tick, action)]);
    };
    let area = LandRect { west: 104.0, south: 80.0, east: 140.0, north: 120.0 };
    edit(&mut stage, LandEdit::Divide { area, id: Uuid::from_u128(0xB) });
    let at = glam::Vec2::new(110.0, 100.0);
    let parcel = stage.world.land().and_then(|land| land.parcel_at(at)).expect("divided").clone();
    let number: ParcelNumber = parcel.number;
    let mut settings = parcel.settings;
    settings.flags = settings.flags.without(ParcelFlags::ALLOW_OBJECT_ENTRY);
    edit(&mut stage, LandEdit::Parcel(number, ParcelEdit::ForceOwner(Some(agent_of(EVE)))));
    edit(&mut stage, LandEdit::Parcel(number, ParcelEdit::Settings(Box::new(settings))));
    let id = stage.rez_physical(Vec3::new(102.0, 100.0, GROUND_M + 0.3));
    let target = Vec3::new(108.0, 100.0, GROUND_M + 2.0);
    assert_eq!(stage.ask(ADA, ObjectCommand::Drag { object: id, grip: Vec3::ZERO, target }), None);
    for _ in 0..100 {
        stage.step(Vec::new());
        assert!(stage.motion(id).position.x < 104.0, "{}", stage.motion(id).position);
    }
    assert!(stage.motion(id).position.x > 102.5, "it has come to the border");
    edit(&mut stage, LandEdit::Parcel(number, ParcelEdit::ForceOwner(Some(agent_of(ADA)))));
    stage.pass(100);
    assert!(stage.motion(id).position.x > 104.0, "its owner's land");
}
