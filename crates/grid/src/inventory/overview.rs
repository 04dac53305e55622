//! An inventory as an operator sees it: its folders as a tree with counts, and the items without content.

use crate::asset_sources::AssetSources;
use ids::AgentId;
use std::collections::{BTreeMap, BTreeSet};
use store::{FlawedItem, Folder, ItemCounts, Store, StoreError};
use uuid::Uuid;

/// Items without content that are named; more are counted.
pub const FLAWED_MAX: usize = 500;
/// Rows that are read at once.
const PAGE: u32 = 1_000;

/// A folder in its place in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderLine {
    /// The folder.
    pub folder: Folder,
    /// Folders above it; 0 for the root.
    pub depth: u32,
    /// True if no root leads to it: its parent does not exist, or it lies within itself.
    pub is_lost: bool,
    /// Items directly in it.
    pub counts: ItemCounts,
    /// Items among these whose asset is missing or damaged.
    pub flawed: u64,
}

/// An inventory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InventoryOverview {
    /// All folders, each behind its parent, in the order of their names; lost ones at the end.
    pub folders: Vec<FolderLine>,
    /// Items without content, at most [`FLAWED_MAX`], in the order of their ids.
    pub flawed: Vec<FlawedItem>,
    /// All items without content.
    pub n_flawed: u64,
}

impl InventoryOverview {
    /// Items of all folders.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.folders.iter().map(|line| line.counts.items).sum()
    }

    /// Links of all folders.
    #[must_use]
    pub fn links(&self) -> u64 {
        self.folders.iter().map(|line| line.counts.links).sum()
    }
}

/// Reads an inventory. Takes some milliseconds for 20,000 items.
///
/// # Errors
/// [`StoreError`].
pub fn overview(store: &Store, owner: AgentId) -> Result<InventoryOverview, StoreError> {
    let counts = store.item_counts(owner)?;
    let (mut flawed, mut n_flawed, mut of_folder) = (Vec::new(), 0, BTreeMap::<Uuid, u64>::new());
    let mut after = Uuid::nil();
    loop {
        let page = store.flawed_items(owner, after, PAGE)?;
        let n_read = page.len();
        after = page.last().map_or(after, |last| last.item);
        let is_flawed = |item: &FlawedItem| item.damage.is_some() || !AssetSources::is_own(item.asset);
        for item in page.into_iter().filter(is_flawed) {
            n_flawed += 1;
            *of_folder.entry(item.folder).or_default() += 1;
            if flawed.len() < FLAWED_MAX {
                flawed.push(item);
            }
        }
        if n_read < PAGE as usize {
            break;
        }
    }
    let line = |(folder, depth, is_lost): (Folder, u32, bool)| FolderLine {
        counts: counts.get(&folder.id).copied().unwrap_or_default(),
        flawed: of_folder.get(&folder.id).copied().unwrap_or_default(),
        folder,
        depth,
        is_lost,
    };
    let folders = in_order(store.folders(owner)?).into_iter().map(line).collect();
    Ok(InventoryOverview { folders, flawed, n_flawed })
}

/// Folders in the order of a tree, with their depths. Folders that no root leads to come last, with a depth of 0.
fn in_order(folders: Vec<Folder>) -> Vec<(Folder, u32, bool)> {
    let mut below: BTreeMap<Uuid, Vec<Folder>> = BTreeMap::new();
    for folder in folders {
        below.entry(folder.parent).or_default().push(folder);
    }
    // The last one is the next: the walk needs no recursion, which damaged rows could make deep.
    let by_name = |mut folders: Vec<Folder>| {
        folders.sort_by(|a, b| (&b.name, b.id).cmp(&(&a.name, a.id)));
        folders
    };
    let mut open: Vec<(Folder, u32)> =
        by_name(below.remove(&Uuid::nil()).unwrap_or_default()).into_iter().map(|root| (root, 0)).collect();
    let mut ordered = Vec::new();
    while let Some((folder, depth)) = open.pop() {
        let inner = by_name(below.remove(&folder.id).unwrap_or_default());
        open.extend(inner.into_iter().map(|inner| (inner, depth + 1)));
        ordered.push((folder, depth, false));
    }
    let mut seen = BTreeSet::new();
    let lost = below.into_values().flatten().filter(|folder| seen.insert(folder.id));
    ordered.extend(lost.map(|folder| (folder, 0, true)));
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::tests::store_with_ada;
    use proptest::prelude::*;
    use store::{InventoryChange, InventoryLimits, Item};

    fn folder(id: u128, parent: u128, name: &str) -> Folder {
        Folder {
            id: Uuid::from_u128(id),
            parent: Uuid::from_u128(parent),
            name: name.into(),
            type_default: -1,
            version: 1,
        }
    }

    #[test]
    fn folders_follow_those_that_hold_them() {
        let folders = vec![
            folder(1, 0, "My Inventory"),
            folder(2, 1, "Objects"),
            folder(3, 1, "Clothing"),
            folder(4, 2, "Boats"),
            folder(5, 9, "Of no parent"),
            folder(6, 7, "Circle"),
            folder(7, 6, "Circle"),
        ];
        let ordered = in_order(folders);
        let lines: Vec<_> =
            ordered.iter().map(|(folder, depth, is_lost)| (folder.id.as_u128(), *depth, *is_lost)).collect();
        assert_eq!(lines[..4], [(1, 0, false), (3, 1, false), (2, 1, false), (4, 2, false)]);
        let mut lost: Vec<_> = lines[4..].to_vec();
        lost.sort_unstable();
        assert_eq!(lost, [(5, 0, true), (6, 0, true), (7, 0, true)]);
    }

    proptest! {
        #[test]
        fn every_folder_is_listed_once(parents in prop::collection::vec(0_u128..12, 0..12)) {
            let folders: Vec<Folder> =
                (1..).zip(&parents).map(|(id, parent)| folder(id, *parent, "x")).collect();
            let mut listed: Vec<u128> =
                in_order(folders).iter().map(|(folder, ..)| folder.id.as_u128()).collect();
            listed.sort_unstable();
            prop_assert_eq!(listed, (1..=parents.len() as u128).collect::<Vec<_>>());
        }
    }

    #[test]
    fn assets_of_the_server_are_not_missing_and_others_are_named() {
        let (store, ada) = store_with_ada();
        let whole = overview(&store, ada).unwrap();
        assert_eq!((whole.n_flawed, whole.items(), whole.links()), (0, 8, 4));
        assert_eq!((whole.folders[0].folder.name.as_str(), whole.folders[0].depth), ("My Inventory", 0));
        assert!(whole.folders[1..].iter().all(|line| line.depth == 1 && !line.is_lost));
        let body = store.folder_of_type(ada, 13).unwrap().expect("a folder of the skeleton");
        let item = store.items_in(ada, body.id, 1).unwrap().remove(0);
        let hat = Item { id: Uuid::from_u128(7), asset: Uuid::from_u128(8), name: "Hat".into(), ..item };
        let made =
            store.change_inventory(ada, &[InventoryChange::CreateItem(hat)], &InventoryLimits::default());
        assert!(made.unwrap()[0].is_ok());
        let holed = overview(&store, ada).unwrap();
        assert_eq!((holed.n_flawed, holed.flawed[0].name.as_str(), holed.items()), (1, "Hat", 9));
        let line = holed.folders.iter().find(|line| line.folder.id == body.id).expect("it is listed");
        assert_eq!((line.counts.items, line.flawed), (5, 1));
    }
}
