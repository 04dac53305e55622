//! Local ids of a world that goes on where it has others: in another instance of its template, or on another node.

use super::RestoreError;
use ids::LocalId;
use std::ops::Range;

/// From one range of local ids into another: everybody keeps their place.
#[derive(Debug)]
pub(crate) struct Renaming {
    pub(super) from: Range<u32>,
    pub(super) to: Range<u32>,
}

impl Renaming {
    pub(super) fn changes_nothing(&self) -> bool {
        self.from == self.to
    }

    /// `None` for who had none of these, and for whom there is no place.
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

    /// Whether there is a place for all who are in the world.
    pub(super) fn check(&self, ids: impl Iterator<Item = LocalId>) -> Result<(), RestoreError> {
        let used = ids
            .filter(|id| self.from.contains(&id.0))
            .map(|id| id.0 - self.from.start + 1)
            .max()
            .unwrap_or(0);
        let found = self.to.end - self.to.start;
        if used > found { Err(RestoreError::TooFewIds { used, found }) } else { Ok(()) }
    }
}
