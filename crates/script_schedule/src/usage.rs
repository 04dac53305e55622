//! Fuel of a script or an owner over the last ticks, in windows that are begun by its own slices: an idle one is not visited.

use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// Ticks of a window.
pub(crate) const WINDOW_TICKS: u64 = 256;

/// Fuel of a window and of the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FuelUsage {
    window: u64,
    fuel: u64,
    fuel_before: u64,
}

impl FuelUsage {
    pub(crate) const NONE: Self = Self { window: 0, fuel: 0, fuel_before: 0 };

    pub(crate) fn spend(&mut self, tick: u64, fuel: u64) {
        let window = tick / WINDOW_TICKS;
        if window != self.window {
            let is_next = self.window.checked_add(1) == Some(window);
            self.fuel_before = if is_next { self.fuel } else { 0 };
            (self.window, self.fuel) = (window, 0);
        }
        self.fuel = self.fuel.saturating_add(fuel);
    }

    /// Fuel of the window that a tick is in, and of the one before.
    pub(crate) fn recent(&self, tick: u64) -> u64 {
        match (tick / WINDOW_TICKS).checked_sub(self.window) {
            Some(0) => self.fuel.saturating_add(self.fuel_before),
            Some(1) => self.fuel,
            _ => 0,
        }
    }
}

/// Ticks that [`FuelUsage::recent`] covers, of a schedule that has begun at a tick.
pub(crate) fn recent_ticks(began: u64, tick: u64) -> u64 {
    let first = (tick / WINDOW_TICKS).saturating_sub(1) * WINDOW_TICKS;
    (tick - first.max(began).min(tick)).saturating_add(1)
}

/// Those that have used the most, at most `n`, the greatest first.
pub(crate) fn greatest<T: Ord + Copy>(all: impl Iterator<Item = (T, u64)>, n: usize) -> Vec<(T, u64)> {
    let rank = |&(id, fuel): &(T, u64)| (Reverse(fuel), id);
    let mut found: Vec<(T, u64)> = all.filter(|&(_, fuel)| fuel > 0).collect();
    if (1..found.len()).contains(&n) {
        found.select_nth_unstable_by_key(n, rank);
    }
    found.truncate(n);
    found.sort_unstable_by_key(rank);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuel_is_that_of_two_windows() {
        let mut usage = FuelUsage::default();
        usage.spend(10, 5);
        usage.spend(WINDOW_TICKS - 1, 7);
        assert_eq!((usage.recent(WINDOW_TICKS - 1), usage.recent(WINDOW_TICKS)), (12, 12));
        usage.spend(WINDOW_TICKS + 3, 100);
        assert_eq!(usage.recent(WINDOW_TICKS + 3), 112);
        assert_eq!((usage.recent(2 * WINDOW_TICKS), usage.recent(3 * WINDOW_TICKS)), (100, 0));
        usage.spend(5 * WINDOW_TICKS, 1);
        assert_eq!(usage.recent(5 * WINDOW_TICKS), 1, "the window before was without work");
        usage.spend(5 * WINDOW_TICKS, u64::MAX);
        assert_eq!(usage.recent(5 * WINDOW_TICKS), u64::MAX);
    }

    #[test]
    fn ticks_are_counted_from_the_beginning() {
        assert_eq!(recent_ticks(0, 0), 1);
        assert_eq!(recent_ticks(1_000, 1_009), 10);
        assert_eq!(recent_ticks(0, 2 * WINDOW_TICKS), WINDOW_TICKS + 1);
        assert_eq!(recent_ticks(0, 3 * WINDOW_TICKS - 1), 2 * WINDOW_TICKS);
    }

    #[test]
    fn the_greatest_come_first() {
        let fuel = [30, 0, 50, 30, 10];
        let of = |n| greatest((0..).zip(fuel), n);
        assert_eq!(of(2), [(2, 50), (0, 30)]);
        assert_eq!(of(9), [(2, 50), (0, 30), (3, 30), (4, 10)]);
        assert!(of(0).is_empty());
    }
}
