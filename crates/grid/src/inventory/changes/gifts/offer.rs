//! The gift of an item or a folder.
//!
//! An item that its owner may copy stays, and the receiver gets a copy; another one moves.

use super::super::replies::{self, ReplyRows};
use super::super::{ChangeInventoryError, InventoryReplies, permissions};
use super::ready_gift::{ReadyGift, check, received};
use super::{
    GiftOffer, GiftRefusal, InventoryNotice, Thing, account_name, folder, folder_for, gift_id, messages,
};
use crate::random_id;
use ids::AgentId;
use store::{
    GiftOutcome, GivenItem, InventoryChange, InventoryGift, InventoryRefusal, Offer, OfferKind, Store,
    StoreError,
};
use uuid::Uuid;

/// Times that a gift is made ready: an item may be changed by an upload meanwhile.
const ATTEMPTS_MAX: usize = 3;

/// Makes a gift.
pub(super) fn give(
    store: &Store,
    giver: AgentId,
    wanted: &GiftOffer,
    unix_s: i64,
) -> Result<InventoryReplies, ChangeInventoryError> {
    let transaction = if wanted.transaction.is_nil() { random_id()? } else { wanted.transaction };
    let offer = Offer {
        receiver: wanted.to,
        id: gift_id(giver, wanted.to, transaction),
        giver,
        transaction,
        kind: if wanted.is_folder { OfferKind::Folder } else { OfferKind::Item },
        made_s: unix_s,
    };
    for _ in 0..ATTEMPTS_MAX {
        let ready = if wanted.is_folder {
            folder::ready(store, offer, wanted)?
        } else {
            ready(store, offer, wanted.id)?
        };
        let ready = match ready {
            Ok(ready) => ready,
            // An item that has left with the gift is not found any more.
            Err(_) if store.offer(offer.receiver, offer.id)?.is_some() => {
                return Ok(InventoryReplies::default());
            }
            Err(refusal) => return Ok(refused(store, giver, wanted, &refusal)?),
        };
        match make(store, ready)? {
            Ok(replies) => return Ok(replies),
            Err(GiftRefusal::Changed) => {}
            Err(refusal) => return Ok(refused(store, giver, wanted, &refusal)?),
        }
    }
    Ok(refused(store, giver, wanted, &GiftRefusal::Changed)?)
}

/// Makes a gift that is ready: replies for the giver, and a notice for the receiver.
pub(super) fn make(
    store: &Store,
    ready: ReadyGift,
) -> Result<Result<InventoryReplies, GiftRefusal>, StoreError> {
    let ReadyGift { gift, thing, rows, n_left_out } = ready;
    let Offer { giver, receiver, id, .. } = gift.offer;
    let Some(from_name) = account_name(store, giver)? else {
        return Err(StoreError::UnknownAccount(giver));
    };
    match store.give(&gift)? {
        GiftOutcome::Given => {}
        GiftOutcome::Repeated => return Ok(Ok(InventoryReplies::default())),
        GiftOutcome::Changed(_) => return Ok(Err(GiftRefusal::Changed)),
        GiftOutcome::UnknownAccount(agent) if agent == giver => {
            return Err(StoreError::UnknownAccount(giver));
        }
        GiftOutcome::UnknownAccount(_) => return Ok(Err(GiftRefusal::UnknownReceiver)),
        GiftOutcome::TooManyOffers => return Ok(Err(GiftRefusal::TooManyOffers)),
        GiftOutcome::OfGiver(refusal) => return Ok(Err(GiftRefusal::OfGiver(refusal))),
        GiftOutcome::OfReceiver(refusal) => return Ok(Err(GiftRefusal::OfReceiver(refusal))),
    }
    let left: Vec<Uuid> = gift.items.iter().filter(|given| given.leaves).map(|given| given.item.id).collect();
    let mut shown = rows.into_messages(receiver, Uuid::nil());
    shown.push(messages::offered(&gift.offer, &from_name, &thing, false));
    Ok(Ok(InventoryReplies {
        messages: messages::removed(giver, &left).collect(),
        refusal: (n_left_out > 0).then(|| {
            format!("Links and items that you are not allowed to give away stay with you: {n_left_out}.")
        }),
        notices: vec![InventoryNotice { to: receiver, messages: shown, offer: Some(id) }],
        ..InventoryReplies::default()
    }))
}

/// The gift of an item.
fn ready(store: &Store, offer: Offer, id: Uuid) -> Result<Result<ReadyGift, GiftRefusal>, StoreError> {
    if offer.giver == offer.receiver {
        return Ok(Err(GiftRefusal::Oneself));
    }
    let Some(item) = store.item(offer.giver, id)? else { return Ok(Err(GiftRefusal::UnknownThing)) };
    if let Err(refusal) = check(&item) {
        return Ok(Err(refusal));
    }
    let Some(folder) = folder_for(store, offer.receiver, item.asset_type)? else {
        return Ok(Err(GiftRefusal::UnknownReceiver));
    };
    let received = received(&item, &offer, offer.id, folder);
    let mut rows = ReplyRows::default();
    rows.push(replies::item(offer.receiver, &received, 0));
    let leaves = !permissions::may_copy(&item.permissions);
    Ok(Ok(ReadyGift {
        gift: InventoryGift {
            offer,
            items: vec![GivenItem { item, leaves }],
            made: vec![InventoryChange::CreateItem(received.clone())],
            limits: store.inventory_limits(),
        },
        thing: Thing::Item(received),
        rows,
        n_left_out: 0,
    }))
}

/// Replies to the giver of a refused gift. Viewers drop an item that may not be copied when they give it, or a link to one: it is shown again. A link has no rights of its
/// own, so that every one is shown.
fn refused(
    store: &Store,
    giver: AgentId,
    wanted: &GiftOffer,
    refusal: &GiftRefusal,
) -> Result<InventoryReplies, StoreError> {
    let mut rows = ReplyRows::default();
    for id in wanted.listed.iter().chain([&wanted.id]) {
        if let Some(item) = store.item(giver, *id)?.filter(|item| !permissions::may_copy(&item.permissions)) {
            rows.push(replies::item(giver, &item, 0));
        }
    }
    let worn = match refusal {
        GiftRefusal::OfGiver(InventoryRefusal::Worn(item)) => vec![*item],
        _ => Vec::new(),
    };
    Ok(InventoryReplies {
        messages: rows.into_messages(giver, Uuid::nil()),
        refusal: Some(refusal.alert_text()),
        worn,
        ..InventoryReplies::default()
    })
}
