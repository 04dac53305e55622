//! Cost of walking: building meshes, searching, sliding, keeping apart, looking.
//!
//! `cargo bench -p nav` measures regions of 256 m and a thousand worlds of twenty walkers; `cargo test` runs the same scenes with a few, so
//! that they keep working. Goal: to see what a change costs. Not a goal: to promise anything, so nothing is asserted; a hash of the
//! results is printed to show that faster code still does the same. All worlds share one mesh, as the instances of a template do, and are
//! gone through one after the other, so that each finds its walkers out of the caches.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock and prints"
)]

#[path = "../tests/nav/site/mod.rs"]
mod site;

use glam::{Vec2, Vec3};
use nav::{
    MeshPoint, NavMesh, Path, PathFinder, PathFollower, PolyRef, SightObstacles, Status,
    crowd::{self, CrowdBody, Nearby, Neighbours, SteeredBody},
};
use site::{Random, Site};
use std::{hint::black_box, sync::Arc, time::Instant};

const DT: f32 = 0.05;

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let size_m = if full { 256 } else { 64 };
    let boxes = size_m * size_m * 10_000 / 65_536;
    let sites = [
        ("hills", Site::hills(size_m, 1)),
        ("hills with boxes", Site::hills(size_m, 1).with_boxes(boxes, 1)),
        ("rooms", Site::rooms(size_m)),
    ];
    println!("regions of {size_m} m, {boxes} boxes");
    for (name, site) in &sites {
        let mesh = build(name, site);
        let times = if full { 200_000 } else { 200 };
        slide(name, site, &mesh, times);
        paths(name, site, &mesh, times / 100);
        locate(name, site, &mesh, times / 10);
        sight(name, site, times / 4);
    }
    let (worlds, ticks) = if full { (1_000, 60) } else { (4, 5) };
    for (name, site) in &sites {
        worlds_of_walkers(name, site, worlds, ticks, 20);
    }
    for count in [20, 32, 48, 64, 100, 1_000, 5_000] {
        neighbours(count, if full { 400_000 / count } else { 2 });
    }
    steering(if full { 1_000_000 } else { 100 });
}

fn build(name: &str, site: &Site) -> NavMesh {
    let mut best = f64::MAX;
    let mut mesh = site.mesh();
    for _ in 0..3 {
        let began = Instant::now();
        mesh = site.mesh();
        best = best.min(began.elapsed().as_secs_f64() * 1e3);
    }
    let (polys, kib) = (mesh.poly_count(), mesh.bytes() / 1_024);
    println!("{name:<20} build   {best:>8.1} ms  {polys} polygons, {kib} KiB, {:016x}", mesh.fingerprint());
    mesh
}

/// Walkers that keep their direction until they hit something.
fn slide(name: &str, site: &Site, mesh: &NavMesh, times: u64) {
    let mut random = Random(3);
    let mut walkers: Vec<(MeshPoint, Vec2)> =
        (0..64).map(|_| (somewhere(site, mesh, &mut random), step(&mut random))).collect();
    let began = Instant::now();
    let mut hits = 0;
    for n in 0..times {
        let (spot, way) = &mut walkers[(n % 64) as usize];
        let slid = mesh.slide(*spot, spot.at + *way);
        *spot = slid.spot;
        if slid.hindered {
            hits += 1;
            *way = step(&mut random);
        }
    }
    let ns = began.elapsed().as_secs_f64() * 1e9 / times as f64;
    println!(
        "{name:<20} slide   {ns:>8.1} ns  {:.1} % hindered, {:08x}",
        hits as f64 * 100.0 / times as f64,
        sum(&walkers)
    );
}

fn paths(name: &str, site: &Site, mesh: &NavMesh, times: u64) {
    for reach in [20.0, 60.0] {
        let mut random = Random(5);
        let ends: Vec<(MeshPoint, MeshPoint)> = (0..times)
            .map(|n| {
                let from = somewhere(site, mesh, &mut random);
                (from, mesh.random_near(site.ground(), from, reach, n).unwrap())
            })
            .collect();
        let (mut finder, mut path) = (PathFinder::new(), Path::EMPTY);
        let (mut nodes, mut corners) = (0, 0);
        let began = Instant::now();
        for &(from, to) in &ends {
            nodes += finder.find(mesh, from, to, 2_048, &mut path).nodes;
            corners += path.corners().len();
        }
        let us = began.elapsed().as_secs_f64() * 1e6 / times as f64;
        let per = |count: f64| count / times as f64;
        println!(
            "{name:<20} path    {us:>8.2} us  within {reach} m: {:.0} polygons, {:.1} corners",
            per(f64::from(nodes)),
            per(corners as f64)
        );
    }
}

fn locate(name: &str, site: &Site, mesh: &NavMesh, times: u64) {
    let mut random = Random(9);
    let spots: Vec<MeshPoint> = (0..256).map(|_| somewhere(site, mesh, &mut random)).collect();
    for (how, hinted) in [("with a hint", true), ("without", false)] {
        let began = Instant::now();
        let mut found = 0;
        for n in 0..times {
            let spot = spots[(n % 256) as usize];
            let hint = if hinted { spot.poly } else { PolyRef::NONE };
            let at = spot.at.extend(mesh.height(site.ground(), spot));
            found += u64::from(mesh.locate(site.ground(), at, 1.0, hint).is_some());
        }
        let ns = began.elapsed().as_secs_f64() * 1e9 / times as f64;
        println!("{name:<20} locate  {ns:>8.1} ns  {how}, {found} found");
    }
}

/// From eye to eye over 30 m.
fn sight(name: &str, site: &Site, times: u64) {
    let sight = SightObstacles::new(site.ground(), Arc::new(site.solids()));
    let mut random = Random(11);
    let eye = |at: Vec2| at.extend(site.ground().height(at) + 1.6);
    let size = site.size_m as f32;
    let rays: Vec<(Vec3, Vec3)> = (0..1_024)
        .map(|_| {
            let from = Vec2::new(random.share(), random.share()) * size;
            (
                eye(from),
                eye((from + step(&mut random).normalize() * 30.0).clamp(Vec2::ZERO, Vec2::splat(size))),
            )
        })
        .collect();
    let began = Instant::now();
    let mut clear = 0;
    for n in 0..times {
        let (from, to) = rays[(n % 1_024) as usize];
        clear += u64::from(sight.is_clear(site.ground(), from, to));
    }
    let ns = began.elapsed().as_secs_f64() * 1e9 / times as f64;
    println!("{name:<20} sight   {ns:>8.1} ns  {:.0} % clear", clear as f64 * 100.0 / times as f64);
}

struct World {
    neighbours: Neighbours,
    walkers: Vec<WalkerSize>,
}

struct WalkerSize {
    spot: MeshPoint,
    velocity: Vec2,
    hindered: bool,
    preferred: Vec2,
    left_m: f32,
    follower: PathFollower,
}

/// Every walker wanders within 30 m: follower, neighbours, steering, step. Searches are timed apart.
fn worlds_of_walkers(name: &str, site: &Site, worlds: u64, ticks: u32, each: u32) {
    let mesh = Arc::new(site.mesh());
    let mut random = Random(7);
    let mut worlds: Vec<World> = (0..worlds)
        .map(|_| {
            let home = somewhere(site, &mesh, &mut random);
            let walkers = (0..each)
                .map(|n| WalkerSize {
                    spot: mesh
                        .random_near(site.ground(), home, 15.0, random.bits() ^ u64::from(n))
                        .unwrap_or(home),
                    velocity: Vec2::ZERO,
                    hindered: false,
                    preferred: Vec2::ZERO,
                    left_m: f32::MAX,
                    follower: PathFollower::default(),
                })
                .collect();
            World { neighbours: Neighbours::new(), walkers }
        })
        .collect();
    let (mut finder, mut path, mut nearby) = (PathFinder::new(), Path::EMPTY, Nearby::new());
    let (mut searching, mut searches, mut moving, mut touching) = (0.0, 0u64, 0u64, 0u64);
    let mut took = 0.0;
    for _ in 0..ticks {
        let began = Instant::now();
        let searched_before = searching;
        for world in &mut worlds {
            let body = |walker: &WalkerSize| CrowdBody {
                at: walker.spot.at,
                velocity: walker.velocity,
                z: 20.0,
                radius: 0.3,
                preferred: walker.preferred,
                left_m: walker.left_m,
            };
            world.neighbours.rebuild(world.walkers.iter().map(body));
            for (index, walker) in (0u32..).zip(&mut world.walkers) {
                let pace = walker.follower.step(&mesh, walker.spot, walker.hindered, DT);
                if pace.status != Status::Walking {
                    let began = Instant::now();
                    if let Some(goal) = mesh.random_near(site.ground(), walker.spot, 30.0, random.bits()) {
                        walker.follower.set_goal(goal, 2.0, 0.3);
                        finder.find(&mesh, walker.spot, goal, 1_024, &mut path);
                        walker.follower.set_path(&path);
                        searches += 1;
                    }
                    searching += began.elapsed().as_secs_f64();
                }
                (walker.preferred, walker.left_m) = (pace.velocity, pace.left_m);
                world.neighbours.around(index, &mut nearby);
                let mover = SteeredBody { body: body(walker), pressing: pace.pressing };
                let step = crowd::walk(&mesh, walker.spot, &mover, &nearby, DT);
                touching += nearby.len() as u64;
                moving += u64::from(step.velocity != Vec2::ZERO);
                walker.spot = step.spot;
                walker.velocity = step.velocity;
                walker.hindered = step.hindered;
                world.neighbours.relocate(index, body(walker));
            }
        }
        took += began.elapsed().as_secs_f64() - (searching - searched_before);
    }
    let steps = (worlds.len() as u32 * each * ticks) as f64;
    let places: Vec<(MeshPoint, Vec2)> =
        worlds.iter().flat_map(|world| &world.walkers).map(|walker| (walker.spot, walker.velocity)).collect();
    println!(
        "{name:<20} walkers {:>8.1} ns  a tick, and {:.1} us a goal and search; {:.0} % move, {:.1} neighbours, {:.3} searches a tick and world, {} B each, {:08x}",
        took * 1e9 / steps,
        searching * 1e6 / searches as f64,
        moving as f64 * 100.0 / steps,
        touching as f64 / steps,
        searches as f64 / (f64::from(ticks) * worlds.len() as f64),
        size_of::<WalkerSize>(),
        sum(&places),
    );
}

/// Finding neighbours and recording a step, among `count` walkers on 2 m² each.
fn neighbours(count: u32, rounds: u32) {
    let mut random = Random(13);
    let side = (count as f32 * 2.0).sqrt();
    let body = |random: &mut Random| CrowdBody {
        at: Vec2::new(random.share(), random.share()) * side,
        radius: 0.3,
        ..CrowdBody::default()
    };
    let mut bodies: Vec<CrowdBody> = (0..count).map(|_| body(&mut random)).collect();
    let (mut neighbours, mut nearby) = (Neighbours::new(), Nearby::new());
    let began = Instant::now();
    for _ in 0..rounds {
        neighbours.rebuild(bodies.iter().copied());
        for index in 0..count {
            neighbours.around(index, &mut nearby);
            let body = &mut bodies[index as usize];
            body.at += Vec2::new(0.01, black_box(nearby.len()) as f32 * 1e-4);
            neighbours.relocate(index, *body);
        }
    }
    let ns = began.elapsed().as_secs_f64() * 1e9 / f64::from(count * rounds);
    println!("{:<20} nearest {ns:>8.1} ns  among {count}", "");
}

fn steering(times: u32) {
    let body = CrowdBody { radius: 0.3, preferred: Vec2::new(2.0, 0.0), ..CrowdBody::default() };
    let mover = SteeredBody { body, pressing: false };
    let body = |x: f32, y: f32, vx: f32| CrowdBody {
        at: Vec2::new(x, y),
        velocity: Vec2::new(vx, 0.3),
        radius: 0.3,
        ..CrowdBody::default()
    };
    let scenes = [
        (
            "free, 4 near",
            [body(-1.0, 1.0, 0.0), body(3.0, 3.0, 1.0), body(-2.0, -1.0, 2.0), body(1.0, 4.0, 0.0)],
        ),
        (
            "ahead, 4 near",
            [body(2.0, 0.2, -1.0), body(3.0, 1.0, -2.0), body(1.0, -1.0, 0.0), body(2.0, 2.0, -1.0)],
        ),
    ];
    for (name, others) in scenes {
        let began = Instant::now();
        for _ in 0..times {
            black_box(crowd::steer(black_box(&mover), black_box(&others), DT));
        }
        let ns = began.elapsed().as_secs_f64() * 1e9 / f64::from(times);
        println!("{name:<20} steer   {ns:>8.1} ns");
    }
}

fn somewhere(site: &Site, mesh: &NavMesh, random: &mut Random) -> MeshPoint {
    loop {
        let at = Vec2::new(random.share(), random.share()) * site.size_m as f32;
        let found = mesh.locate(site.ground(), at.extend(site.ground().height(at)), 1.0, PolyRef::NONE);
        if let Some(spot) = found {
            return spot;
        }
    }
}

/// Of 0.1 m, any way.
fn step(random: &mut Random) -> Vec2 {
    Vec2::from_angle(random.share() * core::f32::consts::TAU) * 0.1
}

fn sum(walkers: &[(MeshPoint, Vec2)]) -> u32 {
    walkers.iter().fold(0u32, |sum, (spot, way)| {
        let bits = spot.at.x.to_bits() ^ spot.at.y.to_bits().rotate_left(7) ^ way.x.to_bits().rotate_left(13);
        (sum ^ bits).wrapping_mul(0x9E37_79B1)
    })
}
