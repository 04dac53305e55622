//! Sub-steps of ticks of any rate.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Sub-steps per second of world time.
pub(super) const SUB_STEPS_PER_S: u16 = 60;
/// Carried-over time, in nanoseconds × sub-steps a second, at which a sub-step is due. In this unit 50 ms are three sub-steps exactly.
const DUE: u64 = 1_000_000_000;

/// Divides world time into sub-steps. The remainder of a tick is carried over to the next one, so that n seconds have 60 n sub-steps at any rate, and
/// two ticks of one length differ by one sub-step at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SubStepClock {
    carry: u64,
}

impl SubStepClock {
    /// Sub-steps that are due after this much more time.
    pub(super) fn due(&mut self, dt: Duration) -> u32 {
        let owed = self.carry + dt.as_nanos() as u64 * u64::from(SUB_STEPS_PER_S);
        self.carry = owed % DUE;
        (owed / DUE) as u32
    }

    /// Time that has not made a sub-step yet.
    pub(super) const fn carry(self) -> u64 {
        self.carry
    }

    /// False for a state that no run leads to.
    pub(super) const fn is_sound(self) -> bool {
        self.carry < DUE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_of_50_ms_has_three_and_every_rate_has_sixty_a_second() {
        let mut clock = SubStepClock::default();
        assert!((0..100).all(|_| clock.due(Duration::from_millis(50)) == 3));
        for hz in [1, 20, 30, 45, 60, 90, 144] {
            let mut clock = SubStepClock::default();
            let dt = Duration::from_secs(1) / hz;
            let each: Vec<u32> = (0..10 * hz).map(|_| clock.due(dt)).collect();
            let all: u32 = each.iter().sum();
            assert!((599..=600).contains(&all) && clock.is_sound(), "{all} at {hz} Hz");
            let (least, most) = (each.iter().min(), each.iter().max());
            assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 1), "evenly at {hz} Hz");
        }
    }
}
