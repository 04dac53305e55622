//! Numbers that are given out once on a grid, by a row that rises with each.
//!
//! A transaction reads the row before it writes it, since its checksum covers the number.

use crate::engine::{EngineError, Row, Session, Sql, values};
use crate::seals;
use crate::{Store, StoreError};
use ids::Incarnation;

/// Row of the lives of gateways.
const GATEWAY: &str = "gateway";

/// Makes a counter that is not there, so that writers of one database wait for each other at its row.
const MAKE: Sql = Sql::same(
    "INSERT INTO counters (name, value, checksum) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING",
);
const LOCK: Sql = Sql {
    sqlite: "SELECT value, checksum FROM counters WHERE name = $1",
    postgres: "SELECT value, checksum FROM counters WHERE name = $1 FOR UPDATE",
};
const READ: Sql = Sql::same("SELECT value, checksum FROM counters WHERE name = $1");
const SET: Sql = Sql::same("UPDATE counters SET value = $1, checksum = $2 WHERE name = $3");

/// The value of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CounterValue {
    Whole(i64),
    Damaged,
}

/// The value of a counter, 0 for a new one. No other transaction changes it meanwhile.
pub(crate) fn lock(session: &mut Session<'_>, name: &'static str) -> Result<CounterValue, EngineError> {
    session.execute(MAKE, values![name, 0_u32, checksum(name, 0)])?;
    let found = session.query_row(LOCK, values![name], |row| Ok(value(name, &row)))?;
    Ok(found.unwrap_or(CounterValue::Damaged))
}

/// Gives a counter that exists another value.
pub(crate) fn set(session: &mut Session<'_>, name: &'static str, value: i64) -> Result<(), EngineError> {
    session.execute(SET, values![value, checksum(name, value), name]).map(drop)
}

/// The value of a counter; none if there is no such row.
pub(crate) fn read(
    session: &mut Session<'_>,
    name: &'static str,
) -> Result<Option<CounterValue>, EngineError> {
    session.query_row(READ, values![name], |row| Ok(value(name, &row)))
}

fn value(name: &str, row: &Row<'_>) -> CounterValue {
    match (row.get::<i64>(0), row.get::<i64>(1)) {
        (Ok(value), Ok(sum)) if sum == checksum(name, value) => CounterValue::Whole(value),
        _ => CounterValue::Damaged,
    }
}

fn checksum(name: &str, value: i64) -> i64 {
    seals::COUNTER.of(values![name, value])
}

impl Store {
    /// Begins another life of a gateway; its number is on the disk before this returns, and given to no other life. One that a crash or an
    /// unclear commit loses is skipped.
    ///
    /// # Errors
    /// [`StoreError::IncarnationsExhausted`] after 65,535 lives, [`StoreError::Query`] otherwise.
    pub fn begin_gateway(&self) -> Result<Incarnation, StoreError> {
        let raised = self.write(|session| {
            let CounterValue::Whole(last) = lock(session, GATEWAY)? else {
                return Err(damaged_gateway());
            };
            if last >= i64::from(u16::MAX) {
                return Ok(None);
            }
            let next = u16::try_from(last + 1).map_err(|_| EngineError::unfit("a life of a gateway"))?;
            set(session, GATEWAY, next.into())?;
            Ok(Some(Incarnation(next)))
        });
        let raised = raised.map_err(StoreError::query("counting", "lives of gateways"))?;
        raised.ok_or_else(|| self.no_incarnation())
    }

    /// Checks that another life of a gateway can begin, and takes no number.
    ///
    /// # Errors
    /// [`StoreError::IncarnationsExhausted`] after 65,535 lives, [`StoreError::Query`] otherwise.
    pub fn check_incarnations(&self) -> Result<(), StoreError> {
        let last = self.read(|session| match read(session, GATEWAY)? {
            Some(CounterValue::Damaged) => Err(damaged_gateway()),
            Some(CounterValue::Whole(last)) => Ok(last),
            None => Ok(0),
        });
        if last.map_err(StoreError::query("reading", "lives of gateways"))? >= i64::from(u16::MAX) {
            return Err(self.no_incarnation());
        }
        Ok(())
    }

    fn no_incarnation(&self) -> StoreError {
        StoreError::IncarnationsExhausted { url: self.url().clone(), max: u16::MAX }
    }
}

/// A number that is too low would be given out twice, so that none is.
fn damaged_gateway() -> EngineError {
    EngineError::damaged_row("counters", GATEWAY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestDatabase, on_both_engines, rewrite, tamper};

    on_both_engines! {
        no_two_lives_of_gateways_have_one_number,
        a_damaged_number_of_lives_is_not_counted_on,
        the_last_life_is_followed_by_none,
    }

    fn no_two_lives_of_gateways_have_one_number(database: &TestDatabase) {
        database.open().check_incarnations().unwrap();
        assert_eq!(database.open().begin_gateway().unwrap(), Incarnation(1), "a check takes none");
        let stores = [database.open(), database.open()];
        let mut numbers: Vec<u16> = std::thread::scope(|scope| {
            let begin = |store| move || (0..5).map(|_| Store::begin_gateway(store).unwrap().0).collect();
            let threads = [scope.spawn(begin(&stores[0])), scope.spawn(begin(&stores[1]))];
            threads.into_iter().flat_map(|thread| -> Vec<u16> { thread.join().unwrap() }).collect()
        });
        numbers.sort_unstable();
        assert_eq!(numbers, (2..12).collect::<Vec<u16>>());
    }

    fn the_last_life_is_followed_by_none(database: &TestDatabase) {
        let store = database.open();
        store.begin_gateway().unwrap();
        let set = Sql::same("UPDATE counters SET value = $1 WHERE name = $2");
        assert_eq!(rewrite(&store, set, values![u32::from(u16::MAX) - 1, GATEWAY]), 1);
        store.check_incarnations().unwrap();
        assert_eq!(store.begin_gateway().unwrap(), Incarnation(u16::MAX));
        let error = store.begin_gateway().unwrap_err();
        assert!(matches!(error, StoreError::IncarnationsExhausted { max: u16::MAX, .. }), "{error}");
        let error = store.check_incarnations().unwrap_err();
        assert!(matches!(error, StoreError::IncarnationsExhausted { .. }), "{error}");
        assert!(store.begin_gateway().is_err(), "no incarnation is used again");
    }

    fn a_damaged_number_of_lives_is_not_counted_on(database: &TestDatabase) {
        let store = database.open();
        store.begin_gateway().unwrap();
        tamper(&store, Sql::same("UPDATE counters SET value = 0"), &[]);
        for error in [store.begin_gateway().unwrap_err(), store.check_incarnations().unwrap_err()] {
            assert!(matches!(error, StoreError::Query { .. }), "{error}");
        }
    }
}
