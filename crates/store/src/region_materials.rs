//! Legacy materials of a region's faces, by ids that are hashes of their content; those of archives have ids of other grids. A row never changes. One that does not
//! match its checksum is passed over, and gives way to the next one with its id.

use crate::engine::{Row, Sql, values};
use crate::seals;
use crate::{Store, StoreError};
use ids::{Uuid, WorldId};

const ADD: Sql = Sql::same(
    "INSERT INTO region_materials (region, material, value, checksum) VALUES ($1, $2, $3, $4) \
     ON CONFLICT (region, material) DO UPDATE SET value = excluded.value, checksum = excluded.checksum",
);
const READ: Sql =
    Sql::same("SELECT material, value, checksum FROM region_materials WHERE region = $1 AND material = $2");
const READ_ALL: Sql = Sql::same(
    "SELECT material, value, checksum FROM region_materials WHERE region = $1 ORDER BY material LIMIT $2",
);
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
            let mut new = Vec::new();
            for (material, value) in materials {
                let read = |row: Row<'_>| Ok(read(region, &row));
                match session.query_row(READ, values![region.0, material], read)? {
                    Some(Some(_)) => continue,
                    // A damaged row gives way.
                    Some(None) => {}
                    None => n += 1,
                }
                new.push((material, value));
            }
            if n > i64::from(most) {
                return Ok(false);
            }
            for (material, value) in new {
                session
                    .execute(ADD, values![region.0, material, value, checksum(region, *material, value)])?;
            }
            Ok(true)
        });
        added.map_err(StoreError::query("adding materials of region", region.0))
    }

    /// Materials of a region with these ids; unknown and damaged ones are left out.
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
                let read = |row: Row<'_>| Ok(read(region, &row));
                found.extend(session.query_row(READ, values![region.0, id], read)?.flatten());
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
        let found = self
            .read(|session| session.query(READ_ALL, values![region.0, most], |row| Ok(read(region, &row))));
        let found = found.map_err(StoreError::query("reading materials of region", region.0))?;
        Ok(found.into_iter().flatten().collect())
    }
}

/// A material; none if it is damaged.
fn read(region: WorldId, row: &Row<'_>) -> Option<(Uuid, Vec<u8>)> {
    let (material, value): (Uuid, Vec<u8>) = (row.get(0).ok()?, row.get(1).ok()?);
    (row.get(2).ok() == Some(checksum(region, material, &value))).then_some((material, value))
}

fn checksum(region: WorldId, material: Uuid, value: &[u8]) -> i64 {
    seals::MATERIAL.of(values![region.0, material, value])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestDatabase, on_both_engines, tamper};

    on_both_engines! {
        materials_are_read_as_they_were_added_and_those_of_other_regions_are_not,
        a_damaged_material_gives_way_to_the_next_one_with_its_id,
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

    fn a_damaged_material_gives_way_to_the_next_one_with_its_id(database: &TestDatabase) {
        let store = database.open();
        let [first, second] = [1, 2].map(material);
        let all = [first.clone(), second.clone()];
        assert!(store.add_region_materials(HERE, &all, 2).unwrap());
        let spoil = Sql::same("UPDATE region_materials SET value = $1 WHERE material = $2");
        tamper(&store, spoil, values![[7_u8], first.0]);
        assert_eq!(store.all_region_materials(HERE, 10).unwrap(), [second]);
        assert!(store.region_materials(HERE, &[first.0]).unwrap().is_empty());
        assert!(store.add_region_materials(HERE, &[first], 2).unwrap());
        assert_eq!(store.all_region_materials(HERE, 10).unwrap(), all);
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
