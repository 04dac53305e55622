use super::*;
use crate::budget::FuelBudget;
use crate::instances::{Home, InstanceNumber};
use crate::schedule::{Next, SliceResult};
use ids::Uuid;

fn home(owner: u128) -> Home {
    Home { linkset: LocalId(1), order: 0, owner: AgentId(Uuid::from_u128(owner)) }
}

/// After a tick in which not all had a slice: ready, spent, timed, waiting and stopped scripts of three owners, one of which owes fuel.
fn busy() -> ScriptSchedule {
    let mut schedule = ScriptSchedule::new(10);
    let next = [Next::Ready, Next::Ready, Next::Ready, Next::Spent, Next::At(40), Next::Waits, Next::Stopped];
    for (n, next) in (0..).zip(next) {
        schedule.add(home(5 - n % 3), next).expect("a number");
    }
    schedule.begin_tick(11);
    let budget = FuelBudget { fuel_per_tick: 2_000, slice_fuel: 1_000 };
    schedule.run(budget, |_, turn| {
        let next = if turn.instance == InstanceNumber(0) { Next::Waits } else { Next::Spent };
        SliceResult { fuel: 1_050, n_events: 1, next }
    });
    schedule
}

#[test]
fn a_restored_schedule_has_the_same_state() {
    let schedule = busy();
    let stored = schedule.stored();
    assert!(stored.owners.iter().any(|owner| owner.debts != (0, 0)), "{stored:?}");
    assert!(!stored.fresh.turns.is_empty() && !stored.spent.turns.is_empty(), "{stored:?}");
    let restored = ScriptSchedule::restored(stored.clone()).expect("a state");
    assert_eq!(restored.stored(), stored);
    assert_eq!((restored.n_ready(), restored.n_active()), (schedule.n_ready(), schedule.n_active()));
    let empty = ScriptSchedule::new(7).stored();
    assert_eq!(ScriptSchedule::restored(empty.clone()).expect("a state").stored(), empty);
}

#[test]
fn states_that_no_run_leads_to_are_refused() {
    type Damage = fn(&mut ScheduleState);
    let damages: [(Damage, &str); 18] = [
        (|state| state.began = 12, "it begins after its tick"),
        (|state| state.debts.0 = 1, "debts of the tick"),
        (|state| state.owners.swap(0, 1), "the order of owners"),
        (|state| state.scripts[4].owner = 3, "a script without an owner"),
        (|state| state.scripts.clear(), "an owner without a script"),
        (|state| state.scripts.swap(0, 1), "the order of scripts"),
        (|state| state.scripts[6].number = u32::MAX, "more scripts than there may be"),
        (|state| state.scripts[5].phase = StoredPhase::Queued(12), "a ready script"),
        (|state| state.scripts[5].deficit = 1, "a ready script"),
        (|state| state.scripts[3].deficit = i64::MIN, "fuel of a script's turn"),
        (|state| state.scripts[4].phase = StoredPhase::Timed(11), "a due tick that has passed"),
        (|state| state.scripts[5].phase = StoredPhase::Queued(11), "a ready script that is in no queue"),
        (|state| state.fresh.turns[0].owner = 3, "a turn"),
        (|state| state.fresh.turns[0].scripts.clear(), "a turn"),
        (|state| state.fresh.turns[0].deficit = i64::MAX, "fuel of a turn"),
        (|state| state.fresh.turns[0].scripts.push(5), "a script of a turn"),
        (|state| state.spent.turns[0].scripts = state.fresh.turns[0].scripts.clone(), "a script of a turn"),
        (|state| state.owners.iter_mut().for_each(|owner| owner.debts.0 = 1), "a debt"),
    ];
    for (damage, why) in damages {
        let mut state = busy().stored();
        damage(&mut state);
        let error = ScriptSchedule::restored(state).expect_err(why);
        assert_eq!(error.to_string(), format!("schedule of scripts: {why}"));
    }
    let mut state = ScriptSchedule::new(7).stored();
    state.spent.is_in_turn = true;
    assert_eq!(ScriptSchedule::restored(state).map(|_| ()), Err(ScheduleError("a turn without an owner")));
}

#[test]
#[should_panic(expected = "is stored between two ticks")]
fn a_schedule_is_not_stored_in_a_tick() {
    let mut schedule = ScriptSchedule::new(0);
    schedule.add(home(1), Next::At(3));
    schedule.begin_tick(3);
    let _ = schedule.stored();
}
