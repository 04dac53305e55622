//! Cost of moving linksets among prims.
//!
//! `cargo bench -p physics --bench bodies` measures 500 awake bodies among 40,000 prims; `cargo test` runs the same with a few, so that it keeps working. Goal: to see
//! what a change costs. Not a goal: to promise anything, so nothing is asserted; a hash of the places is printed to show that faster code still
//! does the same.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock and prints"
)]

#[path = "../tests/physics/region/mod.rs"]
mod region;
#[path = "../tests/physics/scene/mod.rs"]
mod scene;

use glam::{Quat, Vec3};
use ids::LocalId;
use physics::{Dynamics, DynamicsSettings, Placement};
use prim::Shape;
use region::{SIZE_M, SUB_STEP, Stage, TICK};
use scene::Random;
use state_hash::StateHasher;
use std::hint::black_box;
use std::time::{Duration, Instant};

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let (n_prims, n_bodies, ticks) = if full { (40_000, 500, 400) } else { (400, 20, 10) };
    println!("{n_prims} prims in {SIZE_M} m, {n_bodies} bodies, ticks of {TICK:?}");
    scattered(n_prims, n_bodies, ticks);
    thrown(n_prims, n_bodies, ticks);
    pile(n_bodies, ticks);
    wakes(n_bodies, &[8, 16, 32, 64, n_bodies as usize]);
}

/// Prims of a region: half boxes, half other shapes in any rotation, 0.1–4 m wide, up to 20 m above the ground.
fn with_prims(n_prims: u32) -> Stage {
    let mut random = Random(3);
    let mut stage = Stage::new();
    let shapes: Vec<Shape> = (0..500).map(|_| random.usual_shape()).collect();
    for _ in 0..n_prims {
        let is_box = random.share() < 0.5;
        let shape = if is_box { Shape::BOX } else { shapes[(random.share() * 500.0) as usize % 500] };
        let size = 0.1 * libm::powf(40.0, random.share() * random.share());
        let at = Vec3::new(random.between(0.0, 256.0), random.between(0.0, 256.0), random.between(0.0, 20.0));
        let rotation = if is_box { Quat::IDENTITY } else { random.rotation() };
        let scale = Vec3::new(size, size * random.between(0.5, 2.0), size * random.between(0.5, 2.0));
        stage.region.prim(&shape, Placement { position: at, rotation, scale });
    }
    stage
}

/// Bodies all over the region. Dragged in circles, so that all of them stay awake.
fn scattered(n_prims: u32, n_bodies: u32, ticks: u32) {
    let mut random = Random(9);
    let mut stage = with_prims(n_prims);
    let bodies: Vec<(LocalId, Vec3)> = (0..n_bodies)
        .map(|_| {
            let at =
                Vec3::new(random.between(8.0, 248.0), random.between(8.0, 248.0), random.between(1.0, 20.0));
            (stage.moving_box(at, Vec3::splat(0.5)), at)
        })
        .collect();
    let mut times = Vec::new();
    for tick in 0..ticks {
        let angle = tick as f32 * 0.1;
        for &(body, at) in &bodies {
            let target = at + 3.0 * Vec3::new(libm::cosf(angle), libm::sinf(angle), 0.0);
            black_box(stage.dynamics.drag(body, Vec3::ZERO, target));
        }
        times.push(timed(&mut stage));
    }
    let (awake, held) = (stage.dynamics.n_awake(), stage.dynamics.n_static_prims());
    print_times("scattered", &mut times, &stage);
    let began = Instant::now();
    let bytes = stage.dynamics.save();
    println!(
        "{:<22} {awake} awake, {held} prims in rapier, state {} KiB, saved in {:?}",
        "scattered",
        bytes.len() >> 10,
        began.elapsed()
    );
    let began = Instant::now();
    let restored = Dynamics::restore(DynamicsSettings::new(SIZE_M), &bytes).expect("its own bytes");
    println!("{:<22} restored in {:?}", "scattered", began.elapsed());
    black_box(restored);
}

/// Bodies that users throw 5 to 13 m above the ground of a square of 40 m again and again, each every two seconds.
fn thrown(n_prims: u32, n_bodies: u32, ticks: u32) {
    let mut random = Random(11);
    let mut stage = with_prims(n_prims);
    let mut place =
        || Vec3::new(random.between(108.0, 148.0), random.between(108.0, 148.0), random.between(5.0, 13.0));
    let bodies: Vec<LocalId> =
        (0..n_bodies).map(|_| stage.moving_box(place(), Vec3::new(0.5, 0.5, 1.0))).collect();
    let (mut times, mut n_thrown) = (Vec::new(), 0);
    for tick in 0..ticks {
        while n_thrown < tick * n_bodies / 40 {
            let body = bodies[(n_thrown % n_bodies) as usize];
            n_thrown += 1;
            // One that has left the region is gone.
            let Some(plan) = stage.region.linksets.get_mut(&body) else { continue };
            plan.position = place();
            stage.region.place(body);
            stage.dynamics.edited(body);
            black_box(stage.dynamics.wake(body));
        }
        times.push(timed(&mut stage));
    }
    println!("{:<22} {} awake", "thrown", stage.dynamics.n_awake());
    print_times("thrown", &mut times, &stage);
}

/// A pile that falls and comes to rest.
fn pile(n_bodies: u32, ticks: u32) {
    let mut stage = Stage::new();
    for n in 0..n_bodies {
        let (column, row, layer) = (n % 8, n / 8 % 8, n / 64);
        let at = Vec3::new(column as f32 * 0.55 + 100.0, row as f32 * 0.55 + 100.0, layer as f32 * 0.6 + 0.3);
        stage.moving_box(at, Vec3::splat(0.5));
    }
    let mut times = Vec::new();
    for _ in 0..ticks {
        times.push(timed(&mut stage));
    }
    print_times("pile", &mut times, &stage);
    println!("{:<22} {} bodies left in rapier", "pile", stage.dynamics.n_bodies());
}

/// Longest sub-step while all bodies of a pile wake, by the size of a portion.
fn wakes(n_bodies: u32, portions: &[usize]) {
    for &wakes_per_sub_step in portions {
        let mut stage = Stage::new();
        let settings = DynamicsSettings { wakes_per_sub_step, ..DynamicsSettings::new(SIZE_M) };
        stage.dynamics = Dynamics::new(settings);
        for n in 0..n_bodies {
            let (column, row, layer) = (n % 8, n / 8 % 8, n / 64);
            let at =
                Vec3::new(column as f32 * 0.51 + 100.0, row as f32 * 0.51 + 100.0, layer as f32 * 0.5 + 0.25);
            stage.moving_box(at, Vec3::splat(0.5));
        }
        let (mut longest, mut sub_steps) = (Duration::ZERO, 0);
        while stage.dynamics.n_waiting() > 0 {
            let began = Instant::now();
            stage.step(SUB_STEP);
            longest = longest.max(began.elapsed());
            sub_steps += 1;
        }
        println!(
            "{:<22} {wakes_per_sub_step} per sub-step: {sub_steps} sub-steps, longest {longest:?}",
            "wakes"
        );
    }
}

fn timed(stage: &mut Stage) -> f64 {
    let began = Instant::now();
    stage.dynamics.step(TICK, &mut stage.region, &mut stage.outcome);
    let ms = began.elapsed().as_secs_f64() * 1e3;
    for motion in &stage.outcome.moved {
        stage.region.follow(motion);
    }
    ms
}

fn print_times(name: &str, times: &mut [f64], stage: &Stage) {
    times.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let mut hasher = StateHasher::new();
    stage.region.linksets.values().for_each(|plan| hasher.vec3(plan.position));
    println!(
        "{name:<22} tick p50 {:.2} ms, p99 {:.2} ms, max {:.2} ms, places {:016x}",
        at(0.5),
        at(0.99),
        at(1.0),
        hasher.finish()
    );
}
