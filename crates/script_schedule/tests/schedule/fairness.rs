//! Shares of fuel.

use crate::model::{Kind, Model, owner};
use proptest::prelude::*;
use script_schedule::{FuelBudget, Home, InstanceNumber, Next};
use std::collections::BTreeMap;

/// Fuel of a turn of an owner, as `budget` grants it.
fn quantum(budget: FuelBudget) -> u64 {
    (budget.slice_fuel / 16).max(budget.fuel_per_tick / 4_096).max(1)
}

fn budget() -> impl Strategy<Value = FuelBudget> {
    (1_000..100_000_u64, 1..400_000_u64)
        .prop_map(|(slice_fuel, fuel_per_tick)| FuelBudget { fuel_per_tick, slice_fuel })
}

proptest! {
    /// Scripts whose slices are used up, of owners with one to forty of them.
    #[test]
    fn spent_scripts_of_owners_have_equal_shares(
        budget in budget(),
        n_scripts in prop::collection::vec(1..40_u32, 2..7),
        n_ticks in 1..40_u64,
    ) {
        let mut model = Model::new(budget);
        let mut owners = BTreeMap::new();
        for (of, &n) in (0..).zip(&n_scripts) {
            for _ in 0..n {
                let number = model.add(of, 0, Kind::Endless);
                model.schedule.set(number, Next::Spent);
                owners.insert(number, of);
            }
        }
        shares_are_equal(&mut model, &owners, n_ticks)?;
    }

    /// Scripts that always have another event, each with a cost of its own.
    #[test]
    fn fresh_scripts_of_owners_have_equal_shares(
        budget in budget(),
        parts in prop::collection::vec(prop::collection::vec(1..1_000_u64, 1..40), 2..7),
        n_ticks in 1..40_u64,
    ) {
        let mut model = Model::new(budget);
        let mut owners = BTreeMap::new();
        for (of, parts) in (0..).zip(&parts) {
            for part in parts {
                let fuel = (budget.slice_fuel * part / 1_000).max(100);
                owners.insert(model.add(of, 0, Kind::Busy(fuel)), of);
            }
        }
        shares_are_equal(&mut model, &owners, n_ticks)?;
    }

    /// A flood of events beside scripts without an end.
    #[test]
    fn spent_scripts_have_an_eighth_of_each_tick(
        budget in budget(),
        (n_endless, n_busy) in (1..20_u32, 1..20_u32),
        part in 1..1_000_u64,
    ) {
        let mut model = Model::new(budget);
        for n in 0..n_endless {
            let number = model.add(n % 3, 0, Kind::Endless);
            model.schedule.set(number, Next::Spent);
        }
        for n in 0..n_busy {
            model.add(n % 5, 0, Kind::Busy((budget.slice_fuel * part / 1_000).max(100)));
        }
        let FuelBudget { fuel_per_tick, slice_fuel } = budget;
        let (mut spent, mut all) = (0, 0);
        for tick in 1..60 {
            let figures = model.tick(tick);
            spent += model.fuel_of(|turn| !turn.is_fresh);
            all += figures.fuel;
            let least = tick * (fuel_per_tick / 8);
            prop_assert!((least..=least + slice_fuel).contains(&spent), "{spent} of {least}");
            let least = tick * fuel_per_tick;
            prop_assert!((least..=least + 2 * slice_fuel).contains(&all), "{all} of {least}");
        }
    }

    /// The scripts of one owner.
    #[test]
    fn scripts_of_an_owner_have_equal_shares(
        parts in prop::collection::vec(1..1_000_u64, 2..30),
        n_ticks in 20..60_u64,
    ) {
        let budget = FuelBudget { fuel_per_tick: 1_000_000, slice_fuel: 20_000 };
        let mut model = Model::new(budget);
        let mut fuel = BTreeMap::new();
        for part in parts {
            fuel.insert(model.add(1, 0, Kind::Busy(19 * part + 100)), 0);
        }
        for tick in 1..=n_ticks {
            model.tick(tick);
            for (turn, slice) in &model.turns {
                *fuel.entry(turn.instance).or_insert(0) += slice.fuel;
            }
        }
        let (least, most) = (fuel.values().min(), fuel.values().max());
        let difference = most.expect("scripts") - least.expect("scripts");
        prop_assert!(difference <= 2 * (budget.slice_fuel + 100), "{fuel:?}");
    }
}

/// After each tick, of all owners, whose scripts are all ready at any time.
fn shares_are_equal(
    model: &mut Model,
    owners: &BTreeMap<InstanceNumber, u32>,
    n_ticks: u64,
) -> Result<(), TestCaseError> {
    let mut fuel: BTreeMap<u32, u64> = owners.values().map(|&of| (of, 0)).collect();
    for tick in 1..=n_ticks {
        model.tick(tick);
        for (turn, slice) in &model.turns {
            *fuel.entry(owners[&turn.instance]).or_default() += slice.fuel;
        }
        let (least, most) = (fuel.values().min(), fuel.values().max());
        let difference = most.expect("owners") - least.expect("owners");
        let most = model.budget.slice_fuel.max(100) + quantum(model.budget);
        prop_assert!(difference <= most, "{difference} > {most}: {fuel:?}");
    }
    Ok(())
}

#[test]
fn ten_thousand_busy_scripts_do_not_take_from_one() {
    let mut model = Model::new(FuelBudget::default());
    for _ in 0..10_000 {
        model.add(1, 0, Kind::Endless);
    }
    let alone = model.add(2, 0, Kind::Endless);
    let mut shares = Vec::new();
    for tick in 1..=1_000 {
        model.tick(tick);
        if tick > 900 {
            shares.push(model.fuel_of(|turn| turn.instance == alone));
        }
    }
    let mean = shares.iter().sum::<u64>() / shares.len() as u64;
    assert!((4_990_000..=5_010_000).contains(&mean), "{mean} of 10,000,000");
    let [(first, one), (second, other)] = model.schedule.top_owners(2)[..] else { panic!("two owners") };
    assert_eq!((first.min(second), first.max(second)), (owner(1), owner(2)));
    assert!(one - other <= 300_000, "{one} {other}");
    assert_eq!(model.schedule.top_scripts(1)[0].0, alone);
    assert_eq!(model.schedule.fuel_of(alone), if first == owner(2) { one } else { other });
}

#[test]
fn a_lone_owner_has_the_whole_budget() {
    let mut model = Model::new(FuelBudget::default());
    for _ in 0..3 {
        model.add(1, 0, Kind::Endless);
    }
    for tick in 1..=50 {
        assert_eq!(model.tick(tick).fuel, 10_000_000);
    }
}

/// Two owners whose scripts wake each other, so that only one of them is ready at a time, beside an owner whose scripts always are.
#[test]
fn an_owner_that_comes_back_again_and_again_has_no_more_than_its_share() {
    let mut model = Model::new(FuelBudget::default());
    for _ in 0..200 {
        model.add(1, 0, Kind::Busy(3_000));
    }
    let first = model.add(2, 0, Kind::Relay { to: 201, fuel: 90_000 });
    let second = model.add(3, 0, Kind::Relay { to: 200, fuel: 90_000 });
    model.send(first);
    let (mut of_both, mut all) = (0, 0);
    for tick in 1..=100 {
        all += model.tick(tick).fuel;
        of_both += model.fuel_of(|turn| [first, second].contains(&turn.instance));
    }
    let share = of_both as f64 / all as f64;
    assert!((0.45..=0.55).contains(&share), "{share}");
}

#[test]
fn a_script_that_changes_its_owner_waits_in_the_queue_of_that() {
    let mut model = Model::new(FuelBudget { fuel_per_tick: 100_000, slice_fuel: 10_000 });
    let numbers: Vec<InstanceNumber> = (0..4).map(|_| model.add(1, 0, Kind::Endless)).collect();
    model.tick(1);
    let home = model.schedule.home(numbers[3]).expect("a script");
    model.schedule.move_to(numbers[3], Home { owner: owner(2), ..home });
    assert_eq!(model.schedule.home(numbers[3]).map(|home| home.owner), Some(owner(2)));
    let mut fuel = 0;
    for tick in 2..=101 {
        model.tick(tick);
        fuel += model.fuel_of(|turn| turn.instance == numbers[3]);
    }
    assert!((4_990_000..=5_020_000).contains(&fuel), "{fuel}");
    for number in numbers {
        assert!(model.schedule.remove(number) && !model.schedule.remove(number));
    }
    assert_eq!((model.schedule.len(), model.schedule.n_ready(), model.schedule.quiet_until()), (0, 0, None));
    assert!(model.schedule.top_owners(9).is_empty());
}
