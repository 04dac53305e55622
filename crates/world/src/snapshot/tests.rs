//! Bytes that are whole and still describe no world: those of a bug, or of an attacker that can compute checksums.

use super::*;
use crate::{
    cast::{Actor, NpcCast, Script, Spawn},
    npc::Legs,
    presence::{AvatarSeat, Presence},
};
use behavior::{Kind, Vocabulary};
use glam::{Quat, Vec3};
use ids::{AgentId, LocalId, SessionKey, Tick, Uuid, WorldId};
use link::{Action, Command, Enter, Frame, Seat, Terrain};
use proptest::prelude::*;
use record::{Part, RecordBuffer, Records};
use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

fn config() -> WorldConfig {
    WorldConfig {
        id: WorldId(0),
        epoch: Epoch(0),
        size_m: 256,
        local_ids: 1..1_000,
        terrain: Arc::new(Terrain::flat(256, 21.0)),
        scenery: Arc::default(),
        objects: None,
        land: None,
        cast: None,
        water_m: 20.0,
        max_avatars: 10,
        seed: 1,
    }
}

fn two_enter() -> Vec<Command> {
    let enter = |session| {
        Command::by_session(
            SessionKey(session),
            0,
            Action::Enter(Box::new(Enter {
                agent: AgentId(Uuid::from_u128(1)),
                first_name: "Ada".into(),
                last_name: "Resident".into(),
                position: Vec3::splat(50.0),
                look_at: Vec3::X,
                flying: false,
                appearance: None,
            })),
        )
    };
    vec![enter(1), enter(2)]
}

fn world_of_two() -> World {
    let mut world = World::new(config());
    let mut commands = two_enter();
    world.step(Tick(0), Duration::from_millis(50), 1.0, &mut commands, &mut Frame::empty());
    world
}

#[test]
fn impossible_worlds_are_refused() {
    let first = |world: &mut World, spoil: fn(&mut Presence)| spoil(world.roster.get_mut(0).unwrap());
    let seat = Seat { parent: LocalId(3), position: Vec3::Z, rotation: Quat::IDENTITY };
    let spoilt: [&dyn Fn(&mut World); 8] = [
        &|world| first(world, |presence| presence.motion.position.x = f32::NAN),
        &|world| first(world, |presence| presence.motion.position.z = 3.0),
        &|world| first(world, |presence| presence.motion.velocity = Vec3::splat(1e30)),
        &|world| {
            first(world, |presence| presence.controls.body_rotation = Quat::from_xyzw(0.0, 0.0, 0.0, 0.0))
        },
        &|world| first(world, |presence| presence.id = LocalId(2)),
        &|world| first(world, |presence| Arc::make_mut(&mut presence.identity).session = SessionKey(2)),
        &|world| world.movement = Movement::with_carry(u64::MAX),
        &|world| {
            let presence = world.roster.get_mut(0).unwrap();
            presence.seat = Some(Arc::new(AvatarSeat { seat, prim: LocalId(3) }));
        },
    ];
    assert!(World::restore(config(), &world_of_two().snapshot()).is_ok());
    for (index, spoil) in spoilt.iter().enumerate() {
        let mut world = world_of_two();
        spoil(&mut world);
        let result = World::restore(config(), &world.snapshot());
        assert!(matches!(result, Err(RestoreError::Inconsistent)), "case {index}: {result:?}");
    }
}

const BEHAVIORS: &str = "\
behaviour stroll: wander within 25 m pause 0.1 s to 1 s
behaviour wolf:
    select:
        when sees enemy within 25 m in last 4 s:
            chase target
            attack target every 0.5 s damage 10
        when hears chat: go to last-seen
        wait 2 s
";

/// A world with six NPCs in the middle of a fight, and its configuration.
static FIGHT: LazyLock<(WorldConfig, Vec<u8>)> = LazyLock::new(|| {
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
            position: Vec3::new(46.0 + 3.0 * f32::from(n), 54.0, 21.0),
            look_at: Vec3::X,
        }
    };
    let script = Script {
        vocabulary: Vocabulary {
            kinds: vec![kind("wolf", &["folk", "player"]), kind("folk", &[])],
            ..Vocabulary::default()
        },
        actors: vec![Actor { health: 30, lies_s: 1, respawn_s: 1, ..Actor::default() }; 2],
        files: vec![("test.behaviour".into(), BEHAVIORS.into())],
        spawns: (0..6).map(spawn).collect(),
        ..Script::default()
    };
    let WorldConfig { terrain, scenery, .. } = config();
    let cast = NpcCast::new(script, &terrain, &scenery, 20.0, &mut || true).expect("a cast");
    let config = WorldConfig { cast: Some(Arc::new(cast)), terrain, ..config() };
    let mut world = World::new(config.clone());
    let mut commands = two_enter();
    for tick in 0..120 {
        world.step(Tick(tick), Duration::from_millis(50), 1.0, &mut commands, &mut Frame::empty());
    }
    assert!(world.npc_counts().blows > 0, "no NPC fights");
    let snapshot = world.snapshot();
    (config, snapshot)
});

fn fight() -> World {
    World::restore(FIGHT.0.clone(), &FIGHT.1).expect("our own snapshot")
}

#[test]
fn impossible_npcs_are_refused() {
    let legs = |world: &mut World, spoil: fn(&mut Legs)| spoil(&mut world.npcs.legs[0]);
    let spoilt: [&dyn Fn(&mut World); 12] = [
        &|world| legs(world, |legs| legs.velocity.x = f32::NAN),
        &|world| legs(world, |legs| legs.velocity.x = 1e9),
        &|world| legs(world, |legs| legs.feet_m += 1.0),
        &|world| legs(world, |legs| legs.feet_m = f32::NAN),
        &|world| legs(world, |legs| legs.climb = f32::INFINITY),
        &|world| legs(world, |legs| legs.facing *= 2.0),
        &|world| legs(world, |legs| legs.spot.at.x += 100.0),
        &|world| legs(world, |legs| legs.id = None),
        &|world| legs(world, |legs| legs.id = Some(LocalId(0))),
        &|world| legs(world, |legs| legs.id = Some(LocalId(1_000))),
        &|world| world.npcs.legs[1].id = world.npcs.legs[0].id,
        &|world| drop(world.npcs.heads.pop()),
    ];
    for (index, spoil) in spoilt.iter().enumerate() {
        let mut world = fight();
        spoil(&mut world);
        let result = World::restore(FIGHT.0.clone(), &world.snapshot());
        assert!(matches!(result, Err(RestoreError::Inconsistent)), "case {index}: {result:?}");
    }
}

/// The parts of a snapshot, each with its body. A world that is not built on has neither objects nor edits nor answered orders nor land, nor seats, solids, solids of assets
/// and bodies.
fn bodies(snapshot: &[u8]) -> Vec<(&'static Part, Vec<u8>)> {
    let records = Records::parse(&SNAPSHOT_FORMAT, snapshot, &SNAPSHOT_PARTS).expect("our own snapshot");
    let body = |part: &'static Part| {
        let body = records.find(part)?.body().expect("our own snapshot");
        Some((part, body.into_owned()))
    };
    let bodies: Vec<_> = SNAPSHOT_PARTS.into_iter().filter_map(body).collect();
    assert_eq!(bodies.len(), SNAPSHOT_PARTS.len() - 8);
    bodies
}

#[test]
fn a_snapshot_without_one_of_its_parts_is_refused_by_name() {
    let bodies = bodies(&FIGHT.1);
    for (left_out, _) in &bodies {
        let mut buffer = RecordBuffer::new(&SNAPSHOT_FORMAT);
        let others = bodies.iter().filter(|(part, _)| part.tag != left_out.tag);
        others.for_each(|(part, body)| buffer.push_bytes(part, body));
        let refused = World::restore(FIGHT.0.clone(), &buffer.finish()).unwrap_err();
        assert_eq!(refused.to_string(), format!("the world snapshot has no record \"{}\"", left_out.name));
    }
}

proptest! {
    /// The fuzz target's property as a proptest.
    #[test]
    fn every_state_that_restores_can_be_stepped(
        patches in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::weighted(0.1, any::<prop::sample::Index>()),
    ) {
        let mut bodies = bodies(&FIGHT.1);
        for (index, byte) in &patches {
            let body = &mut index.get_mut(&mut bodies).1;
            let at = index.index(body.len());
            body[at] = *byte;
        }
        if let Some(cut) = cut {
            let body = &mut cut.get_mut(&mut bodies).1;
            body.truncate(cut.index(body.len()));
        }
        let mut buffer = RecordBuffer::new(&SNAPSHOT_FORMAT);
        bodies.iter().for_each(|(part, body)| buffer.push_bytes(part, body));
        let bytes = buffer.finish();
        let elsewhere = WorldConfig { local_ids: 70_000..80_000, ..FIGHT.0.clone() };
        for config in [FIGHT.0.clone(), elsewhere] {
            let Ok(mut world) = World::restore(config.clone(), &bytes) else { continue };
            for tick in 0..60 {
                world.step(Tick(tick), Duration::from_millis(50), 1.0, &mut Vec::new(), &mut Frame::empty());
            }
            prop_assert!(World::restore(config, &world.snapshot()).is_ok(), "it does not read what it wrote");
        }
    }
}
