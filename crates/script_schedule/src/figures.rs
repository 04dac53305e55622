//! Counts of a tick, or of several.

use std::ops::AddAssign;

/// Counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScriptFigures {
    /// Fuel that scripts have used.
    pub fuel: u64,
    /// Slices.
    pub n_slices: u64,
    /// Events whose handlers have ended.
    pub n_events: u64,
    /// Scripts that have run, each counted once a tick.
    pub n_ran: u64,
    /// Scripts that were ready in a tick, and did not run in it.
    pub n_late: u64,
    /// Ticks that a fresh script has waited for its slice, at most.
    pub late_ticks_max: u64,
    /// Scripts that the wheel has moved: to another level, or out of it.
    pub n_moved: u64,
}

impl ScriptFigures {
    /// Of the scripts that were ready, those that have run, in percent. 100 if none was.
    #[must_use]
    pub fn run_percent(&self) -> f64 {
        match self.n_ran + self.n_late {
            0 => 100.0,
            n_ready => 100.0 * self.n_ran as f64 / n_ready as f64,
        }
    }
}

impl AddAssign for ScriptFigures {
    fn add_assign(&mut self, other: Self) {
        let Self { fuel, n_slices, n_events, n_ran, n_late, late_ticks_max, n_moved } = other;
        self.fuel = self.fuel.saturating_add(fuel);
        self.n_slices += n_slices;
        self.n_events += n_events;
        self.n_ran += n_ran;
        self.n_late += n_late;
        self.late_ticks_max = self.late_ticks_max.max(late_ticks_max);
        self.n_moved += n_moved;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_that_has_run_is_one_of_those_that_were_ready() {
        let mut sum = ScriptFigures::default();
        assert_eq!(sum.run_percent(), 100.0);
        sum += ScriptFigures {
            n_ran: 3,
            n_late: 1,
            late_ticks_max: 5,
            fuel: u64::MAX,
            ..ScriptFigures::default()
        };
        sum += ScriptFigures { n_late: 2, late_ticks_max: 4, fuel: 1, ..ScriptFigures::default() };
        assert_eq!((sum.run_percent(), sum.late_ticks_max, sum.fuel), (50.0, 5, u64::MAX));
    }
}
