//! Fuel of a tick, and its division between the two queues.

/// Fuel of a tick and of a slice. 1 fuel is about 1 ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FuelBudget {
    /// Fuel of all scripts in a tick, 1 to 2⁴⁰.
    pub fuel_per_tick: u64,
    /// Fuel of a slice, 1 to 2⁴⁰.
    pub slice_fuel: u64,
}

/// Both figures of a budget at most.
const FUEL_MAX: u64 = 1 << 40;

/// Fuel that a slice counts at least: a visit that does nothing takes time, too, and a tick has to end.
pub const VISIT_FUEL: u64 = 100;

/// The part of a tick's fuel that is kept for spent scripts, as a divisor.
const RESERVE: i64 = 8;

/// An owner's turn is this part of a slice, as a divisor: the smaller, the closer are the shares.
const TURN: i64 = 16;

/// A round of turns is at least this part of a tick, as a divisor. It bounds the turns that a debt takes.
const TURNS_MAX: i64 = 4_096;

impl Default for FuelBudget {
    /// 10 ms of scripts in a tick, and 0.1 ms of one of them at a time.
    fn default() -> Self {
        Self { fuel_per_tick: 10_000_000, slice_fuel: 100_000 }
    }
}

impl FuelBudget {
    fn bounded(self) -> Self {
        let bounded = |fuel: u64| fuel.clamp(1, FUEL_MAX);
        Self { fuel_per_tick: bounded(self.fuel_per_tick), slice_fuel: bounded(self.slice_fuel) }
    }

    /// The fuel that a slice is counted with. One operation may exceed the slice by far; a single one does not stop its world's scripts for
    /// more than about a tick.
    fn charge(self, fuel: u64) -> i64 {
        fuel.clamp(VISIT_FUEL, VISIT_FUEL.max(self.fuel_per_tick + self.slice_fuel)) as i64
    }
}

/// The fuel of the tick under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purse {
    budget: FuelBudget,
    /// Fuel left. Below 0 it is taken from the next tick.
    left: i64,
    /// Fuel left of that which is kept for spent scripts.
    kept: i64,
    /// The tick of this.
    tick: u64,
}

/// One of the two queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueKind {
    Fresh,
    Spent,
}

/// Fuel of the turns of owners and of scripts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quanta {
    pub(crate) owner: i64,
    pub(crate) script: i64,
}

impl Purse {
    /// An empty one, with debts of the ticks before.
    pub(crate) fn new(tick: u64, (left, kept): (i64, i64)) -> Self {
        Self { budget: FuelBudget::default(), left, kept, tick }
    }

    /// Debts: what the next tick has less, and its reserve for spent scripts.
    pub(crate) fn debts(&self) -> (i64, i64) {
        (self.left.min(0), self.kept.min(0))
    }

    /// True for debts that ticks can leave behind.
    pub(crate) fn can_be((left, kept): (i64, i64)) -> bool {
        const LEAST: i64 = -(FUEL_MAX as i64) * 8;
        (LEAST..=0).contains(&left) && (LEAST..=0).contains(&kept)
    }

    /// Begins a tick. Idle ones before it have paid debts.
    pub(crate) fn fill(&mut self, tick: u64, budget: FuelBudget) {
        self.budget = budget.bounded();
        let fuel = self.budget.fuel_per_tick as i64;
        let n_ticks = i64::try_from(tick - self.tick).unwrap_or(i64::MAX).max(1);
        // More than a tick can leave behind: the budget was larger.
        let least = -4 * (fuel + self.budget.slice_fuel as i64);
        let (left, kept) = self.debts();
        let filled =
            |debt: i64, fuel: i64| debt.max(least).saturating_add(fuel.saturating_mul(n_ticks)).min(fuel);
        self.left = filled(left, fuel);
        self.kept = filled(kept, fuel / RESERVE);
        self.tick = tick;
    }

    pub(crate) const fn slice_fuel(&self) -> u64 {
        self.budget.slice_fuel
    }

    pub(crate) fn quanta(&self) -> Quanta {
        let (slice, tick) = (self.budget.slice_fuel as i64, self.budget.fuel_per_tick as i64);
        Quanta { owner: (slice / TURN).max(tick / TURNS_MAX).max(1), script: slice }
    }

    /// The queue of the next slice: the fresh one, until only the kept fuel is left. None at the end of the tick.
    pub(crate) fn choose(&self, has_fresh: bool, has_spent: bool) -> Option<QueueKind> {
        let kept = if has_spent { self.kept.max(0) } else { 0 };
        if has_fresh && self.left > kept {
            Some(QueueKind::Fresh)
        } else if has_spent && (self.left > 0 || kept > 0) {
            Some(QueueKind::Spent)
        } else {
            None
        }
    }

    /// Counts a slice; returns the fuel to be counted elsewhere. Spent scripts owe what they have used beyond their reserve only if fresh ones wanted it.
    pub(crate) fn spend(&mut self, which: QueueKind, has_fresh: bool, fuel: u64) -> i64 {
        let charge = self.budget.charge(fuel);
        self.left = self.left.saturating_sub(charge);
        if which == QueueKind::Spent {
            let least = if has_fresh { i64::MIN } else { self.kept.min(0) };
            self.kept = self.kept.saturating_sub(charge).max(least);
        }
        charge
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slices of a tick from both queues, all of which have as much as there is.
    fn tick(purse: &mut Purse, tick: u64, budget: FuelBudget) -> [u64; 2] {
        purse.fill(tick, budget);
        let mut n = [0, 0];
        while let Some(which) = purse.choose(true, true) {
            purse.spend(which, true, budget.slice_fuel);
            n[usize::from(which == QueueKind::Spent)] += 1;
        }
        n
    }

    #[test]
    fn both_queues_have_their_parts_in_every_tick() {
        let mut purse = Purse::new(0, (0, 0));
        let mut sums = [0, 0];
        for n in 1..=80 {
            let [fresh, spent] = tick(&mut purse, n, FuelBudget::default());
            assert!((87..=88).contains(&fresh) && (12..=13).contains(&spent), "{fresh} {spent}");
            sums = [sums[0] + fresh, sums[1] + spent];
            assert!(sums[1] * 8 >= n * 100, "{sums:?}");
        }
        assert!((8_000..=8_001).contains(&(sums[0] + sums[1])), "{sums:?}");
    }

    /// A slice is twice a tick.
    #[test]
    fn small_ticks_are_right_in_the_mean() {
        let budget = FuelBudget { fuel_per_tick: 800, slice_fuel: 1_600 };
        let mut purse = Purse::new(0, (0, 0));
        let mut sums = [0, 0];
        for n in 1..=8_000 {
            let [fresh, spent] = tick(&mut purse, n, budget);
            sums = [sums[0] + fresh, sums[1] + spent];
        }
        assert!((3_998..=4_002).contains(&(sums[0] + sums[1])), "{sums:?}");
        assert!((500..=502).contains(&sums[1]), "{sums:?}");
    }

    #[test]
    fn a_queue_alone_has_all() {
        let mut purse = Purse::new(0, (0, 0));
        for (n, which) in [(1, QueueKind::Spent), (2, QueueKind::Fresh)] {
            purse.fill(n, FuelBudget::default());
            let mut n_slices = 0;
            while let Some(found) = purse.choose(which == QueueKind::Fresh, which == QueueKind::Spent) {
                assert_eq!(found, which);
                purse.spend(which, which == QueueKind::Fresh, 100_000);
                n_slices += 1;
            }
            assert_eq!(n_slices, 100);
        }
        assert_eq!(purse.debts(), (0, 0));
    }

    #[test]
    fn a_giant_slice_takes_about_a_tick_of_others_and_idle_ticks_pay_it() {
        let mut purse = Purse::new(0, (0, 0));
        purse.fill(1, FuelBudget::default());
        purse.spend(QueueKind::Fresh, true, u64::MAX);
        assert_eq!(purse.debts(), (-100_000, 0));
        purse.spend(QueueKind::Fresh, true, u64::MAX);
        let mut busy = purse;
        busy.fill(2, FuelBudget::default());
        assert_eq!((busy.left, busy.choose(true, false)), (-200_000, None));
        purse.fill(9, FuelBudget::default());
        assert_eq!(purse.left, 10_000_000);
    }

    #[test]
    fn a_small_budget_does_not_pay_the_debt_of_a_large_one() {
        let mut purse = Purse::new(0, (0, 0));
        purse.fill(1, FuelBudget { fuel_per_tick: 1 << 40, slice_fuel: 1 << 40 });
        (0..3).for_each(|_| {
            purse.spend(QueueKind::Fresh, true, u64::MAX);
        });
        for tick in 2..=6 {
            assert_eq!(purse.choose(true, false), None);
            purse.fill(tick, FuelBudget::default());
        }
        assert_eq!(purse.choose(true, false), Some(QueueKind::Fresh));
    }

    #[test]
    fn figures_of_any_size_are_bounded() {
        for fuel in [0, 1, 15, u64::MAX] {
            let mut purse = Purse::new(0, (0, 0));
            purse.fill(u64::MAX, FuelBudget { fuel_per_tick: fuel, slice_fuel: fuel });
            assert!(purse.slice_fuel() >= 1 && purse.quanta().owner >= 1 && purse.quanta().script >= 1);
            purse.spend(QueueKind::Spent, true, u64::MAX);
            assert!(Purse::can_be(purse.debts()));
        }
    }
}
