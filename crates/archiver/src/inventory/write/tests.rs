//! Inventories as archives: everything below a folder comes back.

use super::*;
use crate::AccountRules;
use crate::inventory::{InventoryTarget, plan_inventory};
use crate::testing::{agent, id};
use archive::check::{CheckConfig, CheckVerdict, check_iar};
use archive::file::{ArchiveLimits, ArchiveWriter};
use archive::iar::{IarControl, IarReader};
use store::{InventoryChange, Permissions, Sale};

fn folder(n: u128, parent: u128, name: &str) -> Folder {
    Folder { id: id(n), parent: id(parent), name: name.into(), type_default: -1, version: 1 }
}

fn item(n: u128, folder: u128, asset_type: i8, asset: u128) -> Item {
    let rights = 0x0008_E000;
    let permissions = Permissions {
        creator: id(1),
        last_owner: id(1),
        group: Uuid::nil(),
        group_owned: false,
        base: rights,
        owner: rights,
        group_mask: 0,
        everyone: 0,
        next_owner: 0x0008_2000,
    };
    Item {
        id: id(n),
        folder: id(folder),
        asset: id(asset),
        asset_type,
        inventory_type: 7,
        name: format!("Item & {n}/"),
        description: "<none>".into(),
        flags: 3,
        created_s: 1_300_000_000,
        permissions,
        sale: Sale { kind: 2, price: 10 },
    }
}

struct Sample {
    folders: Vec<Folder>,
    items: Vec<Item>,
}

impl Sample {
    fn new() -> Self {
        let folders = vec![
            folder(1, 0, "My Inventory"),
            folder(2, 1, "Things"),
            folder(3, 2, "Small__things"),
            folder(4, 1, "Empty"),
            // Rows that lead nowhere, or in a circle.
            folder(5, 99, "Lost"),
            folder(6, 7, "Round"),
            folder(7, 6, "About"),
        ];
        let bare = item(23, 2, 7, 53);
        let bare = Item { permissions: Permissions { owner: 0x0008_4000, ..bare.permissions }, ..bare };
        let [chair, note, link] = [item(20, 3, 6, 50), item(21, 1, 7, 51), item(22, 2, 24, 20)];
        let items = vec![chair, note, link, bare, item(24, 5, 7, 54)];
        Self { folders, items }
    }

    fn write(&self, has_root: bool, rights: u32) -> (Vec<u8>, InventoryWritten, AssetClosure) {
        let control = IarControl::new(true, true);
        let mut writer = IarWriter::begin(ArchiveWriter::plain(Vec::new()), &control).unwrap();
        let (folders, items) = (&self.folders, &self.items);
        let inventory = InventoryToWrite { root: id(1), has_root, folders, items, owner: agent(1) };
        let name_of = |account: AgentId| (account == agent(1)).then(|| "Ada Lovelace".to_owned());
        let options = InventoryWriteOptions { home: Some("http://a/"), name_of: &name_of, rights };
        let mut closure = AssetClosure::default();
        let mut progress = |_: u64| Ok::<(), ArchiveWriteError>(());
        let written = write_inventory(&mut writer, &inventory, &options, &mut closure, &mut progress);
        (writer.finish().unwrap(), written.unwrap(), closure)
    }
}

#[test]
fn folders_and_items_come_back_from_an_archive() {
    let sample = Sample::new();
    let (file, written, mut closure) = sample.write(false, 0);
    assert_eq!(written, InventoryWritten { n_folders: 3, n_items: 4, n_left_out: 0 });
    let assets: Vec<Uuid> = std::iter::from_fn(|| closure.poll_asset()).collect();
    assert_eq!(assets, [50, 51, 53].map(id), "a link has none");
    let report = check_iar(&file[..], &CheckConfig::default()).unwrap();
    assert_eq!((report.verdict(), report.inventory.n_broken_links), (CheckVerdict::Loads, 0));
    let target = InventoryTarget {
        owner: agent(1),
        folder: id(0x100),
        folders: &[],
        is_merged: false,
        accounts: AccountRules { is_known: &|account| account == agent(1), default_user: agent(1) },
        account_of: &|_| None,
    };
    let reader = IarReader::open(&file[..], ArchiveLimits::default()).unwrap();
    let plan = plan_inventory(reader, &target, [1; 32]).unwrap();
    assert_eq!((plan.n_folders, plan.n_items, plan.n_links), (3, 3, 1));
    let chair = plan.changes.iter().find_map(|change| match change {
        InventoryChange::CreateItem(item) if item.asset == id(50) => Some(item),
        _ => None,
    });
    let chair = chair.expect("it is there");
    let expected = Item { id: chair.id, folder: chair.folder, ..sample.items[0].clone() };
    assert_eq!(*chair, expected);
}

#[test]
fn a_folder_can_be_in_its_archive_and_items_without_rights_are_left_out() {
    let sample = Sample::new();
    let (file, written, _) = sample.write(true, 0x0000_A000);
    assert_eq!(written, InventoryWritten { n_folders: 4, n_items: 3, n_left_out: 1 });
    let text = String::from_utf8_lossy(&file);
    assert!(text.contains("inventory/My Inventory__") && text.contains("Small__things__"));
    assert!(text.contains("<CreatorUUID>ospa:n=Ada Lovelace</CreatorUUID>"));
    assert!(text.contains("<CreatorData>http://a/;Ada Lovelace</CreatorData>"));
}
