//! Renaming of local ids for a world that continues in another range: in another instance of its template, or on another node.

use ids::LocalId;
use std::ops::Range;

/// Maps one range of local ids to another; each id keeps its place.
#[derive(Debug)]
pub(crate) struct Renaming {
    pub(crate) from: Range<u32>,
    pub(crate) to: Range<u32>,
}

/// The other range is too short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IdShortage {
    /// From the first of the former range to the last that is in use.
    pub(crate) used: u32,
    /// Length of the other range.
    pub(crate) found: u32,
}

impl Renaming {
    pub(crate) fn changes_nothing(&self) -> bool {
        self.from == self.to
    }

    /// The renamed id; `None` if it is outside the former range, or has no place in the new one.
    pub(crate) fn of(&self, LocalId(id): LocalId) -> Option<LocalId> {
        let place = self.from.contains(&id).then(|| id - self.from.start)?;
        ((place as usize) < self.to.len()).then(|| LocalId(self.to.start + place))
    }

    /// The id to hand out next. Behind the end of a range that has become shorter they begin again.
    pub(crate) fn next(&self, next: u32, has_wrapped: bool) -> (u32, bool) {
        let place = next - self.from.start;
        match place as usize <= self.to.len() {
            true => (self.to.start + place, has_wrapped),
            false => (self.to.start, true),
        }
    }

    /// Checks that the new range has a place for every used id.
    pub(crate) fn check(&self, ids: impl Iterator<Item = LocalId>) -> Result<(), IdShortage> {
        let used = ids
            .filter(|id| self.from.contains(&id.0))
            .map(|id| id.0 - self.from.start + 1)
            .max()
            .unwrap_or(0);
        let found = self.to.end - self.to.start;
        if used > found { Err(IdShortage { used, found }) } else { Ok(()) }
    }
}
