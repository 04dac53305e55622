//! Lists of assets for operators: contents in quarantine, and lasting assets one part after the other.

use super::{AssetContent, AssetHash, StoredAsset, damage_checksum, read_asset, read_content};
use crate::engine::{Sql, values};
use crate::{Store, StoreError};
use uuid::Uuid;

const QUARANTINED: Sql = Sql::same(
    "SELECT hash, length, damage, checksum, damage_checksum FROM asset_contents WHERE damage IS NOT NULL \
     ORDER BY hash LIMIT $1",
);
const COUNT_QUARANTINED: Sql = Sql::same("SELECT count(*) FROM asset_contents WHERE damage IS NOT NULL");
const END_QUARANTINE: Sql = Sql::same(
    "UPDATE asset_contents SET damage = NULL, damage_checksum = $1 WHERE hash = $2 AND damage IS NOT NULL",
);
const LASTING_AFTER: Sql = Sql::same(
    "SELECT assets.asset, assets.hash, kind, length, creator, created_s, origin, used_s, damage, assets.checksum, \
     used_checksum, asset_contents.checksum, damage_checksum FROM assets \
     JOIN asset_contents ON asset_contents.hash = assets.hash \
     WHERE assets.asset > $1 AND used_s IS NULL ORDER BY assets.asset LIMIT $2",
);

impl Store {
    /// Up to `max` contents in quarantine, by their hashes. Linear in the number of contents.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn quarantined_contents(&self, max: u32) -> Result<Vec<AssetContent>, StoreError> {
        self.read(|session| session.query(QUARANTINED, values![max], read_content))
            .map_err(StoreError::query("listing", "contents in quarantine"))
    }

    /// Number of contents in quarantine. Linear in that of all.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn n_quarantined_contents(&self) -> Result<u64, StoreError> {
        let count = self.read(|session| session.query_row(COUNT_QUARANTINED, &[], |row| row.get::<i64>(0)));
        let count = count.map_err(StoreError::query("counting", "contents in quarantine"))?;
        Ok(count.map_or(0, i64::cast_unsigned))
    }

    /// Ends the quarantine of a content whose bytes are whole and on the disk. False if it was in none.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn end_content_quarantine(&self, hash: AssetHash) -> Result<bool, StoreError> {
        let sum = damage_checksum(hash, None);
        self.write(|session| session.execute(END_QUARANTINE, values![sum, hash.0]).map(|n| n > 0))
            .map_err(StoreError::query("ending the quarantine of the content", hash))
    }

    /// Up to `max` assets behind an id that are not temporary, in the order of their ids.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn lasting_assets_after(&self, id: Uuid, max: u32) -> Result<Vec<StoredAsset>, StoreError> {
        self.read(|session| session.query(LASTING_AFTER, values![id, max], read_asset))
            .map_err(StoreError::query("reading assets behind", id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asset::tests::{add, asset, temporary};
    use crate::testing::{TestDatabase, on_both_engines};

    on_both_engines! {
        contents_in_quarantine_are_listed_until_it_ends,
        lasting_assets_are_listed_in_parts,
    }

    fn contents_in_quarantine_are_listed_until_it_ends(database: &TestDatabase) {
        let store = database.open();
        let (one, two) = (AssetHash::of(b"one"), AssetHash::of(b"two"));
        add(&store, &asset(1, b"one"));
        add(&store, &asset(2, b"two"));
        assert_eq!(
            (store.quarantined_contents(9).unwrap(), store.n_quarantined_contents().unwrap()),
            (vec![], 0)
        );
        for hash in [one, two] {
            assert!(store.quarantine_content(hash, "its bytes are missing").unwrap());
        }
        assert_eq!(
            (store.quarantined_contents(1).unwrap().len(), store.n_quarantined_contents().unwrap()),
            (1, 2)
        );
        assert!(store.end_content_quarantine(one).unwrap());
        assert!(!store.end_content_quarantine(one).unwrap());
        let left = store.quarantined_contents(9).unwrap();
        let expected = AssetContent { hash: two, length: 3, damage: Some("its bytes are missing".into()) };
        assert_eq!(left, [expected]);
        assert_eq!(store.are_contents_sound(&[one, two]).unwrap(), [true, false]);
    }

    fn lasting_assets_are_listed_in_parts(database: &TestDatabase) {
        let store = database.open();
        for row in [asset(3, b"three"), temporary(2, b"two", 5), asset(1, b"one"), asset(4, b"one")] {
            add(&store, &row);
        }
        let ids = |after: u128, max| {
            let part = store.lasting_assets_after(Uuid::from_u128(after), max).unwrap();
            part.into_iter().map(|stored| stored.row.id.as_u128()).collect::<Vec<_>>()
        };
        assert_eq!((ids(0, 2), ids(3, 2), ids(4, 2)), (vec![1, 3], vec![4], vec![]));
        let first = store.lasting_assets_after(Uuid::nil(), 1).unwrap().remove(0);
        assert_eq!((first.row, first.damage), (asset(1, b"one"), None));
    }
}
