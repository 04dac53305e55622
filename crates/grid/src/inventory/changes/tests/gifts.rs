//! Gifts: both inventories, the messages to both clients, and refusals.

use super::*;
use crate::asset_sources::AssetSources;
use crate::inventory::InventoryType;
use proptest::prelude::*;
use store::Folder;
use wire::text::from_wire;

const TRANSACTION: Uuid = Uuid::from_u128(0x7A);
/// Move and transfer, without copies.
const NO_COPY: u32 = 0x0008_2000;
/// Move and copy, not to be given away.
const NO_TRANSFER: u32 = 0x0008_8000;
/// Move and modify.
const NEITHER: u32 = 0x0008_4000;

fn ada_and_grace() -> (Store, AgentId, AgentId) {
    let (store, ada) = store_with_ada();
    let grace = AgentId(id(0xB));
    create(&store, grace, "Grace", "Hopper");
    (store, ada, grace)
}

fn order(store: &Store, agent: AgentId, task: impl Into<InventoryTask>) -> InventoryReplies {
    let assets = AssetSources::in_memory();
    let parts = InventoryParts { store, assets: &assets };
    let user = InventoryUser { agent, secure_session: SECRET };
    carry_out_task(parts, user, None, &task.into(), NOW_S).unwrap()
}

fn offer(to: AgentId, thing: Uuid, is_folder: bool) -> GiftRequest {
    let listed = Vec::new();
    GiftRequest::Offer(GiftOffer { to, transaction: TRANSACTION, id: thing, is_folder, listed })
}

fn answer(offer: Uuid, accepts: bool, folder: Option<Uuid>) -> GiftRequest {
    GiftRequest::Answer(GiftAnswer { offer, accepts, folder })
}

/// Gives an item masks, as if it had come from another user.
fn with_masks(store: &Store, owner: AgentId, item: &Item, masks: u32) -> Item {
    let permissions = Permissions { base: masks, owner: masks, ..item.permissions.clone() };
    let update = ItemUpdate { item: item.id, permissions: Some(permissions), ..ItemUpdate::default() };
    let change = InventoryChange::UpdateItem(update);
    store.change_inventory(owner, &[change], &InventoryLimits::default()).unwrap();
    store.item(owner, item.id).unwrap().expect("it is there")
}

fn item(store: &Store, owner: AgentId, item: Uuid) -> Option<Item> {
    store.item(owner, item).unwrap()
}

/// The one notice of a gift: messages to the receiver, and the offer.
fn notice(replies: &InventoryReplies, to: AgentId) -> (&[Message], Uuid) {
    let [notice] = &replies.notices[..] else { panic!("{replies:?}") };
    assert_eq!(notice.to, to);
    (&notice.messages, notice.offer.expect("it announces an offer"))
}

/// The id of a gift.
fn given(replies: &InventoryReplies, to: AgentId) -> Uuid {
    notice(replies, to).1
}

fn instant_message(message: &Message) -> (AgentId, &ImprovedInstantMessageMessageBlock) {
    match message {
        Message::ImprovedInstantMessage(m) => (AgentId(m.agent_data.agent_id), &m.message_block),
        other => panic!("{other:?}"),
    }
}

fn bucket(kind: u8, thing: Uuid) -> Vec<u8> {
    [&[kind], &thing.as_bytes()[..]].concat()
}

#[test]
fn an_item_that_may_be_copied_stays_and_the_receivers_is_in_the_folder_of_its_kind() {
    let (store, ada, grace) = ada_and_grace();
    let note = make_item(&store, ada, root(&store, ada));
    let replies = order(&store, ada, offer(grace, note.id, false));
    assert_eq!((&replies.messages[..], &replies.refusal), (&[][..], &None));
    let (messages, gift) = notice(&replies, grace);
    let [bulk, shown] = messages else { panic!("{messages:?}") };
    let rows = bulk_items(std::slice::from_ref(bulk));
    assert_eq!((rows[0].item_id, rows[0].owner_id), (gift, grace.0));
    let (from, block) = instant_message(shown);
    assert_eq!((from, AgentId(block.to_agent_id), block.dialog, block.offline), (ada, grace, 4, 0));
    assert_eq!((block.id, &block.binary_bucket), (gift, &bucket(7, gift)));
    assert_eq!(from_wire(&block.from_agent_name), "Ada Lovelace");
    assert_eq!(from_wire(&block.message), "Notes");

    let received = item(&store, grace, gift).expect("it is there at once");
    assert_eq!(received.folder, folder_of(&store, grace, FolderType::NOTECARDS));
    let rights = &received.permissions;
    assert_eq!((rights.base, rights.owner, rights.everyone), (0x0008_E000, 0x0008_E000, 0));
    assert_eq!((rights.creator, rights.last_owner), (ada.0, ada.0));
    assert_eq!((received.asset, received.created_s), (note.asset, NOW_S));
    assert_eq!(item(&store, ada, note.id), Some(note));
}

#[test]
fn an_item_that_may_not_be_copied_leaves_its_giver() {
    let (store, ada, grace) = ada_and_grace();
    let note = make_item(&store, ada, root(&store, ada));
    let note = with_masks(&store, ada, &note, NO_COPY);
    let replies = order(&store, ada, offer(grace, note.id, false));
    let removed = match &replies.messages[..] {
        [Message::RemoveInventoryItem(m)] => &m.inventory_data,
        other => panic!("{other:?}"),
    };
    assert_eq!(removed.iter().map(|row| row.item_id).collect::<Vec<_>>(), [note.id]);
    let (_, gift) = notice(&replies, grace);
    let received = item(&store, grace, gift).map(|item| item.name);
    assert_eq!((item(&store, ada, note.id), received), (None, Some(note.name)));
}

#[test]
fn a_repeated_offer_has_no_second_effect() {
    let (store, ada, grace) = ada_and_grace();
    for masks in [NO_COPY, 0x0008_E000] {
        let note = make_item(&store, ada, root(&store, ada));
        let note = with_masks(&store, ada, &note, masks);
        let transaction = note.id;
        let listed = Vec::new();
        let offered = GiftOffer { to: grace, transaction, id: note.id, is_folder: false, listed };
        let first = order(&store, ada, GiftRequest::Offer(offered.clone()));
        notice(&first, grace);
        let n = store.waiting_offers(grace).unwrap().len();
        assert_eq!(order(&store, ada, GiftRequest::Offer(offered)), InventoryReplies::default());
        assert_eq!(store.waiting_offers(grace).unwrap().len(), n);
    }
    let notes = folder_of(&store, grace, FolderType::NOTECARDS);
    assert_eq!(store.items_in(grace, notes, 10).unwrap().len(), 2);
}

#[test]
fn a_thing_that_may_not_be_given_stays_and_its_giver_gets_the_reason() {
    let (store, ada, grace) = ada_and_grace();
    let top = root(&store, ada);
    let target = make_item(&store, ada, top);
    let (_, _, rows) = made(&done(&store, ada, link(target.id, top, AssetType::LINK)));
    let linked = rows[0].item_id;
    let kept = make_item(&store, ada, top);
    let kept = with_masks(&store, ada, &kept, NO_TRANSFER);
    let bound = make_item(&store, ada, top);
    let bound = with_masks(&store, ada, &bound, NEITHER);
    let full = make_folder(&store, ada, 0x77);
    let many = (0..GIFT_ROWS_MAX).map(|n| {
        InventoryChange::CreateItem(Item { id: id(0x9000 + u128::from(n)), folder: full, ..target.clone() })
    });
    store.change_inventory(ada, &many.collect::<Vec<_>>(), &InventoryLimits::default()).unwrap();
    let trash = folder_of(&store, ada, FolderType::TRASH);
    let nobody = AgentId(id(0xBAD));
    for (request, text) in [
        (offer(grace, linked, false), "a link cannot"),
        (offer(grace, kept.id, false), "not allowed to give"),
        (offer(grace, bound.id, false), "not allowed to give"),
        (offer(grace, id(0xBAD), false), "no such item"),
        (offer(grace, id(0xBAD), true), "no such item"),
        (offer(ada, target.id, false), "to yourself"),
        (offer(nobody, target.id, false), "no such user"),
        (offer(grace, trash, true), "each inventory has"),
        (offer(grace, top, true), "each inventory has"),
        (offer(grace, full, true), "more than 512"),
        (GiftRequest::OfferCard { to: nobody, transaction: TRANSACTION }, "no such user"),
        (GiftRequest::OfferCard { to: ada, transaction: TRANSACTION }, "to yourself"),
    ] {
        // A viewer has dropped it: an item that cannot be copied, or a link that may lead to one.
        let is_asked = |id: &Uuid| matches!(&request, GiftRequest::Offer(gift) if gift.id == *id);
        let dropped: Vec<Uuid> = [linked, bound.id].into_iter().filter(is_asked).collect();
        let replies = order(&store, ada, request);
        let alert = replies.refusal.expect("an alert");
        assert!(alert.starts_with("Nothing was given: ") && alert.contains(text), "{alert}");
        assert!(replies.notices.is_empty());
        let shown: Vec<Uuid> = bulk_items(&replies.messages).iter().map(|row| row.item_id).collect();
        assert_eq!(shown, dropped, "{alert}");
    }
    for given in [target.id, linked, kept.id, bound.id] {
        assert!(item(&store, ada, given).is_some());
    }
    assert!(store.waiting_offers(grace).unwrap().is_empty());
}

#[test]
fn a_folder_comes_with_its_content_but_links_and_what_may_not_be_given() {
    let (store, ada, grace) = ada_and_grace();
    let hats = make_folder(&store, ada, 0x71);
    done(&store, ada, create_folder(id(0x72), hats, 47, "Blue"));
    let folders = [hats, hats, hats, id(0x72), hats];
    let [free, single, kept, inner, unlisted] = folders.map(|folder| make_item(&store, ada, folder));
    let single = with_masks(&store, ada, &single, NO_COPY);
    let kept = with_masks(&store, ada, &kept, NO_TRANSFER);
    done(&store, ada, link(free.id, id(0x72), AssetType::LINK));
    let listed = vec![free.id, single.id, kept.id, id(0xBAD)];
    let gift = GiftOffer { to: grace, transaction: TRANSACTION, id: hats, is_folder: true, listed };
    let replies = order(&store, ada, GiftRequest::Offer(gift));
    let alert = replies.refusal.as_deref().expect("an alert");
    assert!(alert.ends_with("stay with you: 2."), "{alert}");
    assert!(matches!(&replies.messages[..], [Message::RemoveInventoryItem(_)]), "{:?}", replies.messages);
    assert_eq!(item(&store, ada, single.id), None);
    for stays in [&free, &kept, &inner, &unlisted] {
        assert_eq!(item(&store, ada, stays.id).as_ref(), Some(stays));
    }
    let (messages, gift) = notice(&replies, grace);
    let (_, block) = instant_message(messages.last().expect("it is shown"));
    assert_eq!((block.id, &block.binary_bucket), (gift, &bucket(8, gift)));
    let rows = |count: fn(&BulkUpdateInventory) -> usize| {
        let of = |message: &Message| match message {
            Message::BulkUpdateInventory(m) => count(m),
            _ => 0,
        };
        messages.iter().map(of).sum::<usize>()
    };
    assert_eq!((rows(|m| m.folder_data.len()), rows(|m| m.item_data.len())), (2, 3));

    let top = store.folder(grace, gift).unwrap().expect("the folder");
    assert_eq!((&*top.name, top.parent, top.type_default), ("Folder", root(&store, grace), -1));
    let names = |folder| {
        let items = store.items_in(grace, folder, 10).unwrap();
        items.iter().map(|item| item.permissions.base).collect::<Vec<_>>()
    };
    assert_eq!(names(gift).len(), 2);
    assert!(names(gift).contains(&NO_COPY), "the masks of its next owner, within its own");
    let [blue] = &store.folders_in(grace, gift, 10).unwrap()[..] else { panic!("one folder") };
    assert_eq!((&*blue.name, blue.type_default, names(blue.id)), ("Blue", 47, vec![0x0008_E000]));
}

#[test]
fn an_accepted_thing_moves_to_the_folder_that_its_client_names() {
    let (store, ada, grace) = ada_and_grace();
    let note = make_item(&store, ada, root(&store, ada));
    let gift = given(&order(&store, ada, offer(grace, note.id, false)), grace);
    let presents = make_folder(&store, grace, 0x71);
    let replies = order(&store, grace, answer(gift, true, Some(presents)));
    assert_eq!(bulk_items(&replies.messages)[0].folder_id, presents);
    assert_eq!(item(&store, grace, gift).map(|item| item.folder), Some(presents));
    let [to_giver] = &replies.notices[..] else { panic!("{replies:?}") };
    assert_eq!((to_giver.to, to_giver.offer), (ada, None));
    let (from, block) = instant_message(&to_giver.messages[0]);
    assert_eq!((from, block.dialog, block.id), (grace, 5, TRANSACTION));
    assert_eq!(from_wire(&block.from_agent_name), "Grace Hopper");
    let second = order(&store, grace, answer(gift, false, None));
    assert_eq!(second, InventoryReplies::default(), "the first answer counts");
    assert_eq!(item(&store, grace, gift).map(|item| item.folder), Some(presents));
}

#[test]
fn a_declined_thing_moves_into_the_trash() {
    let (store, ada, grace) = ada_and_grace();
    let note = make_item(&store, ada, root(&store, ada));
    let hats = make_folder(&store, ada, 0x71);
    let trash = folder_of(&store, grace, FolderType::TRASH);
    let of_item = given(&order(&store, ada, offer(grace, note.id, false)), grace);
    let folder_gift =
        GiftOffer { to: grace, transaction: id(0x7B), id: hats, is_folder: true, listed: Vec::new() };
    let of_folder = given(&order(&store, ada, GiftRequest::Offer(folder_gift)), grace);
    for gift in [of_item, of_folder] {
        let replies = order(&store, grace, answer(gift, false, None));
        let (_, block) = instant_message(&replies.notices[0].messages[0]);
        assert_eq!(block.dialog, 6);
    }
    assert_eq!(item(&store, grace, of_item).map(|item| item.folder), Some(trash));
    assert_eq!(store.folder(grace, of_folder).unwrap().map(|folder: Folder| folder.parent), Some(trash));
}

#[test]
fn an_answer_to_no_offer_of_the_users_own_has_no_effect() {
    let (store, ada, grace) = ada_and_grace();
    let note = make_item(&store, ada, root(&store, ada));
    let own = make_item(&store, grace, root(&store, grace));
    let gift = given(&order(&store, ada, offer(grace, note.id, false)), grace);
    let presents = make_folder(&store, ada, 0x71);
    // Another user's offer, an own item without an offer, and nothing.
    for (agent, thing) in [(ada, gift), (grace, own.id), (ada, id(0xBAD))] {
        let replies = order(&store, agent, answer(thing, true, Some(presents)));
        assert_eq!(replies.refusal.as_deref(), Some("That offer is no longer open."));
        assert!(replies.messages.is_empty() && replies.notices.is_empty());
    }
    // A folder of another user's.
    let replies = order(&store, grace, answer(gift, true, Some(presents)));
    assert!(replies.refusal.expect("an alert").contains("there is no folder"));
    assert_eq!(replies.notices.len(), 1, "it is accepted all the same");
    let notecards = folder_of(&store, grace, FolderType::NOTECARDS);
    assert_eq!(item(&store, grace, gift).map(|item| item.folder), Some(notecards));
}

#[test]
fn offers_are_announced_until_the_user_has_been_shown_them() {
    let (store, ada, grace) = ada_and_grace();
    let note = make_item(&store, ada, root(&store, ada));
    let gift = given(&order(&store, ada, offer(grace, note.id, false)), grace);
    for _ in 0..2 {
        let replies = order(&store, grace, GiftRequest::Announce);
        let (messages, announced) = notice(&replies, grace);
        let [shown] = messages else { panic!("{messages:?}") };
        let (from, block) = instant_message(shown);
        assert_eq!((from, block.dialog, block.id, announced), (ada, 4, gift, gift));
        assert_eq!((block.offline, i64::from(block.timestamp)), (1, NOW_S));
    }
    assert_eq!(order(&store, ada, GiftRequest::Announce), InventoryReplies::default());
    assert_eq!(order(&store, grace, GiftRequest::Shown(vec![gift])), InventoryReplies::default());
    assert_eq!(order(&store, grace, GiftRequest::Announce), InventoryReplies::default());
}

#[test]
fn an_offer_of_a_thing_that_is_gone_is_not_announced() {
    let (store, ada, grace) = ada_and_grace();
    let note = make_item(&store, ada, root(&store, ada));
    let gift = given(&order(&store, ada, offer(grace, note.id, false)), grace);
    done(&store, grace, remove_item(gift));
    assert_eq!(order(&store, grace, GiftRequest::Announce), InventoryReplies::default());
    assert!(store.waiting_offers(grace).unwrap().is_empty());
}

#[test]
fn a_calling_card_leads_to_its_giver() {
    let (store, ada, grace) = ada_and_grace();
    let agent_block = OfferCallingCardAgentBlock { dest_id: grace.0, transaction_id: TRANSACTION };
    let request = OfferCallingCard { agent_block, ..OfferCallingCard::default() };
    let replies = order(&store, ada, request);
    let (messages, card) = notice(&replies, grace);
    let [_, Message::OfferCallingCard(shown)] = messages else { panic!("{messages:?}") };
    assert_eq!((shown.agent_data.agent_id, shown.agent_block.transaction_id), (ada.0, card));
    let stored = item(&store, grace, card).expect("it is there at once");
    assert_eq!((&*stored.name, stored.permissions.creator), ("Ada Lovelace", ada.0));
    assert_eq!(stored.inventory_type, InventoryType::CALLING_CARD);
    assert_eq!(stored.folder, folder_of(&store, grace, FolderType::CALLING_CARDS));

    let presents = make_folder(&store, grace, 0x71);
    let folder_data = vec![AcceptCallingCardFolderData { folder_id: presents }];
    let mut accepted = AcceptCallingCard { folder_data, ..AcceptCallingCard::default() };
    accepted.transaction_block.transaction_id = card;
    let replies = order(&store, grace, accepted);
    assert_eq!(item(&store, grace, card).map(|item| item.folder), Some(presents));
    let [Message::AcceptCallingCard(m)] = &replies.notices[0].messages[..] else { panic!("{replies:?}") };
    assert_eq!((m.agent_data.agent_id, m.transaction_block.transaction_id), (grace.0, TRANSACTION));
    // A card cannot be given on.
    let replies = order(&store, grace, offer(ada, card, false));
    assert!(replies.refusal.expect("an alert").contains("not allowed to give"));
}

#[test]
fn a_declined_card_moves_into_the_trash() {
    let (store, ada, grace) = ada_and_grace();
    let card = GiftRequest::OfferCard { to: grace, transaction: TRANSACTION };
    let card = given(&order(&store, ada, card), grace);
    let mut declined = DeclineCallingCard::default();
    declined.transaction_block.transaction_id = card;
    let replies = order(&store, grace, declined);
    let trash = folder_of(&store, grace, FolderType::TRASH);
    assert_eq!(item(&store, grace, card).map(|item| item.folder), Some(trash));
    assert!(matches!(&replies.notices[0].messages[..], [Message::DeclineCallingCard(_)]));
}

#[test]
fn buckets_name_a_thing_and_the_content_of_a_folder() {
    let of = |bytes: &[u8]| GiftOffer::of_bucket(AgentId(id(1)), TRANSACTION, bytes);
    let single = of(&bucket(7, id(5))).expect("an item");
    assert_eq!((single.id, single.is_folder, single.listed), (id(5), false, vec![]));
    let bytes = [bucket(8, id(5)), bucket(7, id(6)), bucket(10, id(7)), vec![1, 2, 3]].concat();
    let folder = of(&bytes).expect("a folder");
    assert_eq!((folder.id, folder.is_folder, folder.listed), (id(5), true, vec![id(6), id(7)]));
    assert_eq!((of(&[]), of(&[7; 16])), (None, None));
    let accepted = |bytes: &[u8]| GiftAnswer::of_bucket(id(5), true, bytes).folder;
    assert_eq!((accepted(id(9).as_bytes()), accepted(&[]), accepted(&[0; 16])), (Some(id(9)), None, None));
}

proptest! {
    #[test]
    fn any_bucket_is_taken_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let to = AgentId(id(1));
        prop_assert_eq!(GiftOffer::of_bucket(to, TRANSACTION, &bytes).is_some(), bytes.len() >= 17);
        let folder = GiftAnswer::of_bucket(id(5), true, &bytes).folder;
        prop_assert!(folder.is_none() || bytes.len() == 16);
    }
}
