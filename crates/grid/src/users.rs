//! Operator's commands about accounts: add, list, ban, and new passwords. The CLI calls this, also beside a running server, which sees
//! every change at the user's next login.

use crate::inventory::skeleton;
use crate::names::{Name, NameError};
use crate::password::{Cost, Hasher, PasswordDigest, PasswordError};
use crate::random_id;
use ids::AgentId;
use store::{Account, NewAccount, PasswordHash, Store, StoreError};

/// Failure of a command about accounts.
#[derive(Debug, thiserror::Error)]
pub enum UserError {
    /// No account can have this name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// No account may have this password.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// No account has this name.
    #[error("there is no account named {0} {1}")]
    Unknown(String, String),
    /// A ban says why, in a line that its user will read.
    #[error("give a reason for the ban in one line of 1 to {} characters", Users::REASON_MAX)]
    Reason,
    /// The database refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system gave no random bytes.
    #[error("the system has no random numbers: {0}")]
    Random(#[from] getrandom::Error),
}

/// The operator's view of the accounts.
#[derive(Debug)]
pub struct Users<'a> {
    store: &'a Store,
    hasher: Hasher,
}

impl<'a> Users<'a> {
    /// Longest reason of a ban, in characters.
    pub const REASON_MAX: usize = 200;

    /// Works on this store; passwords are hashed at this cost, on the caller's thread.
    #[must_use]
    pub const fn new(store: &'a Store, cost: Cost) -> Self {
        Self { store, hasher: Hasher::new(cost) }
    }

    /// Makes an account. The operator may use reserved names.
    ///
    /// # Errors
    /// [`UserError`]: a bad or taken name, a bad password, or the database.
    pub fn add(
        &mut self,
        first: &str,
        last: &str,
        password: &str,
        unix_s: i64,
    ) -> Result<AgentId, UserError> {
        let name = Name::parse(first, last)?;
        let hash = self.hash(password)?;
        let new = new_account(&name, hash, unix_s)?;
        self.store.create_account(&new)?;
        Ok(new.agent)
    }

    /// Gives an account another password.
    ///
    /// # Errors
    /// [`UserError`].
    pub fn set_password(&mut self, first: &str, last: &str, password: &str) -> Result<AgentId, UserError> {
        let account = self.find(first, last)?;
        let hash = self.hash(password)?;
        self.store.set_password_hash(account.agent, &hash)?;
        Ok(account.agent)
    }

    /// Bans an account from logging in. A running session lasts until the gateway ends it.
    ///
    /// # Errors
    /// [`UserError`].
    pub fn ban(&self, first: &str, last: &str, reason: &str) -> Result<AgentId, UserError> {
        let length = reason.chars().count();
        if length == 0 || length > Self::REASON_MAX || reason.chars().any(char::is_control) {
            return Err(UserError::Reason);
        }
        let account = self.find(first, last)?;
        self.store.set_ban(account.agent, Some(reason))?;
        Ok(account.agent)
    }

    /// Lifts a ban.
    ///
    /// # Errors
    /// [`UserError`].
    pub fn unban(&self, first: &str, last: &str) -> Result<AgentId, UserError> {
        let account = self.find(first, last)?;
        self.store.set_ban(account.agent, None)?;
        Ok(account.agent)
    }

    /// A page of up to `max` accounts in order of their names, beginning behind the name `after`.
    ///
    /// # Errors
    /// [`UserError::Store`].
    pub fn list(&self, after: Option<(&str, &str)>, max: u32) -> Result<Vec<Account>, UserError> {
        Ok(self.store.accounts(after, max)?)
    }

    fn find(&self, first: &str, last: &str) -> Result<Account, UserError> {
        let Name { first, last } = Name::parse(first, last)?;
        self.store.account_by_name(&first, &last)?.ok_or(UserError::Unknown(first, last))
    }

    fn hash(&mut self, password: &str) -> Result<PasswordHash, UserError> {
        let digest = PasswordDigest::of_password(password)?;
        let mut salt = [0; 16];
        getrandom::fill(&mut salt)?;
        Ok(self.hasher.hash(&digest, salt))
    }
}

/// An account with the inventory that every account begins with.
pub(crate) fn new_account(
    name: &Name,
    hash: PasswordHash,
    unix_s: i64,
) -> Result<NewAccount, getrandom::Error> {
    let agent = AgentId(random_id()?);
    let inventory = skeleton(agent, unix_s, random_id)?;
    Ok(NewAccount {
        agent,
        first: name.first.clone(),
        last: name.last.clone(),
        password_hash: hash,
        created_s: unix_s,
        folders: inventory.folders,
        items: inventory.items,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHEAP: Cost = Cost { memory_kib: 64, passes: 1 };

    #[test]
    fn an_added_user_can_be_found_banned_and_freed() {
        let store = Store::open_in_memory().unwrap();
        let mut users = Users::new(&store, CHEAP);
        let ada = users.add("Ada", "Lovelace", "secret", 7).unwrap();
        let account = || store.account(ada).unwrap().unwrap();
        assert_eq!((account().created_s, account().ban_reason), (7, None));
        assert_eq!(users.ban("ada", "lovelace", "spam").unwrap(), ada);
        assert_eq!(account().ban_reason.as_deref(), Some("spam"));
        users.unban("ADA", "LOVELACE").unwrap();
        assert_eq!(account().ban_reason, None);
        assert_eq!(users.list(None, 10).unwrap().len(), 1);
    }

    #[test]
    fn a_new_password_replaces_the_old_one() {
        let store = Store::open_in_memory().unwrap();
        let mut users = Users::new(&store, CHEAP);
        let ada = users.add("Ada", "", "old", 0).unwrap();
        users.set_password("Ada", "Resident", "new").unwrap();
        let stored = store.account(ada).unwrap().unwrap().password_hash;
        let mut verify =
            |password| users.hasher.verify(&PasswordDigest::of_password(password).unwrap(), &stored).unwrap();
        assert!(verify("new") && !verify("old"));
    }

    #[test]
    fn refusals_are_sentences_for_the_operator() {
        let store = Store::open_in_memory().unwrap();
        let mut users = Users::new(&store, CHEAP);
        users.add("Ada", "Lovelace", "secret", 0).unwrap();
        let said = |result: Result<AgentId, UserError>| result.unwrap_err().to_string();
        assert_eq!(
            said(Users::new(&store, CHEAP).add("ada", "LOVELACE", "x", 0)),
            "there is already an account named ada LOVELACE"
        );
        assert_eq!(said(users.ban("Grace", "", "spam")), "there is no account named Grace Resident");
        assert_eq!(
            said(users.ban("Ada", "Lovelace", "")),
            "give a reason for the ban in one line of 1 to 200 characters"
        );
        assert_eq!(
            said(users.set_password("Ada", "Lovelace", "a very long password")),
            "a password has 1 to 16 characters, since clients ignore what comes after"
        );
        assert_eq!(
            said(users.add("A/B", "Lovelace", "x", 0)),
            "names are made of letters and digits of one script, and of _ - '"
        );
        assert_eq!(
            said(users.add("сосо", "Lovelace", "x", 0)),
            "this name looks like another one: write it in the letters of one script"
        );
    }

    #[test]
    fn a_new_account_has_its_inventory_from_the_start() {
        let store = Store::open_in_memory().unwrap();
        let ada = Users::new(&store, CHEAP).add("Ada", "Lovelace", "secret", 0).unwrap();
        assert!(store.folders(ada).unwrap().iter().any(|folder| folder.type_default == 46));
    }
}
