//! Data that is kept beside the model: its use after changes, its bounds, and references in it.

use super::samples::*;
use super::*;
use crate::xml::attribute;
use ids::Uuid;
use prim::{CARRIED_MAX, CONTENTS_CARRIED_MAX, Mask, Ownership};

fn written(group: &SceneGroup) -> String {
    write_group(group, &options(XmlForm::Xml2))
}

#[test]
fn a_changed_value_is_written_anew_and_the_others_as_they_were() {
    let text = one_box(&[
        ("Scale", "<X>0.50</X><Y>5E-1</Y><Z>0.5</Z>"),
        ("GroupPosition", "<X>1.0</X><Y>2.0</Y><Z>3.0</Z>"),
        ("Flags", "Physics Scripted"),
    ]);
    let group = read_one(&text);
    assert_eq!(written(&group), text);
    let named = with_body(&group, |body| body.names.name = "Lamp".into());
    assert_eq!(written(&named), text.replace(">Primitive<", ">Lamp<"));
    let wide = with_body(&group, |body| body.scale.x = 2.0);
    assert_eq!(written(&wide), text.replace("<X>0.50</X><Y>5E-1</Y>", "<X>2</X><Y>0.5</Y>"));
    let mut moved = group.clone();
    moved.root.place.position.x = 1.5;
    assert_eq!(written(&moved), text.replace("<X>1.0</X><Y>2.0</Y><Z>3.0</Z>", "<X>1.5</X><Y>2</Y><Z>3</Z>"));
    let mut stopped = group.clone();
    stopped.root.flags = 0;
    assert_eq!(written(&stopped), text.replace("Physics Scripted", "None"));
    // And as it was, if the former value comes back.
    let renamed = with_body(&named, |body| body.names.name = "Primitive".into());
    assert_eq!(written(&renamed), text);
}

#[test]
fn masks_of_all_bits_count_until_one_right_changes() {
    let text = one_box(&[]);
    let group = read_one(&text);
    assert_eq!(group.root.body.ownership.permissions.base, Mask::ALL);
    let sold = with_body(&group, |body| {
        let permissions = body.ownership.permissions.for_next_owner();
        body.ownership = Arc::new(Ownership { permissions, ..*body.ownership });
    });
    let expected = text
        .replace("<BaseMask>2147483647</BaseMask>", "<BaseMask>581632</BaseMask>")
        .replace("<OwnerMask>2147483647</OwnerMask>", "<OwnerMask>581632</OwnerMask>");
    assert_eq!(written(&sold), expected);
}

#[test]
fn a_creator_of_another_grid_keeps_its_name_and_others_are_filled_in() {
    let foreign = one_box(&[("CreatorData", "http://other.example/;Ada")]);
    let home = |creator: AgentId| Some(format!("http://home.example/;{}", creator.0.as_u128() & 0xFF));
    let options = WriteOptions { form: XmlForm::Xml2, creators: Some(&home) };
    assert_eq!(write_group(&read_one(&foreign), &options), foreign);
    let own = one_box(&[]);
    let expected = one_box(&[("CreatorData", "http://home.example/;243")]);
    assert_eq!(write_group(&read_one(&own), &options), expected);
    // Its home belongs to its id.
    let mapped = with_body(&read_one(&foreign), |body| {
        let creator = AgentId(Uuid::from_u128(7));
        body.ownership = Arc::new(Ownership { creator, ..*body.ownership });
    });
    assert!(!written(&mapped).contains("CreatorData"));
    assert!(write_group(&mapped, &options).contains("<CreatorData>http://home.example/;7</CreatorData>"));
}

#[test]
fn new_ids_are_written_in_all_places_and_states_follow_their_items() {
    let (root, others, states) = linkset_of_three();
    let text = xml2(&root, &others, &states);
    let [part, item] = [Uuid::from_u128(0xA), Uuid::from_u128(0xB)];
    let group = with_body(&read_one(&text), |body| {
        body.id = part;
        let contents = Arc::make_mut(body.contents.as_mut().unwrap());
        Arc::make_mut(&mut contents.items[0]).id = item;
    });
    let (old_part, old_item) =
        ("cccccccc-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000001");
    let expected = text
        .replace(old_part, &part.to_string())
        .replace(&format!("<UUID>{old_item}</UUID>"), &format!("<UUID>{item}</UUID>"))
        .replace(
            &format!("<SavedScriptState{}", attribute("UUID", old_item)),
            &format!("<SavedScriptState{}", attribute("UUID", &item.to_string())),
        );
    assert_eq!(written(&group), expected);
}

#[test]
fn parts_are_in_the_order_of_their_links() {
    let parts = [linked(3, &[("Name", "c")]), linked(2, &[("Name", "b")])];
    let group = read_one(&xml2(&linked(1, &[]), &parts, ""));
    let names: Vec<&str> = group.parts().map(|part| &*part.body.names.name).collect();
    assert_eq!(names, ["Primitive", "b", "c"]);
    let sorted = [linked(2, &[("Name", "b")]), linked(3, &[("Name", "c")])];
    assert_eq!(written(&group), xml2(&linked(1, &[]), &sorted, ""));
    // Other numbers than the usual ones are kept while the order is.
    let gap = xml2(&linked(1, &[]), &[linked(5, &[]), linked(9, &[])], "");
    let mut group = read_one(&gap);
    assert_eq!(written(&group), gap);
    group.others.remove(0);
    assert!(written(&group).contains("<LinkNum>2</LinkNum>"));
}

#[test]
fn a_place_on_an_avatar_is_carried_and_can_be_set() {
    let text = one_box(&[("AttachedPos", "<X>0.10</X><Y>0</Y><Z>-0.05</Z>")]);
    let mut group = read_one(&text);
    assert_eq!(group.root.place.attached_position, Some(Vec3::new(0.1, 0.0, -0.05)));
    assert_eq!(written(&group), text);
    group.root.place.attached_position = None;
    assert_eq!(written(&group), text, "a world that has no room for it does not lose it");
    group.root.place.attached_position = Some(Vec3::ZERO);
    assert_eq!(written(&group), one_box(&[]));
    group.root.place.attached_position = Some(Vec3::X);
    assert_eq!(written(&group), one_box(&[("AttachedPos", "<X>1</X><Y>0</Y><Z>0</Z>")]));
}

#[test]
fn a_state_of_no_item_is_kept_with_the_root() {
    let other =
        "<SavedScriptState UUID=\"00000000-0000-0000-0000-000000000009\"><State /></SavedScriptState>";
    let list = item(&[]);
    let part = part(&[("InventorySerial", "1"), ("TaskInventory", &list)]);
    let text =
        xml2(&part, &[], &format!("<GroupScriptStates a=\"1\">{other}{STATE}{other}</GroupScriptStates>"));
    let group = read_one(&text);
    assert_eq!(written(&group), text);
    let emptied = with_body(&group, |body| Arc::make_mut(body.contents.as_mut().unwrap()).items.clear());
    let expected = text.replace(STATE, "").replace(&format!("<TaskInventory>{list}</TaskInventory>"), "");
    assert_eq!(written(&emptied), expected);
}

#[test]
fn too_much_data_is_lost_by_class_and_named() {
    let big = "x".repeat(40_000);
    let shape = format!("{}<SculptData>{big}</SculptData>", shape(&[]));
    let part = part_with(&shape, &[("DynAttrs", &big)]);
    let text = xml2(&part, &[], "<lnkstdt>AAAA</lnkstdt>");
    let ReadObject { object, report } = read(&text);
    let copy = format!("<SculptData>{big}</SculptData>");
    let loss = ObjectLoss {
        path: "SceneObjectGroup/SceneObjectPart/Shape/SculptData".into(),
        bytes: copy.len(),
        reason: ObjectLossReason::Full,
    };
    assert_eq!(report.losses, [loss]);
    let root = &object.groups().next().unwrap().root;
    assert!(root.body.carried.as_ref().unwrap().as_bytes().len() <= CARRIED_MAX);
    assert_eq!(write_object(&object, &options(XmlForm::Xml2)), text.replace(&copy, ""));
}

#[test]
fn too_much_data_of_an_item_and_of_a_linkset_is_named_with_its_place() {
    let big = "x".repeat(CARRIED_MAX);
    let list = item(&[]).replace("<Type>", &format!("<New>{big}</New><Type>"));
    let part = part(&[("InventorySerial", "1"), ("TaskInventory", &list)]);
    let text = original(&part, &[], &format!("<lnkstdt>{big}</lnkstdt>"));
    let paths: Vec<String> = read(&text).report.losses.into_iter().map(|loss| loss.path).collect();
    let item = "SceneObjectGroup/RootPart/SceneObjectPart/TaskInventory/TaskInventoryItem[1]/New";
    assert!(paths.iter().any(|path| path == item), "{paths:?}");
    assert!(paths.iter().any(|path| path == "SceneObjectGroup/lnkstdt"), "{paths:?}");
}

#[test]
fn items_share_the_room_of_a_prim() {
    let state = "y".repeat(60_000);
    let numbered = |n: usize| {
        let (name, id) = (format!("Script {n}"), format!("<UUID>bbbbbbbb-0000-4000-8000-{n:012}</UUID>"));
        item(&[("Name", &name), ("ItemID", &id)]).replace("<Type>", &format!("<New>{state}</New><Type>"))
    };
    let list: String = (0..12).map(numbered).collect();
    let ReadObject { object, report } = read(&one_box(&[("InventorySerial", "1"), ("TaskInventory", &list)]));
    let body = &object.groups().next().unwrap().root.body;
    let items = &body.contents.as_ref().unwrap().items;
    let total: usize = items.iter().map(|item| item.carried.as_bytes().len()).sum();
    assert!(items.len() == 12 && total <= CONTENTS_CARRIED_MAX, "{total} bytes of {} items", items.len());
    let n_lost = report.losses.iter().filter(|loss| loss.path.ends_with("/New")).count();
    assert_eq!(n_lost, 12);
}

#[test]
fn assets_are_listed_with_the_places_that_name_them() {
    let id = |n: u128| Uuid::from_u128(n);
    let entry = {
        use wire::texture_entry::{Face, TextureEntry};
        let face = Face { material_id: id(3), ..Face::plain(id(2)) };
        let same = Face { glow: 9, ..Face::plain(id(1)) };
        TextureEntry { default: Face::plain(id(1)), faces: [(4, face), (5, same)].into() }.encode()
    };
    let sculpt = [&id(4).as_bytes()[..], &[5]].concat();
    let image = [&id(5).as_bytes()[..], &[0; 12]].concat();
    let materials = [&[1, 7][..], id(6).as_bytes()].concat();
    let mut particles = vec![0; 98];
    particles[40..56].copy_from_slice(id(7).as_bytes());
    let animations = [&[1, 0][..], id(10).as_bytes(), &[1, b'a']].concat();
    let attributes = format!(
        "<llsd><map><key>OpenSim</key><map><key>Materials</key><map><key>Materials</key><array><map><key>Material</key><map>\
         <key>NormMap</key><uuid>{}</uuid><key>SpecMap</key><string>{}</string></map></map></array></map></map></map></llsd>",
        id(11),
        id(12),
    );
    let sound = format!("<UUID>{}</UUID>", id(9));
    let list = item(&[]);
    let text = one_box(&[
        ("CollisionSound", &sound),
        ("SOPAnims", &base64(&animations)),
        ("DynAttrs", &attributes),
        ("InventorySerial", "1"),
        ("TaskInventory", &list),
    ]);
    let group = with_body(&read_one(&text), |body| {
        use prim::{ExtraParam, LoopedSound};
        body.texture_entry = entry.clone().into();
        for (kind, data) in [
            (ExtraParam::Sculpt, &sculpt),
            (ExtraParam::LightImage, &image),
            (ExtraParam::RenderMaterial, &materials),
        ] {
            body.extra_params = body.extra_params.with(kind, Some(data)).unwrap();
        }
        body.particles = particles.clone().into();
        body.sound = Some(LoopedSound { id: id(8), gain: 1.0, flags: 1, radius_m: 0.0 });
    });
    let listed: Vec<String> =
        group.references().iter().map(|found| format!("{:x}: {found}", found.asset.as_u128())).collect();
    let expected = [
        "1: root, texture",
        "2: root, texture of face 4",
        "3: root, legacy material of face 4",
        "4: root, mesh",
        "5: root, image of the light",
        "6: root, render material of face 7",
        "8: root, sound",
        "7: root, texture of particles",
        "aaaaaaaa000040008000000000000001: root, item \"New Script\"",
        "9: root, sound of collisions",
        "a: root, animation",
        "b: root, texture of a legacy material",
        "c: root, texture of a legacy material",
    ];
    assert_eq!(listed, expected);
    let kinds: Vec<Option<i8>> = group.references().iter().map(AssetReference::asset_type).collect();
    let zero = Some(0);
    let expected =
        [zero, zero, None, Some(49), zero, Some(57), Some(1), zero, Some(10), Some(1), Some(20), zero, zero];
    assert_eq!(kinds, expected);
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::prelude::BASE64_STANDARD.encode(bytes)
}
