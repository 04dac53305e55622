//! Sitting, standing up, and what shows of it.

use crate::stage::{Stage, control, enter_at};
use glam::{Quat, Vec3};
use link::{Action, Change, ControlFlags};
use world::animations;

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
fn nobody_sits_down_in_the_air() {
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
fn animations_are_told_only_when_they_change() {
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
