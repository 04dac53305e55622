//! Memory of uploads under way, shared among users by a dynamic threshold.
//!
//! Further bytes of an upload are taken while its user holds no more than is left of the whole. One user alone can hold half of it, and `n` users that hold as much
//! as they can leave 1/(n + 1) of it to others: uploads that stall take nothing from a user that holds less.

use ids::AgentId;
use std::collections::BTreeMap;

/// Bytes of uploads by user.
#[derive(Debug)]
pub struct UploadRoom {
    bytes_max: usize,
    held: usize,
    by_agent: BTreeMap<AgentId, usize>,
}

impl UploadRoom {
    /// Room for this number of bytes.
    #[must_use]
    pub const fn new(bytes_max: usize) -> Self {
        Self { bytes_max, held: 0, by_agent: BTreeMap::new() }
    }

    /// Takes room for further bytes of a user's uploads. False if the user would hold more than is left; then nothing is taken.
    #[must_use]
    pub fn take(&mut self, agent: AgentId, bytes: usize) -> bool {
        if bytes == 0 {
            return true;
        }
        let own = self.by_agent.get(&agent).copied().unwrap_or(0).saturating_add(bytes);
        let held = self.held.saturating_add(bytes);
        if own > self.bytes_max.saturating_sub(held) {
            return false;
        }
        self.held = held;
        self.by_agent.insert(agent, own);
        true
    }

    /// Gives room back that was taken for a user.
    ///
    /// # Panics
    /// If the user holds less.
    pub fn release(&mut self, agent: AgentId, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let own = self.by_agent.get_mut(&agent).expect("a user that gives room back has taken it");
        *own = own.checked_sub(bytes).expect("a user gives back no more than it has taken");
        if *own == 0 {
            self.by_agent.remove(&agent);
        }
        self.held -= bytes;
    }

    /// Bytes held now.
    #[must_use]
    pub const fn held(&self) -> usize {
        self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::Uuid;
    use proptest::prelude::*;

    fn user(n: u128) -> AgentId {
        AgentId(Uuid::from_u128(n))
    }

    #[test]
    fn one_user_holds_half_and_leaves_a_share_to_others() {
        let mut room = UploadRoom::new(120);
        assert!(room.take(user(1), 60) && !room.take(user(1), 1));
        assert!(room.take(user(2), 30) && !room.take(user(2), 1));
        assert!(room.take(user(3), 15) && !room.take(user(3), 1));
        room.release(user(1), 60);
        assert!(room.take(user(3), 15), "what is given back is there for all");
        assert_eq!(room.held(), 60);
    }

    #[test]
    fn an_upload_beyond_all_room_takes_nothing() {
        let mut room = UploadRoom::new(10);
        assert!(!room.take(user(1), usize::MAX) && !room.take(user(1), 6));
        assert!(room.take(user(1), 0) && room.take(user(1), 5));
        room.release(user(1), 5);
        assert_eq!((room.held(), room.by_agent.len()), (0, 0));
    }

    proptest! {
        #[test]
        fn the_sum_is_bounded_and_nothing_is_lost(acts in prop::collection::vec((0_u128..4, 0_usize..50, any::<bool>()), 0..200)) {
            let mut room = UploadRoom::new(100);
            let mut taken: Vec<(AgentId, usize)> = Vec::new();
            for (n, bytes, gives_back) in acts {
                if gives_back && let Some((agent, bytes)) = taken.pop() {
                    room.release(agent, bytes);
                } else if room.take(user(n), bytes) {
                    taken.push((user(n), bytes));
                }
                prop_assert_eq!(room.held(), taken.iter().map(|(_, bytes)| bytes).sum::<usize>());
                prop_assert!(room.held() <= 100);
            }
            for (agent, bytes) in taken {
                room.release(agent, bytes);
            }
            prop_assert_eq!((room.held(), room.by_agent.len()), (0, 0));
        }
    }
}
