//! Attacks from within, behind a normal login: three kinds, by the bot's number.
//!
//! Each attacker keeps a circuit like honest clients (it acks, pings, sends agent updates), so that its additional traffic is judged by
//! the server and not by the kernel. This module is the pace; [`garbage`](self) makes the garbage, the agent sends it.

mod garbage;

pub use garbage::Garbage;

use ids::Instant;
use std::time::Duration;

/// Malformed datagrams a second from each garbage attacker: several times an honest client's traffic.
pub const GARBAGE_PER_S: u32 = 200;

/// Valid and significant agent updates a second from each flooding attacker: more than the 125 of the fastest clients, so that each
/// tick has several.
pub const UPDATES_PER_S: u32 = 300;

/// Turn of the body in each of them, in radians (20°), to and fro: too much for jitter.
pub const TURN_RAD: f32 = 0.35;

/// Lines of chat a second from each chat attacker: several times the lasting rate that servers permit.
pub const LINES_PER_S: u32 = 30;

/// One line in this many is shouted, to a circle five times as wide.
pub const SHOUT_EVERY: u64 = 3;

/// Burst at most. A process that was held up does not make up for all missed times.
pub const BURST_MAX: u32 = 16;

/// Kind of attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttackKind {
    /// Malformed datagrams, and messages that no client may send.
    Garbage,
    /// Agent updates, each of which is valid and turns the body.
    Updates,
    /// Chat, partly shouted.
    Chat,
}

impl AttackKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Garbage, Self::Updates, Self::Chat];

    /// Kind of the bot with this number: each in turn.
    #[must_use]
    pub const fn of(number: u32) -> Self {
        Self::ALL[number as usize % Self::ALL.len()]
    }

    const fn per_s(self) -> u32 {
        match self {
            Self::Garbage => GARBAGE_PER_S,
            Self::Updates => UPDATES_PER_S,
            Self::Chat => LINES_PER_S,
        }
    }
}

/// An attack under way.
#[derive(Clone, Debug)]
pub struct Hostile {
    kind: AttackKind,
    next_at: Option<Instant>,
    /// Sent so far.
    n: u64,
}

impl Hostile {
    /// Begins whenever [`Self::take_due`] is asked first.
    #[must_use]
    pub const fn new(kind: AttackKind) -> Self {
        Self { kind, next_at: None, n: 0 }
    }

    /// Kind.
    #[must_use]
    pub const fn kind(&self) -> AttackKind {
        self.kind
    }

    /// Number to be sent now, up to [`BURST_MAX`]; further ones are omitted.
    pub fn take_due(&mut self, now: Instant) -> u32 {
        let period = Duration::from_secs(1) / self.kind.per_s();
        let next_at = self.next_at.get_or_insert(now);
        let mut due = 0;
        while *next_at <= now && due < BURST_MAX {
            *next_at += period;
            due += 1;
        }
        *next_at = (*next_at).max(now + Duration::from_nanos(1));
        due
    }

    /// Index of the next one, counted from 0.
    pub const fn take_turn(&mut self) -> u64 {
        let turn = self.n;
        self.n += 1;
        turn
    }

    /// Due time of the next one, once it has begun.
    #[must_use]
    pub const fn poll_timeout(&self) -> Option<Instant> {
        self.next_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bots_that_follow_each_other_are_of_all_kinds() {
        assert_eq!([6, 7, 8].map(AttackKind::of), AttackKind::ALL);
    }

    #[test]
    fn each_kind_keeps_its_pace_whenever_it_is_asked() {
        for (kind, wanted) in AttackKind::ALL.into_iter().zip([GARBAGE_PER_S, UPDATES_PER_S, LINES_PER_S]) {
            // Every millisecond, and every twentieth.
            for every_ms in [1, 20] {
                let mut hostile = Hostile::new(kind);
                let ticks = (0..10_000).step_by(every_ms);
                let sent: u32 = ticks.map(|ms| hostile.take_due(Instant::from_millis(ms))).sum();
                let difference = sent.abs_diff(10 * wanted);
                assert!(difference <= 10, "{kind:?}: {sent} in ten seconds");
            }
        }
    }

    #[test]
    fn datagrams_missed_in_a_long_stop_are_not_made_up_for() {
        let mut hostile = Hostile::new(AttackKind::Updates);
        hostile.take_due(Instant::ZERO);
        let late = Instant::from_millis(60_000);
        assert_eq!(hostile.take_due(late), BURST_MAX);
        assert_eq!(hostile.take_due(late), 0);
        assert!(hostile.poll_timeout().is_some_and(|at| at > late));
    }
}
