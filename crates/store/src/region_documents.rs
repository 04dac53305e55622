//! Documents of a region's archive as they were loaded: that of its settings, and that of each parcel. They have what the region itself has no place for, so
//! that an archive that is saved later has it again. They come with the save of the region that has the rest of the archive.

use crate::engine::{EngineError, Session, Sql, values};
use crate::seals;
use crate::{Store, StoreError};
use ids::{Uuid, WorldId};

const PUT: Sql = Sql::same(
    "INSERT INTO region_documents (region, document, value, checksum) VALUES ($1, $2, $3, $4) \
     ON CONFLICT (region, document) DO UPDATE SET value = excluded.value, checksum = excluded.checksum",
);
const CLEAR: Sql = Sql::same("DELETE FROM region_documents WHERE region = $1");
const READ_ALL: Sql =
    Sql::same("SELECT document, value, checksum FROM region_documents WHERE region = $1 ORDER BY document");

/// A document, by the id of its parcel; the null id is that of the settings.
pub type RegionDocument = (Uuid, Vec<u8>);

/// Changes of a region's documents. The default changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentChanges {
    /// New and changed documents; of several with one id the last one counts.
    pub rows: Vec<RegionDocument>,
    /// The region has no others from then on.
    pub replaces: bool,
}

impl DocumentChanges {
    /// True if they change nothing.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty() && !self.replaces
    }

    /// Adds changes that follow these.
    pub fn append(&mut self, later: Self) {
        if later.replaces {
            *self = later;
        } else {
            self.rows.extend(later.rows);
        }
    }
}

/// Makes changes. Those that were made before may be made again.
pub(crate) fn save(
    session: &mut Session<'_>,
    region: WorldId,
    DocumentChanges { rows, replaces }: &DocumentChanges,
) -> Result<(), EngineError> {
    if *replaces {
        session.execute(CLEAR, values![region.0])?;
    }
    for (document, value) in rows {
        let sum = checksum(region, *document, value);
        session.execute(PUT, values![region.0, document, value, sum])?;
    }
    Ok(())
}

impl Store {
    /// All documents of a region but the damaged ones.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn region_documents(&self, region: WorldId) -> Result<Vec<RegionDocument>, StoreError> {
        let found = self.read(|session| {
            session.query(READ_ALL, values![region.0], |row| {
                let (document, value): RegionDocument = (row.get(0)?, row.get(1)?);
                let is_whole = row.get::<i64>(2)? == checksum(region, document, &value);
                Ok(is_whole.then_some((document, value)))
            })
        });
        let found = found.map_err(StoreError::query("reading documents of region", region.0))?;
        Ok(found.into_iter().flatten().collect())
    }
}

fn checksum(region: WorldId, document: Uuid, value: &[u8]) -> i64 {
    seals::DOCUMENT.of(values![region.0, document, value])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RegionChanges;
    use crate::testing::{TestDatabase, on_both_engines};

    on_both_engines! {
        documents_are_added_or_replaced_and_those_of_other_regions_stay,
    }

    const HERE: WorldId = WorldId(1);
    const THERE: WorldId = WorldId(2);

    fn document(n: u128, text: &str) -> RegionDocument {
        (Uuid::from_u128(n), text.into())
    }

    fn documents_are_added_or_replaced_and_those_of_other_regions_stay(database: &TestDatabase) {
        let store = database.open();
        assert!(store.region_documents(HERE).unwrap().is_empty());
        let [settings, first, second] =
            [(0, "<a/>"), (1, "<b/>"), (2, "<c/>")].map(|(n, text)| document(n, text));
        let keep = |region, rows: &[RegionDocument], replaces| {
            let documents = DocumentChanges { rows: rows.to_vec(), replaces };
            store.save_region(region, &RegionChanges { documents, ..RegionChanges::default() }).unwrap();
        };
        keep(HERE, &[first.clone(), settings.clone()], false);
        keep(THERE, std::slice::from_ref(&second), true);
        assert_eq!(store.region_documents(HERE).unwrap(), [settings.clone(), first]);
        let other = document(1, "<d/>");
        keep(HERE, &[other.clone(), second.clone()], false);
        keep(HERE, &[], false);
        assert_eq!(store.region_documents(HERE).unwrap(), [settings, other, second.clone()]);
        keep(HERE, std::slice::from_ref(&second), true);
        assert_eq!(store.region_documents(HERE).unwrap(), std::slice::from_ref(&second));
        assert_eq!(store.region_documents(THERE).unwrap(), [second]);
    }

    #[test]
    fn later_changes_follow_or_replace_earlier_ones() {
        let changes = |rows, replaces| DocumentChanges { rows, replaces };
        let [one, two] = [document(1, "<a/>"), document(2, "<b/>")];
        let mut all = DocumentChanges::default();
        assert!(all.is_empty());
        all.append(changes(vec![one.clone()], true));
        all.append(changes(vec![two.clone()], false));
        assert_eq!(all, changes(vec![one, two], true));
        all.append(changes(Vec::new(), true));
        assert_eq!(all, changes(Vec::new(), true));
        assert!(!all.is_empty(), "it takes all away");
    }
}
