//! Rows of inventories as clients are sent them, in messages and over HTTP, and as they send them back.

use ids::Uuid;
use wire::llsd::Llsd;
use wire::messages::{
    BulkUpdateInventoryItemData, RezObjectInventoryData, UpdateCreateInventoryItemInventoryData,
    UpdateInventoryItemInventoryData, UpdateTaskInventoryInventoryData,
};
use wire::text::{VARIABLE1_MAX, from_wire, to_wire};

/// Rights of masks: to give away, to change, to copy, to move.
pub const TRANSFER: u32 = 1 << 13;
/// See [`TRANSFER`].
pub const MODIFY: u32 = 1 << 14;
/// See [`TRANSFER`].
pub const COPY: u32 = 1 << 15;
/// See [`TRANSFER`].
pub const MOVE: u32 = 1 << 19;

/// Type of an asset that is an object.
pub const OBJECT: i8 = 6;
/// Type of an asset that is a notecard.
pub const NOTECARD: i8 = 7;
/// Type of an asset that is a texture.
pub const TEXTURE: i8 = 0;
/// Type of an asset that is a script.
pub const SCRIPT: i8 = 10;

/// Masks of an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ItemMasks {
    /// Upper bound of all others.
    pub base: u32,
    /// Rights of the owner.
    pub owner: u32,
    /// Rights of the group's members.
    pub group: u32,
    /// Rights of all others.
    pub everyone: u32,
    /// Rights of the next owner.
    pub next_owner: u32,
}

impl ItemMasks {
    /// True if the owner must not copy it.
    #[must_use]
    pub const fn is_unique(&self) -> bool {
        self.base & self.owner & COPY == 0
    }

    /// True if the next owner must not copy it.
    #[must_use]
    pub const fn becomes_unique(&self) -> bool {
        self.is_unique() || self.next_owner & COPY == 0
    }

    /// True if the owner may give it away.
    #[must_use]
    pub const fn may_transfer(&self) -> bool {
        self.base & self.owner & TRANSFER != 0
    }
}

/// An item of an inventory or of a prim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemRow {
    /// Its id.
    pub id: Uuid,
    /// Folder that holds it; in a prim the prim.
    pub folder: Uuid,
    /// Its asset.
    pub asset: Uuid,
    /// Kind of the asset.
    pub asset_type: i8,
    /// Kind for display.
    pub inventory_type: i8,
    /// Name as shown.
    pub name: String,
    /// Description as shown.
    pub description: String,
    /// Flags by kind.
    pub flags: u32,
    /// Account that made it.
    pub creator: Uuid,
    /// Masks.
    pub masks: ItemMasks,
    /// Seconds since 1970.
    pub created_s: i32,
}

/// An [`ItemRow`] of a row that a server sends; the rows of two messages have equal fields.
macro_rules! row_of {
    ($row:expr) => {
        ItemRow {
            id: $row.item_id,
            folder: $row.folder_id,
            asset: $row.asset_id,
            asset_type: $row.r#type,
            inventory_type: $row.inv_type,
            name: from_wire(&$row.name),
            description: from_wire(&$row.description),
            flags: $row.flags,
            creator: $row.creator_id,
            masks: ItemMasks {
                base: $row.base_mask,
                owner: $row.owner_mask,
                group: $row.group_mask,
                everyone: $row.everyone_mask,
                next_owner: $row.next_owner_mask,
            },
            created_s: $row.creation_date,
        }
    };
}

/// A row that a client sends about an [`ItemRow`]; the rows of three messages have equal fields, but for those behind the type.
macro_rules! row_for {
    ($Row:ident, $item:expr, $owner:expr $(, $field:ident: $value:expr)*) => {
        $Row {
            item_id: $item.id,
            folder_id: $item.folder,
            creator_id: $item.creator,
            owner_id: $owner,
            group_id: Uuid::nil(),
            base_mask: $item.masks.base,
            owner_mask: $item.masks.owner,
            group_mask: $item.masks.group,
            everyone_mask: $item.masks.everyone,
            next_owner_mask: $item.masks.next_owner,
            group_owned: false,
            transaction_id: Uuid::nil(),
            r#type: $item.asset_type,
            inv_type: $item.inventory_type,
            flags: $item.flags,
            sale_type: 0,
            sale_price: 0,
            name: to_wire(&$item.name, VARIABLE1_MAX),
            description: to_wire(&$item.description, VARIABLE1_MAX),
            creation_date: $item.created_s,
            crc: 0,
            $($field: $value,)*
        }
    };
}

impl ItemRow {
    /// Of UpdateCreateInventoryItem.
    #[must_use]
    pub fn of_made(row: &UpdateCreateInventoryItemInventoryData) -> Self {
        row_of!(row)
    }

    /// Of BulkUpdateInventory.
    #[must_use]
    pub fn of_bulk(row: &BulkUpdateInventoryItemData) -> Self {
        row_of!(row)
    }

    /// Of FetchInventory2 and FetchInventoryDescendents2; of RequestTaskInventory, where kinds have names. None without an id.
    #[must_use]
    pub fn of_llsd(row: &Llsd) -> Option<Self> {
        let permissions = row.get("permissions");
        let mask = |key| permissions.get(key).as_u32().unwrap_or(0);
        let text = |key| row.get(key).as_str().unwrap_or_default().to_owned();
        let kind = |key| kind_of(row.get(key));
        Some(Self {
            id: row.get("item_id").as_uuid()?,
            folder: row.get("parent_id").as_uuid().unwrap_or_default(),
            asset: row.get("asset_id").as_uuid().unwrap_or_default(),
            asset_type: kind("type"),
            inventory_type: kind("inv_type"),
            name: text("name"),
            description: text("desc"),
            flags: row.get("flags").as_u32().unwrap_or(0),
            creator: permissions.get("creator_id").as_uuid().unwrap_or_default(),
            masks: ItemMasks {
                base: mask("base_mask"),
                owner: mask("owner_mask"),
                group: mask("group_mask"),
                everyone: mask("everyone_mask"),
                next_owner: mask("next_owner_mask"),
            },
            created_s: row.get("created_at").as_i32().unwrap_or(0),
        })
    }

    /// For UpdateInventoryItem.
    #[must_use]
    pub fn to_update(&self, owner: Uuid, callback_id: u32) -> UpdateInventoryItemInventoryData {
        row_for!(UpdateInventoryItemInventoryData, self, owner, callback_id: callback_id)
    }

    /// For UpdateTaskInventory.
    #[must_use]
    pub fn to_task(&self, owner: Uuid) -> UpdateTaskInventoryInventoryData {
        row_for!(UpdateTaskInventoryInventoryData, self, owner)
    }

    /// For RezObject.
    #[must_use]
    pub fn to_rez(&self, owner: Uuid) -> RezObjectInventoryData {
        row_for!(RezObjectInventoryData, self, owner)
    }
}

/// Number of a kind: of inventories as it stands, of prims by its name. Of the kinds that bots carry; −1 of others.
fn kind_of(kind: &Llsd) -> i8 {
    if let Some(number) = kind.as_i32() {
        return i8::try_from(number).unwrap_or(-1);
    }
    match kind.as_str().unwrap_or_default() {
        "texture" => TEXTURE,
        "object" => OBJECT,
        "notecard" => NOTECARD,
        "lsltext" | "script" => SCRIPT,
        _ => -1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> ItemRow {
        ItemRow {
            id: Uuid::from_u128(1),
            folder: Uuid::from_u128(2),
            asset: Uuid::from_u128(3),
            asset_type: NOTECARD,
            inventory_type: NOTECARD,
            name: "carry-0-1".into(),
            description: "of bot 0".into(),
            flags: 5,
            creator: Uuid::from_u128(4),
            masks: ItemMasks {
                base: 0x7FFF_FFFF,
                owner: 0x7FFF_FFFF,
                group: 0,
                everyone: 0,
                next_owner: MODIFY | TRANSFER | MOVE,
            },
            created_s: 6,
        }
    }

    #[test]
    fn a_row_is_the_same_from_messages_and_over_http() {
        let expected = row();
        let made = UpdateCreateInventoryItemInventoryData {
            item_id: expected.id,
            folder_id: expected.folder,
            asset_id: expected.asset,
            r#type: NOTECARD,
            inv_type: NOTECARD,
            name: to_wire(&expected.name, VARIABLE1_MAX),
            description: to_wire(&expected.description, VARIABLE1_MAX),
            flags: 5,
            creator_id: expected.creator,
            base_mask: 0x7FFF_FFFF,
            owner_mask: 0x7FFF_FFFF,
            next_owner_mask: expected.masks.next_owner,
            creation_date: 6,
            ..UpdateCreateInventoryItemInventoryData::default()
        };
        assert_eq!(ItemRow::of_made(&made), expected);
        let permissions = [
            ("base_mask", Llsd::from(0x7FFF_FFFF)),
            ("owner_mask", Llsd::from(0x7FFF_FFFF)),
            ("next_owner_mask", Llsd::from(expected.masks.next_owner.cast_signed())),
            ("creator_id", Llsd::from(expected.creator)),
        ];
        let fields = |kind: Llsd| {
            Llsd::map([
                ("item_id", Llsd::from(expected.id)),
                ("parent_id", expected.folder.into()),
                ("asset_id", expected.asset.into()),
                ("type", kind.clone()),
                ("inv_type", kind),
                ("name", "carry-0-1".into()),
                ("desc", "of bot 0".into()),
                ("flags", Llsd::from(5)),
                ("created_at", Llsd::from(6)),
                ("permissions", Llsd::map(permissions.clone())),
            ])
        };
        assert_eq!(ItemRow::of_llsd(&fields(Llsd::from(7))), Some(expected.clone()));
        assert_eq!(ItemRow::of_llsd(&fields(Llsd::from("notecard"))), Some(expected.clone()));
        assert_eq!(ItemRow::of_llsd(&Llsd::map([("name", "x")].map(|(k, v)| (k, Llsd::from(v))))), None);
    }

    #[test]
    fn rows_that_are_sent_state_all_of_the_item() {
        let (row, owner) = (row(), Uuid::from_u128(9));
        let update = row.to_update(owner, 7);
        assert_eq!((update.item_id, update.owner_id, update.callback_id), (row.id, owner, 7));
        let (task, rez) = (row.to_task(owner), row.to_rez(owner));
        assert_eq!((task.name.as_slice(), rez.name.as_slice()), (&b"carry-0-1\0"[..], &b"carry-0-1\0"[..]));
        assert_eq!((task.next_owner_mask, rez.next_owner_mask), (row.masks.next_owner, row.masks.next_owner));
        assert_eq!((task.r#type, rez.r#type), (NOTECARD, NOTECARD));
    }

    #[test]
    fn rights_are_those_of_the_owner_within_the_base() {
        let masks = row().masks;
        assert!(!masks.is_unique() && masks.becomes_unique() && masks.may_transfer());
        let without = ItemMasks { base: MOVE | TRANSFER, ..masks };
        assert!(without.is_unique() && without.may_transfer());
        let free = ItemMasks { next_owner: COPY | TRANSFER, ..masks };
        assert!(!free.becomes_unique());
    }
}
