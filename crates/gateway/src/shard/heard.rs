//! The chat lines that a client hears: a rate for all speakers together, shared fairly among them when it is short.
//!
//! With `left` lines of the budget and `mean` lines heard of a speaker of late (halved every [`WINDOW`]):
//!
//! | left | heard |
//! |---|---|
//! | above [`SHORT`] | every line |
//! | above [`RESERVE`] | lines of speakers with at most `mean` |
//! | below | lines of speakers with at most `mean / 2` |
//!
//! Speakers that shout without pause share the rate alike, and the reserve is left for quiet ones. At most [`SPEAKERS_MAX`] speakers
//! are counted; others are heard above [`SHORT`] only, or their number would be the end of the reserve.

use super::token_bucket::TokenBucket;
use ids::{Instant, Uuid};
use std::time::Duration;

/// Chat lines that a client hears per second on average; more are dropped, so that a shouting crowd cannot displace other messages.
const HEARD_PER_S: f32 = 20.0;
/// Chat lines that it may hear at once.
const HEARD_BURST: f32 = 80.0;
/// Lines left from which on they are shared.
const SHORT: f32 = 40.0;
/// Lines that are kept for speakers who say little.
const RESERVE: f32 = 20.0;
/// Time after which half of the lines heard of a speaker are forgotten.
const WINDOW: Duration = Duration::from_secs(3);
/// Number of speakers that are distinguished.
const SPEAKERS_MAX: usize = 64;

/// A client's budget of chat lines.
#[derive(Debug)]
pub(super) struct HeardBudget {
    lines: TokenBucket,
    halved_at: Instant,
    /// Lines heard of late, by speaker.
    speakers: Vec<(Uuid, u16)>,
}

impl HeardBudget {
    pub(super) const fn new(now: Instant) -> Self {
        Self { lines: TokenBucket::new(now, HEARD_PER_S, HEARD_BURST), halved_at: now, speakers: Vec::new() }
    }

    /// Takes a line of this speaker, if there is one left for it.
    pub(super) fn take_line(&mut self, now: Instant, speaker: Uuid) -> bool {
        if now.since(self.halved_at) >= WINDOW {
            self.halved_at = now;
            self.speakers.iter_mut().for_each(|(_, heard)| *heard /= 2);
            self.speakers.retain(|(_, heard)| *heard > 0);
        }
        let known = self.speakers.iter().position(|(one, _)| *one == speaker);
        let place = known.or_else(|| {
            (self.speakers.len() < SPEAKERS_MAX).then(|| {
                self.speakers.push((speaker, 0));
                self.speakers.len() - 1
            })
        });
        // No reserve is above SHORT: the shares are computed only below it.
        let is_heard = self.lines.take_above(now, SHORT)
            || place.is_some_and(|place| {
                let reserve = self.reserve_against(place);
                self.lines.take_above(now, reserve)
            });
        if is_heard && let Some(place) = place {
            self.speakers[place].1 = self.speakers[place].1.saturating_add(1);
        }
        is_heard
    }

    /// Lines that have to be left for others than the speaker at this place.
    fn reserve_against(&self, place: usize) -> f32 {
        let n = self.speakers.len() as u32;
        let own = u32::from(self.speakers[place].1) * n;
        let all: u32 = self.speakers.iter().map(|(_, heard)| u32::from(*heard)).sum();
        if n == 1 || 2 * own <= all {
            0.0
        } else if own <= all {
            RESERVE
        } else {
            SHORT
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Uuid = Uuid::from_u128(1_000);

    /// Lines heard of each flooder and of a quiet speaker with a line a second, over a minute, when `n` flooders say 20 lines a second each.
    fn heard(n: u64) -> (Vec<u32>, u32) {
        let mut budget = HeardBudget::new(Instant::ZERO);
        let (mut of_flooders, mut of_quiet) = (vec![0; n as usize], 0);
        for ms in (0..60_000).step_by(50) {
            let now = Instant::from_millis(ms);
            for flooder in 0..n {
                of_flooders[flooder as usize] +=
                    u32::from(budget.take_line(now, Uuid::from_u128(flooder.into())));
            }
            if ms % 1_000 == 500 {
                of_quiet += u32::from(budget.take_line(now, QUIET));
            }
        }
        (of_flooders, of_quiet)
    }

    #[test]
    fn a_quiet_speaker_is_heard_beside_shouting_ones() {
        for n in [1, 2, 5, 10] {
            let (of_flooders, of_quiet) = heard(n);
            assert_eq!(of_quiet, 60, "{n} flooders: every line");
            let all: u32 = of_flooders.iter().sum::<u32>() + of_quiet;
            assert!((1_100..=1_340).contains(&all), "{n} flooders: {all} lines in a minute");
        }
    }

    #[test]
    fn speakers_of_equal_rate_are_heard_equally() {
        let (of_flooders, _) = heard(5);
        let (least, most) = (of_flooders.iter().min().unwrap(), of_flooders.iter().max().unwrap());
        assert!(most - least <= most / 2, "{of_flooders:?}");
    }

    #[test]
    fn one_speaker_alone_has_the_whole_budget() {
        let mut budget = HeardBudget::new(Instant::ZERO);
        let lines = |budget: &mut HeardBudget, now| (0..200).filter(|_| budget.take_line(now, QUIET)).count();
        assert_eq!(lines(&mut budget, Instant::ZERO), 80);
        assert_eq!(lines(&mut budget, Instant::from_millis(3_000)), 60);
    }

    #[test]
    fn speakers_without_end_take_no_more_than_the_rate_and_no_memory() {
        let mut budget = HeardBudget::new(Instant::ZERO);
        let heard = (0..10_000).filter(|&n| budget.take_line(Instant::ZERO, Uuid::from_u128(n))).count();
        assert!(heard <= 80, "{heard}");
        assert_eq!(budget.speakers.len(), SPEAKERS_MAX);
    }
}
