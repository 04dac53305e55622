//! Uploads from the request of a capability to the rows in the store.

use super::*;
use crate::inventory::tests::store_with_ada;
use crate::inventory::{FolderType, InventoryType, LIBRARY_OWNER};
use archive::object::{SceneObject, read_object};
use archive::xml::XmlLimits;
use assets::{AddAssetError, AssetKind, AssetStore, MemoryAssets, SizeLimits};
use bytes::Bytes;
use ids::{AgentId, SessionKey, Uuid, WorldId};
use keeper::Order;
use link::ContentReplacement;
use std::sync::Arc;
use std::sync::mpsc::channel;
use store::{InventoryChange, InventoryLimits, InventoryRefusal, Item, ItemUpdate, Store};
use wire::llsd::{Llsd, xml};

const NOW_S: i64 = 1_750_000_000;
const TEXTURE: &[u8] = include_bytes!("../asset_sources/body/plywood.j2c");
const NOTECARD: &[u8] =
    b"Linden text version 2\n{\nLLEmbeddedItems version 1\n{\ncount 0\n}\nText length 5\nHello}";

const GESTURE: &[u8] = b"2\n0\n0\n/hi\n\n1\n2\nhello\n0\n";
const SETTINGS: &[u8] = b"<llsd><map><key>type</key><string>sky</string></map></llsd>";
const SCRIPT: &[u8] = b"default { state_entry() { } }";
const MATERIAL: &[u8] =
    b"<llsd><map><key>version</key><string>1.1</string><key>type</key><string>GLTF 2.0</string>\
    <key>data</key><string>{}</string></map></llsd>";

/// Capabilities for content of items in the inventory, each with content. With "Task" for "Agent" they are those for items in objects.
const CONTENTS: [(&str, AssetKind, &[u8]); 5] = [
    ("UpdateNotecardAgentInventory", AssetKind::Notecard, NOTECARD),
    ("UpdateGestureAgentInventory", AssetKind::Gesture, GESTURE),
    ("UpdateScriptAgent", AssetKind::Script, SCRIPT),
    ("UpdateSettingsAgentInventory", AssetKind::Settings, SETTINGS),
    ("UpdateMaterialAgentInventory", AssetKind::Material, MATERIAL),
];

struct Fixture {
    store: Arc<Store>,
    assets: MemoryAssets,
    ada: AgentId,
}

impl Fixture {
    fn new() -> Self {
        let (store, ada) = store_with_ada();
        let store = Arc::new(store);
        Self { assets: MemoryAssets::beside(Arc::clone(&store)), store, ada }
    }

    fn folder(&self, type_default: i8) -> Uuid {
        self.store.folder_of_type(self.ada, type_default).unwrap().expect("a folder of the skeleton").id
    }

    fn begin(&self, capability: &str, request: Llsd) -> Result<BegunUpload, String> {
        let call = UploadCall::of_capability(capability).expect("a capability for uploads");
        let begun = call.begin(&self.store, self.ada, &in_object, request, &SizeLimits::default(), NOW_S);
        begun.map_err(|why| why.to_string())
    }

    fn store(&self, finished: FinishedUpload) -> Result<Llsd, AddAssetError> {
        let (outcome, stored) = channel();
        self.assets.add_all(finished.assets, Box::new(move |result| outcome.send(result).unwrap()));
        stored.recv().unwrap().map(|()| finished.answer)
    }

    /// Both steps.
    fn upload(&self, capability: &str, request: Llsd, bytes: &'static [u8]) -> Result<Llsd, String> {
        let purpose = self.begin(capability, request)?.purpose;
        let finished = purpose.finish(self.ada, Bytes::from_static(bytes), &SizeLimits::default());
        self.store(finished.map_err(|why| why.to_string())?).map_err(|why| why.to_string())
    }

    fn item(&self, id: Uuid) -> Item {
        self.store.item(self.ada, id).unwrap().expect("it is in the inventory")
    }

    /// An item without content.
    fn empty_item(&self, kind: AssetKind) -> Item {
        let item = Item {
            id: Uuid::from_u128(0x17E0 + kind.number() as u128),
            asset: Uuid::nil(),
            asset_type: kind.number(),
            inventory_type: InventoryType::of(kind),
            ..self.store.items_in(self.ada, self.folder(FolderType::BODY_PARTS), 1).unwrap().remove(0)
        };
        self.change(InventoryChange::CreateItem(item.clone()));
        item
    }

    fn change(&self, change: InventoryChange) {
        let outcomes = self.store.change_inventory(self.ada, &[change], &InventoryLimits::default()).unwrap();
        assert!(outcomes[0].is_ok(), "{outcomes:?}");
    }

    fn is_temporary(&self, asset: Uuid) -> bool {
        self.store.asset(asset).unwrap().expect("it is stored").row.used_s.is_some()
    }
}

fn new_file(folder: Uuid, asset_type: &str, inventory_type: &str) -> Llsd {
    let masks = ["everyone_mask", "group_mask"].map(|key| (key, Llsd::Integer(0x7FFF_FFFF)));
    let fields = [
        ("folder_id", Llsd::from(folder)),
        ("asset_type", asset_type.into()),
        ("inventory_type", inventory_type.into()),
        ("name", "A picture".into()),
        ("description", "of\nwood".into()),
        ("next_owner_mask", Llsd::Integer(0x0008_E000)),
        ("expected_upload_cost", Llsd::from(10)),
    ];
    Llsd::map(fields.into_iter().chain(masks))
}

fn content(item: Uuid) -> Llsd {
    Llsd::map([("item_id", Llsd::from(item))])
}

const REGION: WorldId = WorldId(3);
const SESSION: SessionKey = SessionKey(4 << 48 | 1);
const OBJECT: Uuid = Uuid::from_u128(0x0B);
/// A notecard in the object that the user may not change. Ids of the others are 100 + the number of their kind.
const LOCKED: Uuid = Uuid::from_u128(99);

/// Items of an object in the world.
fn in_object(object: Uuid, item: Uuid) -> Option<TaskItem> {
    let kind = if item == LOCKED { Some(7) } else { item.as_u128().checked_sub(100) };
    let asset_type = i8::try_from(kind?).ok()?;
    let found = TaskItem { region: REGION, session: SESSION, asset_type, may_modify: item != LOCKED };
    (object == OBJECT).then_some(found)
}

fn task_content(item: Uuid) -> Llsd {
    Llsd::map([("item_id", Llsd::from(item)), ("task_id", OBJECT.into())])
}

fn id_in(answer: &Llsd, key: &str) -> Uuid {
    answer.get(key).as_uuid().expect("an id")
}

#[test]
fn a_texture_becomes_an_asset_and_an_item_in_its_folder() {
    let fixture = Fixture::new();
    let folder = fixture.folder(FolderType::TEXTURES);
    let begun = fixture.begin("NewFileAgentInventory", new_file(folder, "texture", "texture")).unwrap();
    assert_eq!(begun.answer, [("upload_price", Llsd::from(0))]);
    let answer = fixture.upload("NewFileAgentInventory", new_file(folder, "texture", "texture"), TEXTURE);
    let answer = answer.unwrap();
    assert_eq!(answer.get("state").as_str(), Some("complete"));
    let item = fixture.item(id_in(&answer, "new_inventory_item"));
    assert_eq!((item.folder, item.asset), (folder, id_in(&answer, "new_asset")));
    assert_eq!((&*item.name, &*item.description), ("A picture", "of wood"));
    assert_eq!((item.asset_type, item.inventory_type, item.created_s), (0, 0, NOW_S));
    let permissions = &item.permissions;
    assert_eq!((permissions.creator, permissions.base), (fixture.ada.0, 0x7FFF_FFFF));
    // Move, modify, copy; move, copy, export.
    let masks = (permissions.group_mask, permissions.everyone, permissions.next_owner);
    assert_eq!(masks, (0x0008_C000, 0x0009_8000, 0x0008_E000));
    for (key, mask) in [("new_group_mask", masks.0), ("new_everyone_mask", masks.1)] {
        assert_eq!(answer.get(key).as_u32(), Some(mask), "{key}");
    }
    assert_eq!(answer.get("new_next_owner_mask").as_u32(), Some(0x0008_E000));
    assert_eq!(fixture.assets.cached(item.asset).map(|asset| asset.bytes), Some(Bytes::from_static(TEXTURE)));
    assert!(!fixture.is_temporary(item.asset));
}

#[test]
fn an_upload_without_a_folder_is_put_into_that_of_its_kind() {
    let fixture = Fixture::new();
    for (asset_type, inventory_type, folder, shown) in [
        ("texture", "texture", FolderType::TEXTURES, InventoryType::TEXTURE),
        ("texture", "snapshot", FolderType::PHOTO_ALBUM, InventoryType::SNAPSHOT),
        ("sound", "sound", FolderType::SOUNDS, InventoryType::SOUND),
        ("animatn", "animation", FolderType::ANIMATIONS, InventoryType::ANIMATION),
        ("animation", "animation", FolderType::ANIMATIONS, InventoryType::ANIMATION),
        ("mesh", "object", FolderType::OBJECTS, InventoryType::OBJECT),
    ] {
        let request = new_file(Uuid::nil(), asset_type, inventory_type);
        let purpose = fixture.begin("NewFileAgentInventory", request).unwrap().purpose;
        let (UploadPurpose::NewItem { item, .. } | UploadPurpose::Model(item)) = purpose else {
            panic!("{purpose:?}")
        };
        assert_eq!((item.folder, item.inventory_type), (fixture.folder(folder), shown), "{asset_type}");
    }
}

#[test]
fn requests_for_new_files_are_refused_with_a_reason() {
    let fixture = Fixture::new();
    let folder = fixture.folder(FolderType::TEXTURES);
    let of_another = Uuid::from_u128(0xBAD);
    let task = Llsd::map([("task_id", Llsd::from(of_another)), ("item_id", of_another.into())]);
    for (request, why) in [
        (new_file(folder, "object", "object"), "made in the world"),
        (new_file(folder, "category", "category"), "do not exist"),
        (new_file(of_another, "texture", "texture"), "there is no folder"),
        (Llsd::map([("folder_id", Llsd::from(folder))]), "do not exist"),
        (Llsd::Undef, "do not exist"),
        (task, "not into objects"),
    ] {
        let refused = fixture.begin("NewFileAgentInventory", request).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
    assert_eq!(UploadCall::of_capability("GetTexture"), None);
}

#[test]
fn bytes_of_another_kind_are_refused_and_nothing_is_stored() {
    let fixture = Fixture::new();
    let folder = fixture.folder(FolderType::TEXTURES);
    let request = || new_file(folder, "texture", "texture");
    for (bytes, why) in [(NOTECARD, "not a JPEG 2000"), (&[], "empty"), (&TEXTURE[..50], "texture")] {
        let refused = fixture.upload("NewFileAgentInventory", request(), bytes).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
    assert!(fixture.store.items_in(fixture.ada, folder, 9).unwrap().is_empty());
    assert!(fixture.store.asset_counts().unwrap().is_empty());
    let limits = SizeLimits::default().with(AssetKind::Texture, 10);
    let purpose = fixture.begin("NewFileAgentInventory", request()).unwrap().purpose;
    assert_eq!(purpose.bytes_max(&limits), 10);
    let refused = purpose.finish(fixture.ada, Bytes::from_static(TEXTURE), &limits).unwrap_err();
    assert!(refused.to_string().contains("at most 10"), "{refused}");
}

#[test]
fn a_folder_that_goes_before_the_bytes_come_refuses_the_item_and_the_asset_expires() {
    let fixture = Fixture::new();
    let folder = Uuid::from_u128(0xF0);
    let root = fixture.folder(FolderType::ROOT);
    let new = store::NewFolder { id: folder, parent: root, name: "Short".into(), type_default: -1 };
    fixture.change(InventoryChange::CreateFolder(new));
    let begun = fixture.begin("NewFileAgentInventory", new_file(folder, "texture", "texture")).unwrap();
    fixture.change(InventoryChange::RemoveFolder { folder });
    let bytes = Bytes::from_static(TEXTURE);
    let finished = begun.purpose.finish(fixture.ada, bytes, &SizeLimits::default()).unwrap();
    let asset = finished.assets.assets[0].id;
    let refused = fixture.store(finished).unwrap_err();
    assert_eq!(refused, AddAssetError::Item(InventoryRefusal::UnknownFolder(folder)));
    assert!(fixture.is_temporary(asset));
}

#[test]
fn each_kind_of_content_replaces_that_of_its_item() {
    let fixture = Fixture::new();
    for (capability, kind, bytes) in CONTENTS {
        let item = fixture.empty_item(kind);
        let answer = fixture.upload(capability, content(item.id), bytes).unwrap();
        assert_eq!(id_in(&answer, "new_inventory_item"), item.id, "{capability}");
        let asset = id_in(&answer, "new_asset");
        assert_eq!(fixture.item(item.id), Item { asset, ..item }, "{capability}");
        let stored = fixture.assets.cached(asset).expect("it is stored");
        assert_eq!((stored.kind, &*stored.bytes), (kind, bytes), "{capability}");
        let is_script = kind == AssetKind::Script;
        assert_eq!(answer.get("compiled").as_bool(), is_script.then_some(true));
        assert_eq!(answer.get("errors") == &Llsd::Array(Vec::new()), is_script);
    }
}

#[test]
fn content_of_foreign_other_and_unmodifiable_items_is_refused() {
    let fixture = Fixture::new();
    let notecard = fixture.empty_item(AssetKind::Notecard);
    let refused = |capability, item| fixture.begin(capability, content(item)).unwrap_err();
    let unknown = refused("UpdateNotecardAgentInventory", LIBRARY_OWNER);
    assert!(unknown.contains("there is no item"), "{unknown}");
    let other = refused("UpdateScriptAgentInventory", notecard.id);
    assert_eq!(other, "the item is no script");
    let locked = store::Permissions { owner: 0x0008_A000, ..notecard.permissions.clone() };
    let update = ItemUpdate { item: notecard.id, permissions: Some(locked), ..ItemUpdate::default() };
    fixture.change(InventoryChange::UpdateItem(update));
    let denied = refused("UpdateNotecardAgentInventory", notecard.id);
    assert!(denied.contains("not allowed"), "{denied}");
}

#[test]
fn content_of_items_in_objects_becomes_an_asset_and_an_order_for_the_region() {
    let fixture = Fixture::new();
    for (capability, kind, bytes) in CONTENTS {
        let item = Uuid::from_u128(100 + kind.number() as u128);
        let begun = fixture.begin(&capability.replace("Agent", "Task"), task_content(item)).unwrap();
        let UploadPurpose::TaskContent { replacement, .. } = begun.purpose else { panic!("{begun:?}") };
        let ContentReplacement { asset, .. } = replacement;
        let expected =
            ContentReplacement { session: SESSION, object: OBJECT, item, asset_type: kind.number(), asset };
        assert_eq!(replacement, expected, "{capability}");
        assert_eq!((begun.purpose.name(), begun.answer), (kind.name(), Vec::new()));
        let limits = SizeLimits::default();
        let other = begun.purpose.clone().finish(fixture.ada, Bytes::from_static(&[0xFF; 9]), &limits);
        other.expect_err("bytes of no kind");
        let finished = begun.purpose.finish(fixture.ada, Bytes::from_static(bytes), &limits).unwrap();
        let order = ContentOrder { region: REGION, order: Order::Content(replacement) };
        assert_eq!(finished.order, Some(order), "{capability}");
        let answer = fixture.store(finished).unwrap();
        assert_eq!((id_in(&answer, "new_asset"), id_in(&answer, "new_inventory_item")), (asset, item));
        let is_script = kind == AssetKind::Script;
        assert_eq!(answer.get("compiled").as_bool(), is_script.then_some(true));
        assert_eq!(fixture.assets.cached(asset).expect("it is stored").bytes, bytes);
        assert!(!fixture.is_temporary(asset), "no item of an inventory names it");
    }
}

#[test]
fn content_of_items_that_are_not_in_the_object_or_not_to_be_changed_is_refused() {
    let fixture = Fixture::new();
    let notecard = AssetKind::Notecard.number() as u128;
    let elsewhere =
        Llsd::map([("item_id", Llsd::from(Uuid::from_u128(100 + notecard))), ("task_id", LOCKED.into())]);
    for (request, why) in [
        (task_content(Uuid::nil()), "there is no item"),
        (elsewhere, "there is no item"),
        (task_content(Uuid::from_u128(100)), "the item is no notecard"),
        (task_content(LOCKED), "not allowed"),
    ] {
        let refused = fixture.begin("UpdateNotecardTaskInventory", request).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn an_item_that_goes_before_the_bytes_come_is_not_made_again() {
    let fixture = Fixture::new();
    let item = fixture.empty_item(AssetKind::Notecard);
    let begun = fixture.begin("UpdateNotecardAgentInventory", content(item.id)).unwrap();
    fixture.change(InventoryChange::RemoveItem { item: item.id });
    let bytes = Bytes::from_static(NOTECARD);
    let finished = begun.purpose.finish(fixture.ada, bytes, &SizeLimits::default()).unwrap();
    let refused = fixture.store(finished).unwrap_err();
    assert_eq!(refused, AddAssetError::Item(InventoryRefusal::UnknownItem(item.id)));
    assert_eq!(fixture.store.item(fixture.ada, item.id).unwrap(), None);
}

#[test]
fn a_bake_is_temporary_and_the_same_one_is_stored_once() {
    let fixture = Fixture::new();
    let nothing = || Llsd::map([("", Llsd::Undef)]);
    let answers = [(); 2].map(|()| fixture.upload("UploadBakedTexture", nothing(), TEXTURE));
    let ids = answers.map(|answer| id_in(&answer.unwrap(), "new_asset"));
    assert_eq!(ids[0], ids[1]);
    assert!(fixture.is_temporary(ids[0]));
    let bytes = Bytes::from_static(TEXTURE);
    let of_bob = UploadPurpose::Bake.finish(AgentId(Uuid::from_u128(0xB)), bytes, &SizeLimits::default());
    assert_ne!(id_in(&of_bob.unwrap().answer, "new_asset"), ids[0]);
}

/// A model of a mesh and two textures, the second of which is empty, in two parts.
fn model() -> Llsd {
    let mesh = model::tests::mesh();
    let part = |x: f64| {
        let color = Llsd::array([1.0, 0.5, 0.0, 1.0]);
        let face = Llsd::map([("image", Llsd::from(0)), ("diffuse_color", color)]);
        Llsd::map([
            ("mesh", Llsd::from(0)),
            ("position", Llsd::array([x, 0.0, 0.0])),
            ("rotation", Llsd::array([0.0, 0.0, 0.0, 1.0])),
            ("scale", Llsd::array([2.0, 2.0, 2.0])),
            ("face_list", Llsd::array([face])),
        ])
    };
    Llsd::map([
        ("mesh_list", Llsd::array([Llsd::Binary(mesh)])),
        ("texture_list", Llsd::array([Llsd::Binary(TEXTURE.into()), Llsd::Binary(Vec::new())])),
        ("instance_list", Llsd::array([part(0.0), part(4.0)])),
    ])
}

#[test]
fn a_model_becomes_an_object_with_its_mesh_and_texture() {
    let fixture = Fixture::new();
    let Llsd::Map(mut request) = new_file(Uuid::nil(), "mesh", "object") else { panic!("a map") };
    request.insert("asset_resources".into(), model());
    let begun = fixture.begin("NewFileAgentInventory", Llsd::Map(request)).unwrap();
    let [("upload_price", price), ("data", data)] = &begun.answer[..] else { panic!("{:?}", begun.answer) };
    assert_eq!((price.as_i32(), data.get("resource_cost").as_f64()), (Some(0), Some(2.0)));
    assert_eq!(data.get("upload_price_breakdown").get("model").as_i32(), Some(0));
    let body = Bytes::from(xml::encode(&model()));
    let finished = begun.purpose.finish(fixture.ada, body, &SizeLimits::default()).unwrap();
    let kinds: Vec<AssetKind> = finished.assets.assets.iter().map(|asset| asset.kind).collect();
    assert_eq!(kinds, [AssetKind::Object, AssetKind::Mesh, AssetKind::Texture]);
    let ids: Vec<Uuid> = finished.assets.assets.iter().map(|asset| asset.id).collect();
    let read = read_object(&finished.assets.assets[0].bytes, &XmlLimits::OBJECT).unwrap();
    let SceneObject::Group(group) = read.object else { panic!("{:?}", read.object) };
    let forms: Vec<_> = group.parts().map(|part| part.body.extra_params.sculpt()).collect();
    assert_eq!(forms, [Some((ids[1], 5)); 2], "each part has the form of the mesh");
    assert_eq!((group.others[0].place.position.x, group.root.body.ownership.owner), (4.0, fixture.ada));
    let answer = fixture.store(finished).unwrap();
    let item = fixture.item(id_in(&answer, "new_inventory_item"));
    assert_eq!((item.asset, item.asset_type, item.inventory_type), (ids[0], 6, InventoryType::OBJECT));
    assert_eq!(item.folder, fixture.folder(FolderType::OBJECTS));
    assert!(ids.iter().all(|id| !fixture.is_temporary(*id)));
}

#[test]
fn a_model_that_is_none_is_refused_in_either_step() {
    let fixture = Fixture::new();
    let Llsd::Map(mut request) = new_file(Uuid::nil(), "mesh", "object") else { panic!("a map") };
    request.insert("asset_resources".into(), Llsd::map([("mesh_list", Llsd::Array(Vec::new()))]));
    let refused = fixture.begin("NewFileAgentInventory", Llsd::Map(request)).unwrap_err();
    assert_eq!(refused, "the model cannot be taken: it has no meshes");
    let begun = fixture.begin("NewFileAgentInventory", new_file(Uuid::nil(), "mesh", "object")).unwrap();
    assert_eq!(begun.purpose.bytes_max(&SizeLimits::default()), MODEL_BODY_BYTES_MAX);
    for (body, why) in [(&b"not XML"[..], "no LLSD"), (&b"<llsd><array/></llsd>"[..], "no lists")] {
        let (purpose, body) = (begun.purpose.clone(), Bytes::from_static(body));
        let finished = purpose.finish(fixture.ada, body, &SizeLimits::default());
        let refused = finished.unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
    }
}
