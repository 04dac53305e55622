//! The effect of a change of inventories that an earlier save has carried out, reported again (`held_items::earlier` has the reasons).

use super::HeldChange;
use crate::engine::{EngineError, Session};
use crate::held_items::{ItemEffect, gone, inserted, there, undone};
use ids::Ticket;

/// The effect of a transfer up to the stored ticket; `None` if it has none, or if an item is there that should have gone: it has come back since.
pub(super) fn earlier_effect(
    session: &mut Session<'_>,
    ticket: Ticket,
    change: &HeldChange,
) -> Result<Option<ItemEffect>, EngineError> {
    match change {
        HeldChange::InsertItem(transfer) => inserted(session, ticket, transfer),
        HeldChange::RemoveItem { owner, item, .. }
        | HeldChange::PutDown { owner, item }
        | HeldChange::UndoPutOn { owner, item } => gone(session, ticket, *owner, *item),
        HeldChange::UndoItem(origin) => undone(session, ticket, origin),
        HeldChange::ReturnItem { owner, item } => there(session, ticket, *owner, item.id),
        HeldChange::PutOn(arrival) => there(session, ticket, arrival.origin.owner, arrival.item.id),
        HeldChange::Worn(save) if save.asset.is_some() => {
            there(session, ticket, save.row.owner, save.row.item)
        }
        HeldChange::WearAgain(row, Some(_)) => there(session, ticket, row.owner, row.item),
        HeldChange::Insert(_)
        | HeldChange::Remove(_)
        | HeldChange::Release(_)
        | HeldChange::Undo { .. }
        | HeldChange::Worn(_)
        | HeldChange::WearAgain(_, None) => Ok(None),
    }
}
