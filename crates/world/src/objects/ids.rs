//! Local ids of objects: the lowest free one, and a freed one only after a rest.
//!
//! Objects that are kept have a range of their own, and so have temporary ones ([`link::kept_object_ids`]). The ids of the former are stored with them
//! and stay the same at every start. The lowest free id keeps pages full.

use ids::LocalId;
use link::RestingIds;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

/// World time for which a freed id is not used, nanoseconds. A client that has lost the removal still shows the former object.
const REST_NS: u64 = 60_000_000_000;

/// Ids of a range that are free.
#[derive(Clone, Debug)]
pub(crate) struct ObjectIds {
    range: Range<u32>,
    /// The first id that was never used.
    fresh: u32,
    /// Ids below `fresh` that have rested.
    free: BinaryHeap<Reverse<u32>>,
    /// Ids that were freed, with the times, in their order.
    resting: VecDeque<(u32, u64)>,
}

impl ObjectIds {
    pub(crate) const fn new(range: Range<u32>) -> Self {
        Self { fresh: range.start, range, free: BinaryHeap::new(), resting: VecDeque::new() }
    }

    /// True if this number of ids can be taken.
    pub(crate) fn has_room(&mut self, n: usize, now_ns: u64) -> bool {
        self.end_rests(now_ns);
        self.free.len() + (self.range.end - self.fresh) as usize >= n
    }

    fn end_rests(&mut self, now_ns: u64) {
        while self.resting.front().is_some_and(|(_, freed_ns)| freed_ns + REST_NS <= now_ns) {
            self.free.extend(self.resting.pop_front().map(|(id, _)| Reverse(id)));
        }
    }

    /// The next id, or none while all are in use or resting.
    pub(crate) fn take(&mut self, now_ns: u64) -> Option<LocalId> {
        self.end_rests(now_ns);
        if let Some(Reverse(id)) = self.free.pop() {
            return Some(LocalId(id));
        }
        let id = self.fresh;
        if id >= self.range.end {
            return None;
        }
        self.fresh += 1;
        Some(LocalId(id))
    }

    /// Takes an id back.
    pub(crate) fn give_back(&mut self, LocalId(id): LocalId, now_ns: u64) {
        assert!(self.range.contains(&id) && id < self.fresh, "an id of this range that was taken");
        self.resting.push_back((id, now_ns));
    }

    pub(crate) const fn range(&self) -> &Range<u32> {
        &self.range
    }

    pub(crate) fn resting(&self) -> RestingIds {
        let start = self.range.start;
        let resting = self.resting.iter().map(|&(id, freed_ns)| (id - start, freed_ns)).collect();
        RestingIds { n_used: self.fresh - start, resting }
    }

    /// Ids of a world that was saved with these, and in which `used` are in use, in ascending order. None if they contradict each other.
    pub(crate) fn restored(
        range: Range<u32>,
        saved: RestingIds,
        used: impl Iterator<Item = LocalId>,
    ) -> Option<Self> {
        let RestingIds { n_used, resting } = saved;
        if n_used > range.end - range.start {
            return None;
        }
        let mut is_taken = vec![false; n_used as usize];
        let used = used.map(|LocalId(id)| id.checked_sub(range.start));
        for place in used.chain(resting.iter().map(|&(place, _)| Some(place))) {
            if std::mem::replace(is_taken.get_mut(place? as usize)?, true) {
                return None;
            }
        }
        let free = (range.start..).zip(is_taken).filter(|(_, is_taken)| !is_taken);
        Some(Self {
            fresh: range.start + n_used,
            free: free.map(|(id, _)| Reverse(id)).collect(),
            resting: resting.into_iter().map(|(place, freed_ns)| (range.start + place, freed_ns)).collect(),
            range,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_id_rests_and_the_lowest_comes_first() {
        let mut ids = ObjectIds::new(8..12);
        let take = |ids: &mut ObjectIds, now| ids.take(now).map(|LocalId(id)| id);
        assert_eq!([take(&mut ids, 0), take(&mut ids, 0), take(&mut ids, 0)], [Some(8), Some(9), Some(10)]);
        ids.give_back(LocalId(9), 5);
        ids.give_back(LocalId(8), 6);
        assert_eq!([take(&mut ids, REST_NS), take(&mut ids, REST_NS)], [Some(11), None]);
        assert!(ids.has_room(1, REST_NS + 5) && !ids.has_room(2, REST_NS + 5));
        assert_eq!(take(&mut ids, REST_NS + 5), Some(9));
        assert_eq!(take(&mut ids, REST_NS + 6), Some(8));
    }

    #[test]
    fn saved_ids_continue() {
        let mut ids = ObjectIds::new(8..20);
        let taken: Vec<LocalId> = (0..6).map(|_| ids.take(0).unwrap()).collect();
        ids.give_back(taken[1], 0);
        ids.give_back(taken[4], 100);
        assert_eq!(ids.take(REST_NS), Some(taken[1]));
        ids.give_back(taken[1], REST_NS);
        ids.give_back(taken[0], REST_NS);
        let used = || [taken[2], taken[3], taken[5]].into_iter();
        let mut again = ObjectIds::restored(8..20, ids.resting(), used()).unwrap();
        assert_eq!(again.resting(), ids.resting());
        for now in [REST_NS, REST_NS + 100, 2 * REST_NS, 2 * REST_NS, 2 * REST_NS] {
            assert_eq!(again.take(now), ids.take(now));
        }
        let twice = RestingIds { resting: vec![(2, 0)], ..ids.resting() };
        assert!(ObjectIds::restored(8..20, twice, used()).is_none());
        let beyond = RestingIds { n_used: 13, resting: Vec::new() };
        assert!(ObjectIds::restored(8..20, beyond, used()).is_none());
    }
}
