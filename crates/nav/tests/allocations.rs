//! Warm, nothing that runs every tick asks for memory.

#[path = "nav/site/mod.rs"]
mod site;

use glam::Vec2;
use nav::{
    Path, PathFinder, PathFollower, PolyRef, SightObstacles, Status,
    crowd::{self, CrowdBody, Nearby, Neighbours, SteeredBody},
};
use site::{Random, Site};
use std::sync::Arc;
use telemetry::allocations::{CountingAllocator, count_here, counted};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[test]
fn steady_walking_searching_and_looking_ask_for_no_memory() {
    count_here("walk");
    let site = Site::flat(64).with_boxes(600, 1);
    let (mesh, ground) = (site.mesh(), site.ground());
    let sight = SightObstacles::new(ground, Arc::new(site.solids()));
    let mut random = Random(1);
    let at = Vec2::splat(32.0);
    let home = mesh.locate(ground, at.extend(ground.height(at)), 8.0, PolyRef::NONE).unwrap();
    let mut walkers: Vec<_> = (0..100)
        .map(|n| (mesh.random_near(ground, home, 20.0, n).unwrap(), Vec2::ZERO, PathFollower::default()))
        .collect();
    let (mut finder, mut path, mut nearby, mut neighbours) =
        (PathFinder::new(), Path::EMPTY, Nearby::new(), Neighbours::new());
    // The question itself asks for memory, too.
    let own = (0..3).map(|_| counted()["walk"]).collect::<Vec<_>>();
    let own = own[2] - own[1];
    let mut before = 0;
    for tick in 0..600 {
        if tick == 300 {
            before = counted()["walk"];
        }
        let body = |at: Vec2, velocity: Vec2| CrowdBody {
            at,
            velocity,
            preferred: velocity,
            radius: 0.3,
            ..CrowdBody::default()
        };
        neighbours.rebuild(walkers.iter().map(|(spot, velocity, _)| body(spot.at, *velocity)));
        for (index, (spot, velocity, follower)) in (0u32..).zip(&mut walkers) {
            let pace = follower.step(&mesh, *spot, false, 0.05);
            if pace.status != Status::Walking {
                follower.set_goal(mesh.random_near(ground, *spot, 20.0, random.bits()).unwrap(), 2.0, 0.3);
                finder.find(&mesh, *spot, follower.goal().unwrap(), 2_000, &mut path);
                follower.set_path(&path);
            }
            neighbours.around(index, &mut nearby);
            let body_now = CrowdBody { preferred: pace.velocity, ..body(spot.at, *velocity) };
            let mover = SteeredBody { body: body_now, pressing: pace.pressing };
            let step = crowd::walk(&mesh, *spot, &mover, &nearby, 0.05);
            (*spot, *velocity) = (step.spot, step.velocity);
            neighbours.relocate(index, body(spot.at, *velocity));
            let eye = |at: Vec2| at.extend(ground.height(at) + 1.6);
            let _ = sight.is_clear(ground, eye(spot.at), eye(home.at));
        }
    }
    assert!(before > 0, "nothing is counted");
    assert_eq!(counted()["walk"] - before, own);
}
