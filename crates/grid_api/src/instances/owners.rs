//! Names of the accounts that own instances and objects, for the API's answers. It does not decide about ownership.

use ids::AgentId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use store::Store;
use workplace::opaque_debug;

/// Names that are kept. When full, all are forgotten and looked up again.
const NAMES_MAX: usize = 10_000;
/// Names that are looked up in the store for one answer, about 20 µs each; later answers have the others.
const LOOKUPS_MAX: usize = 1_000;

/// Looks names up in the store and keeps them: an account's name never changes.
pub struct Owners {
    store: Arc<Store>,
    names: Mutex<BTreeMap<AgentId, Arc<str>>>,
}

opaque_debug!(Owners);

impl Owners {
    /// Of the accounts of this store.
    pub fn new(store: &Arc<Store>) -> Self {
        Self { store: Arc::clone(store), names: Mutex::default() }
    }

    /// The names of these accounts. An account that does not exist, or cannot be read just now, has none.
    pub fn names(&self, owners: impl Iterator<Item = AgentId>) -> BTreeMap<AgentId, Arc<str>> {
        let mut found = BTreeMap::new();
        let mut n_lookups = 0;
        for owner in owners {
            if found.contains_key(&owner) {
                continue;
            }
            let mut name = self.kept(owner);
            if name.is_none() && n_lookups < LOOKUPS_MAX {
                n_lookups += 1;
                name = self.look_up(owner);
            }
            if let Some(name) = name {
                found.insert(owner, name);
            }
        }
        found
    }

    fn kept(&self, owner: AgentId) -> Option<Arc<str>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).get(&owner).cloned()
    }

    /// Without the lock: the store may wait for the disk.
    fn look_up(&self, owner: AgentId) -> Option<Arc<str>> {
        let account = match self.store.account(owner) {
            Ok(account) => account?,
            Err(error) => {
                tracing::warn!(owner = %owner.0, error = &error as &dyn std::error::Error, "the name of an owner was not looked up");
                return None;
            }
        };
        let name: Arc<str> = format!("{} {}", account.first, account.last).into();
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if names.len() >= NAMES_MAX {
            names.clear();
        }
        names.insert(owner, Arc::clone(&name));
        Some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::Uuid;
    use store::{NewAccount, PasswordHash};

    #[test]
    fn owners_have_the_names_of_their_accounts_and_strangers_none() {
        let store = Arc::new(Store::open_in_memory().expect("a store"));
        let (ada, stranger) = (AgentId(Uuid::from_u128(1)), AgentId(Uuid::from_u128(2)));
        let account = NewAccount {
            agent: ada,
            first: "Ada".into(),
            last: "Lovelace".into(),
            password_hash: PasswordHash("none".into()),
            created_s: 0,
            folders: Vec::new(),
            items: Vec::new(),
        };
        let owners = Owners::new(&store);
        assert_eq!(owners.names([ada].into_iter()), BTreeMap::new());
        store.create_account(&account).expect("a new account");
        let expected = BTreeMap::from([(ada, Arc::from("Ada Lovelace"))]);
        for _ in 0..2 {
            assert_eq!(owners.names([ada, stranger, ada].into_iter()), expected);
        }
        assert_eq!(owners.kept(ada).as_deref(), Some("Ada Lovelace"));
        assert_eq!(owners.kept(stranger), None, "it may get an account yet");
    }
}
