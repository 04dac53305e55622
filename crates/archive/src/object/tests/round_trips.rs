//! Documents that are read and written again with equal text.

use super::samples::*;
use super::*;

/// Asserts that a document is written as it was read, without findings.
fn check(text: &str, form: XmlForm) {
    let ReadObject { object, report } = read(text);
    assert_eq!(report, ObjectReport::default(), "{text}");
    assert_eq!(write_object(&object, &options(form)), text);
}

#[test]
fn a_box_is_written_as_it_was_read() {
    check(&one_box(&[]), XmlForm::Xml2);
    check(&original(&part(&[]), &[], ""), XmlForm::Original);
}

#[test]
fn a_linkset_with_contents_and_states_is_written_as_it_was_read() {
    let (root, others, states) = linkset_of_three();
    let (archived, taken) = (xml2(&root, &others, &states), original(&root, &others, &states));
    check(&archived, XmlForm::Xml2);
    check(&taken, XmlForm::Original);
    let group = read_one(&archived);
    assert_eq!(group, read_one(&taken), "both forms are one linkset");
    assert_eq!(write_group(&group, &options(XmlForm::Original)), taken);
    let [second, third] = group.others.as_slice() else { panic!("{} other parts", group.others.len()) };
    assert_eq!(group.root.place.position, Vec3::new(149.3031, 128.8885, 23.21969));
    assert_eq!(second.place.position, Vec3::new(1.5, -0.25, 1e-5));
    assert_eq!(
        (&*second.body.hover_text.text, second.body.hover_text.color),
        ("two\nlines", [255, 128, 0, 128])
    );
    assert_eq!(third.body.sit_target.unwrap().position, Vec3::Z);
    assert_eq!((group.root.flags, second.flags), (flags::PHYSICS, 0));
    let script = &group.root.body.contents.as_ref().unwrap().items[0];
    assert!(script_state(script).unwrap().starts_with("<State UUID=\"bbbb"));
    let note = &second.body.contents.as_ref().unwrap().items[0];
    assert_eq!((&*note.name, &*note.description, note.asset_type), ("Über", "A <note> & more", 7));
    assert_eq!(script_state(note), None);
}

#[test]
fn flexible_parts_lights_sculpts_and_meshes_are_written_as_they_were_read() {
    check(
        &shaped(&[
            ("ExtraParams", "ARAAEAAAAIoUZwAAAAAAAAAAAAAAAAA="),
            ("FlexiSoftness", "2"),
            ("FlexiTension", "1"),
            ("FlexiDrag", "2"),
            ("FlexiGravity", "0.3000002"),
            ("FlexiEntry", "true"),
            ("PathCurve", "128"),
        ]),
        XmlForm::Xml2,
    );
    check(
        &shaped(&[
            ("ExtraParams", "ASAAEAAAAP+AAP8AACBBAAAAAAAAQD8="),
            ("LightColorR", "1"),
            ("LightColorG", "0.5019608"),
            ("LightRadius", "10"),
            ("LightFalloff", "0.75"),
            ("LightEntry", "true"),
        ]),
        XmlForm::Xml2,
    );
    let sculpt = [
        ("ProfileCurve", "0"),
        ("ExtraParams", "ATAAEQAAAM4u+b5GuEYTmG5TBM7AJK8D"),
        ("PathCurve", "32"),
        ("PathScaleY", "150"),
        ("ProfileShape", "Circle"),
        ("SculptTexture", "<UUID>ce2ef9be-46b8-4613-986e-5304cec024af</UUID>"),
        ("SculptType", "3"),
        ("SculptEntry", "true"),
    ];
    check(&shaped(&sculpt), XmlForm::Xml2);
    check(
        &shaped(&[
            ("ExtraParams", "ATAAEQAAABEREREiIjMzRERVVVVVVVUF"),
            ("SculptTexture", "<UUID>11111111-2222-3333-4444-555555555555</UUID>"),
            ("SculptType", "5"),
            ("SculptEntry", "true"),
        ]),
        XmlForm::Xml2,
    );
}

/// Override of a face in the spelling of OpenSimulator.
const OVERRIDE: &str = "AQBVAHsnYmMnOltyMSxyMC41LHIwLHIxXSwnbWYnOnIwLjI1LCd0ZXgnOlt1Nzc3Nzc3NzctNjY2Ni01NTU1LTQ0NDQtMzMzMzMzMzMzMzMzLCEsISwhXX0=";

#[test]
fn render_materials_with_overrides_are_written_as_they_were_read() {
    let text = shaped(&[("ExtraParams", "AYAAEgAAAAEAmZmZmYiId3dmZlVVVVVVVQ=="), ("MatOvrd", OVERRIDE)]);
    check(&text, XmlForm::Xml2);
    let group = read_one(&text);
    let overrides = group.root.body.overrides.as_ref().unwrap();
    let changes = overrides.get(0).unwrap();
    assert_eq!((changes.base_color, changes.metallic), (Some([1.0, 0.5, 0.0, 1.0]), Some(0.25)));
    assert_eq!(changes.textures[0], Some(ids::Uuid::from_u128(0x7777_7777_6666_5555_4444_3333_3333_3333)));
    assert_eq!(changes.textures[1], None);
    // A prim with materials and without overrides.
    let without = shaped(&[("ExtraParams", "AYAAEgAAAAEAmZmZmYiId3dmZlVVVVVVVQ=="), ("MatOvrd", "AA==")]);
    check(&without, XmlForm::Xml2);
    assert_eq!(read_one(&without).root.body.overrides.as_deref(), Some(&prim::MaterialOverrides::default()));
}

#[test]
fn media_are_written_as_they_were_read() {
    let media = "&lt;OSMedia type=\"sl\" version=\"0.1\"&gt;&lt;OSData&gt;&lt;llsd&gt;&lt;array&gt;&lt;undef /&gt;&lt;map&gt;\
        &lt;key&gt;home_url&lt;/key&gt;&lt;string&gt;http://a.org/?b&amp;amp;c&lt;/string&gt;&lt;key&gt;auto_play&lt;/key&gt;&lt;boolean&gt;1&lt;/boolean&gt;\
        &lt;/map&gt;&lt;/array&gt;&lt;/llsd&gt;&lt;/OSData&gt;&lt;/OSMedia&gt;";
    let address = "x-mv:0000000003/47704d5f-910f-46ac-a685-7dcdf7bad9f3";
    let text = xml2(&part_with(&shape(&[("Media", media)]), &[("MediaUrl", address)]), &[], "");
    check(&text, XmlForm::Xml2);
    let body = read_one(&text).root.body;
    let media = body.media.as_ref().unwrap();
    assert_eq!((media.version, &*body.media_url), (3, address));
    assert_eq!(
        media.face(1).map(|entry| (entry.home.as_str(), entry.plays)),
        Some(("http://a.org/?b&c", true))
    );
    assert_eq!(media.face(0), None);
    check(&one_box(&[("MediaUrl", "http://a.org/stream")]), XmlForm::Xml2);
}

#[test]
fn several_linksets_are_written_as_they_were_read() {
    let (root, others, states) = linkset_of_three();
    let text = format!(
        "<CoalescedObject x=\"12.5\" y=\"3\" z=\"0.5\"><SceneObjectGroup offsetx=\"0\" offsety=\"0\" offsetz=\"0\">{}</SceneObjectGroup>\
         <SceneObjectGroup offsetx=\"12\" offsety=\"1.5\" offsetz=\"-0.25\">{}</SceneObjectGroup></CoalescedObject>",
        original(&part(&[]), &[], ""),
        original(&root, &others, &states),
    );
    check(&text, XmlForm::Xml2);
    let groups = read(&text).object.into_groups();
    assert_eq!(groups.len(), 2);
    assert_eq!(groups[1].offset, Vec3::new(12.0, 1.5, -0.25));
    assert_eq!(groups[1].group, read_one(&original(&root, &others, &states)));
}

#[test]
fn elements_beyond_the_model_are_written_as_they_were_read() {
    let part = part(&[
        ("CreatorData", "http://grid.example:8002/;Ada Lovelace"),
        ("PassTouches", "true"),
        ("StandTarget", "<X>0</X><Y>0</Y><Z>1</Z>"),
        ("CollisionSound", "<UUID>dddddddd-0000-4000-8000-000000000001</UUID>"),
        ("AttachedPos", "<X>0.1</X><Y>0</Y><Z>-0.05</Z>"),
        ("DynAttrs", "<llsd><map><key>A</key><map><key>b</key><integer>1</integer></map></map></llsd>"),
        ("PayPrice1", "5"),
        ("Buoyancy", "0.5"),
        ("Vehicle", "<TYPE>1</TYPE><FLAGS>2</FLAGS><LMDIR><X>0</X><Y>0</Y><Z>0</Z></LMDIR>"),
        ("PhysicsInertia", "<MASS>12.5</MASS>"),
        ("RotationAxisLocks", "3"),
        ("CameraEyeOffset", "<X>-2</X><Y>0</Y><Z>1</Z>"),
        ("SoundQueueing", "true"),
        ("SOPAnims", "AA=="),
        ("SitActRange", "3.5"),
    ]);
    let behind =
        "<KeyframeMotion>AAEAAAD/////AQ==</KeyframeMotion><StartStr>go</StartStr><lnkstdt>AAAA</lnkstdt>";
    check(&xml2(&part, &[], behind), XmlForm::Xml2);
    check(&original(&part, &[], behind), XmlForm::Original);
    let root = read_one(&xml2(&part, &[], behind)).root;
    assert_eq!(root.creator_data().as_deref(), Some("http://grid.example:8002/;Ada Lovelace"));
    assert_eq!(root.place.attached_position, Some(Vec3::new(0.1, 0.0, -0.05)));
}

#[test]
fn unknown_elements_and_attributes_are_written_where_they_stood() {
    let item = item(&[]).replace("<Type>", "<New b='1'><x/></New><Type>").replace("<Name>", "<Name c=\"2\">");
    let list = format!("<Before/>{item}<After>1</After>");
    let part = part_with(
        &format!("{}<NewShape>&#65;</NewShape>", shape(&[])),
        &[("InventorySerial", "1"), ("TaskInventory", &list)],
    )
    .replace("<Shape>", "<Shape d=\"3\">")
    .replace("<TaskInventory>", "<TaskInventory e=\"4\">")
    .replace("<AllowedDrop>", "<First /><AllowedDrop>")
    .replace("<SceneObjectPart ", "<SceneObjectPart new=\"5\" ")
    .replace("<Material>3</Material>", "<Material>3</Material><UpdateFlag>0</UpdateFlag>");
    let text = format!(
        "<SceneObjectGroup f=\"6\"><Zero /><RootPart g=\"7\"><One /><!-- gone -->{part}<Two /></RootPart><OtherParts h=\"8\">\
         <Three /></OtherParts><Four>x</Four></SceneObjectGroup>"
    );
    check(&text.replace("<!-- gone -->", ""), XmlForm::Original);
    let group = read_one(&text);
    assert_eq!(write_group(&group, &options(XmlForm::Original)), text.replace("<!-- gone -->", ""));
    // The other form has no element around the root.
    let other_form = text
        .replace("<!-- gone -->", "")
        .replace("<RootPart g=\"7\"><One />", "")
        .replace("<Two /></RootPart>", "");
    assert_eq!(write_group(&group, &options(XmlForm::Xml2)), other_form);
}

#[test]
fn older_files_are_written_as_they_were_read() {
    let seven_digits = "<X>0</X><Y>0</Y><Z>0.7071068</Z><W>0.7071067</W>";
    let part = part_with(
        &shape(&[("Scale", "<X>0.5</X><Y>0.5</Y><Z>0.5</Z>")])
            .replace("<LastAttachPoint>0</LastAttachPoint>", "")
            .replace("<FlexiSoftness>", "<SculptData></SculptData><FlexiSoftness>"),
        &[("RotationOffset", seven_digits), ("Flags", "Phantom"), ("GroupMask", "0"), ("BaseMask", "647168")],
    )
    .replace("UUID>", "Guid>")
    .replace("<Guid><Guid>", "<UUID><Guid>")
    .replace("</Guid></Guid>", "</Guid></UUID>")
    .replace("<RezzerID><Guid>47704d5f-910f-46ac-a685-7dcdf7bad9f3</Guid></RezzerID>", "")
    .replace("<PhysicsShapeType>0</PhysicsShapeType>", "")
    .replace("<SoundQueueing>false</SoundQueueing>", "");
    let text = xml2(&part, &[], "");
    check(&text, XmlForm::Xml2);
    let group = read_one(&text);
    assert_eq!(group.root.flags, flags::PHANTOM);
    assert!((group.root.place.rotation.length() - 1.0).abs() < 1e-5);
    // A document of the part alone is the same linkset.
    let alone = read_one(&part);
    assert_eq!(bare(&alone), bare(&group));
}

/// In the order of node-metaverse, with blanks between elements and without some of them.
#[test]
fn another_order_is_kept_and_blanks_are_not() {
    let blanks = "\n    ";
    let head = format!("<SceneObjectPart {XMLNS}>");
    let children = [
        "<AllowedDrop>false</AllowedDrop>",
        "<UUID><UUID>53e7448e-9a77-4451-98c7-b79e0b340e3d</UUID></UUID>",
        "<Name>Chair</Name>",
        "<Scale><X>1</X><Y>2</Y><Z>3</Z></Scale>",
        "<AttachedRot><X>0</X><Y>0</Y><Z>0</Z><W>1</W></AttachedRot>",
        "<Shape><PathCurve>16</PathCurve><ProfileCurve>1</ProfileCurve></Shape>",
        "<Flags>ObjectModify AllowInventoryDrop</Flags>",
        "<Material>4</Material>",
    ];
    let spaced = format!(
        "<SceneObjectGroup>{blanks}{head}{blanks}{}{blanks}</SceneObjectPart>\n</SceneObjectGroup>",
        children.join(blanks)
    );
    let group = read_one(&spaced);
    let dense = format!("<SceneObjectGroup>{head}{}</SceneObjectPart></SceneObjectGroup>", children.concat());
    assert_eq!(write_group(&group, &options(XmlForm::Xml2)), dense);
    assert_eq!((group.root.flags, group.root.body.scale), (flags::ALLOW_DROP, Vec3::new(1.0, 2.0, 3.0)));
    assert_eq!(group.root.body.material, prim::Material::Flesh);
}
