//! Those who have no client: they walk, notice, chase, are struck, fall and come back.

use super::stage::{STANDING, Stage, config, control, enter_at};
use glam::{Quat, Vec2, Vec3};
use ids::{Epoch, LocalId, SessionKey, Tick, Uuid};
use nav::behavior::{Kind, Route, Vocabulary};
use std::sync::Arc;
use world::{
    Action, Actor, Cast, CastError, Change, ChatKind, Command, ControlFlags, Entity, EntityKind, Event,
    Frame, Motion, Prim, RestoreError, Scenery, Script, Spawn, Standing, Terrain, World, WorldConfig,
};

const GROUND_M: f32 = 21.0;

const BEHAVIORS: &str = "\
behaviour patrol: patrol round pause 1 s
behaviour stroll: wander within 25 m pause 0.1 s to 1 s
behaviour stand: wait 10 s
behaviour hound:
    select:
        when sees enemy within 25 m in last 4 s: chase target within 2 m
        wait 2 s
behaviour wolf:
    select:
        when sees enemy within 25 m in last 4 s:
            chase target
            attack target every 0.5 s damage 10
        wait 2 s
behaviour dog:
    select:
        when sees player within 40 m in last 9 s: follow target
        wait 2 s
behaviour gossip:
    when hears chat within 20 m: cooldown 5 s: say \"I heard that.\"
";

fn flat() -> Terrain {
    Terrain::flat(256, GROUND_M)
}

/// A wall from south to north with a gap in the middle.
fn wall() -> Scenery {
    let part = |n: u64, y: f32| Standing {
        position: Vec3::new(128.0, y, GROUND_M + 2.0),
        rotation: Quat::IDENTITY,
        prim: Prim {
            id: Uuid::from_u64_pair(9, n),
            scale: Vec3::new(1.0, 60.0, 4.0),
            texture_entry: Arc::new([0; 47]),
        },
    };
    Scenery::new(vec![part(1, 96.0), part(2, 160.0)]).expect("two walls")
}

fn script(spawns: Vec<Spawn>) -> Script {
    let kind = |name: &str, enemies: &[&str]| Kind {
        name: name.into(),
        enemies: enemies.iter().map(|&name| name.into()).collect(),
        ..Kind::default()
    };
    let point = |x, y| Vec3::new(x, y, GROUND_M);
    Script {
        vocabulary: Vocabulary {
            kinds: vec![kind("folk", &[]), kind("hound", &["player"]), kind("wolf", &["folk"])],
            routes: vec![Route {
                name: "round".into(),
                points: vec![point(100.0, 128.0), point(156.0, 100.0)],
            }],
            ..Vocabulary::default()
        },
        actors: vec![Actor { health: 30, lies_s: 2, respawn_s: 3, ..Actor::default() }; 3],
        files: vec![("test.behaviour".into(), BEHAVIORS.into())],
        spawns,
        ..Script::default()
    }
}

fn spawn(kind: &str, behavior: &str, x: f32, y: f32) -> Spawn {
    Spawn {
        kind: kind.into(),
        behavior: behavior.into(),
        first_name: format!("{kind} at {x}"),
        last_name: "Npc".into(),
        position: Vec3::new(x, y, GROUND_M),
        look_at: Vec3::X,
    }
}

/// A world with these NPCs, behind a wall and before it, and a visitor in the south-west.
fn stage(spawns: Vec<Spawn>) -> Stage {
    let mut stage = Stage::new(setting(spawns));
    stage.send(1, enter_at(Vec3::new(60.0, 60.0, GROUND_M + STANDING)));
    stage.step();
    stage
}

fn setting(spawns: Vec<Spawn>) -> WorldConfig {
    let scenery = Arc::new(wall());
    let cast = Cast::new(script(spawns), &flat(), &scenery, 20.0, &mut || true).expect("a cast");
    WorldConfig { epoch: Epoch(0), scenery, cast: Some(Arc::new(cast)), ..config(flat()) }
}

fn npcs(stage: &Stage) -> Vec<&Entity> {
    let is_npc = |entity: &&Entity| matches!(&entity.kind, EntityKind::Avatar(avatar) if avatar.session == SessionKey::NODE);
    stage.mirror.0.values().filter(is_npc).collect()
}

fn npc(stage: &Stage) -> &Entity {
    let all = npcs(stage);
    assert_eq!(all.len(), 1);
    all[0]
}

fn at(entity: &Entity) -> Vec2 {
    entity.motion.position.truncate()
}

#[test]
fn they_go_round_walls_on_even_legs_and_rest_where_they_arrive() {
    let mut stage = stage(vec![spawn("folk", "patrol", 100.0, 128.0)]);
    let (mut was_east, mut was_west, mut turns) = (false, false, 0);
    let mut last = npc(&stage).motion;
    for _ in 0..1_600 {
        stage.step();
        let motion = npc(&stage).motion;
        let (x, y) = (motion.position.x, motion.position.y);
        // The walls reach from 127.5 to 128.5, but for the gap.
        assert!((x - 128.0).abs() > 0.7 || (y - 128.0).abs() < 1.9, "through the wall at {x}, {y}");
        assert_eq!(motion.position.z, GROUND_M + STANDING);
        turns += u32::from(motion.velocity != last.velocity);
        was_east |= x > 150.0;
        was_west |= was_east && x < 105.0;
        last = motion;
    }
    assert!(was_east && was_west, "it goes to and fro");
    // Viewers walk on by themselves whom they were told walks: a leg keeps one velocity, bit by bit.
    assert!(turns < 60, "{turns} velocities in 80 s");
    let speeds: Vec<f32> = npcs(&stage).iter().map(|npc| npc.motion.velocity.length()).collect();
    assert!(speeds.iter().all(|speed| *speed < 3.3), "{speeds:?}");
}

#[test]
fn a_hound_notices_chases_and_stops_before_its_prey_but_not_through_a_wall() {
    let mut stage = stage(vec![spawn("hound", "hound", 140.0, 80.0)]);
    stage.send(
        1,
        Action::Teleport { position: Vec3::new(118.0, 80.0, GROUND_M + STANDING), look_at: Vec3::X },
    );
    stage.run(200);
    assert!(at(npc(&stage)).distance(Vec2::new(140.0, 80.0)) < 0.1, "it sees through walls");
    stage.send(
        1,
        Action::Teleport { position: Vec3::new(155.0, 80.0, GROUND_M + STANDING), look_at: Vec3::X },
    );
    stage.run(200);
    let distance = at(npc(&stage)).distance(stage.at(1));
    assert!((0.5..2.8).contains(&distance), "{distance} m away");
    assert_eq!(npc(&stage).motion.velocity, Vec3::ZERO);
    // It faces whom it has caught up with.
    let ahead = (npc(&stage).motion.rotation * Vec3::X).truncate();
    assert!(ahead.dot((stage.at(1) - at(npc(&stage))).normalize()) > 0.9);
}

#[test]
fn who_catches_up_with_the_usual_distances_strikes_until_its_prey_falls() {
    let mut stage = stage(vec![spawn("wolf", "wolf", 70.0, 80.0), spawn("folk", "stand", 84.0, 80.0)]);
    stage.run(160);
    assert_eq!(stage.world.npc_counts().falls, 1);
}

#[test]
fn who_follows_goes_on_when_whom_it_caught_up_with_does() {
    let mut stage = stage(vec![spawn("hound", "dog", 54.0, 60.0)]);
    let mut place = Vec3::new(60.0, 60.0, GROUND_M + STANDING);
    for _ in 0..3 {
        stage.run(200);
        let distance = at(npc(&stage)).distance(stage.at(1));
        assert!((0.5..3.8).contains(&distance), "{distance} m away");
        // In view all the time, ahead of it.
        let away = (stage.at(1) - at(npc(&stage))).normalize() * 15.0;
        place += away.extend(0.0);
        stage.send(1, Action::Teleport { position: place, look_at: Vec3::X });
    }
}

#[test]
fn what_is_said_near_them_is_answered_in_chat() {
    let mut stage = stage(vec![spawn("folk", "gossip", 64.0, 60.0)]);
    stage.run(40);
    stage.send(1, Action::Chat { kind: ChatKind::Say, channel: 0, text: "Psst.".into() });
    let mut answers = Vec::new();
    for _ in 0..100 {
        stage.step();
        answers.extend(stage.events().iter().filter_map(|event| match event {
            Event::Chat(chat) if chat.session == SessionKey::NODE => Some(chat.clone()),
            _ => None,
        }));
    }
    let [answer] = answers.as_slice() else { panic!("{answers:?}") };
    assert_eq!((answer.text.as_str(), answer.name.as_str()), ("I heard that.", "folk at 64 Npc"));
    assert!(answer.position.distance(npc(&stage).motion.position) < 0.1);
}

#[test]
fn blows_fell_them_and_they_come_back_as_somebody_new() {
    let mut stage = stage(vec![spawn("folk", "stand", 61.5, 60.0)]);
    let first = npc(&stage).id;
    let punch = || Action::Animate(vec![(world::animations::PUNCH_LEFT, true)]);
    // Faster than fists are: only some of them count.
    let mut fell_at = None;
    for tick in 0..200 {
        stage.send(1, punch());
        stage.step();
        let EntityKind::Avatar(avatar) = &npc(&stage).kind else { panic!("an avatar") };
        if avatar.animations.iter().any(|playing| playing.id == world::animations::DEAD) {
            fell_at = Some(tick);
            break;
        }
    }
    assert_eq!(fell_at, Some(20), "three blows, half a second between them");
    stage.run(42);
    assert!(npcs(&stage).is_empty(), "it lies for two seconds");
    stage.run(60);
    let back = npc(&stage);
    assert_ne!(back.id, first);
    assert!(at(back).distance(Vec2::new(61.5, 60.0)) < 0.1);
    assert_eq!((stage.world.npc_counts().falls, stage.world.npc_counts().respawns), (1, 1));
}

#[test]
fn who_strikes_at_nothing_or_from_afar_hits_nobody() {
    let mut stage = stage(vec![spawn("folk", "stand", 61.5, 60.0), spawn("folk", "stand", 66.0, 60.0)]);
    stage.send(1, control(ControlFlags::default(), Quat::from_rotation_z(std::f32::consts::PI)));
    stage.run(2);
    stage.send(1, Action::Animate(vec![(world::animations::PUNCH_LEFT, true)]));
    stage.send(
        1,
        Action::Animate(vec![(world::animations::WALK, true), (world::animations::PUNCH_LEFT, false)]),
    );
    stage.run(20);
    assert_eq!(stage.world.npc_counts().blows, 0, "it is behind him");
}

#[test]
fn a_world_with_npcs_sleeps_without_visitors_and_tells_them_to_who_comes_late() {
    let mut stage = Stage::new(setting(vec![spawn("folk", "stroll", 90.0, 90.0)]));
    stage.step();
    assert!(stage.world.is_quiet());
    let told: Vec<&Change> =
        stage.frame.changes.iter().filter(|change| matches!(change, Change::Created(_))).collect();
    assert_eq!(told.len(), 3, "two walls and somebody");
    stage.send(1, enter_at(Vec3::new(60.0, 60.0, GROUND_M + STANDING)));
    stage.run(100);
    assert!(!stage.world.is_quiet());
    // A replica that begins anew has them, too.
    stage.send(1, Action::Resync);
    let mut in_snapshot = 0;
    for _ in 0..5 {
        stage.step();
        in_snapshot += stage.frame.snapshot.as_ref().map_or(0, |part| part.entities.len());
    }
    assert_eq!(in_snapshot, 2);
}

/// Many of them, so that they meet.
fn crowd() -> Vec<Spawn> {
    (0..24)
        .map(|n| {
            let (kind, behavior) = [("folk", "stroll"), ("folk", "patrol"), ("hound", "hound")][n % 3];
            spawn(kind, behavior, 90.0 + 3.0 * (n % 6) as f32, 110.0 + 3.0 * (n / 6) as f32)
        })
        .collect()
}

#[test]
fn a_restored_world_goes_on_with_the_same_frames() {
    let config = setting(crowd());
    let mut commands =
        vec![Command { session: SessionKey(1), sequence: 1, action: enter_at(Vec3::new(95.0, 100.0, 23.0)) }];
    let (mut world, mut frame) = (World::new(config.clone()), Frame::empty());
    let step = |world: &mut World, commands: &mut Vec<Command>, tick: u64, frame: &mut Frame| {
        if tick.is_multiple_of(37) {
            let turn = Quat::from_rotation_z(tick as f32);
            let action = control(ControlFlags::AT_POS, turn);
            commands.push(Command { session: SessionKey(1), sequence: 2 + tick, action });
        }
        world.step(Tick(tick), super::stage::TICK, 1.0, commands, frame);
    };
    for tick in 0..400 {
        step(&mut world, &mut commands, tick, &mut frame);
    }
    let mut restored = World::restore(config.clone(), &world.snapshot()).expect("our own snapshot");
    let mut resumed = World::resume(config, &world.checkpoint()).expect("our own checkpoint");
    assert_eq!(restored.state_hash(), world.state_hash());
    let (mut other, mut third) = (Frame::empty(), Frame::empty());
    for tick in 400..900 {
        let mut again = commands.clone();
        let mut once_more = commands.clone();
        step(&mut world, &mut commands, tick, &mut frame);
        step(&mut restored, &mut again, tick, &mut other);
        step(&mut resumed, &mut once_more, tick, &mut third);
        assert_eq!(frame, other, "tick {tick}");
        assert_eq!(frame, third, "tick {tick}");
    }
}

#[test]
fn nobody_walks_into_anybody_or_freezes() {
    let mut stage = stage(crowd());
    let mut last_moved: std::collections::BTreeMap<LocalId, u32> = Default::default();
    for tick in 0..2_400 {
        stage.step();
        let all: Vec<(LocalId, Motion)> = npcs(&stage).iter().map(|npc| (npc.id, npc.motion)).collect();
        for (n, (id, a)) in all.iter().enumerate() {
            for (other, b) in &all[..n] {
                let distance = a.position.distance(b.position);
                assert!(
                    distance > 0.6 - nav::crowd::OVERLAP_MAX_M - 0.01,
                    "{id:?} and {other:?}: {distance} m at {tick}"
                );
            }
            if a.velocity != Vec3::ZERO {
                last_moved.insert(*id, tick);
            }
        }
        let strollers = all.iter().filter(|(id, _)| id.0 % 3 == all[0].0.0 % 3);
        for (id, _) in strollers {
            let since = tick - last_moved.get(id).copied().unwrap_or(0);
            assert!(since < 400, "{id:?} has stood for {since} ticks");
        }
    }
}

#[test]
fn casts_that_cannot_be_are_refused_with_what_is_wrong() {
    let refused = |script: Script| {
        Cast::new(script, &flat(), &wall(), 20.0, &mut || true)
            .map(|_| ())
            .expect_err("it cannot be")
            .to_string()
    };
    let unknown = refused(script(vec![spawn("dragon", "stroll", 90.0, 90.0)]));
    assert!(unknown.contains("NPC 0 (dragon at 90 Npc): there is no kind \"dragon\""), "{unknown}");
    let unknown = refused(script(vec![spawn("folk", "fly", 90.0, 90.0)]));
    assert!(unknown.contains("there is no behaviour \"fly\""), "{unknown}");
    let mut high = spawn("folk", "stroll", 90.0, 90.0);
    high.position.z = 90.0;
    assert!(refused(script(vec![high])).contains("where nobody can walk"));
    let wrong = Script {
        files: vec![("x.behaviour".into(), b"behaviour a: use b\n".to_vec())],
        ..script(Vec::new())
    };
    assert!(refused(wrong).contains("x.behaviour"));
    assert!(refused(Script { actors: Vec::new(), ..script(Vec::new()) }).contains("actors"));
    let many = (0..=world::NPCS_MAX).map(|_| spawn("folk", "stroll", 90.0, 90.0)).collect();
    assert!(refused(script(many)).contains("more than 256"));
    let stopped = Cast::new(script(Vec::new()), &flat(), &wall(), 20.0, &mut || false);
    assert!(matches!(stopped, Err(CastError::Mesh(_))), "who is asked to stop stops");
}

#[test]
fn a_snapshot_of_another_cast_is_refused() {
    let (config, other) = (setting(crowd()), setting(vec![spawn("folk", "stroll", 90.0, 90.0)]));
    let snapshot = World::new(config).snapshot();
    assert!(matches!(World::restore(other.clone(), &snapshot), Err(RestoreError::OtherCast { .. })));
    assert!(matches!(
        World::restore(WorldConfig { cast: None, ..other }, &snapshot),
        Err(RestoreError::OtherCast { found: 1.., expected: 0 })
    ));
}
