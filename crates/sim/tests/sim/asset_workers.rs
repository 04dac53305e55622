//! Worlds whose meshes get their solids in the midst of a walk come to the same states on one, two and four workers of a real pool.
#![expect(clippy::disallowed_methods, reason = "a real pool runs on the wall's time")]

use glam::{Quat, Vec3};
use ids::{AgentId, Epoch, Instant, LocalId, SessionKey, Tick, Uuid, WorldId};
use link::{
    Action, Command, Control, ControlFlags, Enter, ExtraParamEdit, Frame, KnownSolid, NewObject,
    ObjectCommand, ObjectLimits, PrimFlags, StoredObjects, Terrain,
};
use prim::{AssetSolid, Shape, SolidKey, SolidPart};
use schedule::{Pool, StepStart, Task};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use world::{World, WorldConfig};

const WORLDS: u32 = 8;
const MESHES: u32 = 20;
/// Steps of each world, and world time of each.
const TICKS: u64 = 150;
const DT: Duration = Duration::from_millis(50);
/// Wall time between two steps: as soon as the machine can.
const PACE: Duration = Duration::from_micros(500);
const GROUND_M: f32 = 21.0;
/// Type of the extra parameter that names an asset.
const SCULPT: u16 = 0x30;

/// A world that is stepped a number of times, and then reports the hash of all of its states and the number of announced solids.
struct Run {
    world: World,
    n: u32,
    frame: Frame,
    hash: u64,
    wanted: u64,
    left: u64,
    over: Sender<(u32, u64, u64)>,
}

impl Task for Run {
    fn is_quiet(&mut self) -> bool {
        self.left == 0
    }

    fn step(&mut self, start: &StepStart) {
        if self.left == 0 {
            return;
        }
        let mut commands = script(self.n, start.tick.0);
        self.world.step(start.tick, DT, 1.0, &mut commands, &mut self.frame);
        self.hash = self.hash.rotate_left(7) ^ self.frame.state_hash;
        for event in &self.frame.events {
            if let link::Event::SolidsWanted(keys) = event {
                self.wanted += keys.len() as u64;
            }
        }
        self.left -= 1;
        if self.left == 0 {
            self.over.send((self.n, self.hash, self.wanted)).expect("the test waits for it");
        }
    }
}

fn asset(n: u32) -> Uuid {
    Uuid::from_u128(u128::from(n) + 1)
}

/// The lower part of a prim, as a wedge of four triangles that differs from asset to asset.
fn solid(n: u32) -> Action {
    let top = -0.3 + 0.1 * n as f32;
    let corners = vec![
        Vec3::new(-0.5, -0.5, -0.5),
        Vec3::new(0.5, -0.5, -0.5),
        Vec3::new(0.0, 0.5, -0.5),
        Vec3::new(0.0, 0.0, top),
    ];
    let triangles = vec![[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]];
    let key = SolidKey { asset: asset(n), part: SolidPart::MeshSurface };
    let solid = AssetSolid::surface(corners, triangles, true).expect("a wedge");
    Action::PutSolid(Box::new(KnownSolid { key, solid }))
}

fn mesh(world: u32, n: u32) -> (NewObject, ExtraParamEdit) {
    let (x, y) = ((n % 5) as f32 * 3.0, (n / 5) as f32 * 3.0 + world as f32 * 0.1);
    let new = NewObject {
        id: Uuid::from_u128(u128::from(n) + 1_000),
        created_us: 0,
        p_code: 9,
        state: 0,
        material: 3,
        shape: Shape::BOX,
        scale: Vec3::splat(2.0),
        position: Vec3::new(122.0 + x, 122.0 + y, GROUND_M + 1.0),
        ray: None,
        rotation: Quat::IDENTITY,
        group: Uuid::nil(),
        flags: PrimFlags::default(),
        is_selected: false,
    };
    let data = Some([&asset(n % 4).as_bytes()[..], &[5]].concat());
    (new, ExtraParamEdit { kind: SCULPT, data })
}

/// Commands of a tick: a visitor builds meshes, walks among them, and the node brings the solids of three assets of four.
fn script(world: u32, tick: u64) -> Vec<Command> {
    let mut actions: Vec<(SessionKey, Action)> = Vec::new();
    let visitor = SessionKey(1);
    let object = |command| Action::Object(Box::new(command));
    match tick {
        0 => {
            let limits = ObjectLimits { rez_per_s: 100_000, ..ObjectLimits::default() };
            actions.push((SessionKey::NODE, Action::ObjectLimits(limits)));
            actions.push((
                visitor,
                Action::Enter(Box::new(Enter {
                    agent: AgentId(Uuid::from_u128(world.into())),
                    first_name: "Ada".into(),
                    last_name: "Test".into(),
                    position: Vec3::new(118.0, 124.0, GROUND_M + 1.0),
                    look_at: Vec3::X,
                    flying: false,
                    appearance: None,
                })),
            ));
        }
        1 => {
            let made = (0..MESHES).map(|n| object(ObjectCommand::Create(Box::new(mesh(world, n).0))));
            actions.extend(made.map(|action| (visitor, action)));
        }
        2 => {
            let local_id = |n| LocalId(local_ids(world).start + n);
            let named = (0..MESHES).map(|n| (local_id(n), mesh(world, n).1)).collect();
            actions.push((visitor, object(ObjectCommand::ExtraParam(named))));
        }
        20 | 50 | 80 => actions.push((SessionKey::NODE, solid((tick / 30) as u32))),
        tick if tick % 15 == 10 => {
            let body_rotation = Quat::from_rotation_z(tick as f32 * 0.1 + world as f32);
            let control = Control { flags: ControlFlags::AT_POS, body_rotation };
            actions.push((visitor, Action::Control(control)));
        }
        _ => {}
    }
    let command = |(session, action): (SessionKey, Action)| match session {
        SessionKey::NODE => Command::by_node(session, tick * 100, action),
        _ => Command::by_session(session, tick * 100, action),
    };
    let numbered = actions.into_iter().map(command).zip(0..);
    numbered.map(|(command, n)| Command { sequence: command.sequence + n, ..command }).collect()
}

fn local_ids(world: u32) -> std::ops::Range<u32> {
    link::shared_local_ids(WorldId(world + 1))
}

/// Hashes of all states, by world, and how many solids were announced in all.
fn run(n_workers: usize) -> (Vec<u64>, u64) {
    let terrain = Arc::new(Terrain::flat(256, GROUND_M));
    let began = std::time::Instant::now();
    let clock = move || Instant(u64::try_from(began.elapsed().as_nanos()).expect("a test is short"));
    let pool = Pool::start(n_workers, clock).expect("threads");
    let (over, ended) = channel();
    for n in 0..WORLDS {
        let world = World::new(WorldConfig {
            id: WorldId(n + 1),
            epoch: Epoch(0),
            size_m: 256,
            local_ids: local_ids(n),
            terrain: Arc::clone(&terrain),
            scenery: Arc::default(),
            objects: Some(StoredObjects::default()),
            land: None,
            cast: None,
            water_m: link::WATER_M,
            max_avatars: 20,
            seed: n.into(),
        });
        let (frame, over) = (Frame::empty(), over.clone());
        pool.add(Box::new(Run { world, n, frame, hash: 0, wanted: 0, left: TICKS, over }), PACE, Tick(0));
    }
    let mut hashes = vec![0; WORLDS as usize];
    let mut n_wanted = 0;
    for _ in 0..WORLDS {
        let (n, hash, wanted) = ended.recv().expect("every world comes to its end");
        hashes[n as usize] = hash;
        n_wanted += wanted;
    }
    drop(pool.stop());
    (hashes, n_wanted)
}

#[test]
fn worlds_with_meshes_are_the_same_on_one_two_and_four_workers() {
    let (one, n_wanted) = run(1);
    assert_eq!(n_wanted, u64::from(WORLDS) * 4, "each world announces its assets once");
    for n_workers in [2, 4] {
        assert_eq!(run(n_workers).0, one, "{n_workers} workers");
    }
}
