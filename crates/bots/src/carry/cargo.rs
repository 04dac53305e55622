//! Identity and places of the things that bots carry.
//!
//! Ids change hands: an item that is given, rezzed or taken gets another one. A thing is therefore known by its name, which goes with it everywhere. The first
//! word of the name is the [`CargoTag`].

use ids::Uuid;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Hash of content: BLAKE3.
pub type ContentHash = [u8; 32];

/// Beginning of the names of carried things.
const PREFIX: &str = "carry-";

/// Serial number of a bot's prim for the contents of others, which is never carried itself.
pub const CHEST_SERIAL: u32 = 0;

/// A thing: the bot that made it, and its number among the things of that bot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CargoTag {
    /// Number of the bot.
    pub maker: u32,
    /// Number among its things, [`CHEST_SERIAL`] for its chest.
    pub serial: u32,
}

impl CargoTag {
    /// The tag in a name; none in the name of another thing.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let (maker, serial) = name.split(' ').next()?.strip_prefix(PREFIX)?.split_once('-')?;
        Some(Self { maker: maker.parse().ok()?, serial: serial.parse().ok()? })
    }

    /// Revision in a name: how often the thing was renamed. 0 in a name without one.
    #[must_use]
    pub fn revision_of(name: &str) -> u32 {
        let revision = name.split(' ').nth(1).and_then(|word| word.strip_prefix('r'));
        revision.and_then(|revision| revision.parse().ok()).unwrap_or(0)
    }

    /// A name with it.
    #[must_use]
    pub fn name(self, revision: u32) -> String {
        if revision == 0 { self.to_string() } else { format!("{self} r{revision}") }
    }

    /// True for the prim that holds other things.
    #[must_use]
    pub const fn is_chest(self) -> bool {
        self.serial == CHEST_SERIAL
    }
}

impl fmt::Display for CargoTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}-{}", self.maker, self.serial)
    }
}

/// A thing, or its instances that their owners must not copy: of those there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CargoKey {
    /// The thing.
    pub tag: CargoTag,
    /// True for the instance that must not be copied.
    pub is_unique: bool,
}

impl CargoKey {
    /// The instances of a thing that may be copied.
    #[must_use]
    pub const fn common(tag: CargoTag) -> Self {
        Self { tag, is_unique: false }
    }

    /// The instance that must not be copied.
    #[must_use]
    pub const fn unique(tag: CargoTag) -> Self {
        Self { tag, is_unique: true }
    }
}

impl fmt::Display for CargoKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.tag, if self.is_unique { " (no copy)" } else { "" })
    }
}

/// A place of a thing. Owners are numbers of bots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CargoPlace {
    /// An item of an inventory.
    Item {
        /// Owner of the inventory.
        owner: u32,
        /// Id of the item.
        item: Uuid,
    },
    /// A folder of an inventory.
    Folder {
        /// Owner of the inventory.
        owner: u32,
        /// Id of the folder.
        folder: Uuid,
    },
    /// An object in the world.
    Object(Uuid),
    /// An item in a prim.
    Content {
        /// The prim.
        prim: Uuid,
        /// Id of the item there.
        item: Uuid,
    },
}

impl fmt::Display for CargoPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Item { owner, item } => write!(f, "item {item} of bot {owner}"),
            Self::Folder { owner, folder } => write!(f, "folder {folder} of bot {owner}"),
            Self::Object(id) => write!(f, "object {id}"),
            Self::Content { prim, item } => write!(f, "item {item} in prim {prim}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_read_out_of_every_name_that_has_it() {
        let tag = CargoTag { maker: 3, serial: 120 };
        for (name, revision) in [("carry-3-120", 0), ("carry-3-120 r7", 7), ("carry-3-120 1", 0)] {
            assert_eq!(
                (CargoTag::of_name(name), CargoTag::revision_of(name)),
                (Some(tag), revision),
                "{name}"
            );
        }
        assert_eq!(tag.name(0), "carry-3-120");
        assert_eq!(CargoTag::revision_of(&tag.name(12)), 12);
        for other in ["", "Primitive", "carry-", "carry-3", "carry-3-", "carry-x-1", "my carry-3-120"] {
            assert_eq!(CargoTag::of_name(other), None, "{other}");
        }
        assert!(CargoTag { maker: 0, serial: CHEST_SERIAL }.is_chest() && !tag.is_chest());
    }
}
