//! Time of the pool itself for a world's tick: CPU time of its workers ÷ ticks, of tasks that do next to nothing.
//!
//! `cargo bench -p schedule` measures 1,000 tasks at 20 Hz on one worker and on two, in turns, for ten seconds each;
//! `cargo test` runs a few tasks for a moment, so that it keeps working. Goal: the figure `schedule_us_per_world`, with everything
//! in it that a tick costs: clock readings, locks, wake-ups. Not a goal: wall time, which belongs to the machine's other users as well.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock and prints"
)]

use ids::{Instant, Tick};
use schedule::{Pool, Schedule, StepStart, Task, TaskId};
use std::{fs, hint::black_box, sync::Arc, time::Duration};

/// 20 Hz.
const DT: Duration = Duration::from_millis(50);

/// Never quiet, and done at once.
struct Trivial(u64);

impl Task for Trivial {
    fn is_quiet(&mut self) -> bool {
        false
    }

    fn step(&mut self, start: &StepStart) {
        self.0 = black_box(self.0 + start.tick.0);
    }
}

struct Round {
    ticks: u64,
    cpu: Duration,
    late_by_max: Duration,
}

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let (n_tasks, n_rounds, window) =
        if full { (1_000, 6, Duration::from_secs(10)) } else { (20, 1, Duration::from_millis(120)) };
    println!("{n_tasks} tasks at 20 Hz that do next to nothing; microseconds of workers' CPU time per tick");
    println!(
        "{:<8} {:>7} {:>7} {:>7} {:>9} {:>12}",
        "workers", "min", "median", "max", "ticks", "late max ms"
    );
    let mut rounds: [Vec<Round>; 2] = Default::default();
    for _ in 0..n_rounds {
        for (n, of_n) in rounds.iter_mut().enumerate() {
            of_n.push(measure(n + 1, n_tasks, window));
        }
    }
    for (n, of_n) in rounds.iter().enumerate() {
        let us = |round: &Round| round.cpu.as_secs_f64() * 1e6 / round.ticks.max(1) as f64;
        let mut us: Vec<f64> = of_n.iter().map(us).collect();
        us.sort_unstable_by(f64::total_cmp);
        let ticks: u64 = of_n.iter().map(|round| round.ticks).sum();
        let late_by_max = of_n.iter().map(|round| round.late_by_max).max().unwrap_or_default();
        println!(
            "{:<8} {:>7.3} {:>7.3} {:>7.3} {ticks:>9} {:>12.3}",
            n + 1,
            us[0],
            us[us.len() / 2],
            us[us.len() - 1],
            late_by_max.as_secs_f64() * 1e3,
        );
    }
    serial_parts(n_tasks, if full { 2_000 } else { 10 });
}

/// Time of the head and the tail of a beat, during which one worker runs: nanoseconds per world, in a warm cache.
fn serial_parts(n_tasks: u64, beats: u32) {
    let mut schedule = Schedule::new(1);
    for task in 1..=n_tasks {
        schedule.add(Instant::ZERO, TaskId(task), DT, Tick(0), Arc::new(()));
    }
    let (mut head, mut tail) = (Duration::ZERO, Duration::ZERO);
    for beat in 0..beats {
        let mut now = Instant::ZERO + DT * beat;
        let began = std::time::Instant::now();
        let mut stay = schedule.join_batch(now).expect("a beat has come");
        head += began.elapsed();
        let mut random = u64::from(beat) | 1;
        while let Some(job) = stay.pull() {
            let start = job.start(now).expect("it is due");
            // Most stay where they are in the order, some do not.
            random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            now += Duration::from_nanos(100 + start.id.0 * 10 + (random >> 60) * 10);
            job.done(0, now, false);
        }
        let began = std::time::Instant::now();
        schedule.leave_batch(stay);
        tail += began.elapsed();
    }
    let ns = |part: Duration| part.as_nanos() as f64 / f64::from(beats) / n_tasks as f64;
    println!("head {:.1} ns and tail {:.1} ns a world, in {beats} beats", ns(head), ns(tail));
}

fn measure(n_workers: usize, n_tasks: u64, window: Duration) -> Round {
    let began = std::time::Instant::now();
    let clock =
        move || Instant(u64::try_from(began.elapsed().as_nanos()).expect("benchmarks end before 2554"));
    let pool = Pool::start(n_workers, clock).expect("the system has threads");
    for task in 0..n_tasks {
        pool.add(Box::new(Trivial(task)), DT, Tick(0));
    }
    // The first frames find everything new: pages, costs, phases.
    pass(window / 10);
    let _ = pool.drain_step_stats();
    let before = cpu_of_workers();
    pass(window);
    let cpu = cpu_of_workers().saturating_sub(before);
    let step_stats = pool.drain_step_stats();
    let ticks = step_stats.iter().map(|(_, step_stats)| step_stats.frames).sum();
    let late_by_max =
        step_stats.iter().map(|(_, step_stats)| step_stats.late_by_max).max().unwrap_or_default();
    Round { ticks, cpu, late_by_max }
}

/// Time that the kernel charged to threads of this process that are called `world-…`.
fn cpu_of_workers() -> Duration {
    let tasks = fs::read_dir("/proc/self/task").expect("the kernel tells of our threads");
    let ran_ns = tasks.flatten().filter_map(|task| {
        let comm = fs::read_to_string(task.path().join("comm")).ok()?;
        let schedstat = fs::read_to_string(task.path().join("schedstat")).ok()?;
        comm.starts_with("world-").then_some(schedstat.split_whitespace().next()?.parse::<u64>().ok()?)
    });
    Duration::from_nanos(ran_ns.sum())
}

/// Waits; no other thread wakes this one.
fn pass(time: Duration) {
    let until = std::time::Instant::now() + time;
    while let Some(left) =
        until.checked_duration_since(std::time::Instant::now()).filter(|left| !left.is_zero())
    {
        std::thread::park_timeout(left);
    }
}
