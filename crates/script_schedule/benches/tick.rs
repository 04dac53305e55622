//! Time of the schedule itself for a tick of 40,000 scripts, whose slices do nothing.
//!
//! `cargo bench -p script_schedule` measures 2,000 ticks of each row; `cargo test` runs a few, so that it keeps working. Goal: what a slice and a time of a script
//! cost beside the machine, and that waiting scripts cost nothing. Nothing is asserted.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock and prints"
)]

use ids::{AgentId, LocalId, Uuid};
use script_schedule::{FuelBudget, Home, InstanceNumber, Next, ScriptFigures, ScriptSchedule, SliceResult};
use std::hint::black_box;
use std::time::Instant;

const N: u32 = 40_000;
/// Ticks between two events of a script: 1 % of all are due each tick.
const PERIOD: u64 = 100;
/// Fuel of an event.
const FUEL: u64 = 2_000;

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let (n_scripts, n_ticks) = if full { (N, 2_000) } else { (N / 100, 20) };
    println!("{n_scripts} scripts, {n_ticks} ticks; nanoseconds");
    println!("{:<44} {:>10} {:>10} {:>10}", "scripts", "a tick", "a slice", "run %");
    let timer = |n: u32, tick: u64| Next::At(tick + 1 + u64::from(n) % PERIOD);
    let endless = |n: u32| n.is_multiple_of(100);
    measure("all wait", n_scripts, n_ticks, |_, _| Next::Waits, |_, _| Next::Waits);
    measure("1 % are due each tick", n_scripts, n_ticks, timer, |_, tick| Next::At(tick + PERIOD));
    measure(
        "1 % are due each tick, and 1 % are endless",
        n_scripts,
        n_ticks,
        |n, tick| if endless(n) { Next::Spent } else { timer(n, tick) },
        |n, tick| if endless(n) { Next::Spent } else { Next::At(tick + PERIOD) },
    );
    measure("all are always ready", n_scripts, n_ticks, |_, _| Next::Ready, |_, _| Next::Ready);
    measure_waking(n_scripts, n_ticks);
}

/// Scripts of a hundred owners.
fn schedule(n_scripts: u32, first: impl Fn(u32, u64) -> Next) -> ScriptSchedule {
    let mut schedule = ScriptSchedule::new(0);
    for n in 0..n_scripts {
        let owner = AgentId(Uuid::from_u128(u128::from(n % 100)));
        schedule.add(Home { linkset: LocalId(n), order: 0, owner }, first(n, 0));
    }
    schedule
}

fn measure(
    name: &str,
    n_scripts: u32,
    n_ticks: u64,
    first: impl Fn(u32, u64) -> Next,
    next: impl Fn(u32, u64) -> Next,
) {
    let mut schedule = schedule(n_scripts, first);
    let mut sum = ScriptFigures::default();
    let began = Instant::now();
    for tick in 1..=n_ticks {
        schedule.begin_tick(tick);
        sum += schedule.run(FuelBudget::default(), |_, turn| {
            let next = next(turn.instance.0, turn.tick);
            let fuel = if next == Next::Spent { turn.fuel } else { FUEL };
            SliceResult { fuel, n_events: 1, next }
        });
        black_box(schedule.quiet_until());
    }
    let ns = began.elapsed().as_nanos() as f64;
    println!(
        "{name:<44} {:>10.0} {:>10.1} {:>10.1}",
        ns / n_ticks as f64,
        ns / sum.n_slices.max(1) as f64,
        sum.run_percent()
    );
}

/// Each script is made ready in front of its time, and gets another one.
fn measure_waking(n_scripts: u32, n_ticks: u64) {
    let n_rounds = (n_ticks / 100).max(1);
    let mut schedule = schedule(n_scripts, |n, _| Next::At(1_000_000 + u64::from(n)));
    let began = Instant::now();
    for round in 0..n_rounds {
        for n in 0..n_scripts {
            // Neighbours in memory are no neighbours in time.
            let number = InstanceNumber((u64::from(n) * 7_919 % u64::from(n_scripts)) as u32);
            schedule.wake(number);
            schedule.set(number, Next::At(1_000 + round * 977 + u64::from(n)));
        }
    }
    let ns = began.elapsed().as_nanos() as f64 / (n_rounds * u64::from(n_scripts)) as f64;
    println!("{:<44} {:>10} {ns:>10.1}", "woken, and set to another tick", "");
}
