//! Landmarks of the place where the avatar stands.

use super::*;
use crate::asset_sources::AssetSources;
use assets::{AssetKind, Landmark, MemoryAssets, read_landmark};
use ids::RegionHandle;
use std::sync::Arc;

const PLACE: Standing = Standing {
    region: Uuid::from_u128(0x4E6),
    handle: RegionHandle::from_grid(1_000, 1_001),
    position: [128.5, 64.0, 22.25],
};

struct Stage {
    store: Arc<Store>,
    assets: AssetSources,
    ada: AgentId,
}

fn stage() -> Stage {
    let (store, ada) = store_with_ada();
    let store = Arc::new(store);
    let assets = AssetSources::new(Arc::new(MemoryAssets::beside(Arc::clone(&store))));
    Stage { store, assets, ada }
}

impl Stage {
    fn order(&self, request: CreateInventoryItem, standing: Option<Standing>) -> InventoryReplies {
        let task = InventoryTask::from(request);
        assert!(task.needs_standing() && !task.is_of_server());
        let parts = InventoryParts { store: &self.store, assets: &self.assets };
        let user = InventoryUser { agent: self.ada, secure_session: SECRET };
        carry_out_task(parts, user, standing, &task, NOW_S).unwrap()
    }

    fn landmarks(&self) -> Uuid {
        folder_of(&self.store, self.ada, FolderType::LANDMARKS)
    }
}

#[test]
fn a_landmark_leads_to_the_place_where_it_was_made() {
    let stage = stage();
    let replies = stage.order(create_item(stage.landmarks(), AssetKind::Landmark.number()), Some(PLACE));
    assert_eq!(replies.refusal, None);
    let (is_approved, _, rows) = made(&replies.messages);
    assert!(is_approved);
    assert_eq!((rows[0].callback_id, &rows[0].name[..]), (77, &b"Notes\0"[..]));
    let item = stage.store.item(stage.ada, rows[0].item_id).unwrap().expect("it was made");
    assert_eq!((item.folder, item.inventory_type), (stage.landmarks(), InventoryType::LANDMARK));
    assert_eq!((item.asset, item.flags), (rows[0].asset_id, 0));
    let row = stage.store.asset(item.asset).unwrap().expect("it is stored").row;
    assert_eq!((row.creator, row.kind, row.used_s), (stage.ada, AssetKind::Landmark.number(), None));
    let asset = stage.assets.read(item.asset).unwrap().expect("it is stored");
    let place = Landmark::InRegion { region: PLACE.region, position: PLACE.position };
    assert_eq!(read_landmark(&asset.bytes), Ok(place));
}

#[test]
fn a_landmark_that_is_refused_leaves_no_item_and_no_lasting_asset() {
    let stage = stage();
    for (folder, standing, text) in [
        (stage.landmarks(), None, "no landmark can lead to this place"),
        (id(0xBAD), Some(PLACE), "there is no folder"),
    ] {
        let replies = stage.order(create_item(folder, AssetKind::Landmark.number()), standing);
        let (is_approved, _, rows) = made(&replies.messages);
        assert_eq!((is_approved, rows[0].item_id, rows[0].callback_id), (false, Uuid::nil(), 77));
        let alert = replies.refusal.expect("an alert");
        assert!(alert.contains(text), "{alert}");
    }
    assert!(stage.store.items_in(stage.ada, stage.landmarks(), 1).unwrap().is_empty());
    // The landmark that the store refused: its bytes are on the disk by then, and leave it with the other temporary assets.
    let counts = stage.store.asset_counts().unwrap();
    let counts: Vec<_> = counts.iter().map(|count| (count.kind, count.assets, count.temporary)).collect();
    assert_eq!(counts, [(AssetKind::Landmark.number(), 1, 1)]);
}

#[test]
fn a_landmark_with_an_upload_is_like_other_items() {
    let mut request = create_item(id(1), AssetKind::Landmark.number());
    assert!(InventoryTask::from(request.clone()).needs_standing());
    request.inventory_block.transaction_id = id(2);
    assert!(!InventoryTask::from(request).needs_standing());
    assert!(!InventoryTask::from(create_item(id(1), AssetType::NOTECARD)).needs_standing());
}
