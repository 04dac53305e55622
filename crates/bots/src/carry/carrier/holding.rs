//! Things that a bot has, and its requests about them.

use crate::carry::cargo::{CargoKey, CargoPlace, ContentHash};
use crate::carry::content::Content;
use crate::carry::item_row::{ItemRow, OBJECT};
use crate::carry::record::{DeedKind, Expectation};
use glam::Vec3;
use ids::{Instant, LocalId, Uuid};

/// A thing at the place where the bot has it.
#[derive(Clone, Debug)]
pub(super) struct Holding {
    pub(super) key: CargoKey,
    pub(super) at: HeldAt,
    /// Hash of its content, if the bot knows it.
    pub(super) content: Option<ContentHash>,
    /// True while a request about it has no answer, and while it is worn.
    pub(super) is_busy: bool,
    /// True of all originals of a thing once the bot has given an instance away that must not be copied: of those there is one.
    pub(super) is_spent: bool,
}

/// Place of a thing, with the fields that requests about it state.
#[derive(Clone, Debug)]
pub(super) enum HeldAt {
    /// An item of the bot's inventory.
    Item(ItemRow),
    /// A folder of it.
    Folder(Uuid),
    /// An object in the world.
    Object { id: Uuid, local: LocalId },
    /// An item in the bot's chest.
    Content { prim: Uuid, local: LocalId, row: ItemRow },
}

impl Holding {
    pub(super) const fn new(key: CargoKey, at: HeldAt, content: Option<ContentHash>) -> Self {
        Self { key, at, content, is_busy: false, is_spent: false }
    }

    pub(super) const fn place(&self, owner: u32) -> CargoPlace {
        match &self.at {
            HeldAt::Item(row) => CargoPlace::Item { owner, item: row.id },
            HeldAt::Folder(folder) => CargoPlace::Folder { owner, folder: *folder },
            HeldAt::Object { id, .. } => CargoPlace::Object(*id),
            HeldAt::Content { prim, row, .. } => CargoPlace::Content { prim: *prim, item: row.id },
        }
    }

    /// Its row, if it is an item of the inventory.
    pub(super) const fn item(&self) -> Option<&ItemRow> {
        match &self.at {
            HeldAt::Item(row) => Some(row),
            _ => None,
        }
    }

    /// True for an item of the inventory that is an object, and is not in this folder: the trash.
    pub(super) fn is_object_item(&self, trash: Uuid) -> bool {
        self.item().is_some_and(|row| row.asset_type == OBJECT && row.folder != trash)
    }

    pub(super) fn is_in(&self, folder: Uuid) -> bool {
        self.item().is_some_and(|row| row.folder == folder)
    }
}

/// A request under way.
#[derive(Clone, Debug)]
pub(super) struct Errand {
    pub(super) kind: DeedKind,
    pub(super) key: CargoKey,
    pub(super) expected: Expectation,
    /// The thing that it is about, if the bot has it.
    pub(super) holding: Option<u64>,
    pub(super) asked_at: Instant,
    pub(super) wait: Wait,
}

/// The event that a request waits for.
#[derive(Clone, Debug)]
pub(super) enum Wait {
    /// The address for the bytes of an upload.
    Uploader(Content),
    /// The end of an upload, by the kind of its asset.
    Stored(i8),
    /// A legacy upload: the file, then the item of this callback.
    Legacy(LegacyUpload),
    /// A row with this callback.
    Row(u32),
    /// The answer to a capability that makes a folder.
    Folder(Uuid),
    /// A reading of the effect.
    Confirmed(Confirmation),
    /// The confirmation of another request, which has the same effect.
    Shared,
    /// A row of an item that comes from the world. The number is that of DeRezObject.
    Taken(Uuid),
    /// A new prim here.
    Built { position: Vec3, scale: Vec3, becomes_unique: bool },
    /// The name of a new prim, and then the time after which it is saved.
    Named { id: Uuid, local: LocalId, saved_at: Option<Instant>, select_at: Instant },
    /// An object that appears here, and the removal of its item if that leaves.
    Shown { position: Vec3, shown: Option<(Uuid, LocalId)>, is_removed: bool, saved_at: Option<Instant> },
    /// A worn object.
    Worn,
    /// The removal of a worn object.
    Gone(LocalId),
    /// The end of a gift: the removal of the item, or the answer of the receiver.
    Gift { transaction: Uuid, item: Uuid, leaves: bool },
    /// The item in the prim: from this time on its contents are read.
    Put { prim: Uuid, local: LocalId, read_at: Option<Instant>, is_reading: bool },
}

/// An upload in messages.
#[derive(Clone, Debug)]
pub(super) struct LegacyUpload {
    pub(super) transaction: Uuid,
    pub(super) asset: Uuid,
    pub(super) content: Content,
    pub(super) callback: u32,
    pub(super) name: String,
    pub(super) next_owner: u32,
    /// Number of the file, once the server has asked for it.
    pub(super) xfer: Option<u64>,
    /// True once the item was asked for.
    pub(super) is_created: bool,
}

/// A reading that shows the effect of a request.
#[derive(Clone, Debug)]
pub(super) struct Confirmation {
    pub(super) of: Effect,
    /// Time of the next reading, unless one is under way.
    pub(super) read_at: Option<Instant>,
}

/// The effect that is looked for.
#[derive(Clone, Debug)]
pub(super) enum Effect {
    /// The folder exists.
    Folder(Uuid),
    /// The item is in the folder.
    ItemIn { item: Uuid, folder: Uuid },
    /// The items are gone. Each belongs to a request.
    Gone(Vec<(u64, Uuid)>),
    /// The item is out of the prim, and was so in an earlier reading: the prim is saved since.
    OutOf { prim: Uuid, item: Uuid, was_out: bool },
}

/// An item whose row is read over HTTP.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lookup {
    pub(super) item: Uuid,
    pub(super) purpose: LookupPurpose,
}

/// Reason for which it is read.
#[derive(Clone, Copy, Debug)]
pub(super) enum LookupPurpose {
    /// The bot has uploaded it with this content.
    Uploaded(Option<ContentHash>),
    /// It is a gift, whose row has not come.
    Gift { is_declined: bool },
}
