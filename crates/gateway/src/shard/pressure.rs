//! Whether a shard keeps up, and what it leaves out when it does not: clients are told of those who are not near in every second of
//! their turns only, then in every fourth, then in every eighth, and who is near is listed as much more rarely: full updates, animations
//! and looks are half of all packets in a crowd. Who is near, what is reliable and what clients say go on as ever.
//!
//! A shard that is a little late gives everybody a few turns less, near and far alike. When turns only had to be late, one with 4,287
//! walking clients left out seven eighths of what is far for minutes (`crowd` at 02fca64). It has to miss a quarter of its turns for
//! half a second. What was left out is taken up again more slowly than it was left out, ever more slowly if that was too early.

use ids::Instant;
use std::time::Duration;

/// A span in which more than one turn in so many was missed is a bad one.
const MISSED_ONE_IN: u64 = 4;
/// Of turns missed at once no more count: a process that stood still is not one that does not keep up.
const MISSED_MAX: u64 = 20;
/// Turns are judged together for so long.
const SPAN: Duration = Duration::from_millis(500);
/// Every client is told of those far away in one of 2^3 turns at least.
const LEVEL_MAX: u8 = 3;
/// Spans without a missed turn until more is told again, and their most.
const PATIENCE: u32 = 4;
const PATIENCE_MAX: u32 = 64;

/// How much a shard leaves out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pressure {
    level: u8,
    span_ends_at: Instant,
    /// Turns in this span, those that were missed left out, and those.
    turns: u64,
    missed: u64,
    /// Spans in a row in which no turn was missed.
    calm_spans: u32,
    /// Whether the last step was one down: if the next is up again, that was too early.
    came_down: bool,
    /// How many of those it takes.
    patience: u32,
}

impl Pressure {
    /// None.
    pub(super) const fn new() -> Self {
        Self {
            level: 0,
            span_ends_at: Instant::ZERO,
            turns: 0,
            missed: 0,
            calm_spans: 0,
            came_down: false,
            patience: PATIENCE,
        }
    }

    /// So many turns were missed, and then there is one or not.
    pub(super) fn note(&mut self, now: Instant, has_turn: bool, missed: u64) {
        if now >= self.span_ends_at {
            self.judge();
            self.span_ends_at = now + SPAN;
            (self.turns, self.missed) = (0, 0);
        }
        self.turns += u64::from(has_turn);
        self.missed += missed.min(MISSED_MAX);
    }

    /// A span is over.
    fn judge(&mut self) {
        if self.turns + self.missed == 0 {
            return;
        }
        if self.missed * MISSED_ONE_IN > self.turns + self.missed {
            if std::mem::replace(&mut self.came_down, false) {
                self.patience = (self.patience * 2).min(PATIENCE_MAX);
            }
            self.level = (self.level + 1).min(LEVEL_MAX);
            self.calm_spans = 0;
        } else if self.missed > 0 {
            self.calm_spans = 0;
        } else {
            self.calm_spans += 1;
            if self.level > 0 && self.calm_spans >= self.patience {
                (self.level, self.came_down, self.calm_spans) = (self.level - 1, true, 0);
            } else if self.calm_spans >= PATIENCE_MAX {
                (self.came_down, self.patience) = (false, PATIENCE);
            }
        }
    }

    /// 0: none; each step more halves how often clients are told of those far away.
    pub(super) const fn level(self) -> u8 {
        self.level
    }

    /// Whether a client whose turn it is for the `round`th time is told of those far away. Clients differ by `spread`, so that they
    /// do not all have the same turn.
    pub(super) const fn tells_of_far(self, round: u64, spread: u64) -> bool {
        (round.wrapping_add(spread)).is_multiple_of(1 << self.level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns of so many spans, before each of which as many are left out as `missed` says for its number.
    fn spans(pressure: &mut Pressure, now: &mut Instant, n: u64, missed: impl Fn(u64) -> u64) -> u8 {
        for turn in 0..n * 100 {
            *now += Duration::from_millis(5);
            pressure.note(*now, true, missed(turn));
        }
        pressure.level()
    }

    #[test]
    fn a_shard_that_misses_few_turns_and_one_that_stood_still_for_a_moment_leave_nothing_out() {
        let (mut pressure, mut now) = (Pressure::new(), Instant::ZERO);
        assert_eq!(spans(&mut pressure, &mut now, 20, |_| 0), 0);
        assert_eq!(spans(&mut pressure, &mut now, 20, |turn| u64::from(turn % 4 == 0)), 0);
        assert_eq!(spans(&mut pressure, &mut now, 20, |turn| if turn % 100 == 7 { 2_000 } else { 0 }), 0);
    }

    #[test]
    fn lasting_trouble_halves_what_is_told_step_by_step() {
        let (mut pressure, mut now) = (Pressure::new(), Instant::ZERO);
        let told = |pressure: &Pressure| (0..80).filter(|&round| pressure.tells_of_far(round, 3)).count();
        assert_eq!(told(&pressure), 80);
        for expected in [40, 20, 10, 10] {
            spans(&mut pressure, &mut now, 1, |turn| turn % 2);
            // The span is judged at the next turn.
            now += Duration::from_millis(5);
            pressure.note(now, true, 1);
            assert_eq!(told(&pressure), expected);
        }
    }

    #[test]
    fn what_was_left_out_comes_back_and_more_slowly_when_that_was_too_early() {
        let (mut pressure, mut now) = (Pressure::new(), Instant::ZERO);
        let mut spans_until_back = Vec::new();
        for _ in 0..3 {
            while pressure.level() == 0 {
                spans(&mut pressure, &mut now, 1, |_| 1);
            }
            let mut n = 0;
            while pressure.level() > 0 {
                spans(&mut pressure, &mut now, 1, |_| 0);
                n += 1;
            }
            spans_until_back.push(n);
        }
        assert!(
            spans_until_back.is_sorted() && spans_until_back[0] < spans_until_back[2],
            "{spans_until_back:?}"
        );
        // After a long time of calm it is as at first.
        spans(&mut pressure, &mut now, 2 * u64::from(PATIENCE_MAX), |_| 0);
        assert_eq!(pressure.patience, PATIENCE);
    }
}
