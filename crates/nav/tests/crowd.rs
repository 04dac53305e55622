//! Many walkers: nobody in a wall, nobody in anybody, nobody stuck for long.

mod site;

use glam::{Vec2, Vec3};
use nav::{
    Follower, NavMesh, Path, PathFinder, PolyRef, Spot, Status,
    crowd::{self, Body, Mover, Nearby, Neighbours, OVERLAP_MAX_M},
};
use site::{Random, Site};

const DT: f32 = 0.05;
const RADIUS_M: f32 = 0.3;

struct Walker {
    spot: Spot,
    velocity: Vec2,
    hindered: bool,
    wish: Vec2,
    left_m: f32,
    follower: Follower,
    /// Ticks without 10 cm of way, while it wants to go somewhere.
    waiting: u32,
    since: Vec2,
}

/// A world as `world` will have it.
struct Crowd<'a> {
    site: &'a Site,
    mesh: NavMesh,
    walkers: Vec<Walker>,
    neighbours: Neighbours,
    finder: PathFinder,
    /// Longest wait of anybody, ticks.
    waited: u32,
    /// Deepest overlap of any two.
    deepest: f32,
}

impl<'a> Crowd<'a> {
    fn new(site: &'a Site, places: impl Iterator<Item = Vec2>) -> Self {
        let mesh = site.mesh();
        let stand = |at: Vec2| {
            let spot = mesh.locate(site.ground(), at.extend(20.0), 1.0, PolyRef::NONE).unwrap();
            Walker {
                spot,
                velocity: Vec2::ZERO,
                hindered: false,
                wish: Vec2::ZERO,
                left_m: f32::MAX,
                follower: Follower::default(),
                waiting: 0,
                since: spot.at,
            }
        };
        let walkers = places.map(stand).collect();
        let (neighbours, finder) = (Neighbours::new(), PathFinder::new());
        Self { site, walkers, mesh, neighbours, finder, waited: 0, deepest: f32::MIN }
    }

    fn send(&mut self, index: usize, to: Vec2) {
        let goal = self.mesh.locate(self.site.ground(), to.extend(20.0), 1.0, PolyRef::NONE).unwrap();
        self.walkers[index].follower.go(goal, 3.2, 0.2);
    }

    fn tick(&mut self) {
        let body = |walker: &Walker| Body {
            at: walker.spot.at,
            velocity: walker.velocity,
            z: 20.0,
            radius: RADIUS_M,
            wish: walker.wish,
            left_m: walker.left_m,
        };
        self.neighbours.rebuild(self.walkers.iter().map(body));
        let (mut nearby, mut path) = (Nearby::new(), Path::EMPTY);
        for (index, walker) in (0u32..).zip(&mut self.walkers) {
            let pace = walker.follower.step(&self.mesh, walker.spot, walker.hindered, DT);
            if let (Status::NeedsPath, Some(goal)) = (pace.status, walker.follower.goal()) {
                self.finder.find(&self.mesh, walker.spot, goal, 2_000, &mut path);
                walker.follower.take(&path);
            }
            (walker.wish, walker.left_m) = (pace.velocity, pace.left_m);
            self.neighbours.around(index, &mut nearby);
            let mover = Mover { body: body(walker), pressing: pace.pressing };
            let step = crowd::walk(&self.mesh, walker.spot, &mover, &nearby, DT);
            assert!(self.mesh.holds(step.spot), "off the mesh: {:?}", step.spot);
            assert!(step.spot.at.distance(walker.spot.at) <= 3.2 * DT * 1.01 + 1e-3, "too fast: {step:?}");
            (walker.spot, walker.velocity, walker.hindered) = (step.spot, step.velocity, step.hindered);
            if walker.follower.goal().is_none() || walker.spot.at.distance(walker.since) > 0.1 {
                (walker.waiting, walker.since) = (0, walker.spot.at);
            } else {
                walker.waiting += 1;
            }
            self.waited = self.waited.max(walker.waiting);
            self.neighbours.relocate(index, body(walker));
        }
        for (index, a) in self.walkers.iter().enumerate() {
            for b in &self.walkers[..index] {
                self.deepest = self.deepest.max(2.0 * RADIUS_M - a.spot.at.distance(b.spot.at));
            }
        }
    }

    /// Ticks until nobody has a goal any more.
    fn until_all_are_there(&mut self, ticks: u32) -> u32 {
        for tick in 0..ticks {
            if self.walkers.iter().all(|walker| walker.follower.goal().is_none()) {
                return tick;
            }
            self.tick();
        }
        let late: Vec<Vec2> = self
            .walkers
            .iter()
            .filter(|walker| walker.follower.goal().is_some())
            .map(|walker| walker.spot.at)
            .collect();
        let all: Vec<Vec2> = self.walkers.iter().map(|walker| walker.spot.at).collect();
        panic!("after {ticks} ticks {} are on their way, at {late:?}, among {all:?}", late.len());
    }
}

fn square(count: u32, corner: Vec2, apart: f32) -> impl Iterator<Item = Vec2> {
    let side = libm::ceilf(libm::sqrtf(count as f32)) as u32;
    (0..count).map(move |n| corner + Vec2::new((n % side) as f32, (n / side) as f32) * apart)
}

#[test]
fn two_who_meet_head_on_pass_on_the_right() {
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
    assert!(crowd.waited < 400, "somebody waited {} ticks", crowd.waited);
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
    assert!(crowd.waited < 400, "somebody waited {} ticks", crowd.waited);
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
    // Those who pressed give room, and then nothing moves any more.
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
fn somebody_who_stands_in_a_door_is_no_wall() {
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
                    crowd.walkers[index].follower.go(goal, 2.0, 0.3);
                }
            }
            crowd.tick();
            assert!(crowd.waited < 300, "seed {seed}, tick {tick}: somebody waited {} ticks", crowd.waited);
        }
        assert!(crowd.deepest <= OVERLAP_MAX_M + 2e-3, "{} m", crowd.deepest);
    }
}
