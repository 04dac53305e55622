//! Items of objects: which become items, and with what.

use super::*;
use crate::rows::push_held;
use crate::testing::{at, body, body_with_contents, item, rich_body};
use ids::SessionKey;
use link::VersionedBody;
use prim::{Contents, Ownership};
use std::sync::Arc;

const REGION: WorldId = WorldId(1);
const OWNER: AgentId = AgentId(Uuid::from_u128(2));
const FOLDER: Uuid = Uuid::from_u128(8);

fn object(kind: DerezKind, roots: Vec<VersionedBody>) -> HeldObject {
    let linksets = roots.into_iter().map(|root| vec![(at(1.0), root)]).collect();
    let (by, transaction) = (SessionKey(3), Uuid::nil());
    HeldObject { owner: OWNER, by, kind, folder: FOLDER, transaction, is_worn: false, linksets }
}

fn row(ticket: u32, object: &HeldObject) -> HeldRow {
    let mut value = Vec::new();
    push_held(&mut value, object);
    let key = HeldKey { region: REGION, ticket: Ticket(ticket) };
    let (kind, by) = (object.kind.code(), object.by);
    HeldRow { key, owner: object.owner, kind, by, held_s: 1_700_000_000, value: value.into() }
}

fn leaving(ticket: u32, object: &HeldObject) -> (Ticket, HeldChange) {
    (Ticket(ticket), HeldChange::Insert(row(ticket, object)))
}

/// The number of prims stands for the encoding; an object of three linksets has none.
fn encode(object: &HeldObject) -> Result<Vec<u8>, &'static str> {
    if object.linksets.len() == 3 { Err("three linksets") } else { Ok(vec![object.n_prims() as u8]) }
}

/// The item of the only change.
fn itemized(object: &HeldObject) -> ItemTransfer {
    let mut held = vec![leaving(1, object)];
    assert_eq!(itemize(REGION, &mut held, encode).failed, []);
    match held.remove(0).1 {
        HeldChange::InsertItem(transfer) => *transfer,
        other => panic!("{other:?}"),
    }
}

/// A prim with other ownership.
fn owned(edit: impl FnOnce(&mut Ownership)) -> VersionedBody {
    let mut versioned = rich_body(1);
    edit(Arc::make_mut(&mut Arc::make_mut(&mut versioned.body).ownership));
    versioned
}

#[test]
fn objects_that_leave_become_items_and_others_stay_rows() {
    let plain = object(DerezKind::Take, vec![rich_body(1)]);
    let three = object(DerezKind::Take, vec![body(1), body(2), body(3)]);
    // Put back into its row with a later ticket, or one of another region with the same number.
    let back = (Ticket(5), HeldChange::Insert(row(1, &plain)));
    let foreign = HeldRow { key: HeldKey { region: WorldId(2), ticket: Ticket(5) }, ..row(5, &plain) };
    let broken = HeldRow { value: vec![1, 2, 3].into(), ..row(6, &plain) };
    let removed = HeldChange::Remove(HeldKey { region: REGION, ticket: Ticket(2) });
    let mut held = vec![
        leaving(2, &plain),
        leaving(4, &three),
        back,
        (Ticket(5), HeldChange::Insert(foreign)),
        (Ticket(6), HeldChange::Insert(broken)),
        (Ticket(7), removed),
    ];
    let before = held.clone();
    let Itemized { assets, failed } = itemize(REGION, &mut held, encode);
    let key = |ticket| HeldKey { region: REGION, ticket: Ticket(ticket) };
    let reasons: Vec<HeldKey> = failed.iter().map(|(key, _)| *key).collect();
    assert_eq!((reasons, &*failed[0].1), (vec![key(4), key(6)], "three linksets"));
    assert_eq!(assets, [AssetBytes { hash: AssetHash::of(&[1]), bytes: vec![1] }]);
    assert_eq!(held[1..], before[1..]);
    let HeldChange::InsertItem(transfer) = &held[0].1 else { panic!("an item") };
    assert_eq!(transfer.row.as_ref(), Some(&row(2, &plain)));
    assert_eq!((transfer.origin, transfer.origin.key), (origin_of(&row(2, &plain)), key(2)));
    let asset = transfer.asset.as_ref().expect("a new one");
    assert_eq!((asset.hash, asset.length, asset.kind, asset.creator), (AssetHash::of(&[1]), 1, 6, OWNER));
    // A repeated batch becomes the same.
    let mut again = before;
    itemize(REGION, &mut again, encode);
    assert_eq!(again, held);
}

#[test]
fn an_object_that_was_worn_as_no_item_comes_into_lost_and_found() {
    let worn = HeldObject { is_worn: true, ..object(DerezKind::Take, vec![rich_body(1)]) };
    let transfer = itemized(&worn);
    let lost_and_found = FolderChoice { wanted: Uuid::nil(), type_default: LOST_AND_FOUND };
    assert_eq!((transfer.folder, transfer.replaces, &*transfer.item.name), (lost_and_found, None, "Lamp"));
}

#[test]
fn an_item_has_the_names_and_the_offer_of_its_object() {
    let item = itemized(&object(DerezKind::Take, vec![rich_body(1)])).item;
    assert_eq!((&*item.name, &*item.description), ("Lamp", "A lamp"));
    assert_eq!((item.asset_type, item.inventory_type, item.flags, item.created_s), (6, 6, 0, 1_700_000_000));
    assert_eq!(item.sale, Sale { kind: 2, price: 10 });
    let ownership = rich_body(1).body.ownership.clone();
    let Permissions { creator, last_owner, .. } = item.permissions;
    assert_eq!((creator, last_owner), (ownership.creator.0, ownership.last_owner.0));
    // Several linksets are not sold, and have a maker only if that is the same.
    let item = itemized(&object(DerezKind::Take, vec![rich_body(1), body(2)])).item;
    assert_eq!((&*item.name, item.flags, item.sale), ("Lamp", 1 << 21, Sale::default()));
    assert_eq!(item.permissions.creator, ownership.creator.0);
    let other = owned(|ownership| ownership.creator = AgentId(Uuid::from_u128(99)));
    let item = itemized(&object(DerezKind::Take, vec![rich_body(1), other])).item;
    assert_eq!(item.permissions.creator, Uuid::nil());
}

#[test]
fn an_item_goes_where_its_object_was_sent() {
    let folder = |kind| {
        let FolderChoice { wanted, type_default } = itemized(&object(kind, vec![body(1)])).folder;
        (wanted, type_default)
    };
    assert_eq!([DerezKind::Take, DerezKind::TakeCopy].map(folder), [(FOLDER, 6); 2]);
    assert_eq!(folder(DerezKind::Trash), (Uuid::nil(), 14));
    assert_eq!(folder(DerezKind::Return), (Uuid::nil(), 16));
}

#[test]
fn a_saved_object_replaces_the_content_of_the_item_that_it_names() {
    let ItemTransfer { replaces, folder, .. } = itemized(&object(DerezKind::Save, vec![body(1)]));
    // Without that item it is a new one.
    assert_eq!((replaces, folder.wanted, folder.type_default), (Some(FOLDER), Uuid::nil(), 6));
    assert_eq!(itemized(&object(DerezKind::Take, vec![body(1)])).replaces, None);
}

#[test]
fn an_item_has_the_rights_that_all_of_its_prims_share() {
    let rights = |bodies: Vec<VersionedBody>| {
        let permissions = itemized(&object(DerezKind::Take, bodies)).item.permissions;
        assert_eq!(permissions.base, permissions.owner);
        permissions.owner
    };
    let all = Mask::ALL.bits() | FOLDED;
    assert_eq!(rights(vec![body(1)]), all);
    let with = |edit: &dyn Fn(&mut prim::Permissions)| owned(|ownership| edit(&mut ownership.permissions));
    let no_copy = with(&|masks| masks.owner = !Mask::COPY);
    assert_eq!(rights(vec![no_copy.clone()]), all & !Mask::COPY.bits());
    let no_base = with(&|masks| masks.base = !Mask::TRANSFER);
    assert_eq!(rights(vec![no_copy, no_base]), all & !(Mask::COPY | Mask::TRANSFER).bits());
    // The owner of a locked object moves it in the inventory.
    let locked = with(&|masks| masks.owner = !Mask::MOVE);
    assert_eq!(rights(vec![locked]), all);
    // Others' masks are within the owner's.
    let shared = with(&|masks| {
        (masks.owner, masks.everyone, masks.next_owner) = (!Mask::COPY, Mask::COPY | Mask::MOVE, Mask::COPY);
    });
    let permissions = itemized(&object(DerezKind::Take, vec![shared])).item.permissions;
    assert_eq!((permissions.everyone, permissions.next_owner), (Mask::MOVE.bits(), Mask::MOVE.bits()));
}

#[test]
fn contents_withhold_copies_and_transfers_and_are_folded() {
    let containing = |edit: &dyn Fn(&mut prim::Permissions), inventory_type: i8| {
        let mut versioned = body_with_contents(1);
        let mut content = (*item(1, "note")).clone();
        content.inventory_type = inventory_type;
        content.ownership.permissions = prim::Permissions { next_owner: Mask::ALL, ..prim::Permissions::NEW };
        edit(&mut content.ownership.permissions);
        let contents = Contents { serial: 1, items: vec![Arc::new(content)] };
        Arc::make_mut(&mut versioned.body).contents = Some(Arc::new(contents));
        itemized(&object(DerezKind::Take, vec![versioned])).item.permissions.owner
    };
    let all = Mask::ALL.bits() | FOLDED;
    assert_eq!(containing(&|_| (), 7), all);
    let fixed = |masks: &mut prim::Permissions| masks.owner = !(Mask::COPY | Mask::MODIFY);
    assert_eq!(containing(&fixed, 7), all & !Mask::COPY.bits() & !0b100, "it may be changed");
    let next = |masks: &mut prim::Permissions| masks.next_owner = !Mask::TRANSFER;
    assert_eq!(containing(&next, 7), all & !0b1, "folded only");
    assert_eq!(containing(&fixed, LANDMARK), all, "a landmark withholds nothing");
}

#[test]
fn an_item_of_a_prim_keeps_its_asset_and_its_masks() {
    let content = item(5, "Zettel, schön");
    let key = HeldKey { region: REGION, ticket: Ticket(9) };
    let origin = ItemOrigin { key, owner: OWNER, held_s: 7 };
    let new_folder = Some(Arc::from("Box"));
    let by = SessionKey(3);
    let held = HeldItem { owner: OWNER, by, folder: FOLDER, new_folder, item: Arc::clone(&content) };
    let ItemTransfer { folder, new_folder, item, asset, row, replaces, .. } = content_transfer(origin, &held);
    assert_eq!((asset, row, folder.wanted, folder.type_default), (None, None, FOLDER, 10));
    assert_eq!((new_folder.as_deref(), replaces), (Some("Box"), None));
    assert_eq!((item.asset, item.asset_type, item.inventory_type), (content.asset, 10, -1));
    assert_eq!((&*item.name, item.flags, item.created_s), ("Zettel, schön", 1 << 20, 1_700_000_000));
    let masks = content.ownership.permissions;
    let of_item = &item.permissions;
    assert_eq!([of_item.base, of_item.next_owner], [masks.base.bits(), masks.next_owner.bits()]);
    assert_eq!((item.sale, of_item.group), (Sale { kind: 1, price: 3 }, content.ownership.group));
    // And back.
    let ownership = Ownership { owner: OWNER, ..content.ownership };
    let expected = ContentItem { ownership, carried: Carried::default(), ..(*content).clone() };
    assert_eq!(content_of(OWNER, &item, content.id), expected);
}

#[test]
fn an_item_of_a_prim_is_its_owners_or_the_next_owners() {
    let content = item(5, "Zettel");
    let masks = content.ownership.permissions;
    let own = item_of_content(content.ownership.owner, &content);
    assert_eq!((own.permissions.base, own.sale.price), (masks.base.bits(), 3));
    let next = item_of_content(AgentId(Uuid::from_u128(99)), &content);
    let masks = masks.for_next_owner();
    assert_eq!((next.permissions.base, next.permissions.owner), (masks.base.bits(), masks.owner.bits()));
    assert_eq!((next.permissions.last_owner, next.sale), (content.ownership.owner.0, Sale::default()));
}
