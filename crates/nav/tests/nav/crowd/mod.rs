//! Many walkers: none in a wall, none in another, none stuck for long.

mod properties;
mod throng;

use crate::site::{Random, Site};
use glam::{Vec2, Vec3};
use nav::{PolyRef, crowd::OVERLAP_MAX_M};
use throng::Crowd;

fn square(count: u32, corner: Vec2, apart: f32) -> impl Iterator<Item = Vec2> {
    let side = libm::ceilf(libm::sqrtf(count as f32)) as u32;
    (0..count).map(move |n| corner + Vec2::new((n % side) as f32, (n / side) as f32) * apart)
}

#[test]
fn two_walkers_that_meet_head_on_pass_on_the_right() {
    for offset in [0.0, 0.05, -0.2] {
        let site = Site::flat(64);
        let mut crowd =
            Crowd::new(&site, [Vec2::new(20.0, 30.0), Vec2::new(40.0, 30.0 + offset)].into_iter());
        crowd.send(0, Vec2::new(40.0, 30.0));
        crowd.send(1, Vec2::new(20.0, 30.0));
        let ticks = crowd.until_all_are_there(300);
        assert!(ticks < 150, "{ticks} ticks for 20 m");
        assert!(crowd.deepest <= 2e-3, "{} m", crowd.deepest);
    }
}

#[test]
fn fifty_go_through_a_door() {
    let mut site = Site::flat(64);
    // A door of 1.2 m.
    site.block(Vec3::new(15.7, 32.0, 21.5), Vec3::new(31.4, 0.2, 3.0));
    site.block(Vec3::new(48.3, 32.0, 21.5), Vec3::new(31.4, 0.2, 3.0));
    let mut crowd = Crowd::new(&site, square(50, Vec2::new(27.0, 20.0), 1.2));
    for (n, at) in square(50, Vec2::new(27.0, 40.0), 1.4).enumerate() {
        crowd.send(n, at);
    }
    crowd.until_all_are_there(3_000);
    assert!(crowd.waited < 400, "a walker waited {} ticks", crowd.waited);
    assert!(crowd.deepest <= OVERLAP_MAX_M + 2e-3, "{} m", crowd.deepest);
}

#[test]
fn two_streams_pass_in_a_corridor_of_three_metres() {
    let mut site = Site::flat(64);
    site.block(Vec3::new(32.0, 30.3, 21.5), Vec3::new(62.0, 0.2, 3.0));
    site.block(Vec3::new(32.0, 33.7, 21.5), Vec3::new(62.0, 0.2, 3.0));
    let row = |x: f32, step: f32| {
        (0..20).map(move |n| Vec2::new(x + step * (n / 2) as f32, 31.4 + 1.2 * (n % 2) as f32))
    };
    let mut crowd = Crowd::new(&site, row(5.0, 1.2).chain(row(59.0, -1.2)));
    for n in 0..20 {
        crowd.send(n, Vec2::new(59.0 - 1.2 * (n / 2) as f32, 31.4 + 1.2 * (n % 2) as f32));
        crowd.send(n + 20, Vec2::new(5.0 + 1.2 * (n / 2) as f32, 31.4 + 1.2 * (n % 2) as f32));
    }
    crowd.until_all_are_there(3_000);
    assert!(crowd.waited < 400, "a walker waited {} ticks", crowd.waited);
    assert!(crowd.deepest <= OVERLAP_MAX_M + 2e-3, "{} m", crowd.deepest);
}

#[test]
fn a_crowd_with_one_goal_comes_to_rest_around_it() {
    let site = Site::flat(64);
    let mut crowd = Crowd::new(&site, square(50, Vec2::new(10.0, 10.0), 1.5));
    for n in 0..50 {
        crowd.send(n, Vec2::new(45.0, 45.0));
    }
    crowd.until_all_are_there(2_000);
    // The pressing walkers give room, and then nothing moves any more.
    for _ in 0..100 {
        crowd.tick();
    }
    let places: Vec<Vec2> = crowd.walkers.iter().map(|walker| walker.spot.at).collect();
    for _ in 0..100 {
        crowd.tick();
    }
    for (walker, place) in crowd.walkers.iter().zip(&places) {
        assert_eq!((walker.spot.at, walker.velocity), (*place, Vec2::ZERO));
        assert!(place.distance(Vec2::splat(45.0)) < 5.0, "{place}");
    }
}

#[test]
fn a_walker_standing_in_a_door_is_no_wall() {
    let mut site = Site::flat(64);
    site.block(Vec3::new(15.7, 32.0, 21.5), Vec3::new(31.4, 0.2, 3.0));
    site.block(Vec3::new(48.3, 32.0, 21.5), Vec3::new(31.4, 0.2, 3.0));
    let mut crowd = Crowd::new(&site, [Vec2::new(32.0, 32.0), Vec2::new(32.0, 25.0)].into_iter());
    crowd.send(1, Vec2::new(32.0, 40.0));
    crowd.until_all_are_there(600);
    assert!(crowd.deepest <= OVERLAP_MAX_M + 2e-3, "{} m", crowd.deepest);
}

#[test]
fn a_steady_walk_has_one_velocity_bit_for_bit() {
    let site = Site::flat(256);
    let mut crowd = Crowd::new(&site, [Vec2::new(13.3, 17.7)].into_iter());
    crowd.send(0, Vec2::new(241.1, 203.9));
    crowd.tick();
    crowd.tick();
    let velocity = crowd.walkers[0].velocity;
    assert!((velocity.length() - 3.2).abs() < 1e-5, "{velocity}");
    for _ in 0..1_800 {
        crowd.tick();
        assert_eq!(crowd.walkers[0].velocity, velocity);
    }
}

#[test]
fn random_crowds_among_boxes_keep_all_promises() {
    for seed in 1..=3 {
        let site = Site::flat(64).with_boxes(150, seed);
        let mut random = Random(seed);
        let mesh = site.mesh();
        let home = mesh.locate(site.ground(), Vec3::new(32.0, 32.0, 20.0), 4.0, PolyRef::NONE).unwrap();
        let mut places: Vec<Vec2> = Vec::new();
        while places.len() < 60 {
            let spot = mesh.random_near(site.ground(), home, 15.0, random.bits()).unwrap();
            if places.iter().all(|place| place.distance(spot.at) > 0.7) {
                places.push(spot.at);
            }
        }
        let mut crowd = Crowd::new(&site, places.into_iter());
        for tick in 0..2_400u32 {
            for index in 0..60 {
                let walker = &crowd.walkers[index];
                if walker.follower.goal().is_none() && random.share() < 0.05 {
                    let goal = mesh.random_near(site.ground(), home, 15.0, random.bits()).unwrap();
                    crowd.walkers[index].follower.set_goal(goal, 2.0, 0.3);
                }
            }
            crowd.tick();
            assert!(crowd.waited < 300, "seed {seed}, tick {tick}: a walker waited {} ticks", crowd.waited);
        }
        assert!(crowd.deepest <= OVERLAP_MAX_M + 2e-3, "{} m", crowd.deepest);
    }
}
