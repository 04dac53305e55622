//! Ticks at which scripts are ready.

use crate::model::{Kind, Model};
use script_schedule::{FuelBudget, Next};
use std::collections::BTreeSet;

const LAST: u64 = 100_000;

/// Timers and sleepers of these periods, in a world that is stepped only in ticks with work. Returns the number of its steps.
fn assert_exact(periods: &[u64]) -> usize {
    let mut model = Model::new(FuelBudget::default());
    let mut expected = Vec::new();
    for &period in periods {
        let timer = model.add(1, 0, Kind::Timer { period, fuel: 700 });
        expected.push((timer, (period..=LAST).step_by(period as usize).collect::<Vec<u64>>()));
        let sleeper = model.add(2, 0, Kind::Sleeper { ticks: period, fuel: 900 });
        expected.push((sleeper, (0..=LAST).step_by(period as usize).collect()));
    }
    model.tick(0);
    let mut n_steps = 1;
    while let Some(tick) = model.schedule.quiet_until().filter(|&tick| tick <= LAST) {
        assert_eq!(model.tick(tick).n_late, 0);
        n_steps += 1;
    }
    let ticks: BTreeSet<u64> = expected.iter().flat_map(|(_, ticks)| ticks.iter().copied()).collect();
    for (number, ticks) in expected {
        assert!(model.scripts[&number].begun == ticks, "{number:?} of {periods:?}");
    }
    assert_eq!(n_steps, ticks.len());
    n_steps
}

#[test]
fn timers_and_sleeps_are_exact_over_a_hundred_thousand_ticks() {
    assert_eq!(assert_exact(&[1, 2, 3, 5, 7, 11, 20, 63]), 1 + LAST as usize);
    let n_steps =
        assert_exact(&[20, 63, 64, 65, 100, 128, 1_000, 1_200, 4_095, 4_096, 4_097, 12_345, 50_000, 99_999]);
    assert!(n_steps < LAST as usize / 8, "{n_steps}");
}

#[test]
fn missed_periods_are_one_event() {
    let budget = FuelBudget { fuel_per_tick: 100_000, slice_fuel: 100_000 };
    let mut model = Model::new(budget);
    let timer = model.add(1, 0, Kind::Timer { period: 1, fuel: 250_000 });
    let mut n_events = 0;
    for tick in 1..=1_000 {
        n_events += model.tick(tick).n_events;
    }
    assert!((399..=400).contains(&n_events), "{n_events}");
    let begun = &model.scripts[&timer].begun;
    assert!((400..=401).contains(&begun.len()), "{}", begun.len());
}

/// Late scripts do not put off the next times of their timers.
#[test]
fn timers_that_run_late_have_no_drift() {
    let mut model = Model::new(FuelBudget { fuel_per_tick: 10_000, slice_fuel: 10_000 });
    let timers: Vec<_> =
        (0..50).map(|n| model.add(n, 0, Kind::Timer { period: 100, fuel: 10_000 })).collect();
    for tick in 1..=1_000 {
        model.tick(tick);
    }
    for number in timers {
        let begun = &model.scripts[&number].begun;
        let late: Vec<u64> = begun.iter().zip((100_u64..).step_by(100)).map(|(at, due)| at - due).collect();
        assert!(begun.len() >= 9 && late.iter().all(|&late| late < 60), "{begun:?}");
    }
}

#[test]
#[should_panic(expected = "was due at 20, in idle ticks before 21")]
fn a_due_script_is_not_slept_through() {
    let mut model = Model::new(FuelBudget::default());
    model.add(1, 0, Kind::Timer { period: 20, fuel: 100 });
    model.tick(0);
    model.tick(21);
}

#[test]
#[should_panic(expected = "1 scripts waited for their slices in idle ticks before 3")]
fn a_ready_script_is_not_slept_through() {
    let mut model = Model::new(FuelBudget::default());
    model.add(1, 0, Kind::Endless);
    model.tick(1);
    model.tick(3);
}

#[test]
#[should_panic(expected = "tick 4 of scripts follows tick 5")]
fn ticks_rise() {
    let mut model = Model::new(FuelBudget::default());
    model.tick(5);
    model.tick(4);
}

#[test]
fn a_due_tick_can_be_the_last_one_there_is() {
    let mut model = Model::new(FuelBudget::default());
    let number = model.add(1, 0, Kind::Endless);
    model.schedule.set(number, Next::At(u64::MAX));
    assert_eq!(model.schedule.quiet_until(), Some(u64::MAX));
    assert_eq!(model.tick(u64::MAX).n_ran, 1);
    assert_eq!(model.schedule.quiet_until(), Some(u64::MAX));
}
