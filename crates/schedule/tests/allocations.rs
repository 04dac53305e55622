//! Steady frames ask for no memory: what a beat needs it has from the ones before.

use ids::{Instant, Tick};
use schedule::model::{Chance, Crew, VirtualStep};
use schedule::{Pool, Schedule, StepStart, Task, TaskId};
use std::sync::{Arc, Barrier};
use std::time::Duration;
use telemetry::allocations::{CountingAllocator, count_here, counted};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[test]
fn steady_frames_allocate_nothing() {
    // One after the other, because they ask for the same table of counts.
    beats_allocate_nothing();
    neither_do_workers();
}

/// Two rates, costs that wander so that the order changes, a world that needs twice its time, and another that sleeps and resumes.
fn beats_allocate_nothing() {
    let (mut schedule, mut crew) = (Schedule::new(4), Crew::new(4));
    let (slow, sleeper) = (TaskId(1), TaskId(2));
    for id in 1..=600 {
        let dt = Duration::from_micros(if id % 3 == 0 { 22_222 } else { 50_000 });
        schedule.add(Instant::ZERO, TaskId(id), dt, Tick(0), ());
    }
    let mut chance = Chance::new(1);
    let mut make = |start: &StepStart, (): &()| VirtualStep {
        took: if start.id == slow {
            start.dt * 2
        } else {
            Duration::from_micros(50 + start.id.0 % 300 + chance.bits() % 100)
        },
        is_quiet: start.id == sleeper,
        is_gone: false,
    };
    let mut now = Instant::ZERO;
    let mut run = |frames| {
        for _ in 0..frames {
            now += Duration::from_millis(50);
            crew.advance(&mut schedule, now, &mut make);
            schedule.wake(sleeper, now);
        }
    };
    // Until there have been as many batches under way at once as there ever will be.
    run(1_000);
    count_here("virtual workers");
    let asked = || counted()["virtual workers"];
    // Reading the count allocates, too.
    let (first, second) = (asked(), asked());
    run(1_000);
    assert_eq!(asked() - second, second - first);
}

const DT: Duration = Duration::from_millis(4);
const TASKS: u64 = 300;
const WARM_UP: u64 = 50;
const FRAMES: u64 = 150;

struct Trivial {
    state: u64,
    /// Meets the test before and after the frames that count.
    meets: Option<Arc<Barrier>>,
}

impl Task for Trivial {
    fn is_quiet(&mut self) -> bool {
        false
    }

    fn step(&mut self, start: &StepStart) {
        self.state += (0..start.tick.0 * 7 % 1_000).map(std::hint::black_box).sum::<u64>();
        let is_border = [WARM_UP, WARM_UP + FRAMES].contains(&start.tick.0);
        if let Some(meets) = self.meets.as_ref().filter(|_| is_border) {
            // The test counts in between.
            meets.wait();
            meets.wait();
        }
    }
}

fn neither_do_workers() {
    for n_workers in [1, 2] {
        let n = asked_by_workers(n_workers);
        // A machine that takes the core away in the middle of a beat makes worlds miss it, as never before: then there is one more
        // batch under way, once. One for each frame would be 150.
        assert!(n <= 32, "{n} on {n_workers} workers in {FRAMES} frames of {TASKS} tasks");
    }
}

#[expect(clippy::disallowed_methods, reason = "a pool runs in real time")]
fn asked_by_workers(n_workers: usize) -> u64 {
    let began = std::time::Instant::now();
    let clock = move || Instant(u64::try_from(began.elapsed().as_nanos()).expect("tests end before 2554"));
    let pool = Pool::start(n_workers, clock).expect("the system has threads");
    let meets = Arc::new(Barrier::new(2));
    for task in 1..TASKS {
        pool.add(Box::new(Trivial { state: task, meets: None }), DT, Tick(0));
    }
    pool.add(Box::new(Trivial { state: 0, meets: Some(Arc::clone(&meets)) }), DT, Tick(0));
    let count = || {
        meets.wait();
        let n: u64 = counted().iter().filter(|(name, _)| name.starts_with("world-")).map(|(_, n)| n).sum();
        meets.wait();
        n
    };
    let before = count();
    count() - before
}
