//! A gift between its checks and the store, and the item that changes hands: the receiver's item has the masks of its next owner
//! ([`next_owner::for_next_owner`]).

use super::super::items::is_link;
use super::super::next_owner;
use super::super::replies::ReplyRows;
use super::{GiftRefusal, Thing};
use store::{InventoryGift, Item, Offer, Sale};
use uuid::Uuid;

/// A gift that is ready to be made.
pub(super) struct ReadyGift {
    pub(super) gift: InventoryGift,
    /// The item or folder as the receiver gets it.
    pub(super) thing: Thing,
    /// Rows of it for the receiver's client.
    pub(super) rows: ReplyRows,
    /// Content of a folder that is left out.
    pub(super) n_left_out: usize,
}

/// Tests that an item can be given at all.
pub(super) fn check(item: &Item) -> Result<(), GiftRefusal> {
    if is_link(item) {
        Err(GiftRefusal::Link)
    } else if next_owner::may_transfer(&item.permissions) {
        Ok(())
    } else {
        Err(GiftRefusal::NoTransfer)
    }
}

/// An item as its receiver has it. Its flags and its sale are the receiver's matter.
pub(super) fn received(item: &Item, offer: &Offer, id: Uuid, folder: Uuid) -> Item {
    let (permissions, flags) = next_owner::for_next_owner(item, offer.giver);
    Item { id, folder, permissions, flags, created_s: offer.made_s, sale: Sale::default(), ..item.clone() }
}
