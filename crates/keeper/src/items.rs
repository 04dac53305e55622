//! Conversion of objects that leave a region into inventory items: folder, name, flags and masks of the item, and the bytes of its asset.
//!
//! [`itemize`] converts the rows of a batch after the keeper has returned it, and encodes the assets. A repeated batch yields equal items.

use crate::rows::held_object;
use ids::{AgentId, HeldKey, Ticket, Uuid, WorldId};
use link::{DerezKind, HeldItem, HeldObject};
use prim::{Carried, ContentItem, Mask, Ownership, SaleKind};
use std::fmt;
use std::sync::Arc;
use store::{
    AssetHash, AssetRow, FolderChoice, HeldChange, HeldRow, Item, ItemOrigin, ItemTransfer, Permissions, Sale,
};

/// Type code of objects, for assets, items and folders.
const OBJECT: i8 = 6;
/// Type codes of folders.
const TRASH: i8 = 14;
const LOST_AND_FOUND: i8 = 16;
/// Type code of landmarks, for items.
const LANDMARK: i8 = 3;

/// Flag of an item whose object has several linksets.
const HAS_SEVERAL_LINKSETS: u32 = 1 << 21;

/// Rights to a prim that its contents can restrict.
const OF_CONTENTS: Mask = Mask::of_bits(Mask::COPY.bits() | Mask::TRANSFER.bits() | Mask::EXPORT.bits());
/// Shift of the next owner's rights to all contents, which are in the lowest four bits of an item's masks (*folded*).
const FOLD_SHIFT: u32 = 13;
const FOLDED: u32 = 0xF;

/// Bytes of an asset that a batch refers to. They must be on the disk before the batch is saved.
#[derive(Clone, PartialEq, Eq)]
pub struct AssetBytes {
    /// Hash of the bytes.
    pub hash: AssetHash,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl fmt::Debug for AssetBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hash, bytes } = self;
        write!(f, "AssetBytes({hash}, {} bytes)", bytes.len())
    }
}

/// Result of [`itemize`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Itemized {
    /// Bytes of the assets.
    pub assets: Vec<AssetBytes>,
    /// Objects that could not be encoded, with the reasons. They remain held rows.
    pub failed: Vec<(HeldKey, String)>,
}

/// Converts the objects in a batch whose destination is an inventory into items. The store keeps the row of an object whose item the inventory
/// refuses.
///
/// `encode` returns an object's asset, equal bytes for equal objects.
pub fn itemize<E: fmt::Display>(
    region: WorldId,
    held: &mut [(Ticket, HeldChange)],
    mut encode: impl FnMut(&HeldObject) -> Result<Vec<u8>, E>,
) -> Itemized {
    let mut itemized = Itemized::default();
    for (ticket, change) in held {
        let HeldChange::Insert(row) = change else { continue };
        // A different key belongs to an object that returns to its row.
        if row.key != (HeldKey { region, ticket: *ticket }) {
            continue;
        }
        let object = match held_object(row) {
            Ok(object) => object,
            Err(why) => {
                itemized.failed.push((row.key, why.to_string()));
                continue;
            }
        };
        match encode(&object) {
            Ok(bytes) => {
                let hash = AssetHash::of(&bytes);
                let transfer = object_transfer(row, &object, (hash, bytes.len()));
                *change = HeldChange::InsertItem(Box::new(transfer));
                itemized.assets.push(AssetBytes { hash, bytes });
            }
            Err(why) => itemized.failed.push((row.key, why.to_string())),
        }
    }
    itemized
}

/// The transfer of a held object into an inventory.
pub(crate) const fn origin_of(row: &HeldRow) -> ItemOrigin {
    ItemOrigin { key: row.key, owner: row.owner, held_s: row.held_s }
}

/// The row of an object's asset, with hash and length.
pub(crate) fn asset_row(object: &HeldObject, (hash, len): (AssetHash, usize), created_s: i64) -> AssetRow {
    AssetRow {
        id: Uuid::nil(),
        hash,
        kind: OBJECT,
        length: u32::try_from(len).unwrap_or(u32::MAX),
        creator: object.owner,
        created_s,
        origin: "world".into(),
        used_s: None,
    }
}

/// The origin of an object with an asset of this hash and length.
fn object_transfer(row: &HeldRow, object: &HeldObject, content: (AssetHash, usize)) -> ItemTransfer {
    let asset = asset_row(object, content, row.held_s);
    ItemTransfer {
        origin: origin_of(row),
        folder: folder_of(object),
        new_folder: None,
        item: item_of(object, row.held_s),
        asset: Some(asset),
        replaces: (object.kind == DerezKind::Save).then_some(object.folder),
        row: Some(row.clone()),
    }
}

fn folder_of(object: &HeldObject) -> FolderChoice {
    let (wanted, type_default) = match object.kind {
        // A worn object without an item.
        _ if object.is_worn => (Uuid::nil(), LOST_AND_FOUND),
        DerezKind::Take | DerezKind::TakeCopy => (object.folder, OBJECT),
        // Reached if the item that the object should replace does not exist.
        DerezKind::Save => (Uuid::nil(), OBJECT),
        DerezKind::Trash => (Uuid::nil(), TRASH),
        DerezKind::Return | DerezKind::Delete => (Uuid::nil(), LOST_AND_FOUND),
    };
    FolderChoice { wanted, type_default }
}

/// The item of an object. The prims already have the owner of the item, with that user's masks.
pub(crate) fn item_of(object: &HeldObject, created_s: i64) -> Item {
    let (_, root) = object.root().expect("a row has at least one prim");
    let root = &root.body;
    let masks = &root.ownership.permissions;
    let rights = item_rights(object);
    let is_coalesced = object.linksets.len() > 1;
    let sale = if is_coalesced {
        Sale::default()
    } else {
        Sale { kind: root.sale.kind as u8, price: root.sale.price }
    };
    let AgentId(creator) = creator_of(object);
    Item {
        id: Uuid::nil(),
        folder: Uuid::nil(),
        asset: Uuid::nil(),
        asset_type: OBJECT,
        inventory_type: OBJECT,
        name: root.names.name.to_string(),
        description: root.names.description.to_string(),
        flags: if is_coalesced { HAS_SEVERAL_LINKSETS } else { 0 },
        created_s,
        permissions: Permissions {
            creator,
            last_owner: root.ownership.last_owner.0,
            group: Uuid::nil(),
            group_owned: false,
            base: rights,
            owner: rights,
            group_mask: masks.group.bits() & rights,
            everyone: masks.everyone.bits() & rights,
            next_owner: (masks.next_owner | Mask::MOVE).bits() & rights,
        },
        sale,
    }
}

/// The creator of all roots; the null id if the creators differ.
fn creator_of(object: &HeldObject) -> AgentId {
    let roots = object.linksets.iter().filter_map(|prims| prims.first());
    let mut creators = roots.map(|(_, root)| root.body.ownership.creator);
    let first = creators.next().unwrap_or(AgentId(Uuid::nil()));
    if creators.all(|creator| creator == first) { first } else { AgentId(Uuid::nil()) }
}

/// The owner's rights to an object as an item: the intersection of the rights to all prims and their contents. The right to modify contents does not count,
/// and the object can always be moved. The lowest bits are folded.
fn item_rights(object: &HeldObject) -> u32 {
    let (mut rights, mut folded) = (Mask::ALL, Mask::ALL);
    for prims in &object.linksets {
        for ((_, versioned), number) in prims.iter().zip(0_usize..) {
            let masks = &versioned.body.ownership.permissions;
            rights = rights & masks.base;
            // Child prims have the owner mask of their root.
            if number == 0 {
                rights = rights & masks.owner;
            }
            let items = versioned.body.contents.iter().flat_map(|contents| &contents.items);
            for item in items.filter(|item| item.inventory_type != LANDMARK) {
                let own = item.owner_rights();
                rights = rights & (own | !OF_CONTENTS);
                folded = folded & ((own & item.ownership.permissions.next_owner) | !OF_CONTENTS);
            }
        }
    }
    (rights | Mask::MOVE).bits() | ((folded.bits() >> FOLD_SHIFT) & FOLDED)
}

/// The inventory item of an item that leaves a prim. Its asset exists already.
pub(crate) fn content_transfer(origin: ItemOrigin, held: &HeldItem) -> ItemTransfer {
    let item = inventory_item(&held.item);
    // The type code of a folder equals the type code of its assets.
    let folder = FolderChoice { wanted: held.folder, type_default: item.asset_type };
    let new_folder = held.new_folder.as_deref().map(String::from);
    ItemTransfer { origin, folder, new_folder, item, asset: None, replaces: None, row: None }
}

/// An item of a prim as it would be in a user's inventory, without folder and id. An item of another owner has the masks of the next owner.
#[must_use]
pub fn item_of_content(user: AgentId, content: &ContentItem) -> Item {
    if content.ownership.owner == user {
        inventory_item(content)
    } else {
        inventory_item(&content.for_next_owner(user, Uuid::nil()))
    }
}

/// An item of a prim as it would be in its owner's inventory.
fn inventory_item(item: &ContentItem) -> Item {
    let masks = &item.ownership.permissions;
    Item {
        id: Uuid::nil(),
        folder: Uuid::nil(),
        asset: item.asset,
        asset_type: item.asset_type,
        inventory_type: item.inventory_type,
        name: item.name.to_string(),
        description: item.description.to_string(),
        flags: item.flags,
        created_s: item.created_s,
        permissions: Permissions {
            creator: item.ownership.creator.0,
            last_owner: item.ownership.last_owner.0,
            group: item.ownership.group,
            group_owned: false,
            base: masks.base.bits(),
            owner: masks.owner.bits(),
            group_mask: masks.group.bits(),
            everyone: masks.everyone.bits(),
            next_owner: masks.next_owner.bits(),
        },
        sale: Sale { kind: item.sale.kind as u8, price: item.sale.price },
    }
}

/// An inventory item in the form of a prim's item, with this id. Its owner is the owner of the inventory; the world transfers it to the owner of the
/// prim.
#[must_use]
pub fn content_of(owner: AgentId, item: &Item, id: Uuid) -> ContentItem {
    let masks = &item.permissions;
    let permissions = prim::Permissions {
        base: Mask::of_bits(masks.base),
        owner: Mask::of_bits(masks.owner),
        group: Mask::of_bits(masks.group_mask),
        everyone: Mask::of_bits(masks.everyone),
        next_owner: Mask::of_bits(masks.next_owner),
    };
    let ownership = Ownership {
        creator: AgentId(masks.creator),
        owner,
        last_owner: AgentId(masks.last_owner),
        group: masks.group,
        permissions,
    };
    let kind = SaleKind::of_code(item.sale.kind).unwrap_or_default();
    ContentItem {
        id,
        asset: item.asset,
        asset_type: item.asset_type,
        inventory_type: item.inventory_type,
        name: Arc::from(&*item.name),
        description: Arc::from(&*item.description),
        flags: item.flags,
        ownership,
        sale: prim::Sale { kind, price: item.sale.price.max(0) },
        created_s: item.created_s,
        carried: Carried::default(),
    }
}

#[cfg(test)]
mod tests;
