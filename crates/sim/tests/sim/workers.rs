//! Worlds with NPCs come to the same states on one, two and four workers of a real pool: what a step leaves in its thread's memory, and
//! which thread that is, decides nothing.
#![expect(clippy::disallowed_methods, reason = "a real pool runs on the wall's time")]

use behavior::{Kind, NamedPlace, Route, Vocabulary};
use glam::{Quat, Vec3};
use ids::{AgentId, Epoch, Instant, SessionKey, Tick, Uuid, WorldId};
use link::{Action, ChatKind, Command, Control, ControlFlags, Enter, Frame, Scenery, Terrain};
use schedule::{Pool, StepStart, Task};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use world::{Actor, NpcCast, Script, Spawn, World, WorldConfig};

const WORLDS: u32 = 16;
const NPCS: u32 = 20;
/// Steps of each world, and world time of each.
const TICKS: u64 = 300;
const DT: Duration = Duration::from_millis(50);
/// Wall time between two steps: as soon as the machine can.
const PACE: Duration = Duration::from_micros(500);

const BEHAVIOURS: &str = "\
behaviour guard:
    select:
        when sees enemy within 25 m in last 3 s:
            select:
                attack target range 2.2 m every 1 s damage 15
                chase target within 1.8 m lost 4 s
        patrol round pause 0.2 s to 1 s
behaviour stroller:
    select:
        when hears chat within 20 m: cooldown 5 s: say \"Good day.\"
        wander within 20 m pause 0.1 s to 1 s
behaviour prowler:
    select:
        when sees enemy within 25 m in last 3 s:
            select:
                attack target range 2.2 m every 1 s damage 15
                chase target within 1.8 m lost 4 s
        wander within 30 m around camp pause 0.1 s to 1 s
";

/// A world that is stepped a number of times, and then reports the hashes of all of its states.
struct Run {
    world: World,
    n: u32,
    frame: Frame,
    commands: Vec<Command>,
    hash: u64,
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
        script(self.n, start.tick.0, &mut self.commands);
        self.world.step(start.tick, DT, 1.0, &mut self.commands, &mut self.frame);
        assert_eq!(self.frame.state_hash, self.world.state_hash());
        self.hash = self.hash.rotate_left(7) ^ self.world.state_hash();
        self.left -= 1;
        if self.left == 0 {
            let falls = self.world.npc_counts().falls;
            self.over.send((self.n, self.hash, falls)).expect("the test waits for it");
        }
    }
}

/// Actions of a world's visitor in a tick: comes, walks about, talks.
fn script(world: u32, tick: u64, commands: &mut Vec<Command>) {
    let mut give = |action| commands.push(Command::by_session(SessionKey(1), tick, action));
    match tick {
        0 => give(Action::Enter(Box::new(Enter {
            agent: AgentId(Uuid::from_u128(world.into())),
            first_name: "Ada".into(),
            last_name: "Test".into(),
            position: Vec3::new(128.0, 128.0, 30.0),
            look_at: Vec3::X,
            flying: false,
            appearance: None,
        }))),
        tick if tick % 40 == 10 => {
            let flags = if tick % 80 == 10 { ControlFlags::AT_POS } else { ControlFlags(0) };
            let body_rotation = Quat::from_rotation_z((tick + u64::from(world)) as f32);
            give(Action::Control(Control { flags, body_rotation }));
        }
        tick if tick % 97 == 5 => {
            give(Action::Chat { kind: ChatKind::Say, channel: 0, text: "Hello.".into() });
        }
        _ => {}
    }
}

fn cast(terrain: &Terrain, scenery: &Scenery) -> NpcCast {
    let at = |x: f32, y: f32| Vec3::new(x, y, terrain.height(x, y));
    let kind = |name: &str, enemies: &[&str]| Kind {
        name: name.into(),
        enemies: enemies.iter().map(|&name| name.into()).collect(),
        ..Kind::default()
    };
    let vocabulary = Vocabulary {
        kinds: vec![kind("guard", &["bandit"]), kind("villager", &[]), kind("bandit", &["guard", "player"])],
        places: vec![NamedPlace { name: "camp".into(), position: at(140.0, 140.0), radius_m: 10.0 }],
        routes: vec![Route {
            name: "round".into(),
            points: vec![at(115.0, 115.0), at(145.0, 115.0), at(145.0, 145.0), at(115.0, 145.0)],
        }],
        ..Vocabulary::default()
    };
    let spawn = |n: u32| {
        let (kind, behavior) = match n % 4 {
            0 => ("guard", "guard"),
            1 => ("bandit", "prowler"),
            _ => ("villager", "stroller"),
        };
        let (x, y) = (112.0 + 7.0 * (n % 5) as f32, 112.0 + 7.0 * (n / 5) as f32);
        Spawn {
            kind: kind.into(),
            behavior: behavior.into(),
            first_name: format!("{kind}{n}"),
            last_name: "Test".into(),
            position: at(x, y),
            look_at: Vec3::X,
        }
    };
    let script = Script {
        vocabulary,
        actors: vec![Actor { health: 30, lies_s: 1, respawn_s: 1, ..Actor::default() }; 3],
        files: vec![("test.behaviour".into(), BEHAVIOURS.into())],
        spawns: (0..NPCS).map(spawn).collect(),
        ..Script::default()
    };
    NpcCast::new(script, terrain, scenery, link::WATER_M, &mut || true).expect("a cast that is right")
}

/// Hashes of all states, by world, and how many NPCs fell in all.
fn run(n_workers: usize) -> (Vec<u64>, u64) {
    let terrain = Arc::new(Terrain::hills(256, 3));
    let scenery = Arc::new(Scenery::boxes(200, &terrain, 3));
    let cast = Arc::new(cast(&terrain, &scenery));
    let began = std::time::Instant::now();
    let clock = move || Instant(u64::try_from(began.elapsed().as_nanos()).expect("a test is short"));
    let pool = Pool::start(n_workers, clock).expect("threads");
    let (over, ended) = channel();
    for n in 0..WORLDS {
        let world = World::new(WorldConfig {
            id: WorldId(n),
            epoch: Epoch(0),
            size_m: 256,
            local_ids: 1..10_000,
            terrain: Arc::clone(&terrain),
            scenery: Arc::clone(&scenery),
            objects: None,
            land: None,
            cast: Some(Arc::clone(&cast)),
            water_m: link::WATER_M,
            max_avatars: 20,
            seed: n.into(),
        });
        let (frame, commands, over) = (Frame::empty(), Vec::new(), over.clone());
        let run = Run { world, n, frame, commands, hash: 0, left: TICKS, over };
        pool.add(Box::new(run), PACE, Tick(0));
    }
    let mut hashes = vec![0; WORLDS as usize];
    let mut n_falls = 0;
    for _ in 0..WORLDS {
        let (n, hash, falls) = ended.recv().expect("every world comes to its end");
        hashes[n as usize] = hash;
        n_falls += falls;
    }
    drop(pool.stop());
    (hashes, n_falls)
}

#[test]
fn worlds_with_npcs_are_the_same_on_one_two_and_four_workers() {
    let (one, falls) = run(1);
    assert!(falls > 0, "no NPC fell, so that nothing was tried");
    let mut different = one.clone();
    different.sort_unstable();
    different.dedup();
    assert_eq!(different.len(), WORLDS as usize, "worlds of other seeds are other worlds");
    for n_workers in [2, 4] {
        assert_eq!(run(n_workers).0, one, "{n_workers} workers");
    }
}
