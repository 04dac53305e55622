//! Documents that are refused, with the place of the fault.

use super::samples::*;
use super::*;
use crate::xml::XmlError;

fn refusal(text: &str) -> ObjectError {
    read_object(text.as_bytes(), &XmlLimits::OBJECT).expect_err("the document is refused")
}

/// Asserts that a part with this element is refused with this fault.
fn check(name: &str, inner: &str, flaw: &str) {
    let root = part(&[(name, inner)]);
    let expected = |path: &str| format!("{path}/{name}: {flaw}");
    let archived = refusal(&xml2(&root, &[], "")).to_string();
    assert_eq!(archived, expected("SceneObjectGroup/SceneObjectPart"));
    let taken = refusal(&original(&part(&[]), &[part(&[]), root], "")).to_string();
    assert_eq!(taken, expected("SceneObjectGroup/OtherParts/Part[2]/SceneObjectPart"));
}

#[test]
fn wrong_values_of_a_part_are_refused_with_their_path() {
    let digits = "9".repeat(400);
    for (name, inner, flaw) in [
        ("Scale", "<X>NaN</X><Y>1</Y><Z>1</Z>", "a number that is not finite"),
        ("GroupPosition", "<X>INF</X><Y>1</Y><Z>1</Z>", "a number that is not finite"),
        ("GroupPosition", "<X>1e40</X><Y>1</Y><Z>1</Z>", "a number that is not finite"),
        ("GroupPosition", "<X>1</X><Y>1</Y>", "no vector"),
        ("RotationOffset", "<X>0</X><Y>0</Y><Z>0</Z><V>1</V>", "no vector"),
        ("SalePrice", &digits, "a number of 400 characters"),
        ("Density", &digits, "a number of 400 characters"),
        ("Density", "1,5", "no number"),
        ("SalePrice", "2147483648", "the number 2147483648 is out of range"),
        ("BaseMask", "4294967296", "the number 4294967296 is out of range"),
        ("Material", "256", "the number 256 is out of range"),
        ("TextureAnimation", "***", "no base64"),
        ("ParticleSystem", "AAA*", "no base64"),
        ("Flags", "Physics Solid", "the unknown name \"Solid\""),
        ("Name", "<b>x</b>", "elements in place of text"),
        ("CreatorID", "<Id>x</Id>", "elements in place of text"),
    ] {
        check(name, inner, flaw);
    }
}

#[test]
fn documents_of_something_else_are_refused() {
    assert_eq!(refusal("<html/>"), ObjectError::Root("html".into()));
    let absent = |path: &str| ObjectError::Absent { path: path.into(), expected: "SceneObjectPart" };
    assert_eq!(refusal("<SceneObjectGroup/>"), absent("SceneObjectGroup"));
    assert_eq!(refusal("<SceneObjectGroup><OtherParts/></SceneObjectGroup>"), absent("SceneObjectGroup"));
    assert_eq!(
        refusal("<SceneObjectGroup><RootPart/></SceneObjectGroup>"),
        absent("SceneObjectGroup/RootPart")
    );
    let empty = ObjectError::Absent { path: "CoalescedObject".into(), expected: "SceneObjectGroup" };
    assert_eq!(refusal("<CoalescedObject/>"), empty);
    assert_eq!(refusal("<CoalescedObject><a/></CoalescedObject>"), empty);
    let member = "<CoalescedObject><SceneObjectGroup offsetx='1'/></CoalescedObject>";
    assert_eq!(refusal(member), absent("CoalescedObject/SceneObjectGroup[1]"));
}

#[test]
fn bombs_are_refused() {
    let deep = format!("<SceneObjectGroup>{}", "<SceneObjectGroup>".repeat(100));
    assert!(matches!(refusal(&deep), ObjectError::Xml(XmlError::Depth { max: 64, .. })));
    let entities = format!("<!DOCTYPE a [<!ENTITY a \"aaaa\">]>{}", one_box(&[]));
    assert_eq!(refusal(&entities), ObjectError::Xml(XmlError::DocumentType { offset: 0 }));
    let unknown = one_box(&[("Name", "&lol;")]);
    assert!(matches!(refusal(&unknown), ObjectError::Xml(XmlError::Entity { .. })));
    let parts =
        format!("<SceneObjectGroup>{}</SceneObjectGroup>", "<SceneObjectPart/>".repeat(PARTS_MAX + 1));
    assert_eq!(refusal(&parts), ObjectError::Parts);
    let items = "<TaskInventoryItem/>".repeat(30_000);
    let ReadObject { object, report } = read(&one_box(&[("TaskInventory", &items)]));
    let contents = object.groups().next().unwrap().root.body.contents.clone().unwrap();
    assert_eq!(contents.items.len(), prim::CONTENT_ITEMS_MAX);
    assert!(report.problems.len() == REPORT_MAX && report.more_problems > 20_000);
    assert!(!report.losses.is_empty());
}

#[test]
fn a_declared_encoding_is_ignored() {
    let text =
        format!("\u{FEFF}<?xml version=\"1.0\" encoding=\"utf-16\"?>\r\n{}\0", one_box(&[("Name", "Ü")]));
    assert_eq!(&*read_one(&text).root.body.names.name, "Ü");
    // One byte of another encoding in place of a letter.
    let mut latin = one_box(&[]).into_bytes();
    latin[20] = 0xDC;
    let why = read_object(&latin, &XmlLimits::OBJECT).unwrap_err();
    assert_eq!(why, ObjectError::Xml(XmlError::Utf8 { offset: 20 }));
}
