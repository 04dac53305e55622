//! Pings both ways: ours on a schedule, the peer's answered before anything else (clients without answers declare the circuit dead
//! after 100–120 s).

use ids::Instant;
use smallvec::SmallVec;
use std::time::Duration;

/// Answers that can wait for the next transmission. Beyond it the oldest is dropped: a peer that pings faster
/// than we are served has no use for every answer.
const ANSWERS_MAX: usize = 4;

#[derive(Clone, Debug)]
pub(crate) struct Ping {
    /// Time of our next ping.
    next_at: Instant,
    /// Our ping that waits to leave.
    is_due: bool,
    /// We ask nothing any more ([`Ping::stop`]).
    stopped: bool,
    /// The number of the next ping. One byte that wraps.
    next_id: u8,
    /// The latest ping sent, until its answer comes.
    awaited: Option<(u8, Instant)>,
    /// Pings of the peer that wait for our answer, oldest first.
    answers: SmallVec<[u8; ANSWERS_MAX]>,
}

impl Ping {
    pub(crate) fn new(now: Instant, interval: Duration) -> Self {
        Self {
            next_at: now + interval,
            is_due: false,
            stopped: false,
            next_id: 0,
            awaited: None,
            answers: SmallVec::new(),
        }
    }

    /// The peer asks.
    pub(crate) fn on_start(&mut self, id: u8) {
        if self.answers.len() == ANSWERS_MAX {
            self.answers.remove(0);
        }
        self.answers.push(id);
    }

    /// Handles an answer. Returns the send time of the awaited ping; older ones were given up, and duplicates carry no information.
    pub(crate) fn on_complete(&mut self, id: u8) -> Option<Instant> {
        self.awaited.take_if(|(awaited, _)| *awaited == id).map(|(_, sent_at)| sent_at)
    }

    /// Schedules our ping when its time has come.
    pub(crate) fn on_timeout(&mut self, now: Instant, interval: Duration) {
        if self.next_at <= now {
            self.next_at = now + interval;
            self.is_due = !self.stopped;
        }
    }

    /// Pings no more; the peer is still answered.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
        self.is_due = false;
    }

    pub(crate) fn take_answer(&mut self) -> Option<u8> {
        if self.answers.is_empty() { None } else { Some(self.answers.remove(0)) }
    }

    /// The number to ping with, if it is time, and whether the ping before it was never answered.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<(u8, bool)> {
        if !std::mem::take(&mut self.is_due) {
            return None;
        }
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        let unanswered = self.awaited.replace((id, now)).is_some();
        Some((id, unanswered))
    }

    /// True if a ping or an answer waits to leave.
    pub(crate) fn is_ready(&self) -> bool {
        self.is_due || !self.answers.is_empty()
    }

    pub(crate) const fn next_at(&self) -> Instant {
        self.next_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(5);

    #[test]
    fn a_ping_leaves_each_interval_and_its_answer_finds_it() {
        let mut ping = Ping::new(Instant::ZERO, INTERVAL);
        ping.on_timeout(Instant::from_millis(4999), INTERVAL);
        assert!(!ping.is_ready());
        ping.on_timeout(Instant::from_millis(5000), INTERVAL);
        assert_eq!(ping.take_due(Instant::from_millis(5000)), Some((0, false)));
        assert_eq!(ping.take_due(Instant::from_millis(5000)), None);
        assert_eq!(ping.on_complete(9), None, "never sent");
        assert_eq!(ping.on_complete(0), Some(Instant::from_millis(5000)));
        assert_eq!(ping.on_complete(0), None, "duplicate answer");
    }

    #[test]
    fn a_stopped_pinger_sends_no_ping_and_still_answers() {
        let mut ping = Ping::new(Instant::ZERO, INTERVAL);
        ping.on_timeout(Instant::from_millis(5000), INTERVAL);
        ping.stop();
        assert!(!ping.is_ready(), "the one that waited, too");
        ping.on_timeout(Instant::from_millis(10_000), INTERVAL);
        assert_eq!(ping.take_due(Instant::from_millis(10_000)), None);
        ping.on_start(3);
        assert_eq!(ping.take_answer(), Some(3));
    }

    #[test]
    fn an_unanswered_ping_is_noticed_when_the_next_leaves() {
        let mut ping = Ping::new(Instant::ZERO, INTERVAL);
        for (at_ms, expected) in [(5000, (0, false)), (10_000, (1, true))] {
            ping.on_timeout(Instant::from_millis(at_ms), INTERVAL);
            assert_eq!(ping.take_due(Instant::from_millis(at_ms)), Some(expected));
        }
    }

    #[test]
    fn the_newest_questions_are_answered_in_order() {
        let mut ping = Ping::new(Instant::ZERO, INTERVAL);
        for id in 0..6 {
            ping.on_start(id);
        }
        let answers: Vec<u8> = std::iter::from_fn(|| ping.take_answer()).collect();
        assert_eq!(answers, [2, 3, 4, 5]);
    }
}
