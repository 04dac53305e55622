//! An inventory in numbers, for operators: items of each folder, damaged items, and those whose asset is missing or damaged.

use super::{Item, read_item};
use crate::engine::{Row, Sql, Value, values};
use crate::{Store, StoreError};
use ids::AgentId;
use std::collections::BTreeMap;
use uuid::Uuid;

/// Numbers of items directly in a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ItemCounts {
    /// Items, links included.
    pub items: u64,
    /// Links among them.
    pub links: u64,
}

/// An item that is damaged, or without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlawedItem {
    /// Its id.
    pub item: Uuid,
    /// Folder that holds it. Of a damaged item this and the rest are as far as they can be read.
    pub folder: Uuid,
    /// Its name.
    pub name: String,
    /// Its asset.
    pub asset: Uuid,
    /// Kind of the asset.
    pub asset_type: i8,
    /// Evidence of damage, if the item is damaged, or if its asset is in quarantine; none if no row has an asset of this id.
    pub damage: Option<String>,
}

const ITEM_COUNTS: Sql =
    Sql::same("SELECT folder, count(*) FROM inventory_items WHERE owner = $1 GROUP BY folder");
const LINK_COUNTS: Sql = Sql::same(
    "SELECT folder, count(*) FROM inventory_items WHERE owner = $1 AND asset_type IN (24, 25) GROUP BY folder",
);
const FLAWED: Sql = Sql::same(
    "SELECT i.item, i.folder, i.asset, i.asset_type, i.inventory_type, i.name, i.description, i.flags, i.created_s, \
     i.creator, i.last_owner, i.group_id, i.group_owned, i.base_mask, i.owner_mask, i.group_mask, i.everyone_mask, \
     i.next_owner_mask, i.sale_type, i.sale_price, i.checksum, a.hash, c.damage FROM inventory_items i \
     LEFT JOIN assets a ON a.asset = i.asset LEFT JOIN asset_contents c ON c.hash = a.hash \
     WHERE i.owner = $1 AND i.item > $2 ORDER BY i.item LIMIT $3",
);
/// Items that are read at once.
const ITEMS_AT_ONCE: u32 = 1_000;
/// Kinds of items that name another item or a folder instead of an asset.
const LINKS: [i8; 2] = [24, 25];
/// The evidence of a damaged item.
const DAMAGED_ROW: &str = "the checksum of its row does not match";

impl Store {
    /// Numbers of items in each folder of an inventory that has any. Reads an entry of an index for each item.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn item_counts(&self, owner: AgentId) -> Result<BTreeMap<Uuid, ItemCounts>, StoreError> {
        let read = self.read_view(|session| {
            let mut counts: BTreeMap<Uuid, ItemCounts> = BTreeMap::new();
            let of_folder = |row: Row<'_>| Ok((row.get::<Uuid>(0)?, row.get::<i64>(1)?));
            for (folder, n) in session.query(ITEM_COUNTS, values![owner.0], of_folder)? {
                counts.entry(folder).or_default().items = n.unsigned_abs();
            }
            for (folder, n) in session.query(LINK_COUNTS, values![owner.0], of_folder)? {
                counts.entry(folder).or_default().links = n.unsigned_abs();
            }
            Ok(counts)
        });
        read.map_err(StoreError::query("counting the items of", owner.0))
    }

    /// Up to `max` items behind the item `after`, in the order of their ids, that are damaged, or that are no links and whose asset no row has, or is in quarantine. The
    /// assets of the server itself have no rows: the caller leaves these items out, unless they are damaged. Reads all items up to the last of these.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn flawed_items(&self, owner: AgentId, after: Uuid, max: u32) -> Result<Vec<FlawedItem>, StoreError> {
        let flawed = self.read_view(|session| {
            let (mut flawed, mut last) = (Vec::new(), after);
            loop {
                let read = |row: Row<'_>| Ok((row.get::<Uuid>(0)?, flaw(owner, &row)));
                let rows = session.query(FLAWED, values![owner.0, last, ITEMS_AT_ONCE], read)?;
                let is_end = rows.len() < ITEMS_AT_ONCE as usize;
                last = rows.last().map_or(last, |(item, _)| *item);
                flawed.extend(rows.into_iter().filter_map(|(_, flaw)| flaw));
                if is_end || flawed.len() >= max as usize {
                    flawed.truncate(max as usize);
                    return Ok(flawed);
                }
            }
        });
        flawed.map_err(StoreError::query("looking for lost content of", owner.0))
    }
}

/// An item of a row, if there is something wrong with it.
fn flaw(owner: AgentId, row: &Row<'_>) -> Option<FlawedItem> {
    let Some(item) = read_item(owner, row) else {
        return Some(FlawedItem {
            item: row.get(0).ok()?,
            folder: row.get(1).unwrap_or_default(),
            name: row.get(5).unwrap_or_default(),
            asset: row.get(2).unwrap_or_default(),
            asset_type: row.get(3).unwrap_or(-1),
            damage: Some(DAMAGED_ROW.to_owned()),
        });
    };
    let is_asset_there = matches!(row.value(21), Ok(Value::Blob(_)));
    let damage = row.get::<Option<String>>(22).ok().flatten();
    let Item { id, folder, name, asset, asset_type, .. } = item;
    let is_flawed = !LINKS.contains(&asset_type) && (!is_asset_there || damage.is_some());
    is_flawed.then_some(FlawedItem { item: id, folder, name, asset, asset_type, damage })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::tests::create;
    use crate::inventory::edit::tests::{make, new_folder, new_item};
    use crate::inventory::tests::item;
    use crate::testing::{TestDatabase, on_both_engines, tamper};
    use crate::{AssetHash, AssetRow, InventoryChange};

    on_both_engines! {
        items_are_counted_by_their_folders,
        items_without_an_asset_are_listed_in_parts,
    }

    const ROOT: Uuid = Uuid::from_u128(0x101);
    /// Of the item that the tests' accounts begin with.
    const FIRST_ITEM: Uuid = Uuid::from_u128(0x201);

    fn id(n: u128) -> Uuid {
        Uuid::from_u128(n)
    }

    fn link(n: u128, folder: Uuid) -> InventoryChange {
        InventoryChange::CreateItem(Item { asset_type: 24, asset: FIRST_ITEM, ..item(n, folder) })
    }

    fn items_are_counted_by_their_folders(database: &TestDatabase) {
        let store = database.open();
        let owner = create(&store, 1, "Ada", "Lovelace");
        create(&store, 2, "Grace", "Hopper");
        let changes = [
            new_folder(9, ROOT),
            new_folder(8, ROOT),
            new_item(11, id(9)),
            link(12, id(9)),
            link(13, id(9)),
            new_item(14, ROOT),
        ];
        make(&store, owner, &changes);
        let counts = store.item_counts(owner).unwrap();
        let expected =
            [(id(9), ItemCounts { items: 3, links: 2 }), (ROOT, ItemCounts { items: 2, links: 0 })];
        assert_eq!(counts, expected.into());
        assert!(store.item_counts(AgentId(id(77))).unwrap().is_empty());
    }

    fn items_without_an_asset_are_listed_in_parts(database: &TestDatabase) {
        let store = database.open();
        let owner = create(&store, 1, "Ada", "Lovelace");
        make(&store, owner, &[new_item(0x301, ROOT), new_item(0x401, ROOT), link(0x501, ROOT)]);
        let row = |n: u128, letter: u8| AssetRow {
            id: id(n),
            hash: AssetHash([letter; 32]),
            kind: 13,
            length: 5,
            creator: owner,
            created_s: 7,
            origin: "test".into(),
            used_s: None,
        };
        // Assets of the tests' items have the next id.
        store.add_assets(&[row(0x302, 3), row(0x402, 4)]).unwrap();
        assert!(store.quarantine_content(AssetHash([4; 32]), "another hash").unwrap());
        let found = |after, max| {
            let flawed = store.flawed_items(owner, after, max).unwrap().into_iter();
            flawed.map(|flawed| (flawed.item, flawed.damage.is_some())).collect::<Vec<_>>()
        };
        assert_eq!(found(Uuid::nil(), 9), [(FIRST_ITEM, false), (id(0x401), true)]);
        assert_eq!(found(Uuid::nil(), 1), [(FIRST_ITEM, false)]);
        assert_eq!(found(FIRST_ITEM, 9), [(id(0x401), true)]);
        let first = store.flawed_items(owner, Uuid::nil(), 1).unwrap().remove(0);
        assert_eq!(
            (first.folder, first.name.as_str(), first.asset, first.asset_type),
            (ROOT, "Shape", id(0x202), 13)
        );
        assert!(store.flawed_items(AgentId(id(77)), Uuid::nil(), 9).unwrap().is_empty());
        // A link has no asset, and is named for its own row.
        tamper(&store, Sql::same("UPDATE inventory_items SET flags = 7 WHERE item = $1"), values![id(0x501)]);
        assert_eq!(found(id(0x401), 9), [(id(0x501), true)]);
    }
}
