//! On foot: speed, stops, slopes, borders and other people.

use crate::stage::{STANDING, Stage, TICK, config, control, enter_at};
use glam::{Quat, Vec2, Vec3};
use link::{Action, Change, ControlFlags, Terrain};
use std::{f32::consts::FRAC_PI_2, time::Duration};
use world::{BORDER_MARGIN_M, RUN_M_PER_S, WALK_M_PER_S, animations};

#[test]
fn a_held_key_walks_3_2_metres_a_second() {
    let mut stage = Stage::with_one();
    stage.press(1, ControlFlags::AT_POS.union(ControlFlags::FAST_AT));
    stage.run(100);
    assert!((stage.at(1).x - 128.0 - 5.0 * WALK_M_PER_S).abs() < 0.01, "at {}", stage.at(1));
    assert_eq!(stage.at(1).y, 128.0);
    assert_eq!(stage.motion(1).velocity, Vec3::new(WALK_M_PER_S, 0.0, 0.0));
    assert_eq!(stage.animations(1), [animations::WALK]);
}

#[test]
fn letting_go_stops_at_once_and_for_good() {
    let mut stage = Stage::with_one();
    stage.press(1, ControlFlags::AT_POS);
    stage.run(7);
    let before = stage.at(1);
    stage.press(1, ControlFlags::default());
    stage.step();
    assert_eq!((stage.at(1), stage.motion(1).velocity), (before, Vec3::ZERO));
    assert_eq!(stage.animations(1), [animations::STAND]);
    stage.step();
    assert!(stage.is_still(), "{:?}", stage.frame.changes);
}

#[test]
fn stop_overrules_a_held_key() {
    let mut stage = Stage::with_one();
    stage.press(1, ControlFlags::AT_POS);
    stage.run(3);
    stage.press(1, ControlFlags::AT_POS.union(ControlFlags::STOP));
    stage.step();
    assert_eq!(stage.motion(1).velocity, Vec3::ZERO);
}

#[test]
fn always_run_runs_and_fast_flags_do_not() {
    let mut stage = Stage::with_one();
    stage.send(1, Action::AlwaysRun(true));
    stage.press(1, ControlFlags::AT_POS);
    stage.step();
    assert_eq!(stage.motion(1).velocity.x, RUN_M_PER_S);
    assert_eq!(stage.animations(1), [animations::RUN]);
    stage.send(1, Action::AlwaysRun(false));
    stage.press(1, ControlFlags::AT_POS.union(ControlFlags::FAST_AT));
    stage.step();
    assert_eq!(stage.motion(1).velocity.x, WALK_M_PER_S);
}

#[test]
fn the_body_gives_the_direction_and_diagonals_are_no_faster() {
    let mut stage = Stage::with_one();
    stage.send(
        1,
        control(ControlFlags::AT_POS.union(ControlFlags::LEFT_POS), Quat::from_rotation_z(FRAC_PI_2)),
    );
    stage.step();
    let velocity = stage.motion(1).velocity;
    assert!((velocity.length() - WALK_M_PER_S).abs() < 1e-4);
    assert!(velocity.x < -2.0 && velocity.y > 2.0, "north-west: {velocity}");
}

#[test]
fn a_tap_within_one_tick_still_makes_a_step() {
    let mut stage = Stage::with_one();
    stage.press(1, ControlFlags::NUDGE_AT_POS);
    stage.press(1, ControlFlags::default());
    stage.step();
    let step = stage.at(1).x - 128.0;
    assert!((0.05..0.2).contains(&step), "{step} m");
    stage.run(2);
    assert_eq!(stage.at(1).x - 128.0, step);
    assert!(stage.is_still());
}

#[test]
fn the_newest_control_of_a_tick_decides_the_held_keys() {
    let mut stage = Stage::with_one();
    stage.press(1, ControlFlags::AT_POS);
    stage.press(1, ControlFlags::AT_NEG);
    stage.step();
    assert_eq!(stage.motion(1).velocity.x, -WALK_M_PER_S);
}

#[test]
fn turning_on_the_spot_is_sent_and_a_broken_rotation_ignored() {
    let mut stage = Stage::with_one();
    let turned = Quat::from_rotation_z(0.001);
    stage.send(1, control(ControlFlags::default(), turned));
    stage.step();
    assert!(matches!(stage.frame.changes[..], [Change::Moved(_, motion)] if motion.rotation == turned));
    stage.send(1, control(ControlFlags::AT_POS, Quat::from_xyzw(f32::NAN, 0.0, 0.0, 1.0)));
    stage.step();
    let motion = stage.motion(1);
    assert_eq!(motion.rotation, turned);
    assert!(motion.position.is_finite() && motion.velocity.x > 3.0, "the flags still count: {motion:?}");
}

#[test]
fn borders_stop_walkers_from_every_side() {
    let far = 256.0 - BORDER_MARGIN_M;
    let near = BORDER_MARGIN_M;
    for (heading, end) in [
        (0.0, Vec2::new(far, 128.0)),
        (FRAC_PI_2, Vec2::new(128.0, far)),
        (2.0 * FRAC_PI_2, Vec2::new(near, 128.0)),
        (3.0 * FRAC_PI_2, Vec2::new(128.0, near)),
    ] {
        let mut stage = Stage::with_one();
        stage.send(1, Action::AlwaysRun(true));
        stage.send(1, control(ControlFlags::AT_POS, Quat::from_rotation_z(heading)));
        stage.run(20 * 30);
        assert!(stage.at(1).distance(end) < 0.1, "heading {heading}: {}", stage.at(1));
        assert!(stage.motion(1).velocity.length() < 0.01, "still moves at {}", stage.motion(1).velocity);
    }
}

#[test]
fn walkers_keep_their_soles_on_the_hills() {
    let hills = Terrain::hills(256, 5);
    let mut stage = Stage::new(config(hills.clone()));
    stage.send(1, enter_at(Vec3::new(20.0, 30.0, 0.0)));
    stage.step();
    stage.send(1, control(ControlFlags::AT_POS, Quat::from_rotation_z(0.7)));
    let mut well_predicted = 0;
    for _ in 0..1_600 {
        let from = stage.motion(1);
        stage.step();
        let at = stage.motion(1).position;
        let gap = at.z - STANDING - hills.height(at.x, at.y);
        assert!(gap.abs() < 1e-3, "{gap} m above ground at {at}");
        well_predicted += u32::from(at.distance(from.position + from.velocity * 0.05) < 0.02);
    }
    assert!(stage.at(1).x > 200.0, "stuck at {}", stage.at(1));
    assert!(well_predicted > 1_500, "the velocity predicts only {well_predicted} of 1,600 ticks");
}

#[test]
fn an_avatar_cannot_walk_up_a_cliff_but_may_fall_down_one() {
    // A step of 20 m at x = 130: the metre before it is a slope of 87°.
    let heights = (0..256 * 256).map(|i| if i % 256 < 130 { 21.0 } else { 41.0 }).collect();
    let cliff = config(Terrain::from_heights(256, heights).unwrap());

    let mut below = Stage::new(cliff.clone());
    below.send(1, enter_at(Vec3::new(120.0, 128.0, 22.0)));
    below.press(1, ControlFlags::AT_POS);
    below.run(200);
    assert!(
        below.motion(1).position.z < 25.0 && below.at(1).x < 129.3,
        "climbed to {}",
        below.motion(1).position
    );
    assert_eq!(below.motion(1).velocity, Vec3::ZERO);

    let mut above = Stage::new(cliff);
    above.send(1, enter_at(Vec3::new(140.0, 128.0, 42.0)));
    above.press(1, ControlFlags::AT_NEG);
    above.run(80);
    assert_eq!(above.animations(1), [animations::FALL_DOWN]);
    above.run(120);
    assert_eq!(above.motion(1).position.z, 21.0 + STANDING, "ends on the ground below");
    assert_eq!(above.animations(1), [animations::WALK]);
}

#[test]
fn two_avatars_that_walk_into_each_other_never_overlap_and_both_get_past() {
    let mut stage = Stage::flat();
    stage.send(1, enter_at(Vec3::new(120.0, 128.0, 22.0)));
    stage.send(2, enter_at(Vec3::new(136.0, 128.0, 22.0)));
    stage.send(1, control(ControlFlags::AT_POS, Quat::IDENTITY));
    stage.send(2, control(ControlFlags::AT_POS, Quat::from_rotation_z(2.0 * FRAC_PI_2)));
    for _ in 0..200 {
        stage.step();
        assert!(stage.at(1).distance(stage.at(2)) > 0.599, "{} and {}", stage.at(1), stage.at(2));
    }
    assert!(stage.at(1).x > 136.0 && stage.at(2).x < 120.0, "{} and {}", stage.at(1), stage.at(2));
}

#[test]
fn a_standing_avatar_is_not_pushed() {
    let mut stage = Stage::flat();
    stage.send(1, enter_at(Vec3::new(128.0, 128.0, 22.0)));
    stage.send(2, enter_at(Vec3::new(125.0, 128.2, 22.0)));
    stage.step();
    let stander = stage.motion(1);
    stage.press(2, ControlFlags::AT_POS);
    stage.run(60);
    assert_eq!(stage.motion(1), stander);
    assert!(stage.at(2).x > 130.0, "the walker got past: {}", stage.at(2));
}

#[test]
fn an_avatar_that_slides_along_others_is_extrapolated_along_its_path() {
    let mut stage = Stage::flat();
    // A row of avatars, obliquely in the way of one that walks along it.
    for n in 0..8 {
        stage.send(10 + n, enter_at(Vec3::new(128.0 + n as f32 * 0.9, 128.0 + n as f32 * 0.3, 22.0)));
    }
    stage.send(1, enter_at(Vec3::new(126.0, 128.3, 22.0)));
    stage.step();
    stage.press(1, ControlFlags::AT_POS);
    let (mut slid, mut before) = (0, stage.at(1));
    for _ in 0..80 {
        stage.step();
        let went = (stage.at(1) - before) / TICK.as_secs_f32();
        let velocity = stage.motion(1).velocity.truncate();
        assert!(velocity.distance(went) < 0.06, "{velocity} is shown, {went} was gone");
        slid += usize::from(went.distance(Vec2::new(3.2, 0.0)) > 0.1);
        before = stage.at(1);
    }
    assert!(slid > 10, "{slid} ticks of sliding");
}

#[test]
fn the_sea_bed_can_be_walked() {
    let mut stage = Stage::new(config(Terrain::flat(256, 10.0)));
    stage.send(1, enter_at(Vec3::new(128.0, 128.0, 11.0)));
    stage.press(1, ControlFlags::AT_POS);
    stage.run(20);
    assert_eq!(stage.motion(1).position.z, 10.0 + STANDING);
    assert_eq!(stage.motion(1).velocity, Vec3::new(WALK_M_PER_S, 0.0, 0.0));
}

#[test]
fn the_way_does_not_depend_on_the_tick_rate() {
    let way = |ticks: u32, dt: Duration| {
        let mut stage = Stage::with_one();
        stage.press(1, ControlFlags::AT_POS);
        for _ in 0..ticks {
            stage.step_by(dt);
        }
        stage.motion(1).position
    };
    let at_20_hz = way(60, Duration::from_millis(50));
    assert!(at_20_hz.x > 137.0);
    assert_eq!(way(30, Duration::from_millis(100)), at_20_hz);
    assert_eq!(way(120, Duration::from_millis(25)), at_20_hz);
}

#[test]
#[should_panic(expected = "schedulers dilate time, they do not lengthen steps")]
fn a_step_longer_than_a_second_is_refused() {
    Stage::with_one().step_by(Duration::from_millis(1_001));
}
