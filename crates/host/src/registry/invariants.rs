//! Consistency of phases, indexes and sets.

use super::Registry;
use super::phase::InstancePhase;
use ids::WorldId;
use std::collections::{BTreeMap, BTreeSet};

impl Registry {
    /// Asserts that phases, indexes and sets are consistent. The cost is linear in the number of instances: the simulator calls it after each input,
    /// a server occasionally.
    ///
    /// # Panics
    /// If they are inconsistent.
    pub fn assert_invariants(&self) {
        assert_eq!(self.by_id.len(), self.instances.len(), "one id for each instance");
        assert!(self.n_in_memory() <= self.config.active_max, "more instances in memory than allowed");
        let mut local_ids = BTreeMap::new();
        let busy: BTreeSet<WorldId> = self.under_way.values().flatten().copied().collect();
        let n_busy = self.under_way.values().map(Vec::len).sum::<usize>();
        assert_eq!(busy.len(), n_busy, "a world has one job at a time");
        for (world, record) in &self.instances {
            assert_eq!(self.by_id.get(&record.row.id), Some(world), "the id names the world");
            assert_eq!(
                record.phase.is_settled(),
                !busy.contains(world),
                "world {}: one job unless settled",
                world.0
            );
            assert!(
                !record.phase.is_settled() || record.waiting.is_empty(),
                "a settled instance has no queue"
            );
            if let Some(ids) = record.phase.local_ids() {
                local_ids.insert(ids.start, ids.end);
            }
            if let InstancePhase::Active(active) = &record.phase {
                let entry = active.empty_since.map(|since| (since, *world));
                assert_eq!(active.is_empty(), entry.is_some(), "world {}: empty since", world.0);
                assert!(
                    entry.is_none_or(|entry| self.empty.contains(&entry)),
                    "an empty world is a candidate"
                );
            }
        }
        let used: BTreeMap<u32, u32> = self.local_ids.used().map(|ids| (ids.start, ids.end)).collect();
        assert_eq!(local_ids, used, "local ids belong to worlds in memory");
        let disjoint = used.iter().zip(used.keys().skip(1)).all(|((_, end), next)| end <= next);
        assert!(disjoint, "a local id has one world");
        let is_active = |world| self.record(world).phase.is_active();
        assert!(self.empty.iter().all(|&(_, world)| is_active(world)), "only active worlds are candidates");
    }
}
