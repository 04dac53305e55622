//! Times at which linksets vanish or are returned, in their order.

use crate::periods::TIME_MAX;
use ids::Uuid;
use link::ObjectLimits;
use serde::{Deserialize, Serialize};
use state_hash::StateHasher;
use std::collections::{BTreeMap, BTreeSet};

/// World time that a temporary linkset lasts, nanoseconds.
pub(super) fn life_ns(limits: &ObjectLimits) -> u64 {
    u64::from(limits.temporary_ms) * 1_000_000
}

/// Linksets with a time, by the ids of their roots, which no other object ever has. Local ids are used again.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Vec<(Uuid, u64)>", into = "Vec<(Uuid, u64)>")]
pub(super) struct ObjectSchedule {
    /// World time of its end, nanoseconds, by linkset.
    due: BTreeMap<Uuid, u64>,
    /// The same in the order of time.
    order: BTreeSet<(u64, Uuid)>,
    /// Sum of the hashes of the entries.
    hash: u64,
}

impl From<Vec<(Uuid, u64)>> for ObjectSchedule {
    fn from(entries: Vec<(Uuid, u64)>) -> Self {
        let mut all = Self::default();
        entries.into_iter().for_each(|(object, due_ns)| all.schedule(object, due_ns));
        all
    }
}

impl From<ObjectSchedule> for Vec<(Uuid, u64)> {
    fn from(all: ObjectSchedule) -> Self {
        all.due.into_iter().collect()
    }
}

impl ObjectSchedule {
    /// Gives a linkset this world time instead of any other.
    pub(super) fn schedule(&mut self, object: Uuid, due_ns: u64) {
        self.cancel(object);
        self.due.insert(object, due_ns);
        self.order.insert((due_ns, object));
        self.hash = self.hash.wrapping_add(entry_hash(object, due_ns));
    }

    /// As [`Self::schedule`], for a linkset that has no time yet.
    pub(super) fn schedule_new(&mut self, object: Uuid, due_ns: u64) {
        if !self.due.contains_key(&object) {
            self.schedule(object, due_ns);
        }
    }

    /// As [`Self::schedule`], unless it has an earlier time.
    pub(super) fn schedule_earlier(&mut self, object: Uuid, due_ns: u64) {
        if self.due.get(&object).is_none_or(|&former| due_ns < former) {
            self.schedule(object, due_ns);
        }
    }

    /// Time of a linkset; none if it stays.
    pub(super) fn due_of(&self, object: Uuid) -> Option<u64> {
        self.due.get(&object).copied()
    }

    /// Lets a linkset stay.
    pub(super) fn cancel(&mut self, object: Uuid) {
        if let Some(due_ns) = self.due.remove(&object) {
            self.order.remove(&(due_ns, object));
            self.hash = self.hash.wrapping_sub(entry_hash(object, due_ns));
        }
    }

    /// Takes out the linkset whose time was over first, if any is by now.
    pub(super) fn pop_due(&mut self, now_ns: u64) -> Option<Uuid> {
        let &(_, object) = self.order.first().filter(|(due_ns, _)| *due_ns <= now_ns)?;
        self.cancel(object);
        Some(object)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.due.is_empty()
    }

    pub(super) const fn hash(&self) -> u64 {
        self.hash
    }

    /// True for times that can be counted on from.
    pub(super) fn is_sound(&self) -> bool {
        self.order.last().is_none_or(|(due_ns, _)| *due_ns < TIME_MAX)
    }
}

fn entry_hash(object: Uuid, due_ns: u64) -> u64 {
    let mut hasher = StateHasher::new();
    hasher.bytes(object.as_bytes());
    hasher.u64(due_ns);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linksets_vanish_in_the_order_of_their_times() {
        let [a, b, c] = [1, 2, 3].map(Uuid::from_u128);
        let mut all = ObjectSchedule::default();
        all.schedule(a, 30);
        all.schedule(b, 10);
        all.schedule(c, 20);
        all.schedule(b, 40);
        all.schedule_new(b, 1);
        all.cancel(c);
        assert_eq!((all.pop_due(29), all.pop_due(30), all.pop_due(30)), (None, Some(a), None));
        assert_eq!((all.due_of(b), all.due_of(a)), (Some(40), None));
        assert_eq!((all.pop_due(40), all.is_empty(), all.hash()), (Some(b), true, 0));
    }

    #[test]
    fn the_hash_is_that_of_the_entries() {
        let [a, b] = [1, 2].map(Uuid::from_u128);
        let mut all = ObjectSchedule::default();
        all.schedule(b, 7);
        all.schedule(a, 5);
        let again = ObjectSchedule::from(Vec::from(all.clone()));
        assert_eq!((again.hash(), again.due), (all.hash(), all.due.clone()));
        assert_ne!(all.hash(), ObjectSchedule::from(vec![(a, 7), (b, 5)]).hash());
    }
}
