//! State of the server as its clients read it: all inventories of the bots, their objects, the contents of these, and assets.

use super::cargo::{CargoKey, CargoPlace, CargoTag, ContentHash};
use super::item_row::{COPY, ItemRow};
use glam::Vec3;
use ids::{LocalId, Uuid};
use std::collections::{BTreeMap, BTreeSet};

/// A folder as a bot reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderRow {
    /// Its id.
    pub id: Uuid,
    /// Folder that holds it.
    pub parent: Uuid,
    /// Name as shown.
    pub name: String,
}

/// An object of a bot in the world.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectRow {
    /// Its id.
    pub id: Uuid,
    /// Its number in the region.
    pub local: LocalId,
    /// Centre, metres from the region's corner.
    pub position: Vec3,
    /// Name as shown.
    pub name: String,
    /// Rights of the owner.
    pub owner_mask: u32,
    /// Rights of the next owner.
    pub next_owner_mask: u32,
}

/// An item in a prim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentRow {
    /// The prim.
    pub prim: Uuid,
    /// Its number in the region.
    pub local: LocalId,
    /// The item.
    pub item: ItemRow,
}

/// Everything that a bot has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Belongings {
    /// Items of its inventory.
    pub items: Vec<ItemRow>,
    /// Folders of its inventory.
    pub folders: Vec<FolderRow>,
    /// Its objects in the world, without those that it wears.
    pub objects: Vec<ObjectRow>,
    /// Items in its objects.
    pub contents: Vec<ContentRow>,
    /// Assets that it has fetched; none for an id that the server does not have.
    pub assets: BTreeMap<Uuid, Option<ContentHash>>,
    /// Reads that failed, in sentences. With any of them the reading is not complete.
    pub troubles: Vec<String>,
}

/// A thing at one of its places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CargoFind {
    /// Folder that holds it; of objects and contents none is stated.
    pub folder: Option<Uuid>,
    /// Revision of its name.
    pub revision: u32,
    /// Its asset; of objects and folders none is stated.
    pub asset: Option<Uuid>,
}

/// Places of all carried things.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CarryCensus {
    /// By thing.
    pub finds: BTreeMap<CargoKey, BTreeMap<CargoPlace, CargoFind>>,
    /// Assets that were fetched; none for an id that the server does not have.
    pub assets: BTreeMap<Uuid, Option<ContentHash>>,
}

impl CarryCensus {
    /// Of the belongings of all bots, by number.
    #[must_use]
    pub fn of<'a>(bots: impl IntoIterator<Item = (u32, &'a Belongings)>) -> Self {
        let mut census = Self::default();
        for (owner, belongings) in bots {
            census.add(owner, belongings);
        }
        census
    }

    fn add(&mut self, owner: u32, belongings: &Belongings) {
        for row in &belongings.items {
            let place = CargoPlace::Item { owner, item: row.id };
            self.add_item(row, place, Some(row.folder));
        }
        for ContentRow { prim, item, .. } in &belongings.contents {
            self.add_item(item, CargoPlace::Content { prim: *prim, item: item.id }, None);
        }
        for row in &belongings.folders {
            let place = CargoPlace::Folder { owner, folder: row.id };
            self.put(&row.name, false, place, Some(row.parent), None);
        }
        for row in &belongings.objects {
            self.put(&row.name, row.owner_mask & COPY == 0, CargoPlace::Object(row.id), None, None);
        }
        self.assets.extend(&belongings.assets);
    }

    fn add_item(&mut self, row: &ItemRow, place: CargoPlace, folder: Option<Uuid>) {
        self.put(&row.name, row.masks.is_unique(), place, folder, Some(row.asset));
    }

    fn put(
        &mut self,
        name: &str,
        is_unique: bool,
        place: CargoPlace,
        folder: Option<Uuid>,
        asset: Option<Uuid>,
    ) {
        let Some(tag) = CargoTag::of_name(name) else { return };
        let find = CargoFind { folder, revision: CargoTag::revision_of(name), asset };
        self.finds.entry(CargoKey { tag, is_unique }).or_default().insert(place, find);
    }

    /// Places of a thing.
    pub(super) fn places_of(&self, key: CargoKey) -> BTreeSet<CargoPlace> {
        self.finds.get(&key).into_iter().flat_map(|places| places.keys().copied()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::item_row::{ItemMasks, TRANSFER};
    use super::*;

    #[test]
    fn carried_things_are_found_in_inventories_objects_and_contents() {
        let id = Uuid::from_u128;
        let item = |number, name: &str, owner| ItemRow {
            id: id(number),
            folder: id(90),
            asset: id(80),
            name: name.into(),
            masks: ItemMasks { base: u32::MAX, owner, ..ItemMasks::default() },
            ..ItemRow::default()
        };
        let one = Belongings {
            items: vec![item(1, "carry-0-5 r2", u32::MAX), item(2, "Shirt", u32::MAX)],
            folders: vec![FolderRow { id: id(90), parent: id(91), name: "carry-0-6".into() }],
            ..Belongings::default()
        };
        let object = ObjectRow {
            id: id(3),
            local: LocalId(7),
            position: Vec3::ZERO,
            name: "carry-0-5".into(),
            owner_mask: TRANSFER,
            next_owner_mask: TRANSFER,
        };
        let inside = ContentRow { prim: id(3), local: LocalId(7), item: item(4, "carry-0-5", TRANSFER) };
        let other = Belongings {
            objects: vec![object],
            contents: vec![inside],
            assets: [(id(80), Some([1; 32])), (id(81), None)].into(),
            ..Belongings::default()
        };
        let census = CarryCensus::of([(0, &one), (1, &other)]);
        let tag = CargoTag { maker: 0, serial: 5 };
        let common = &census.finds[&CargoKey::common(tag)];
        let place = CargoPlace::Item { owner: 0, item: id(1) };
        assert_eq!(common[&place], CargoFind { folder: Some(id(90)), revision: 2, asset: Some(id(80)) });
        assert_eq!(common.len(), 1);
        let places = census.places_of(CargoKey::unique(tag));
        let inside = CargoPlace::Content { prim: id(3), item: id(4) };
        assert_eq!(places, [CargoPlace::Object(id(3)), inside].into());
        assert_eq!((census.finds.len(), census.assets.len()), (3, 2));
    }
}
