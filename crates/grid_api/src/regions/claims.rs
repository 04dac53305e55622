//! One order at a time for a held object: the mark in the store does not say which order has set it.

use ids::HeldKey;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Held objects with an order that has no outcome. This server is the only one that sets marks in its database.
#[derive(Clone, Debug, Default)]
pub struct RestoreClaims(Arc<Mutex<BTreeSet<HeldKey>>>);

impl RestoreClaims {
    /// The claim of an order; `None` while another order has it.
    pub(super) fn claim(&self, key: HeldKey) -> Option<RestoreClaim> {
        lock(&self.0).insert(key).then(|| RestoreClaim { key, all: Arc::clone(&self.0) })
    }
}

/// The claim of one order, until this is dropped. A mark that the object gets meanwhile is this order's own.
#[derive(Debug)]
pub(super) struct RestoreClaim {
    key: HeldKey,
    all: Arc<Mutex<BTreeSet<HeldKey>>>,
}

impl RestoreClaim {
    /// Key of the object.
    pub(super) const fn key(&self) -> HeldKey {
        self.key
    }
}

impl Drop for RestoreClaim {
    fn drop(&mut self) {
        lock(&self.all).remove(&self.key);
    }
}

fn lock(keys: &Mutex<BTreeSet<HeldKey>>) -> MutexGuard<'_, BTreeSet<HeldKey>> {
    keys.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::{Ticket, WorldId};

    #[test]
    fn an_object_has_one_order_until_its_outcome_is_known() {
        let claims = RestoreClaims::default();
        let key = |ticket| HeldKey { region: WorldId(1), ticket: Ticket(ticket) };
        let first = claims.claim(key(1)).expect("no other order");
        assert_eq!(first.key(), key(1));
        assert!(claims.clone().claim(key(1)).is_none(), "the first order may have marked it");
        assert!(claims.claim(key(2)).is_some());
        drop(first);
        assert!(claims.claim(key(1)).is_some());
    }
}
