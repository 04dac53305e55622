//! Scripts that wait cost nothing.

use crate::model::{Kind, Model, owner};
use ids::LocalId;
use script_schedule::{FuelBudget, Home, INSTANCES_MAX, Next, ScriptFigures, ScriptSchedule};

#[test]
fn a_hundred_thousand_waiting_scripts_are_not_visited() {
    const N: u32 = 100_000;
    let mut model = Model::new(FuelBudget::default());
    for n in 0..N {
        let home = Home { linkset: LocalId(n), order: 0, owner: owner(n % 50) };
        // Half of them wait for an event, the others for a tick of next week.
        let next = if n % 2 == 0 { Next::Waits } else { Next::At(10_000_000 + u64::from(n)) };
        model.schedule.add(home, next).expect("a number");
    }
    for n in 0..10 {
        model.add(n, 0, Kind::Timer { period: 5, fuel: 100 });
    }
    let mut sum = ScriptFigures::default();
    for tick in 1..=1_000 {
        sum += model.tick(tick);
    }
    assert_eq!((sum.n_slices, sum.n_ran, sum.n_events, sum.n_late), (2_000, 2_000, 2_000, 0));
    // Out of the wheel, and down a level at most once before.
    assert!((2_000..=4_000).contains(&sum.n_moved), "{}", sum.n_moved);
    assert_eq!(model.schedule.n_active(), N as usize + 10);
}

#[test]
fn a_script_moves_down_a_level_of_the_wheel_a_few_times_in_its_wait() {
    let mut model = Model::new(FuelBudget::default());
    let mut n = 0;
    for period in (1..200).map(|n| n * 4_001) {
        model.add(1, 0, Kind::Timer { period, fuel: 100 });
        n += 1;
    }
    let mut sum = ScriptFigures::default();
    while let Some(tick) = model.schedule.quiet_until().filter(|&tick| tick <= 1_000_000) {
        sum += model.tick(tick);
    }
    assert!(sum.n_ran > n);
    assert!(sum.n_moved <= 4 * (sum.n_ran + n), "{sum:?}");
}

#[test]
fn a_world_whose_scripts_all_wait_is_quiet() {
    let mut model = Model::new(FuelBudget::default());
    let relay = model.add(1, 0, Kind::Relay { to: u32::MAX, fuel: 100 });
    assert_eq!(model.schedule.quiet_until(), None);
    model.add(1, 0, Kind::Timer { period: 500, fuel: 100 });
    assert_eq!(model.schedule.quiet_until(), Some(500));
    model.schedule.begin_tick(123);
    model.send(relay);
    assert_eq!(model.schedule.quiet_until(), Some(124), "a script is ready");
    model.run();
    assert_eq!(model.schedule.quiet_until(), Some(500));
}

#[test]
fn there_are_as_many_scripts_as_there_may_be() {
    let mut schedule = ScriptSchedule::new(0);
    let home = Home { linkset: LocalId(1), order: 0, owner: owner(1) };
    let numbers: Vec<_> = (0..INSTANCES_MAX).filter_map(|_| schedule.add(home, Next::Waits)).collect();
    assert_eq!((numbers.len(), schedule.add(home, Next::Waits)), (INSTANCES_MAX, None));
    assert!(schedule.remove(numbers[7]));
    assert_eq!(schedule.add(Home { owner: owner(2), ..home }, Next::Waits), Some(numbers[7]));
}
