//! Steady ticks ask for no memory.

use ids::{AgentId, LocalId, Uuid};
use script_schedule::{FuelBudget, Home, InstanceNumber, Next, ScriptSchedule, SliceResult};
use telemetry::allocations::{CountingAllocator, count_here, counted};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const N: u32 = 2_000;

/// Timers of all periods, some of which wake others, and endless scripts, of more fuel than there is.
#[test]
fn steady_ticks_allocate_nothing() {
    let mut schedule = ScriptSchedule::new(0);
    for n in 0..N {
        let owner = AgentId(Uuid::from_u128(u128::from(n % 30)));
        let next = if n % 100 == 0 { Next::Spent } else { Next::At(1 + u64::from(n)) };
        schedule.add(Home { linkset: LocalId(n / 4), order: n % 4, owner }, next).expect("a number");
    }
    let mut tick = 0;
    let mut run = |n_ticks| {
        for _ in 0..n_ticks {
            tick += 1;
            schedule.begin_tick(tick);
            schedule.wake(InstanceNumber(tick as u32 * 7 % N));
            schedule.run(FuelBudget { fuel_per_tick: 1_000_000, slice_fuel: 20_000 }, |schedule, turn| {
                let n = turn.instance.0;
                for woken in 0..n % 3 {
                    schedule.wake(InstanceNumber((n + woken * 50) % N));
                }
                let next =
                    if n % 100 == 0 { Next::Spent } else { Next::At(turn.tick + 1 + u64::from(n % 900)) };
                SliceResult { fuel: if n % 100 == 0 { 20_000 } else { 3_000 }, n_events: 1, next }
            });
        }
    };
    run(100);
    count_here("ticks of scripts");
    let asked = || counted()["ticks of scripts"];
    // Reading the count allocates, too.
    let (first, second) = (asked(), asked());
    run(2_000);
    assert_eq!(asked() - second, second - first);
}
