//! Documents in the style of OpenSimulator 0.9, element by element.

/// Elements of a part in OpenSimulator's order, each with the markup in it; `None` for those that most parts do not have.
const PART: &[(&str, Option<&str>)] = &[
    ("AllowedDrop", Some("false")),
    ("CreatorID", Some("<UUID>47704d5f-910f-46ac-a685-7dcdf7bad9f3</UUID>")),
    ("CreatorData", None),
    ("FolderID", Some("<UUID>53e7448e-9a77-4451-98c7-b79e0b340e3d</UUID>")),
    ("InventorySerial", Some("0")),
    ("TaskInventory", None),
    ("UUID", Some("<UUID>53e7448e-9a77-4451-98c7-b79e0b340e3d</UUID>")),
    ("LocalId", Some("2574477159")),
    ("Name", Some("Primitive")),
    ("Material", Some("3")),
    ("PassTouches", Some("false")),
    ("PassCollisions", Some("false")),
    ("RegionHandle", Some("1099511628032000")),
    ("ScriptAccessPin", Some("0")),
    ("GroupPosition", Some("<X>149.3031</X><Y>128.8885</Y><Z>23.21969</Z>")),
    ("OffsetPosition", Some("<X>0</X><Y>0</Y><Z>0</Z>")),
    ("RotationOffset", Some("<X>0</X><Y>0</Y><Z>0.70710677</Z><W>0.70710677</W>")),
    ("Velocity", Some("<X>0</X><Y>0</Y><Z>0</Z>")),
    ("AngularVelocity", Some("<X>0</X><Y>0</Y><Z>0</Z>")),
    ("Acceleration", Some("<X>0</X><Y>0</Y><Z>0</Z>")),
    ("Description", Some("")),
    ("Color", Some("<R>0</R><G>0</G><B>0</B><A>255</A>")),
    ("Text", Some("")),
    ("SitName", Some("")),
    ("TouchName", Some("")),
    ("LinkNum", Some("0")),
    ("ClickAction", Some("0")),
    ("Shape", None),
    ("Scale", Some("<X>0.5</X><Y>0.5</Y><Z>0.5</Z>")),
    ("SitTargetOrientation", Some("<X>0</X><Y>0</Y><Z>0</Z><W>1</W>")),
    ("SitTargetPosition", Some("<X>0</X><Y>0</Y><Z>0</Z>")),
    ("SitTargetPositionLL", Some("<X>0</X><Y>0</Y><Z>0</Z>")),
    ("SitTargetOrientationLL", Some("<X>0</X><Y>0</Y><Z>0</Z><W>1</W>")),
    ("StandTarget", None),
    ("ParentID", Some("0")),
    ("CreationDate", Some("1357053677")),
    ("Category", Some("0")),
    ("SalePrice", Some("0")),
    ("ObjectSaleType", Some("0")),
    ("OwnershipCost", Some("0")),
    ("GroupID", Some("<UUID>00000000-0000-0000-0000-000000000000</UUID>")),
    ("OwnerID", Some("<UUID>47704d5f-910f-46ac-a685-7dcdf7bad9f3</UUID>")),
    ("LastOwnerID", Some("<UUID>47704d5f-910f-46ac-a685-7dcdf7bad9f3</UUID>")),
    ("RezzerID", Some("<UUID>47704d5f-910f-46ac-a685-7dcdf7bad9f3</UUID>")),
    ("BaseMask", Some("2147483647")),
    ("OwnerMask", Some("2147483647")),
    ("GroupMask", Some("0")),
    ("EveryoneMask", Some("0")),
    ("NextOwnerMask", Some("581632")),
    ("Flags", Some("None")),
    ("CollisionSound", Some("<UUID>00000000-0000-0000-0000-000000000000</UUID>")),
    ("CollisionSoundVolume", Some("0")),
    ("MediaUrl", None),
    ("AttachedPos", Some("<X>0</X><Y>0</Y><Z>0</Z>")),
    ("DynAttrs", None),
    ("TextureAnimation", Some("")),
    ("ParticleSystem", Some("")),
    ("PayPrice0", Some("-2")),
    ("PayPrice1", Some("-2")),
    ("PayPrice2", Some("-2")),
    ("PayPrice3", Some("-2")),
    ("PayPrice4", Some("-2")),
    ("Buoyancy", Some("0")),
    ("Force", Some("<X>0</X><Y>0</Y><Z>0</Z>")),
    ("Torque", Some("<X>0</X><Y>0</Y><Z>0</Z>")),
    ("VolumeDetectActive", Some("false")),
    ("Vehicle", None),
    ("PhysicsInertia", None),
    ("RotationAxisLocks", None),
    ("PhysicsShapeType", Some("0")),
    ("Density", None),
    ("Friction", None),
    ("Bounce", None),
    ("GravityModifier", None),
    ("CameraEyeOffset", Some("<X>0</X><Y>0</Y><Z>0</Z>")),
    ("CameraAtOffset", Some("<X>0</X><Y>0</Y><Z>0</Z>")),
    ("SoundID", Some("<UUID>00000000-0000-0000-0000-000000000000</UUID>")),
    ("SoundGain", Some("0")),
    ("SoundFlags", Some("0")),
    ("SoundRadius", Some("0")),
    ("SoundQueueing", Some("false")),
    ("SOPAnims", None),
    ("SitActRange", None),
];

/// Elements of a shape, alike. A plywood box.
const SHAPE: &[(&str, Option<&str>)] = &[
    ("ProfileCurve", Some("1")),
    (
        "TextureEntry",
        Some("iVVnRyTLQ+2SC0fK7RVGXwAAAAAAAAAAgD8AAACAPwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
    ),
    ("ExtraParams", Some("AA==")),
    ("PathBegin", Some("0")),
    ("PathCurve", Some("16")),
    ("PathEnd", Some("0")),
    ("PathRadiusOffset", Some("0")),
    ("PathRevolutions", Some("0")),
    ("PathScaleX", Some("100")),
    ("PathScaleY", Some("100")),
    ("PathShearX", Some("0")),
    ("PathShearY", Some("0")),
    ("PathSkew", Some("0")),
    ("PathTaperX", Some("0")),
    ("PathTaperY", Some("0")),
    ("PathTwist", Some("0")),
    ("PathTwistBegin", Some("0")),
    ("PCode", Some("9")),
    ("ProfileBegin", Some("0")),
    ("ProfileEnd", Some("0")),
    ("ProfileHollow", Some("0")),
    ("Scale", None),
    ("State", Some("0")),
    ("LastAttachPoint", Some("0")),
    ("ProfileShape", Some("Square")),
    ("HollowShape", Some("Same")),
    ("SculptTexture", Some("<UUID>00000000-0000-0000-0000-000000000000</UUID>")),
    ("SculptType", Some("0")),
    ("FlexiSoftness", Some("0")),
    ("FlexiTension", Some("0")),
    ("FlexiDrag", Some("0")),
    ("FlexiGravity", Some("0")),
    ("FlexiWind", Some("0")),
    ("FlexiForceX", Some("0")),
    ("FlexiForceY", Some("0")),
    ("FlexiForceZ", Some("0")),
    ("LightColorR", Some("0")),
    ("LightColorG", Some("0")),
    ("LightColorB", Some("0")),
    ("LightColorA", Some("1")),
    ("LightRadius", Some("0")),
    ("LightCutoff", Some("0")),
    ("LightFalloff", Some("0")),
    ("LightIntensity", Some("1")),
    ("FlexiEntry", Some("false")),
    ("LightEntry", Some("false")),
    ("SculptEntry", Some("false")),
    ("Media", None),
    ("MatOvrd", None),
];

/// Elements of an item, alike. A script.
const ITEM: &[(&str, Option<&str>)] = &[
    ("AssetID", Some("<UUID>aaaaaaaa-0000-4000-8000-000000000001</UUID>")),
    ("BasePermissions", Some("2147483647")),
    ("CreationDate", Some("1357053680")),
    ("CreatorID", Some("<UUID>47704d5f-910f-46ac-a685-7dcdf7bad9f3</UUID>")),
    ("CreatorData", None),
    ("Description", Some("")),
    ("EveryonePermissions", Some("0")),
    ("Flags", Some("0")),
    ("GroupID", Some("<UUID>00000000-0000-0000-0000-000000000000</UUID>")),
    ("GroupPermissions", Some("0")),
    ("InvType", Some("10")),
    ("ItemID", Some("<UUID>bbbbbbbb-0000-4000-8000-000000000001</UUID>")),
    ("OldItemID", Some("<UUID>00000000-0000-0000-0000-000000000000</UUID>")),
    ("LastOwnerID", Some("<UUID>47704d5f-910f-46ac-a685-7dcdf7bad9f3</UUID>")),
    ("Name", Some("New Script")),
    ("NextPermissions", Some("532480")),
    ("OwnerID", Some("<UUID>47704d5f-910f-46ac-a685-7dcdf7bad9f3</UUID>")),
    ("CurrentPermissions", Some("2147483647")),
    ("ParentID", Some("<UUID>53e7448e-9a77-4451-98c7-b79e0b340e3d</UUID>")),
    ("ParentPartID", Some("<UUID>53e7448e-9a77-4451-98c7-b79e0b340e3d</UUID>")),
    ("PermsGranter", Some("<UUID>00000000-0000-0000-0000-000000000000</UUID>")),
    ("PermsMask", Some("0")),
    ("Type", Some("10")),
    ("OwnerChanged", Some("false")),
];

/// Changes of elements: names, each with the markup in it.
pub(super) type ElementChanges<'a> = &'a [(&'a str, &'a str)];

/// Attributes of a part's tag.
pub(super) const XMLNS: &str =
    "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\"";

/// An element as .NET writes it.
fn element(name: &str, inner: &str) -> String {
    match (name, inner) {
        ("TextureAnimation" | "ParticleSystem" | "TextureEntry" | "ExtraParams", "") => {
            format!("<{name}></{name}>")
        }
        (_, "") => format!("<{name} />"),
        _ => format!("<{name}>{inner}</{name}>"),
    }
}

fn elements(usual: &[(&str, Option<&str>)], changes: ElementChanges<'_>) -> String {
    for (name, _) in changes {
        assert!(usual.iter().any(|(other, _)| other == name), "there is no element {name}");
    }
    let present = usual.iter().filter_map(|(name, inner)| {
        let changed = changes.iter().find(|(other, _)| other == name).map(|(_, inner)| *inner);
        Some(element(name, changed.or(*inner)?))
    });
    present.collect()
}

/// Markup in a shape.
pub(super) fn shape(changes: ElementChanges<'_>) -> String {
    elements(SHAPE, changes)
}

/// An item.
pub(super) fn item(changes: ElementChanges<'_>) -> String {
    element("TaskInventoryItem", &elements(ITEM, changes))
}

/// A part with this shape.
pub(super) fn part_with(shape: &str, changes: ElementChanges<'_>) -> String {
    let changes: Vec<(&str, &str)> = changes.iter().copied().chain([("Shape", shape)]).collect();
    format!("<SceneObjectPart {XMLNS}>{}</SceneObjectPart>", elements(PART, &changes))
}

/// A part that is a box.
pub(super) fn part(changes: ElementChanges<'_>) -> String {
    part_with(&shape(&[]), changes)
}

/// A part at a place of a linkset, whose root has [`PART`]'s position.
pub(super) fn linked(number: u32, changes: ElementChanges<'_>) -> String {
    let id = format!("<UUID>cccccccc-0000-4000-8000-{number:012}</UUID>");
    let numbers = [number.to_string(), (2_574_477_158 + number).to_string()];
    let place = [
        ("LinkNum", numbers[0].as_str()),
        ("LocalId", numbers[1].as_str()),
        ("ParentID", if number == 1 { "0" } else { "2574477159" }),
        ("UUID", id.as_str()),
        ("FolderID", id.as_str()),
    ];
    let changes: Vec<(&str, &str)> = changes.iter().copied().chain(place).collect();
    part(&changes)
}

/// A linkset in the form of archives of regions, with markup behind its parts.
pub(super) fn xml2(root: &str, others: &[String], behind: &str) -> String {
    let others = element("OtherParts", &others.concat());
    format!("<SceneObjectGroup>{root}{others}{behind}</SceneObjectGroup>")
}

/// A linkset in the form of inventories.
pub(super) fn original(root: &str, others: &[String], behind: &str) -> String {
    let others: String = others.iter().map(|part| format!("<Part>{part}</Part>")).collect();
    let others = element("OtherParts", &others);
    format!("<SceneObjectGroup><RootPart>{root}</RootPart>{others}{behind}</SceneObjectGroup>")
}

/// A box alone.
pub(super) fn one_box(changes: ElementChanges<'_>) -> String {
    xml2(&part(changes), &[], "")
}

/// A box with this shape alone.
pub(super) fn shaped(changes: ElementChanges<'_>) -> String {
    xml2(&part_with(&shape(changes), &[]), &[], "")
}

/// State of the script in [`item`], as its engine writes it.
pub(super) const STATE: &str = "<SavedScriptState UUID=\"bbbbbbbb-0000-4000-8000-000000000001\"><State UUID=\"bbbbbbbb-0000-4000-8000-000000000001\" \
    Asset=\"aaaaaaaa-0000-4000-8000-000000000001\" Engine=\"YEngine\"><ScriptState><State>default</State><Running>true</Running>\
    <Variables><Variable name=\"n\" type=\"LSL_Types+LSLInteger\">7</Variable></Variables><Queue /></ScriptState></State></SavedScriptState>";

/// A linkset of three: a script with its state in the root, a notecard in the second part. Root, other parts, and what stands behind them.
pub(super) fn linkset_of_three() -> (String, Vec<String>, String) {
    let of_part = |number: u32| format!("<UUID>cccccccc-0000-4000-8000-{number:012}</UUID>");
    let (first, second) = (of_part(1), of_part(2));
    let script = item(&[("ParentID", &first), ("ParentPartID", &first)]);
    let notecard = item(&[
        ("AssetID", "<UUID>aaaaaaaa-0000-4000-8000-000000000002</UUID>"),
        ("Description", "A &lt;note&gt; &amp; more"),
        ("InvType", "7"),
        ("Type", "7"),
        ("ItemID", "<UUID>bbbbbbbb-0000-4000-8000-000000000002</UUID>"),
        ("Name", "Über"),
        ("ParentID", &second),
        ("ParentPartID", &second),
    ]);
    let root =
        linked(1, &[("InventorySerial", "2"), ("TaskInventory", &script), ("Flags", "Physics Scripted")]);
    let others = vec![
        linked(
            2,
            &[
                ("InventorySerial", "1"),
                ("TaskInventory", &notecard),
                ("OffsetPosition", "<X>1.5</X><Y>-0.25</Y><Z>1E-05</Z>"),
                ("Color", "<R>255</R><G>128</G><B>0</B><A>127</A>"),
                ("Text", "two\nlines"),
            ],
        ),
        linked(
            3,
            &[
                ("Name", "Third"),
                ("SitTargetPosition", "<X>0</X><Y>0</Y><Z>1</Z>"),
                ("SitTargetPositionLL", "<X>0</X><Y>0</Y><Z>1</Z>"),
            ],
        ),
    ];
    (root, others, format!("<GroupScriptStates>{STATE}</GroupScriptStates>"))
}
