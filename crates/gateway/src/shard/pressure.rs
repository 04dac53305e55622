//! Shortage of CPU time as a state of a shard: its pressure p, from 1 (none) to [`PRESSURE_MAX`].
//!
//! Once a [`SPAN`] the need ratio r = CPU time needed ÷ CPU time available is estimated from what the driver reports
//! ([`CpuTime`], so that no clock is read here) and from the turns:
//!
//! r = used ÷ (used + idle) × max(1, slots due ÷ slots begun)
//!
//! - r > [`HIGH`], in two spans in a row while p = 1: p ← p × min(r ÷ [`TARGET`], [`RISE_MAX`]);
//! - r < [`LOW`]: p ← p × [`FALL`];
//! - between them p stays.
//!
//! Consequences of p > 1: updates of moving avatars get rarer with distance ([`replicate::selection::period_ticks`]), visible sets are
//! listed more rarely, some turns examine the nearest avatars only ([`Pressure::far_every`]), and arrivals wait (`shard/arrivals.rs`).
//! Stops, the nearest avatars, reliable messages and chat are served as without pressure. If that is not enough, turns begin late, for
//! all clients alike (`shard/turns.rs`).
//!
//! A former rule skipped all avatars beyond the nearest 60 in a half to seven eighths of the turns. It hid stops, and made a step at rank 60.

use ids::Instant;
use replicate::selection::near_edge_stretch;
use std::time::Duration;

/// CPU time of a shard's thread since the last report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// CPU time that the thread used.
    pub used: Duration,
    /// Time without work. Time in which the thread was ready to run and had no core is neither.
    pub idle: Duration,
}

/// The greatest pressure.
pub const PRESSURE_MAX: f32 = 16.0;

/// Time over which reports are added up before they are judged.
const SPAN: Duration = Duration::from_millis(500);
/// Need ratio above which the pressure rises.
const HIGH: f32 = 0.95;
/// Need ratio that a rise aims at.
const TARGET: f32 = 0.9;
/// Need ratio below which the pressure falls. Near the ratio of a full shard without a shortage: with a bound of 0.75, a shard that needs 0.8 of its
/// time kept a short-lived pressure forever (ADR 0024).
const LOW: f32 = 0.9;
/// Largest factor of a rise per span: a process that stood still for a moment is not always late.
const RISE_MAX: f32 = 2.0;
/// Factor of a fall per span. From the greatest pressure to none takes 27 s: load returns more slowly than it was shed.
const FALL: f32 = 0.95;
/// Pressures below this are none.
const NONE_BELOW: f32 = 1.02;
/// Upper bound of [`Pressure::far_every`].
const FAR_EVERY_MAX: u64 = 3;

/// The shortage of CPU time of one shard.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pressure {
    value: f32,
    need_ratio: f32,
    span_ends_at: Instant,
    cpu: CpuTime,
    /// Slots of turns that fell due in this span.
    due: u64,
    /// Slots of turns that began in this span.
    begun: u64,
    /// The need ratio of the span before this one was above [`HIGH`].
    was_high: bool,
    /// Spans that ended with a shortage.
    n_short: u64,
}

impl Pressure {
    /// No shortage.
    pub(super) const fn new() -> Self {
        Self {
            value: 1.0,
            need_ratio: 0.0,
            span_ends_at: Instant::ZERO,
            cpu: CpuTime { used: Duration::ZERO, idle: Duration::ZERO },
            due: 0,
            begun: 0,
            was_high: false,
            n_short: 0,
        }
    }

    /// Counts slots of turns that began, and that fell due.
    pub(super) const fn note_slots(&mut self, begun: u64, due: u64) {
        self.begun += begun;
        self.due += due;
    }

    /// Counts CPU time that the driver reports, and judges a span that is over.
    pub(super) fn note_cpu(&mut self, now: Instant, cpu: CpuTime) {
        self.cpu.used += cpu.used;
        self.cpu.idle += cpu.idle;
        if now >= self.span_ends_at {
            self.evaluate_span();
            self.span_ends_at = now + SPAN;
            (self.cpu, self.due, self.begun) = (CpuTime::default(), 0, 0);
        }
    }

    /// Judges a span.
    fn evaluate_span(&mut self) {
        let available_s = (self.cpu.used + self.cpu.idle).as_secs_f32();
        if available_s == 0.0 {
            return;
        }
        let lag = self.due as f32 / self.begun.max(1) as f32;
        self.need_ratio = self.cpu.used.as_secs_f32() / available_s * lag.max(1.0);
        let is_high = self.need_ratio > HIGH;
        if is_high && (self.value > 1.0 || self.was_high) {
            let rise = (self.need_ratio / TARGET).min(RISE_MAX);
            self.value = (self.value * rise).min(PRESSURE_MAX);
        } else if self.need_ratio < LOW {
            self.value *= FALL;
            if self.value < NONE_BELOW {
                self.value = 1.0;
            }
        }
        self.was_high = is_high;
        self.n_short += u64::from(self.is_short());
    }

    /// From 1 to [`PRESSURE_MAX`].
    pub(super) const fn value(self) -> f32 {
        self.value
    }

    /// CPU time needed over CPU time available, in the latest span.
    pub(super) const fn need_ratio(self) -> f32 {
        self.need_ratio
    }

    /// Spans of half a second that ended with a shortage.
    pub(super) const fn n_short(self) -> u64 {
        self.n_short
    }

    /// True under any shortage.
    pub(super) const fn is_short(self) -> bool {
        self.value > 1.0
    }

    /// One in this many turns of a client examines avatars beyond the nearest 60: min(⌊stretch at rank 60⌋, 3). More would make the update
    /// rate drop abruptly at rank 60.
    pub(super) fn far_every(self) -> u64 {
        (near_edge_stretch(self.value) as u64).clamp(1, FAR_EVERY_MAX)
    }

    /// True if a client's turn number `round` examines avatars beyond the nearest. `spread` differs between clients, so that not all of
    /// them do so in the same round.
    pub(super) fn includes_far(self, round: u64, spread: u64) -> bool {
        round.wrapping_add(spread).is_multiple_of(self.far_every())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spans of a hundred turns, each with this CPU time in milliseconds and with as many slots due as begun, times `lag`.
    fn spans(pressure: &mut Pressure, now: &mut Instant, n: u64, (used, idle): (u64, u64), lag: u64) -> f32 {
        for _ in 0..n * 100 {
            *now += Duration::from_millis(5);
            pressure.note_slots(1, lag);
            let (used, idle) = (Duration::from_millis(used), Duration::from_millis(idle));
            pressure.note_cpu(*now, CpuTime { used, idle });
        }
        pressure.value()
    }

    #[test]
    fn a_shard_with_spare_time_is_not_short_and_neither_is_one_after_a_short_stop() {
        let (mut pressure, mut now) = (Pressure::new(), Instant::ZERO);
        assert_eq!(spans(&mut pressure, &mut now, 20, (4, 1), 1), 1.0);
        assert!((pressure.need_ratio() - 0.8).abs() < 0.01);
        pressure.note_slots(1, 2_000);
        assert_eq!(spans(&mut pressure, &mut now, 20, (4, 1), 1), 1.0);
    }

    #[test]
    fn pressure_rises_while_more_is_needed_than_there_is_and_stays_when_that_helped() {
        let (mut pressure, mut now) = (Pressure::new(), Instant::ZERO);
        spans(&mut pressure, &mut now, 4, (5, 0), 2);
        let risen = pressure.value();
        assert!(risen > 1.9 && pressure.is_short(), "{pressure:?}");
        assert!(pressure.need_ratio() > 1.9, "{pressure:?}");
        spans(&mut pressure, &mut now, 1, (23, 2), 1);
        let kept = pressure.value();
        // 0.92 of the time.
        assert_eq!(spans(&mut pressure, &mut now, 20, (23, 2), 1), kept);
        assert_eq!(spans(&mut pressure, &mut now, 40, (5, 0), 4), PRESSURE_MAX);
    }

    #[test]
    fn a_shard_that_needs_most_of_its_time_does_not_keep_the_pressure_of_a_moment() {
        let (mut pressure, mut now) = (Pressure::new(), Instant::ZERO);
        spans(&mut pressure, &mut now, 6, (5, 0), 2);
        assert!(pressure.value() > 4.0, "{pressure:?}");
        // 0.83 of the time.
        assert_eq!(spans(&mut pressure, &mut now, 60, (5, 1), 1), 1.0);
        let n_short = pressure.n_short();
        assert!((10..66).contains(&n_short), "{n_short}");
        spans(&mut pressure, &mut now, 60, (5, 1), 1);
        assert_eq!(pressure.n_short(), n_short);
    }

    #[test]
    fn pressure_falls_slowly_when_there_is_time_again() {
        let (mut pressure, mut now) = (Pressure::new(), Instant::ZERO);
        spans(&mut pressure, &mut now, 40, (5, 0), 4);
        let after_a_second = spans(&mut pressure, &mut now, 2, (1, 4), 1);
        assert!(after_a_second > PRESSURE_MAX / 2.0, "{after_a_second}");
        assert_eq!(spans(&mut pressure, &mut now, 60, (1, 4), 1), 1.0);
    }

    #[test]
    fn turns_beyond_the_nearest_get_rarer_with_pressure_and_clients_take_them_in_different_rounds() {
        let looks = |value: f32| {
            let pressure = Pressure { value, ..Pressure::new() };
            (0..84).filter(|&round| pressure.includes_far(round, 3)).count()
        };
        assert_eq!([1.0, 2.0, 4.0, PRESSURE_MAX].map(looks), [84, 84, 28, 28]);
        let pressed = Pressure { value: PRESSURE_MAX, ..Pressure::new() };
        assert!(
            (0..3).all(|round| (0..3).filter(|&spread| pressed.includes_far(round, spread)).count() == 1)
        );
    }

    #[test]
    fn without_reports_there_is_no_pressure() {
        let mut pressure = Pressure::new();
        pressure.note_slots(1, 100);
        pressure.note_cpu(Instant::from_millis(1_000), CpuTime::default());
        assert_eq!(pressure.value(), 1.0);
    }
}
