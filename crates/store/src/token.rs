//! Tokens of the operator's API, and which instances were made with which.
//!
//! What is kept of a token does not let anybody in: its secret is there as a hash. A name that is used again goes on with the
//! instances that were made under it, so that replacing a token gives nobody a second quota.

use crate::{Store, StoreError};
use ids::Uuid;
use rusqlite::{OptionalExtension, Row, params};

/// Bytes of a secret's hash.
pub const TOKEN_HASH_BYTES: usize = 32;

/// A token as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiToken {
    /// What it is called; unique.
    pub name: String,
    /// Of its secret.
    pub hash: [u8; TOKEN_HASH_BYTES],
    /// What it opens, as `grid` spells it.
    pub scopes: String,
    /// When it was made, in seconds since 1970.
    pub created_s: i64,
    /// From when on it opens nothing; none: until it is revoked.
    pub expires_s: Option<i64>,
    /// Instances that may be there at once of those made with it; none: as many as the server takes.
    pub worlds_max: Option<u32>,
}

const COLUMNS: &str = "name, hash, scopes, created_s, expires_s, worlds_max";

impl Store {
    /// Keeps a token, on the disk before it returns.
    ///
    /// # Errors
    /// [`StoreError::TokenTaken`] when there is one of this name, [`StoreError::Query`] otherwise.
    pub fn create_token(&self, token: &ApiToken) -> Result<(), StoreError> {
        let ApiToken { name, hash, scopes, created_s, expires_s, worlds_max } = token;
        self.lock()
            .prepare_cached(&format!("INSERT INTO api_tokens ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"))
            .and_then(|mut insert| {
                insert.execute(params![name, hash, scopes, created_s, expires_s, worlds_max])
            })
            .map_err(|source| match source.sqlite_error_code() {
                Some(rusqlite::ErrorCode::ConstraintViolation) => StoreError::TokenTaken(name.clone()),
                _ => StoreError::query("making the token", name)(source),
            })?;
        Ok(())
    }

    /// The token of this name.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn token(&self, name: &str) -> Result<Option<ApiToken>, StoreError> {
        self.lock()
            .prepare_cached(&format!("SELECT {COLUMNS} FROM api_tokens WHERE name = ?"))
            .and_then(|mut select| select.query_row([name], read).optional())
            .map_err(StoreError::query("reading the token", name))
    }

    /// All of them, by name.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn tokens(&self) -> Result<Vec<ApiToken>, StoreError> {
        let failed = || StoreError::query("listing", "tokens");
        let connection = self.lock();
        let mut select = connection
            .prepare_cached(&format!("SELECT {COLUMNS} FROM api_tokens ORDER BY name"))
            .map_err(failed())?;
        select.query_map([], read).and_then(Iterator::collect).map_err(failed())
    }

    /// Forgets a token. False when there was none of this name.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then it is still there.
    pub fn remove_token(&self, name: &str) -> Result<bool, StoreError> {
        self.lock()
            .prepare_cached("DELETE FROM api_tokens WHERE name = ?")
            .and_then(|mut delete| delete.execute([name]))
            .map(|n| n > 0)
            .map_err(StoreError::query("removing the token", name))
    }

    /// Remembers with which token an instance was made. The first one counts.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn note_world_of_token(&self, token: &str, instance: Uuid) -> Result<(), StoreError> {
        self.lock()
            .prepare_cached("INSERT OR IGNORE INTO api_worlds (instance, token) VALUES (?, ?)")
            .and_then(|mut insert| insert.execute(params![instance, token]))
            .map_err(StoreError::query("noting the instance", instance))?;
        Ok(())
    }

    /// The instances that were made with a token, and not yet forgotten: some of them may be gone.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn worlds_of_token(&self, token: &str) -> Result<Vec<Uuid>, StoreError> {
        let failed = || StoreError::query("listing instances of the token", token);
        let connection = self.lock();
        let mut select = connection
            .prepare_cached("SELECT instance FROM api_worlds WHERE token = ? ORDER BY instance")
            .map_err(failed())?;
        select.query_map([token], |row| row.get(0)).and_then(Iterator::collect).map_err(failed())
    }

    /// Forgets with which token these were made.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then none of them is forgotten.
    pub fn forget_worlds_of_tokens(&self, instances: &[Uuid]) -> Result<(), StoreError> {
        let failed = || StoreError::query("forgetting", "instances that are gone");
        let mut connection = self.lock();
        let transaction = connection.transaction().map_err(failed())?;
        for instance in instances {
            transaction
                .prepare_cached("DELETE FROM api_worlds WHERE instance = ?")
                .and_then(|mut delete| delete.execute([instance]))
                .map_err(failed())?;
        }
        transaction.commit().map_err(failed())
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<ApiToken> {
    Ok(ApiToken {
        name: row.get(0)?,
        hash: row.get(1)?,
        scopes: row.get(2)?,
        created_s: row.get(3)?,
        expires_s: row.get(4)?,
        worlds_max: row.get(5)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(name: &str) -> ApiToken {
        ApiToken {
            name: name.into(),
            hash: [7; TOKEN_HASH_BYTES],
            scopes: "worlds:write".into(),
            created_s: 1_000,
            expires_s: Some(2_000),
            worlds_max: None,
        }
    }

    #[test]
    fn tokens_are_kept_as_they_are_and_one_of_a_name() {
        let store = Store::open_in_memory().unwrap();
        let second = ApiToken { expires_s: None, worlds_max: Some(3), ..token("backend") };
        for one in [&token("page"), &second] {
            store.create_token(one).unwrap();
        }
        assert_eq!(store.token("page").unwrap(), Some(token("page")));
        assert_eq!(store.tokens().unwrap(), [second, token("page")]);
        let error = store.create_token(&token("page")).unwrap_err();
        assert_eq!(error.to_string(), "there is already a token named page");
        assert!(store.remove_token("page").unwrap() && !store.remove_token("page").unwrap());
        assert_eq!(store.token("page").unwrap(), None);
    }

    #[test]
    fn instances_stay_with_the_name_that_they_were_made_under() {
        let store = Store::open_in_memory().unwrap();
        let ids = [1, 2, 3].map(Uuid::from_u128);
        store.create_token(&token("backend")).unwrap();
        for id in ids {
            store.note_world_of_token("backend", id).unwrap();
        }
        // Asked for again with an id of the client's own, and by another one.
        store.note_world_of_token("other", ids[0]).unwrap();
        store.remove_token("backend").unwrap();
        assert_eq!(store.worlds_of_token("backend").unwrap(), ids);
        store.forget_worlds_of_tokens(&ids[..2]).unwrap();
        assert_eq!(store.worlds_of_token("backend").unwrap(), [ids[2]]);
        assert!(store.worlds_of_token("other").unwrap().is_empty());
    }
}
