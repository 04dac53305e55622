//! A damaged snapshot: a world that restores can also be stepped, by those who live in it and a visitor, and reads what it writes. (With
//! `cfg(fuzzing)` the checksum is not compared.)
//!
//! An input whose first byte is even is a snapshot as it is. Of others each three bytes change one of a whole one, whose fingerprints no
//! fuzzer would guess: a place, low byte first, and what stands there from now on. The second bit of that byte chooses the world: a camp of NPCs, or
//! the one of crates/recording/tests/built.rs, which has objects, land, a sitting avatar and a falling body.
#![no_main]

use behavior::{Kind, Vocabulary};
use glam::Vec3;
use ids::{AgentId, Epoch, SessionKey, Tick, Uuid, WorldId};
use libfuzzer_sys::fuzz_target;
use link::{Action, Command, Enter, Estate, Frame, LandState, Scenery, StoredLand, StoredObjects, Terrain};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use world::{Actor, NpcCast, Script, Spawn, World, WorldConfig};

const BEHAVIORS: &str = "\
behaviour stroll: wander within 25 m pause 0.1 s to 1 s
behaviour wolf:
    select:
        when sees enemy within 25 m in last 4 s:
            chase target
            attack target every 0.5 s damage 10
        wait 2 s
";

static WHOLE: LazyLock<(WorldConfig, Vec<u8>)> = LazyLock::new(|| {
    let terrain = Arc::new(Terrain::flat(256, 21.0));
    let scenery = Arc::new(Scenery::boxes(40, &terrain, 1));
    let cast = NpcCast::new(script(), &terrain, &scenery, 20.0, &mut || true).expect("a cast");
    let config = WorldConfig {
        id: WorldId(0),
        epoch: Epoch(0),
        size_m: 256,
        local_ids: 1..1_000_000,
        terrain,
        scenery,
        objects: None,
        land: None,
        cast: Some(Arc::new(cast)),
        water_m: 20.0,
        max_avatars: 100,
        seed: 1,
    };
    let mut world = World::new(config.clone());
    let mut commands = vec![enter()];
    for tick in 0..120 {
        step(&mut world, tick, &mut commands);
    }
    let snapshot = world.snapshot();
    (config, snapshot)
});

/// As of its test.
static BUILT: LazyLock<(WorldConfig, Vec<u8>)> = LazyLock::new(|| {
    let estate = Estate::new("Hills", Some(AgentId(Uuid::from_u128(7))), 20.0);
    let land = StoredLand::new(LandState::of_one_parcel(256, Uuid::from_u128(0xA), estate, 0), 1_700_000_000);
    let config = WorldConfig {
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
    };
    let snapshot = include_bytes!("../../../crates/recording/tests/built/snapshot-7").to_vec();
    World::restore(config.clone(), &snapshot).expect("a golden file");
    (config, snapshot)
});

fuzz_target!(|input: &[u8]| {
    let is_built = input.first().is_some_and(|first| first & 2 != 0);
    let (config, whole) = if is_built { &*BUILT } else { &*WHOLE };
    let bytes = match input.split_first() {
        Some((first, patches)) if first % 2 == 1 => patched(whole, patches),
        _ => input.to_vec(),
    };
    let Ok(mut world) = World::restore(config.clone(), &bytes) else { return };
    let mut commands = vec![enter()];
    for tick in 0..40 {
        step(&mut world, tick, &mut commands);
    }
    World::restore(config.clone(), &world.snapshot()).expect("what it wrote itself");
});

fn patched(whole: &[u8], patches: &[u8]) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for &[low, high, byte] in patches.as_chunks::<3>().0 {
        let index = usize::from(u16::from_le_bytes([low, high])) % bytes.len();
        bytes[index] = byte;
    }
    bytes
}

fn step(world: &mut World, tick: u64, commands: &mut Vec<Command>) {
    world.step(Tick(tick), Duration::from_millis(50), 1.0, commands, &mut Frame::empty());
}

fn enter() -> Command {
    let action = Action::Enter(Box::new(Enter {
        agent: AgentId(Uuid::from_u128(1)),
        first_name: "Ada".into(),
        last_name: "Resident".into(),
        position: Vec3::new(60.0, 60.0, 22.0),
        look_at: Vec3::X,
        flying: false,
        appearance: None,
    }));
    Command::by_session(SessionKey(1), 1, action)
}

fn script() -> Script {
    let kind = |name: &str, enemies: &[&str]| Kind {
        name: name.into(),
        enemies: enemies.iter().map(|&name| name.into()).collect(),
        ..Kind::default()
    };
    let spawn = |n: u16| {
        let kind = ["wolf", "folk"][usize::from(n % 2)];
        Spawn {
            kind: kind.into(),
            behavior: ["wolf", "stroll"][usize::from(n % 2)].into(),
            first_name: format!("{kind}{n}"),
            last_name: "Npc".into(),
            position: Vec3::new(56.0 + 3.0 * f32::from(n), 64.0, 21.0),
            look_at: Vec3::X,
        }
    };
    Script {
        vocabulary: Vocabulary {
            kinds: vec![kind("wolf", &["folk", "player"]), kind("folk", &[])],
            ..Vocabulary::default()
        },
        actors: vec![Actor { health: 30, lies_s: 1, respawn_s: 1, ..Actor::default() }; 2],
        files: vec![("test.behaviour".into(), BEHAVIORS.into())],
        spawns: (0..6).map(spawn).collect(),
        ..Script::default()
    }
}
