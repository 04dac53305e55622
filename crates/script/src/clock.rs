//! Times of a script, in ticks of its world: the timer, and how long it waits. The world says what tick it is.

use serde::{Deserialize, Serialize};

/// Timer and waits of a script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    timer: Option<Timer>,
    /// The tick at which an interrupted handler continues.
    wake: Option<u64>,
    /// Ticks between the beginnings of two events, at least.
    event_gap: u64,
    /// The first tick at which the next event may begin.
    next_event: u64,
}

/// A periodic timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Timer {
    period: u64,
    due: u64,
}

impl Clock {
    /// Starts the timer, or stops it with a period of 0. `tick` is the current one.
    pub const fn set_timer(&mut self, period: u64, tick: u64) {
        self.timer = match period {
            0 => None,
            period => Some(Timer { period, due: tick.saturating_add(period) }),
        };
    }

    /// The period of the timer.
    #[must_use]
    pub fn timer_period(&self) -> Option<u64> {
        self.timer.map(|timer| timer.period)
    }

    /// Sets the ticks between the beginnings of two events.
    pub const fn set_event_gap(&mut self, ticks: u64) {
        self.event_gap = ticks;
    }

    /// The next tick at which something is due: the timer, or the end of a sleep.
    #[must_use]
    pub fn next_due(&self) -> Option<u64> {
        let timer = self.timer.map(|timer| timer.due);
        [timer, self.wake].into_iter().flatten().min()
    }

    /// True if the timer has become due. The next time is a multiple of the period later and behind `tick`: missed periods are one event, and there is
    /// no drift.
    pub(crate) const fn poll_timer(&mut self, tick: u64) -> bool {
        let Some(Timer { period, due }) = self.timer else { return false };
        if due > tick {
            return false;
        }
        let n_periods = (tick - due) / period + 1;
        self.timer = Some(Timer { period, due: due.saturating_add(n_periods.saturating_mul(period)) });
        true
    }

    /// False for a timer that would be due at every poll: bytes may have one.
    pub(crate) fn has_period(&self) -> bool {
        self.timer.is_none_or(|timer| timer.period > 0)
    }

    pub(crate) const fn sleep_until(&mut self, tick: u64) {
        self.wake = Some(tick);
    }

    /// The tick at which an interrupted handler continues.
    #[must_use]
    pub const fn wake(&self) -> Option<u64> {
        self.wake
    }

    pub(crate) const fn wake_up(&mut self) {
        self.wake = None;
    }

    /// The first tick at which an event may begin.
    #[must_use]
    pub const fn next_event(&self) -> u64 {
        self.next_event
    }

    pub(crate) const fn begin_event(&mut self, tick: u64) {
        self.next_event = tick.saturating_add(self.event_gap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_periods_are_one_event_without_drift() {
        let mut clock = Clock::default();
        clock.set_timer(10, 3);
        for (tick, is_due, next) in
            [(12, false, 13), (13, true, 23), (13, false, 23), (57, true, 63), (63, true, 73)]
        {
            assert_eq!(clock.poll_timer(tick), is_due, "{tick}");
            assert_eq!(clock.next_due(), Some(next));
        }
        clock.sleep_until(70);
        assert_eq!(clock.next_due(), Some(70));
        clock.wake_up();
        clock.set_timer(0, 70);
        assert_eq!((clock.next_due(), clock.timer_period()), (None, None));
        assert!(!clock.poll_timer(u64::MAX));
    }

    #[test]
    fn times_do_not_overflow() {
        let mut clock = Clock::default();
        clock.set_timer(u64::MAX, 5);
        assert!(clock.poll_timer(u64::MAX));
        clock.set_event_gap(u64::MAX);
        clock.begin_event(1);
        assert_eq!(clock.next_event(), u64::MAX);
    }
}
