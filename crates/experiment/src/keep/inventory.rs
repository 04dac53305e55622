//! An inventory of many items, fetched as viewers do: FetchInventoryDescendents2 for a few folders at a time, from the root on.

use super::load::{self, LoadClient, LoadCrew};
use super::site::KeepStage;
use crate::clock;
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::median::median;
use crate::server::Server;
use bots::carry::calls::{FOLDERS_PER_CALL, HttpCall};
use bots::carry::item_row::{COPY, MODIFY, MOVE, NOTECARD, TRANSFER};
use ids::{AgentId, Uuid};
use report::Section;
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use store::{InventoryChange, InventoryLimits, Item, NewFolder, Permissions, Sale, Store, StoreUrl};
use wire::llsd::Llsd;

/// Requests at a time.
const AT_A_TIME: usize = 8;
/// Fetches, of which the median counts.
const FETCHES: usize = 5;
const FETCHES_QUICK: usize = 1;

/// Folders in the root, and in each folder until there are enough.
const FAN: usize = 20;
/// Changes of the inventory in one transaction.
const CHANGES: usize = 1_000;
/// Beginning of the names of its items: accounts have some from the start.
const NAME: &str = "Kept";
/// Upper halves of ids of folders, items and assets.
const FOLDERS: u64 = 0x6b65_6570_0000_4000;
const ITEMS: u64 = 0x6b65_6570_0001_4000;
const NOTES: u64 = 0x6b65_6570_0002_4000;
/// Lower halves begin there: the variant of random ids.
const VARIANT: u64 = 0x8000_0000_0000_0000;
const ALL_RIGHTS: u32 = TRANSFER | MODIFY | COPY | MOVE;

pub(super) fn measure(stage: &KeepStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    let (run, size) = (stage.run, stage.size);
    let data = stage.prepare("inventory", "")?;
    // The first login makes the account.
    let server = Server::start_in(run, "inventory-first", &data)?;
    let (bots, known) = load::log_in(stage, &server, "inventory-owner-first", 1)?;
    stage.dismiss(bots)?;
    server.stop()?;
    let (owner, root) = (AgentId(known[0].agent), known[0].root);
    fill(&data, owner, root, (size.folders, size.items))?;

    let server = Server::start_in(run, "inventory", &data)?;
    let (bots, known) = load::log_in(stage, &server, "inventory-owner", 1)?;
    let mut times_s = Vec::new();
    for _ in 0..run.pick(FETCHES, FETCHES_QUICK) {
        run.references.sample();
        let mut crew = LoadCrew::connect(run, &known, AT_A_TIME)?;
        let began = clock::now();
        let fetched = fetch(&mut crew, root)?;
        times_s.push(began.elapsed().as_secs_f64());
        findings.figure("inventory_bytes", fetched.bytes as f64);
        if (fetched.folders, fetched.items) != (size.folders, size.items) {
            let FetchedInventory { folders, items, .. } = fetched;
            findings.failures.push(format!(
                "an inventory of {} items in {} folders was fetched as {items} in {folders}",
                size.items, size.folders
            ));
        }
    }
    findings.figure("inventory_20000_s", median(&mut times_s));
    stage.dismiss(bots)?;
    server.stop()?;
    let text = format!(
        "{} items in {} folders, of which each holds {FAN} at most. Folders are fetched from the root on, \
         {FOLDERS_PER_CALL} with a request and {AT_A_TIME} requests at a time, each folder once its parent \
         is known. The time ends when the last answer is read.",
        size.items, size.folders
    );
    findings.sections.push(Section::new("Inventory").text(&text));
    Ok(())
}

fn id(space: u64, n: usize) -> Uuid {
    Uuid::from_u64_pair(space, VARIANT | n as u64)
}

/// Folder that holds another one.
fn parent(n: usize, root: Uuid) -> Uuid {
    if n < FAN { root } else { id(FOLDERS, n / FAN - 1) }
}

/// The changes that make an inventory of folders and items, of which the numbers are given.
fn changes(root: Uuid, (n_folders, n_items): (usize, usize)) -> impl Iterator<Item = InventoryChange> {
    let folders = (0..n_folders).map(move |n| {
        let (id, parent) = (id(FOLDERS, n), parent(n, root));
        InventoryChange::CreateFolder(NewFolder { id, parent, name: format!("{NAME} {n}"), type_default: -1 })
    });
    let items = (0..n_items).map(move |n| InventoryChange::CreateItem(item(n, id(FOLDERS, n % n_folders))));
    folders.chain(items)
}

fn item(n: usize, folder: Uuid) -> Item {
    let permissions = Permissions {
        creator: Uuid::nil(),
        last_owner: Uuid::nil(),
        group: Uuid::nil(),
        group_owned: false,
        base: ALL_RIGHTS,
        owner: ALL_RIGHTS,
        group_mask: 0,
        everyone: 0,
        next_owner: ALL_RIGHTS,
    };
    Item {
        id: id(ITEMS, n),
        folder,
        asset: id(NOTES, n),
        asset_type: NOTECARD,
        inventory_type: NOTECARD,
        name: format!("{NAME} {n}"),
        description: String::new(),
        flags: 0,
        created_s: 1_700_000_000,
        permissions,
        sale: Sale::default(),
    }
}

/// Makes folders and items in the database of a server that does not run.
fn fill(data: &Path, owner: AgentId, root: Uuid, size: (usize, usize)) -> Result<(), ExperimentError> {
    let store = Store::open(&StoreUrl::of_directory(data)).map_err(failed)?;
    let all: Vec<InventoryChange> = changes(root, size).collect();
    for some in all.chunks(CHANGES) {
        let made = store.change_inventory_whole(owner, some, &InventoryLimits::default());
        made.map_err(failed)?.map_err(|(_, refusal)| failed(refusal))?;
    }
    Ok(())
}

fn failed(reason: impl ToString) -> ExperimentError {
    ExperimentError::Inventory { reason: reason.to_string() }
}

/// Folders and items of those that were made, and bytes of all answers.
#[derive(Clone, Copy, Debug, Default)]
struct FetchedInventory {
    folders: usize,
    items: usize,
    bytes: usize,
}

/// A fetch under way.
#[derive(Default)]
struct Fetch {
    /// Folders that are known and were not asked for.
    waiting: VecDeque<Uuid>,
    n_under_way: usize,
    has_failed: bool,
    fetched: FetchedInventory,
}

/// Fetches all folders from the root on.
fn fetch(crew: &mut LoadCrew<'_>, root: Uuid) -> Result<FetchedInventory, ExperimentError> {
    let fetch = Mutex::new(Fetch { waiting: VecDeque::from([root]), ..Fetch::default() });
    let news = Condvar::new();
    crew.work(|_, client| {
        while let Some(folders) = next_folders(&fetch, &news) {
            let contents = contents_of(client, &folders);
            let mut state = lock(&fetch);
            state.n_under_way -= 1;
            state.has_failed |= contents.is_err();
            if let Ok((subfolders, found)) = &contents {
                state.waiting.extend(subfolders);
                state.fetched.folders += found.folders;
                state.fetched.items += found.items;
                state.fetched.bytes += found.bytes;
            }
            news.notify_all();
            drop(state);
            contents?;
        }
        Ok(())
    })?;
    Ok(fetch.into_inner().unwrap_or_else(PoisonError::into_inner).fetched)
}

fn lock(fetch: &Mutex<Fetch>) -> MutexGuard<'_, Fetch> {
    fetch.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for folders to ask for; none once all are known, or another client has failed.
fn next_folders(fetch: &Mutex<Fetch>, news: &Condvar) -> Option<Vec<Uuid>> {
    let is_idle = |state: &mut Fetch| state.waiting.is_empty() && state.n_under_way > 0 && !state.has_failed;
    let mut state = news.wait_while(lock(fetch), is_idle).unwrap_or_else(PoisonError::into_inner);
    if state.waiting.is_empty() || state.has_failed {
        return None;
    }
    state.n_under_way += 1;
    let n = state.waiting.len().min(FOLDERS_PER_CALL);
    Some(state.waiting.drain(..n).collect())
}

/// Asks for the contents of folders: the folders in them, and counts.
fn contents_of(
    client: &mut LoadClient<'_>,
    folders: &[Uuid],
) -> Result<(Vec<Uuid>, FetchedInventory), ExperimentError> {
    let (owner, _) = client.inventory();
    let answer = client.call(&HttpCall::folders(0, owner, folders))?;
    let unreadable = || {
        let source = io::Error::other(format!("status {} for {} folders", answer.status, folders.len()));
        ExperimentError::Capability { name: "FetchInventoryDescendents2".to_owned(), source }
    };
    let value = answer.llsd().filter(|value| value.get("folders").as_array().len() == folders.len());
    let (subfolders, found) = read_contents(&value.ok_or_else(unreadable)?);
    Ok((subfolders, FetchedInventory { bytes: answer.body.len(), ..found }))
}

/// Folders in the folders of an answer, and counts of those that were made.
fn read_contents(answer: &Llsd) -> (Vec<Uuid>, FetchedInventory) {
    let is_made = |row: &&Llsd| row.get("name").as_str().is_some_and(|name| name.starts_with(NAME));
    let (mut subfolders, mut found) = (Vec::new(), FetchedInventory::default());
    for folder in answer.get("folders").as_array() {
        let categories = folder.get("categories").as_array();
        subfolders.extend(categories.iter().filter_map(|row| row.get("category_id").as_uuid()));
        found.folders += categories.iter().filter(is_made).count();
        found.items += folder.get("items").as_array().iter().filter(is_made).count();
    }
    (subfolders, found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_folder_is_made_before_its_content() {
        let root = Uuid::from_u128(1);
        let mut known = BTreeSet::from([root]);
        let (mut n_folders, mut n_items) = (0, 0);
        for change in changes(root, (800, 2_000)) {
            match change {
                InventoryChange::CreateFolder(folder) => {
                    assert!(known.contains(&folder.parent) && known.insert(folder.id));
                    n_folders += 1;
                }
                InventoryChange::CreateItem(item) => {
                    assert!(known.contains(&item.folder) && known.insert(item.id));
                    n_items += 1;
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!((n_folders, n_items), (800, 2_000));
    }

    #[test]
    fn rows_that_were_made_are_counted_and_all_folders_are_followed() {
        let category = |n, name: &str| {
            Llsd::map([("category_id", Llsd::from(id(FOLDERS, n))), ("name", Llsd::from(name))])
        };
        let row = |name: &str| Llsd::map([("name", Llsd::from(name))]);
        let folder = Llsd::map([
            ("categories", Llsd::array([category(1, "Kept 1"), category(2, "Textures")])),
            ("items", Llsd::array([row("Kept 3"), row("Shirt")])),
        ]);
        let answer = Llsd::map([("folders", Llsd::array([folder.clone(), folder]))]);
        let (subfolders, found) = read_contents(&answer);
        assert_eq!(subfolders, [1, 2, 1, 2].map(|n| id(FOLDERS, n)));
        assert_eq!((found.folders, found.items), (2, 2));
    }
}
