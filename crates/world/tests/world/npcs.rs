//! Avatars without a client: they walk, notice, chase, are struck, fall and come back.

use super::{
    stage::{STANDING, Stage, control, enter_at},
    village::{GROUND_M, at, crowd, flat, npc, npcs, script, setting, spawn, stage, wall},
};
use glam::{Quat, Vec2, Vec3};
use ids::{LocalId, SessionKey, Tick};
use link::{Action, Change, ChatKind, Command, ControlFlags, Event, Frame, Motion};
use std::time::Duration;
use world::{Actor, CastError, NpcCast, RestoreError, Script, World, WorldConfig};

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
    // Viewers extrapolate walkers by themselves: a leg keeps one velocity, bit by bit.
    assert!(turns < 60, "{turns} velocities in 80 s");
    let speeds: Vec<f32> = npcs(&stage).iter().map(|npc| npc.motion.velocity.length()).collect();
    assert!(speeds.iter().all(|speed| *speed < 3.3), "{speeds:?}");
}

#[test]
fn a_stuck_npc_gives_up_and_the_state_is_hashed_as_it_is() {
    let world = setting(vec![spawn("folk", "patrol", 100.0, 128.0)]);
    let mut stage = Stage::new(world.clone());
    // The gap in the wall is full of visitors.
    for n in 0..9 {
        let place = Vec3::new(128.0, 125.6 + 0.6 * n as f32, GROUND_M + STANDING);
        stage.send(10 + n, enter_at(place));
    }
    for tick in 0..1_200 {
        stage.step();
        let given_up = stage.world.npc_counts().given_up;
        if given_up > 0 || tick % 100 == 0 {
            let anew = World::restore(world.clone(), &stage.world.snapshot()).expect("its own snapshot");
            assert_eq!(stage.world.state_hash(), anew.state_hash(), "in tick {tick}, given up {given_up}");
        }
        if given_up > 0 {
            return;
        }
    }
    panic!("it stands before the gap for a minute");
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
    // It faces the visitor with which it has caught up.
    let ahead = (npc(&stage).motion.rotation * Vec3::X).truncate();
    assert!(ahead.dot((stage.at(1) - at(npc(&stage))).normalize()) > 0.9);
}

#[test]
fn a_pursuer_with_the_usual_distances_strikes_until_its_prey_falls() {
    let mut stage = stage(vec![spawn("wolf", "wolf", 70.0, 80.0), spawn("folk", "stand", 84.0, 80.0)]);
    stage.run(160);
    assert_eq!(stage.world.npc_counts().falls, 1);
}

#[test]
fn a_follower_continues_when_its_target_does() {
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

/// More of them want a path at once than get one.
#[test]
fn a_world_of_more_ticks_searches_no_more_paths() {
    let crowd: Vec<_> = (0..240)
        .map(|n| spawn("folk", "patrol", 40.0 + (n % 20) as f32 * 3.0, 40.0 + (n / 20) as f32 * 3.0))
        .collect();
    let paths_in_a_second = |hz: u32| {
        let mut stage = stage(crowd.clone());
        let before = stage.world.npc_counts().paths;
        for _ in 0..hz {
            stage.step_by(Duration::from_secs(1) / hz);
        }
        assert!(stage.world.npc_counts().path_waits > 0, "some had to wait");
        stage.world.npc_counts().paths - before
    };
    for hz in [20, 30, 45] {
        let paths = paths_in_a_second(hz);
        assert!((70..=81).contains(&paths), "{paths} at {hz} Hz");
    }
}

#[test]
fn chat_near_npcs_is_answered() {
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
fn npcs_fall_to_blows_and_come_back_as_new_avatars() {
    let mut stage = stage(vec![spawn("folk", "stand", 61.5, 60.0)]);
    let first = npc(&stage).id;
    let punch = || Action::Animate(vec![(world::animations::PUNCH_LEFT, true)]);
    // Faster than fists are: only some of them count.
    let mut fell_at = None;
    for tick in 0..200 {
        stage.send(1, punch());
        stage.step();
        if npc(&stage).avatar.animations.iter().any(|playing| playing.id == world::animations::DEAD) {
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
fn blows_at_nothing_or_from_afar_hit_no_avatar() {
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
fn a_world_with_npcs_sleeps_without_visitors_and_shows_them_to_late_ones() {
    let mut stage = Stage::new(setting(vec![spawn("folk", "stroll", 90.0, 90.0)]));
    stage.step();
    assert!(stage.world.is_quiet());
    let told: Vec<&Change> =
        stage.frame.changes.iter().filter(|change| matches!(change, Change::Created(_))).collect();
    assert_eq!(told.len(), 1, "an avatar, and no wall");
    stage.send(1, enter_at(Vec3::new(60.0, 60.0, GROUND_M + STANDING)));
    stage.run(100);
    assert!(!stage.world.is_quiet());
    // A replica that begins anew has them, too.
    stage.resync();
    let mut in_snapshot = 0;
    for _ in 0..5 {
        stage.step();
        in_snapshot += stage.frame.snapshot.as_ref().map_or(0, |part| part.entities.len());
    }
    assert_eq!(in_snapshot, 2);
}

#[test]
fn a_restored_world_goes_on_with_the_same_frames() {
    let config = setting(crowd());
    let mut commands = vec![Command::by_session(SessionKey(1), 1, enter_at(Vec3::new(95.0, 100.0, 23.0)))];
    let (mut world, mut frame) = (World::new(config.clone()), Frame::empty());
    let step = |world: &mut World, commands: &mut Vec<Command>, tick: u64, frame: &mut Frame| {
        if tick.is_multiple_of(37) {
            let turn = Quat::from_rotation_z(tick as f32);
            let action = control(ControlFlags::AT_POS, turn);
            commands.push(Command::by_session(SessionKey(1), 2 + tick, action));
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
fn npcs_neither_walk_into_avatars_nor_freeze() {
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
fn impossible_casts_are_refused_with_the_reason() {
    let refused = |script: Script| {
        NpcCast::new(script, &flat(), &wall(), 20.0, &mut || true)
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
    assert!(refused(script(vec![high])).contains("not walkable"));
    let wrong = Script {
        files: vec![("x.behaviour".into(), b"behaviour a: use b\n".to_vec())],
        ..script(Vec::new())
    };
    assert!(refused(wrong).contains("x.behaviour"));
    assert!(refused(Script { actors: Vec::new(), ..script(Vec::new()) }).contains("actors"));
    let three = refused(Script {
        actors: vec![Actor { walk_m_per_s: 0.0, run_m_per_s: f32::NAN, ..Actor::default() }; 3],
        ..script(vec![spawn("dragon", "stroll", 90.0, 90.0), spawn("folk", "fly", 90.0, 90.0)])
    });
    assert_eq!(three.lines().count(), 3 * 2 + 2, "all at once: {three}");
    let many = (0..=world::NPCS_MAX).map(|_| spawn("folk", "stroll", 90.0, 90.0)).collect();
    assert!(refused(script(many)).contains("more than 256"));
    let stopped = NpcCast::new(script(Vec::new()), &flat(), &wall(), 20.0, &mut || false);
    assert!(
        matches!(stopped.map(|_| ()).expect_err("cut short").0[..], [CastError::Mesh(_)]),
        "who is asked to stop stops"
    );
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
