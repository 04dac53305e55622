//! Local ids of avatars: handed out in ascending order, and again only after all others of the range.

use crate::renaming::Renaming;
use ids::LocalId;
use serde::{Deserialize, Serialize};
use state_hash::StateHasher;
use std::ops::Range;

/// Local ids used so far. A restarted world continues after them, so that no id known to a replica is reused for another avatar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdsUsed {
    pub(crate) next: u32,
    pub(crate) wrapped: bool,
}

/// The range of a world's avatars, and the next id of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LocalIds {
    range: Range<u32>,
    next: u32,
    /// The range has been used up once, so that the next id may still be taken.
    has_wrapped: bool,
}

impl LocalIds {
    /// Ids of `range`, of which the first `n_taken` are taken.
    pub(crate) const fn new(range: Range<u32>, n_taken: u32) -> Self {
        Self { next: range.start + n_taken, range, has_wrapped: false }
    }

    /// The next id that is not taken. `is_taken` is asked only after the range was used up once.
    pub(crate) fn next_free(&mut self, is_taken: impl Fn(LocalId) -> bool) -> LocalId {
        let mut n_asked = 0;
        loop {
            // Else this would never end, or an id would have two owners.
            assert!(n_asked <= self.range.len(), "all local ids of {:?} are taken", self.range);
            n_asked += 1;
            if self.next >= self.range.end {
                self.next = self.range.start;
                self.has_wrapped = true;
            }
            let id = LocalId(self.next);
            self.next += 1;
            if !self.has_wrapped || !is_taken(id) {
                return id;
            }
        }
    }

    /// All ids that this world may hand out.
    pub(crate) const fn range(&self) -> &Range<u32> {
        &self.range
    }

    /// Place of an id in the range: the same wherever the world continues.
    pub(crate) const fn place_of(&self, id: LocalId) -> u32 {
        id.0 - self.range.start
    }

    /// Progress through the range.
    pub(crate) const fn used(&self) -> IdsUsed {
        IdsUsed { next: self.next, wrapped: self.has_wrapped }
    }

    /// Continues after the ids used by an earlier life of this world.
    pub(crate) const fn skip(&mut self, used: IdsUsed) {
        self.next = used.next;
        self.has_wrapped = used.wrapped;
    }

    /// Continues after the ids that a snapshot's world had used in another range.
    pub(crate) fn continue_after(&mut self, used: IdsUsed, renaming: &Renaming) {
        (self.next, self.has_wrapped) = renaming.next(used.next, used.wrapped);
    }

    pub(crate) const fn hash(&self, hasher: &mut StateHasher) {
        hasher.u64((self.next as u64) << 1 | self.has_wrapped as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_ascend_and_those_in_use_are_left_out_once_the_range_begins_again() {
        let mut ids = LocalIds::new(10..14, 1);
        let mut take = |taken: &[u32]| ids.next_free(|LocalId(id)| taken.contains(&id)).0;
        // Taken ones are not asked for: before the first round is over all are new.
        assert_eq!([take(&[11]), take(&[]), take(&[])], [11, 12, 13]);
        assert_eq!([take(&[10, 11]), take(&[])], [12, 13]);
        assert_eq!(take(&[10, 12, 13]), 11);
    }

    #[test]
    #[should_panic(expected = "all local ids of 10..14 are taken")]
    fn no_id_is_given_to_a_second_owner_when_all_are_taken() {
        let mut ids = LocalIds::new(10..14, 4);
        ids.next_free(|_| true);
    }
}
