//! Recordings written by earlier builds come to the state hashes that those builds recorded.
//!
//! A failure means that a change alters what a world does, or how its state is hashed, and not only how the code is arranged. Where
//! that is intended, the file of the new build is written beside the others by
//! `cargo test -p recording --test golden -- --ignored`, and those that come to other states move to `golden/changed`: they are kept, read
//! and replayed, and only their hashes are no longer compared.

use behavior::{Kind, KindGroup, Vocabulary};
use game::{Game, Mission, MissionScript, Waypoint};
use glam::{Quat, Vec3};
use ids::{AgentId, Epoch, Instant, SessionKey, Tick, Uuid, WorldId};
use link::{Action, ChatKind, Command, Control, ControlFlags, Enter, Frame, Scenery, Terrain};
use recording::{About, Ending, Recording, Replay, Step, Writer};
use std::{
    fs,
    io::Cursor,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use world::{Actor, CastReload, NpcCast, Script, Spawn, World, WorldConfig, animations};

const TICK: Duration = Duration::from_millis(50);
const STEPS: u64 = 900;
/// Step at which the world reloads its behaviours.
const RELOAD_STEP: u64 = 450;
const VISITORS: u64 = 12;
const GROUND_M: f32 = 21.0;

const BEHAVIORS: &str = "\
behaviour stroll:
    select:
        when hears chat: say \"Who is there?\"
        wander within 25 m pause 0.1 s to 1 s
behaviour wolf:
    select:
        when sees enemy within 30 m in last 4 s:
            chase target
            attack target every 0.5 s damage 20
        when hears chat: go to last-seen
        wander within 6 m pause 0.5 s to 2 s
";

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// The recordings of a folder, which is part of the repository.
fn recordings_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("a readable directory").path());
    paths.filter(|path| path.extension().is_some_and(|ending| ending == "throngrec")).collect()
}

/// A recording in the newest version of each part: builds read that of before without an upgrade, and no older one.
fn open(path: &Path) -> Recording<Cursor<Vec<u8>>> {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut upgraded = Vec::new();
    recording::upgrade(&mut Cursor::new(bytes), &mut upgraded)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Recording::read(Cursor::new(upgraded)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn recordings_of_earlier_builds_replay() {
    let mut n_reloads = 0;
    for path in recordings_in(&directory()) {
        let mut recording = open(&path);
        assert_eq!(recording.end().ending, Ending::Complete);
        let mut replay = Replay::new(&recording).expect("its world can be restored");
        let steps: Vec<_> = recording.steps().expect("it has steps").map(Result::unwrap).collect();
        assert_eq!(steps.len() as u64, STEPS);
        for step in steps {
            let (tick, expected) = (step.tick, step.state_hash);
            let found = replay.step(step).state_hash;
            assert_eq!(Some(found), expected, "{}, {tick:?}", path.display());
        }
        // The recording has enough in it to be worth its replay.
        let (world, counts) = (replay.world(), replay.world().npc_counts());
        assert!(counts.falls > 0 && counts.respawns > 0 && counts.paths > 0, "{counts:?}");
        assert!(Game::of(world).expect("a game").missions().any(|mission| mission.completed > 0));
        assert_eq!(world.counters().reload_behaviors, recording.later_casts().len() as u64);
        n_reloads += recording.later_casts().len();
    }
    assert!(n_reloads > 0, "no golden recording of a world that reloads its behaviours");
}

#[test]
fn recordings_of_worlds_that_behave_otherwise_by_now_are_still_read() {
    for path in recordings_in(&directory().join("changed")) {
        let mut recording = open(&path);
        let mut replay = Replay::new(&recording).expect("its world can be restored");
        for step in recording.steps().expect("it has steps") {
            replay.step(step.expect("a whole step"));
        }
    }
}

/// Wolves that attack folk and visitors, a mission to clear them, damage on.
fn config() -> WorldConfig {
    let terrain = Arc::new(Terrain::flat(256, GROUND_M));
    let scenery = Arc::new(Scenery::boxes(20, &terrain, 3));
    let kind = |name: &str, enemies: &[&str]| Kind {
        name: name.into(),
        enemies: enemies.iter().map(|&name| name.into()).collect(),
        ..Kind::default()
    };
    let spawn = |n: u16| {
        let (kind, behavior) = [("wolf", "wolf"), ("folk", "stroll")][usize::from(n % 2)];
        Spawn {
            kind: kind.into(),
            behavior: behavior.into(),
            first_name: format!("{kind}{n}"),
            last_name: "Npc".into(),
            position: Vec3::new(110.0 + 3.0 * f32::from(n), 120.0, GROUND_M),
            look_at: Vec3::X,
        }
    };
    let waypoint = |x: f32, clear: Option<&str>| Waypoint {
        position: Vec3::new(x, 120.0, GROUND_M),
        radius_m: 12.0,
        clear: clear.map(Into::into),
        text: String::new(),
    };
    let script = Script {
        vocabulary: Vocabulary {
            kinds: vec![kind("wolf", &["folk", "player"]), kind("folk", &[])],
            groups: vec![KindGroup { name: "pack".into(), members: vec!["wolf".into()] }],
            ..Vocabulary::default()
        },
        actors: vec![Actor { health: 30, lies_s: 2, respawn_s: 3, ..Actor::default() }; 2],
        files: vec![("golden.behaviour".into(), BEHAVIORS.into())],
        spawns: (0..12).map(spawn).collect(),
        game: MissionScript {
            missions: vec![
                Mission {
                    name: "Pack".into(),
                    again_s: 4,
                    waypoints: vec![waypoint(110.0, None), waypoint(120.0, Some("pack"))],
                    ..Mission::default()
                },
                Mission {
                    name: "Home".into(),
                    after: Some("Pack".into()),
                    waypoints: vec![waypoint(130.0, None)],
                    ..Mission::default()
                },
            ],
            damage: true,
        }
        .into_source(),
        ..Script::default()
    };
    let cast = NpcCast::new(script, &terrain, &scenery, 20.0, &mut || true).expect("a cast");
    WorldConfig {
        id: WorldId(7),
        epoch: Epoch(2),
        size_m: 256,
        local_ids: 1..2_000,
        terrain,
        scenery,
        objects: None,
        land: None,
        cast: Some(Arc::new(cast)),
        water_m: 20.0,
        max_avatars: 100,
        seed: 11,
    }
}

/// The same folk with slower wolves.
fn reload(config: &WorldConfig) -> Arc<CastReload> {
    let from = config.cast.as_ref().expect("a cast");
    let behaviors = BEHAVIORS.replace("0.5 s damage 20", "1 s damage 20");
    let files = vec![("golden.behaviour".into(), behaviors.into())];
    let to = from.with_script(Script { files, ..from.script().clone() }, &config.terrain).expect("a cast");
    Arc::new(CastReload::new(Arc::clone(from), Arc::new(to)).expect("the same folk"))
}

/// Visitors come, walk into the fight, strike, talk, fly, teleport, and go.
fn commands(tick: u64) -> Vec<Command> {
    let mut commands = Vec::new();
    for visitor in 0..VISITORS {
        let session = SessionKey(1 + visitor);
        let mut add = |action| {
            let sequence = tick * 100 + commands.len() as u64;
            commands.push(match action {
                Action::Resync => Command::by_node(session, sequence, action),
                action => Command::by_session(session, sequence, action),
            });
        };
        let turn = tick + 37 * visitor;
        if tick == 5 * visitor || turn % 400 == 399 {
            let position = Vec3::new(112.0 + 2.0 * visitor as f32, 118.0, GROUND_M + 1.0);
            add(Action::Enter(Box::new(Enter {
                agent: AgentId(Uuid::from_u128(100 + u128::from(visitor))),
                first_name: format!("Visitor{visitor}"),
                last_name: "Resident".into(),
                position,
                look_at: Vec3::X,
                flying: visitor == 5,
                appearance: None,
            })));
        }
        if turn.is_multiple_of(15) {
            let forward =
                if turn.is_multiple_of(45) { ControlFlags::AT_POS } else { ControlFlags::default() };
            let body_rotation = Quat::from_rotation_z((turn % 63) as f32 / 10.0);
            add(Action::Control(Control { flags: forward, body_rotation }));
        }
        if turn.is_multiple_of(11) {
            add(Action::Animate(vec![(animations::PUNCH_LEFT, true)]));
        }
        if turn.is_multiple_of(97) {
            add(Action::Chat { kind: ChatKind::Say, channel: 0, text: "Hold the line!".into() });
        }
        if turn.is_multiple_of(211) {
            add(Action::Teleport { position: Vec3::new(118.0, 121.0, GROUND_M), look_at: Vec3::Y });
        }
        if turn % 400 == 380 {
            add(Action::Leave);
        }
        if turn % 300 == 7 {
            add(Action::AlwaysRun(turn % 600 == 7));
        }
        if turn % 333 == 5 {
            add(Action::Resync);
        }
    }
    commands
}

#[test]
#[ignore = "writes the golden recording of this build"]
fn write_the_recording_of_this_build() {
    let config = config();
    let mut world = World::new(config.clone());
    let at = |tick: u64| Instant::ZERO + TICK * u32::try_from(tick).expect("a few minutes");
    let mut frame = Frame::empty();
    for tick in 0..20 {
        world.step(Tick(tick), TICK, 1.0, &mut commands(tick), &mut frame);
    }
    let about = About::new("Golden", "golden", 1_700_000_000, &config);
    let mut writer = Writer::begin(Vec::new(), &about, &config.terrain, &config.scenery, &world.snapshot())
        .expect("memory");
    let reload = reload(&config);
    for tick in 20..20 + STEPS {
        let mut given = commands(tick);
        if tick == 20 + RELOAD_STEP {
            given.push(reload.command(tick * 100 + given.len() as u64));
            world.offer_reload(Arc::clone(&reload));
            writer.cast(reload.to()).expect("memory");
        }
        world.step(Tick(tick), TICK, 1.0, &mut given.clone(), &mut frame);
        let state_hash = Some(frame.state_hash);
        let step =
            Step { tick: Tick(tick), at: at(tick), dt: TICK, dilation: 1.0, commands: given, state_hash };
        writer.step(&step).expect("memory");
    }
    let (bytes, ..) = writer.finish(Ending::Complete).expect("memory");
    let name = format!("village-{:016x}.throngrec", frame.state_hash);
    fs::write(directory().join(name), bytes).expect("the golden recording is written");
}
