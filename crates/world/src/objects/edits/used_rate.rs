//! Prims per second of a session, as a debt of world time.
//!
//! Each prim costs 1 s ÷ rate. A request passes while the debt is below [`BURST_NS`], and is then carried out as a whole at any cost: a
//! linkset with more prims than a second allows can be copied, and the session waits afterwards.

use crate::periods::TIME_MAX;
use serde::{Deserialize, Serialize};

/// Debt at which requests are refused, nanoseconds.
const BURST_NS: u64 = 1_000_000_000;

/// World time up to which a session has used its rate, nanoseconds; the past without debt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct UsedRate {
    pub(super) used_until_ns: u64,
}

impl UsedRate {
    /// Takes this number of prims from a rate of `per_s`; false, and nothing is taken, if too many were before.
    pub(super) fn take(&mut self, n_prims: usize, per_s: u32, now_ns: u64) -> bool {
        let from_ns = self.used_until_ns.max(now_ns);
        if per_s == 0 || from_ns - now_ns >= BURST_NS {
            return false;
        }
        let cost_ns = n_prims as u64 * BURST_NS / u64::from(per_s);
        self.used_until_ns = from_ns + cost_ns;
        true
    }

    /// True for a time that can be counted on from.
    pub(super) const fn is_sound(self) -> bool {
        self.used_until_ns < TIME_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = BURST_NS;

    #[test]
    fn a_rate_holds_on_average_and_a_second_of_it_at_once() {
        let mut used_rate = UsedRate::default();
        let n_at = |used_rate: &mut UsedRate, now| (0..100).filter(|_| used_rate.take(1, 10, now)).count();
        assert_eq!(n_at(&mut used_rate, 5 * S), 10);
        assert_eq!(n_at(&mut used_rate, 5 * S + S / 2), 5);
        assert_eq!(n_at(&mut used_rate, 60 * S), 10);
    }

    #[test]
    fn a_large_request_passes_as_a_whole_and_is_paid_afterwards() {
        let mut used_rate = UsedRate::default();
        assert!(used_rate.take(256, 10, 0));
        assert!(!used_rate.take(1, 10, 24 * S));
        assert!(used_rate.take(1, 10, 25 * S));
    }

    #[test]
    fn a_rate_of_zero_allows_nothing() {
        assert!(!UsedRate::default().take(1, 0, S));
    }
}
