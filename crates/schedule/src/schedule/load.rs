//! Overload: demand ÷ capacity of the workers.
//!
//! Below 1 it has no effect. Above 1 the beats of all rates come later by this factor, so that worlds of all rates are dilated alike
//! and the work just fits. Mutual waiting alone would do that within one rate; between rates the one with the shorter `dt` would lose
//! more (20 Hz and 45 Hz at 10 % overload: dilation 1.00 and 0.75).

use ids::Instant;
use std::time::Duration;

/// Time over which load is averaged: one world that stood still for some frames does not set all clocks back.
const WINDOW: Duration = Duration::from_millis(800);

/// Bound on the factor, for any learned costs.
const STRETCH_MAX: f64 = 64.0;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Overload {
    /// Workers that tasks need ÷ workers there are.
    mean: f64,
    updated_at: Instant,
}

impl Overload {
    pub(super) fn update(&mut self, now: Instant, load: f32) {
        let share = (now - self.updated_at).as_secs_f64() / WINDOW.as_secs_f64();
        self.mean += (f64::from(load) - self.mean) * share.min(1.0);
        self.updated_at = now;
    }

    /// By which factor beats come later.
    pub(super) const fn stretch(&self) -> f64 {
        self.mean.clamp(1.0, STRETCH_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_hitch_sets_no_clock_back_and_a_lasting_load_does() {
        let mut load = Overload::default();
        let mut pass = |from_ms: u64, to_ms, n| {
            (from_ms..to_ms).step_by(50).for_each(|ms| load.update(Instant::from_millis(ms), n));
            load.stretch()
        };
        assert_eq!(pass(0, 5_000, 0.7), 1.0);
        assert_eq!(pass(5_000, 5_300, 1.5), 1.0);
        assert_eq!(pass(5_300, 9_000, 0.7), 1.0);
        let lasting = pass(9_000, 15_000, 1.5);
        assert!((lasting - 1.5).abs() < 0.01, "{lasting}");
        assert_eq!(pass(15_000, 16_200, 0.7), 1.0);
    }
}
