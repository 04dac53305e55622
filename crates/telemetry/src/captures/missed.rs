//! Missed ticks of worlds, and the fate of each: captured, suppressed or lost.
//!
//! Worlds report their misses; the driver of the [`Saver`](super::Saver) reports the fates of the overruns that the flight recorder
//! posted. [`MissedTicks`] matches both by world and time: a step of a world contains every overrun that it posted. A miss without a
//! fate is one without an account.

use super::OverrunFate;
use crate::recorder::{Overrun, ScopeKind};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

/// Misses kept; the oldest go.
pub const MISSES_MAX: usize = 4_096;
/// Fates kept: a miss has two overruns at most, of its frame and of its lateness.
const FATES_MAX: usize = 2 * MISSES_MAX;

/// A step that began a whole tick late, or lasted longer than a tick. Times are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissedTick {
    /// The world's number, as in [`Overrun::arg`].
    pub world: u64,
    /// The tick's number.
    pub tick: u64,
    /// Its beginning by the flight recorder's clock ([`now_ns`](crate::recorder::now_ns)).
    pub began_ns: u64,
    /// Its end, by the same clock.
    pub ended_ns: u64,
    /// The time from when it was due until it began.
    pub late_ns: u64,
}

/// A kept miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberedMiss {
    /// Its number, counted from 0 since the server began.
    pub number: u64,
    /// The step.
    pub miss: MissedTick,
    /// None while there is no account of it.
    pub fate: Option<OverrunFate>,
}

/// The latest misses, `MISSES_MAX` at most.
#[derive(Debug, Default)]
pub struct MissedTicks(Mutex<MissTable>);

#[derive(Debug, Default)]
struct MissTable {
    /// Each with its number.
    misses: VecDeque<(u64, MissedTick)>,
    /// Number of the next one.
    next: u64,
    /// By world and time of the overrun.
    fates: BTreeMap<(u64, u64), OverrunFate>,
    /// The same keys, the oldest first.
    order: VecDeque<(u64, u64)>,
    /// Overruns of frames that found the recorder's queue full; nothing else is known of them.
    lost: u64,
}

impl MissedTicks {
    /// Adds ticks that worlds missed.
    pub fn add(&self, misses: impl Iterator<Item = MissedTick>) {
        self.with(|table| misses.for_each(|miss| table.add(miss)));
    }

    /// Notes the fate of an overrun. Only those of frames count.
    pub fn note_fate(&self, overrun: &Overrun, fate: OverrunFate) {
        if overrun.kind == ScopeKind::Frame {
            self.with(|table| table.note_fate((overrun.arg, overrun.at_ns), fate));
        }
    }

    /// Notes the number of overruns of frames that found the recorder's queue full.
    pub fn note_lost(&self, n: u64) {
        self.with(|table| table.lost += n);
    }

    /// The misses from this number on, as far as they are kept, and the number of the next one.
    pub fn list(&self, from: u64) -> (Vec<NumberedMiss>, u64) {
        self.with(|table| table.list(from))
    }

    fn with<T>(&self, act: impl FnOnce(&mut MissTable) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl MissTable {
    fn add(&mut self, miss: MissedTick) {
        if self.misses.len() == MISSES_MAX
            && let Some((_, gone)) = self.misses.pop_front()
            && self.fate(&gone).is_none()
        {
            // It took its share of the lost ones with it.
            self.lost = self.lost.saturating_sub(1);
        }
        self.misses.push_back((self.next, miss));
        self.next += 1;
    }

    fn note_fate(&mut self, key: (u64, u64), fate: OverrunFate) {
        if self.fates.insert(key, fate).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > FATES_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.fates.remove(&oldest);
        }
    }

    /// The best fate of the overruns within the step.
    fn fate(&self, miss: &MissedTick) -> Option<OverrunFate> {
        self.fates
            .range((miss.world, miss.began_ns)..=(miss.world, miss.ended_ns))
            .map(|(_, fate)| *fate)
            .min()
    }

    fn list(&self, from: u64) -> (Vec<NumberedMiss>, u64) {
        let mut lost = self.lost;
        let mut misses = Vec::new();
        for &(number, miss) in &self.misses {
            let fate = self.fate(&miss).or_else(|| {
                // The oldest without a fate are those whose overruns were lost: all others have theirs within a second.
                lost = lost.checked_sub(1)?;
                Some(OverrunFate::Lost)
            });
            if number >= from {
                misses.push(NumberedMiss { number, miss, fate });
            }
        }
        (misses, self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn miss(world: u64, tick: u64, began_ns: u64) -> MissedTick {
        MissedTick { world, tick, began_ns, ended_ns: began_ns + 60_000_000, late_ns: 0 }
    }

    fn overrun(world: u64, at_ns: u64) -> Overrun {
        let (took_ns, limit_ns) = (60_000_000, 50_000_000);
        Overrun { kind: ScopeKind::Frame, scope: 1, arg: world, took_ns, limit_ns, thread: 1, at_ns }
    }

    fn fates(missed: &MissedTicks) -> Vec<Option<&'static str>> {
        missed.list(0).0.into_iter().map(|miss| miss.fate.map(OverrunFate::as_str)).collect()
    }

    #[test]
    fn a_miss_has_the_fate_of_the_overruns_of_its_world_within_its_step() {
        let missed = MissedTicks::default();
        // Before the misses are known; of another world; of another time; of no frame.
        missed.note_fate(&overrun(7, 1_060_000_000), OverrunFate::Suppressed);
        missed.note_fate(&overrun(8, 2_000_000_000), OverrunFate::Captured);
        missed.note_fate(&overrun(7, 4_500_000_000), OverrunFate::Captured);
        missed.note_fate(
            &Overrun { kind: ScopeKind::System, ..overrun(7, 3_000_000_000) },
            OverrunFate::Captured,
        );
        missed.add([1, 2, 3, 4].into_iter().map(|n| miss(7, n, n * 1_000_000_000)));
        assert_eq!(fates(&missed), [Some("suppressed"), None, None, None]);
        missed.note_fate(&overrun(7, 2_000_000_000), OverrunFate::Suppressed);
        missed.note_fate(&overrun(7, 2_060_000_000), OverrunFate::Captured);
        assert_eq!(fates(&missed)[1], Some("captured"), "the better of both");
        let (listed, next) = missed.list(2);
        let numbers: Vec<_> = listed.iter().map(|listed| (listed.number, listed.miss.tick)).collect();
        assert_eq!((numbers, next), (vec![(2, 3), (3, 4)], 4));
    }

    #[test]
    fn as_many_misses_as_overruns_were_lost_are_lost_and_the_others_are_not() {
        let missed = MissedTicks::default();
        missed.add((1..=4).map(|n| miss(7, n, n * 1_000_000_000)));
        missed.note_fate(&overrun(7, 2_000_000_000), OverrunFate::Suppressed);
        missed.note_lost(2);
        assert_eq!(fates(&missed), [Some("lost"), Some("suppressed"), Some("lost"), None]);
        // The oldest are forgotten, with what was lost of them.
        missed.add((0..MISSES_MAX as u64 - 3).map(|n| miss(9, n, n)));
        let (listed, _) = missed.list(0);
        assert_eq!((listed.len(), listed[0].number), (MISSES_MAX, 1));
        assert_eq!(listed.iter().filter(|listed| listed.fate == Some(OverrunFate::Lost)).count(), 1);
    }
}
