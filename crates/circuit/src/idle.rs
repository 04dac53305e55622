//! Idle timeout: time since the peer's last packet, and its limit.

use crate::Config;
use ids::Instant;
use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Idle {
    heard_at: Instant,
    paused: bool,
    /// The newest AgentPause or AgentResume that was obeyed.
    pause_serial: Option<u32>,
}

impl Idle {
    pub(crate) const fn new(now: Instant) -> Self {
        Self { heard_at: now, paused: false, pause_serial: None }
    }

    pub(crate) const fn on_heard(&mut self, now: Instant) {
        self.heard_at = now;
    }

    /// Leaves out time in which this end did not listen: it is no silence of the peer.
    pub(crate) fn excuse(&mut self, now: Instant, time: Duration) {
        self.heard_at = now.min(self.heard_at + time);
    }

    pub(crate) const fn heard_at(&self) -> Instant {
        self.heard_at
    }

    /// Obeys an AgentPause or AgentResume, unless a newer one came before it: LLUDP keeps no order.
    pub(crate) fn set_paused(&mut self, paused: bool, serial: u32) {
        let is_late = self.pause_serial.is_some_and(|newest| serial.wrapping_sub(newest) > u32::MAX / 2);
        if !is_late {
            self.paused = paused;
            self.pause_serial = Some(serial);
        }
    }

    pub(crate) const fn is_paused(&self) -> bool {
        self.paused
    }

    pub(crate) fn deadline(&self, config: &Config) -> Instant {
        self.heard_at + if self.paused { config.idle_timeout_paused } else { config.idle_timeout }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_pause_does_not_undo_the_resume_after_it() {
        let mut idle = Idle::new(Instant::ZERO);
        for (paused, serial, expected) in
            [(true, 1, true), (false, 2, false), (true, 1, false), (true, 3, true), (false, 3, false)]
        {
            idle.set_paused(paused, serial);
            assert_eq!(idle.is_paused(), expected, "serial {serial}");
        }
    }

    #[test]
    fn a_pause_lengthens_the_deadline() {
        let config = Config::server();
        let mut idle = Idle::new(Instant::ZERO);
        idle.on_heard(Instant::from_millis(500));
        assert_eq!(idle.deadline(&config), Instant::from_millis(60_500));
        idle.set_paused(true, 1);
        assert_eq!(idle.deadline(&config), Instant::from_millis(300_500));
    }
}
