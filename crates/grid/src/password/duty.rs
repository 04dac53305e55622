//! CPU share of the passwords thread: a whole core on an idle host, 30 % of one on a loaded host.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Load of the host, in thousandths of its capacity; the host sets it (from its tick times), the passwords thread reads it. Clones
/// share the figure.
#[derive(Clone, Debug, Default)]
pub struct LoadHint(Arc<AtomicU32>);

impl LoadHint {
    /// Load from which the host counts as loaded: half of its time is taken, and the rest is for its next peak.
    pub const LOADED_PER_MILLE: u32 = 500;

    /// Says how busy the host is, 0–1,000.
    pub fn set_per_mille(&self, load: u32) {
        // A hint orders nothing: being late by a hash does no harm.
        self.0.store(load, Ordering::Relaxed);
    }

    /// True if logins have to step back.
    #[must_use]
    pub fn is_loaded(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= Self::LOADED_PER_MILLE
    }
}

/// The share of time that may be spent hashing.
#[derive(Clone, Copy, Debug)]
pub struct DutyCycle;

impl DutyCycle {
    /// Share of a core under load, in percent.
    pub const LOADED_PERCENT: u32 = 30;

    /// Pause after `work` that keeps the share within bounds. `work` is wall time: a thread that waited for the core used less of it,
    /// so the share is an upper bound.
    #[must_use]
    pub const fn rest_after(work: Duration, loaded: bool) -> Duration {
        if loaded {
            work.saturating_mul(100 - Self::LOADED_PERCENT)
                .checked_div(Self::LOADED_PERCENT)
                .expect("not zero")
        } else {
            Duration::ZERO
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_loaded_host_never_gives_more_than_its_share(jobs_us in prop::collection::vec(1_u64..100_000, 1..50)) {
            let work: Duration = jobs_us.iter().copied().map(Duration::from_micros).sum();
            let rest: Duration =
                jobs_us.iter().map(|&us| DutyCycle::rest_after(Duration::from_micros(us), true)).sum();
            let share = work.as_secs_f64() / (work + rest).as_secs_f64();
            prop_assert!((0.299..=0.3001).contains(&share), "{share}");
        }
    }

    #[test]
    fn an_idle_host_gives_the_whole_core() {
        assert_eq!(DutyCycle::rest_after(Duration::from_secs(1), false), Duration::ZERO);
    }

    #[test]
    fn all_clones_of_a_hint_see_the_host() {
        let host = LoadHint::default();
        let thread = host.clone();
        assert!(!thread.is_loaded());
        host.set_per_mille(LoadHint::LOADED_PER_MILLE);
        assert!(thread.is_loaded());
    }
}
