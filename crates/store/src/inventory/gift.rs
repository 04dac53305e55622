//! Gifts: items and folders that go from one inventory into another, in one transaction with the offer that announces them.
//!
//! The caller has read the giver's items, and decides by them which leave, and what the receiver gets. The gift is made of these very rows: one that is another by
//! then refuses the gift, and the caller reads again. Either all of a gift has its effect, or nothing.

use super::changes::{InventoryChange, InventoryLimits, InventoryRefusal};
use super::edit::InventoryEdit;
use super::offers::{self, Offer, OfferKind};
use super::{Item, find_item, has_folder, has_item};
use crate::engine::{EngineError, Session};
use crate::{Store, StoreError};
use ids::AgentId;
use uuid::Uuid;

/// A gift.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InventoryGift {
    /// Giver, receiver and the thing, which is one of those that are made. The receiver is not the giver.
    pub offer: Offer,
    /// Items of the giver that it is made of.
    pub items: Vec<GivenItem>,
    /// Changes of the receiver's inventory, in order.
    pub made: Vec<InventoryChange>,
    /// Bounds of both inventories.
    pub limits: InventoryLimits,
}

/// An item of the giver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenItem {
    /// As it was read.
    pub item: Item,
    /// It goes to the receiver; otherwise that one gets a copy.
    pub leaves: bool,
}

/// Outcome of a gift. All but the first leave everything as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GiftOutcome {
    /// It is in the receiver's inventory.
    Given,
    /// An earlier gift had the same id: its client has repeated its request.
    Repeated,
    /// This item of the giver is another than it was read, or gone.
    Changed(Uuid),
    /// There is no such giver or receiver.
    UnknownAccount(AgentId),
    /// As many offers wait for the receiver as may.
    TooManyOffers,
    /// The giver's inventory does not let an item go.
    OfGiver(InventoryRefusal),
    /// The receiver's inventory does not take it.
    OfReceiver(InventoryRefusal),
}

impl Store {
    /// Makes a gift, which is on the disk when this returns.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then it has no effect, unless the outcome is unknown.
    ///
    /// # Panics
    /// If the receiver is the giver.
    pub fn give(&self, gift: &InventoryGift) -> Result<GiftOutcome, StoreError> {
        let Offer { giver, receiver, .. } = gift.offer;
        assert_ne!(giver, receiver, "a gift has two sides");
        let mut refused = None;
        let given = self.write(|session| {
            refused = apply(session, gift)?.err();
            match refused {
                None => Ok(()),
                // Its first changes may have been made: the transaction is rolled back.
                Some(_) => Err(EngineError::unfit("a gift was refused")),
            }
        });
        match refused {
            Some(outcome) => Ok(outcome),
            None => given
                .map(|()| GiftOutcome::Given)
                .map_err(StoreError::query("giving something to", receiver.0)),
        }
    }
}

/// Makes all changes of a gift; after a refusal, perhaps some of them.
fn apply(session: &mut Session<'_>, gift: &InventoryGift) -> Result<Result<(), GiftOutcome>, EngineError> {
    let InventoryGift { offer, items, made, limits } = gift;
    let (giver, receiver) = begin(session, offer, *limits)?;
    let Some(mut giver) = giver else { return Ok(Err(GiftOutcome::UnknownAccount(offer.giver))) };
    let Some(mut receiver) = receiver else {
        return Ok(Err(GiftOutcome::UnknownAccount(offer.receiver)));
    };
    if is_repeated(session, offer)? {
        return Ok(Err(GiftOutcome::Repeated));
    }
    for GivenItem { item, .. } in items {
        if find_item(session, offer.giver, item.id)?.as_ref() != Some(item) {
            return Ok(Err(GiftOutcome::Changed(item.id)));
        }
    }
    for GivenItem { item, .. } in items.iter().filter(|given| given.leaves) {
        let removal = InventoryChange::RemoveItem { item: item.id };
        if let Err(refusal) = giver.apply(session, &removal)? {
            return Ok(Err(GiftOutcome::OfGiver(refusal)));
        }
    }
    for change in made {
        if let Err(refusal) = receiver.apply(session, change)? {
            return Ok(Err(GiftOutcome::OfReceiver(refusal)));
        }
    }
    Ok(if offers::add(session, offer)? { Ok(()) } else { Err(GiftOutcome::TooManyOffers) })
}

/// Both inventories, of the account with the lower id first.
fn begin(
    session: &mut Session<'_>,
    offer: &Offer,
    limits: InventoryLimits,
) -> Result<(Option<InventoryEdit>, Option<InventoryEdit>), EngineError> {
    let Offer { giver, receiver, .. } = *offer;
    if giver < receiver {
        let giver = InventoryEdit::begin(session, giver, limits)?;
        Ok((giver, InventoryEdit::begin(session, receiver, limits)?))
    } else {
        let receiver = InventoryEdit::begin(session, receiver, limits)?;
        Ok((InventoryEdit::begin(session, giver, limits)?, receiver))
    }
}

/// True if the receiver has the thing already. An offer may be forgotten before its thing is removed, and the other way round.
fn is_repeated(session: &mut Session<'_>, offer: &Offer) -> Result<bool, EngineError> {
    let is_there = match offer.kind {
        OfferKind::Folder => has_folder(session, offer.receiver, offer.id)?,
        OfferKind::Item | OfferKind::CallingCard => has_item(session, offer.receiver, offer.id)?,
    };
    Ok(is_there || offers::is_known(session, offer.receiver, offer.id)?)
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
