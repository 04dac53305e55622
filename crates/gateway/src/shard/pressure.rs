//! Whether a shard keeps up, and what it leaves out when it does not: clients are told of those who are not near in every second of
//! their turns only, then in every fourth, then in every eighth. Who is near, what is reliable and what clients say go on as ever.
//!
//! A machine that gave its cores to somebody else for a moment is no reason: all turns of half a second have to begin late. And what
//! was left out is taken up again more slowly than it was left out, ever more slowly if that was too early.

use ids::Instant;
use std::time::Duration;

/// Turns that begin later than this are late: a quarter of the time in which each client has one.
const LATE: Duration = Duration::from_millis(25);
/// Turns are judged together for so long.
const SPAN: Duration = Duration::from_millis(500);
/// Every client is told of those far away in one of 2^3 turns at least.
const LEVEL_MAX: u8 = 3;
/// Spans without a late turn until more is told again, and their most.
const PATIENCE: u32 = 4;
const PATIENCE_MAX: u32 = 64;

/// How much a shard leaves out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pressure {
    level: u8,
    span_ends_at: Instant,
    /// Turns in this span, and those of them that were late.
    turns: u32,
    late_turns: u32,
    /// Spans in a row in which no turn was late.
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
            late_turns: 0,
            calm_spans: 0,
            came_down: false,
            patience: PATIENCE,
        }
    }

    /// A turn begins so long after its time.
    pub(super) fn note(&mut self, now: Instant, lateness: Duration) {
        if now >= self.span_ends_at {
            self.judge();
            self.span_ends_at = now + SPAN;
            (self.turns, self.late_turns) = (0, 0);
        }
        self.turns += 1;
        self.late_turns += u32::from(lateness > LATE);
    }

    /// A span is over.
    fn judge(&mut self) {
        if self.turns == 0 {
            return;
        }
        if self.late_turns == self.turns {
            if std::mem::replace(&mut self.came_down, false) {
                self.patience = (self.patience * 2).min(PATIENCE_MAX);
            }
            self.level = (self.level + 1).min(LEVEL_MAX);
            self.calm_spans = 0;
        } else if self.late_turns > 0 {
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

    /// Turns of so many spans, with the lateness that `late_ms` gives for each turn by its number.
    fn spans(pressure: &mut Pressure, now: &mut Instant, n: u32, late_ms: impl Fn(u32) -> u64) -> u8 {
        for turn in 0..n * 100 {
            *now += Duration::from_millis(5);
            pressure.note(*now, Duration::from_millis(late_ms(turn)));
        }
        pressure.level()
    }

    #[test]
    fn a_shard_that_keeps_up_and_one_that_stood_still_for_a_moment_leave_nothing_out() {
        let (mut pressure, mut now) = (Pressure::new(), Instant::ZERO);
        assert_eq!(spans(&mut pressure, &mut now, 20, |_| 2), 0);
        assert_eq!(spans(&mut pressure, &mut now, 20, |turn| if turn % 100 < 99 { 95 } else { 0 }), 0);
    }

    #[test]
    fn lasting_lateness_halves_what_is_told_step_by_step() {
        let (mut pressure, mut now) = (Pressure::new(), Instant::ZERO);
        let told = |pressure: &Pressure| (0..80).filter(|&round| pressure.tells_of_far(round, 3)).count();
        assert_eq!(told(&pressure), 80);
        for expected in [40, 20, 10, 10] {
            spans(&mut pressure, &mut now, 1, |_| 60);
            // The span is judged at the next turn.
            now += Duration::from_millis(5);
            pressure.note(now, Duration::from_millis(60));
            assert_eq!(told(&pressure), expected);
        }
    }

    #[test]
    fn what_was_left_out_comes_back_and_more_slowly_when_that_was_too_early() {
        let (mut pressure, mut now) = (Pressure::new(), Instant::ZERO);
        let mut spans_until_back = Vec::new();
        for _ in 0..3 {
            while pressure.level() == 0 {
                spans(&mut pressure, &mut now, 1, |_| 60);
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
        spans(&mut pressure, &mut now, 2 * PATIENCE_MAX, |_| 0);
        assert_eq!(pressure.patience, PATIENCE);
    }
}
