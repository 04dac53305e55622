//! The identity of a database: a random id that it gets with its first use and keeps for ever, also in copies.
//!
//! Ids of rows that a repeated save must not make twice follow from it, so that those of two databases differ. A damaged one serves as well, since it is random: its
//! checksum is for checks, and keeps no region from being saved.

use crate::engine::{EngineError, Session, Sql, values};
use crate::seals;
use crate::{Store, StoreError};
use uuid::Uuid;

/// Number of the only row.
const ONLY: u32 = 1;
const READ: Sql = Sql::same("SELECT id FROM database_identity WHERE number = $1");
const RANDOM: Sql = Sql { sqlite: "SELECT randomblob(16)", postgres: "SELECT uuid_send(gen_random_uuid())" };
const MAKE: Sql = Sql::same(
    "INSERT INTO database_identity (number, id, checksum) VALUES ($1, $2, $3) ON CONFLICT (number) DO NOTHING",
);

impl Store {
    /// The identity of the database.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn identity(&self) -> Result<Uuid, StoreError> {
        self.write(identity).map_err(StoreError::query("reading", "the identity of the database"))
    }
}

/// The identity, which the database gets now if it has none, within a transaction that writes.
pub(crate) fn identity(session: &mut Session<'_>) -> Result<Uuid, EngineError> {
    if let Some(known) = read(session)? {
        return Ok(known);
    }
    let failed = || EngineError::unfit("the identity of the database");
    let id: Uuid = session.query_row(RANDOM, &[], |row| row.get(0))?.ok_or_else(failed)?;
    session.execute(MAKE, values![ONLY, id, seals::IDENTITY.of(values![ONLY, id])])?;
    read(session)?.ok_or_else(failed)
}

fn read(session: &mut Session<'_>) -> Result<Option<Uuid>, EngineError> {
    session.query_row(READ, values![ONLY], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use crate::testing::{TestDatabase, on_both_engines};

    on_both_engines! {
        a_database_keeps_its_identity,
    }

    fn a_database_keeps_its_identity(database: &TestDatabase) {
        let store = database.open();
        let identity = store.identity().unwrap();
        assert!(!identity.is_nil());
        assert_eq!([store.identity().unwrap(), database.open().identity().unwrap()], [identity; 2]);
        assert_ne!(TestDatabase::sqlite().open().identity().unwrap(), identity);
    }
}
