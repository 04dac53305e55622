//! Sitting, standing up, and what shows of it.

use crate::stage::{STANDING, Stage, config, control, enter_at};
use glam::{Quat, Vec3};
use link::{Action, Change, ControlFlags, Terrain};
use world::{World, animations};

fn seated() -> Stage {
    let mut stage = Stage::with_one();
    stage.press(1, ControlFlags::SIT_ON_GROUND);
    stage.step();
    assert_eq!(stage.animations(1), [animations::SIT_GROUND]);
    stage
}

#[test]
fn a_sitter_is_not_dirtied_by_an_unsteady_client() {
    let mut stage = seated();
    let (before, dirtied) = (stage.motion(1), stage.world.counters().entities_dirtied);
    for i in 0..40 {
        stage.send(1, control(ControlFlags::default(), Quat::from_rotation_z(i as f32 * 0.01)));
        stage.step();
        assert!(stage.is_still(), "{:?}", stage.frame.changes);
    }
    assert_eq!(stage.motion(1), before);
    assert_eq!(stage.world.counters().entities_dirtied, dirtied);
    assert_eq!(stage.world.counters().control, 41);
}

#[test]
fn a_stander_is_dirtied_by_every_turn() {
    let mut stage = Stage::with_one();
    for i in 1..=40 {
        stage.send(1, control(ControlFlags::default(), Quat::from_rotation_z(i as f32 * 0.01)));
        stage.step();
        assert!(matches!(stage.frame.changes[..], [Change::Moved(..)]));
    }
    assert_eq!(stage.world.counters().entities_dirtied, 41, "its creation and every turn");
}

#[test]
fn a_sitter_stays_until_it_stands_up_and_then_faces_where_its_client_faces() {
    let mut stage = seated();
    let before = stage.motion(1);
    let turned = Quat::from_rotation_z(1.0);
    stage.send(1, control(ControlFlags::AT_POS, turned));
    stage.run(10);
    assert_eq!(stage.motion(1), before);
    stage.send(1, control(ControlFlags::STAND_UP, turned));
    stage.step();
    assert_eq!(stage.animations(1), [animations::STAND]);
    assert_eq!((stage.motion(1).position, stage.motion(1).rotation), (before.position, turned));
}

#[test]
fn sitting_down_stops_a_walk() {
    let mut stage = Stage::with_one();
    stage.press(1, ControlFlags::AT_POS);
    stage.run(3);
    stage.press(1, ControlFlags::AT_POS.union(ControlFlags::SIT_ON_GROUND));
    stage.step();
    assert_eq!(stage.motion(1).velocity, Vec3::ZERO);
    stage.step();
    assert!(stage.is_still());
}

#[test]
fn a_press_that_a_later_control_releases_in_the_same_tick_still_counts() {
    let mut stage = Stage::with_one();
    stage.press(1, ControlFlags::SIT_ON_GROUND);
    stage.press(1, ControlFlags::default());
    stage.step();
    assert_eq!(stage.animations(1), [animations::SIT_GROUND]);
    stage.press(1, ControlFlags::STAND_UP);
    stage.press(1, ControlFlags::default());
    stage.step();
    assert_eq!(stage.animations(1), [animations::STAND]);
}

#[test]
fn the_last_of_sitting_and_standing_within_a_tick_wins() {
    let mut stage = seated();
    stage.press(1, ControlFlags::STAND_UP);
    stage.press(1, ControlFlags::SIT_ON_GROUND);
    stage.step();
    assert_eq!(stage.animations(1), [animations::SIT_GROUND]);
    stage.press(1, ControlFlags::SIT_ON_GROUND);
    stage.press(1, ControlFlags::STAND_UP);
    stage.step();
    assert_eq!(stage.animations(1), [animations::STAND]);
}

#[test]
fn an_avatar_cannot_sit_down_in_the_air() {
    let mut stage = Stage::with_one();
    stage.press(1, ControlFlags::FLY.union(ControlFlags::UP_POS));
    stage.run(10);
    stage.press(1, ControlFlags::FLY.union(ControlFlags::SIT_ON_GROUND));
    stage.step();
    assert_ne!(stage.animations(1), [animations::SIT_GROUND]);
}

#[test]
fn a_teleport_makes_a_sitter_stand() {
    let mut stage = seated();
    stage.send(1, Action::Teleport { position: Vec3::new(50.0, 60.0, 22.0), look_at: Vec3::Y });
    stage.step();
    assert_eq!(stage.animations(1), [animations::STAND]);
}

#[test]
fn crouching_turning_and_being_away_show() {
    let mut stage = Stage::with_one();
    for (flags, expected) in [
        (ControlFlags::UP_NEG, vec![animations::CROUCH]),
        (ControlFlags::UP_NEG.union(ControlFlags::AT_POS), vec![animations::CROUCH_WALK]),
        (ControlFlags::TURN_LEFT, vec![animations::TURN_LEFT]),
        (ControlFlags::TURN_RIGHT, vec![animations::TURN_RIGHT]),
        (ControlFlags::default(), vec![animations::STAND]),
        (ControlFlags::AWAY, vec![animations::STAND, animations::AWAY]),
        (ControlFlags::default(), vec![animations::STAND]),
    ] {
        stage.press(1, flags);
        stage.step();
        assert_eq!(stage.animations(1), expected, "for {flags:?}");
    }
}

#[test]
fn animations_are_in_a_frame_only_when_they_change() {
    let mut stage = Stage::with_one();
    let dance = ids::Uuid::from_u128(5);
    stage.send(1, Action::Animate(vec![(dance, true)]));
    stage.step();
    assert!(matches!(stage.frame.changes[..], [Change::Animated(..)]));
    assert_eq!(stage.animations(1), [animations::STAND, dance]);
    stage.press(1, ControlFlags::AT_POS);
    stage.step();
    assert_eq!(stage.animations(1), [dance, animations::WALK]);
    stage.step();
    assert!(matches!(stage.frame.changes[..], [Change::Moved(..)]), "{:?}", stage.frame.changes);
}

#[test]
fn a_taller_avatar_keeps_its_soles_on_the_ground() {
    let mut stage = Stage::with_one();
    let tall = link::Appearance {
        texture_entry: vec![1],
        visual_params: vec![2; 218],
        cof_version: 3,
        height_m: 2.2,
    };
    stage.send(1, Action::Appear(tall.clone().into()));
    stage.step();
    let told = &stage.frame.changes;
    assert!(
        matches!(&told[..], [Change::Appeared(_, Some(worn)), Change::Moved(..)] if **worn == tall),
        "{told:?}"
    );
    assert!((stage.motion(1).position.z - 22.1).abs() < 1e-4);
    stage.send(2, enter_at(Vec3::new(10.0, 10.0, 22.0)));
    stage.step();
    assert_eq!(stage.motion(2).position.z, 21.95);
}

/// A sitting place above the ground, 2 m from the avatar of [`Stage::with_one`].
const SEAT: Vec3 = Vec3::new(130.0, 128.0, 21.8);

fn seated_on_object() -> Stage {
    let mut stage = Stage::with_one();
    stage.send(1, Action::Sit { seat: SEAT, look_at: Vec3::Y });
    stage.step();
    stage
}

#[test]
fn an_avatar_sits_on_an_object_and_all_get_its_place() {
    let mut stage = seated_on_object();
    assert!(stage.frame.changes.iter().any(|change| matches!(change, Change::Moved(..))));
    assert_eq!(stage.animations(1), [animations::SIT_GROUND]);
    let motion = stage.motion(1);
    assert_eq!((motion.position, motion.velocity), (SEAT + Vec3::Z * STANDING, Vec3::ZERO));
    assert!((motion.rotation * Vec3::X).distance(Vec3::Y) < 1e-3);
    stage.press(1, ControlFlags::AT_POS.union(ControlFlags::FLY));
    stage.run(10);
    assert_eq!(stage.motion(1), motion, "keys do not move a sitter");
    assert_eq!(stage.world.counters().sit, 1);
}

#[test]
fn an_avatar_in_the_air_or_still_arriving_sits_on_an_object_too() {
    let mut stage = Stage::with_one();
    stage.press(1, ControlFlags::FLY.union(ControlFlags::UP_POS));
    stage.run(10);
    stage.press(1, ControlFlags::FLY.union(ControlFlags::STAND_UP));
    stage.send(1, Action::Sit { seat: SEAT, look_at: Vec3::Y });
    stage.send(2, enter_at(SEAT));
    stage.send(2, Action::Sit { seat: SEAT, look_at: Vec3::Y });
    stage.step();
    for session in [1, 2] {
        assert_eq!(stage.animations(session), [animations::SIT_GROUND]);
        assert_eq!(stage.motion(session).position, SEAT + Vec3::Z * STANDING, "sitters share an object");
    }
}

#[test]
fn an_avatar_that_stands_up_from_an_object_falls_to_the_ground_without_a_key() {
    let mut stage = seated_on_object();
    stage.press(1, ControlFlags::STAND_UP);
    stage.press(1, ControlFlags::default());
    let mut heights = vec![stage.motion(1).position.z];
    for _ in 0..40 {
        stage.step();
        assert_ne!(stage.animations(1), [animations::SIT_GROUND]);
        heights.push(stage.motion(1).position.z);
    }
    assert!(heights.is_sorted_by(|higher, lower| higher >= lower), "{heights:?}");
    assert!(heights[1] > 21.0 + STANDING, "it falls from its seat: {heights:?}");
    assert_eq!(stage.motion(1).position, Vec3::new(SEAT.x, SEAT.y, 21.0 + STANDING));
    assert_eq!(stage.motion(1).velocity, Vec3::ZERO);
    stage.run(40);
    assert_eq!(stage.animations(1), [animations::STAND]);
    assert!(stage.is_still());
}

#[test]
fn an_avatar_that_flies_when_it_stands_up_from_an_object_stays_at_its_height() {
    let mut stage = seated_on_object();
    stage.press(1, ControlFlags::STAND_UP.union(ControlFlags::FLY));
    stage.run(20);
    assert_eq!(stage.motion(1).position, SEAT + Vec3::Z * STANDING);
}

#[test]
fn an_avatar_stands_up_from_an_object_and_walks_on() {
    let mut stage = seated_on_object();
    stage.press(1, ControlFlags::STAND_UP.union(ControlFlags::AT_POS));
    stage.run(40);
    let position = stage.motion(1).position;
    assert_eq!(position.z, 21.0 + STANDING);
    assert!(position.distance(SEAT) > 1.0, "{position}");
}

#[test]
fn a_teleport_takes_an_avatar_from_its_object() {
    let mut stage = seated_on_object();
    stage.send(1, Action::Teleport { position: Vec3::new(50.0, 60.0, 22.0), look_at: Vec3::Y });
    stage.step();
    assert_eq!(stage.animations(1), [animations::STAND]);
    assert_eq!(stage.motion(1).position.z, 21.0 + STANDING);
}

#[test]
fn a_seat_below_the_ground_or_outside_is_moved_to_where_avatars_can_be() {
    for seat in [SEAT.with_z(3.0), Vec3::new(-9.0, 128.0, 22.0), Vec3::splat(f32::NAN)] {
        let mut stage = Stage::with_one();
        stage.send(1, Action::Sit { seat, look_at: Vec3::Y });
        stage.step();
        let position = stage.motion(1).position;
        assert!(position.z >= 21.0 + STANDING && position.x >= 0.5, "{position}");
    }
}

#[test]
fn a_sitter_on_an_object_goes_on_from_a_snapshot() {
    let stage = seated_on_object();
    let restored = World::restore(config(Terrain::flat(256, 21.0)), &stage.world.snapshot()).unwrap();
    assert_eq!(restored.state_hash(), stage.world.state_hash());
}
