//! How much of its rate a client's path seems to carry.
//!
//! A client asks for more than its path holds, or the path gets worse. What it cannot carry is lost or queued on the way, so both
//! are looked at, once a second: the share of acked packets that had to be made again or still wait for that, and the round trip against
//! the shortest one seen. Either above its limit takes a part of the rate away; neither gives a part of the whole back. In between lies what
//! radio links lose without being full, and there the rate stays.
//!
//! The rate never falls below a quarter: what a viewer needs to walk about. A client that does not use its rate is not judged, since
//! its losses say nothing of it.

use crate::Stats;
use ids::Instant;
use std::time::Duration;

/// Between two looks; a longer round trip makes them rarer.
const PERIOD: Duration = Duration::from_secs(1);
/// Answers needed to judge by: with fewer, a path that loses a twelfth seems to lose a fifth now and then.
const SAMPLES_MIN: u64 = 64;
/// Loss above which a path is taken for full. Radio links lose some per cent by themselves, and a lost ack counts as a lost packet:
/// 5 % each way are 10 % here.
const LOSS_FULL: f32 = 0.2;
/// And below which it is taken to have room.
const LOSS_FREE: f32 = 0.11;
/// A round trip so much longer than the shortest one means a queue, whatever the path's length.
const QUEUE: Duration = Duration::from_millis(200);
/// Part of the rate that is left after a look at a full path.
const DECREASE: f32 = 0.8;
/// Part of the whole rate that a look at a free path gives back.
const INCREASE: f32 = 1.0 / 16.0;
/// Least part of the rate.
const LEAST: f32 = 0.25;
/// A rate of which less than this part is used is not judged.
const USED_MIN: f32 = 0.5;

/// A circuit's part of its rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Adapt {
    /// From [`LEAST`] to 1.
    part: f32,
    looked_at: Instant,
    next_look: Instant,
    shortest: Option<Duration>,
    /// [`Stats::bytes_out`] at the last look.
    bytes_out: u64,
    /// Of [`Stats`] what was acked and what went missing when the losses were last judged.
    acked: u64,
    lost: u64,
}

impl Adapt {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            part: 1.0,
            looked_at: now,
            next_look: now + PERIOD,
            shortest: None,
            bytes_out: 0,
            acked: 0,
            lost: 0,
        }
    }

    pub(crate) const fn part(&self) -> f32 {
        self.part
    }

    /// Whether it is time for [`Self::look`].
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        now >= self.next_look
    }

    /// Looks at what happened since the last time. `rate` is in bytes per second, `path` the smoothed round trip of pings. `overdue` are the
    /// packets that will be made again when there are bytes for it: few are made again on a narrow path, however many it loses. True
    /// when the part has changed.
    pub(crate) fn look(
        &mut self,
        now: Instant,
        rate: u32,
        path: Option<Duration>,
        stats: &Stats,
        overdue: u64,
    ) -> bool {
        let passed_s = now.since(self.looked_at).as_secs_f32();
        let used = (stats.bytes_out - self.bytes_out) as f32 / (rate as f32 * passed_s);
        let queued = path.is_some_and(|path| self.is_queued(path));
        let loss = self.take_loss(stats, overdue);
        let before = self.part;
        if used >= USED_MIN && (queued || loss.is_some_and(|loss| loss > LOSS_FULL)) {
            self.part = (self.part * DECREASE).max(LEAST);
        } else if !queued && loss.is_none_or(|loss| loss < LOSS_FREE) {
            self.part = (self.part + INCREASE).min(1.0);
        }
        self.bytes_out = stats.bytes_out;
        self.looked_at = now;
        self.next_look = now + PERIOD.max(path.unwrap_or_default() * 2);
        self.part != before
    }

    /// Whether packets wait on the way. At the least rate they do not wait for us: the path has become another one.
    fn is_queued(&mut self, path: Duration) -> bool {
        let shortest = self.shortest.map_or(path, |shortest| shortest.min(path));
        let is_queued = path > 2 * shortest + QUEUE;
        let is_another = is_queued && self.part <= LEAST;
        self.shortest = Some(if is_another { path } else { shortest });
        is_queued && !is_another
    }

    /// The share of what went missing since the last time, once there are answers enough.
    fn take_loss(&mut self, stats: &Stats, overdue: u64) -> Option<f32> {
        let (acked, lost) = (stats.acks_in, stats.resends + stats.perished + overdue);
        // An ack may come after all for what was overdue.
        let (new_acked, new_lost) = (acked - self.acked, lost.saturating_sub(self.lost));
        let samples = new_acked + new_lost;
        if samples < SAMPLES_MIN {
            return None;
        }
        (self.acked, self.lost) = (acked, lost);
        Some(new_lost as f32 / samples as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: u32 = 64_000;

    /// A circuit's part on a path that changes.
    struct Line {
        adapt: Adapt,
        stats: Stats,
        overdue: u64,
        second: u64,
    }

    impl Line {
        fn new() -> Self {
            Self { adapt: Adapt::new(Instant::ZERO), stats: Stats::default(), overdue: 0, second: 0 }
        }

        /// A second in which so many bytes leave and so many packets are answered or not.
        fn pass(&mut self, bytes: u64, acked: u64, lost: u64, rtt_ms: Option<u64>) -> f32 {
            let rate = (RATE as f32 * self.adapt.part()) as u32;
            self.second += 1;
            self.stats.bytes_out += bytes;
            self.stats.acks_in += acked;
            self.stats.resends += lost;
            let now = Instant::from_millis(self.second * 1_000);
            if self.adapt.is_due(now) {
                self.adapt.look(now, rate, rtt_ms.map(Duration::from_millis), &self.stats, self.overdue);
            }
            self.adapt.part()
        }

        /// Seconds in which all of the rate is used, by what is lost of 100 packets and how long they take.
        fn run(&mut self, seconds: u32, lost: u64, rtt_ms: u64) -> f32 {
            for _ in 0..seconds {
                let bytes = (RATE as f32 * self.adapt.part()) as u64;
                self.pass(bytes, 100 - lost, lost, Some(rtt_ms));
            }
            self.adapt.part()
        }
    }

    #[test]
    fn a_path_that_loses_a_little_carries_all() {
        let mut line = Line::new();
        assert_eq!(line.run(60, 5, 80), 1.0);
        assert_eq!(line.run(60, 15, 80), 1.0, "a seventh is what radio links lose");
    }

    #[test]
    fn a_full_path_gets_less_and_not_nothing_and_all_again_when_it_is_free() {
        let mut line = Line::new();
        assert!(line.run(3, 30, 80) < 0.6);
        assert_eq!(line.run(60, 30, 80), LEAST);
        assert!(line.run(6, 0, 80) < 0.8, "not at once");
        assert_eq!(line.run(20, 0, 80), 1.0);
    }

    #[test]
    fn what_waits_to_be_made_again_is_lost_too() {
        let mut line = Line::new();
        for _ in 0..30 {
            line.overdue += 30;
            line.pass(u64::from(RATE), 70, 0, None);
        }
        assert_eq!(line.adapt.part(), LEAST);
        // It is counted once: now some are made again, or acked after all, and none are new.
        for _ in 0..30 {
            line.overdue -= 30;
            line.pass(u64::from(RATE), 85, 15, None);
        }
        assert_eq!(line.adapt.part(), 1.0);
    }

    #[test]
    fn a_queue_shows_by_the_round_trip_before_anything_is_lost() {
        let mut line = Line::new();
        line.run(5, 0, 150);
        assert_eq!(line.run(5, 0, 450), 1.0, "some jitter is none");
        assert!(line.run(10, 0, 900) < 0.5);
        // A long way is no queue.
        assert_eq!(Line::new().run(60, 0, 900), 1.0);
    }

    #[test]
    fn who_has_come_to_a_longer_way_gets_all_again() {
        let mut line = Line::new();
        line.run(5, 0, 20);
        assert!(line.run(8, 0, 600) < 1.0);
        assert_eq!(line.run(60, 0, 600), 1.0);
    }

    #[test]
    fn who_does_not_use_its_rate_is_not_judged_by_it() {
        let mut line = Line::new();
        assert!((0..60).all(|_| line.pass(1_000, 0, 20, None) == 1.0));
    }

    #[test]
    fn few_answers_are_collected_until_they_say_something() {
        let mut line = Line::new();
        assert!((0..SAMPLES_MIN - 1).all(|_| line.pass(u64::from(RATE), 0, 1, None) == 1.0));
        assert!(line.pass(u64::from(RATE), 0, 1, None) < 1.0);
    }
}
