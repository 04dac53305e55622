//! Rights of a session, the part of its rates that it has used, and its history. Dropped when it leaves.

use super::history::History;
use super::used_rate::UsedRate;
use ids::{AgentId, SessionKey};
use link::EditRights;
use serde::{Deserialize, Serialize};
use state_hash::StateHasher;
use std::sync::Arc;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct SessionEdits {
    /// True for an operator who acts as one.
    pub(super) is_operator: bool,
    /// Users whose objects it may edit, in ascending order.
    owners: Vec<AgentId>,
    /// Prims that it made.
    pub(super) rezzed: UsedRate,
    /// Prims that it changed.
    pub(super) changed: UsedRate,
    /// Shared with the last checkpoint until it changes.
    history: Arc<History>,
}

impl SessionEdits {
    pub(super) fn set_rights(&mut self, EditRights { is_operator, mut owners }: EditRights) {
        owners.sort_unstable();
        owners.dedup();
        owners.truncate(EditRights::OWNERS_MAX);
        (self.is_operator, self.owners) = (is_operator, owners);
    }

    pub(super) fn history_mut(&mut self) -> &mut History {
        Arc::make_mut(&mut self.history)
    }

    /// True if a user lets it edit that user's objects.
    pub(super) fn may_edit_for(&self, owner: AgentId) -> bool {
        self.owners.binary_search(&owner).is_ok()
    }

    /// Hash of all of it; the history's is kept up to date, and the rest is short.
    pub(super) fn hash(&self, session: SessionKey) -> u64 {
        let Self { is_operator, owners, rezzed, changed, history } = self;
        let mut hasher = StateHasher::new();
        hasher.u64(session.0);
        hasher.u64(u64::from(*is_operator) | (owners.len() as u64) << 1);
        for AgentId(owner) in owners {
            let (high, low) = owner.as_u64_pair();
            hasher.u64(high);
            hasher.u64(low);
        }
        hasher.u64(rezzed.used_until_ns);
        hasher.u64(changed.used_until_ns);
        hasher.u64(history.hash());
        hasher.finish()
    }

    /// Completes the state of a snapshot; false if no run leads to it.
    pub(super) fn revive(&mut self) -> bool {
        let is_sorted = self.owners.is_sorted_by(|a, b| a < b);
        is_sorted
            && self.owners.len() <= EditRights::OWNERS_MAX
            && self.rezzed.is_sound()
            && self.changed.is_sound()
            && self.history_mut().revive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::Uuid;
    use std::collections::BTreeSet;

    #[test]
    fn each_field_is_in_the_hash() {
        let used = |used_until_ns| UsedRate { used_until_ns };
        let plain = SessionEdits::default;
        let mut history = History::default();
        history.record(Uuid::from_u128(1), Vec::new());
        let states = [
            plain(),
            SessionEdits { is_operator: true, ..plain() },
            SessionEdits { owners: vec![AgentId(Uuid::from_u128(1))], ..plain() },
            SessionEdits { owners: vec![AgentId(Uuid::from_u128(2))], ..plain() },
            SessionEdits { rezzed: used(5), ..plain() },
            SessionEdits { changed: used(5), ..plain() },
            SessionEdits { history: Arc::new(history), ..plain() },
        ];
        let hashes: BTreeSet<u64> = states.iter().map(|state| state.hash(SessionKey(1))).collect();
        assert_eq!(hashes.len(), states.len());
        assert_ne!(plain().hash(SessionKey(1)), plain().hash(SessionKey(2)));
    }

    #[test]
    fn owners_of_a_state_are_in_order_and_not_too_many() {
        let mut own = SessionEdits::default();
        let owners = |n: u128| (0..n).rev().map(|n| AgentId(Uuid::from_u128(n))).collect::<Vec<_>>();
        own.set_rights(EditRights { is_operator: false, owners: owners(2_000) });
        assert!(own.clone().revive() && own.may_edit_for(AgentId(Uuid::from_u128(999))));
        assert!(!own.may_edit_for(AgentId(Uuid::from_u128(1_000))));
        assert!(!SessionEdits { owners: owners(2), ..SessionEdits::default() }.revive());
        own.owners.push(AgentId(Uuid::max()));
        assert!(!own.revive());
    }
}
