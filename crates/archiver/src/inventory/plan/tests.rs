//! Archives of inventories as changes: folders, creators, links, and archives that are too large.

use super::*;
use crate::testing::{agent, id};
use archive::file::{ArchiveLimits, ArchiveWriter};
use archive::iar::{IarControl, IarWriter, LINK_TO_ITEM};

const OWNER: u128 = 1;
const ROOT: u128 = 0x100;

fn node(name: &str, n: u128) -> NodeName {
    NodeName { name: name.into(), id: id(n) }
}

fn archived(n: u128, name: &str, asset_type: i32, asset: u128) -> ArchivedItem {
    ArchivedItem {
        id: id(n),
        name: name.into(),
        inventory_type: 7,
        asset_type,
        asset: id(asset),
        creator: id(2).to_string(),
        owner: id(3),
        base_mask: u32::MAX,
        owner_mask: u32::MAX,
        next_owner_mask: 0x8000,
        ..ArchivedItem::default()
    }
}

type Writer = IarWriter<Vec<u8>>;

fn archive_of(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let control = IarControl::new(false, true);
    let mut writer = IarWriter::begin(ArchiveWriter::plain(Vec::new()), &control).unwrap();
    write(&mut writer);
    writer.finish().unwrap()
}

fn put(writer: &mut Writer, folders: &[NodeName], item: &ArchivedItem) {
    let name = NodeName { name: item.name.as_str().into(), id: item.id };
    writer.item(&NodeLocation { folders: folders.to_vec(), item: Some(name) }, item).unwrap();
}

fn plan_of(file: &[u8], folders: &[Folder], is_merged: bool) -> Result<InventoryPlan, InventoryPlanError> {
    let is_known = |account: AgentId| [agent(OWNER), agent(2)].contains(&account);
    let account_of = |name: &str| (name == "Ada Lovelace").then_some(agent(8));
    let target = InventoryTarget {
        owner: agent(OWNER),
        folder: id(ROOT),
        folders,
        is_merged,
        accounts: AccountRules { is_known: &is_known, default_user: agent(OWNER) },
        account_of: &account_of,
    };
    plan_inventory(IarReader::open(file, ArchiveLimits::default()).unwrap(), &target, [4; 32])
}

fn folders_of(plan: &InventoryPlan) -> Vec<&NewFolder> {
    let folders = plan.changes.iter().filter_map(|change| match change {
        InventoryChange::CreateFolder(folder) => Some(folder),
        _ => None,
    });
    folders.collect()
}

fn items_of(plan: &InventoryPlan) -> Vec<&Item> {
    let items = plan.changes.iter().filter_map(|change| match change {
        InventoryChange::CreateItem(item) => Some(item),
        _ => None,
    });
    items.collect()
}

#[test]
fn folders_items_and_links_get_ids_of_their_own() {
    let [outer, inner] = [node("Things/1", 10), node("Small", 11)];
    let file = archive_of(|writer| {
        writer.folder(&NodeLocation { folders: vec![outer.clone()], item: None }).unwrap();
        let path = [outer.clone(), inner.clone()];
        put(writer, &path, &archived(22, "to a chair", LINK_TO_ITEM, 20));
        put(writer, &path, &archived(23, "to a folder", LINK_TO_FOLDER, 10));
        put(writer, &path, &archived(24, "to nothing", LINK_TO_ITEM, 99));
        put(writer, &path, &archived(20, "Chair", 6, 50));
        put(writer, &[], &archived(21, "Note\u{9f}", 7, 51));
        writer.folder(&NodeLocation { folders: vec![node("Empty", 12)], item: None }).unwrap();
    });
    let plan = plan_of(&file, &[], false).unwrap();
    assert_eq!((plan.n_folders, plan.n_items, plan.n_links), (3, 2, 2));
    let findings: Vec<&str> = plan.findings.listed().iter().map(|finding| &*finding.why).collect();
    let [cut, nowhere] = findings[..] else { panic!("{findings:?}") };
    assert!(cut == CUT && nowhere.starts_with("it leads to the item "), "{findings:?}");
    let folders = folders_of(&plan);
    let names: Vec<&str> = folders.iter().map(|folder| &*folder.name).collect();
    assert_eq!(names, ["Things/1", "Small", "Empty"]);
    assert_eq!([folders[0].parent, folders[1].parent], [id(ROOT), folders[0].id]);
    assert!(folders.iter().all(|folder| folder.type_default == -1 && folder.id.get_version_num() == 4));
    let items = items_of(&plan);
    let [chair, note, to_chair, to_folder] = items[..] else { panic!("{items:?}") };
    assert_eq!((chair.folder, chair.asset, &*chair.name), (folders[1].id, id(50), "Chair"));
    assert_eq!((note.folder, &*note.name), (id(ROOT), "Note"));
    assert_eq!((to_chair.asset, to_folder.asset), (chair.id, folders[0].id));
    assert!(chair.id != id(20), "an archive can be loaded twice");
}

#[test]
fn links_to_links_and_in_circles_are_left_out() {
    let file = archive_of(|writer| {
        put(writer, &[], &archived(20, "Chair", 6, 50));
        for (link, target) in [(21, 20), (22, 21), (23, 24), (24, 23), (25, 25)] {
            put(writer, &[], &archived(link, "to something", LINK_TO_ITEM, target));
        }
    });
    let plan = plan_of(&file, &[], false).unwrap();
    assert_eq!((plan.n_items, plan.n_links, plan.findings.n_total()), (1, 1, 4));
    let [chair, link] = items_of(&plan)[..] else { panic!("{:?}", plan.changes) };
    assert_eq!(link.asset, chair.id);
}

#[test]
fn names_that_are_cut_are_named() {
    let long = "x".repeat(NAME_MAX + 1);
    let file = archive_of(|writer| put(writer, &[node(&long, 10)], &archived(20, &long, 7, 50)));
    let plan = plan_of(&file, &[], false).unwrap();
    assert_eq!(plan.findings.n_total(), 2);
    assert_eq!((folders_of(&plan)[0].name.len(), items_of(&plan)[0].name.len()), (NAME_MAX, NAME_MAX));
}

#[test]
fn creators_are_known_by_id_then_by_name_then_kept_with_their_home() {
    let by_name = ArchivedItem { creator: "ospa:n=Ada Lovelace".into(), ..archived(20, "a", 7, 1) };
    let foreign = ArchivedItem {
        creator: id(77).to_string(),
        creator_data: Some("http://grid.example/;Eve".into()),
        ..archived(21, "b", 7, 1)
    };
    let unknown = ArchivedItem { creator: id(77).to_string(), ..archived(22, "c", 7, 1) };
    let file = archive_of(|writer| {
        for item in [archived(19, "d", 7, 1), by_name, foreign, unknown] {
            put(writer, &[], &item);
        }
    });
    let plan = plan_of(&file, &[], false).unwrap();
    let creators: Vec<Uuid> = items_of(&plan).iter().map(|item| item.permissions.creator).collect();
    assert_eq!(creators, [id(2), id(8), id(77), id(OWNER)]);
    let first = &items_of(&plan)[0].permissions;
    assert_eq!((first.last_owner, first.next_owner, first.group_mask), (id(OWNER), 0x8000, 0));
}

#[test]
fn folders_of_the_same_name_are_used_only_with_merging() {
    let folder = |n: u128, parent: u128, name: &str| Folder {
        id: id(n),
        parent: id(parent),
        name: name.into(),
        type_default: -1,
        version: 1,
    };
    let there = [folder(0x200, ROOT, "Objects"), folder(0x201, 0x300, "Small")];
    let file = archive_of(|writer| {
        put(writer, &[node("Objects", 10), node("Small", 11)], &archived(20, "Chair", 6, 50));
        put(writer, &[], &archived(21, "to the folder", LINK_TO_FOLDER, 10));
    });
    let merged = plan_of(&file, &there, true).unwrap();
    let made: Vec<(Uuid, &str)> = folders_of(&merged).iter().map(|it| (it.parent, &*it.name)).collect();
    assert_eq!(made, [(id(0x200), "Small")]);
    assert_eq!(items_of(&merged)[1].asset, id(0x200), "a link to the folder that is there");
    assert_eq!(plan_of(&file, &there, false).unwrap().n_folders, 2);
}

#[test]
fn archives_that_are_none_too_large_or_damaged_are_refused() {
    let mut writer = ArchiveWriter::plain(Vec::new());
    writer.append("inventory/x.xml", b"<InventoryItem/>").unwrap();
    let file = writer.finish().unwrap();
    assert!(matches!(plan_of(&file, &[], false), Err(InventoryPlanError::NoControl)));
    let large = archive_of(|writer| {
        for n in 0..=NODES_MAX as u128 {
            writer.folder(&NodeLocation { folders: vec![node("f", n + 1)], item: None }).unwrap();
        }
    });
    assert!(matches!(plan_of(&large, &[], false), Err(InventoryPlanError::Nodes)));
    let cut = &large[..large.len() / 3 + 100];
    assert!(matches!(plan_of(cut, &[], false), Err(InventoryPlanError::File(_))));
}
