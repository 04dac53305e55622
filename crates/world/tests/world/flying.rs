//! Off the ground: flight, jumps and falls.

use crate::stage::{STANDING, Stage, config, control, enter_at};
use glam::{Quat, Vec3};
use link::{CEILING_M, ControlFlags, Terrain};
use world::{FLY_M_PER_S, animations};

const FLY_UP: ControlFlags = ControlFlags::FLY.union(ControlFlags::UP_POS);

#[test]
fn a_press_jumps_once_and_lands_where_it_began() {
    let mut stage = Stage::with_one();
    let ground = stage.motion(1).position.z;
    stage.press(1, ControlFlags::UP_POS);
    stage.step();
    assert_eq!(stage.animations(1), [animations::PRE_JUMP]);
    let mut top = 0.0_f32;
    let mut seen = Vec::new();
    for _ in 0..80 {
        stage.step();
        top = top.max(stage.motion(1).position.z - ground);
        if seen.last() != stage.animations(1).first() {
            seen.extend(stage.animations(1));
        }
    }
    assert!((1.4..1.7).contains(&top), "jumped {top} m");
    assert_eq!(stage.motion(1).position.z, ground);
    assert_eq!(stage.motion(1).velocity, Vec3::ZERO);
    assert_eq!(seen, [animations::PRE_JUMP, animations::JUMP, animations::LAND, animations::STAND]);
    stage.step();
    assert!(stage.is_still(), "the key is still held, and that is no second press");
}

#[test]
fn finish_anim_ends_the_pre_jump() {
    let mut stage = Stage::with_one();
    stage.press(1, ControlFlags::UP_POS);
    stage.press(1, ControlFlags::default());
    stage.step();
    stage.press(1, ControlFlags::FINISH_ANIM);
    stage.step();
    assert_eq!(stage.animations(1), [animations::JUMP]);
    assert!(stage.motion(1).velocity.z > 4.0);
}

#[test]
fn a_jump_while_walking_goes_on_forward() {
    let mut stage = Stage::with_one();
    stage.press(1, ControlFlags::AT_POS);
    stage.step();
    stage.press(1, ControlFlags::AT_POS.union(ControlFlags::UP_POS));
    stage.run(60);
    assert!((stage.at(1).x - 128.0 - 61.0 * 0.16).abs() < 0.3, "at {}", stage.at(1));
    assert_eq!(stage.animations(1), [animations::WALK]);
}

#[test]
fn flight_rises_hovers_and_falls_when_it_ends() {
    let mut stage = Stage::with_one();
    stage.press(1, FLY_UP);
    stage.run(40);
    assert_eq!(stage.animations(1), [animations::HOVER_UP]);
    stage.press(1, ControlFlags::FLY);
    stage.run(20);
    let height = stage.motion(1).position.z;
    assert!(height > 30.0);
    assert_eq!(stage.motion(1).velocity, Vec3::ZERO);
    assert_eq!(stage.animations(1), [animations::HOVER]);
    stage.step();
    assert!(stage.is_still(), "hovers");

    stage.press(1, ControlFlags::default());
    stage.run(12);
    assert_eq!(stage.animations(1), [animations::FALL_DOWN]);
    stage.run(100);
    assert_eq!(stage.motion(1).position.z, 21.0 + STANDING);
    assert_eq!(stage.animations(1), [animations::STAND]);
}

#[test]
fn flight_goes_where_the_body_points_and_stops() {
    let mut stage = Stage::with_one();
    stage.press(1, FLY_UP);
    stage.run(20);
    let up = Quat::from_rotation_y(-0.5);
    stage.send(1, control(ControlFlags::FLY.union(ControlFlags::AT_POS), up));
    stage.run(40);
    let motion = stage.motion(1);
    assert!((motion.velocity.length() - FLY_M_PER_S).abs() < 1e-3 && motion.velocity.z > 7.0, "{motion:?}");
    assert!(motion.rotation.angle_between(up) < 1e-3, "a flyer may lean");
    assert_eq!(stage.animations(1), [animations::FLY]);
    stage.send(1, control(ControlFlags::FLY.union(ControlFlags::STOP), up));
    stage.step();
    assert_eq!(stage.motion(1).velocity, Vec3::ZERO);
}

#[test]
fn flyers_stay_above_ground_and_water_and_below_the_ceiling() {
    let hills = Terrain::hills(256, 5);
    let mut stage = Stage::new(config(hills.clone()));
    stage.send(1, enter_at(Vec3::new(10.0, 10.0, 0.0)));
    let down = ControlFlags::FLY.union(ControlFlags::AT_POS).union(ControlFlags::UP_NEG);
    stage.press(1, FLY_UP);
    stage.run(20);
    stage.send(1, control(down, Quat::from_rotation_z(0.75)));
    for _ in 0..400 {
        stage.step();
        let at = stage.motion(1).position;
        assert!(at.z >= hills.height(at.x, at.y).max(20.0) + STANDING - 1e-3, "sunk at {at}");
    }
    stage.press(1, FLY_UP);
    stage.run(20 * 60 * 10);
    assert_eq!(stage.motion(1).position.z, CEILING_M - STANDING);
    assert_eq!(stage.motion(1).velocity, Vec3::ZERO);
}

#[test]
fn taking_off_under_water_ends_on_its_surface() {
    let mut stage = Stage::new(config(Terrain::flat(256, 10.0)));
    stage.send(1, enter_at(Vec3::new(128.0, 128.0, 11.0)));
    stage.press(1, ControlFlags::FLY);
    stage.run(20);
    let rising = stage.motion(1);
    assert!(rising.position.z < 16.0 && rising.velocity.z > 3.0, "rises, does not jump: {rising:?}");
    stage.run(100);
    assert_eq!(stage.motion(1).position.z, 20.0 + STANDING);
    assert_eq!(stage.motion(1).velocity, Vec3::ZERO);
}
