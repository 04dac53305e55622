//! Tokens of the operator's API, and the instances made with each.
//!
//! A stored token opens nothing: its secret is kept as a hash. A reused name inherits the instances made under it, so that replacing a
//! token creates no second quota. A row that does not match its checksum opens nothing, and is left out of lists.

use crate::engine::{Row, Sql, values};
use crate::seals;
use crate::{Store, StoreError};
use ids::Uuid;

/// Bytes of a secret's hash.
pub const TOKEN_HASH_BYTES: usize = 32;

/// A token as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiToken {
    /// Name; unique.
    pub name: String,
    /// Hash of its secret.
    pub hash: [u8; TOKEN_HASH_BYTES],
    /// Scopes, as `grid` spells them.
    pub scopes: String,
    /// Creation time, seconds since 1970.
    pub created_s: i64,
    /// End of its validity; `None`: until it is revoked.
    pub expires_s: Option<i64>,
    /// Existing instances made with it at most; `None`: unlimited.
    pub worlds_max: Option<u32>,
}

const INSERT: Sql = Sql::same(
    "INSERT INTO api_tokens (name, hash, scopes, created_s, expires_s, worlds_max, checksum) \
     VALUES ($1, $2, $3, $4, $5, $6, $7)",
);
const BY_NAME: Sql = Sql::same(
    "SELECT name, hash, scopes, created_s, expires_s, worlds_max, checksum FROM api_tokens WHERE name = $1",
);
const ALL: Sql = Sql::same(
    "SELECT name, hash, scopes, created_s, expires_s, worlds_max, checksum FROM api_tokens ORDER BY name",
);
const REMOVE: Sql = Sql::same("DELETE FROM api_tokens WHERE name = $1");
const NOTE_WORLD: Sql = Sql::same(
    "INSERT INTO api_worlds (instance, token, checksum) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
);
const WORLDS: Sql =
    Sql::same("SELECT instance, token, checksum FROM api_worlds WHERE token = $1 ORDER BY instance");
const FORGET_WORLD: Sql = Sql::same("DELETE FROM api_worlds WHERE instance = $1");

impl Store {
    /// Keeps a token, on the disk before it returns.
    ///
    /// # Errors
    /// [`StoreError::TokenTaken`] when there is one of this name, [`StoreError::Query`] otherwise.
    pub fn create_token(&self, token: &ApiToken) -> Result<(), StoreError> {
        let ApiToken { name, hash, scopes, created_s, expires_s, worlds_max } = token;
        let sum = checksum(token);
        let made = self.write(|session| {
            session.execute(INSERT, values![name, hash, scopes, created_s, expires_s, worlds_max, sum])
        });
        made.map(drop).map_err(|source| match source.conflict() {
            Some(_) => StoreError::TokenTaken(name.clone()),
            None => StoreError::query("making the token", name)(source),
        })
    }

    /// The token of this name.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`], [`StoreError::Query`].
    pub fn token(&self, name: &str) -> Result<Option<ApiToken>, StoreError> {
        let found = self.read(|session| session.query_row(BY_NAME, values![name], |row| Ok(read(&row))));
        let found = found.map_err(StoreError::query("reading the token", name))?;
        found.map(|token| token.ok_or_else(|| StoreError::damaged_row("api_tokens", name))).transpose()
    }

    /// All of them but the damaged ones, by name.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn tokens(&self) -> Result<Vec<ApiToken>, StoreError> {
        let found = self.read(|session| session.query(ALL, &[], |row| Ok(read(&row))));
        let found = found.map_err(StoreError::query("listing", "tokens"))?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Forgets a token. False when there was none of this name.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then it is still there.
    pub fn remove_token(&self, name: &str) -> Result<bool, StoreError> {
        self.write(|session| session.execute(REMOVE, values![name]))
            .map(|n| n > 0)
            .map_err(StoreError::query("removing the token", name))
    }

    /// Remembers with which token an instance was made. The first one counts.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn note_world_of_token(&self, token: &str, instance: Uuid) -> Result<(), StoreError> {
        let sum = world_checksum(instance, token);
        self.write(|session| session.execute(NOTE_WORLD, values![instance, token, sum]))
            .map(drop)
            .map_err(StoreError::query("noting the instance", instance))
    }

    /// The instances that were made with a token, and not yet forgotten: some of them may be gone. Damaged rows are left out.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn worlds_of_token(&self, token: &str) -> Result<Vec<Uuid>, StoreError> {
        let found = self.read(|session| {
            session.query(WORLDS, values![token], |row| {
                let (instance, of, sum) = (row.get(0)?, row.get::<String>(1)?, row.get::<i64>(2)?);
                Ok((sum == world_checksum(instance, &of)).then_some(instance))
            })
        });
        let found = found.map_err(StoreError::query("listing instances of the token", token))?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Forgets with which token these were made.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then none of them is forgotten.
    pub fn forget_worlds_of_tokens(&self, instances: &[Uuid]) -> Result<(), StoreError> {
        let forgotten = self.write(|session| {
            let mut all = instances.iter();
            all.try_for_each(|instance| session.execute(FORGET_WORLD, values![instance]).map(drop))
        });
        forgotten.map_err(StoreError::query("forgetting", "instances that are gone"))
    }
}

/// A token; none if it is damaged.
fn read(row: &Row<'_>) -> Option<ApiToken> {
    let token = ApiToken {
        name: row.get(0).ok()?,
        hash: row.get(1).ok()?,
        scopes: row.get(2).ok()?,
        created_s: row.get(3).ok()?,
        expires_s: row.get(4).ok()?,
        worlds_max: row.get(5).ok()?,
    };
    (row.get(6).ok() == Some(checksum(&token))).then_some(token)
}

fn checksum(token: &ApiToken) -> i64 {
    let ApiToken { name, hash, scopes, created_s, expires_s, worlds_max } = token;
    seals::TOKEN.of(values![name, hash, scopes, created_s, expires_s, worlds_max])
}

/// Of the row of an instance that was made with a token.
pub(crate) fn world_checksum(instance: Uuid, token: &str) -> i64 {
    seals::TOKEN_WORLD.of(values![instance, token])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestDatabase, on_both_engines, tamper};

    on_both_engines! {
        tokens_are_kept_as_they_are_and_one_of_a_name,
        a_damaged_token_opens_nothing,
        instances_stay_with_the_name_that_they_were_made_under,
    }

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

    fn tokens_are_kept_as_they_are_and_one_of_a_name(database: &TestDatabase) {
        let store = database.open();
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

    fn a_damaged_token_opens_nothing(database: &TestDatabase) {
        let store = database.open();
        store.create_token(&token("page")).unwrap();
        store.create_token(&token("backend")).unwrap();
        tamper(&store, Sql::same("UPDATE api_tokens SET expires_s = NULL WHERE name = 'page'"), &[]);
        let error = store.token("page").unwrap_err();
        assert!(matches!(error, StoreError::DamagedRow { table: "api_tokens", .. }), "{error}");
        assert_eq!(store.tokens().unwrap(), [token("backend")]);
        assert!(store.remove_token("page").unwrap());
    }

    fn instances_stay_with_the_name_that_they_were_made_under(database: &TestDatabase) {
        let store = database.open();
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
