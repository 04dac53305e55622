//! Numbers that are given out once on a grid, by a row that rises with each.

use crate::engine::{EngineError, Sql, values};
use crate::{Store, StoreError};
use ids::Incarnation;

/// Row of the lives of gateways.
const GATEWAY: &str = "gateway";

/// Without effect at the last number. Writers of one database wait for each other here.
const RAISE: Sql = Sql::same(
    "INSERT INTO counters (name, value) VALUES ($1, 1) \
     ON CONFLICT (name) DO UPDATE SET value = counters.value + 1 WHERE counters.value < $2",
);
const VALUE: Sql = Sql::same("SELECT value FROM counters WHERE name = $1");

impl Store {
    /// Begins another life of a gateway; its number is on the disk before this returns, and given to no other life. One that a crash or an
    /// unclear commit loses is skipped.
    ///
    /// # Errors
    /// [`StoreError::IncarnationsExhausted`] after 65,535 lives, [`StoreError::Query`] otherwise.
    pub fn begin_gateway(&self) -> Result<Incarnation, StoreError> {
        let raised = self.write(|session| {
            if session.execute(RAISE, values![GATEWAY, u32::from(u16::MAX)])? == 0 {
                return Ok(None);
            }
            let value = session.query_row(VALUE, values![GATEWAY], |row| row.get::<u32>(0))?;
            let number = value.and_then(|value| u16::try_from(value).ok());
            number
                .map(|number| Some(Incarnation(number)))
                .ok_or_else(|| EngineError::unfit("a life of a gateway"))
        });
        let raised = raised.map_err(StoreError::query("counting", "lives of gateways"))?;
        raised.ok_or_else(|| self.no_incarnation())
    }

    /// Checks that another life of a gateway can begin, and takes no number.
    ///
    /// # Errors
    /// [`StoreError::IncarnationsExhausted`] after 65,535 lives, [`StoreError::Query`] otherwise.
    pub fn check_incarnations(&self) -> Result<(), StoreError> {
        let last = self.read(|session| session.query_row(VALUE, values![GATEWAY], |row| row.get::<u32>(0)));
        match last.map_err(StoreError::query("reading", "lives of gateways"))? {
            Some(last) if last >= u32::from(u16::MAX) => Err(self.no_incarnation()),
            _ => Ok(()),
        }
    }

    fn no_incarnation(&self) -> StoreError {
        StoreError::IncarnationsExhausted { url: self.url().clone(), max: u16::MAX }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestDatabase, on_both_engines, tamper};

    on_both_engines! {
        no_two_lives_of_gateways_have_one_number,
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
        assert_eq!(tamper(&store, set, values![u32::from(u16::MAX) - 1, GATEWAY]), 1);
        store.check_incarnations().unwrap();
        assert_eq!(store.begin_gateway().unwrap(), Incarnation(u16::MAX));
        let error = store.begin_gateway().unwrap_err();
        assert!(matches!(error, StoreError::IncarnationsExhausted { max: u16::MAX, .. }), "{error}");
        let error = store.check_incarnations().unwrap_err();
        assert!(matches!(error, StoreError::IncarnationsExhausted { .. }), "{error}");
        assert!(store.begin_gateway().is_err(), "no incarnation is used again");
    }
}
