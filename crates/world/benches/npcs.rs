//! Cost of NPCs: instances of one template, one after the other, as a pool steps them, so that most of a world comes out of memory.
//!
//! `cargo bench -p world --bench npcs` steps 1,000 worlds with 20 NPCs and a visitor each for 400 ticks; `cargo test` runs a few of each, so that it keeps
//! working. Goal: nanoseconds of an NPC's tick, all of it: looks, thoughts, paths, steps, and the frame's messages. Not a goal: to promise
//! anything. The state hash is printed to show that a faster step still does the same, and what NPCs did to show that they did.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock and prints"
)]

use behavior::{Kind, NamedPlace, Route, Vocabulary};
use glam::Vec3;
use ids::{AgentId, Epoch, SessionKey, Tick, Uuid, WorldId};
use link::{Action, Command, Enter, Frame, Scenery, Terrain};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use world::{Actor, NpcCast, NpcCounts, Script, Spawn, World, WorldConfig};

const BEHAVIORS: &str = "\
behaviour guard:
    select:
        when sees enemy within 20 m: chase target within 2 m leash 60 m
        patrol round pause 1 s to 3 s
behaviour stroller:
    select:
        when sees player within 4 m: cooldown 60 s: talk \"Good day.\"
        wander within 30 m pause 0.1 s to 2 s
behaviour prowler:
    wander within 60 m around camp pause 0.1 s to 3 s
";

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let (n_worlds, ticks) = if full { (1_000, 400) } else { (3, 40) };
    let terrain = Arc::new(Terrain::hills(256, 1));
    let scenery = Arc::new(Scenery::boxes(if full { 600 } else { 50 }, &terrain, 1));
    let began = Instant::now();
    let cast = NpcCast::new(script(&terrain), &terrain, &scenery, link::WATER_M, &mut || true);
    let cast = Arc::new(cast.expect("behaviours that are right, and ground to walk on"));
    println!("cast of {}: {} ms", cast.len(), began.elapsed().as_millis());

    let mut worlds: Vec<World> = (0..n_worlds)
        .map(|n| {
            World::new(WorldConfig {
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
            })
        })
        .collect();
    let (mut frame, mut commands) = (Frame::empty(), Vec::new());
    let mut tick_ns = Vec::new();
    for tick in 0..ticks {
        let began = Instant::now();
        for world in &mut worlds {
            if tick == 0 {
                commands.push(enter());
            }
            world.step(Tick(tick), Duration::from_millis(50), 1.0, &mut commands, &mut frame);
        }
        let npcs = worlds.len() * cast.len();
        tick_ns.push(began.elapsed().as_nanos() as f64 / npcs as f64);
    }
    let mean = |ticks: &[f64]| ticks.iter().sum::<f64>() / ticks.len() as f64;
    println!(
        "an NPC's tick in a world that has just been made: the first {:.0} ns, the rest of the first second {:.0} ns, the next one {:.0} ns",
        tick_ns[0],
        mean(&tick_ns[1..20]),
        mean(&tick_ns[20..40])
    );
    let settled = &mut tick_ns[ticks as usize / 4..];
    settled.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| settled[((settled.len() - 1) as f64 * share) as usize];
    println!("an NPC's tick: median {:.0} ns, p99 {:.0} ns, max {:.0} ns", at(0.5), at(0.99), at(1.0));
    let hash = worlds.iter().fold(0_u64, |hash, world| hash.rotate_left(7) ^ world.state_hash());
    println!("state hash {hash:016x}");
    print_counts(&worlds, cast.len(), ticks);
}

/// Deeds of NPCs, each per second.
fn print_counts(worlds: &[World], n_npcs: usize, ticks: u64) {
    let sum =
        |of: fn(&NpcCounts) -> u64| worlds.iter().map(|world| of(world.npc_counts())).sum::<u64>() as f64;
    let npc_s = (worlds.len() * n_npcs) as f64 * ticks as f64 / 20.0;
    println!("moving {:.0} % of ticks", 100.0 * sum(|c| c.moving) / sum(|c| c.ticks));
    type Of = fn(&NpcCounts) -> u64;
    let counts: [(&str, Of); 5] = [
        ("thoughts", |c| c.thoughts),
        ("looks", |c| c.looks),
        ("lines of sight", |c| c.rays),
        ("paths", |c| c.paths),
        ("polygons looked at", |c| c.path_nodes),
    ];
    for (what, of) in counts {
        println!("{what}: {:.2} a second of an NPC", sum(of) / npc_s);
    }
}

fn enter() -> Command {
    let action = Action::Enter(Box::new(Enter {
        agent: AgentId(Uuid::from_u128(1)),
        first_name: "Ada".into(),
        last_name: "Bench".into(),
        position: Vec3::new(128.0, 128.0, 30.0),
        look_at: Vec3::X,
        flying: false,
        appearance: None,
    }));
    Command::by_session(SessionKey(1), 0, action)
}

fn script(terrain: &Terrain) -> Script {
    let at = |x: f32, y: f32| Vec3::new(x, y, terrain.height(x, y));
    let kind = |name: &str, enemies: &[&str]| Kind {
        name: name.into(),
        enemies: enemies.iter().map(|&name| name.into()).collect(),
        ..Kind::default()
    };
    let vocabulary = Vocabulary {
        kinds: vec![
            kind("guard", &["bandit"]),
            kind("villager", &["bandit"]),
            kind("bandit", &["guard", "player"]),
        ],
        places: vec![NamedPlace { name: "camp".into(), position: at(150.0, 150.0), radius_m: 10.0 }],
        routes: vec![Route {
            name: "round".into(),
            points: vec![at(100.0, 100.0), at(160.0, 100.0), at(160.0, 160.0), at(100.0, 160.0)],
        }],
        ..Vocabulary::default()
    };
    let spawn = |n: u32| {
        let (kind, behavior) = match n % 4 {
            0 => ("guard", "guard"),
            1 => ("bandit", "prowler"),
            _ => ("villager", "stroller"),
        };
        let angle = n as f32 * 0.9;
        let far = 10.0 + 2.5 * n as f32;
        Spawn {
            kind: kind.into(),
            behavior: behavior.into(),
            first_name: format!("{kind}{n}"),
            last_name: "Bench".into(),
            position: at(128.0 + far * libm::cosf(angle), 128.0 + far * libm::sinf(angle)),
            look_at: Vec3::X,
        }
    };
    Script {
        vocabulary,
        actors: vec![Actor::default(); 3],
        files: vec![("bench.behaviour".into(), BEHAVIORS.into())],
        spawns: (0..20).map(spawn).collect(),
        ..Script::default()
    }
}
