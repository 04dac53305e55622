//! Cost of moving avatars among prims, and of what the prims cost before.
//!
//! `cargo bench -p physics` measures 5,000 walkers among 40,000 prims in four scenes, or in those named behind `--`; `cargo test` runs the same scene with a few, so that it keeps working. Goal: to
//! see what a change costs. Not a goal: to promise anything, so nothing is asserted; a hash of the places is printed to show that faster
//! code still does the same.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock and prints"
)]

#[path = "../tests/physics/scene/mod.rs"]
mod scene;

use glam::{Quat, Vec2, Vec3};
use ids::LocalId;
use physics::{Aabb, Placement, ShapeCache, Support};
use prim::{Shape, ShapeKind};
use scene::{CYLINDER, Random, STEPS_PER_S, Scene, WALK_M_PER_S, Walker};
use state_hash::StateHasher;
use std::{hint::black_box, time::Instant};

const SIZE_M: f32 = 256.0;
const TICKS_PER_S: f32 = 20.0;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let full = arguments.iter().any(|argument| argument == "--bench");
    let is_wanted = |name: &str| {
        let mut names = arguments.iter().filter(|argument| !argument.starts_with('-')).peekable();
        names.peek().is_none() || names.any(|wanted| wanted == name)
    };
    let (n_prims, n_walkers, ticks) = if full { (40_000, 5_000, 200) } else { (400, 20, 5) };
    println!("{n_prims} prims in {SIZE_M} m, {n_walkers} walkers, {ticks} ticks of 50 ms");
    shapes(if full { 200 } else { 2 });
    if is_wanted("built") {
        let scene = Scene::built(&mut Random(3), n_prims, SIZE_M);
        legs("built", &scene, n_walkers, if full { (300, 100) } else { (3, 2) });
    }
    let scenes = [("boxes", Mix::Boxes), ("region", Mix::Region), ("clutter", Mix::Clutter)];
    for (name, mix) in scenes.into_iter().filter(|(name, _)| is_wanted(name)) {
        let scene = region(name, mix, n_prims);
        walkers(name, &scene, n_walkers, ticks);
        rays(name, &scene, if full { 100_000 } else { 100 });
        changes(name, scene, n_prims);
    }
}

/// Prims of a region, 0.1–4 m wide, the small ones most often.
#[derive(Clone, Copy, PartialEq)]
enum Mix {
    /// Boxes that stand upright, up to 3 m above the ground.
    Boxes,
    /// Six of ten are upright boxes, one and a half boxes in any rotation, the others of other
    /// shapes in any rotation; up to 20 m above the ground.
    Region,
    /// The same up to 3 m above the ground: little room is left.
    Clutter,
}

fn shapes(times: u32) {
    let kinds = [
        ("cylinder", Shape::plain(ShapeKind::Cylinder)),
        ("sphere", Shape::plain(ShapeKind::Sphere)),
        ("hollow torus", Shape { profile_hollow: 25_000, ..Shape::plain(ShapeKind::Torus) }),
    ];
    for (name, shape) in kinds {
        let began = Instant::now();
        for _ in 0..times {
            black_box(ShapeCache::new(0).of_shape(&shape, Vec3::splat(2.0)));
        }
        let us = began.elapsed().as_secs_f64() * 1e6 / f64::from(times);
        println!("{name:<22} build   {us:>9.2} us");
    }
}

fn region(name: &str, mix: Mix, n_prims: u32) -> Scene {
    let mut random = Random(3);
    let mut scene = Scene::new();
    let shapes: Vec<Shape> = (0..500).map(|_| random.usual_shape()).collect();
    let prims: Vec<(Shape, Placement)> = (0..n_prims)
        .map(|_| {
            let kind = if mix == Mix::Boxes { 0.0 } else { random.share() };
            let shape = if kind < 0.75 { Shape::BOX } else { shapes[(random.bits() % 500) as usize] };
            let upright = Quat::from_rotation_z(random.between(0.0, 6.2));
            let rotation = if kind < 0.6 { upright } else { random.rotation() };
            let mut size = || 0.1 * libm::powf(40.0, random.share());
            let scale = Vec3::new(size(), size(), size());
            let at = Vec2::new(random.share(), random.share()) * SIZE_M;
            let height = if mix == Mix::Region { 20.0 } else { 3.0 };
            (shape, Placement { position: at.extend(random.between(0.0, height)), rotation, scale })
        })
        .collect();
    let began = Instant::now();
    for (shape, placement) in &prims {
        scene.prim(shape, *placement);
    }
    let us = began.elapsed().as_secs_f64() * 1e6 / f64::from(n_prims);
    let each = scene.colliders.bytes() as f64 / f64::from(n_prims);
    println!(
        "{name:<22} insert  {us:>9.2} us  {each:.0} B a prim with cells; {} meshes of {:.1} KiB",
        scene.cache.len(),
        scene.cache.bytes() as f64 / 1_024.0 / scene.cache.len().max(1) as f64
    );
    scene
}

/// Walkers that turn every 5 s, as in a crowd.
fn walkers(name: &str, scene: &Scene, n_walkers: u32, ticks: u32) {
    let mut random = Random(7);
    let mut walkers: Vec<(Walker, Vec2)> = (0..n_walkers)
        .map(|_| {
            let at = Vec2::new(random.between(4.0, SIZE_M - 4.0), random.between(4.0, SIZE_M - 4.0));
            (Walker::new(at, 0.0), way(&mut random))
        })
        .collect();
    let mut tick_ms = Vec::new();
    let mut n_hits = 0_u64;
    for tick in 0..ticks {
        let began = Instant::now();
        for (index, (walker, velocity)) in (0_u32..).zip(&mut walkers) {
            if (tick + index).is_multiple_of(100) {
                *velocity = way(&mut random);
            }
            n_hits += u64::from(walker.tick(scene, *velocity).hit.is_some());
            let far = SIZE_M - 4.0;
            if !(4.0..far).contains(&walker.at.x) || !(4.0..far).contains(&walker.at.y) {
                *velocity = (Vec2::splat(SIZE_M / 2.0) - walker.at.truncate()).normalize() * WALK_M_PER_S;
            }
        }
        tick_ms.push(began.elapsed().as_secs_f64() * 1e3);
    }
    let mut hasher = StateHasher::new();
    walkers.iter().for_each(|(walker, _)| hasher.vec3(walker.at));
    tick_ms.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| tick_ms[((tick_ms.len() - 1) as f64 * share) as usize];
    let steps = f64::from(n_walkers);
    let nearby: usize = walkers.iter().map(|(walker, _)| walker.surroundings.len()).sum();
    println!(
        "{name:<22} walk    {:>9.1} ns  a walker; a tick {:.2} ms median, {:.2} ms p99; {:.0} pieces nearby, {:.0} % hindered, {:016x}",
        at(0.5) * 1e6 / steps,
        at(0.5),
        at(0.99),
        nearby as f64 / f64::from(n_walkers),
        n_hits as f64 * 100.0 / steps / f64::from(ticks),
        hasher.finish()
    );
}

/// Walkers of the experiment `build`: legs of 20 to 60 m with pauses of 2 to 10 s. They walk for some ticks before the measured ones, until
/// walls have stopped as many as they will.
fn legs(name: &str, scene: &Scene, n_walkers: u32, (ticks_before, ticks): (u32, u32)) {
    let mut random = Random(7);
    let mut walkers: Vec<LegWalker> = (0..n_walkers).map(|_| LegWalker::new(scene, &mut random)).collect();
    let (mut steps, mut n_hits) = (0_u64, 0_u64);
    let mut tick_ms = Vec::new();
    for tick in 0..ticks_before + ticks {
        walkers.iter_mut().for_each(|walker| walker.decide(&mut random));
        let began = cpu_ns();
        for walker in walkers.iter_mut().filter(|walker| walker.is_active()) {
            let moved = walker.walker.tick(scene, walker.velocity);
            if tick >= ticks_before {
                steps += 1;
                n_hits += u64::from(moved.hit.is_some());
            }
        }
        if tick >= ticks_before {
            tick_ms.push((cpu_ns() - began) as f64 * 1e-6);
        }
    }
    let mut hasher = StateHasher::new();
    walkers.iter().for_each(|walker| hasher.vec3(walker.walker.at));
    let total_ms: f64 = tick_ms.iter().sum();
    tick_ms.sort_unstable_by(f64::total_cmp);
    let nearby: usize = walkers.iter().map(|walker| walker.walker.surroundings.len()).sum();
    println!(
        "{name:<22} walk    {:>9.1} ns  CPU a walker; {:.2} us with pauses; a tick {:.2} ms mean, {:.2} ms most; {:.0} pieces nearby, {:.0} % hindered, {:016x}",
        total_ms * 1e6 / steps as f64,
        total_ms * 1e3 / f64::from(n_walkers * ticks),
        total_ms / f64::from(ticks),
        tick_ms.last().copied().unwrap_or_default(),
        nearby as f64 / f64::from(n_walkers),
        n_hits as f64 * 100.0 / steps as f64,
        hasher.finish()
    );
}

/// A walker that alternates legs and pauses.
struct LegWalker {
    walker: Walker,
    velocity: Vec2,
    /// Ticks until it sets out or stops.
    left: u32,
}

impl LegWalker {
    /// In a pause, in a free place.
    fn new(scene: &Scene, random: &mut Random) -> Self {
        let mut place = || Vec2::new(random.between(4.0, SIZE_M - 4.0), random.between(4.0, SIZE_M - 4.0));
        let is_free = |at: &Vec2| {
            let half = Vec3::splat(CYLINDER.radius).with_z(CYLINDER.half_height);
            let centre = at.extend(CYLINDER.half_height);
            scene.colliders.ids_in(&Aabb { low: centre - half, high: centre + half }).is_empty()
        };
        let at = (0..20).map(|_| place()).find(is_free).unwrap_or(Vec2::splat(SIZE_M / 2.0));
        Self { walker: Walker::new(at, 0.0), velocity: Vec2::ZERO, left: random.between(0.0, 200.0) as u32 }
    }

    fn decide(&mut self, random: &mut Random) {
        let (at, far) = (self.walker.at.truncate(), SIZE_M - 4.0);
        let is_inside = at.clamp(Vec2::splat(4.0), Vec2::splat(far)) == at;
        if self.left > 0 {
            self.left -= 1;
        } else if self.velocity == Vec2::ZERO {
            self.velocity = way(random);
            self.left = (random.between(20.0, 60.0) / WALK_M_PER_S * TICKS_PER_S) as u32;
        } else {
            self.velocity = Vec2::ZERO;
            self.left = (random.between(2.0, 10.0) * TICKS_PER_S) as u32;
        }
        if !is_inside && self.velocity != Vec2::ZERO {
            self.velocity = (Vec2::splat(SIZE_M / 2.0) - at).normalize() * WALK_M_PER_S;
        }
    }

    /// A walker at rest has no step.
    fn is_active(&self) -> bool {
        self.velocity != Vec2::ZERO || self.walker.on == Support::Air
    }
}

/// CPU time of this thread: others may share its core.
fn cpu_ns() -> u64 {
    let text =
        std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux counts the time of threads");
    text.split_whitespace().next().and_then(|ns| ns.parse().ok()).expect("its first word is the time")
}

fn way(random: &mut Random) -> Vec2 {
    Vec2::from_angle(random.between(0.0, 6.2)) * WALK_M_PER_S
}

/// From eye to ground over 20 m.
fn rays(name: &str, scene: &Scene, times: u32) {
    let mut random = Random(11);
    let rays: Vec<(Vec3, Vec3)> = (0..1_024)
        .map(|_| {
            let from = Vec2::new(random.share(), random.share()) * SIZE_M;
            let to = from + way(&mut random) / WALK_M_PER_S * 20.0;
            (from.extend(2.0 * CYLINDER.half_height), to.extend(0.0))
        })
        .collect();
    let began = Instant::now();
    let mut n_hits = 0;
    for n in 0..times {
        let (from, to) = rays[(n % 1_024) as usize];
        n_hits += u32::from(scene.colliders.cast_ray(from, to, |_, _| true).is_some());
    }
    let ns = began.elapsed().as_secs_f64() * 1e9 / f64::from(times);
    println!("{name:<22} ray     {ns:>9.1} ns  {:.0} % hit", f64::from(n_hits) * 100.0 / f64::from(times));
}

/// Prims that move by 5 cm.
fn changes(name: &str, scene: Scene, n_prims: u32) {
    let mut colliders = scene.colliders;
    let mut random = Random(13);
    let places: Vec<Vec3> = (0..n_prims)
        .map(|_| {
            Vec3::new(random.between(0.0, SIZE_M), random.between(0.0, SIZE_M), random.between(0.0, 3.0))
        })
        .collect();
    let began = Instant::now();
    for (id, place) in (1..).zip(&places) {
        let _ = colliders.relocate(LocalId(id), *place, Quat::IDENTITY);
    }
    let far = began.elapsed().as_secs_f64() * 1e9 / f64::from(n_prims);
    let began = Instant::now();
    for (id, place) in (1..).zip(&places) {
        let _ = colliders.relocate(LocalId(id), *place + Vec3::splat(3.0 / STEPS_PER_S), Quat::IDENTITY);
    }
    let near = began.elapsed().as_secs_f64() * 1e9 / f64::from(n_prims);
    let began = Instant::now();
    for id in 1..=n_prims {
        colliders.remove(LocalId(id));
    }
    let remove = began.elapsed().as_secs_f64() * 1e9 / f64::from(n_prims);
    println!("{name:<22} move    {near:>9.1} ns  by 5 cm, {far:.1} ns elsewhere; removal {remove:.1} ns");
}
