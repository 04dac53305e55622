//! The order of slices, and changes of the schedule between and during them.

use crate::model::owner;
use ids::LocalId;
use script_schedule::{FuelBudget, Home, InstanceNumber, Next, ScriptSchedule, SliceResult};

fn home(linkset: u32, order: u32) -> Home {
    Home { linkset: LocalId(linkset), order, owner: owner(1) }
}

/// Scripts, by their linksets and places in these.
fn schedule(scripts: &[(u32, u32, Next)]) -> ScriptSchedule {
    let mut schedule = ScriptSchedule::new(0);
    for (n, &(linkset, order, next)) in (0..).zip(scripts) {
        assert_eq!(schedule.add(home(linkset, order), next), Some(InstanceNumber(n)));
    }
    schedule
}

/// Runs a tick in which all scripts wait after their slices. `change` has the number of each slice's script.
fn run(schedule: &mut ScriptSchedule, mut change: impl FnMut(&mut ScriptSchedule, u32)) -> Vec<u32> {
    let mut order = Vec::new();
    schedule.run(FuelBudget::default(), |schedule, turn| {
        order.push(turn.instance.0);
        change(schedule, turn.instance.0);
        SliceResult { fuel: 1_000, n_events: 1, next: Next::Waits }
    });
    order
}

#[test]
fn commands_come_first_then_what_they_cause_then_what_is_due() {
    let mut schedule = schedule(&[
        (5, 0, Next::At(4)),
        (1, 0, Next::At(4)),
        (9, 0, Next::Waits),
        (7, 2, Next::Waits),
        (7, 1, Next::Waits),
        (2, 0, Next::Waits),
    ]);
    schedule.begin_tick(4);
    schedule.wake(InstanceNumber(2));
    let mut n_of_2 = 0;
    let order = run(&mut schedule, |schedule, number| {
        if number == 2 {
            n_of_2 += 1;
        }
        let woken: &[u32] = match number {
            2 if n_of_2 == 1 => &[3, 4, 5, 0],
            // For the second time in this tick, and so behind all others.
            4 => &[2],
            _ => &[],
        };
        woken.iter().for_each(|&number| schedule.wake(InstanceNumber(number)));
    });
    assert_eq!(order, [2, 5, 4, 3, 0, 1, 2]);
}

#[test]
fn a_due_script_that_a_command_wakes_comes_with_the_commands() {
    let mut schedule = schedule(&[(1, 0, Next::At(4)), (1, 1, Next::At(4)), (1, 2, Next::At(4))]);
    schedule.begin_tick(4);
    schedule.wake(InstanceNumber(2));
    schedule.remove(InstanceNumber(0));
    assert_eq!(run(&mut schedule, |_, _| {}), [2, 1]);
}

#[test]
fn waiting_and_timed_scripts_are_woken_and_no_others() {
    let mut schedule = schedule(&[
        (1, 0, Next::Waits),
        (1, 1, Next::At(100)),
        (1, 2, Next::Stopped),
        (1, 3, Next::Ready),
        (1, 4, Next::Waits),
    ]);
    assert_eq!((schedule.n_active(), schedule.n_ready(), schedule.quiet_until()), (4, 1, Some(1)));
    schedule.begin_tick(1);
    for number in [0, 1, 1, 2, 3, 77] {
        schedule.wake(InstanceNumber(number));
    }
    assert_eq!(run(&mut schedule, |_, _| {}), [3, 0, 1]);
    assert_eq!(schedule.quiet_until(), None, "it said nothing of its timer");
    schedule.set(InstanceNumber(2), Next::Ready);
    schedule.set(InstanceNumber(0), Next::At(9));
    assert_eq!((schedule.n_active(), schedule.quiet_until()), (5, Some(2)));
    schedule.begin_tick(2);
    assert_eq!(run(&mut schedule, |_, _| {}), [2]);
    assert_eq!(schedule.quiet_until(), Some(9));
    schedule.set(InstanceNumber(0), Next::At(2));
    assert_eq!(schedule.quiet_until(), Some(3), "a tick that has come is now");
}

#[test]
fn a_slice_can_remove_and_stop_its_own_script_and_others() {
    let mut schedule = schedule(&[(1, 0, Next::Ready); 5]);
    schedule.begin_tick(1);
    let order = run(&mut schedule, |schedule, number| match number {
        0 => {
            assert!(schedule.remove(InstanceNumber(0)) && schedule.remove(InstanceNumber(2)));
            // The number is that of another script now, which does not wait because the slice ends.
            assert_eq!(schedule.add(home(8, 0), Next::At(50)), Some(InstanceNumber(0)));
        }
        1 => {
            schedule.set(InstanceNumber(1), Next::Ready);
            schedule.set(InstanceNumber(1), Next::Stopped);
            schedule.wake(InstanceNumber(1));
            schedule.set(InstanceNumber(3), Next::Stopped);
        }
        _ => {}
    });
    assert_eq!(order, [0, 1, 4]);
    assert_eq!((schedule.len(), schedule.n_active(), schedule.quiet_until()), (4, 2, Some(50)));
}

#[test]
fn the_last_script_of_an_owner_can_remove_itself() {
    let mut schedule = ScriptSchedule::new(0);
    let only = schedule.add(home(1, 0), Next::Ready).expect("a number");
    schedule.begin_tick(1);
    run(&mut schedule, |schedule, _| {
        schedule.remove(only);
    });
    assert!(schedule.is_empty() && schedule.top_owners(1).is_empty());
    let stored = schedule.stored();
    assert_eq!(ScriptSchedule::restored(stored.clone()).map(|schedule| schedule.stored()), Ok(stored));
    assert_eq!(schedule.add(home(1, 0), Next::Ready), Some(only));
    schedule.begin_tick(2);
    assert_eq!(run(&mut schedule, |_, _| {}), [only.0]);
}

#[test]
fn a_linkset_has_its_scripts_in_order() {
    let mut schedule = schedule(&[(2, 9, Next::Waits), (1, 0, Next::Waits), (2, 3, Next::Waits)]);
    let of = |schedule: &ScriptSchedule| -> Vec<u32> {
        schedule.of_linkset(LocalId(2)).map(|InstanceNumber(number)| number).collect()
    };
    assert_eq!(of(&schedule), [2, 0]);
    schedule.move_to(InstanceNumber(1), home(2, 5));
    assert_eq!(of(&schedule), [2, 1, 0]);
}

#[test]
fn figures_tell_what_has_run_and_what_is_late() {
    let mut schedule = schedule(&[(1, 0, Next::Ready); 10]);
    let budget = FuelBudget { fuel_per_tick: 4_000, slice_fuel: 2_000 };
    let mut figures = Vec::new();
    for tick in 1..=3 {
        schedule.begin_tick(tick);
        figures.push(schedule.run(budget, |_, _| SliceResult {
            fuel: 1_000,
            n_events: 2,
            next: Next::Waits,
        }));
    }
    let ran: Vec<u64> = figures.iter().map(|figures| figures.n_ran).collect();
    let late: Vec<u64> = figures.iter().map(|figures| figures.n_late).collect();
    assert_eq!((ran, late), (vec![4, 4, 2], vec![6, 2, 0]));
    assert_eq!(figures[1].run_percent(), 100.0 * 4.0 / 6.0);
    assert_eq!((figures[1].fuel, figures[1].n_slices, figures[1].n_events), (4_000, 4, 8));
    assert_eq!((figures[0].late_ticks_max, figures[2].late_ticks_max), (1, 3), "ready since tick 0");
}
