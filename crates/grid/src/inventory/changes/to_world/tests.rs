//! Requests for things in a region: the order that each leads to, the mark, and refusals.

use super::*;
use crate::asset_sources::{AssetSources, FIRST_SCRIPT};
use crate::inventory::tests::store_with_ada;
use crate::inventory::{AssetType, FolderType, LIBRARY_OWNER, library_items};
use crate::inventory::{InventoryRequest, InventoryUser, change_inventory};
use assets::{AssetKind, MemoryAssets, NewAsset};
use bytes::Bytes;
use keeper::{ItemOrder, RestoreOrder, RestoreSource, content_of, encode_object};
use link::{DerezKind, HeldObject, PrimMotion, Rezzing, VersionedBody};
use prim::{Body, Mask, Names, Shape};
use std::sync::Arc;
use store::{InventoryChange, InventoryLimits, Item, MarkItem, NewWorn, Permissions, Sale, WearOutcome};
use wire::messages::{
    Message, MoveInventoryItem, MoveInventoryItemInventoryData, RemoveInventoryItem,
    RemoveInventoryItemInventoryData,
};

const REGION: WorldId = WorldId(3);
const OTHER_REGION: WorldId = WorldId(4);
const SESSION: SessionKey = SessionKey(9);
const GROUP: Uuid = Uuid::from_u128(0x6);
const ASSET: Uuid = Uuid::from_u128(0xA55E7);
const IDS: Uuid = Uuid::from_u128(0x1D5);
const COPY: u32 = Mask::COPY.bits();

struct Stage {
    store: Arc<Store>,
    assets: AssetSources,
    ada: AgentId,
}

/// An inventory with an object that may be copied, and another without that right; both have the same content.
fn stage() -> Stage {
    let (store, ada) = store_with_ada();
    let store = Arc::new(store);
    let assets = AssetSources::new(Arc::new(MemoryAssets::beside(Arc::clone(&store))));
    let stage = Stage { store, assets, ada };
    let (creator, origin) = (ada, "test".into());
    let (id, kind, bytes) = (ASSET, AssetKind::Object, Bytes::from(lamp(ada)));
    let new = NewAsset { id, kind, bytes, creator, origin, is_temporary: false };
    stage.assets.stored().add(new, Box::new(|outcome| assert!(outcome.is_ok())));
    stage.make(ITEM, |_| ());
    stage.make(SINGLE, |item| item.permissions.owner &= !COPY);
    stage
}

const ITEM: Uuid = Uuid::from_u128(0x17E1);
const SINGLE: Uuid = Uuid::from_u128(0x17E2);

/// The asset of a prim of this user.
fn lamp(owner: AgentId) -> Vec<u8> {
    let plain = Body::new(Uuid::from_u128(1), Shape::BOX, Arc::default(), owner, 0);
    let body = Body { names: Names { name: "Lamp".into(), ..Names::default() }, ..plain };
    let prim = (PrimMotion::NONE, VersionedBody { version: 1, body: Arc::new(body) });
    let object = HeldObject {
        owner,
        by: SessionKey::NODE,
        kind: DerezKind::Take,
        folder: Uuid::nil(),
        transaction: Uuid::nil(),
        is_worn: false,
        linksets: vec![vec![prim]],
    };
    encode_object(&object).expect("a short one")
}

impl Stage {
    fn make(&self, id: Uuid, edit: impl FnOnce(&mut Item)) {
        let folder = self.store.folder_of_type(self.ada, FolderType::OBJECTS).unwrap().expect("a folder").id;
        let mut item = Item {
            id,
            folder,
            asset: ASSET,
            asset_type: AssetKind::Object.number(),
            inventory_type: 6,
            name: "My lamp".into(),
            description: String::new(),
            flags: 0,
            created_s: 0,
            permissions: Permissions {
                creator: self.ada.0,
                last_owner: self.ada.0,
                group: Uuid::nil(),
                group_owned: false,
                base: Mask::ALL.bits(),
                owner: Mask::ALL.bits(),
                group_mask: 0,
                everyone: 0,
                next_owner: 0x0008_2000,
            },
            sale: Sale::default(),
        };
        edit(&mut item);
        let changes = [InventoryChange::CreateItem(item)];
        let made = self.store.change_inventory(self.ada, &changes, &InventoryLimits::default()).unwrap();
        assert!(made[0].is_ok(), "{made:?}");
    }

    fn item(&self, id: Uuid) -> Item {
        self.store.item(self.ada, id).unwrap().expect("it is in the inventory")
    }

    fn ask(&self, deed: WorldDeed) -> InventoryReplies {
        let parts = InventoryParts { store: &self.store, assets: &self.assets };
        let request = WorldRequest { region: REGION, session: SESSION, at: Instant::from_millis(5), deed };
        order(parts, self.ada, &request, 0).unwrap()
    }

    /// The order of a request for one thing.
    fn ordered(&self, deed: WorldDeed) -> WorldOrder {
        let InventoryReplies { messages, refusal, mut orders, .. } = self.ask(deed);
        assert_eq!((messages, refusal, orders.len()), (vec![], None, 1));
        orders.remove(0)
    }

    /// The text of a request that leads to no order, and the items that are shown again.
    fn refused(&self, deed: WorldDeed) -> (String, Vec<Uuid>) {
        let InventoryReplies { messages, refusal, orders, .. } = self.ask(deed);
        assert_eq!(orders, []);
        (refusal.expect("it is refused"), shown(&messages))
    }

    fn is_marked(&self, id: Uuid) -> bool {
        match self.store.mark_leaving(self.ada, id, OTHER_REGION).unwrap() {
            MarkItem::Busy(by) => {
                assert_eq!(by, REGION);
                true
            }
            MarkItem::Marked { .. } => {
                self.store.release_item(self.ada, id).unwrap();
                false
            }
            other => panic!("{other:?}"),
        }
    }
}

fn shown(messages: &[Message]) -> Vec<Uuid> {
    let rows = messages.iter().flat_map(|message| match message {
        Message::BulkUpdateInventory(m) => m.item_data.clone(),
        other => panic!("{other:?}"),
    });
    rows.map(|row| row.item_id).collect()
}

fn place() -> RestorePlace {
    let position = glam::Vec3::new(1.0, 2.0, 3.0);
    RestorePlace::Rezzed(Rezzing { session: SESSION, position, ray: None, is_selected: true })
}

fn rez_of(items: &[Uuid]) -> RezRequest {
    let items = items.iter().map(|item| (*item, IDS)).collect();
    RezRequest { items, notecard: None, place: place(), group: GROUP, leaves: false }
}

fn rez(item: Uuid) -> WorldDeed {
    WorldDeed::Rez(rez_of(&[item]))
}

fn put(item: Uuid) -> PutRequest {
    PutRequest { object: Uuid::from_u128(0x0B), item, id: IDS, is_script: false }
}

/// The order for an object.
fn restore(order: WorldOrder) -> RestoreOrder {
    assert_eq!(order.region, REGION);
    match order.order {
        Order::Object(order) => order,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_object_that_may_be_copied_is_ordered_and_stays() {
    let stage = stage();
    let order = stage.ordered(rez(ITEM));
    let kind = WorldOrderKind::Rez;
    let at = Instant::from_millis(5);
    let (owner, item) = (stage.ada, Some(ITEM));
    assert_eq!(order.end, WorldOrderEnd { owner, item, is_marked: false, prim: None, kind, at });
    let RestoreOrder { source, place: ordered_place, ids } = restore(order);
    assert_eq!((ordered_place, ids), (place(), IDS));
    let RestoreSource::Copy(object) = source else { panic!("{source:?}") };
    let root = &object.root().expect("a root").1.body;
    assert_eq!((&*root.names.name, root.ownership.group, object.by), ("My lamp", GROUP, SESSION));
    assert!(!stage.is_marked(ITEM));
}

#[test]
fn an_order_for_worn_items_alone_names_them() {
    let stage = stage();
    let item = stage.item(SINGLE);
    let new = NewWorn { item: item.clone(), point: 6, revision: 1, value: lamp(stage.ada).into() };
    assert_eq!(stage.store.wear(stage.ada, &[new], 38).unwrap(), [WearOutcome::Worn]);
    for deed in [rez(SINGLE), WorldDeed::Put(put(SINGLE))] {
        let replies = stage.ask(deed);
        assert_eq!(
            (shown(&replies.messages), &replies.worn[..]),
            (vec![SINGLE], &[SINGLE][..]),
            "{replies:?}"
        );
        assert_eq!(replies.refusal.as_deref(), Some("The item stays where it is: your avatar wears it."));
    }
    // A copy would have the content from before it was put on.
    let item = stage.item(ITEM);
    let new = NewWorn { item, point: 6, revision: 1, value: lamp(stage.ada).into() };
    assert!(stage.ask(rez(ITEM)).worn.is_empty());
    let with_another = stage.ask(WorldDeed::Rez(rez_of(&[SINGLE, ITEM])));
    assert_eq!((with_another.orders.len(), with_another.worn.len()), (1, 0), "it would be done twice");
    assert_eq!(stage.store.wear(stage.ada, &[new], 38).unwrap(), [WearOutcome::Worn]);
    let both = vec![SINGLE, ITEM];
    let deeds = [
        (rez(ITEM), vec![ITEM]),
        (WorldDeed::Put(put(ITEM)), vec![ITEM]),
        (WorldDeed::Rez(rez_of(&both)), both),
    ];
    for (deed, worn) in deeds {
        let replies = stage.ask(deed);
        assert_eq!((replies.orders.len(), &replies.worn), (1, &worn), "{replies:?}");
        let refused = replies.refused("not yet");
        assert_eq!((refused.orders.len(), refused.refusal.as_deref()), (0, Some("not yet")));
    }
    let with_an_unknown_one = stage.ask(WorldDeed::Rez(rez_of(&[SINGLE, Uuid::from_u128(5)])));
    assert!(with_an_unknown_one.refusal.is_some() && with_an_unknown_one.worn.is_empty());
    assert!(stage.ask(WorldDeed::Rez(rez_of(&[]))).worn.is_empty());

    let ask = |request: InventoryRequest| {
        let user = InventoryUser { agent: stage.ada, secure_session: Uuid::nil() };
        change_inventory(&stage.store, user, &request, 0).unwrap()
    };
    let inventory_data = vec![RemoveInventoryItemInventoryData { item_id: SINGLE }];
    let removed = ask(RemoveInventoryItem { inventory_data, ..Default::default() }.into());
    assert_eq!(removed.worn, [SINGLE], "{removed:?}");
    let folder_id = Uuid::from_u128(5);
    let row = MoveInventoryItemInventoryData { item_id: SINGLE, folder_id, ..Default::default() };
    let moved = ask(MoveInventoryItem { inventory_data: vec![row], ..Default::default() }.into());
    assert!(moved.refusal.is_some() && moved.worn.is_empty(), "for an unknown folder: {moved:?}");
}

#[test]
fn an_object_that_may_not_be_copied_is_marked_and_ordered_once() {
    let stage = stage();
    let order = stage.ordered(rez(SINGLE));
    let end = order.end;
    let RestoreSource::Item { owner, item, .. } = restore(order).source else { panic!("it is marked") };
    assert_eq!((owner, *item, end.is_marked), (stage.ada, stage.item(SINGLE), true));
    assert!(stage.is_marked(SINGLE));
    let (text, again) = stage.refused(rez(SINGLE));
    assert_eq!(text, "The item stays where it is: it is on its way into a region.");
    assert_eq!(again, [SINGLE]);
    let (text, _) = stage.refused(WorldDeed::Put(put(SINGLE)));
    assert!(text.contains("on its way"), "{text}");
}

#[test]
fn an_item_that_its_owner_gives_up_goes_though_it_may_be_copied() {
    let stage = stage();
    let order = stage.ordered(WorldDeed::Rez(RezRequest { leaves: true, ..rez_of(&[ITEM]) }));
    assert!(order.end.is_marked && stage.is_marked(ITEM));
    assert!(matches!(restore(order).source, RestoreSource::Item { .. }));
}

#[test]
fn an_object_of_the_library_comes_as_the_users_own() {
    let stage = stage();
    let house = library_items().iter().find(|item| item.asset_type == AssetKind::Object.number());
    let house = house.expect("the library has objects");
    let order = stage.ordered(WorldDeed::Rez(RezRequest { leaves: true, ..rez_of(&[house.id]) }));
    assert_eq!((order.end.item, order.end.is_marked), (None, false));
    let RestoreSource::Copy(object) = restore(order).source else { panic!("the library keeps it") };
    for (_, versioned) in object.prims() {
        let ownership = &versioned.body.ownership;
        assert_eq!((ownership.owner, ownership.last_owner), (stage.ada, AgentId(LIBRARY_OWNER)));
        assert_eq!((ownership.permissions.owner, ownership.permissions.everyone), (Mask::ALL, Mask::NONE));
    }
}

#[test]
fn things_that_are_no_objects_or_have_no_content_stay() {
    let stage = stage();
    let [note, lost, broken, stranger] = [1, 2, 3, 4].map(|n| Uuid::from_u128(0xBAD0 + n));
    stage.make(note, |item| item.asset_type = AssetType::NOTECARD);
    stage.make(lost, |item| item.asset = Uuid::from_u128(0xDEAD));
    let bytes = Bytes::from_static(b"no object");
    let (id, kind, creator) = (Uuid::from_u128(0xBB), AssetKind::Object, stage.ada);
    let new = NewAsset { id, kind, bytes, creator, origin: "test".into(), is_temporary: false };
    stage.assets.stored().add(new, Box::new(|outcome| assert!(outcome.is_ok())));
    stage.make(broken, |item| {
        item.asset = id;
        item.permissions.owner &= !COPY;
    });
    for (item, text, again) in [
        (note, "it is no object", vec![note]),
        (lost, "its content is not on this server", vec![lost]),
        (broken, "its content cannot be read", vec![broken]),
        (stranger, "it is not in your inventory", vec![]),
    ] {
        let (told, shown) = stage.refused(rez(item));
        assert!(told.contains(text), "{told}");
        assert_eq!(shown, again);
    }
    assert!(!stage.is_marked(broken));
}

#[test]
fn objects_of_a_request_are_ordered_up_to_a_bound() {
    let stage = stage();
    let items: Vec<Uuid> = std::iter::repeat_n(ITEM, REZ_MAX + 2).collect();
    let InventoryReplies { refusal, orders, .. } = stage.ask(WorldDeed::Rez(rez_of(&items)));
    assert_eq!(orders.len(), REZ_MAX);
    let text = refusal.expect("two are refused");
    assert!(text.contains("only 16 objects") && text.ends_with("Items refused: 2."), "{text}");
}

#[test]
fn objects_come_out_of_a_notecard_of_the_user_only() {
    let stage = stage();
    let card = Uuid::from_u128(0xCA4D);
    let in_notecard = |item, object| {
        let notecard = Some(NotecardPlace::named(card, object));
        RezRequest { notecard, ..rez_of(&[item]) }
    };
    let unknown = Uuid::from_u128(0xE1);
    for (object, expected) in [(Uuid::nil(), "no item"), (Uuid::from_u128(0x0B), "not in that object")] {
        let (text, _) = stage.refused(WorldDeed::Rez(in_notecard(unknown, object)));
        assert!(text.contains(expected), "{text}");
    }
    // An item of the user's own needs no notecard.
    stage.ordered(WorldDeed::Rez(in_notecard(ITEM, Uuid::nil())));
}

/// A request for the object that may be copied, as an item of a prim.
fn content_rez(stage: &Stage, edit: impl FnOnce(&mut ContentItem)) -> ContentRez {
    let mut item = content_of(stage.ada, &stage.item(ITEM), Uuid::from_u128(0xC0));
    edit(&mut item);
    let (object, item) = (Uuid::from_u128(0x0B), Arc::new(item));
    ContentRez { object, item, ids: IDS, place: place(), group: GROUP }
}

#[test]
fn the_object_of_an_item_in_a_prim_is_ordered_without_a_mark() {
    let stage = stage();
    let rez = content_rez(&stage, |item| item.name = "Lamp in a box".into());
    let order = stage.ordered(WorldDeed::RezContent(rez.clone()));
    let (owner, prim, kind) = (stage.ada, Some(rez.object), WorldOrderKind::Rez);
    let at = Instant::from_millis(5);
    assert_eq!(order.end, WorldOrderEnd { owner, item: None, is_marked: false, prim, kind, at });
    let RestoreOrder { source, place: ordered_place, ids } = restore(order);
    assert_eq!((ordered_place, ids), (place(), IDS));
    let RestoreSource::Content { holder, item, object } = source else { panic!("{source:?}") };
    assert_eq!((holder, item), (rez.object, rez.item));
    let root = &object.root().expect("a root").1.body;
    assert_eq!((&*root.names.name, root.ownership.group, object.by), ("Lamp in a box", GROUP, SESSION));
    assert!(root.ownership.permissions.owner.has(Mask::COPY));
}

#[test]
fn the_object_of_another_users_item_has_the_masks_of_the_next_owner() {
    let stage = stage();
    let rez = content_rez(&stage, |item| item.ownership.owner = AgentId(Uuid::from_u128(0xB0B)));
    let RestoreSource::Content { object, .. } = restore(stage.ordered(WorldDeed::RezContent(rez))).source
    else {
        panic!("of a prim")
    };
    let ownership = &object.root().expect("a root").1.body.ownership;
    let rights = ownership.permissions.owner;
    assert_eq!(ownership.owner, stage.ada);
    assert!(rights.has(Mask::TRANSFER) && !rights.has(Mask::COPY), "{rights:?}");
}

#[test]
fn items_of_prims_that_are_no_objects_or_have_no_content_stay() {
    let stage = stage();
    let note = content_rez(&stage, |item| item.asset_type = AssetType::NOTECARD);
    let lost = content_rez(&stage, |item| item.asset = Uuid::from_u128(0xDEAD));
    for (rez, text) in [(note, "it is no object"), (lost, "its content is not on this server")] {
        let (told, shown) = stage.refused(WorldDeed::RezContent(rez));
        assert_eq!((told, shown), (format!("The item stays where it is: {text}."), vec![]));
    }
}

#[test]
fn an_item_goes_into_a_prim_as_a_copy_or_with_a_mark() {
    let stage = stage();
    let note = Uuid::from_u128(0x7E);
    stage.make(note, |item| item.asset_type = AssetType::NOTECARD);
    for (item, leaves) in [(note, false), (SINGLE, true)] {
        let WorldOrder { region, order, end } = stage.ordered(WorldDeed::Put(put(item)));
        assert_eq!((region, end.kind, end.item), (REGION, WorldOrderKind::PutItem, Some(item)));
        assert_eq!(end.prim, Some(put(item).object));
        let Order::Item(ItemOrder { marked, restoration }) = order else { panic!("an item") };
        assert_eq!((marked.is_some(), restoration.key.is_some(), end.is_marked), (leaves, leaves, leaves));
        assert_eq!((restoration.session, restoration.object), (SESSION, Uuid::from_u128(0x0B)));
        let content = &restoration.item;
        assert_eq!((content.id, content.asset, content.ownership.owner), (IDS, ASSET, stage.ada));
        assert_eq!(stage.is_marked(item), leaves);
    }
}

#[test]
fn a_new_script_goes_into_a_prim_with_everything_for_its_maker() {
    let stage = stage();
    let object = Uuid::from_u128(0x0B);
    let (name, description) = ("New\nScript".to_owned(), String::new());
    let new = NewScript { object, id: IDS, name, description, masks: [0, u32::MAX, 0x0008_2000] };
    let WorldOrder { order, end, .. } = stage.ordered(WorldDeed::NewScript(new));
    assert_eq!((end.item, end.is_marked), (None, false));
    let Order::Item(ItemOrder { marked: None, restoration }) = order else { panic!("a new item") };
    let content = &restoration.item;
    assert_eq!((&*content.name, content.asset, content.id), ("New Script", FIRST_SCRIPT, IDS));
    let prim::Ownership { creator, owner, permissions, .. } = content.ownership;
    assert_eq!((creator, owner, permissions.owner), (stage.ada, stage.ada, Mask::ALL));
    assert_eq!(permissions.next_owner.bits(), 0x0008_2000);
}

#[test]
fn links_and_other_things_than_scripts_are_not_put_where_they_do_not_belong() {
    let stage = stage();
    let [link, script] = [0x24, 0x0A].map(Uuid::from_u128);
    stage.make(link, |item| item.asset_type = AssetType::LINK);
    stage.make(script, |item| item.asset_type = AssetType::SCRIPT);
    let (text, _) = stage.refused(WorldDeed::Put(put(link)));
    assert!(text.contains("links"), "{text}");
    let as_script = |item| WorldDeed::Put(PutRequest { is_script: true, ..put(item) });
    let (text, _) = stage.refused(as_script(SINGLE));
    assert!(text.contains("no script") && !stage.is_marked(SINGLE), "{text}");
    stage.ordered(as_script(script));
}

#[test]
fn an_order_ends_with_the_item_gone_or_free_again() {
    let stage = stage();
    let end = |answer: WorldAnswer| {
        let order = stage.ordered(rez(SINGLE));
        let InventoryReplies { messages, refusal, .. } = end_world_order(&stage.store, order.end, &answer);
        let is_marked = stage.is_marked(SINGLE);
        stage.store.release_all_marks().unwrap();
        (refusal, shown(&messages), is_marked)
    };
    // A save has removed both, or removes them.
    assert_eq!(end(WorldAnswer::Done), (None, vec![], true));
    // A save has released it.
    let refused = Some("That parcel has as many objects as it can hold.".to_owned());
    assert_eq!(end(WorldAnswer::Refused(EditRefusal::ParcelFull)), (refused, vec![SINGLE], true));
    let (text, again, is_marked) = end(WorldAnswer::NotSent("The region is busy.".into()));
    assert_eq!((text.as_deref(), again, is_marked), (Some("The region is busy."), vec![SINGLE], false));
    // The mark is that of another order.
    let (text, _, is_marked) = end(WorldAnswer::UnderWay);
    assert!(text.is_some_and(|text| text.contains("on its way")) && is_marked);
}
