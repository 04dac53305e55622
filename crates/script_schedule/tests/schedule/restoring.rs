//! A schedule that is stored and restored at any tick continues as if it had not been.

use crate::model::{Kind, Model, owner};
use ids::LocalId;
use proptest::prelude::*;
use proptest::sample::Index;
use script_schedule::{FuelBudget, Home, InstanceNumber, Next, ScheduleState, ScriptSchedule};

/// A change between two ticks.
#[derive(Clone, Debug)]
enum Change {
    Add(u32, Kind),
    Send(Index),
    Remove(Index),
    Move(Index, Home),
    Set(Index, u64),
}

/// A tick: changes before it, and whether it comes at once or after the idle ones.
#[derive(Clone, Debug)]
struct Tick {
    changes: Vec<Change>,
    is_next: bool,
    is_restored: bool,
}

fn kind() -> impl Strategy<Value = Kind> {
    let fuel = || 0..50_000_u64;
    prop_oneof![
        1 => Just(Kind::Endless),
        1 => fuel().prop_map(Kind::Busy),
        4 => (1..300_u64, fuel()).prop_map(|(period, fuel)| Kind::Timer { period, fuel }),
        4 => (1..300_u64, fuel()).prop_map(|(ticks, fuel)| Kind::Sleeper { ticks, fuel }),
        4 => (0..20_u32, fuel()).prop_map(|(to, fuel)| Kind::Relay { to, fuel }),
    ]
}

fn home() -> impl Strategy<Value = Home> {
    (0..9_u32, 0..9_u32, 0..4_u32).prop_map(|(linkset, order, of)| Home {
        linkset: LocalId(linkset),
        order,
        owner: owner(of),
    })
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        6 => (0..4_u32, kind()).prop_map(|(of, kind)| Change::Add(of, kind)),
        8 => any::<Index>().prop_map(Change::Send),
        2 => any::<Index>().prop_map(Change::Remove),
        1 => (any::<Index>(), home()).prop_map(|(index, home)| Change::Move(index, home)),
        2 => (any::<Index>(), any::<u64>()).prop_map(|(index, next)| Change::Set(index, next)),
    ]
}

fn tick() -> impl Strategy<Value = Tick> {
    (prop::collection::vec(change(), 0..4), any::<bool>(), prop::bool::weighted(0.3))
        .prop_map(|(changes, is_next, is_restored)| Tick { changes, is_next, is_restored })
}

impl Change {
    fn carry_out(&self, model: &mut Model, tick: u64) {
        let numbers: Vec<InstanceNumber> = model.scripts.keys().copied().collect();
        let number = |index: &Index| (!numbers.is_empty()).then(|| *index.get(&numbers));
        match self {
            Self::Add(of, kind) => {
                model.add(*of, tick, *kind);
            }
            Self::Send(index) => {
                if let Some(number) = number(index) {
                    model.send(number);
                }
            }
            Self::Remove(index) => {
                if let Some(number) = number(index) {
                    model.schedule.remove(number);
                    model.scripts.remove(&number);
                }
            }
            Self::Move(index, home) => {
                if let Some(number) = number(index) {
                    model.schedule.move_to(number, *home);
                }
            }
            Self::Set(index, next) => {
                if let Some(number) = number(index) {
                    let at = Next::At(tick + next % 100);
                    let all = [Next::Ready, Next::Spent, at, Next::Waits, Next::Stopped];
                    model.schedule.set(number, all[(next / 100 % 5) as usize]);
                }
            }
        }
    }
}

fn restored(schedule: &ScriptSchedule) -> ScriptSchedule {
    let bytes = postcard::to_stdvec(&schedule.stored()).expect("a state is encoded");
    let state: ScheduleState = postcard::from_bytes(&bytes).expect("a state is decoded");
    ScriptSchedule::restored(state).expect("a run leads to this state")
}

proptest! {
    #[test]
    fn a_restored_run_is_the_same_run(
        ticks in prop::collection::vec(tick(), 1..150),
        (slice_fuel, fuel_per_tick) in (200..20_000_u64, 1..200_000_u64),
    ) {
        let mut straight = Model::new(FuelBudget { fuel_per_tick, slice_fuel });
        let mut other = straight.clone();
        let mut now = 0;
        for Tick { changes, is_next, is_restored } in ticks {
            let due = straight.schedule.quiet_until();
            prop_assert_eq!(other.schedule.quiet_until(), due);
            now = if is_next { now + 1 } else { due.unwrap_or(now + 77) };
            for model in [&mut straight, &mut other] {
                model.schedule.begin_tick(now);
                for change in &changes {
                    change.carry_out(model, now);
                }
                model.run();
            }
            prop_assert_eq!(&straight.turns, &other.turns);
            prop_assert_eq!(straight.schedule.digest(), other.schedule.digest());
            prop_assert_eq!(straight.schedule.stored(), other.schedule.stored());
            prop_assert_eq!(straight.schedule.top_scripts(5), other.schedule.top_scripts(5));
            if is_restored {
                other.schedule = restored(&other.schedule);
            }
            prop_assert_eq!(straight.schedule.n_ready(), other.schedule.n_ready());
            prop_assert_eq!(straight.schedule.n_active(), other.schedule.n_active());
        }
    }

    /// Bytes of a state with one of them changed make a schedule that runs, or none.
    #[test]
    fn damaged_states_do_no_harm(
        ticks in prop::collection::vec(tick(), 1..30),
        (at, byte) in (any::<Index>(), any::<u8>()),
    ) {
        let mut model = Model::new(FuelBudget { fuel_per_tick: 30_000, slice_fuel: 5_000 });
        for (now, Tick { changes, .. }) in (1..).zip(ticks) {
            model.schedule.begin_tick(now);
            changes.iter().for_each(|change| change.carry_out(&mut model, now));
            model.run();
        }
        let mut bytes = postcard::to_stdvec(&model.schedule.stored()).expect("a state is encoded");
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let state = postcard::from_bytes::<ScheduleState>(&bytes);
        if let Ok(Ok(mut schedule)) = state.map(ScriptSchedule::restored) {
            let next = schedule.quiet_until();
            schedule.begin_tick(next.unwrap_or(u64::MAX));
            schedule.run(FuelBudget::default(), |_, turn| script_schedule::SliceResult {
                fuel: turn.fuel,
                n_events: 0,
                next: Next::Waits,
            });
        }
    }
}
