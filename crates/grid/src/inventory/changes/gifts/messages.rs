//! Messages about offers, to givers and receivers.

use super::Thing;
use ids::AgentId;
use store::{Offer, OfferKind};
use uuid::Uuid;
use wire::messages::*;
use wire::text::{CHAT_MAX, VARIABLE1_MAX, to_wire};

/// Dialogs of an instant message.
const OFFERED: u8 = 4;
const ACCEPTED: u8 = 5;
const DECLINED: u8 = 6;
/// Ids in one RemoveInventoryItem: 16 bytes each.
const IDS_PER_MESSAGE: usize = 60;

/// Shows a receiver an offer. A late one states the time of the gift.
pub(super) fn offered(offer: &Offer, from_name: &str, thing: &Thing, is_late: bool) -> Message {
    if offer.kind == OfferKind::CallingCard {
        return OfferCallingCard {
            agent_data: OfferCallingCardAgentData { agent_id: offer.giver.0, session_id: Uuid::nil() },
            agent_block: OfferCallingCardAgentBlock { dest_id: offer.receiver.0, transaction_id: offer.id },
        }
        .into();
    }
    let (kind, name) = match thing {
        Thing::Item(item) => (item.asset_type.cast_unsigned(), &item.name),
        Thing::Folder(folder) => (super::ENTRY_FOLDER, &folder.name),
    };
    let mut binary_bucket = vec![kind];
    binary_bucket.extend_from_slice(offer.id.as_bytes());
    let made_s = u32::try_from(offer.made_s).unwrap_or(0);
    let message_block = ImprovedInstantMessageMessageBlock {
        dialog: OFFERED,
        // The answer names it again.
        id: offer.id,
        offline: is_late.into(),
        timestamp: if is_late { made_s } else { 0 },
        message: to_wire(name, CHAT_MAX),
        binary_bucket,
        ..addressed(offer.receiver, from_name)
    };
    instant_message(offer.giver, message_block)
}

/// Shows a giver the answer to an offer.
pub(super) fn answered(offer: &Offer, from_name: &str, accepts: bool) -> Message {
    let transaction_id = offer.transaction;
    match (offer.kind, accepts) {
        (OfferKind::CallingCard, true) => AcceptCallingCard {
            agent_data: AcceptCallingCardAgentData { agent_id: offer.receiver.0, session_id: Uuid::nil() },
            transaction_block: AcceptCallingCardTransactionBlock { transaction_id },
            folder_data: Vec::new(),
        }
        .into(),
        (OfferKind::CallingCard, false) => DeclineCallingCard {
            agent_data: DeclineCallingCardAgentData { agent_id: offer.receiver.0, session_id: Uuid::nil() },
            transaction_block: DeclineCallingCardTransactionBlock { transaction_id },
        }
        .into(),
        (OfferKind::Item | OfferKind::Folder, _) => {
            let message_block = ImprovedInstantMessageMessageBlock {
                dialog: if accepts { ACCEPTED } else { DECLINED },
                id: transaction_id,
                message: to_wire("", CHAT_MAX),
                ..addressed(offer.giver, from_name)
            };
            instant_message(offer.receiver, message_block)
        }
    }
}

/// Has a client drop items that have left the user's inventory.
pub(in crate::inventory::changes) fn removed(
    agent: AgentId,
    items: &[Uuid],
) -> impl Iterator<Item = Message> {
    items.chunks(IDS_PER_MESSAGE).map(move |part| {
        let row = |&item_id: &Uuid| RemoveInventoryItemInventoryData { item_id };
        RemoveInventoryItem {
            agent_data: RemoveInventoryItemAgentData { agent_id: agent.0, session_id: Uuid::nil() },
            inventory_data: part.iter().map(row).collect(),
        }
        .into()
    })
}

fn addressed(to: AgentId, from_name: &str) -> ImprovedInstantMessageMessageBlock {
    ImprovedInstantMessageMessageBlock {
        to_agent_id: to.0,
        from_agent_name: to_wire(from_name, VARIABLE1_MAX),
        ..ImprovedInstantMessageMessageBlock::default()
    }
}

fn instant_message(from: AgentId, message_block: ImprovedInstantMessageMessageBlock) -> Message {
    let agent_data = ImprovedInstantMessageAgentData { agent_id: from.0, session_id: Uuid::nil() };
    ImprovedInstantMessage { agent_data, message_block, ..ImprovedInstantMessage::default() }.into()
}
