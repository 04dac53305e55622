//! Random changes by two owners, beside the same rules over maps in memory: outcomes, rows and versions agree after each transaction.

mod dice;

use super::*;
use crate::account::tests::new_account;
use crate::testing::{TestDatabase, on_both_engines};
use crate::{FolderContents, NewFolder, SYSTEM_FOLDER_TYPES, Store};
use dice::Dice;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Arguments;

on_both_engines! {
    changes_of_a_few_seeds_agree_with_the_model,
}

/// Small, so that random changes come upon them.
const LIMITS: InventoryLimits = InventoryLimits { items_max: 6, folders_max: 6, depth_max: 4 };
const TRANSACTIONS: u32 = 40;

fn changes_of_a_few_seeds_agree_with_the_model(database: &TestDatabase) {
    let store = database.open();
    let mut owners = Owners::create(&store, 1);
    owners.run(&store, 7);
    owners.assert_stored(&database.open(), format_args!("opened again"));
    let mut others = Owners::create(&store, 3);
    others.run(&store, 8);
    owners.assert_stored(&store, format_args!("beside changes of others"));
}

#[test]
fn changes_of_many_seeds_agree_with_the_model() {
    let mut reasons = HashSet::new();
    for seed in 0..40 {
        let store = Store::open_in_memory().unwrap();
        let refusals = Owners::create(&store, 1).run(&store, seed);
        reasons.extend(refusals.iter().map(std::mem::discriminant));
    }
    assert_eq!(reasons.len(), 13, "changes are refused for each reason but that of marks: {reasons:?}");
}

/// Accounts and their inventories as they should be.
struct Owners {
    first: u128,
    inventories: [(AgentId, Model); 2],
}

impl Owners {
    /// Accounts with this id and the next.
    fn create(store: &Store, first: u128) -> Self {
        let inventories = [first, first + 1].map(|id| {
            let new = new_account(id, "Ada", &format!("Lovelace{id}"));
            store.create_account(&new).unwrap();
            let folders = new.folders.into_iter().map(|folder| (folder.id, folder)).collect();
            let items = new.items.into_iter().map(|item| (item.id, item)).collect();
            (new.agent, Model { folders, items })
        });
        Self { first, inventories }
    }

    /// Changes from a seed; the reasons for which some were refused.
    fn run(&mut self, store: &Store, seed: u64) -> Vec<InventoryRefusal> {
        let mut dice = Dice { state: seed, first: self.first };
        let (mut n_made, mut refusals) = (0, Vec::new());
        for n in 0..TRANSACTIONS {
            let (owner, model) = &mut self.inventories[dice.below(2) as usize];
            let changes: Vec<InventoryChange> = (0..=dice.below(24)).map(|_| dice.change()).collect();
            let outcomes = store.change_inventory(*owner, &changes, &LIMITS).unwrap();
            for (at, (change, outcome)) in changes.iter().zip(outcomes).enumerate() {
                assert_eq!(
                    outcome,
                    model.apply(change),
                    "seed {seed}, transaction {n}, change {at} of {changes:#?}"
                );
                match outcome {
                    Ok(outcome) => n_made += usize::from(!outcome.versions.is_empty()),
                    Err(refusal) => refusals.push(refusal),
                }
            }
            self.assert_stored(store, format_args!("seed {seed}, transaction {n}: {changes:#?}"));
        }
        assert!(n_made >= 15, "seed {seed} has nearly no effect: {n_made}");
        refusals
    }

    fn assert_stored(&self, store: &Store, context: Arguments<'_>) {
        self.inventories.iter().for_each(|(owner, model)| model.assert_stored(store, *owner, context));
    }
}

/// An inventory in memory. Its folders are one tree: no change can make anything else of it.
struct Model {
    folders: BTreeMap<Uuid, Folder>,
    items: BTreeMap<Uuid, Item>,
}

impl Model {
    fn apply(&mut self, change: &InventoryChange) -> Result<InventoryOutcome, InventoryRefusal> {
        match change {
            InventoryChange::CreateFolder(new) => {
                require(!new.id.is_nil(), InventoryRefusal::NilId)?;
                require(!new.name.contains('\0'), InventoryRefusal::Nul)?;
                let depth = self.path(self.folder(new.parent)?.id).len();
                require(!self.folders.contains_key(&new.id), InventoryRefusal::FolderExists(new.id))?;
                self.test_type(new.type_default, new.parent)?;
                let max = LIMITS.depth_max;
                require(depth < max as usize, InventoryRefusal::TooDeep { max })?;
                let max = LIMITS.folders_max;
                require(self.folders.len() < max as usize, InventoryRefusal::TooManyFolders { max })?;
                let NewFolder { id, parent, name, type_default } = new.clone();
                self.folders.insert(id, Folder { id, parent, name, type_default, version: 1 });
                Ok(self.raise(&[new.parent]))
            }
            InventoryChange::UpdateFolder { folder, name, type_default } => {
                require(!name.contains('\0'), InventoryRefusal::Nul)?;
                let former = self.folder(*folder)?.clone();
                let updated = Folder {
                    name: name.clone(),
                    type_default: type_default.unwrap_or(former.type_default),
                    ..former.clone()
                };
                if updated.type_default != former.type_default {
                    self.test_users(*folder)?;
                    self.test_type(updated.type_default, former.parent)?;
                }
                let is_changed = updated != former;
                self.folders.insert(*folder, updated);
                Ok(if is_changed { self.raise(&[former.parent]) } else { InventoryOutcome::default() })
            }
            InventoryChange::MoveFolder { folder, parent } => {
                let former = self.folder(*folder)?.parent;
                self.test_users(*folder)?;
                let path = self.path(self.folder(*parent)?.id);
                require(!path.contains(folder), InventoryRefusal::IntoItself(*folder))?;
                if former == *parent {
                    return Ok(InventoryOutcome::default());
                }
                let levels = self.below(*folder).iter().map(|(level, _)| *level).max().unwrap();
                let max = LIMITS.depth_max;
                require(path.len() + levels <= max as usize, InventoryRefusal::TooDeep { max })?;
                self.folders.get_mut(folder).unwrap().parent = *parent;
                Ok(self.raise(&[former, *parent]))
            }
            InventoryChange::RemoveFolder { folder } => {
                let parent = self.folder(*folder)?.parent;
                self.test_users(*folder)?;
                self.remove(*folder, 1, parent)
            }
            InventoryChange::PurgeFolder { folder } => {
                self.folder(*folder)?;
                self.remove(*folder, 2, *folder)
            }
            InventoryChange::CreateItem(item) => {
                require(!item.id.is_nil(), InventoryRefusal::NilId)?;
                let texts = [&item.name, &item.description];
                require(!texts.iter().any(|text| text.contains('\0')), InventoryRefusal::Nul)?;
                self.folder(item.folder)?;
                require(!self.items.contains_key(&item.id), InventoryRefusal::ItemExists(item.id))?;
                let max = LIMITS.items_max;
                require(self.items.len() < max as usize, InventoryRefusal::TooManyItems { max })?;
                self.items.insert(item.id, item.clone());
                Ok(self.raise(&[item.folder]))
            }
            InventoryChange::UpdateItem(update) => {
                let texts = [&update.name, &update.description];
                let is_nul = texts.iter().any(|text| text.as_deref().is_some_and(|text| text.contains('\0')));
                require(!is_nul, InventoryRefusal::Nul)?;
                let mut item = self.item(update.item)?.clone();
                update.asset.iter().for_each(|asset| item.asset = *asset);
                update.name.iter().for_each(|name| item.name.clone_from(name));
                update.description.iter().for_each(|text| item.description.clone_from(text));
                update.flags.iter().for_each(|flags| item.flags = *flags);
                update.permissions.iter().for_each(|permissions| item.permissions.clone_from(permissions));
                update.sale.iter().for_each(|sale| item.sale = *sale);
                Ok(self.replace(item))
            }
            InventoryChange::MoveItem { item, folder, name } => {
                let is_nul = name.as_ref().is_some_and(|name| name.contains('\0'));
                require(!is_nul, InventoryRefusal::Nul)?;
                let mut moved = self.item(*item)?.clone();
                moved.folder = self.folder(*folder)?.id;
                name.iter().for_each(|name| moved.name.clone_from(name));
                Ok(self.replace(moved))
            }
            InventoryChange::RemoveItem { item } => {
                let folder = self.item(*item)?.folder;
                self.items.remove(item);
                Ok(InventoryOutcome { n_items_removed: 1, ..self.raise(&[folder]) })
            }
        }
    }

    fn replace(&mut self, item: Item) -> InventoryOutcome {
        let former = self.items.insert(item.id, item.clone()).unwrap();
        match former == item {
            true => InventoryOutcome::default(),
            false if former.folder == item.folder => self.raise(&[item.folder]),
            false => self.raise(&[former.folder, item.folder]),
        }
    }

    /// Removes all folders from a level on, counted from this folder as 1, and the items in all.
    fn remove(
        &mut self,
        folder: Uuid,
        level: usize,
        holder: Uuid,
    ) -> Result<InventoryOutcome, InventoryRefusal> {
        let below = self.below(folder);
        let is_system = |(level, id): &&(usize, Uuid)| *level > 1 && self.is_system(*id);
        if let Some((_, system)) = below.iter().find(is_system) {
            return Err(InventoryRefusal::SystemFolder(*system));
        }
        let former = (self.folders.len(), self.items.len());
        self.items.retain(|_, item| !below.iter().any(|(_, id)| *id == item.folder));
        self.folders.retain(|id, _| !below.iter().any(|(at, removed)| *at >= level && removed == id));
        let [n_folders, n_items] = [former.0 - self.folders.len(), former.1 - self.items.len()];
        let raised =
            if n_folders + n_items > 0 { self.raise(&[holder]) } else { InventoryOutcome::default() };
        Ok(InventoryOutcome {
            n_folders_removed: n_folders as u64,
            n_items_removed: n_items as u64,
            ..raised
        })
    }

    fn raise(&mut self, folders: &[Uuid]) -> InventoryOutcome {
        let mut outcome = InventoryOutcome::default();
        for id in folders {
            if let Some(folder) = self.folders.get_mut(id) {
                folder.version += 1;
                outcome.versions.push((*id, folder.version));
            }
        }
        outcome
    }

    fn folder(&self, id: Uuid) -> Result<&Folder, InventoryRefusal> {
        self.folders.get(&id).ok_or(InventoryRefusal::UnknownFolder(id))
    }

    fn item(&self, id: Uuid) -> Result<&Item, InventoryRefusal> {
        self.items.get(&id).ok_or(InventoryRefusal::UnknownItem(id))
    }

    fn is_system(&self, id: Uuid) -> bool {
        SYSTEM_FOLDER_TYPES.contains(&self.folders[&id].type_default)
    }

    fn test_users(&self, id: Uuid) -> Result<(), InventoryRefusal> {
        require(!self.is_system(id), InventoryRefusal::SystemFolder(id))
    }

    fn test_type(&self, type_default: i8, parent: Uuid) -> Result<(), InventoryRefusal> {
        if !SYSTEM_FOLDER_TYPES.contains(&type_default) {
            return Ok(());
        }
        let is_in_root = self.folders.get(&parent).is_some_and(|folder| folder.parent.is_nil());
        require(is_in_root, InventoryRefusal::SystemFolderOutsideRoot(type_default))?;
        let is_there = self.folders.values().any(|folder| folder.type_default == type_default);
        require(!is_there, InventoryRefusal::SecondSystemFolder(type_default))
    }

    /// From a folder to the root.
    fn path(&self, mut id: Uuid) -> Vec<Uuid> {
        let mut path = Vec::new();
        while let Some(folder) = self.folders.get(&id) {
            path.push(id);
            id = folder.parent;
        }
        path
    }

    /// A folder and those below it, by their levels from 1 and their ids.
    fn below(&self, top: Uuid) -> Vec<(usize, Uuid)> {
        let level = |id: Uuid| self.path(id).iter().position(|above| *above == top);
        let mut below: Vec<(usize, Uuid)> =
            self.folders.keys().filter_map(|id| Some((level(*id)? + 1, *id))).collect();
        below.sort_unstable();
        below
    }

    fn assert_stored(&self, store: &Store, owner: AgentId, context: Arguments<'_>) {
        let folders: Vec<Folder> = self.folders.values().cloned().collect();
        let items: Vec<Item> = self.items.values().cloned().collect();
        let mut stored = store.folders(owner).unwrap();
        let root = stored[0].id;
        stored.sort_unstable_by_key(|folder| folder.id);
        assert_eq!(stored, folders, "{context}");
        for folder in &folders {
            let mut inside: Vec<Folder> =
                folders.iter().filter(|inside| inside.parent == folder.id).cloned().collect();
            inside.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
            assert_eq!(store.folders_in(owner, folder.id, 1_000).unwrap(), inside, "{context}");
            let mut inside: Vec<Item> =
                items.iter().filter(|inside| inside.folder == folder.id).cloned().collect();
            inside.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
            assert_eq!(store.items_in(owner, folder.id, 1_000).unwrap(), inside, "{context}");
        }
        let all = store.folder_contents(owner, root, 1_000).unwrap();
        let FolderContents::Whole { folders: mut all_folders, items: mut all_items } = all else {
            panic!("{all:?}")
        };
        all_folders.sort_unstable_by_key(|folder| folder.id);
        all_items.sort_unstable_by_key(|item| item.id);
        assert_eq!((all_folders, all_items), (folders, items), "everything is below the root: {context}");
    }
}

fn require(is_met: bool, refusal: InventoryRefusal) -> Result<(), InventoryRefusal> {
    if is_met { Ok(()) } else { Err(refusal) }
}
