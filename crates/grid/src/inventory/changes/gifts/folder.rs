//! The gift of a folder with its content: it comes into the receiver's root. The giver keeps the folder, and the items in it that may be copied.

use super::super::permissions;
use super::super::replies::{self, ReplyRows};
use super::ready_gift::{ReadyGift, check, received};
use super::{GIFT_ROWS_MAX, GiftOffer, GiftRefusal, Thing, id_within, root};
use std::collections::BTreeMap;
use store::{
    Folder, FolderContents, GivenItem, InventoryChange, InventoryGift, InventoryLimits, Item, NewFolder,
    Offer, SYSTEM_FOLDER_TYPES, Store, StoreError,
};
use uuid::Uuid;

/// The gift of a folder. Links in it, and items that may not be given away, are left out.
pub(super) fn ready(
    store: &Store,
    offer: Offer,
    wanted: &GiftOffer,
) -> Result<Result<ReadyGift, GiftRefusal>, StoreError> {
    if offer.giver == offer.receiver {
        return Ok(Err(GiftRefusal::Oneself));
    }
    // The reason by which its content does not matter first: a root has more than a gift may have, too.
    match store.folder(offer.giver, wanted.id)? {
        Some(given) if is_system(&given) => return Ok(Err(GiftRefusal::SystemFolder)),
        Some(_) => {}
        None => return Ok(Err(GiftRefusal::UnknownThing)),
    }
    let (folders, items) = match store.folder_contents(offer.giver, wanted.id, GIFT_ROWS_MAX)? {
        FolderContents::Whole { folders, items } => (folders, items),
        FolderContents::TooLarge => return Ok(Err(GiftRefusal::TooLarge)),
        FolderContents::Unknown => return Ok(Err(GiftRefusal::UnknownThing)),
    };
    if folders.iter().any(is_system) {
        return Ok(Err(GiftRefusal::SystemFolder));
    }
    let Some(parent) = root(store, offer.receiver)? else {
        return Ok(Err(GiftRefusal::UnknownReceiver));
    };
    let limits = store.inventory_limits();
    Ok(Ok(ready_within(offer, wanted, parent, (&folders[..], items), limits)))
}

fn is_system(folder: &Folder) -> bool {
    folder.parent.is_nil() || SYSTEM_FOLDER_TYPES.contains(&folder.type_default)
}

/// The gift of these folders, each behind its parent and the given one first, with these items.
fn ready_within(
    offer: Offer,
    wanted: &GiftOffer,
    parent: Uuid,
    (folders, items): (&[Folder], Vec<Item>),
    limits: InventoryLimits,
) -> ReadyGift {
    let new_id = |id| if id == wanted.id { offer.id } else { id_within(offer.id, id) };
    let new_ids: BTreeMap<Uuid, Uuid> = folders.iter().map(|folder| (folder.id, new_id(folder.id))).collect();
    let (mut made, mut rows) = (Vec::new(), ReplyRows::default());
    let received_folders: Vec<Folder> = folders
        .iter()
        .map(|folder| Folder {
            id: new_ids[&folder.id],
            parent: new_ids.get(&folder.parent).copied().unwrap_or(parent),
            version: 1,
            ..folder.clone()
        })
        .collect();
    for folder in &received_folders {
        let Folder { id, parent, name, type_default, .. } = folder.clone();
        made.push(InventoryChange::CreateFolder(NewFolder { id, parent, name, type_default }));
        rows.push(replies::folder(folder));
    }
    let is_wanted = |item: &Item| {
        item.folder != wanted.id || wanted.listed.is_empty() || wanted.listed.contains(&item.id)
    };
    let (mut given, mut n_left_out) = (Vec::new(), 0);
    for item in items.into_iter().filter(is_wanted) {
        if check(&item).is_err() {
            n_left_out += 1;
            continue;
        }
        let received = received(&item, &offer, id_within(offer.id, item.id), new_ids[&item.folder]);
        rows.push(replies::item(offer.receiver, &received, 0));
        made.push(InventoryChange::CreateItem(received));
        let leaves = !permissions::may_copy(&item.permissions);
        given.push(GivenItem { item, leaves });
    }
    let top = received_folders.into_iter().next().expect("the given folder is the first one");
    ReadyGift {
        gift: InventoryGift { offer, items: given, made, limits },
        thing: Thing::Folder(top),
        rows,
        n_left_out,
    }
}
