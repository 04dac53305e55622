//! Local ids of a range that are in use or rest, derived from frames.
//!
//! Frames contain neither the world's table of ids nor the world time. The keeper derives both: a freed id rests for the same period as in the world,
//! measured by the times of the frames. These differ from world time by the dilation, which has no effect on clients that have missed a removal.

use ids::LocalId;
use link::RestingIds;
use std::collections::BTreeMap;
use std::ops::Range;

/// Time for which a freed id rests, in nanoseconds. The world uses the same value.
const REST_NS: u64 = 60_000_000_000;

/// Local ids of one range.
#[derive(Clone, Debug)]
pub(crate) struct UsedIds {
    range: Range<u32>,
    /// Number of ids that have ever been used; they are the first ones of the range.
    n_used: u32,
    /// Freed ids as offsets in the range, with the times of their removal.
    resting: BTreeMap<u32, u64>,
}

impl UsedIds {
    pub(crate) fn new(range: Range<u32>, saved: &RestingIds) -> Self {
        Self { range, n_used: saved.n_used, resting: saved.resting.iter().copied().collect() }
    }

    pub(crate) fn contains(&self, LocalId(id): LocalId) -> bool {
        self.range.contains(&id)
    }

    /// Marks an id of the range as used.
    pub(crate) fn take(&mut self, LocalId(id): LocalId) {
        let place = id - self.range.start;
        self.n_used = self.n_used.max(place + 1);
        self.resting.remove(&place);
    }

    /// Marks an id of the range as freed.
    pub(crate) fn free(&mut self, LocalId(id): LocalId, now_ns: u64) {
        let place = id - self.range.start;
        self.n_used = self.n_used.max(place + 1);
        self.resting.insert(place, now_ns);
    }

    /// Returns the ids that rest now, including `others`, which start to rest now; removes ids that have rested for the whole period.
    pub(crate) fn resting(&mut self, now_ns: u64, others: impl Iterator<Item = LocalId>) -> RestingIds {
        self.resting.retain(|_, freed_ns| freed_ns.saturating_add(REST_NS) > now_ns);
        let mut resting: Vec<(u32, u64)> =
            self.resting.iter().map(|(&place, &freed_ns)| (place, freed_ns)).collect();
        resting.extend(others.map(|LocalId(id)| (id - self.range.start, now_ns)));
        resting.sort_unstable_by_key(|&(place, freed_ns)| (freed_ns, place));
        RestingIds { n_used: self.n_used, resting }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(places: &[u32]) -> impl Iterator<Item = LocalId> {
        places.iter().map(|place| LocalId(8 + place))
    }

    #[test]
    fn freed_ids_rest_in_the_order_of_their_removal_and_no_longer_than_they_have_to() {
        let mut used = UsedIds::new(8..20, &RestingIds { n_used: 2, resting: vec![(1, 5)] });
        ids(&[0, 4, 2]).for_each(|id| used.take(id));
        used.free(LocalId(12), 10);
        used.free(LocalId(10), 10);
        let resting = |used: &mut UsedIds, now_ns| used.resting(now_ns, ids(&[]));
        assert_eq!(resting(&mut used, 10), RestingIds { n_used: 5, resting: vec![(1, 5), (2, 10), (4, 10)] });
        used.take(LocalId(12));
        assert_eq!(resting(&mut used, REST_NS + 5).resting, [(2, 10)]);
        assert_eq!(resting(&mut used, REST_NS + 10).resting, []);
    }

    #[test]
    fn ids_of_objects_that_are_not_kept_rest_from_now_on() {
        let mut used = UsedIds::new(8..20, &RestingIds::default());
        ids(&[0, 1, 2]).for_each(|id| used.take(id));
        used.free(LocalId(9), 3);
        assert_eq!(used.resting(7, ids(&[0, 2])).resting, [(1, 3), (0, 7), (2, 7)]);
        assert_eq!(used.resting(7, ids(&[])).resting, [(1, 3)], "as of that save only");
    }
}
