//! Contents of a prim: items, each a name for an asset with an owner and masks of its own.
//!
//! The rules are OpenSimulator's: names differ within a prim, and an item without [`Mask::COPY`] for its owner moves instead of being copied.

use crate::ownership::{DESCRIPTION_MAX, NAME_MAX, Ownership, Sale};
use crate::permissions::Mask;
use ids::{AgentId, Uuid};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// Items of a prim.
pub const CONTENT_ITEMS_MAX: usize = 1_024;
/// Bytes of [`Carried`] data of a prim, and of an item.
pub const CARRIED_MAX: usize = 64 * 1_024;
/// Bytes of [`Carried`] data of all items of a prim: a prim with as many items as it may have is shorter than a record of a region file.
pub const CONTENTS_CARRIED_MAX: usize = 512 * 1_024;

/// Kind of the asset of an object.
const ASSET_OBJECT: i8 = 6;
/// Kind of the source of a script.
const ASSET_SCRIPT: i8 = 10;
/// Kinds for display of landmarks and scripts.
const SHOWN_LANDMARK: i8 = 3;
const SHOWN_SCRIPT: i8 = 10;

/// Bits of [`ContentItem::flags`], as viewers have them.
pub mod item_flags {
    /// An object whose prims get the masks of the next owner when it comes into a world.
    pub const SLAM_PERMISSIONS: u32 = 1 << 8;
    /// Its base mask was changed in the prim, …
    pub const OTHER_BASE: u32 = 1 << 16;
    /// … its owner's, …
    pub const OTHER_OWNER: u32 = 1 << 17;
    /// … its group's, …
    pub const OTHER_GROUP: u32 = 1 << 18;
    /// … everyone's, …
    pub const OTHER_EVERYONE: u32 = 1 << 19;
    /// … its next owner's.
    pub const OTHER_NEXT_OWNER: u32 = 1 << 20;
}

/// Data of an archive that have no field here, as bytes of crate `archive`: elements that it does not know, and spellings to be kept. Copies share them.
#[derive(Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Carried(Arc<[u8]>);

impl Carried {
    /// At most [`CARRIED_MAX`] bytes.
    ///
    /// # Errors
    /// [`ContentsError::Carried`].
    pub fn new(bytes: impl Into<Box<[u8]>>) -> Result<Self, ContentsError> {
        let bytes: Box<[u8]> = bytes.into();
        if bytes.len() > CARRIED_MAX {
            return Err(ContentsError::Carried(bytes.len()));
        }
        Ok(Self(bytes.into()))
    }

    /// The bytes; none without such data.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Carried({} bytes)", self.0.len())
    }
}

/// An item in a prim.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ContentItem {
    /// Its id, for as long as it is in this prim.
    pub id: Uuid,
    /// The asset; null for an item without one.
    pub asset: Uuid,
    /// Kind of the asset, in the protocol's numbers.
    pub asset_type: i8,
    /// Kind for display in clients.
    pub inventory_type: i8,
    /// Name, at most [`NAME_MAX`] bytes; no other item of the prim has the same one.
    pub name: Arc<str>,
    /// Description, at most [`DESCRIPTION_MAX`] bytes.
    pub description: Arc<str>,
    /// Flags by kind.
    pub flags: u32,
    /// Maker, owners, group and masks. The owner is that of the prim.
    pub ownership: Ownership,
    /// Offer for sale.
    pub sale: Sale,
    /// Time of its making, seconds since 1970.
    pub created_s: i64,
    /// Data of an archive that have no field here.
    pub carried: Carried,
}

impl ContentItem {
    /// The owner's rights.
    #[must_use]
    pub fn owner_rights(&self) -> Mask {
        let masks = &self.ownership.permissions;
        masks.owner & masks.base
    }

    /// True for a script.
    #[must_use]
    pub const fn is_script(&self) -> bool {
        self.asset_type == ASSET_SCRIPT || self.inventory_type == SHOWN_SCRIPT
    }

    /// The item of another owner, in a prim of this group: with the masks of its next owner, and not for sale.
    #[must_use]
    pub fn for_next_owner(&self, owner: AgentId, group: Uuid) -> Self {
        let Ownership { creator, owner: last_owner, permissions, .. } = self.ownership;
        let is_object = self.asset_type == ASSET_OBJECT;
        let slam = if is_object { item_flags::SLAM_PERMISSIONS } else { 0 };
        let permissions = permissions.for_next_owner();
        Self {
            ownership: Ownership { creator, owner, last_owner, group, permissions },
            flags: self.flags | slam,
            sale: Sale::default(),
            ..self.clone()
        }
    }
}

/// The items of a prim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Contents {
    /// Rises with every change; clients compare its low 16 bits.
    pub serial: u32,
    /// In the order in which they came, at most [`CONTENT_ITEMS_MAX`].
    pub items: Vec<Arc<ContentItem>>,
}

/// Reasons to refuse contents.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ContentsError {
    /// More items than a prim may have.
    #[error("{0} items, at most {CONTENT_ITEMS_MAX}")]
    Items(usize),
    /// Two items with one id.
    #[error("two items with the id {0}")]
    Id(Uuid),
    /// Two items with one name.
    #[error("two items with the name {0:?}")]
    Name(Arc<str>),
    /// A name or description that is too long.
    #[error("an item's {field} of {len} bytes, at most {max}")]
    Length {
        /// Name of the field.
        field: &'static str,
        /// Its length in bytes.
        len: usize,
        /// The most that it may have.
        max: usize,
    },
    /// More data without a field than are kept.
    #[error("{0} bytes that are not modelled, at most {CARRIED_MAX}")]
    Carried(usize),
    /// The same in all items together.
    #[error("items with {0} bytes that are not modelled, at most {CONTENTS_CARRIED_MAX}")]
    AllCarried(usize),
}

impl Contents {
    /// The item with this id.
    #[must_use]
    pub fn item(&self, id: Uuid) -> Option<&Arc<ContentItem>> {
        self.items.iter().find(|item| item.id == id)
    }

    /// Rights that the owner has to all items; every right of none. Landmarks do not count: they bind nothing on OpenSimulator.
    #[must_use]
    pub fn shared_rights(&self) -> Mask {
        let counted = self.items.iter().filter(|item| item.inventory_type != SHOWN_LANDMARK);
        counted.fold(Mask::ALL, |shared, item| shared & item.owner_rights())
    }

    /// The contents after their prim has changed hands.
    #[must_use]
    pub fn for_next_owner(&self, owner: AgentId, group: Uuid) -> Self {
        self.with_items(|item| item.for_next_owner(owner, group))
    }

    /// The same items in a prim of another group.
    #[must_use]
    pub fn with_group(&self, group: Uuid) -> Self {
        self.with_items(|item| {
            let ownership = Ownership { group, ..item.ownership };
            ContentItem { ownership, ..item.clone() }
        })
    }

    /// The same items as those of this owner, with the rights that they have.
    #[must_use]
    pub fn with_owner(&self, owner: AgentId) -> Self {
        self.with_items(|item| {
            let ownership = Ownership { owner, ..item.ownership };
            ContentItem { ownership, ..item.clone() }
        })
    }

    /// Copies of the items, with these ids by their places.
    #[must_use]
    pub fn with_ids(&self, id_of: impl Fn(u64) -> Uuid) -> Self {
        let items = (0..).zip(&self.items);
        let items = items.map(|(place, item)| Arc::new(ContentItem { id: id_of(place), ..(**item).clone() }));
        Self { serial: self.serial, items: items.collect() }
    }

    /// Notes a change.
    pub const fn raise_serial(&mut self) {
        // 0 is that of a prim that never had any.
        self.serial = match self.serial.wrapping_add(1) {
            0 => 1,
            serial => serial,
        };
    }

    /// Changed items, with the next serial number.
    fn with_items(&self, change: impl Fn(&ContentItem) -> ContentItem) -> Self {
        let items = self.items.iter().map(|item| Arc::new(change(item)));
        let mut changed = Self { serial: self.serial, items: items.collect() };
        changed.raise_serial();
        changed
    }

    /// `wanted`, with a number behind it if an item has that name: "Script 1". Cut at [`NAME_MAX`] bytes.
    #[must_use]
    pub fn free_name(&self, wanted: &str) -> Arc<str> {
        let wanted = cut(wanted, NAME_MAX);
        let used: BTreeSet<&str> = self.items.iter().map(|item| &*item.name).collect();
        if !used.contains(wanted) {
            return wanted.into();
        }
        // One more than there are items: one of them is free.
        let mut numbered = (1..=self.items.len() + 1).map(|n| {
            let number = format!(" {n}");
            format!("{}{number}", cut(wanted, NAME_MAX - number.len()))
        });
        numbered.find(|name| !used.contains(name.as_str())).expect("more names than items").into()
    }

    /// Checks numbers of items, ids, names and lengths.
    ///
    /// # Errors
    /// [`ContentsError`].
    pub fn check(&self) -> Result<(), ContentsError> {
        if self.items.len() > CONTENT_ITEMS_MAX {
            return Err(ContentsError::Items(self.items.len()));
        }
        let mut ids: Vec<Uuid> = self.items.iter().map(|item| item.id).collect();
        ids.sort_unstable();
        if let Some(twice) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(ContentsError::Id(twice[0]));
        }
        let mut names: Vec<&Arc<str>> = self.items.iter().map(|item| &item.name).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(ContentsError::Name(twice[0].clone()));
        }
        for item in &self.items {
            let lengths = [
                ("name", item.name.len(), NAME_MAX),
                ("description", item.description.len(), DESCRIPTION_MAX),
            ];
            if let Some(&(field, len, max)) = lengths.iter().find(|(_, len, max)| len > max) {
                return Err(ContentsError::Length { field, len, max });
            }
            if item.carried.as_bytes().len() > CARRIED_MAX {
                return Err(ContentsError::Carried(item.carried.as_bytes().len()));
            }
        }
        let carried = self.items.iter().map(|item| item.carried.as_bytes().len()).sum();
        if carried > CONTENTS_CARRIED_MAX { Err(ContentsError::AllCarried(carried)) } else { Ok(()) }
    }
}

/// The longest beginning of whole characters with at most `max` bytes.
fn cut(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::permissions::Permissions;

    fn item(n: u128, name: &str) -> Arc<ContentItem> {
        let user = AgentId(Uuid::from_u128(1));
        let ownership = Ownership {
            creator: user,
            owner: user,
            last_owner: user,
            group: Uuid::nil(),
            permissions: Permissions::NEW,
        };
        Arc::new(ContentItem {
            id: Uuid::from_u128(n),
            asset: Uuid::nil(),
            asset_type: 10,
            inventory_type: 10,
            name: name.into(),
            description: "".into(),
            flags: 0,
            ownership,
            sale: Sale::default(),
            created_s: 0,
            carried: Carried::default(),
        })
    }

    pub(crate) fn contents(names: &[&str]) -> Contents {
        Contents { serial: 1, items: (1..).zip(names).map(|(n, name)| item(n, name)).collect() }
    }

    #[test]
    fn names_are_numbered_and_cut() {
        let held = contents(&["Script", "Script 1"]);
        assert_eq!(&*held.free_name("Note"), "Note");
        assert_eq!(&*held.free_name("Script"), "Script 2");
        let long = "ä".repeat(40);
        let cut = held.free_name(&long);
        assert_eq!(cut.len(), 62);
        let held = contents(&[&cut]);
        let numbered = held.free_name(&long);
        assert!(numbered.ends_with(" 1") && numbered.len() <= NAME_MAX, "{numbered}");
    }

    #[test]
    fn doubled_ids_and_names_are_refused() {
        assert_eq!(contents(&["a", "b"]).check(), Ok(()));
        assert_eq!(contents(&["a", "a"]).check(), Err(ContentsError::Name("a".into())));
        let twice = Contents { serial: 1, items: vec![item(7, "a"), item(7, "b")] };
        assert_eq!(twice.check(), Err(ContentsError::Id(Uuid::from_u128(7))));
        let long = "x".repeat(64);
        assert!(matches!(contents(&[&long]).check(), Err(ContentsError::Length { len: 64, .. })));
        assert!(Carried::new(vec![0; CARRIED_MAX + 1]).is_err());
    }

    /// An altered item.
    fn with(n: u128, name: &str, change: impl FnOnce(&mut ContentItem)) -> Arc<ContentItem> {
        let mut item = item(n, name);
        change(Arc::make_mut(&mut item));
        item
    }

    #[test]
    fn data_of_all_items_together_have_a_bound() {
        let data = Carried::new(vec![7; CARRIED_MAX]).expect("as many as an item may have");
        let with_data = |n| with(n, &n.to_string(), |item| item.carried = data.clone());
        let held = |n_items| Contents { serial: 1, items: (0..n_items).map(with_data).collect() };
        assert_eq!(held(8).check(), Ok(()));
        assert_eq!(held(9).check(), Err(ContentsError::AllCarried(9 * CARRIED_MAX)));
    }

    #[test]
    fn items_follow_their_prim_to_its_next_owner() {
        let next = AgentId(Uuid::from_u128(9));
        let group = Uuid::from_u128(5);
        let object = with(2, "box", |item| {
            (item.asset_type, item.inventory_type, item.flags) = (6, 6, 1);
            item.sale.price = 7;
        });
        let held = Contents { serial: u32::MAX, items: vec![item(1, "note"), object] };
        let given = held.for_next_owner(next, group);
        assert_eq!(given.serial, 1, "0 is that of a prim without contents");
        for (item, before) in given.items.iter().zip(&held.items) {
            let former = before.ownership;
            let Ownership { creator, owner, last_owner, group: of, permissions } = item.ownership;
            assert_eq!((creator, owner, last_owner), (former.creator, next, former.owner));
            assert_eq!((of, permissions), (group, Permissions::NEW.for_next_owner()));
            assert_eq!((item.id, &item.name, item.sale), (before.id, &before.name, Sale::default()));
        }
        let flags: Vec<u32> = given.items.iter().map(|item| item.flags).collect();
        assert_eq!(flags, [0, 1 | item_flags::SLAM_PERMISSIONS]);
    }

    #[test]
    fn landmarks_bind_nothing_and_other_items_do() {
        let bare = |item: &mut ContentItem| item.ownership.permissions.base = Mask::MOVE | Mask::COPY;
        let landmark = with(1, "Here", |item| {
            (item.asset_type, item.inventory_type) = (3, 3);
            bare(item);
        });
        let held = |items| Contents { serial: 1, items };
        assert_eq!(held(vec![landmark.clone(), item(2, "b")]).shared_rights(), Mask::ALL);
        let shared = held(vec![landmark, with(2, "b", bare)]).shared_rights();
        assert_eq!(shared, Mask::MOVE | Mask::COPY);
    }

    #[test]
    fn copies_have_ids_of_their_own() {
        let held = contents(&["a", "b"]);
        let copies = held.with_ids(|place| Uuid::from_u128(100 + u128::from(place)));
        let ids: Vec<u128> = copies.items.iter().map(|item| item.id.as_u128()).collect();
        assert_eq!((ids, copies.serial, copies.check()), (vec![100, 101], held.serial, Ok(())));
    }
}
