//! Warm, a world asks for no memory: not while its NPCs walk about, chase, fight each other and a visitor, nor when a checkpoint is due.

use behavior::{Kind, Vocabulary};
use game::{Mission, MissionScript, Waypoint};
use glam::{Quat, Vec3};
use ids::{AgentId, Epoch, Instant, LocalId, SessionKey, Tick, Uuid, WorldId};
use link::{
    Action, Command, Control, ControlFlags, CopyPlace, Duplicates, Enter, Event, Frame, GameEvent, NewObject,
    ObjectCommand, ObjectLimits, Placement, PrimFlags, Scenery, StoredObjects, Terrain,
};
use prim::Shape;
use std::{sync::Arc, time::Duration};
use telemetry::allocations::{CountingAllocator, count_here, counted_here};
use world::{Actor, Life, NpcCast, Script, Spawn, World, WorldConfig};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const TICK: Duration = Duration::from_millis(50);
const WARM_TICKS: u64 = 2_400;
const TICKS: u64 = 1_200;

/// Blows with almost no damage, so that no NPC falls: an NPC that comes back is a new avatar, which frames send in full.
const BEHAVIORS: &str = "\
behaviour fighter:
    select:
        when sees enemy within 30 m in last 4 s:
            chase target
            attack target every 0.5 s damage 1
        wander within 20 m pause 0.1 s to 1 s
behaviour stroller: wander within 40 m pause 0.1 s to 1 s
";

#[test]
fn steady_ticks_ask_for_no_memory() {
    count_here("world");
    let mut life = Life::new(setting(), 0.0);
    let (mut frame, mut commands) = (Frame::empty(), Vec::new());
    // Made before, since a gateway's commands are not the world's memory.
    let mut deeds = (0..WARM_TICKS + TICKS).map(deed).collect::<Vec<_>>();
    let (mut before, mut blows, mut hurt) = (0, 0, 0);
    for tick in 0..WARM_TICKS + TICKS {
        if tick == WARM_TICKS {
            blows = life.world().npc_counts().blows;
            before = counted_here();
        }
        commands.extend(deeds[tick as usize].take());
        let now = Instant(tick * TICK.as_nanos() as u64);
        life.step(now, Tick(tick), TICK, 1.0, &mut commands, &mut frame);
        hurt += frame
            .events
            .iter()
            .filter(|event| matches!(event, Event::Game(_, GameEvent::Health { .. })))
            .count();
    }
    let asked = counted_here() - before;
    assert!(before > 0, "nothing is counted");
    let counts = life.world().npc_counts();
    assert!(counts.blows - blows > 500, "{} blows are no fight", counts.blows - blows);
    assert!(counts.moving * 5 > counts.ticks, "they stand about");
    assert!(hurt > 10, "the visitor is left alone: {hurt}");
    assert_eq!((counts.falls, asked), (0, 0));
}

#[test]
fn a_world_takes_the_memory_for_strikes_when_a_visitor_arrives() {
    /// The memory of both checkpoints has held the visitor, and been used again.
    const FIRST_STRIKE: u64 = 250;
    count_here("young world");
    let mut asked = Vec::new();
    // The first life fills the buffers of the thread, which all its worlds share.
    for _ in 0..2 {
        asked.clear();
        let mut life = Life::new(setting(), 0.0);
        let (mut frame, mut commands) = (Frame::empty(), Vec::with_capacity(1));
        for tick in 0..TICKS / 2 {
            let is_strike = |command: &Command| matches!(command.action, Action::Animate(_));
            commands.extend(deed(tick).filter(|command| tick >= FIRST_STRIKE || !is_strike(command)));
            let before = counted_here();
            let now = Instant(tick * TICK.as_nanos() as u64);
            life.step(now, Tick(tick), TICK, 1.0, &mut commands, &mut frame);
            // The memory of events is the frame's.
            if tick >= FIRST_STRIKE && frame.events.is_empty() {
                asked.push((tick, counted_here() - before));
            }
        }
    }
    asked.retain(|&(_, n)| n > 0);
    assert_eq!(asked, [], "by tick; checkpoints included");
}

#[test]
fn ticks_of_a_world_without_npcs_do_not_allocate_either() {
    count_here("empty world");
    let mut life = Life::new(WorldConfig { cast: None, ..setting() }, 0.0);
    let (mut frame, mut commands) = (Frame::empty(), Vec::new());
    let mut deeds = (0..2 * TICKS).map(deed).collect::<Vec<_>>();
    let mut asked = Vec::new();
    for tick in 0..2 * TICKS {
        let before = counted_here();
        commands.extend(deeds[tick as usize].take());
        let now = Instant(tick * TICK.as_nanos() as u64);
        life.step(now, Tick(tick), TICK, 1.0, &mut commands, &mut frame);
        asked.push(counted_here() - before);
    }
    let (first, later) = asked.split_at(TICKS as usize);
    assert!(first.iter().any(|&n| n > 0), "nothing is counted");
    assert!(later.iter().all(|&n| n == 0), "{later:?}");
}

#[test]
fn ticks_of_a_world_with_objects_do_not_allocate_without_edits() {
    count_here("built world");
    let config =
        WorldConfig { cast: None, scenery: Arc::default(), local_ids: 1 << 20..2 << 20, ..setting() };
    let mut world = World::new(WorldConfig { objects: Some(StoredObjects::default()), ..config });
    let (mut frame, mut asked) = (Frame::empty(), Vec::with_capacity(2 * TICKS as usize));
    for tick in 0..2 * TICKS {
        let mut commands = edits(tick);
        let before = counted_here();
        world.step(Tick(tick), TICK, 1.0, &mut commands, &mut frame);
        asked.push(counted_here() - before);
    }
    assert_eq!(world.counters().edits.done, 203, "{:?}", world.counters());
    let (first, later) = asked.split_at(TICKS as usize);
    assert!(first.iter().any(|&n| n > 0), "nothing is counted");
    // A temporary object waits for its end, and a history for its session.
    assert!(later.iter().all(|&n| n == 0), "{later:?}");
}

/// A visitor, and 202 objects of it, one of which is temporary and one of which it moved.
fn edits(tick: u64) -> Vec<Command> {
    let object = |n: u128, flags: PrimFlags| NewObject {
        id: Uuid::from_u128(n),
        created_us: 0,
        p_code: 9,
        state: 0,
        material: 3,
        shape: Shape::BOX,
        scale: Vec3::ONE,
        position: Vec3::splat(50.0),
        ray: None,
        rotation: Quat::IDENTITY,
        group: Uuid::nil(),
        flags,
        is_selected: false,
    };
    let first = LocalId(1 << 20);
    let request = match tick {
        1 => {
            // Longer than the test.
            let limits = ObjectLimits { rez_per_s: 1_000, temporary_ms: 600_000, ..ObjectLimits::default() };
            return vec![Command::by_node(SessionKey::NODE, tick, Action::ObjectLimits(limits))];
        }
        2 => ObjectCommand::Create(Box::new(object(1, PrimFlags::default()))),
        3 => ObjectCommand::Create(Box::new(object(2, PrimFlags::TEMPORARY))),
        4 => ObjectCommand::Duplicate(Box::new(Duplicates {
            ids: Uuid::from_u128(3),
            group: Uuid::nil(),
            is_selected: false,
            copies: vec![(first, CopyPlace::Offset(Vec3::X)); 200],
        })),
        5 => {
            let place = Placement { position: Some(Vec3::ONE), is_linked_set: true, ..Placement::default() };
            ObjectCommand::Place(vec![(first, place)])
        }
        _ => return deed(tick).filter(|_| tick == 0).into_iter().collect(),
    };
    vec![Command::by_session(SessionKey(1), tick, Action::Object(Box::new(request)))]
}

#[test]
fn a_frame_has_room_for_what_all_may_do_at_once() {
    let mut life = Life::new(setting(), 0.0);
    let mut frame = Frame::empty();
    life.step(Instant::ZERO, Tick(0), TICK, 1.0, &mut Vec::new(), &mut frame);
    let n = life.world().n_npcs();
    assert!(n > 10 && frame.changes.capacity() >= 2 * n, "{} for {n}", frame.changes.capacity());
}

const AGENT: AgentId = AgentId(Uuid::from_u128(1));

/// Command of a visitor in a tick: comes in, walks to and fro among them, and strikes, now and then just before a checkpoint.
fn deed(tick: u64) -> Option<Command> {
    let action = match tick {
        0 => Action::Enter(Box::new(Enter {
            agent: AGENT,
            first_name: "Ada".into(),
            last_name: "Resident".into(),
            position: Vec3::new(120.0, 120.0, 22.0),
            look_at: Vec3::X,
            flying: false,
            appearance: None,
        })),
        _ if tick.is_multiple_of(20) => {
            let body_rotation = Quat::from_rotation_z((tick / 20) as f32);
            Action::Control(Control { flags: ControlFlags::AT_POS, body_rotation })
        }
        _ if tick % 20 == 18 => Action::Animate(vec![(world::animations::PUNCH_LEFT, true)]),
        _ => return None,
    };
    Some(Command::by_session(SessionKey(1), tick, action))
}

fn setting() -> WorldConfig {
    let terrain = Arc::new(Terrain::flat(256, 21.0));
    let scenery = Arc::new(Scenery::boxes(150, &terrain, 1));
    let cast = NpcCast::new(script(), &terrain, &scenery, 20.0, &mut || true).expect("a cast");
    WorldConfig {
        id: WorldId(1),
        epoch: Epoch(0),
        size_m: 256,
        local_ids: 1..10_000,
        terrain,
        scenery,
        objects: None,
        land: None,
        cast: Some(Arc::new(cast)),
        water_m: 20.0,
        max_avatars: 20,
        seed: 1,
    }
}

fn script() -> Script {
    let kind = |name: &str, enemies: &[&str]| Kind {
        name: name.into(),
        enemies: enemies.iter().map(|&name| name.into()).collect(),
        ..Kind::default()
    };
    let spawn = |n: u16| {
        let (kind, behavior) =
            [("outlaw", "fighter"), ("guard", "fighter"), ("raider", "fighter"), ("villager", "stroller")]
                [usize::from(n % 4)];
        let (row, column) = (f32::from(n / 5), f32::from(n % 5));
        Spawn {
            kind: kind.into(),
            behavior: behavior.into(),
            first_name: format!("{kind}{n}"),
            last_name: "Npc".into(),
            position: Vec3::new(110.0 + 6.0 * column, 110.0 + 6.0 * row, 21.0),
            look_at: Vec3::X,
        }
    };
    Script {
        vocabulary: Vocabulary {
            kinds: vec![
                kind("outlaw", &["guard"]),
                kind("guard", &["outlaw"]),
                kind("raider", &["player"]),
                kind("villager", &[]),
            ],
            ..Vocabulary::default()
        },
        actors: vec![Actor { health: 60_000, ..Actor::default() }; 4],
        files: vec![("test.behaviour".into(), BEHAVIORS.into())],
        spawns: (0..20).map(spawn).collect(),
        game: MissionScript {
            missions: vec![Mission {
                name: "Peace".into(),
                waypoints: vec![Waypoint {
                    position: Vec3::new(128.0, 128.0, 21.0),
                    radius_m: 50.0,
                    clear: Some("outlaw".into()),
                    ..Waypoint::default()
                }],
                ..Mission::default()
            }],
            damage: true,
        }
        .into_source(),
        ..Script::default()
    }
}
