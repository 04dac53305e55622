//! Copies of items that are embedded in notecards: claims of their writers.

use super::*;
use crate::asset_sources::AssetSources;
use assets::{AssetKind, MemoryAssets, NewAsset};
use bytes::Bytes;
use std::sync::Arc;

const EMBEDDED: Uuid = Uuid::from_u128(0xE1);
const ASSET: Uuid = Uuid::from_u128(0xA55E7);
/// Asset of the notecard.
const NOTECARD: Uuid = Uuid::from_u128(0x7E47);
/// Move, modify, copy and transfer.
const FULL: u32 = 0x0008_E000;
/// Move and transfer.
const NO_COPY: u32 = 0x0008_2000;
/// Move and copy.
const NO_TRANSFER: u32 = 0x0008_8000;
/// Move, copy and transfer.
const NO_MODIFY: u32 = 0x0008_A000;

/// The writer of notecards is Ada, their reader is Grace.
struct Stage {
    store: Arc<Store>,
    assets: AssetSources,
    ada: AgentId,
    grace: AgentId,
}

fn stage() -> Stage {
    let (store, ada) = store_with_ada();
    let grace = AgentId(id(0xB));
    create(&store, grace, "Grace", "Hopper");
    let store = Arc::new(store);
    let assets = AssetSources::new(Arc::new(MemoryAssets::beside(Arc::clone(&store))));
    Stage { store, assets, ada, grace }
}

/// An embedded item as a notecard states it.
#[derive(Clone, Copy)]
struct Claim {
    asset: Uuid,
    kind: &'static str,
    /// Base, owner and next owner's mask.
    masks: [u32; 3],
    creator: Uuid,
}

const TEXTURE: Claim =
    Claim { asset: ASSET, kind: "texture", masks: [FULL, FULL, NO_MODIFY], creator: Uuid::from_u128(0xC) };

impl Claim {
    fn in_notecard(self) -> String {
        let Self { asset, kind, masks: [base, owner, next_owner], creator } = self;
        let permissions = format!(
            "\tpermissions 0\n\t{{\n\t\tbase_mask\t{base:08x}\n\t\towner_mask\t{owner:08x}\n\
             \t\tnext_owner_mask\t{next_owner:08x}\n\t\tcreator_id\t{creator}\n\t}}\n"
        );
        let item = format!(
            "\t\titem_id\t{EMBEDDED}\n{permissions}\t\tasset_id\t{asset}\n\t\ttype\t{kind}\n\
             \t\tinv_type\t{kind}\n\t\tflags\t00000000\n\t\tname\tThing|\n\t\tdesc\tof the notecard|\n"
        );
        format!(
            "Linden text version 2\n{{\nLLEmbeddedItems version 1\n{{\ncount 1\n\
             {{\next char index 0\n\tinv_item\t0\n\t{{\n{item}\t}}\n}}\n}}\nText length 0\n}}\n"
        )
    }
}

impl Stage {
    fn add_asset(&self, id: Uuid, kind: AssetKind, creator: AgentId, bytes: &[u8], origin: &str) {
        let bytes = Bytes::copy_from_slice(bytes);
        let new = NewAsset { id, kind, bytes, creator, origin: origin.into(), is_temporary: false };
        self.assets.stored().add(new, Box::new(|outcome| assert!(outcome.is_ok())));
    }

    /// A notecard of Ada's in the inventory of Grace.
    fn notecard(&self, claim: Claim, origin: &str) -> Uuid {
        let asset = NOTECARD;
        self.add_asset(asset, AssetKind::Notecard, self.ada, claim.in_notecard().as_bytes(), origin);
        let blank = make_item(&self.store, self.grace, root(&self.store, self.grace));
        let update = ItemUpdate { item: blank.id, asset: Some(asset), ..ItemUpdate::default() };
        let changes = [InventoryChange::UpdateItem(update)];
        self.store.change_inventory(self.grace, &changes, &InventoryLimits::default()).unwrap();
        blank.id
    }

    fn copy(&self, request: &NotecardCopy) -> InventoryReplies {
        let parts = InventoryParts { store: &self.store, assets: &self.assets };
        copy_from_notecard(parts, self.grace, request, NOW_S).unwrap()
    }

    /// The copy that Grace gets, if she does.
    fn copied(&self, request: &NotecardCopy) -> Option<Item> {
        let replies = self.copy(request);
        let [row] = &bulk_items(&replies.messages)[..] else { panic!("{replies:?}") };
        assert_eq!(row.callback_id, request.copies[0].callback_id);
        assert_eq!(row.item_id.is_nil(), replies.refusal.is_some());
        self.store.item(self.grace, row.item_id).unwrap()
    }
}

/// A request for the embedded item.
fn out_of(notecard: Uuid) -> NotecardCopy {
    let copy = EmbeddedCopy { item: EMBEDDED, folder: Uuid::nil(), callback_id: 8 };
    NotecardCopy { notecard: NotecardPlace::named(notecard, Uuid::nil()), copies: vec![copy] }
}

#[test]
fn content_of_the_writer_comes_out_with_the_rights_of_the_next_owner() {
    let stage = stage();
    stage.add_asset(ASSET, AssetKind::Texture, stage.ada, b"a picture", "upload");
    let copy = stage.copied(&out_of(stage.notecard(TEXTURE, "upload"))).expect("a copy");
    assert_eq!(copy.folder, folder_of(&stage.store, stage.grace, FolderType::TEXTURES));
    assert_eq!((&*copy.name, &*copy.description), ("Thing", "of the notecard"));
    assert_eq!((copy.asset, copy.inventory_type), (ASSET, InventoryType::TEXTURE));
    let rights = &copy.permissions;
    assert_eq!((rights.base, rights.owner, rights.everyone), (NO_MODIFY, NO_MODIFY, 0));
    assert_eq!((rights.creator, rights.last_owner), (TEXTURE.creator, stage.ada.0));
    assert_ne!(copy.id, EMBEDDED);
}

#[test]
fn content_of_others_is_not_the_writers_to_give() {
    let other = AgentId(id(0xD));
    let landmark = Claim { kind: "landmark", ..TEXTURE };
    let of_server = Claim { asset: ids::PLYWOOD_TEXTURE, ..TEXTURE };
    let (landmark_kind, texture) = (AssetKind::Landmark, AssetKind::Texture);
    let with_masks = |masks| Claim { masks, ..TEXTURE };
    let (ada, nobody) = (AgentId(id(0xA)), AgentId(Uuid::nil()));
    for (claim, creator, kind, origin, is_given) in [
        (TEXTURE, ada, texture, "upload", true),
        (TEXTURE, other, texture, "upload", false),
        (TEXTURE, nobody, texture, "upload", false),
        (TEXTURE, other, texture, "town.oar", true),
        (TEXTURE, ada, AssetKind::Sound, "upload", false),
        (TEXTURE, ada, AssetKind::Sound, "town.oar", false),
        (landmark, other, landmark_kind, "upload", true),
        (of_server, other, texture, "upload", true),
        (Claim { asset: id(0xBAD), ..TEXTURE }, ada, texture, "upload", false),
        (Claim { kind: "object", ..TEXTURE }, ada, AssetKind::Object, "upload", false),
        (with_masks([NO_COPY, FULL, FULL]), ada, texture, "upload", false),
        (with_masks([FULL, NO_COPY, FULL]), ada, texture, "upload", false),
        (with_masks([FULL, NO_TRANSFER, FULL]), ada, texture, "upload", false),
        (with_masks([NO_COPY, FULL, FULL]), other, texture, "town.oar", false),
    ] {
        let stage = stage();
        stage.add_asset(ASSET, kind, creator, b"content", "upload");
        let copy = stage.copied(&out_of(stage.notecard(claim, origin)));
        let case = format!("{kind} of {creator:?} as {}, {:x?}, {origin}", claim.kind, claim.masks);
        assert_eq!(copy.is_some(), is_given, "{case}");
    }
}

#[test]
fn items_come_out_of_a_notecard_in_an_object_by_the_same_rules() {
    for (creator, is_given) in [(0xA, true), (0xD, false)] {
        let stage = stage();
        stage.add_asset(ASSET, AssetKind::Texture, AgentId(id(creator)), b"a picture", "upload");
        let own = stage.notecard(TEXTURE, "upload");
        let in_object = |asset| {
            let notecard = NotecardPlace { asset, ..NotecardPlace::named(id(1), id(2)) };
            NotecardCopy { notecard, ..out_of(own) }
        };
        let copy = stage.copied(&in_object(Some(NOTECARD)));
        let rights = copy.map(|copy| (copy.permissions.base, copy.permissions.last_owner));
        assert_eq!(rights, is_given.then_some((NO_MODIFY, stage.ada.0)), "by the writer of its content");
        assert_eq!(stage.copied(&in_object(None)), None, "not to be read");
        assert_eq!(stage.copied(&in_object(Some(ASSET))), None, "a texture");
    }
}

#[test]
fn an_item_that_the_writer_still_has_comes_out_with_no_more_rights_than_that_has() {
    for (masks, claimed, is_given) in [
        ([FULL, FULL, FULL], [FULL, FULL, FULL], true),
        ([FULL, FULL, NO_MODIFY], [FULL, FULL, NO_MODIFY], true),
        ([FULL, FULL, NO_MODIFY], [FULL, FULL, FULL], false),
        ([NO_MODIFY, FULL, NO_MODIFY], [FULL, FULL, NO_MODIFY], false),
        ([NO_COPY, NO_COPY, NO_COPY], [FULL, FULL, FULL], false),
    ] {
        let stage = stage();
        let claim = Claim { kind: "object", masks: claimed, creator: id(0xC), ..TEXTURE };
        stage.add_asset(ASSET, AssetKind::Object, AgentId(id(0xD)), b"prims", "upload");
        let blank = make_item(&stage.store, stage.ada, root(&stage.store, stage.ada));
        let [base, owner, next_owner] = masks;
        let rights = blank.permissions.clone();
        let permissions = Permissions { creator: id(0xC), base, owner, next_owner, ..rights };
        let original = Item {
            id: EMBEDDED,
            asset: ASSET,
            asset_type: AssetKind::Object.number(),
            inventory_type: InventoryType::OBJECT,
            permissions,
            ..blank
        };
        let changes = [InventoryChange::CreateItem(original)];
        stage.store.change_inventory(stage.ada, &changes, &InventoryLimits::default()).unwrap();
        let copy = stage.copied(&out_of(stage.notecard(claim, "upload")));
        assert_eq!(copy.is_some(), is_given, "{masks:x?}, {claimed:x?}");
        let flags = copy.map(|copy| copy.flags);
        assert_eq!(flags, is_given.then_some(prim::item_flags::SLAM_PERMISSIONS));
    }
}

#[test]
fn an_item_of_the_readers_own_is_copied_as_it_is() {
    let stage = stage();
    let own = make_item(&stage.store, stage.grace, root(&stage.store, stage.grace));
    let mut request = out_of(id(0xBAD));
    request.copies[0].item = own.id;
    let copy = stage.copied(&request).expect("a copy");
    assert_eq!(copy.folder, folder_of(&stage.store, stage.grace, FolderType::NOTECARDS));
    assert_eq!((copy.asset, &*copy.name), (own.asset, "Notes"));
    assert_ne!(copy.id, own.id);
}

#[test]
fn an_item_that_is_not_in_the_notecard_does_not_come_out_of_it() {
    let stage = stage();
    stage.add_asset(ASSET, AssetKind::Texture, stage.ada, b"a picture", "upload");
    let notecard = stage.notecard(TEXTURE, "upload");
    let blank = make_item(&stage.store, stage.grace, root(&stage.store, stage.grace));
    let body = body_part(&stage.store, stage.grace);
    let of_ada = make_item(&stage.store, stage.ada, root(&stage.store, stage.ada));
    let other = EmbeddedCopy { item: id(0xBAD), folder: Uuid::nil(), callback_id: 8 };
    let elsewhere = EmbeddedCopy { folder: id(0xBAD), ..out_of(notecard).copies[0] };
    for (request, text) in [
        (NotecardCopy { copies: vec![other], ..out_of(notecard) }, "does not have that item"),
        (NotecardCopy { copies: vec![elsewhere], ..out_of(notecard) }, "there is no folder"),
        (NotecardCopy { notecard: NotecardPlace::named(notecard, id(1)), ..out_of(notecard) }, "that object"),
        (out_of(blank.id), "does not have that item"),
        (out_of(body.id), "there is no item"),
        (out_of(of_ada.id), "there is no item"),
    ] {
        let replies = stage.copy(&request);
        let alert = replies.refusal.expect("an alert");
        assert!(alert.contains(text), "{alert}");
        let [row] = &bulk_items(&replies.messages)[..] else { panic!("{:?}", replies.messages) };
        assert_eq!((row.item_id, row.callback_id), (Uuid::nil(), 8));
    }
    let textures = folder_of(&stage.store, stage.grace, FolderType::TEXTURES);
    assert!(stage.store.items_in(stage.grace, textures, 1).unwrap().is_empty());
}

#[test]
fn the_message_and_the_capability_ask_for_the_same() {
    let [notecard, object, item, folder] = [1, 2, 3, 4].map(id);
    let notecard_data =
        CopyInventoryFromNotecardNotecardData { notecard_item_id: notecard, object_id: object };
    let inventory_data = vec![CopyInventoryFromNotecardInventoryData { item_id: item, folder_id: folder }];
    let message =
        CopyInventoryFromNotecard { notecard_data, inventory_data, ..CopyInventoryFromNotecard::default() };
    let copy = EmbeddedCopy { item, folder, callback_id: 0 };
    let expected = NotecardCopy { notecard: NotecardPlace::named(notecard, object), copies: vec![copy] };
    assert_eq!(NotecardCopy::from(message), expected);
    let request = Llsd::map([
        ("notecard-id", notecard.into()),
        ("object-id", object.into()),
        ("item-id", item.into()),
        ("folder-id", folder.into()),
        ("callback-id", 9.into()),
    ]);
    let copies = vec![EmbeddedCopy { callback_id: 9, ..copy }];
    assert_eq!(NotecardCopy::of_llsd(&request), NotecardCopy { copies, ..expected });
    let nothing = NotecardCopy::of_llsd(&Llsd::Undef);
    assert!(nothing.notecard.item.is_nil() && nothing.copies[0].item.is_nil());
}
