//! Legacy materials of a region's faces, by ids that are hashes of their content, so that an id is the checksum of its row. Materials of archives have ids of
//! other grids, and a checksum in the value. A row never changes.

use crate::engine::{EngineError, Row, Sql, values};
use crate::{Store, StoreError};
use ids::{Uuid, WorldId};

const ADD: Sql = Sql::same(
    "INSERT INTO region_materials (region, material, value) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
);
const READ: Sql =
    Sql::same("SELECT material, value FROM region_materials WHERE region = $1 AND material = $2");
const READ_ALL: Sql =
    Sql::same("SELECT material, value FROM region_materials WHERE region = $1 ORDER BY material LIMIT $2");
const COUNT: Sql = Sql::same("SELECT count(*) FROM region_materials WHERE region = $1");

impl Store {
    /// Adds materials, each with its id. False, and nothing has changed, if the region would have more than `most`.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then nothing has changed.
    pub fn add_region_materials(
        &self,
        region: WorldId,
        materials: &[(Uuid, Vec<u8>)],
        most: u32,
    ) -> Result<bool, StoreError> {
        let added = self.write(|session| {
            let mut n = session.query_row(COUNT, values![region.0], |row| row.get::<i64>(0))?.unwrap_or(0);
            for (material, _) in materials {
                n += i64::from(session.query_row(READ, values![region.0, material], read)?.is_none());
            }
            if n > i64::from(most) {
                return Ok(false);
            }
            for (material, value) in materials {
                session.execute(ADD, values![region.0, material, value])?;
            }
            Ok(true)
        });
        added.map_err(StoreError::query("adding materials of region", region.0))
    }

    /// Materials of a region with these ids; unknown ones are left out.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn region_materials(
        &self,
        region: WorldId,
        ids: &[Uuid],
    ) -> Result<Vec<(Uuid, Vec<u8>)>, StoreError> {
        let found = self.read(|session| {
            let mut found = Vec::new();
            for id in ids {
                found.extend(session.query_row(READ, values![region.0, id], read)?);
            }
            Ok(found)
        });
        found.map_err(StoreError::query("reading materials of region", region.0))
    }

    /// Materials of a region, at most `most`, in the order of their ids.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn all_region_materials(
        &self,
        region: WorldId,
        most: u32,
    ) -> Result<Vec<(Uuid, Vec<u8>)>, StoreError> {
        self.read(|session| session.query(READ_ALL, values![region.0, most], read))
            .map_err(StoreError::query("reading materials of region", region.0))
    }
}

fn read(row: Row<'_>) -> Result<(Uuid, Vec<u8>), EngineError> {
    Ok((row.get(0)?, row.get(1)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestDatabase, on_both_engines};

    on_both_engines! {
        materials_are_read_as_they_were_added_and_those_of_other_regions_are_not,
        a_region_has_its_number_of_materials,
    }

    const HERE: WorldId = WorldId(1);
    const THERE: WorldId = WorldId(2);

    fn material(n: u128) -> (Uuid, Vec<u8>) {
        (Uuid::from_u128(n), vec![n as u8; 3])
    }

    fn materials_are_read_as_they_were_added_and_those_of_other_regions_are_not(database: &TestDatabase) {
        let store = database.open();
        let all = [1, 2, 3].map(material);
        assert!(store.add_region_materials(HERE, &all, 10).unwrap());
        assert!(store.add_region_materials(HERE, &all[1..], 10).unwrap(), "again");
        assert_eq!(store.all_region_materials(HERE, 10).unwrap(), all);
        assert_eq!(store.all_region_materials(HERE, 2).unwrap(), all[..2]);
        let asked = [3, 9, 1].map(Uuid::from_u128);
        assert_eq!(store.region_materials(HERE, &asked).unwrap(), [material(3), material(1)]);
        assert!(store.all_region_materials(THERE, 10).unwrap().is_empty());
        assert!(store.region_materials(THERE, &asked).unwrap().is_empty());
    }

    fn a_region_has_its_number_of_materials(database: &TestDatabase) {
        let store = database.open();
        let [first, second, third] = [1, 2, 3].map(material);
        assert!(store.add_region_materials(HERE, &[first.clone(), second.clone()], 2).unwrap());
        assert!(!store.add_region_materials(HERE, &[first.clone(), third.clone()], 2).unwrap());
        assert_eq!(store.all_region_materials(HERE, 10).unwrap(), [first.clone(), second]);
        assert!(store.add_region_materials(HERE, &[first], 2).unwrap(), "it is there already");
        assert!(store.add_region_materials(THERE, &[third], 2).unwrap());
    }
}
