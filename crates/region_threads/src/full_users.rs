//! Users for whom the database holds as many linksets as it may, or whose inventories have as many items: counted by the `keeper` thread behind its saves, and told
//! to all worlds, which take no more out for them.
//!
//! A user may have some more than the bound: those that left in the fraction of a second until the worlds knew of it. A user with a full inventory is found out by
//! the first object that comes into it since the start of the server.

use crossbeam_channel::Sender;
use ids::{AgentId, Instant};
use std::collections::BTreeSet;
use std::time::Duration;
use store::{HeldChange, Store, StoreError};

/// Time after which a full user is counted again: linksets go in other ways than by a save, too.
const RECOUNT: Duration = Duration::from_secs(5);
/// Notices on their way to the worlds at most. Others wait with the count.
pub(super) const NOTICES_MAX: usize = 1_024;

/// Change of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FullNotice {
    pub(super) owner: AgentId,
    /// True if the database takes no more.
    pub(super) is_full: bool,
}

/// Counts of the `keeper` thread.
pub(super) struct FullUsers {
    max: u32,
    /// As the worlds know them.
    full: BTreeSet<AgentId>,
    /// To be counted.
    open: BTreeSet<AgentId>,
    notices: Sender<FullNotice>,
    recounted_at: Instant,
}

impl FullUsers {
    /// `full` are those with at least `max` linksets; the worlds begin with them.
    pub(super) fn new(max: u32, full: BTreeSet<AgentId>, notices: Sender<FullNotice>) -> Self {
        Self { max, full, open: BTreeSet::new(), notices, recounted_at: Instant::ZERO }
    }

    /// Time until the next count that is due without a save; `None` without full users.
    pub(super) fn wait(&self) -> Option<Duration> {
        (!self.full.is_empty() || !self.open.is_empty()).then_some(RECOUNT)
    }

    /// Counts the users of a save that is on the disk.
    pub(super) fn note_saved(&mut self, now: Instant, store: &Store, held: &[(ids::Ticket, HeldChange)]) {
        let inserted = held.iter().filter_map(|(_, change)| match change {
            HeldChange::Insert(row) => Some(row.owner),
            HeldChange::InsertItem(transfer) => Some(transfer.origin.owner),
            HeldChange::ReturnItem { owner, .. } => Some(*owner),
            HeldChange::PutOn(arrival) => Some(arrival.origin.owner),
            HeldChange::PutDown { .. }
            | HeldChange::Worn(_)
            | HeldChange::UndoPutOn { .. }
            | HeldChange::WearAgain(..)
            | HeldChange::Remove(_)
            | HeldChange::RemoveItem { .. }
            | HeldChange::Release(_)
            | HeldChange::Undo { .. }
            | HeldChange::UndoItem(_) => None,
        });
        self.open.extend(inserted);
        if !held.is_empty() {
            self.open.extend(self.full.iter().copied());
        }
        self.count(store);
        self.recount(now, store);
    }

    /// Counts those that are full, if the last time is long ago.
    pub(super) fn recount(&mut self, now: Instant, store: &Store) {
        if now.since(self.recounted_at) >= RECOUNT {
            self.recounted_at = now;
            self.open.extend(self.full.iter().copied());
            self.count(store);
        }
    }

    fn is_full(&self, store: &Store, owner: AgentId) -> Result<bool, StoreError> {
        let is_full = store.count_held(owner)? >= u64::from(self.max);
        Ok(is_full || store.has_items(owner, store.inventory_limits().items_max)?)
    }

    fn count(&mut self, store: &Store) {
        for owner in std::mem::take(&mut self.open) {
            let is_full = match self.is_full(store, owner) {
                Ok(is_full) => is_full,
                Err(error) => {
                    tracing::warn!(owner = %owner.0, %error, "objects of a user could not be counted");
                    self.open.insert(owner);
                    continue;
                }
            };
            if is_full == self.full.contains(&owner) {
                continue;
            }
            if self.notices.try_send(FullNotice { owner, is_full }).is_err() {
                self.open.insert(owner);
            } else if is_full {
                self.full.insert(owner);
            } else {
                self.full.remove(&owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossbeam_channel::bounded;
    use ids::{Epoch, HeldKey, SessionKey, Ticket, Uuid, WorldId};
    use store::{HeldRow, RegionChanges, RegionRow};

    const REGION: WorldId = WorldId(1);

    fn changes(held: Vec<(Ticket, HeldChange)>) -> RegionChanges {
        let ticket = held.last().map_or(Ticket(0), |(ticket, _)| *ticket);
        let (cache_id, state, name) = (Uuid::nil(), Vec::new(), "Harbour".to_owned());
        let row = RegionRow { epoch: Epoch(0), sequence: 1, cache_id, state, name, ticket };
        RegionChanges { row, held, ..RegionChanges::default() }
    }

    #[test]
    fn worlds_hear_of_users_who_become_full_and_are_so_no_more() {
        let store = Store::open_in_memory().unwrap();
        let owner = AgentId(Uuid::from_u128(1));
        let (sender, notices) = bounded(1);
        let mut users = FullUsers::new(2, BTreeSet::new(), sender);
        let save = |users: &mut FullUsers, now_s: u64, ticket: u32| {
            let key = HeldKey { region: REGION, ticket: Ticket(ticket) };
            let row = HeldRow { key, owner, kind: 9, by: SessionKey::NODE, held_s: 0, value: vec![1].into() };
            let changes = changes(vec![(Ticket(ticket), HeldChange::Insert(row))]);
            store.save_region(REGION, &changes).unwrap();
            users.note_saved(Instant::from_millis(1_000 * now_s), &store, &changes.held);
            notices.try_iter().collect::<Vec<_>>()
        };
        assert_eq!((save(&mut users, 10, 1), users.wait()), (vec![], None));
        assert_eq!(save(&mut users, 10, 2), [FullNotice { owner, is_full: true }]);
        assert_eq!(save(&mut users, 10, 3), [], "it is known");
        assert_eq!(users.wait(), Some(RECOUNT));
        for ticket in [1, 2] {
            assert!(store.remove_held(HeldKey { region: REGION, ticket: Ticket(ticket) }).unwrap());
        }
        users.recount(Instant::from_millis(14_999), &store);
        assert_eq!(notices.try_recv().ok(), None, "not yet");
        users.recount(Instant::from_millis(15_000), &store);
        assert_eq!(notices.try_recv().ok(), Some(FullNotice { owner, is_full: false }));
        assert_eq!(users.wait(), None);
    }

    #[test]
    fn a_notice_without_room_is_given_later() {
        let store = Store::open_in_memory().unwrap();
        let (sender, notices) = bounded(1);
        let owners: BTreeSet<AgentId> = [1, 2].map(|n| AgentId(Uuid::from_u128(n))).into();
        let mut users = FullUsers::new(1, owners.clone(), sender);
        let mut told = BTreeSet::new();
        for now_s in [10, 20, 30] {
            users.recount(Instant::from_millis(1_000 * now_s), &store);
            told.extend(notices.try_iter().map(|notice| (notice.owner, notice.is_full)));
        }
        let expected: BTreeSet<(AgentId, bool)> = owners.into_iter().map(|owner| (owner, false)).collect();
        assert_eq!(told, expected);
        assert_eq!(users.wait(), None);
    }
}
