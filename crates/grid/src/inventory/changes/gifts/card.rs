//! Calling cards: an item that leads to the profile of its maker. The giver has none itself: it is made in the receiver's inventory.

use super::super::replies::{self, ReplyRows};
use super::super::{ChangeInventoryError, InventoryReplies};
use super::offer::make;
use super::ready_gift::ReadyGift;
use super::{GiftRefusal, Thing, account_name, folder_for, gift_id};
use crate::inventory::{AssetType, InventoryType};
use crate::random_id;
use ids::AgentId;
use prim::Mask;
use store::{InventoryChange, InventoryGift, Item, Offer, OfferKind, Permissions, Sale, Store, StoreError};
use uuid::Uuid;

/// Gives a card.
pub(super) fn give(
    store: &Store,
    giver: AgentId,
    receiver: AgentId,
    transaction: Uuid,
    unix_s: i64,
) -> Result<InventoryReplies, ChangeInventoryError> {
    let transaction = if transaction.is_nil() { random_id()? } else { transaction };
    let offer = Offer {
        receiver,
        id: gift_id(giver, receiver, transaction),
        giver,
        transaction,
        kind: OfferKind::CallingCard,
        made_s: unix_s,
    };
    let made = match ready(store, offer)? {
        Ok(ready) => make(store, ready)?,
        Err(refusal) => Err(refusal),
    };
    Ok(made.unwrap_or_else(|refusal| InventoryReplies {
        refusal: Some(refusal.alert_text()),
        ..InventoryReplies::default()
    }))
}

fn ready(store: &Store, offer: Offer) -> Result<Result<ReadyGift, GiftRefusal>, StoreError> {
    let Offer { giver, receiver, .. } = offer;
    if giver == receiver {
        return Ok(Err(GiftRefusal::Oneself));
    }
    let Some(name) = account_name(store, giver)? else { return Err(StoreError::UnknownAccount(giver)) };
    let Some(folder) = folder_for(store, receiver, AssetType::CALLING_CARD)? else {
        return Ok(Err(GiftRefusal::UnknownReceiver));
    };
    let card = card(&offer, name, folder);
    let mut rows = ReplyRows::default();
    rows.push(replies::item(receiver, &card, 0));
    Ok(Ok(ReadyGift {
        gift: InventoryGift {
            offer,
            items: Vec::new(),
            made: vec![InventoryChange::CreateItem(card.clone())],
            limits: store.inventory_limits(),
        },
        thing: Thing::Item(card),
        rows,
        n_left_out: 0,
    }))
}

/// The card. Viewers take its creator for the user that it leads to; it can be copied, and not be given away.
fn card(offer: &Offer, name: String, folder: Uuid) -> Item {
    let rights = (Mask::MOVE | Mask::MODIFY | Mask::COPY).bits();
    Item {
        id: offer.id,
        folder,
        asset: Uuid::nil(),
        asset_type: AssetType::CALLING_CARD,
        inventory_type: InventoryType::CALLING_CARD,
        name,
        description: String::new(),
        flags: 0,
        created_s: offer.made_s,
        permissions: Permissions {
            creator: offer.giver.0,
            last_owner: offer.giver.0,
            group: Uuid::nil(),
            group_owned: false,
            base: rights,
            owner: rights,
            group_mask: 0,
            everyone: 0,
            next_owner: rights,
        },
        sale: Sale::default(),
    }
}
