//! Items that are put on and taken off: rows of the store, orders for the wardrobe, refusals.

use super::*;
use crate::asset_sources::AssetSources;
use crate::inventory::FolderType;
use crate::inventory::tests::store_with_ada;
use assets::{MemoryAssets, NewAsset};
use bytes::Bytes;
use keeper::encode_object;
use link::{DerezKind, HeldObject, PrimMotion, VersionedBody};
use prim::{Body, Mask, Shape};
use store::{InventoryChange, InventoryLimits, MarkItem, Permissions, Sale, Store};

const SESSION: SessionKey = SessionKey(9);
const ASSET: Uuid = Uuid::from_u128(0xA55E7);
const NOTE: Uuid = Uuid::from_u128(0xA55E8);
const HAT: Uuid = Uuid::from_u128(0x17E1);
const COAT: Uuid = Uuid::from_u128(0x17E2);
const LINK: Uuid = Uuid::from_u128(0x17E3);
const CARD: Uuid = Uuid::from_u128(0x17E4);

struct Stage {
    store: Arc<Store>,
    assets: AssetSources,
    ada: AgentId,
}

/// An inventory with two objects, a link to the first, and a notecard.
fn stage() -> Stage {
    let (store, ada) = store_with_ada();
    let store = Arc::new(store);
    let assets = AssetSources::new(Arc::new(MemoryAssets::beside(Arc::clone(&store))));
    let stage = Stage { store, assets, ada };
    let plain = Body::new(Uuid::from_u128(1), Shape::BOX, Arc::default(), ada, 0);
    let prim = (PrimMotion::NONE, VersionedBody { version: 1, body: Arc::new(plain) });
    let object = HeldObject {
        owner: ada,
        by: SessionKey::NODE,
        kind: DerezKind::Take,
        folder: Uuid::nil(),
        transaction: Uuid::nil(),
        is_worn: false,
        linksets: vec![vec![prim]],
    };
    let bytes = Bytes::from(encode_object(&object).expect("a short one"));
    for (id, kind, bytes) in [(ASSET, AssetKind::Object, bytes), (NOTE, AssetKind::Notecard, "x".into())] {
        let (creator, origin) = (ada, "test".into());
        let new = NewAsset { id, kind, bytes, creator, origin, is_temporary: false };
        stage.assets.stored().add(new, Box::new(|outcome| assert!(outcome.is_ok())));
    }
    stage.make(HAT, ASSET, AssetKind::Object.number());
    stage.make(COAT, ASSET, AssetKind::Object.number());
    stage.make(LINK, HAT, AssetType::LINK);
    stage.make(CARD, NOTE, AssetKind::Notecard.number());
    stage
}

impl Stage {
    fn make(&self, id: Uuid, asset: Uuid, asset_type: i8) {
        let folder = self.store.folder_of_type(self.ada, FolderType::OBJECTS).unwrap().expect("a folder").id;
        let all = Mask::ALL.bits();
        let permissions = Permissions {
            creator: self.ada.0,
            last_owner: self.ada.0,
            group: Uuid::nil(),
            group_owned: false,
            base: all,
            // It may not be copied.
            owner: all & !Mask::COPY.bits(),
            group_mask: 0,
            everyone: 0,
            next_owner: 0,
        };
        let item = Item {
            id,
            folder,
            asset,
            asset_type,
            inventory_type: 6,
            name: "Thing".into(),
            description: String::new(),
            flags: 0,
            created_s: 0,
            permissions,
            sale: Sale::default(),
        };
        let changes = [InventoryChange::CreateItem(item)];
        let made = self.store.change_inventory(self.ada, &changes, &InventoryLimits::default()).unwrap();
        assert!(made[0].is_ok(), "{made:?}");
    }

    fn ask(&self, request: WearRequest) -> InventoryReplies {
        let parts = InventoryParts { store: &self.store, assets: &self.assets };
        carry_out(parts, self.ada, &request).unwrap()
    }

    fn put_on(&self, items: &[(Uuid, u8)], max: u32) -> InventoryReplies {
        let items = items.iter().map(|&(item, point)| WearItem { item, point }).collect();
        let request = PutOnRequest { session: SESSION, items, takes_off_but: None, max, at_us: 7 };
        self.ask(WearRequest::PutOn(request))
    }

    fn rows(&self) -> Vec<(Uuid, u8, i64)> {
        let list = self.store.worn_objects(self.ada).unwrap();
        list.rows.iter().map(|row| (row.item, row.point, row.revision)).collect()
    }
}

/// Items that the wardrobe is to put on, with their points, and whether they replace others.
fn worn(replies: &InventoryReplies) -> Vec<(Uuid, u8, bool)> {
    let orders = replies.wardrobe.iter().filter_map(|order| match order {
        WardrobeOrder::Wear { items, .. } => Some(items),
        _ => None,
    });
    orders.flatten().map(|(worn, replaces)| (worn.item, worn.point, *replaces)).collect()
}

#[test]
fn an_item_has_a_row_before_it_is_put_on() {
    let stage = stage();
    let replies = stage.put_on(&[(HAT, 2), (COAT, 0x80 | 5)], 38);
    assert_eq!((replies.refusal.as_deref(), worn(&replies)), (None, vec![(HAT, 2, true), (COAT, 5, false)]));
    assert_eq!(stage.rows(), [(HAT, 2, 7), (COAT, 5, 7)]);
    // By a link to it, and worn already.
    let again = stage.put_on(&[(LINK, 9)], 38);
    let order = WardrobeOrder::WearAgain { agent: stage.ada, items: vec![HAT] };
    assert_eq!((again.refusal, again.wardrobe), (None, vec![order]), "a region may have refused it");
    assert_eq!(stage.rows(), [(HAT, 2, 7), (COAT, 5, 7)]);
    assert_eq!(stage.store.mark_item(stage.ada, HAT, WorldId(1)).unwrap(), MarkItem::Worn);
}

#[test]
fn what_cannot_be_worn_is_refused_in_one_alert() {
    let stage = stage();
    let refused = |items: &[(Uuid, u8)], max| stage.put_on(items, max).refusal.expect("a refusal");
    assert_eq!(refused(&[(CARD, 1)], 38), "It cannot be worn: it is no object.");
    assert_eq!(refused(&[(Uuid::from_u128(5), 1)], 38), "It cannot be worn: it is not in your inventory.");
    assert_eq!(refused(&[(HAT, 56)], 38), "It cannot be worn: there is no attachment point 56.");
    let text = refused(&[(CARD, 1), (HAT, 1), (HAT, 2), (CARD, 1), (COAT, 1)], 1);
    assert_eq!(text, "It cannot be worn: it is no object. Items refused: 2.");
    assert_eq!(stage.rows().len(), 1);
    let many: Vec<(Uuid, u8)> = (0..300).map(|n| (Uuid::from_u128(n), 1)).collect();
    assert!(refused(&many, 38).ends_with("Items refused: 300."));
    stage.store.mark_item(stage.ada, COAT, WorldId(1)).unwrap();
    assert_eq!(refused(&[(COAT, 1)], 38), "It cannot be worn: it is on its way into a region.");
}

#[test]
fn an_exchange_at_the_limit_is_possible() {
    let stage = stage();
    stage.put_on(&[(HAT, 2)], 1);
    let full = "It cannot be worn: you wear 1 objects, and no more are allowed.";
    for point in [0x80 | 2, 3] {
        assert_eq!(stage.put_on(&[(COAT, point)], 1).refusal.as_deref(), Some(full));
    }
    let replies = stage.put_on(&[(COAT, 2)], 1);
    assert_eq!((replies.refusal.as_deref(), worn(&replies)), (None, vec![(COAT, 2, true)]));
    // An outfit, in place of everything.
    let stage = self::stage();
    stage.put_on(&[(HAT, 2)], 1);
    let items = vec![WearItem { item: COAT, point: 0x80 | 3 }];
    let takes_off_but = Some(vec![COAT]);
    let outfit = PutOnRequest { session: SESSION, items, takes_off_but, max: 1, at_us: 9 };
    let replies = stage.ask(WearRequest::PutOn(outfit));
    assert_eq!((replies.refusal.as_deref(), worn(&replies)), (None, vec![(COAT, 3, false)]));
}

#[test]
fn the_wardrobe_hears_of_arrivals_and_of_what_is_taken_off() {
    let stage = stage();
    stage.put_on(&[(HAT, 0)], 38);
    let region = Some(WorldId(3));
    let arrived = stage.ask(WearRequest::Arrived { session: SESSION, region });
    let [WardrobeOrder::Arrived { agent, session, world, worn }] = &arrived.wardrobe[..] else {
        panic!("{arrived:?}")
    };
    assert_eq!((*agent, *session, *world, worn.len()), (stage.ada, SESSION, region, 1));
    assert_eq!((worn[0].item, worn[0].point), (HAT, 6), "the right hand");
    let all = WornItems::AllBut(Vec::new());
    let off = stage.ask(WearRequest::TakeOff(all.clone()));
    assert_eq!(off.wardrobe, [WardrobeOrder::TakeOff { agent: stage.ada, items: all }]);
    let gone = stage.ask(WearRequest::Gone(SESSION));
    assert_eq!(gone.wardrobe, [WardrobeOrder::Gone { agent: stage.ada, session: SESSION }]);
    // An outfit takes everything else off first.
    let items = vec![WearItem { item: COAT, point: 1 }];
    let takes_off_but = Some(vec![COAT]);
    let outfit = PutOnRequest { session: SESSION, items, takes_off_but, max: 38, at_us: 9 };
    let replies = stage.ask(WearRequest::PutOn(outfit));
    let [WardrobeOrder::TakeOff { items, .. }, WardrobeOrder::Wear { .. }] = &replies.wardrobe[..] else {
        panic!("{replies:?}")
    };
    assert_eq!(*items, WornItems::AllBut(vec![COAT]));
}

#[test]
fn clothing_is_kept_with_the_account() {
    let stage = stage();
    let shape = StoredWearable { item: Uuid::from_u128(1), kind: 0 };
    let replies = stage.ask(WearRequest::Outfit(vec![shape]));
    assert_eq!(
        (replies, stage.store.wearables(stage.ada).unwrap()),
        (InventoryReplies::default(), vec![shape])
    );
}
