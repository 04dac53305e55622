//! Many walkers on one mesh, as a world has them.

use crate::site::Site;
use glam::Vec2;
use nav::{
    MeshPoint, NavMesh, Path, PathFinder, PathFollower, PolyRef, SightObstacles, Status,
    crowd::{self, CrowdBody, Nearby, Neighbours, STOREY_M, SteeredBody},
};
use std::sync::Arc;

pub(crate) const DT: f32 = 0.05;
pub(crate) const RADIUS_M: f32 = 0.3;
/// Highest speed of a walker, metres a second.
pub(crate) const SPEED_MAX_M_PER_S: f32 = 3.2;
/// From the soles to the eyes, metres: what hides one place from the next is no step and no kerb.
const EYES_M: f32 = 1.5;

pub(crate) struct WalkerSize {
    pub(crate) spot: MeshPoint,
    /// Height of the soles.
    z: f32,
    pub(crate) velocity: Vec2,
    hindered: bool,
    preferred: Vec2,
    left_m: f32,
    pub(crate) follower: PathFollower,
    /// Ticks without 10 cm of way, while it wants to go somewhere.
    waiting: u32,
    since: Vec2,
}

/// As `world` has them. Every tick is checked: no walker leaves the mesh, runs too fast, or comes through a wall.
pub(crate) struct Crowd<'a> {
    site: &'a Site,
    pub(crate) mesh: NavMesh,
    sight: SightObstacles,
    pub(crate) walkers: Vec<WalkerSize>,
    neighbours: Neighbours,
    finder: PathFinder,
    /// Longest wait of a walker, ticks.
    pub(crate) waited: u32,
    /// Number of goals given up.
    pub(crate) given_up: u32,
    /// Deepest overlap of any two.
    pub(crate) deepest: f32,
}

impl<'a> Crowd<'a> {
    pub(crate) fn new(site: &'a Site, places: impl Iterator<Item = Vec2>) -> Self {
        let mesh = site.mesh();
        let stand = |at: Vec2| {
            let spot = mesh.locate(site.ground(), at.extend(20.0), 1.0, PolyRef::NONE).unwrap();
            WalkerSize {
                spot,
                z: mesh.height(site.ground(), spot),
                velocity: Vec2::ZERO,
                hindered: false,
                preferred: Vec2::ZERO,
                left_m: f32::MAX,
                follower: PathFollower::default(),
                waiting: 0,
                since: spot.at,
            }
        };
        let walkers = places.map(stand).collect();
        let (neighbours, finder) = (Neighbours::new(), PathFinder::new());
        let sight = SightObstacles::new(site.ground(), Arc::new(site.solids()));
        Self { site, walkers, mesh, sight, neighbours, finder, waited: 0, given_up: 0, deepest: f32::MIN }
    }

    pub(crate) fn send(&mut self, index: usize, to: Vec2) {
        let goal = self.mesh.locate(self.site.ground(), to.extend(20.0), 1.0, PolyRef::NONE).unwrap();
        self.walkers[index].follower.set_goal(goal, SPEED_MAX_M_PER_S, 0.2);
    }

    pub(crate) fn tick(&mut self) {
        let body = |walker: &WalkerSize| CrowdBody {
            at: walker.spot.at,
            velocity: walker.velocity,
            z: walker.z,
            radius: RADIUS_M,
            preferred: walker.preferred,
            left_m: walker.left_m,
        };
        self.neighbours.rebuild(self.walkers.iter().map(body));
        let (mut nearby, mut path) = (Nearby::new(), Path::EMPTY);
        for (index, walker) in (0u32..).zip(&mut self.walkers) {
            let pace = walker.follower.step(&self.mesh, walker.spot, walker.hindered, DT);
            self.given_up += u32::from(pace.status == Status::GaveUp);
            if let (Status::NeedsPath, Some(goal)) = (pace.status, walker.follower.goal()) {
                self.finder.find(&self.mesh, walker.spot, goal, 2_000, &mut path);
                walker.follower.set_path(&path);
            }
            (walker.preferred, walker.left_m) = (pace.velocity, pace.left_m);
            self.neighbours.around(index, &mut nearby);
            let mover = SteeredBody { body: body(walker), pressing: pace.pressing };
            let step = crowd::walk(&self.mesh, walker.spot, &mover, &nearby, DT);
            assert!(self.mesh.holds(step.spot), "off the mesh: {:?}", step.spot);
            assert!(
                step.spot.at.distance(walker.spot.at) <= SPEED_MAX_M_PER_S * DT * 1.01 + 1e-3,
                "too fast: {step:?}"
            );
            let z = self.mesh.height(self.site.ground(), step.spot);
            let (from, to) = (walker.spot.at.extend(walker.z + EYES_M), step.spot.at.extend(z + EYES_M));
            assert!(self.sight.is_clear(self.site.ground(), from, to), "through a wall from {from} to {to}");
            (walker.spot, walker.velocity, walker.hindered) = (step.spot, step.velocity, step.hindered);
            walker.z = z;
            if walker.follower.goal().is_none() || walker.spot.at.distance(walker.since) > 0.1 {
                (walker.waiting, walker.since) = (0, walker.spot.at);
            } else {
                walker.waiting += 1;
            }
            self.waited = self.waited.max(walker.waiting);
            self.neighbours.relocate(index, body(walker));
        }
        for (index, a) in self.walkers.iter().enumerate() {
            for b in self.walkers[..index].iter().filter(|b| (a.z - b.z).abs() < STOREY_M) {
                self.deepest = self.deepest.max(2.0 * RADIUS_M - a.spot.at.distance(b.spot.at));
            }
        }
    }

    /// The walker that waits longest, its goal, and its neighbours.
    pub(crate) fn of_who_waits(&self) -> String {
        let walker = self.walkers.iter().max_by_key(|walker| walker.waiting).expect("a walker");
        let (at, goal) = (walker.spot.at, walker.follower.goal().map(|goal| goal.at));
        let near: Vec<String> = self
            .walkers
            .iter()
            .filter(|other| (0.001..2.0).contains(&other.spot.at.distance(at)))
            .map(|other| {
                let (at, goal) = (other.spot.at, other.follower.goal().map(|goal| goal.at));
                format!("{at} to {goal:?}, waiting {}, preferred {}", other.waiting, other.preferred)
            })
            .collect();
        format!(
            "at {at} to {goal:?}, preferred {}, hindered {}; near: {near:#?}",
            walker.preferred, walker.hindered
        )
    }

    /// Ticks until no walker has a goal any more.
    pub(crate) fn until_all_are_there(&mut self, ticks: u32) -> u32 {
        for tick in 0..ticks {
            if self.walkers.iter().all(|walker| walker.follower.goal().is_none()) {
                assert_eq!(self.given_up, 0, "not all of them are there");
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
