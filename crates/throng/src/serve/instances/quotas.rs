//! How many instances a program may have at once that makes them over the API: as many as its token says.
//!
//! With which token an instance was made is kept in the store, so that a start of the server gives nobody a second quota. Who asks for
//! room is counted anew: an instance that has ended, in whatever way, counts no more.

use grid::tokens::Caller;
use ids::Uuid;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::{Store, StoreError};
use thiserror::Error;

pub(in crate::serve) struct Quotas {
    store: Arc<Store>,
    /// By token, instances that are being made.
    making: Mutex<BTreeMap<String, u32>>,
}

/// Why nobody gets room.
#[derive(Debug, Error)]
pub(in crate::serve) enum QuotaRefusal {
    #[error(
        "There are {max} instances made with the token {token:?}, and no more are allowed at once (`--max-worlds`)."
    )]
    Full { token: String, max: u32 },
    #[error("What was made with which token cannot be looked up or written just now.")]
    Store(#[from] StoreError),
}

/// Room for one instance, given back when this is dropped.
#[must_use]
pub(super) struct Room<'a> {
    quotas: &'a Quotas,
    /// None: the operator's own, who needs none.
    token: Option<String>,
}

impl Quotas {
    pub(in crate::serve) fn new(store: &Arc<Store>) -> Self {
        Self { store: Arc::clone(store), making: Mutex::default() }
    }

    /// Room for one more. `is_there` tells of an instance whether it still is.
    pub(super) fn room_for(
        &self,
        caller: &Caller,
        is_there: impl Fn(Uuid) -> bool,
    ) -> Result<Room<'_>, QuotaRefusal> {
        if caller.is_operator() {
            return Ok(Room { quotas: self, token: None });
        }
        let token = caller.name.clone();
        let mut making = self.making();
        let n_making = making.get(&token).copied().unwrap_or(0);
        // Also without a quota, or what is kept of instances that have ended would grow for ever.
        let made = self.store.worlds_of_token(&token)?;
        let (there, gone): (Vec<Uuid>, Vec<Uuid>) = made.into_iter().partition(|&id| is_there(id));
        if !gone.is_empty() {
            self.store.forget_worlds_of_tokens(&gone)?;
        }
        if let Some(max) = caller.worlds_max
            && there.len() as u64 + u64::from(n_making) >= u64::from(max)
        {
            return Err(QuotaRefusal::Full { token, max });
        }
        making.insert(token.clone(), n_making + 1);
        drop(making);
        Ok(Room { quotas: self, token: Some(token) })
    }

    fn making(&self) -> MutexGuard<'_, BTreeMap<String, u32>> {
        self.making.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room<'_> {
    /// This instance takes it, on the disk before this returns.
    pub(super) fn take(mut self, instance: Uuid) -> Result<(), QuotaRefusal> {
        let Some(token) = self.token.take() else { return Ok(()) };
        // Whoever counts meanwhile would count it twice.
        let mut making = self.quotas.making();
        give_back(&mut making, &token);
        Ok(self.quotas.store.note_world_of_token(&token, instance)?)
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        if let Some(token) = self.token.take() {
            give_back(&mut self.quotas.making(), &token);
        }
    }
}

fn give_back(making: &mut BTreeMap<String, u32>, token: &str) {
    if let Some(n) = making.get_mut(token) {
        *n -= 1;
        if *n == 0 {
            making.remove(token);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use grid::tokens::{NewToken, Scope, Tokens};

    fn caller(store: &Store, name: &str, worlds_max: Option<u32>) -> Caller {
        let scopes = [Scope::WorldsWrite].into();
        let new = NewToken { name: name.into(), scopes, lifetime_s: None, worlds_max };
        let tokens = Tokens::new(store);
        tokens.caller(&tokens.create(&new, 0).unwrap(), 0).unwrap()
    }

    fn is_full(quotas: &Quotas, caller: &Caller, is_there: impl Fn(Uuid) -> bool) -> bool {
        matches!(quotas.room_for(caller, is_there), Err(QuotaRefusal::Full { max: 2, .. }))
    }

    #[test]
    fn what_is_there_and_what_is_being_made_count_against_the_token_that_made_it() {
        let store = Arc::new(Store::open_in_memory().unwrap());
        let quotas = Quotas::new(&store);
        let (two, other) = (caller(&store, "two", Some(2)), caller(&store, "other", Some(2)));
        let all = |_| true;
        quotas.room_for(&two, all).unwrap().take(Uuid::from_u128(1)).unwrap();
        let making = quotas.room_for(&two, all).unwrap();
        assert!(is_full(&quotas, &two, all));
        let _room = quotas.room_for(&other, all).unwrap();
        // Nothing came of it.
        drop(making);
        quotas.room_for(&two, all).unwrap().take(Uuid::from_u128(2)).unwrap();
        assert!(is_full(&quotas, &two, all));
        // As after a start of the server.
        let again = Quotas::new(&store);
        assert!(is_full(&again, &two, all));
        // One has ended.
        again.room_for(&two, |id| id != Uuid::from_u128(1)).unwrap().take(Uuid::from_u128(3)).unwrap();
        assert_eq!(store.worlds_of_token("two").unwrap(), [2, 3].map(Uuid::from_u128));
    }

    #[test]
    fn without_a_quota_there_is_always_room() {
        let store = Arc::new(Store::open_in_memory().unwrap());
        let quotas = Quotas::new(&store);
        let free = caller(&store, "free", None);
        for caller in [&Caller::operator(), &free] {
            for n in 0..10 {
                quotas.room_for(caller, |_| true).unwrap().take(Uuid::from_u128(n)).unwrap();
            }
        }
        assert!(quotas.making().is_empty());
        // Should it be replaced by one with a quota, they count.
        assert_eq!(store.worlds_of_token("free").unwrap().len(), 10);
        assert!(store.worlds_of_token("admin.token").unwrap().is_empty());
        // What has ended is forgotten with the next one.
        drop(quotas.room_for(&free, |id| id.as_u128() > 7).unwrap());
        assert_eq!(store.worlds_of_token("free").unwrap(), [8, 9].map(Uuid::from_u128));
    }
}
