//! Gestures that are switched on: items whose lowest flag is set. Logins list them, so that they are found by an index of their own.

use super::{Item, read_item};
use crate::engine::{Sql, values};
use crate::{Store, StoreError};
use ids::AgentId;
use uuid::Uuid;

/// A gesture that its owner has switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveGesture {
    /// Its item.
    pub item: Uuid,
    /// Its asset.
    pub asset: Uuid,
}

/// In the order of [`read_item`]. The condition is that of the index, word for word.
macro_rules! select_active {
    ($index:literal) => {
        concat!(
            "SELECT item, folder, asset, asset_type, inventory_type, name, description, flags, created_s, \
             creator, last_owner, group_id, group_owned, base_mask, owner_mask, group_mask, everyone_mask, \
             next_owner_mask, sale_type, sale_price, checksum FROM inventory_items ",
            $index,
            " WHERE owner = $1 AND asset_type = 21 AND (flags & 1) = 1 ORDER BY item LIMIT $2"
        )
    };
}

const ACTIVE: Sql =
    Sql { sqlite: select_active!("INDEXED BY inventory_items_active"), postgres: select_active!("") };

impl Store {
    /// Up to `max` gestures that the owner has switched on, by their items' ids. Damaged items are left out.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn active_gestures(&self, owner: AgentId, max: u32) -> Result<Vec<ActiveGesture>, StoreError> {
        let active = self
            .read(|session| session.query(ACTIVE, values![owner.0, max], |row| Ok(read_item(owner, &row))));
        let active = active.map_err(StoreError::query("reading the gestures of", owner.0))?;
        Ok(active
            .into_iter()
            .flatten()
            .map(|Item { id, asset, .. }| ActiveGesture { item: id, asset })
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::tests::create;
    use crate::inventory::edit::tests::make;
    use crate::inventory::tests::item;
    use crate::testing::{TestDatabase, on_both_engines};
    use crate::{InventoryChange, ItemUpdate};

    on_both_engines! {
        gestures_that_are_switched_on_are_listed,
    }

    fn id(n: u128) -> Uuid {
        Uuid::from_u128(n)
    }

    fn gesture(n: u128, folder: Uuid, flags: u32) -> InventoryChange {
        InventoryChange::CreateItem(Item { asset_type: 21, flags, ..item(n, folder) })
    }

    fn gestures_that_are_switched_on_are_listed(database: &TestDatabase) {
        let store = database.open();
        let owners = [1, 2].map(|n| create(&store, n, "Ada", &format!("Lovelace{n}")));
        let root = id(0x101);
        let other = InventoryChange::CreateItem(Item { asset_type: 7, flags: 1, ..item(13, root) });
        make(&store, owners[0], &[gesture(12, root, 3), gesture(11, root, 1), gesture(14, root, 2), other]);
        make(&store, owners[1], &[gesture(15, id(0x102), 1)]);
        let active = |max| store.active_gestures(owners[0], max).unwrap();
        let expected = [11, 12].map(|n| ActiveGesture { item: id(n), asset: id(n + 1) });
        assert_eq!((&*active(9), &*active(1)), (&expected[..], &expected[..1]));
        let off = ItemUpdate { item: id(11), flags: Some(0), ..ItemUpdate::default() };
        make(&store, owners[0], &[InventoryChange::UpdateItem(off)]);
        assert_eq!(active(9), expected[1..]);
    }

    #[test]
    fn sqlite_finds_them_by_their_index() {
        let explained = Sql::same(format!("EXPLAIN QUERY PLAN {}", ACTIVE.sqlite).leak());
        let store = Store::open_in_memory().unwrap();
        let steps = store
            .read(|session| session.query(explained, values![Uuid::nil(), 1_u32], |row| row.get::<String>(3)))
            .unwrap();
        assert!(matches!(&steps[..], [step] if step.contains("inventory_items_active")), "{steps:?}");
    }
}
