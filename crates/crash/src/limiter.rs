//! Rate limit of dumps for panics that the server survives: one per place in the source and minute, since a world may
//! panic at every tick.

use std::collections::BTreeMap;
use std::time::Duration;

/// Minimum time between two dumps of the same place.
pub(crate) const SAME_PLACE_AGAIN: Duration = Duration::from_secs(60);
/// Places remembered. A further place replaces the one whose dump is oldest.
const PLACES_MAX: usize = 64;

/// Time of each place's last dump. Times count from any fixed moment.
#[derive(Debug, Default)]
pub(crate) struct Limiter {
    dumped_at: BTreeMap<String, Duration>,
}

impl Limiter {
    /// True if this panic (text: thread, "panicked at", place, message) gets a dump; its time is then recorded.
    pub(crate) fn admit(&mut self, now: Duration, text: &str) -> bool {
        // The message may contain numbers that differ each time, and the same place panics on several threads.
        let place = text.split_once(" panicked at ").map_or(text, |(_, rest)| rest);
        let place = place.split_once(": ").map_or(place, |(place, _)| place);
        if self.dumped_at.get(place).is_some_and(|&at| now.saturating_sub(at) < SAME_PLACE_AGAIN) {
            return false;
        }
        if self.dumped_at.len() >= PLACES_MAX
            && let Some(oldest) =
                self.dumped_at.iter().min_by_key(|(_, at)| **at).map(|(place, _)| place.clone())
        {
            self.dumped_at.remove(&oldest);
        }
        self.dumped_at.insert(place.to_owned(), now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_panics_again_and_again_has_one_dump_a_minute() {
        let mut limiter = Limiter::default();
        let admitted: Vec<u64> = (0..130)
            .filter(|&s| {
                limiter
                    .admit(Duration::from_secs(s), &format!("world-{} panicked at a.rs:1:2: n is {s}", s % 2))
            })
            .collect();
        assert_eq!(admitted, [0, 60, 120]);
        assert!(
            limiter.admit(Duration::from_secs(1), "world-0 panicked at b.rs:1:2: n is 1"),
            "another place"
        );
    }

    #[test]
    fn it_forgets_the_oldest_place_when_there_are_too_many() {
        let mut limiter = Limiter::default();
        let text = |n: u64| format!("main panicked at a.rs:{n}:1: no");
        for n in 0..=PLACES_MAX as u64 {
            assert!(limiter.admit(Duration::from_millis(n), &text(n)));
        }
        assert_eq!(limiter.dumped_at.len(), PLACES_MAX);
        assert!(!limiter.admit(Duration::from_secs(1), &text(1)));
        assert!(limiter.admit(Duration::from_secs(1), &text(0)));
    }
}
