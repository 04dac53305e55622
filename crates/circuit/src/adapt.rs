//! How much of its rate a client's path seems to carry.
//!
//! A client asks for more than its path holds, or the path gets worse. What it cannot carry is lost or queued on the way, so both
//! are looked at, once a second: the share of acked packets that had to be made again, and the round trip against the shortest
//! one seen. Either above its limit takes a part of the rate away; neither gives a part of the whole back. In between lies what
//! radio links lose without being full, and there the rate stays.
//!
//! The rate never falls below a quarter: what a viewer needs to walk about. A client that does not use its rate is not judged, since
//! its losses say nothing of it.

use ids::Instant;
use std::time::Duration;

/// Between two looks; a longer round trip makes them rarer.
const PERIOD: Duration = Duration::from_secs(1);
/// Answers needed to judge by: with fewer, a path that loses a twelfth seems to lose a fifth now and then.
const SAMPLES_MIN: u32 = 64;
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
    next_look: Instant,
    shortest: Option<Duration>,
    acked: u16,
    lost: u16,
    sent_bytes: u32,
    looked_at: Instant,
}

impl Adapt {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            part: 1.0,
            next_look: now + PERIOD,
            shortest: None,
            acked: 0,
            lost: 0,
            sent_bytes: 0,
            looked_at: now,
        }
    }

    pub(crate) const fn part(&self) -> f32 {
        self.part
    }

    pub(crate) const fn on_acked(&mut self) {
        self.acked = self.acked.saturating_add(1);
    }

    pub(crate) const fn on_lost(&mut self) {
        self.lost = self.lost.saturating_add(1);
    }

    pub(crate) const fn on_sent(&mut self, bytes: usize) {
        self.sent_bytes = self.sent_bytes.saturating_add(bytes as u32);
    }

    /// Looks at what happened since the last time, if it is time. `rate` is in bytes per second, `path` the newest measured round
    /// trip. True when the part has changed.
    pub(crate) fn look(&mut self, now: Instant, rate: u32, path: Option<Duration>) -> bool {
        if now < self.next_look {
            return false;
        }
        let passed_s = now.since(self.looked_at).as_secs_f32();
        let used = self.sent_bytes as f32 / (rate as f32 * passed_s);
        let samples = u32::from(self.acked) + u32::from(self.lost);
        if let Some(path) = path {
            self.shortest = Some(self.shortest.map_or(path, |shortest| shortest.min(path)));
        }
        let queued = path.zip(self.shortest).is_some_and(|(path, shortest)| path > 2 * shortest + QUEUE);
        let loss = f32::from(self.lost) / samples.max(1) as f32;
        let judged = samples >= SAMPLES_MIN;
        let before = self.part;
        if used >= USED_MIN && (queued || (judged && loss > LOSS_FULL)) {
            self.part = (self.part * DECREASE).max(LEAST);
        } else if !queued && (!judged || loss < LOSS_FREE) {
            self.part = (self.part + INCREASE).min(1.0);
        }
        // Too few answers are kept for the next look.
        if judged {
            (self.acked, self.lost) = (0, 0);
        }
        self.sent_bytes = 0;
        self.looked_at = now;
        self.next_look = now + PERIOD.max(path.unwrap_or_default() * 2);
        self.part != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: u32 = 64_000;

    /// A path for so many seconds, by what it loses of 100 packets a second and how long it takes; all of the rate is used.
    fn path(adapt: &mut Adapt, from_s: u64, seconds: u64, lost: u32, rtt_ms: u64) -> f32 {
        for second in from_s + 1..=from_s + seconds {
            adapt.on_sent((RATE as f32 * adapt.part()) as usize);
            (0..lost).for_each(|_| adapt.on_lost());
            (lost..100).for_each(|_| adapt.on_acked());
            let rate = (RATE as f32 * adapt.part()) as u32;
            adapt.look(Instant::from_millis(second * 1_000), rate, Some(Duration::from_millis(rtt_ms)));
        }
        adapt.part()
    }

    #[test]
    fn a_path_that_loses_a_little_carries_all() {
        let mut adapt = Adapt::new(Instant::ZERO);
        assert_eq!(path(&mut adapt, 0, 60, 5, 80), 1.0);
        assert_eq!(path(&mut adapt, 60, 60, 15, 80), 1.0, "a seventh is what radio links lose");
    }

    #[test]
    fn a_full_path_gets_less_and_not_nothing_and_all_again_when_it_is_free() {
        let mut adapt = Adapt::new(Instant::ZERO);
        assert!(path(&mut adapt, 0, 3, 30, 80) < 0.6);
        assert_eq!(path(&mut adapt, 3, 60, 30, 80), LEAST);
        assert!(path(&mut adapt, 63, 6, 0, 80) < 0.8, "not at once");
        assert_eq!(path(&mut adapt, 69, 20, 0, 80), 1.0);
    }

    #[test]
    fn a_queue_shows_by_the_round_trip_before_anything_is_lost() {
        let mut adapt = Adapt::new(Instant::ZERO);
        path(&mut adapt, 0, 5, 0, 150);
        assert_eq!(path(&mut adapt, 5, 5, 0, 450), 1.0, "some jitter is none");
        assert!(path(&mut adapt, 10, 10, 0, 900) < 0.5);
        // A long way is no queue.
        let mut far = Adapt::new(Instant::ZERO);
        assert_eq!(path(&mut far, 0, 60, 0, 900), 1.0);
    }

    #[test]
    fn who_does_not_use_its_rate_is_not_judged_by_it() {
        let mut adapt = Adapt::new(Instant::ZERO);
        for second in 1..60 {
            adapt.on_sent(1_000);
            (0..20).for_each(|_| adapt.on_lost());
            adapt.look(Instant::from_millis(second * 1_000), RATE, None);
        }
        assert_eq!(adapt.part(), 1.0);
    }

    #[test]
    fn few_answers_are_collected_until_they_say_something() {
        let mut adapt = Adapt::new(Instant::ZERO);
        for second in 1..=64 {
            assert_eq!(adapt.part(), 1.0);
            adapt.on_sent(RATE as usize);
            adapt.on_lost();
            adapt.look(Instant::from_millis(second * 1_000), RATE, None);
        }
        assert!(adapt.part() < 1.0);
    }
}
