//! Comparison of two runs: hashes of all events, tick by tick.

use ids::Tick;
use link::Frame;
use std::fmt;

/// One tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickMark {
    /// The tick.
    pub tick: Tick,
    /// The worlds' own state hashes after it.
    pub states: [u64; 2],
    /// Hashes of the frames that left them, byte for byte.
    pub frames: [u64; 2],
    /// Hash of every datagram that arrived at server and clients so far, with the nanosecond in which it did.
    pub traffic: u64,
}

/// A whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    ticks: Vec<TickMark>,
}

/// First difference of two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// In the one run; `None` if it had ended.
    pub one: Option<TickMark>,
    /// In the other.
    pub other: Option<TickMark>,
}

impl Trace {
    /// Adds a tick with the frames that left the worlds in it; `scratch` holds bytes of the last one afterwards.
    pub(crate) fn mark<'a>(
        &mut self,
        tick: Tick,
        frames: impl Iterator<Item = &'a Frame>,
        traffic: u64,
        scratch: &mut Vec<u8>,
    ) {
        let mut mark = TickMark { tick, states: [0; 2], frames: [0; 2], traffic };
        for frame in frames {
            let n = frame.world.0 as usize;
            mark.states[n] = frame.state_hash;
            mark.frames[n] = frame_hash(frame, scratch);
        }
        self.ticks.push(mark);
    }

    /// Every tick, in order.
    #[must_use]
    pub fn ticks(&self) -> &[TickMark] {
        &self.ticks
    }

    /// One number for all of it.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.ticks.iter().fold(0, |hash, mark| {
            let [a, b] = mark.states;
            let [c, d] = mark.frames;
            [mark.tick.0, a, b, c, d, mark.traffic].into_iter().fold(hash, state_hash::fold)
        })
    }

    /// First difference between this run and another, if any.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<Difference> {
        let length = self.ticks.len().max(other.ticks.len());
        let at = |trace: &Self, index| trace.ticks.get(index).copied();
        (0..length)
            .map(|index| Difference { one: at(self, index), other: at(other, index) })
            .find(|difference| difference.one != difference.other)
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ticks, hash {:016x}", self.ticks.len(), self.hash())
    }
}

/// Hash of a frame byte for byte; `scratch` holds its bytes afterwards.
pub(crate) fn frame_hash(frame: &Frame, scratch: &mut Vec<u8>) -> u64 {
    scratch.clear();
    let bytes = postcard::to_extend(frame, std::mem::take(scratch));
    *scratch = bytes.expect("plain data in memory always encodes");
    fold(0, scratch)
}

/// Folds bytes into 64 bits. Compares runs of ours with each other, so any good mixing will do.
pub(crate) fn fold(hash: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let hash = words.iter().fold(state_hash::fold(hash, bytes.len() as u64), |hash, &word| {
        state_hash::fold(hash, u64::from_le_bytes(word))
    });
    rest.iter().fold(hash, |hash, &byte| state_hash::fold(hash, byte.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_part_where_the_first_mark_differs() {
        let mark = |tick| TickMark { tick: Tick(tick), states: [1, 2], frames: [3, 4], traffic: 5 };
        let one = Trace { ticks: vec![mark(0), mark(1), mark(2)] };
        let mut other = one.clone();
        assert_eq!(one.difference(&other), None);
        other.ticks[1].states[1] = 9;
        assert_eq!(one.difference(&other).and_then(|d| d.one), Some(mark(1)));
        assert_ne!(one.hash(), other.hash());
        other = Trace { ticks: vec![mark(0)] };
        assert_eq!(one.difference(&other), Some(Difference { one: Some(mark(1)), other: None }));
    }

    #[test]
    fn every_byte_and_the_length_count() {
        assert_ne!(fold(0, b"12345678a"), fold(0, b"12345678b"));
        assert_ne!(fold(0, b""), fold(0, b"\0"));
    }
}
