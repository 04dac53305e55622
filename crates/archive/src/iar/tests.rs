//! Archives of every version: read, written again, checked, and cut.

use super::*;
use crate::check::{ArchiveReport, CheckConfig, CheckVerdict, FindingList, check_iar};
use crate::diff::{DiffReport, DiffSide, diff};
use crate::file::{ArchiveLimits, ArchiveWriteError, ArchiveWriter, FileError};
use crate::kind::ArchivedKind;
use crate::object::{Coalesced, CoalescedGroup, SceneObject, WriteOptions, write_object};
use crate::testing::*;
use glam::Vec3;
use ids::Uuid;

/// All versions of archives of inventories.
const IAR_VERSIONS: [(u32, u32); 6] = [(0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2)];

fn node(name: &str, n: u128) -> NodeName {
    NodeName { name: name.into(), id: id(n) }
}

fn item(n: u128, name: &str, asset: u128, asset_type: i32) -> ArchivedItem {
    ArchivedItem {
        id: id(n),
        name: name.to_owned(),
        inventory_type: asset_type,
        asset_type,
        asset: id(asset),
        creator: id(CREATOR).to_string(),
        owner: id(OWNER),
        ..ArchivedItem::default()
    }
}

/// Several linksets that were taken together.
fn coalesced() -> Vec<u8> {
    let groups = [house(), plain_box()].map(|group| CoalescedGroup { offset: Vec3::X, group }).to_vec();
    let object = SceneObject::Coalesced(Coalesced { size: Vec3::ONE, groups });
    write_object(&object, &WriteOptions::default()).into_bytes()
}

/// A folder in a folder, with an object, a notecard, links to both and to something else.
fn iar(version: (u32, u32)) -> Vec<u8> {
    let assets_included = (version >= (0, 3) && version.0 == 0 || version >= (1, 2)).then_some(true);
    let control = IarControl { version, assets_included, ..IarControl::default() };
    let mut writer = IarWriter::begin(ArchiveWriter::gzip(Vec::new(), 1), &control).unwrap();
    let folders = vec![node("Objects", 600), node("A/B & C", 601)];
    let place = |item: &ArchivedItem| NodeLocation {
        folders: folders.clone(),
        item: Some(NodeName { name: item.name.as_str().into(), id: item.id }),
    };
    writer.folder(&NodeLocation { folders: vec![node("Empty", 602)], item: None }).unwrap();
    for (n, name, asset, asset_type) in [
        (610, "Chair/table", BOX_ASSET, 6),
        (611, "Read me", NOTECARD, 7),
        (612, "Link", 610, LINK_TO_ITEM),
        (613, "Folder", 600, LINK_TO_FOLDER),
        (614, "Nowhere", 999, LINK_TO_ITEM),
    ] {
        let item = item(n, name, asset, asset_type);
        writer.item(&place(&item), &item).unwrap();
    }
    let name = "Ada Lovelace".to_owned();
    writer.profile(&ArchivedProfile { name, id: id(CREATOR), ..ArchivedProfile::default() }).unwrap();
    let object = ArchivedKind::from_suffix("_object.xml").unwrap();
    writer.asset(id(BOX_ASSET), object, &coalesced()).unwrap();
    for (id, kind, bytes) in assets().into_iter().take(4) {
        writer.asset(id, kind, &bytes).unwrap();
    }
    writer.finish().unwrap()
}

fn read_parts(bytes: &[u8]) -> (Vec<IarPart>, Option<FileError>) {
    match IarReader::open(bytes, ArchiveLimits::default()) {
        Ok(mut reader) => parts_of(|| reader.next_part()),
        Err(why) => (Vec::new(), Some(why)),
    }
}

fn write(parts: &[IarPart]) -> Vec<u8> {
    let control = parts.iter().find_map(|part| match &part.content {
        IarContent::Control(read) => Some(&read.value),
        _ => None,
    });
    let archive = ArchiveWriter::gzip(Vec::new(), 1);
    let mut writer = IarWriter::begin(archive, control.expect("a control file")).unwrap();
    parts.iter().for_each(|part| writer.part(part).unwrap());
    writer.finish().unwrap()
}

fn check(bytes: &[u8]) -> ArchiveReport {
    check_iar(bytes, &CheckConfig::default()).unwrap()
}

#[test]
fn every_version_is_read_and_written_with_equal_parts() {
    for version in IAR_VERSIONS {
        let bytes = iar(version);
        let (parts, end) = read_parts(&bytes);
        assert_eq!((parts.len(), end), (13, None), "{version:?}");
        let is_unreadable = |part: &&IarPart| matches!(part.content, IarContent::Unreadable { .. });
        assert_eq!(parts.iter().find(is_unreadable), None);
        let written = write(&parts);
        assert_eq!(written, bytes, "{version:?}");
        let open = |side| Ok(if side == DiffSide::A { &bytes[..] } else { &written[..] });
        assert_eq!(diff(open, ArchiveLimits::default()).unwrap(), DiffReport::default());
        let report = check(&bytes);
        assert_eq!((report.version, report.unreadable), (Some(version), FindingList::default()));
    }
}

#[test]
fn folders_and_items_have_their_places() {
    let (parts, _) = read_parts(&iar((0, 3)));
    let IarContent::Folder(empty) = &parts[1].content else { panic!("{:?}", parts[1]) };
    assert_eq!(empty.folders, [node("Empty", 602)]);
    let IarContent::Item { location, item } = &parts[2].content else { panic!("{:?}", parts[2]) };
    assert_eq!(location.folders, [node("Objects", 600), node("A/B & C", 601)]);
    assert_eq!(location.item, Some(node("Chair/table", 610)));
    assert_eq!((&*item.value.name, item.value.asset), ("Chair/table", id(BOX_ASSET)));
    let IarContent::Item { item, .. } = &parts[4].content else { panic!("{:?}", parts[4]) };
    assert!(item.value.is_link());
    assert_eq!(&*parts[7].path, "userprofiles/Ada Lovelace.xml");
}

#[test]
fn a_check_counts_nodes_and_the_contents_of_objects() {
    let report = check(&iar((1, 2)));
    let counts = report.inventory;
    assert_eq!((counts.n_folders, counts.n_items, counts.n_links, counts.n_broken_links), (3, 2, 3, 1));
    assert_eq!((report.n_objects, report.n_prims, report.n_scripts, report.n_assets), (2, 3, 1, 5));
    let missing: Vec<Uuid> = report.missing.listed.iter().map(|finding| finding.id).collect();
    assert_eq!(missing, [id(MISSING_TEXTURE)]);
    assert_eq!((report.unused.n_total, report.verdict()), (0, CheckVerdict::Loads));
    let remarks: Vec<&str> = report.remarks.listed.iter().map(|finding| &*finding.reason).collect();
    let [own, broken] = remarks.as_slice() else { panic!("{remarks:?}") };
    assert_eq!(*own, "the link leads to a folder that it lies in");
    assert!(broken.ends_with("which is not in the archive"), "{broken}");
}

#[test]
fn links_to_links_are_broken() {
    let archive = ArchiveWriter::plain(Vec::new());
    let mut writer = IarWriter::begin(archive, &IarControl::new(false, true)).unwrap();
    for (n, target, asset_type) in
        [(1, 9, 7), (2, 1, LINK_TO_ITEM), (3, 2, LINK_TO_ITEM), (4, 4, LINK_TO_ITEM)]
    {
        let location = NodeLocation { folders: vec![], item: Some(node("x", n)) };
        writer.item(&location, &item(n, "x", target, asset_type)).unwrap();
    }
    let report = check(&writer.finish().unwrap());
    assert_eq!((report.inventory.n_links, report.inventory.n_broken_links), (3, 2));
    let reasons = report.remarks.listed.iter().map(|finding| &*finding.reason);
    assert!(reasons.into_iter().all(|reason| reason.ends_with("which is another link")));
}

#[test]
fn items_of_another_form_and_places_are_named() {
    let entries = [
        ("archive.xml", IarControl::new(false, true).write()),
        ("inventory/A__1/x.txt", "x".to_owned()),
        ("inventory/A__1/y.xml", "<Other/>".to_owned()),
        ("inventory/A__1/z.xml", "<InventoryItem>".to_owned()),
        ("inventory/A__1/__folder_metadata.xml", "<folder/>".to_owned()),
        ("userprofiles/a.xml", "<b/>".to_owned()),
        ("assets/x_script.lsl", "x".to_owned()),
    ]
    .map(|(path, text)| (path.to_owned(), text.into_bytes()));
    let bytes = archive(&entries);
    let (parts, end) = read_parts(&bytes);
    assert_eq!(end, None);
    let is_unreadable = |part: &IarPart| matches!(part.content, IarContent::Unreadable { .. });
    let unreadable: Vec<bool> = parts.iter().map(is_unreadable).collect();
    assert_eq!(unreadable, [false, true, true, true, false, true, true]);
    let report = check(&bytes);
    assert_eq!((report.unreadable.n_total, report.verdict()), (5, CheckVerdict::LoadsInPart));
    let deep = ["inventory/", &"a/".repeat(101), "x.xml"].concat();
    let (parts, _) = read_parts(&archive(&[(deep, b"<InventoryItem/>".to_vec())]));
    assert!(is_unreadable(&parts[0]));
}

#[test]
fn assets_are_the_last_of_an_archive() {
    let archive = ArchiveWriter::plain(Vec::new());
    let mut writer = IarWriter::begin(archive, &IarControl::new(false, true)).unwrap();
    let (id, kind, bytes) = assets().remove(0);
    writer.asset(id, kind, &bytes).unwrap();
    let location = NodeLocation { folders: vec![], item: Some(node("x", 1)) };
    let refused = writer.item(&location, &item(1, "x", 2, 7)).unwrap_err();
    assert!(matches!(refused, ArchiveWriteError::Order { .. }));
}

#[test]
fn an_archive_cut_anywhere_returns_whole_parts_and_an_error() {
    let bytes = iar((0, 3));
    let (whole, _) = read_parts(&bytes);
    for length in (0..bytes.len()).step_by(7) {
        let (parts, end) = read_parts(&bytes[..length]);
        assert_eq!(parts, whole[..parts.len()], "cut at {length}");
        assert!(end.is_some(), "cut at {length}");
    }
}
