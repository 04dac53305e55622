//! The receiver's answer to an offer: the thing moves to the folder that the client names, or into the trash, and the giver's client is shown it.
//!
//! The id in an answer is an offer to this very user, or the answer has no effect: no client moves items of another user, or has the server report an acceptance by one.

use super::super::replies::{self, Answer, ReplyRows};
use super::super::{ChangeRefusal, InventoryReplies, refusal};
use super::{GiftAnswer, InventoryNotice, account_name, messages};
use crate::inventory::FolderType;
use ids::AgentId;
use store::{OfferAnswered, OfferKind, Store, StoreError};
use uuid::Uuid;

/// Text of the alert on an answer to nothing.
const NOT_OPEN: &str = "That offer is no longer open.";

/// Carries out an answer.
pub(super) fn answer(
    store: &Store,
    receiver: AgentId,
    given: &GiftAnswer,
) -> Result<InventoryReplies, StoreError> {
    let folder = match given.accepts {
        true => given.folder,
        false => store.folder_of_type(receiver, FolderType::TRASH)?.map(|trash| trash.id),
    };
    let answered = store.answer_offer(receiver, given.offer, folder, &store.inventory_limits())?;
    let (offer, moved) = match answered {
        OfferAnswered::Now { offer, moved } => (offer, moved),
        // Its client has repeated it.
        OfferAnswered::Before(_) => return Ok(InventoryReplies::default()),
        OfferAnswered::Unknown => {
            return Ok(InventoryReplies {
                refusal: Some(NOT_OPEN.to_owned()),
                ..InventoryReplies::default()
            });
        }
    };
    let mut rows = ReplyRows::default();
    let stored = match offer.kind {
        OfferKind::Folder => Answer::StoredFolder(offer.id),
        OfferKind::Item | OfferKind::CallingCard => Answer::StoredItem(offer.id),
    };
    rows.push(replies::as_stored(store, receiver, stored)?);
    let refusals: Vec<ChangeRefusal> = moved.err().map(Into::into).into_iter().collect();
    let from_name = account_name(store, receiver)?.unwrap_or_default();
    Ok(InventoryReplies {
        messages: rows.into_messages(receiver, Uuid::nil()),
        refusal: refusal::alert_text(&refusals),
        notices: vec![InventoryNotice {
            to: offer.giver,
            messages: vec![messages::answered(&offer, &from_name, given.accepts)],
            offer: None,
        }],
        ..InventoryReplies::default()
    })
}
