//! Values that OpenSimulator reads leniently, or that are replaced.

use super::samples::*;
use super::*;
use prim::{ExtraParam, PCode, Path};

/// Findings about a document that is an object all the same, as `path: fault`. The text is written as it was read.
fn problems(text: &str) -> Vec<String> {
    let ReadObject { object, report } = read(text);
    assert_eq!(write_object(&object, &options(XmlForm::Xml2)), text);
    assert!(report.losses.is_empty());
    let shown = |problem: ObjectProblem| {
        let path =
            problem.path.trim_start_matches("SceneObjectGroup/SceneObjectPart").trim_start_matches('/');
        format!("{path}: {}", problem.flaw)
    };
    report.problems.into_iter().map(shown).collect()
}

#[test]
fn numbers_have_blanks_signs_and_fractions() {
    let text = one_box(&[
        ("Material", " 2\n"),
        ("SalePrice", "+5"),
        ("ObjectSaleType", "1"),
        ("CreationDate", "1357053677.75"),
        ("BaseMask", "-1"),
        ("SoundFlags", "-1"),
        ("Density", "1E3"),
        ("VolumeDetectActive", "TRUE"),
        ("AllowedDrop", "1"),
        ("PassTouches", "perhaps"),
    ]);
    assert_eq!(problems(&text), [] as [&str; 0]);
    let root = read_one(&text).root;
    assert_eq!(root.body.material, prim::Material::Glass);
    assert_eq!(root.body.sale, prim::Sale { kind: prim::SaleKind::Original, price: 5 });
    assert_eq!((root.body.created_us, root.body.physics.density), (1_357_053_677_000_000, 1_000.0));
    assert_eq!(root.flags, flags::VOLUME_DETECT | flags::ALLOW_DROP);
}

#[test]
fn a_nul_behind_a_text_is_kept_beside_it() {
    let text = one_box(&[("Text", "Ears&#x0;"), ("Name", "Ears&#0;")]);
    assert_eq!(problems(&text), [] as [&str; 0]);
    let body = read_one(&text).root.body;
    assert_eq!((&*body.hover_text.text, &*body.names.name), ("Ears", "Ears"));
}

#[test]
fn values_out_of_range_are_clamped_and_named() {
    let long = "ä".repeat(40);
    let text = one_box(&[
        ("Scale", "<X>0</X><Y>1</Y><Z>256.5</Z>"),
        ("Density", "100000"),
        ("SalePrice", "-1"),
        ("ClickAction", "12"),
        ("Name", &long),
        ("OwnerMask", "2147483647"),
        ("BaseMask", "0"),
        ("RotationOffset", "<X>0</X><Y>0</Y><Z>0</Z><W>0</W>"),
    ]);
    assert_eq!(
        problems(&text),
        [
            "RotationOffset: no vector",
            "OwnerMask: out of range, the nearest value was taken",
            "ClickAction: the number 12 is out of range",
            "Name: 80 bytes, cut to 63",
            "Scale: out of range, the nearest value was taken",
            "SalePrice: out of range, the nearest value was taken",
            "Density: out of range, the nearest value was taken",
        ]
    );
    let root = read_one(&text).root;
    assert_eq!((root.body.scale, root.place.rotation), (Vec3::new(0.001, 1.0, 256.0), Quat::IDENTITY));
    assert_eq!((root.body.names.name.len(), root.body.click_action, root.body.sale.price), (62, 0, 0));
    assert_eq!(root.body.ownership.permissions.owner, prim::Mask::NONE);
}

#[test]
fn sizes_that_opensimulator_has_stay_as_they_are() {
    let sizes =
        [("0.001", 0.001), ("0.005", 0.005), ("0.01", 0.01), ("64.5", 64.5), ("200", 200.0), ("256", 256.0)];
    for (text, size) in sizes {
        let scale = format!("<X>{text}</X><Y>1</Y><Z>{text}</Z>");
        let text = one_box(&[("Scale", scale.as_str())]);
        assert_eq!(problems(&text), [] as [&str; 0], "{scale}");
        assert_eq!(read_one(&text).root.body.scale, Vec3::new(size, 1.0, size));
    }
}

#[test]
fn a_shape_with_wrong_values_gets_defaults() {
    let text = shaped(&[
        ("ProfileCurve", "230"),
        ("PathCurve", "7"),
        ("PCode", "47"),
        ("TextureEntry", "!"),
        ("PathBegin", "99999"),
        ("PathTwist", "wide"),
        ("ProfileShape", "Triangle"),
        ("HollowShape", "Triangle"),
        ("Media", "none"),
        ("MatOvrd", "AQID"),
    ]);
    assert_eq!(
        problems(&text),
        [
            "Shape/PCode: the number 47 is out of range",
            "Shape/ProfileCurve: the number 6 is out of range",
            "Shape/ProfileCurve: the number 224 is out of range",
            "Shape/ProfileShape: the unknown name \"Triangle\"",
            "Shape/PathBegin: the number 99999 is out of range",
            "Shape/PathTwist: no number",
            "Shape/PathCurve: no path has code 0x07",
            "Shape/TextureEntry: no base64",
            "Shape/Media: no media",
            "Shape/MatOvrd: no overrides of materials",
        ]
    );
    let body = read_one(&text).root.body;
    assert_eq!((body.shape.path(), body.shape.profile_curve), (Ok(Path::Line), 0x31));
    assert_eq!((body.p_code, body.texture_entry.len()), (PCode::Prim, 47));
    assert_eq!((&body.media, &body.overrides), (&None, &None));
}

#[test]
fn shapes_of_trees_are_clamped_without_a_word() {
    let clamped = |code: &str| {
        problems(&shaped(&[("PCode", code), ("PathScaleX", "0"), ("PathScaleY", "0"), ("PathEnd", "60000")]))
    };
    assert_eq!(clamped("9"), ["Shape: out of range, the nearest value was taken"]);
    assert_eq!(["95", "111", "255"].map(clamped), [[] as [&str; 0]; 3]);
}

#[test]
fn elements_of_flexible_parts_and_lights_count_beside_the_bytes() {
    // The bytes of the light are orange, its elements green.
    let text = shaped(&[
        ("ExtraParams", "ASAAEAAAAP+AAP8AACBBAAAAAAAAQD8="),
        ("LightColorR", "0"),
        ("LightColorG", "1"),
        ("LightRadius", "10.000001"),
        ("LightFalloff", "0.75"),
        ("LightEntry", "true"),
        ("FlexiEntry", "true"),
        ("FlexiTension", "1.5"),
        ("FlexiForceZ", "-2.5"),
    ]);
    assert_eq!(problems(&text), [] as [&str; 0]);
    let params = &read_one(&text).root.body.extra_params;
    assert_eq!(params.get(ExtraParam::Light).map(|data| &data[..4]), Some(&[0, 255, 0, 255][..]));
    let flexi = params.get(ExtraParam::Flexible).unwrap();
    assert_eq!((flexi[0], &flexi[12..]), (15, &(-2.5_f32).to_le_bytes()[..]));
    // Bytes that an element denies, and bytes that are damaged.
    let denied = shaped(&[("ExtraParams", "ASAAEAAAAP+AAP8AACBBAAAAAAAAQD8=")]);
    assert_eq!(read_one(&denied).root.body.extra_params, prim::ExtraParams::default());
    let damaged = shaped(&[("ExtraParams", "ASAA"), ("SculptEntry", "true"), ("SculptType", "5")]);
    assert_eq!(problems(&damaged), ["Shape/ExtraParams: extra parameters that end elsewhere than they say"]);
    assert_eq!(read_one(&damaged).root.body.extra_params.sculpt(), Some((ids::Uuid::nil(), 5)));
}

#[test]
fn items_with_wrong_values_get_defaults_and_names_and_ids_of_their_own() {
    let first = item(&[("CreationDate", "soon"), ("Flags", "4294967295")]);
    let second = item(&[("AssetID", "none"), ("InvType", "300")]);
    let list = format!("{first}{second}");
    let text = one_box(&[("InventorySerial", "2"), ("TaskInventory", &list)]);
    assert_eq!(
        problems(&text),
        [
            "TaskInventory/TaskInventoryItem[1]/CreationDate: no number",
            "TaskInventory/TaskInventoryItem[2]/AssetID: no id",
            "TaskInventory/TaskInventoryItem[2]/ItemID: the id bbbbbbbb-0000-4000-8000-000000000001 is there twice",
            "TaskInventory/TaskInventoryItem[2]/InvType: the number 300 is out of range",
            "TaskInventory/TaskInventoryItem[2]/Name: the name is there twice, the second item is called \"New Script 1\"",
        ]
    );
    let contents = read_one(&text).root.body.contents.clone().unwrap();
    assert_eq!(contents.check(), Ok(()));
    assert_eq!(
        (contents.serial, contents.items[0].flags, &*contents.items[1].name),
        (2, u32::MAX, "New Script 1")
    );
    let again = read_one(&text).root.body.contents.clone().unwrap();
    assert_eq!(contents, again, "an id that is made is the same each time");
}

#[test]
fn empty_and_absent_values_have_defaults() {
    let text = format!(
        "<SceneObjectGroup><SceneObjectPart {XMLNS}><Shape /><InventorySerial /><Scale><X>1</X><Y>1</Y><Z>1</Z></Scale></SceneObjectPart></SceneObjectGroup>"
    );
    assert_eq!(problems(&text), ["UUID: no id", "InventorySerial: no value"]);
    let body = read_one(&text).root.body;
    assert_eq!((body.shape.path(), body.texture_entry.len()), (Ok(Path::Line), 47));
    let permissions = body.ownership.permissions;
    assert_eq!((permissions.base, permissions.everyone), (prim::Mask::ALL, prim::Mask::NONE));
    assert!(body.contents.is_none());
}

#[test]
fn the_last_of_two_elements_counts() {
    let text = one_box(&[]).replace("<Material>3</Material>", "<Material>3</Material><Name>Later</Name>");
    assert_eq!(problems(&text), ["Name: the element is there twice, the last one counts"]);
    assert_eq!(&*read_one(&text).root.body.names.name, "Later");
}

#[test]
fn text_between_elements_is_lost_and_named() {
    let text = one_box(&[]).replace("<Material>", "lost<Material>");
    let ReadObject { object, report } = read(&text);
    assert_eq!(report.losses.len(), 1);
    assert_eq!(report.losses[0].path, "SceneObjectGroup/SceneObjectPart");
    assert_eq!(report.losses[0].reason, ObjectLossReason::NoPlace);
    assert_eq!(write_object(&object, &options(XmlForm::Xml2)), one_box(&[]));
}
