//! Linksets that wait to be woken.

use ids::LocalId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};

/// Waiting linksets in the order of their requests, each once. Bounded: a full queue refuses, and the linkset stays asleep until the next hit or edit.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct WakeQueue {
    order: VecDeque<LocalId>,
    waiting: BTreeSet<LocalId>,
}

impl WakeQueue {
    /// Adds a linkset; false if there are `max` already.
    pub(super) fn push(&mut self, root: LocalId, max: usize) -> bool {
        if self.waiting.contains(&root) {
            return true;
        }
        if self.order.len() >= max {
            return false;
        }
        self.waiting.insert(root);
        self.order.push_back(root);
        true
    }

    /// Takes the linkset that has waited longest.
    pub(super) fn pop(&mut self) -> Option<LocalId> {
        let root = self.order.pop_front()?;
        self.waiting.remove(&root);
        Some(root)
    }

    /// The waiting linksets in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = LocalId> {
        self.order.iter().copied()
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// False for a state that no run leads to.
    pub(super) fn is_sound(&self) -> bool {
        self.order.len() == self.waiting.len() && self.order.iter().all(|root| self.waiting.contains(root))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linksets_are_woken_once_in_the_order_of_their_requests() {
        let mut queue = WakeQueue::default();
        let requests = [5, 3, 5, 9].map(|id| queue.push(LocalId(id), 3));
        assert_eq!((requests, queue.len()), ([true; 4], 3));
        assert!(!queue.push(LocalId(1), 3) && queue.push(LocalId(9), 3), "one that waits is not refused");
        assert_eq!([queue.pop(), queue.pop(), queue.pop()], [5, 3, 9].map(|id| Some(LocalId(id))));
        assert!(queue.is_empty() && queue.pop().is_none() && queue.is_sound());
    }
}
