//! Archives that differ in one thing, or in none that counts.

use super::*;
use crate::testing::*;

fn difference(path: &str, a: Option<&str>, b: Option<&str>) -> ArchiveDifference {
    ArchiveDifference { path: path.into(), a: a.map(Box::from), b: b.map(Box::from) }
}

/// The only one of a list.
fn one(mut differences: Vec<ArchiveDifference>) -> ArchiveDifference {
    assert_eq!(differences.len(), 1, "{differences:?}");
    differences.remove(0)
}

fn compare(a: &SampleEntries, b: &SampleEntries) -> Vec<ArchiveDifference> {
    let (a, b) = (archive(a), archive(b));
    let open = |side| Ok(if side == DiffSide::A { &a[..] } else { &b[..] });
    let report = diff(open, ArchiveLimits::default()).unwrap();
    assert_eq!(report.n_more, 0);
    report.differences
}

/// Two files with one document each.
fn documents(a: &str, b: &str) -> Vec<ArchiveDifference> {
    let entries = |text: &str| vec![("x.xml".to_owned(), text.as_bytes().to_vec())];
    compare(&entries(a), &entries(b))
}

#[test]
fn order_and_folders_of_entries_have_no_meaning() {
    let entries = oar_entries((0, 8));
    let mut reversed = entries.clone();
    reversed.reverse();
    assert_eq!(compare(&entries, &reversed), vec![]);
}

#[test]
fn objects_and_assets_are_found_by_their_ids() {
    let entries = oar_entries((0, 8));
    let mut renamed = entries.clone();
    for (path, _) in &mut renamed {
        *path = path.replace("House_128-128-025", "Home_001-002-003").replace("Sea side", "Hills");
    }
    assert_eq!(compare(&entries, &renamed), vec![]);
    let mut other_kind = entries.clone();
    for (path, _) in &mut other_kind {
        *path = path.replace("_landmark.txt", "_notecard.txt");
    }
    let found = one(compare(&entries, &other_kind));
    assert!(found.path.ends_with("_landmark.txt"), "{found:?}");
    assert!(found.a.as_ref().is_some_and(|text| text.starts_with("landmark, ")), "{found:?}");
    assert!(found.b.as_ref().is_some_and(|text| text.starts_with("notecard, ")), "{found:?}");
}

#[test]
fn entries_of_one_archive_are_listed() {
    let entries = oar_entries((0, 8));
    let mut fewer = entries.clone();
    let (path, content) = fewer.remove(1);
    let removed = one(compare(&entries, &fewer));
    assert_eq!((&*removed.path, &removed.b), (&*path, &None));
    assert!(removed.a.as_ref().is_some_and(|text| text.contains(&format!("{} bytes", content.len()))));
    let added = one(compare(&fewer, &entries));
    assert_eq!((&*added.path, &added.a, &added.b), (&*path, &None, &removed.a));
}

#[test]
fn a_changed_element_is_listed_by_its_path() {
    let entries = oar_entries((0, 8));
    let mut changed = entries.clone();
    for (path, content) in &mut changed {
        if path.starts_with("objects/") {
            let text = String::from_utf8(content.clone()).unwrap();
            *content = text.replace("<Name>Roof</Name>", "<Name>Cellar</Name>").into_bytes();
        }
        if path.starts_with("settings/") {
            let text = String::from_utf8(content.clone()).unwrap();
            *content = text.replace("<WaterHeight>21.5<", "<WaterHeight>21.50<").into_bytes();
        }
    }
    let house = format!("objects/House_128-128-025__{}.xml/SceneObjectGroup", id(HOUSE));
    let roof = format!("{house}/OtherParts/SceneObjectPart[{}]/Name", id(HOUSE + 1));
    let expected = [
        difference(&roof, Some("Roof"), Some("Cellar")),
        difference("settings/Sea side.xml/RegionSettings/Terrain/WaterHeight", Some("21.5"), Some("21.50")),
    ];
    assert_eq!(compare(&entries, &changed), expected);
}

#[test]
fn declarations_comments_and_order_have_no_meaning() {
    let a = "<?xml version=\"1.0\" encoding=\"utf-16\"?>\n<A x='1' y=\"2\">\n  <B>1</B><C/>\n</A>";
    assert_eq!(documents(a, "<A y='2' x='1'><C></C><B>1</B></A>"), vec![]);
    assert_eq!(documents(a, "<!-- c --><A  x=\"1\"  y='2' ><B><!-- d -->1</B><C /></A>"), vec![]);
    let parts = |ids: [&str; 2]| {
        let part = |id: &str| format!("<SceneObjectPart><UUID><UUID>{id}</UUID></UUID></SceneObjectPart>");
        let part = |id: &str| format!("<Part>{}</Part>", part(id));
        format!("<G><OtherParts>{}</OtherParts></G>", ids.map(part).concat())
    };
    assert_eq!(documents(&parts(["a", "b"]), &parts(["b", "a"])), vec![]);
    // A save has the states of scripts by parts, other programs have them in an order of their own.
    let states = |ids: [&str; 2]| {
        let state =
            |id: &str| format!("<SavedScriptState UUID=\"{id}\"><State N=\"{id}\"/></SavedScriptState>");
        format!("<G><GroupScriptStates>{}</GroupScriptStates></G>", ids.map(state).concat())
    };
    assert_eq!(documents(&states(["a", "b"]), &states(["b", "a"])), vec![]);
    let added = documents(&parts(["a", "b"]), &parts(["a", "c"]));
    let paths: Vec<&str> = added.iter().map(|found| &*found.path).collect();
    assert_eq!(paths, ["x.xml/G/OtherParts/Part[b]", "x.xml/G/OtherParts/Part[c]"]);
}

#[test]
fn texts_attributes_and_elements_differ() {
    for (a, b, expected) in [
        ("<A>1</A>", "<A>1.0</A>", difference("x.xml/A", Some("1"), Some("1.0"))),
        ("<A>&#65;</A>", "<A>B</A>", difference("x.xml/A", Some("A"), Some("B"))),
        ("<A>a </A>", "<A>a</A>", difference("x.xml/A", Some("a "), Some("a"))),
        ("<A x='1'/>", "<A x='2'/>", difference("x.xml/A/@x", Some("1"), Some("2"))),
        ("<A x='1'/>", "<A/>", difference("x.xml/A/@x", Some("1"), None)),
        ("<A><B/><B>2</B></A>", "<A><B/><B>3</B></A>", difference("x.xml/A/B[2]", Some("2"), Some("3"))),
        ("<A><B/></A>", "<A><B/><B>3</B></A>", difference("x.xml/A/B[2]", None, Some("3"))),
        ("<A><B/></A>", "<A>B</A>", difference("x.xml/A", Some("<B/>"), Some("B"))),
        ("<A>a<B/></A>", "<A>b<B/></A>", difference("x.xml/A", Some("a<B/>"), Some("b<B/>"))),
        ("<A/>", "<B/>", difference("x.xml", Some("A"), Some("B"))),
    ] {
        assert_eq!(documents(a, b), [expected], "{a} {b}");
    }
    let long = "ä".repeat(500);
    let found = one(documents(&format!("<A>{long}</A>"), "<A/>"));
    assert_eq!(found.a.as_ref().map(|text| text.chars().count()), Some(TEXT_SHOWN + 1));
}

#[test]
fn documents_that_cannot_be_read_are_compared_by_their_bytes() {
    assert_eq!(documents("<A", "<A"), vec![]);
    let found = one(documents("<A", "<A>"));
    assert!(found.a.as_ref().is_some_and(|text| text.starts_with("2 bytes, BLAKE3 ")), "{found:?}");
}

#[test]
fn folders_of_an_inventory_are_there_with_their_items() {
    let item = |path: &str| vec![(path.to_owned(), b"<I/>".to_vec())];
    let a = item("inventory/A__1/B__2/x.xml");
    let mut b = archive(&a);
    let mut writer = crate::file::ArchiveWriter::plain(Vec::new());
    writer.append_folder("inventory/A__1").unwrap();
    writer.append_folder("inventory/A__1/B__2").unwrap();
    writer.append(&a[0].0, &a[0].1).unwrap();
    let with_folders = writer.finish().unwrap();
    let open = |side| Ok(if side == DiffSide::A { &b[..] } else { &with_folders[..] });
    assert!(diff(open, ArchiveLimits::default()).unwrap().is_empty());
    b = archive(&item("inventory/A__1/x.xml"));
    let open = |side| Ok(if side == DiffSide::A { &b[..] } else { &with_folders[..] });
    let report = diff(open, ArchiveLimits::default()).unwrap();
    let paths: Vec<&str> = report.differences.iter().map(|found| &*found.path).collect();
    assert_eq!(paths, ["inventory/A__1/B__2", "inventory/A__1/B__2/x.xml", "inventory/A__1/x.xml"]);
}

#[test]
fn archives_that_cannot_be_read_are_named() {
    let whole = oar((0, 8));
    let cut = &whole[..whole.len() - 2_048];
    let open = |side| Ok(if side == DiffSide::A { &whole[..] } else { cut });
    let why = diff(open, ArchiveLimits::default()).unwrap_err();
    assert!(matches!(why, DiffError::File { side: DiffSide::B, reason: FileError::Truncated(_) }), "{why}");
    assert!(!why.is_no_archive());
    let open = |side| Ok(if side == DiffSide::A { &b""[..] } else { &whole[..] });
    assert!(diff(open, ArchiveLimits::default()).unwrap_err().is_no_archive());
    let open = |_| Err::<&[u8], _>(io::Error::from(io::ErrorKind::NotFound));
    assert!(matches!(diff(open, ArchiveLimits::default()), Err(DiffError::Open(DiffSide::A, _))));
}

#[test]
fn many_differences_are_counted() {
    let entries = |text: &str| -> SampleEntries {
        (0..DIFFERENCES_MAX + 5).map(|n| (format!("{n}"), text.as_bytes().to_vec())).collect()
    };
    let (a, b) = (archive(&entries("a")), archive(&entries("b")));
    let open = |side| Ok(if side == DiffSide::A { &a[..] } else { &b[..] });
    let report = diff(open, ArchiveLimits::default()).unwrap();
    assert_eq!((report.differences.len(), report.n_more), (DIFFERENCES_MAX, 5));
}
