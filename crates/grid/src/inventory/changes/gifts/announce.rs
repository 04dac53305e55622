//! Waiting offers of a user: shown at the arrival of its avatar.

use super::super::InventoryReplies;
use super::{InventoryNotice, Thing, account_name, messages};
use ids::AgentId;
use store::{Offer, OfferKind, Store, StoreError};

/// Name of a giver whose account is gone.
const NO_NAME: &str = "Unknown User";

/// The waiting offers, each as a notice to the user itself.
pub(super) fn announce(store: &Store, receiver: AgentId) -> Result<InventoryReplies, StoreError> {
    let (mut notices, mut lost) = (Vec::new(), Vec::new());
    for offer in store.waiting_offers(receiver)? {
        let Some(thing) = thing(store, &offer)? else {
            lost.push(offer.id);
            continue;
        };
        let from_name = account_name(store, offer.giver)?;
        let from_name = from_name.as_deref().unwrap_or(NO_NAME);
        let shown = vec![messages::offered(&offer, from_name, &thing, true)];
        notices.push(InventoryNotice { to: receiver, messages: shown, offer: Some(offer.id) });
    }
    if !lost.is_empty() {
        store.open_offers(receiver, &lost)?;
    }
    Ok(InventoryReplies { notices, ..InventoryReplies::default() })
}

/// Item or folder of an offer; none if its receiver has removed it.
fn thing(store: &Store, offer: &Offer) -> Result<Option<Thing>, StoreError> {
    Ok(match offer.kind {
        OfferKind::Folder => store.folder(offer.receiver, offer.id)?.map(Thing::Folder),
        OfferKind::Item | OfferKind::CallingCard => store.item(offer.receiver, offer.id)?.map(Thing::Item),
    })
}
