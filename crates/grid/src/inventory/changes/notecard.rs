//! Items that are embedded in notecards, and come out of them: CopyInventoryFromNotecard, as a message and as a capability.
//!
//! Any client writes a notecard, so that asset and rights of an embedded item are its writer's claims. A copy is made
//!
//! - of an item that the user has itself,
//! - of content that is free to all: the server's own, landmarks and calling cards,
//! - of content that the notecard's writer has brought onto the server itself, but for objects, and
//! - of an item that the writer still has, with no more rights than that has.
//!
//! Notecards of archives state what their grid has allowed. The copy has the rights of the next owner. The same holds of a notecard in an object that the user may
//! read: its writer is the creator of its content, not the owner of the object.

use super::gifts::folder_for;
use super::replies::{self, Answer};
use super::{
    ChangeInventoryError, ChangeRefusal, InventoryParts, InventoryReplies, Planner, Step, apply_steps, items,
    next_owner, permissions, text,
};
use crate::inventory::{AssetType, InventoryType};
use crate::random_id;
use assets::{AssetKind, EmbeddedItem, read_embedded_items};
use ids::AgentId;
use store::{AssetRow, InventoryChange, Item, Permissions, Sale};
use uuid::Uuid;
use wire::llsd::Llsd;
use wire::messages::*;

/// Ends of the origin of content that operators have loaded, which is the name of the archive.
const ARCHIVES: [&str; 2] = [".oar", ".iar"];

/// A request for copies of embedded items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotecardCopy {
    /// The notecard.
    pub notecard: NotecardPlace,
    /// The embedded items.
    pub copies: Vec<EmbeddedCopy>,
}

/// A notecard that items are embedded in, as a request names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotecardPlace {
    /// The notecard's item.
    pub item: Uuid,
    /// The object that has it in it; nil for the user's inventory.
    pub object: Uuid,
    /// Its asset in the object, if it is there and the user may read it ([`may_read`](crate::contents::may_read)). The caller finds it, who sees the region.
    pub asset: Option<Uuid>,
}

/// An embedded item to be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmbeddedCopy {
    /// Its id in the notecard.
    pub item: Uuid,
    /// Folder for the copy; nil for the one of its kind.
    pub folder: Uuid,
    /// Number of the client's callback.
    pub callback_id: u32,
}

impl From<CopyInventoryFromNotecard> for NotecardCopy {
    fn from(m: CopyInventoryFromNotecard) -> Self {
        let CopyInventoryFromNotecardNotecardData { notecard_item_id, object_id } = m.notecard_data;
        let copy = |row: &CopyInventoryFromNotecardInventoryData| EmbeddedCopy {
            item: row.item_id,
            folder: row.folder_id,
            callback_id: 0,
        };
        let copies = m.inventory_data.iter().map(copy).collect();
        Self { notecard: NotecardPlace::named(notecard_item_id, object_id), copies }
    }
}

impl NotecardPlace {
    /// A place as a request names it; the asset of a notecard in an object is not known yet.
    #[must_use]
    pub const fn named(item: Uuid, object: Uuid) -> Self {
        Self { item, object, asset: None }
    }
}

impl NotecardCopy {
    /// A copy by the request of the capability: `{notecard-id, object-id, item-id, folder-id, callback-id}`.
    #[must_use]
    pub fn of_llsd(request: &Llsd) -> Self {
        let id_of = |key| request.get(key).as_uuid().unwrap_or(Uuid::nil());
        let callback_id = request.get("callback-id").as_i32().unwrap_or(0).cast_unsigned();
        let copy = EmbeddedCopy { item: id_of("item-id"), folder: id_of("folder-id"), callback_id };
        let notecard = NotecardPlace::named(id_of("notecard-id"), id_of("object-id"));
        Self { notecard, copies: vec![copy] }
    }
}

/// Makes the copies, each as BulkUpdateInventory.
pub(super) fn copy(
    parts: InventoryParts<'_>,
    planner: Planner<'_>,
    request: &NotecardCopy,
) -> Result<InventoryReplies, ChangeInventoryError> {
    let mut notecard = None;
    let mut steps = Vec::new();
    for copy in &request.copies {
        if let Some(own) = own_copy(planner, copy)? {
            steps.push(own);
            continue;
        }
        if notecard.is_none() {
            notecard = Some(read(parts, planner.agent, request.notecard)?);
        }
        let step = match notecard.as_ref().expect("it was just read") {
            Ok(notecard) => notecard.step(parts, planner, copy)?,
            Err(refusal) => refused(copy, refusal.clone()),
        };
        steps.push(step);
    }
    apply_steps(planner.store, planner.agent, steps, Uuid::nil())
}

fn refused(copy: &EmbeddedCopy, refusal: ChangeRefusal) -> Step {
    Step { change: Err(refusal), made: Answer::Nothing, refused: unmade(copy) }
}

/// The null item for the callback of a copy that is not made, if its client waits for one.
fn unmade(copy: &EmbeddedCopy) -> Answer {
    if copy.callback_id == 0 {
        return Answer::Nothing;
    }
    replies::unmade_copy(&CopyInventoryItemInventoryData {
        callback_id: copy.callback_id,
        new_folder_id: copy.folder,
        ..CopyInventoryItemInventoryData::default()
    })
}

/// A copy of an item that the user has itself.
fn own_copy(planner: Planner<'_>, copy: &EmbeddedCopy) -> Result<Option<Step>, ChangeInventoryError> {
    let Some(own) = planner.store.item(planner.agent, copy.item)? else { return Ok(None) };
    let folder = target(planner, copy, own.asset_type)?;
    let row = CopyInventoryItemInventoryData {
        callback_id: copy.callback_id,
        old_item_id: own.id,
        new_folder_id: folder,
        ..CopyInventoryItemInventoryData::default()
    };
    Ok(Some(planner.copy_item(&row)?))
}

/// Folder for a copy.
fn target(planner: Planner<'_>, copy: &EmbeddedCopy, asset_type: i8) -> Result<Uuid, ChangeInventoryError> {
    if !copy.folder.is_nil() {
        return Ok(copy.folder);
    }
    Ok(folder_for(planner.store, planner.agent, asset_type)?.unwrap_or(Uuid::nil()))
}

/// A notecard that was read.
struct Notecard {
    row: AssetRow,
    items: Vec<EmbeddedItem>,
}

/// Reads a notecard of the user's inventory, or one in an object.
fn read(
    parts: InventoryParts<'_>,
    agent: AgentId,
    NotecardPlace { item, object, asset }: NotecardPlace,
) -> Result<Result<Notecard, ChangeRefusal>, ChangeInventoryError> {
    let asset = if object.is_nil() {
        let found = parts.store.item(agent, item)?.filter(|item| item.asset_type == AssetType::NOTECARD);
        found.map(|found| found.asset).ok_or_else(|| items::unknown(item))
    } else {
        asset.ok_or(ChangeRefusal::NotReadable)
    };
    let asset = match asset {
        Ok(asset) => asset,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let (stored, asset) = (parts.store.asset(asset)?, parts.assets.read(asset)?);
    let notecard = stored.zip(asset).filter(|(_, asset)| asset.kind == AssetKind::Notecard);
    // A new notecard has no asset of its own, and no items.
    let Some((stored, asset)) = notecard else { return Ok(Err(ChangeRefusal::NotEmbedded)) };
    Ok(match read_embedded_items(&asset.bytes) {
        Ok(items) => Ok(Notecard { row: stored.row, items }),
        Err(_) => Err(ChangeRefusal::NotEmbedded),
    })
}

/// An item that is embedded in a notecard, as the user would have it: in no folder, and with an id of its own.
pub(super) fn embedded_item(
    parts: InventoryParts<'_>,
    agent: AgentId,
    (notecard, item): (NotecardPlace, Uuid),
    unix_s: i64,
) -> Result<Result<Item, ChangeRefusal>, ChangeInventoryError> {
    match read(parts, agent, notecard)? {
        Ok(notecard) => notecard.item(parts, item, unix_s),
        Err(refusal) => Ok(Err(refusal)),
    }
}

impl Notecard {
    fn step(
        &self,
        parts: InventoryParts<'_>,
        planner: Planner<'_>,
        copy: &EmbeddedCopy,
    ) -> Result<Step, ChangeInventoryError> {
        let item = match self.item(parts, copy.item, planner.unix_s)? {
            Ok(item) => item,
            Err(refusal) => return Ok(refused(copy, refusal)),
        };
        let item = Item { folder: target(planner, copy, item.asset_type)?, ..item };
        let made = replies::item(planner.agent, &item, copy.callback_id);
        Ok(Step { change: Ok(InventoryChange::CreateItem(item)), made, refused: unmade(copy) })
    }

    /// An embedded item as its reader would have it.
    fn item(
        &self,
        parts: InventoryParts<'_>,
        id: Uuid,
        unix_s: i64,
    ) -> Result<Result<Item, ChangeRefusal>, ChangeInventoryError> {
        let embedded = self.items.iter().find(|embedded| embedded.id == id);
        let Some((embedded, kind)) = embedded.and_then(|embedded| Some((embedded, embedded.kind?))) else {
            return Ok(Err(ChangeRefusal::NotEmbedded));
        };
        let claimed = claimed_item(embedded, kind);
        let may_give =
            permissions::may_copy(&claimed.permissions) && next_owner::may_transfer(&claimed.permissions);
        if !may_give || !self.is_credible(parts, embedded, kind)? {
            return Ok(Err(ChangeRefusal::NotGiven));
        }
        let (permissions, flags) = next_owner::for_next_owner(&claimed, self.row.creator);
        Ok(Ok(Item { id: random_id()?, permissions, flags, created_s: unix_s, ..claimed }))
    }

    /// True if the writer may have embedded this, by the rules above.
    fn is_credible(
        &self,
        parts: InventoryParts<'_>,
        embedded: &EmbeddedItem,
        kind: AssetKind,
    ) -> Result<bool, ChangeInventoryError> {
        let author = self.row.creator;
        let is_free = matches!(kind, AssetKind::Landmark | AssetKind::CallingCard);
        let is_of_archive = ARCHIVES.iter().any(|end| self.row.origin.ends_with(end));
        if embedded.asset.is_nil() {
            return Ok(is_free);
        }
        let Some(stored) = parts.store.asset(embedded.asset)? else {
            return Ok(parts.assets.cached_of_kind(embedded.asset, kind).is_some());
        };
        if stored.row.kind != kind.number() {
            return Ok(false);
        }
        let is_own = kind != AssetKind::Object && stored.row.creator == author && !author.0.is_nil();
        if is_free || is_own || is_of_archive {
            return Ok(true);
        }
        let Some(original) = parts.store.item(author, embedded.id)? else { return Ok(false) };
        let rights = &original.permissions;
        let claims = [
            (embedded.base_mask, rights.base),
            (embedded.owner_mask & embedded.base_mask, rights.owner & rights.base),
            (embedded.next_owner_mask, rights.next_owner),
        ];
        Ok(original.asset == embedded.asset
            && original.asset_type == kind.number()
            && original.permissions.creator == embedded.creator
            && claims
                .iter()
                .all(|&(claimed, real)| prim::Mask::of_bits(real).has(prim::Mask::of_bits(claimed))))
    }
}

/// The item as the notecard states it.
fn claimed_item(embedded: &EmbeddedItem, kind: AssetKind) -> Item {
    let is_snapshot = embedded.is_snapshot && kind == AssetKind::Texture;
    let inventory_type = if is_snapshot { InventoryType::SNAPSHOT } else { InventoryType::of(kind) };
    Item {
        id: embedded.id,
        folder: Uuid::nil(),
        asset: embedded.asset,
        asset_type: kind.number(),
        inventory_type,
        name: text::name_of(&embedded.name).unwrap_or_else(|| items::UNNAMED.to_owned()),
        description: text::description_of(&embedded.description),
        flags: embedded.flags,
        created_s: 0,
        permissions: Permissions {
            creator: embedded.creator,
            last_owner: embedded.owner,
            group: Uuid::nil(),
            group_owned: false,
            base: embedded.base_mask,
            owner: embedded.owner_mask,
            group_mask: 0,
            everyone: 0,
            next_owner: embedded.next_owner_mask,
        },
        sale: Sale::default(),
    }
}
