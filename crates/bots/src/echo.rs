//! Round trip of a bot's own words: through the whole server, and back.

use ids::Instant;
use std::collections::VecDeque;
use std::time::Duration;

/// Words under way at most; the oldest are given up. Ten seconds' worth.
const UNDER_WAY_MAX: usize = 20;

/// Prefix of such a line; its number follows.
const WORDS: &str = "echo ";

/// Words that were said and not heard yet.
#[derive(Clone, Debug, Default)]
pub struct Echo {
    /// With their numbers, which rise.
    under_way: VecDeque<(u32, Instant)>,
    next: u32,
    /// Words that were heard behind later ones.
    pub reordered: u64,
    /// Words that were given up.
    pub lost: u64,
}

impl Echo {
    /// The next words, said now.
    pub fn next_line(&mut self, now: Instant) -> String {
        if self.under_way.len() == UNDER_WAY_MAX {
            self.under_way.pop_front();
            self.lost += 1;
        }
        self.next += 1;
        self.under_way.push_back((self.next, now));
        format!("{WORDS}{}", self.next)
    }

    /// The speaker hears themselves; after which time, if these words were under way.
    pub fn match_line(&mut self, now: Instant, words: &str) -> Option<Duration> {
        let number: u32 = words.strip_prefix(WORDS)?.parse().ok()?;
        let at = self.under_way.iter().position(|(said, _)| *said == number)?;
        // Earlier lines are still missing.
        self.reordered += u64::from(at > 0);
        let (_, said_at) = self.under_way.remove(at)?;
        Some(now - said_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn words_are_timed_once_and_those_of_others_are_none() {
        let mut echo = Echo::default();
        let (one, two) = (echo.next_line(ms(0)), echo.next_line(ms(500)));
        assert_eq!(echo.match_line(ms(70), &one), Some(Duration::from_millis(70)));
        assert_eq!(echo.match_line(ms(80), &one), None, "heard before");
        assert_eq!(echo.match_line(ms(80), "hello"), None);
        assert_eq!(echo.match_line(ms(80), "echo of the past"), None);
        assert_eq!(echo.match_line(ms(560), &two), Some(Duration::from_millis(60)));
        assert_eq!((echo.reordered, echo.lost), (0, 0));
    }

    #[test]
    fn words_that_overtake_others_and_words_that_never_come_are_counted() {
        let mut echo = Echo::default();
        let (one, two) = (echo.next_line(ms(0)), echo.next_line(ms(1)));
        assert!(echo.match_line(ms(2), &two).is_some() && echo.match_line(ms(3), &one).is_some());
        assert_eq!(echo.reordered, 1);
        (0..UNDER_WAY_MAX as u64 + 3).for_each(|n| drop(echo.next_line(ms(n))));
        assert_eq!(echo.lost, 3);
    }
}
