//! Requests of carrying bots and the server's answers, as a file that outlives the server.
//!
//! A request is in the record before its first byte leaves, so that each effect of it is explained. It is *done* once the server has answered that its effect is
//! durable. Where the protocol has no such answer a bot reads the effect back: folders, moves and removals from the inventory, which the server reads from its
//! database; prims and their contents, which it promises to have saved a second later, when they have been there for two.

use super::cargo::{CargoKey, CargoPlace, ContentHash};
use crate::record_file::{FileKind, RecordFileError, Records};
use ids::Uuid;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Files of [`CarryRecord`].
pub const CARRY_FILE: FileKind = FileKind { magic: *b"THRK", version: 2 };

/// Kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum DeedKind {
    /// A new item with its content, over HTTP.
    Upload,
    /// The same in messages: AssetUploadRequest, then CreateInventoryItem.
    UploadLegacy,
    /// A new item without content of its own.
    Create,
    /// A new folder.
    CreateFolder,
    /// A copy of an item.
    Copy,
    /// Other content of an item.
    Rewrite,
    /// Another name of an item.
    Rename,
    /// Another folder of an item.
    Move,
    /// A gift to another bot.
    Give,
    /// A new prim.
    Build,
    /// An object goes from the world into the inventory.
    Take,
    /// An object goes into the trash.
    TakeToTrash,
    /// An item becomes an object in the world.
    Rez,
    /// An item is worn.
    Wear,
    /// A worn object is taken off.
    Detach,
    /// An item goes into a prim.
    Put,
    /// An item goes out of a prim.
    TakeOut,
    /// An item goes into the trash.
    Trash,
    /// An item in the trash is removed.
    Purge,
    /// An item in a prim is removed.
    Remove,
}

impl DeedKind {
    /// Name in reports.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Upload => "upload",
            Self::UploadLegacy => "upload_legacy",
            Self::Create => "create",
            Self::CreateFolder => "create_folder",
            Self::Copy => "copy",
            Self::Rewrite => "rewrite",
            Self::Rename => "rename",
            Self::Move => "move",
            Self::Give => "give",
            Self::Build => "build",
            Self::Take => "take",
            Self::TakeToTrash => "take_to_trash",
            Self::Rez => "rez",
            Self::Wear => "wear",
            Self::Detach => "detach",
            Self::Put => "put",
            Self::TakeOut => "take_out",
            Self::Trash => "trash",
            Self::Purge => "purge",
            Self::Remove => "remove",
        }
    }

    /// True for transfers between two owners, or between inventory and world.
    #[must_use]
    pub const fn is_transfer(self) -> bool {
        matches!(self, Self::Give | Self::Take | Self::TakeToTrash | Self::Rez | Self::Put | Self::TakeOut)
    }

    /// True if the thing is nowhere once it is carried out.
    #[must_use]
    pub const fn ends_it(self) -> bool {
        matches!(self, Self::Purge | Self::Remove)
    }
}

/// Properties that a thing has at its place; of those that are `None` nothing is stated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expectation {
    /// Hash of its content: [`content_hash`](super::content_hash).
    pub content: Option<ContentHash>,
    /// Folder that holds it.
    pub folder: Option<Uuid>,
    /// Revision of its name.
    pub revision: Option<u32>,
}

/// A request about a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deed {
    /// Kind of the request.
    pub kind: DeedKind,
    /// The thing; of a gift that its receiver must not copy the receiver's instance.
    pub key: CargoKey,
    /// Place of the thing that the request names; `None` if the instance comes into being by it.
    pub from: Option<CargoPlace>,
    /// True if the thing is no longer at that place once it is carried out.
    pub leaves: bool,
    /// Its properties at the place where it is then.
    pub expected: Expectation,
}

/// An event in the life of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum CarryEvent {
    /// A process of bots begins with these: [`Self::Began`] of bot 0 stands before all other events of the process.
    Began {
        /// Their last name.
        last_name: String,
        /// Their number.
        bots: u32,
    },
    /// The bot asks for something.
    Asked {
        /// Number among the requests of the bot, over all processes.
        number: u64,
        /// The request.
        deed: Deed,
    },
    /// The server has carried it out, and the effect is durable.
    Done {
        /// Number of the request.
        number: u64,
        /// Place of the thing from now on; `None` if it has none any more, or stays at its places.
        place: Option<CargoPlace>,
        /// Asset that has the content, with its kind, if the answer names it.
        asset: Option<(Uuid, i8)>,
    },
    /// The server has refused it: it has no effect.
    Refused {
        /// Number of the request.
        number: u64,
    },
    /// A gift has come to the bot: the request of its giver is done.
    Received {
        /// The thing.
        key: CargoKey,
        /// Its item here.
        item: Uuid,
    },
    /// An audit has found the thing at these places, and no request about it is under way any more.
    Found {
        /// The thing.
        key: CargoKey,
        /// All of its places.
        places: Vec<CargoPlace>,
    },
    /// An audit is over: all assets up to here have been compared.
    Audited,
}

/// A record of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CarryRecord {
    /// Time on the machine's monotonic clock, nanoseconds.
    pub at_ns: u64,
    /// Number of the bot.
    pub bot: u32,
    /// Event.
    pub event: CarryEvent,
}

/// Bots of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarryCrew {
    /// Their last name.
    pub last_name: String,
    /// Their number.
    pub bots: u32,
}

impl CarryCrew {
    /// The bots of the last process that a record has: an audit logs in the same ones.
    ///
    /// # Errors
    /// If the file cannot be read, or is no such record.
    pub fn read(path: &Path) -> Result<Option<Self>, RecordFileError> {
        let records: Records<CarryRecord> = Records::open(path, CARRY_FILE)?;
        let began = records.filter_map(|record| match record.event {
            CarryEvent::Began { last_name, bots } => Some(Self { last_name, bots }),
            _ => None,
        });
        Ok(began.last())
    }
}

#[cfg(test)]
mod tests {
    use super::super::cargo::CargoTag;
    use super::*;
    use crate::record_file::RecordWriter;
    use ids::Instant;

    #[test]
    fn a_record_comes_back_from_its_file_and_names_its_bots() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("record");
        let key = CargoKey::unique(CargoTag { maker: 2, serial: 9 });
        let item = Uuid::from_u128(5);
        let place = CargoPlace::Item { owner: 2, item };
        let expected = Expectation { content: Some([7; 32]), folder: Some(item), revision: Some(3) };
        let deed = Deed { kind: DeedKind::Rez, key, from: Some(place), leaves: true, expected };
        let began = |bots| CarryEvent::Began { last_name: "Carrier".into(), bots };
        let events = [
            began(12),
            CarryEvent::Asked { number: 1, deed },
            CarryEvent::Done { number: 1, place: Some(CargoPlace::Object(item)), asset: None },
            CarryEvent::Refused { number: 2 },
            CarryEvent::Received { key, item },
            CarryEvent::Found { key, places: vec![place, CargoPlace::Content { prim: item, item }] },
            CarryEvent::Audited,
            began(3),
        ];
        let records: Vec<CarryRecord> =
            (0..).zip(events).map(|(at_ns, event)| CarryRecord { at_ns, bot: 1, event }).collect();
        let (mut writer, known) = RecordWriter::append(&path, CARRY_FILE, Instant::ZERO).expect("a file");
        assert!(known.is_empty());
        records.iter().for_each(|record| writer.write(record).expect("room"));
        writer.flush().expect("room");
        let read: Records<CarryRecord> = Records::open(&path, CARRY_FILE).expect("ours");
        assert_eq!(read.collect::<Vec<_>>(), records);
        let crew = CarryCrew::read(&path).expect("ours");
        assert_eq!(crew, Some(CarryCrew { last_name: "Carrier".into(), bots: 3 }), "of the last process");
    }

    #[test]
    fn kinds_have_different_names() {
        let kinds = [
            DeedKind::Take,
            DeedKind::TakeOut,
            DeedKind::TakeToTrash,
            DeedKind::Put,
            DeedKind::Purge,
            DeedKind::Remove,
        ];
        let labels: std::collections::BTreeSet<&str> = kinds.iter().map(|kind| kind.label()).collect();
        assert_eq!(labels.len(), kinds.len());
        assert!(DeedKind::Give.is_transfer() && !DeedKind::Upload.is_transfer());
        assert!(kinds.into_iter().filter(|kind| kind.ends_it()).eq([DeedKind::Purge, DeedKind::Remove]));
    }
}
