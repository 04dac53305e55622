//! Facts that wait for the store, in a queue that the hub never blocks on: an account's newest fact of a kind replaces the earlier
//! ones, which bounds the queue to three for each account and [`THIN_FROM`].

use super::Record;
use ids::AgentId;
use std::collections::{BTreeSet, VecDeque};

/// Length of the queue from which on replaced facts are removed, once it has doubled since the last removal.
const THIN_FROM: usize = 1_024;

/// Facts in the order in which the store has to take them.
#[derive(Debug, Default)]
pub(super) struct WaitingRecords {
    queue: VecDeque<Record>,
    /// Facts left when replaced ones were removed last.
    n_thinned: usize,
}

impl WaitingRecords {
    pub(super) fn push_back(&mut self, record: Record) {
        self.queue.push_back(record);
        if self.queue.len() >= THIN_FROM.max(2 * self.n_thinned) {
            self.remove_replaced();
        }
    }

    /// Puts the result of [`Self::pop_front`] back.
    pub(super) fn push_front(&mut self, record: Record) {
        self.queue.push_front(record);
    }

    pub(super) fn pop_front(&mut self) -> Option<Record> {
        self.queue.pop_front()
    }

    fn remove_replaced(&mut self) {
        let mut seen = BTreeSet::new();
        let newest: VecDeque<Record> =
            self.queue.drain(..).rev().filter(|record| seen.insert(key_of(record))).collect();
        self.queue.extend(newest.into_iter().rev());
        self.n_thinned = self.queue.len();
    }
}

/// Account and kind: a later fact replaces earlier ones of the same key.
const fn key_of(record: &Record) -> (AgentId, u8) {
    match record {
        Record::LastLocation(agent, _) => (*agent, 0),
        Record::Home(agent, _) => (*agent, 1),
        Record::Appearance(agent, _) => (*agent, 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mail::Spot;
    use crate::places::PlaceId;
    use glam::Vec3;
    use ids::Uuid;

    fn spot(n: usize) -> Spot {
        Spot { place: PlaceId(0), position: Vec3::splat(n as f32), look_at: Vec3::X }
    }

    #[test]
    fn an_account_s_newest_facts_wait_and_no_others() {
        let agent = |n: usize| AgentId(Uuid::from_u128(n as u128));
        let mut waiting = WaitingRecords::default();
        for n in 0..10 * THIN_FROM {
            waiting.push_back(Record::LastLocation(agent(n % 3), spot(n)));
            waiting.push_back(Record::Home(agent(n % 3), spot(n)));
            assert!(waiting.queue.len() < 2 * THIN_FROM);
        }
        waiting.remove_replaced();
        let n = 10 * THIN_FROM;
        let expected = (n - 3..n)
            .flat_map(|n| [Record::LastLocation(agent(n % 3), spot(n)), Record::Home(agent(n % 3), spot(n))]);
        let first = waiting.pop_front().expect("six wait");
        waiting.push_front(first);
        assert_eq!(waiting.queue, expected.collect::<Vec<_>>());
    }
}
