//! The state of a world that is built on, as the build of its time wrote it (`built/README.md`): it is read, written alike, and goes on.

#[path = "support/golden_name.rs"]
mod golden_name;

use glam::{Quat, Vec2, Vec3};
use golden_name::{golden_name, parts};
use ids::{AgentId, Epoch, SessionKey, Tick, Uuid, WorldId};
use link::{
    Action, Brush, Command, ContentReplacement, EditRefusal, Enter, Estate, Event, ExtraParamEdit, Frame,
    GroundEdit, InsertedLinkset, Insertion, KnownSolid, LandCommand, LandEdit, LandRect, LandState, Motion,
    NewObject, ObjectCommand, Placement, PrimFlags, PrimMotion, StoredLand, StoredObjects, Stroke,
    StrokeArea, Terrain, plain_texture,
};
use prim::{AssetSolid, Body, Profile, Shape, SolidKey, SolidPart};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use world::{World, WorldConfig};

const TICK: Duration = Duration::from_millis(50);
const ADA: AgentId = AgentId(Uuid::from_u128(7));
const SESSION: SessionKey = SessionKey(1);
/// Prims of one tick, of which some wait for their colliders behind it.
const HEAP: u32 = 200;
/// Golden files of earlier builds.
const EARLIER: [&str; 1] = ["snapshot-7"];
/// The newest golden file with answered orders: one that was carried out, one that was refused.
const ORDERED: &str = "snapshot-7-orders";
const REFUSED: Uuid = Uuid::from_u128(0x0DE2);
/// Records that only a world that is built on has.
const PARTS: [&str; 7] = ["ASOL", "BODY", "EDIT", "LAND", "OBJS", "SEAT", "SOLI"];

fn config() -> WorldConfig {
    let estate = Estate::new("Hills", Some(ADA), 20.0);
    let land = StoredLand::new(LandState::of_one_parcel(256, Uuid::from_u128(0xA), estate, 0), 1_700_000_000);
    WorldConfig {
        id: WorldId(2),
        epoch: Epoch(3),
        size_m: 256,
        local_ids: 2 << 20..3 << 20,
        terrain: Arc::new(Terrain::flat(256, 22.0)),
        scenery: Arc::default(),
        objects: Some(StoredObjects::default()),
        land: Some(land),
        cast: None,
        water_m: 20.0,
        max_avatars: 100,
        seed: 9,
    }
}

fn enter() -> Action {
    Action::Enter(Box::new(Enter {
        agent: ADA,
        first_name: "Ada".into(),
        last_name: "Lovelace".into(),
        position: Vec3::new(128.0, 128.0, 23.0),
        look_at: Vec3::X,
        flying: false,
        appearance: None,
    }))
}

fn object(request: ObjectCommand) -> Action {
    Action::Object(Box::new(request))
}

fn create(id: u128, position: Vec3, flags: PrimFlags) -> Action {
    object(ObjectCommand::Create(Box::new(NewObject {
        id: Uuid::from_u128(id),
        created_us: 1 << 50,
        p_code: 9,
        state: 0,
        material: 3,
        shape: Shape::BOX,
        scale: Vec3::new(2.0, 1.0, 0.5),
        position,
        ray: None,
        rotation: Quat::IDENTITY,
        group: Uuid::nil(),
        flags,
        is_selected: false,
    })))
}

fn land(edit: LandEdit) -> Action {
    Action::Land(Box::new(LandCommand { at_s: 1_700_000_000, edit }))
}

/// A tube: its collider takes more work than that of a box, so that a step builds a part of the heap only.
fn tube() -> Shape {
    Shape { profile_curve: Profile::Circle as u8, profile_hollow: 25_000, ..Shape::BOX }
}

fn heap() -> Action {
    let linkset = |n: u32| {
        let position = Vec3::new(10.0 + (n % 20) as f32 * 2.0, 10.0 + (n / 20) as f32 * 2.0, 30.0);
        let motion = Motion { position, rotation: Quat::IDENTITY, ..Motion::default() };
        let id = Uuid::from_u128(1_000 + u128::from(n));
        let body = Body::new(id, tube(), Arc::new(plain_texture(9)), ADA, 1 << 50);
        InsertedLinkset { prims: vec![(PrimMotion { motion, ..PrimMotion::NONE }, Arc::new(body))] }
    };
    let (ids, linksets) = (Uuid::from_u128(0xFE << 64), (0..HEAP).map(linkset).collect());
    object(ObjectCommand::Insert(Box::new(Insertion { ids, linksets })))
}

/// The asset of a mesh, and its solid: a corner of a box.
fn mesh_asset() -> (Uuid, Action) {
    let asset = Uuid::from_u128(0xA55E7);
    let low = Vec3::splat(-0.5);
    let corners = vec![low, low + Vec3::X, low + Vec3::Y, low + Vec3::Z];
    let triangles = vec![[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]];
    let solid = AssetSolid::surface(corners, triangles, true).unwrap();
    let key = SolidKey { asset, part: SolidPart::MeshSurface };
    (asset, Action::PutSolid(Box::new(KnownSolid { key, solid })))
}

/// A world in which an avatar sits on a bench, a body falls, a temporary object is about to vanish, the ground was edited, and a heap and the
/// solid of a mesh have just come.
fn built() -> World {
    let mut world = World::new(config());
    let (mut frame, mut sequence) = (Frame::empty(), 0);
    let mut step = |world: &mut World, actions: Vec<(SessionKey, Action)>| {
        let mut commands = Vec::new();
        for (session, action) in actions {
            sequence += 1;
            commands.push(match session {
                SessionKey::NODE => Command::by_node(session, sequence, action),
                _ => Command::by_session(session, sequence, action),
            });
        }
        world.step(Tick(sequence), TICK, 1.0, &mut commands, &mut frame);
        frame.clone()
    };
    step(&mut world, vec![(SESSION, enter())]);
    let bench =
        step(&mut world, vec![(SESSION, create(1, Vec3::new(128.0, 131.0, 22.25), PrimFlags::default()))]);
    let [link::ObjectChange::Set { id: bench, .. }] = bench.objects[..] else {
        panic!("{:?}", bench.objects)
    };
    let stroke = Stroke {
        brush: Brush::Noise,
        area: StrokeArea::Disc { at: Vec2::splat(50.0), radius_m: 6.0 },
        seconds: 2.0,
        height_m: 0.0,
    };
    let garden = LandRect { west: 16.0, south: 64.0, east: 48.0, north: 80.0 };
    step(
        &mut world,
        vec![
            (SESSION, create(2, Vec3::new(132.0, 128.0, 60.0), PrimFlags::PHYSICS)),
            (SESSION, create(3, Vec3::new(126.0, 128.0, 22.25), PrimFlags::TEMPORARY)),
            (SESSION, land(LandEdit::Ground(GroundEdit::Stroke(stroke)))),
            (SESSION, land(LandEdit::Divide { area: garden, id: Uuid::from_u128(0xB) })),
        ],
    );
    let mesh =
        step(&mut world, vec![(SESSION, create(4, Vec3::new(120.0, 128.0, 23.0), PrimFlags::default()))]);
    let made = mesh.objects.iter().find_map(|change| match change {
        link::ObjectChange::Set { id, body, .. } if body.body.id == Uuid::from_u128(4) => Some(*id),
        _ => None,
    });
    let mesh = made.expect("it was made");
    let (asset, solid) = mesh_asset();
    let data = Some([&asset.as_bytes()[..], &[5]].concat());
    let named = ObjectCommand::ExtraParam(vec![(mesh, ExtraParamEdit { kind: 0x30, data })]);
    step(&mut world, vec![(SESSION, object(named))]);
    let turned =
        Placement { rotation: Some(Quat::from_rotation_z(0.5)), is_linked_set: true, ..Placement::default() };
    step(&mut world, vec![(SESSION, object(ObjectCommand::Place(vec![(bench, turned)])))]);
    let sit = Action::SitOn { object: bench, offset: Vec3::new(0.5, 0.0, 0.25) };
    step(&mut world, vec![(SESSION, sit)]);
    (0..10).for_each(|_| drop(step(&mut world, Vec::new())));
    step(&mut world, vec![(SessionKey::NODE, heap()), (SessionKey::NODE, solid)]);
    world
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/built")
}

/// The golden file, which `RECORDING_WRITE_GOLDEN=1` writes if there is none of these versions.
fn golden() -> Vec<u8> {
    let snapshot = built().snapshot();
    let path = directory().join(golden_name("snapshot", &snapshot));
    if std::env::var_os("RECORDING_WRITE_GOLDEN").is_some() && !path.exists() {
        // The other test may read it meanwhile.
        let begun = path.with_extension(format!("{:?}", std::thread::current().id()));
        std::fs::write(&begun, &snapshot).unwrap();
        std::fs::rename(&begun, &path).unwrap();
    }
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn a_world_that_is_built_on_is_read_written_alike_and_goes_on() {
    let bytes = golden();
    let found = parts("snapshot", &bytes);
    assert!(PARTS.iter().all(|tag| found.contains_key(*tag)), "{found:?}");
    let mut world = World::restore(config(), &bytes).unwrap();
    assert!(world.snapshot() == bytes, "the snapshot's bytes have changed");
    assert_eq!((world.n_awake_bodies(), world.object_counts().physical), (1, 1));
    let mut frame = Frame::empty();
    for tick in 100..1_400 {
        world.step(Tick(tick), TICK, 1.0, &mut Vec::new(), &mut frame);
    }
    assert_eq!(world.n_awake_bodies(), 0, "the body has fallen");
    let counts = world.object_counts();
    assert_eq!((counts.prims, counts.temporary), (3 + HEAP as usize, 0), "a minute has passed");
}

#[test]
fn a_snapshot_of_an_earlier_build_is_upgraded_to_what_this_build_writes() {
    for name in EARLIER {
        let bytes = std::fs::read(directory().join(name)).unwrap();
        let upgraded =
            World::upgrade_snapshot(&bytes).unwrap().expect("a part of it has another version now");
        let world = World::restore(config(), &bytes).unwrap();
        assert!(world.snapshot() == upgraded, "{name}");
    }
}

#[test]
fn answered_orders_are_read_and_written_alike_and_have_their_answers() {
    let bytes = std::fs::read(directory().join(ORDERED)).unwrap();
    assert_eq!(parts("snapshot", &bytes).get("ORDR"), Some(&1));
    let world = World::restore(config(), &bytes).unwrap();
    assert!(world.snapshot() == bytes, "the snapshot's bytes have changed");
    let without = World::restore(config(), &golden()).unwrap();
    assert_ne!(world.state_hash(), without.state_hash());
    let order = ContentReplacement {
        session: SESSION,
        object: Uuid::from_u128(1),
        item: Uuid::from_u128(1),
        asset_type: 7,
        asset: REFUSED,
    };
    let mut frame = Frame::empty();
    for (mut world, refusal) in [(world, EditRefusal::NoOwner), (without, EditRefusal::NoItem)] {
        let action = Action::ReplaceContent(Box::new(order));
        world.step(
            Tick(100),
            TICK,
            1.0,
            &mut vec![Command::by_node(SessionKey::NODE, 1, action)],
            &mut frame,
        );
        let answer = Event::Rezzed { order: REFUSED, refusal: Some(refusal) };
        assert!(frame.events.contains(&answer), "{:?}", frame.events);
    }
}

#[test]
fn a_golden_file_that_is_cut_off_or_altered_is_refused() {
    let bytes = golden();
    for at in (0..bytes.len()).step_by(997) {
        let is_refused = |bytes: &[u8]| World::restore(config(), bytes).is_err();
        let mut altered = bytes.clone();
        altered[at] ^= 0x10;
        assert!(is_refused(&bytes[..at]) && is_refused(&altered), "byte {at}");
    }
}
