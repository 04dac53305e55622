//! Gifts of an operator to an account: a copy of another account's item, or an item for an asset. They are in the inventory at once, without an offer.

use super::gifts::folder_for;
use super::new_item::StatedItem;
use super::replies::{self, ReplyRows};
use super::{InventoryNotice, InventoryParts, next_owner, permissions, uploaded_item};
use crate::asset_sources::AssetSources;
use crate::inventory::InventoryType;
use crate::random_id;
use assets::AssetKind;
use ids::AgentId;
use prim::Mask;
use store::{InventoryChange, InventoryRefusal, Item, Sale, StoreError};
use uuid::Uuid;

/// Subject of such a gift.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GivenThing {
    /// A copy of an item, with the rights of its next owner.
    Item {
        /// Owner of the item.
        from: AgentId,
        /// The item.
        item: Uuid,
    },
    /// An item of an asset, with all rights.
    Asset(Uuid),
}

/// Reasons for which nothing is given.
#[derive(Debug, thiserror::Error)]
pub enum GiveError {
    /// The receiver has no inventory.
    #[error("the account {0} does not exist")]
    UnknownReceiver(Uuid),
    /// The owner has no such item.
    #[error("there is no item {0} in that inventory")]
    UnknownItem(Uuid),
    /// No source has such an asset.
    #[error("there is no asset {0}")]
    UnknownAsset(Uuid),
    /// A link has no content.
    #[error("the item is a link: give the item that it leads to")]
    Link,
    /// The item may not be copied: it exists once.
    #[error("the item may not be copied: only its owner can give it")]
    NoCopy,
    /// Assets of this kind say too little for an item.
    #[error("an asset of the kind {0} needs an item that says how it is worn: give such an item")]
    Wearable(&'static str),
    /// A bake, which is removed some time after its last use.
    #[error("the asset is temporary")]
    Temporary,
    /// The inventory does not take it.
    #[error(transparent)]
    Refused(#[from] InventoryRefusal),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No random number for an id.
    #[error("the system gives no random numbers")]
    Random(#[from] getrandom::Error),
}

/// Gives an item, which is on the disk when this returns: the item as the receiver has it, and the notice for the receiver's client. `name` is the item's name;
/// without it a copy keeps its name, and an asset is called by its kind.
///
/// # Errors
/// [`GiveError`]; then nothing is given, unless the outcome of the transaction is unknown.
pub fn give_thing(
    parts: InventoryParts<'_>,
    to: AgentId,
    thing: &GivenThing,
    name: Option<&str>,
    unix_s: i64,
) -> Result<(Item, InventoryNotice), GiveError> {
    let mut item = match thing {
        GivenThing::Item { from, item } => copy_of(parts, *from, *item)?,
        GivenThing::Asset(asset) => item_of(parts, to, *asset, unix_s)?,
    };
    item.folder = folder_for(parts.store, to, item.asset_type)?.ok_or(GiveError::UnknownReceiver(to.0))?;
    item.created_s = unix_s;
    if let Some(name) = name.and_then(super::text::name_of) {
        item.name = name;
    }
    let change = [InventoryChange::CreateItem(item.clone())];
    let outcomes = match parts.store.change_inventory(to, &change, &parts.store.inventory_limits()) {
        Err(StoreError::UnknownAccount(_)) => return Err(GiveError::UnknownReceiver(to.0)),
        outcomes => outcomes?,
    };
    outcomes.into_iter().next().expect("the store has an outcome for each change")?;
    let mut rows = ReplyRows::default();
    rows.push(replies::item(to, &item, 0));
    let messages = rows.into_messages(to, Uuid::nil());
    Ok((item, InventoryNotice { to, messages, offer: None }))
}

/// A copy as its next owner has it.
fn copy_of(parts: InventoryParts<'_>, from: AgentId, id: Uuid) -> Result<Item, GiveError> {
    let item = parts.store.item(from, id)?.ok_or(GiveError::UnknownItem(id))?;
    if super::items::is_link(&item) {
        return Err(GiveError::Link);
    }
    if !permissions::may_copy(&item.permissions) {
        return Err(GiveError::NoCopy);
    }
    let (permissions, flags) = next_owner::for_next_owner(&item, from);
    Ok(Item { id: random_id()?, permissions, flags, sale: Sale::default(), ..item })
}

/// An item for an asset, with all rights.
fn item_of(parts: InventoryParts<'_>, to: AgentId, id: Uuid, unix_s: i64) -> Result<Item, GiveError> {
    let unknown = || GiveError::UnknownAsset(id);
    let (kind, creator) = if AssetSources::is_own(id) {
        (parts.assets.cached(id).ok_or_else(unknown)?.kind, None)
    } else {
        let row = parts.store.asset(id)?.ok_or_else(unknown)?.row;
        if row.used_s.is_some() {
            return Err(GiveError::Temporary);
        }
        (AssetKind::from_number(row.kind).ok_or_else(unknown)?, Some(row.creator))
    };
    // The flags of their items have the place on the body, which the asset's kind does not say.
    if matches!(kind, AssetKind::Clothing | AssetKind::BodyPart) {
        return Err(GiveError::Wearable(kind.name()));
    }
    let all = Mask::ALL.bits();
    let stated = StatedItem {
        folder: Uuid::nil(),
        name: kind.name(),
        description: "",
        flags: 0,
        group: 0,
        everyone: 0,
        next_owner: all,
    };
    let mut item = uploaded_item(to, kind, InventoryType::of(kind), &stated, unix_s)?;
    item.asset = id;
    if let Some(creator) = creator.filter(|creator| !creator.0.is_nil()) {
        item.permissions.creator = creator.0;
    }
    Ok(item)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::tests::{create, store_with_ada};
    use ids::PLYWOOD_TEXTURE;
    use store::{AssetHash, AssetRow, Store};
    use wire::messages::Message;

    const EVE: AgentId = AgentId(Uuid::from_u128(0xE));

    fn give(
        store: &Store,
        thing: &GivenThing,
        name: Option<&str>,
    ) -> Result<(Item, InventoryNotice), GiveError> {
        let assets = AssetSources::in_memory();
        give_thing(InventoryParts { store, assets: &assets }, EVE, thing, name, 9)
    }

    /// A store with Ada and Eve, and a body part of Ada's.
    fn two() -> (Store, AgentId, Item) {
        let (store, ada) = store_with_ada();
        create(&store, EVE, "Eve", "Byron");
        let body = store.folder_of_type(ada, 13).unwrap().expect("a folder of the skeleton");
        let item = store.items_in(ada, body.id, 1).unwrap().remove(0);
        (store, ada, item)
    }

    #[test]
    fn a_copy_is_in_the_inventory_with_the_rights_of_its_next_owner() {
        let (store, ada, item) = two();
        let (given, notice) = give(&store, &GivenThing::Item { from: ada, item: item.id }, None).unwrap();
        assert_eq!(store.item(EVE, given.id).unwrap().as_ref(), Some(&given));
        assert_eq!((&given.name, given.asset, given.permissions.last_owner), (&item.name, item.asset, ada.0));
        let (permissions, _) = next_owner::for_next_owner(&item, ada);
        assert_eq!(given.permissions, permissions);
        assert_eq!(store.item(ada, item.id).unwrap(), Some(item), "its owner keeps it");
        assert!(matches!(&notice.messages[..], [Message::BulkUpdateInventory(_)]), "{notice:?}");
        assert_eq!((notice.to, notice.offer), (EVE, None));
    }

    #[test]
    fn an_asset_gets_an_item_in_the_folder_of_its_kind() {
        let (store, ..) = two();
        let (own, _) = give(&store, &GivenThing::Asset(PLYWOOD_TEXTURE), Some("Planks\u{7}")).unwrap();
        assert_eq!((own.name.as_str(), own.asset, own.asset_type), ("Planks ", PLYWOOD_TEXTURE, 0));
        let textures = store.folder_of_type(EVE, 0).unwrap().expect("a folder of the skeleton").id;
        assert_eq!((own.folder, own.permissions.creator), (textures, EVE.0));
        let row = |id: u128, kind, used_s| AssetRow {
            id: Uuid::from_u128(id),
            hash: AssetHash([id as u8; 32]),
            kind,
            length: 5,
            creator: AgentId(Uuid::from_u128(0xA)),
            created_s: 7,
            origin: "test".into(),
            used_s,
        };
        store.add_assets(&[row(1, 1, None), row(2, 0, Some(7)), row(3, 5, None)]).unwrap();
        let (sound, _) = give(&store, &GivenThing::Asset(Uuid::from_u128(1)), None).unwrap();
        assert_eq!((sound.asset_type, sound.permissions.creator), (1, Uuid::from_u128(0xA)));
        let refused = |id| give(&store, &GivenThing::Asset(Uuid::from_u128(id)), None).unwrap_err();
        assert!(matches!(refused(2), GiveError::Temporary));
        assert!(matches!(refused(3), GiveError::Wearable(_)));
        assert!(matches!(refused(4), GiveError::UnknownAsset(_)));
    }

    #[test]
    fn links_foreign_and_unique_items_are_refused() {
        let (store, ada, item) = two();
        let outfit = store.folder_of_type(ada, 46).unwrap().expect("a folder of the skeleton");
        let link = store.items_in(ada, outfit.id, 1).unwrap().remove(0).id;
        let refused = |from, item| give(&store, &GivenThing::Item { from, item }, None).unwrap_err();
        assert!(matches!(refused(ada, link), GiveError::Link));
        assert!(matches!(refused(ada, Uuid::from_u128(77)), GiveError::UnknownItem(_)));
        assert!(matches!(refused(AgentId(Uuid::from_u128(5)), item.id), GiveError::UnknownItem(_)));
        let mut unique = item.clone();
        unique.id = Uuid::from_u128(99);
        unique.permissions.owner &= !Mask::COPY.bits();
        let made = store.change_inventory(
            ada,
            &[InventoryChange::CreateItem(unique.clone())],
            &store.inventory_limits(),
        );
        assert!(made.unwrap()[0].is_ok());
        assert!(matches!(refused(ada, unique.id), GiveError::NoCopy));
        let stranger = AgentId(Uuid::from_u128(4));
        let assets = AssetSources::in_memory();
        let parts = InventoryParts { store: &store, assets: &assets };
        let thing = GivenThing::Asset(PLYWOOD_TEXTURE);
        assert!(matches!(give_thing(parts, stranger, &thing, None, 9), Err(GiveError::UnknownReceiver(_))));
    }
}
