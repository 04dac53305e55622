//! Stored content of regions as a whole: the numbers that have some, and its end. A configuration may have lost a region whose content is stored.
//!
//! Keys of several tables begin with the region, so that its number is found without a look at its other rows.

use crate::engine::{EngineError, Session, Sql, values};
use crate::object_damage::{key_of, object_of};
use crate::region;
use crate::{Store, StoreError};
use ids::{LocalId, WorldId};
use std::collections::BTreeSet;

/// A number under which content of a region is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionContent {
    /// The number.
    pub region: WorldId,
    /// Name of the region as of its last save; `None` without a row, where that is damaged, and in rows from before there was a name.
    pub name: Option<String>,
    /// Number of its objects.
    pub n_objects: u64,
}

/// The next row behind a key, in tables whose keys are a region and a number in it.
const KEYED: [Sql; 3] = [
    Sql::same("SELECT coalesce(min(object), -1) FROM object_bodies WHERE object > $1"),
    Sql::same("SELECT coalesce(min(object), -1) FROM object_states WHERE object > $1"),
    Sql::same("SELECT coalesce(min(land), -1) FROM region_land WHERE land > $1"),
];
const HELD: Sql = Sql::same("SELECT coalesce(min(held), -1) FROM held_objects WHERE held > $1");
/// The next region behind one, in tables with a column for it.
const NUMBERED: [Sql; 3] = [
    Sql::same("SELECT coalesce(min(region), -1) FROM regions WHERE region > $1"),
    Sql::same("SELECT coalesce(min(region), -1) FROM region_materials WHERE region > $1"),
    Sql::same("SELECT coalesce(min(region), -1) FROM region_documents WHERE region > $1"),
];

const DELETE_BODIES: Sql = Sql::same("DELETE FROM object_bodies WHERE object >= $1 AND object <= $2");
const DELETE_KEYED: [Sql; 2] = [
    Sql::same("DELETE FROM object_states WHERE object >= $1 AND object <= $2"),
    Sql::same("DELETE FROM region_land WHERE land >= $1 AND land <= $2"),
];
const DELETE_NUMBERED: [Sql; 3] = [
    Sql::same("DELETE FROM region_materials WHERE region = $1"),
    Sql::same("DELETE FROM region_documents WHERE region = $1"),
    Sql::same("DELETE FROM regions WHERE region = $1"),
];

impl Store {
    /// Numbers under which content of regions is stored, ascending.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn region_contents(&self) -> Result<Vec<RegionContent>, StoreError> {
        let found = self.read_view(|session| Ok((numbers(session)?, region::read_all(session)?)));
        let (numbers, rows) = found.map_err(StoreError::query("listing", "the content of regions"))?;
        let name_of = |number: WorldId| {
            let row =
                rows.iter().find(|(region, _)| *region == number).and_then(|(_, row)| row.as_ref().ok());
            row.map(|row| row.name.clone()).filter(|name| !name.is_empty())
        };
        let content = |region: WorldId| {
            let n_objects = self.count_region_objects(region)?;
            Ok(RegionContent { region, name: name_of(region), n_objects })
        };
        numbers.into_iter().map(content).collect()
    }

    /// Numbers of regions that held objects have left, ascending. Their keys have these.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn regions_of_held(&self) -> Result<BTreeSet<WorldId>, StoreError> {
        let found = self.read(|session| {
            let mut found = BTreeSet::new();
            collect_keyed(session, HELD, &mut found)?;
            Ok(found)
        });
        found.map_err(StoreError::query("listing", "held objects"))
    }

    /// Deletes the content of a region that no server runs: objects, land, materials and documents, wholly or not at all. Held objects that have left it and rows that
    /// were set aside stay. The number of its objects.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then nothing has changed, unless the outcome is unknown. The same call may be made again.
    ///
    /// # Panics
    /// When the number of the region is that of an instance.
    pub fn delete_region_content(&self, region: WorldId) -> Result<u64, StoreError> {
        let (first, last) = (key_of(region, LocalId(0)), key_of(region, LocalId(u32::MAX)));
        let deleted = self.write(|session| {
            let n_objects = session.execute(DELETE_BODIES, values![first, last])?;
            for sql in DELETE_KEYED {
                session.execute(sql, values![first, last])?;
            }
            for sql in DELETE_NUMBERED {
                session.execute(sql, values![region.0])?;
            }
            Ok(n_objects as u64)
        });
        deleted.map_err(StoreError::query("deleting the content of region", region.0))
    }
}

fn numbers(session: &mut Session<'_>) -> Result<BTreeSet<WorldId>, EngineError> {
    let mut found = BTreeSet::new();
    for sql in KEYED {
        collect_keyed(session, sql, &mut found)?;
    }
    for sql in NUMBERED {
        let mut before = -1;
        while let Some(number) = next(session, sql, before)? {
            found.insert(WorldId(u32::try_from(number).map_err(|_| EngineError::disorder())?));
            before = number;
        }
    }
    Ok(found)
}

/// Regions of a table's keys: one look for each, behind the last possible key of the one before.
fn collect_keyed(
    session: &mut Session<'_>,
    sql: Sql,
    found: &mut BTreeSet<WorldId>,
) -> Result<(), EngineError> {
    let mut before = -1;
    while let Some(key) = next(session, sql, before)? {
        let (region, _) = object_of(key);
        found.insert(region);
        before = key_of(region, LocalId(u32::MAX));
    }
    Ok(())
}

/// The next key behind one. One that is no later, as on a page that was overwritten, is an error.
fn next(session: &mut Session<'_>, sql: Sql, before: i64) -> Result<Option<i64>, EngineError> {
    let found = session.query_row(sql, values![before], |row| row.get::<i64>(0))?;
    match found.filter(|key| *key >= 0) {
        Some(key) if key <= before => Err(EngineError::disorder()),
        next => Ok(next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::region_objects::tests::{ONE, changes};
    use crate::testing::{TestDatabase, on_both_engines};
    use crate::{DocumentChanges, LandChanges, LandKey, LandKind, LandRows, RegionChanges, StoredRegion};
    use ids::Uuid;

    on_both_engines! {
        content_is_listed_by_its_numbers,
        deleted_content_is_gone_and_that_of_other_regions_stays,
    }

    const NINE: WorldId = WorldId(9);

    /// Two objects, an estate, a document and a material.
    fn fill(store: &Store, region: WorldId) {
        let objects = [(3, "three"), (u32::MAX, "last")];
        let mut rows = LandRows::default();
        rows.push(LandKey::new(LandKind::Estate, 0), b"estate");
        let land = LandChanges { rows, ..LandChanges::default() };
        let documents = DocumentChanges { rows: vec![(Uuid::nil(), b"<a/>".to_vec())], replaces: false };
        let changes = RegionChanges { land, documents, ..changes(1, &objects, &objects, &[]) };
        store.save_region(region, &changes).unwrap();
        let material = (Uuid::from_u128(5), b"material".to_vec());
        assert!(store.add_region_materials(region, &[material], 10).unwrap());
    }

    fn numbers_of(store: &Store) -> Vec<(u32, Option<String>, u64)> {
        let contents = store.region_contents().unwrap().into_iter();
        contents.map(|RegionContent { region, name, n_objects }| (region.0, name, n_objects)).collect()
    }

    fn content_is_listed_by_its_numbers(database: &TestDatabase) {
        let store = database.open();
        assert!(numbers_of(&store).is_empty());
        fill(&store, NINE);
        store.save_region(ONE, &changes(1, &[], &[], &[])).unwrap();
        // Without a row of its own.
        assert!(store.add_region_materials(WorldId(4), &[(Uuid::from_u128(5), vec![1])], 10).unwrap());
        let harbour = Some("Harbour".to_owned());
        assert_eq!(numbers_of(&store), [(1, harbour.clone(), 0), (4, None, 0), (9, harbour, 2)]);
        assert!(store.regions_of_held().unwrap().is_empty());
    }

    fn deleted_content_is_gone_and_that_of_other_regions_stays(database: &TestDatabase) {
        let store = database.open();
        for region in [WorldId(8), NINE, WorldId(10)] {
            fill(&store, region);
        }
        let neighbours = |store: &Store| [8, 10].map(|region| store.read_region(WorldId(region)).unwrap());
        let before = neighbours(&store);
        assert_eq!(store.delete_region_content(NINE).unwrap(), 2);
        assert_eq!(store.read_region(NINE).unwrap(), StoredRegion::default());
        assert!(store.region_documents(NINE).unwrap().is_empty());
        assert!(store.all_region_materials(NINE, 10).unwrap().is_empty());
        assert_eq!(neighbours(&store), before);
        assert_eq!(numbers_of(&store).iter().map(|(number, ..)| *number).collect::<Vec<_>>(), [8, 10]);
        assert_eq!(store.delete_region_content(NINE).unwrap(), 0, "again");
    }
}
