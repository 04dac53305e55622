//! LLUDP messages that the hub writes, and their way to a user. Events of the event queue are in `events.rs`.

use glam::Vec3;
use ids::{AgentId, SessionKey, Uuid};
use std::sync::Arc;
use wire::messages::{
    AlertMessage, AlertMessageAlertData, ImprovedInstantMessage, ImprovedInstantMessageAgentData,
    ImprovedInstantMessageMessageBlock, TeleportProgress, TeleportProgressAgentData, TeleportProgressInfo,
    TeleportStart, TeleportStartInfo,
};
use wire::text;

/// A message to a user.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    /// Number and body.
    pub(crate) message: Arc<[u8]>,
    /// An author that waits for a reaction and gets a notice if the message is not delivered.
    pub(crate) receipt: Option<Receipt>,
}

/// The author of a message, and the message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Receipt {
    pub(crate) sender: SessionKey,
    /// Account of the receiver.
    pub(crate) to: AgentId,
    /// Id of the conversation; null for the id that clients derive from both users.
    pub(crate) id: Uuid,
    /// Noun for the message.
    pub(crate) what: &'static str,
}

/// A text in a box on every user's screen.
pub(super) fn alert_message(message: &str) -> Arc<[u8]> {
    encoded(|out| {
        AlertMessage {
            alert_data: AlertMessageAlertData { message: text::to_wire(message, 255) },
            ..AlertMessage::default()
        }
        .encode(out);
    })
}

/// A message (number and body) in its own bytes.
pub(super) fn encoded(write: impl FnOnce(&mut Vec<u8>)) -> Arc<[u8]> {
    let mut out = Vec::new();
    write(&mut out);
    out.into()
}

/// The fields of an instant message.
pub(super) struct Outgoing<'a> {
    pub(super) from: AgentId,
    pub(super) from_name: &'a str,
    pub(super) to: AgentId,
    pub(super) dialog: u8,
    pub(super) id: Uuid,
    pub(super) position: Vec3,
    /// Text with its NUL.
    pub(super) text: &'a [u8],
    pub(super) bucket: &'a [u8],
}

/// An instant message, or an invitation.
pub(super) fn instant_message(message: &Outgoing<'_>) -> Arc<[u8]> {
    encoded(|out| {
        ImprovedInstantMessage {
            agent_data: ImprovedInstantMessageAgentData { agent_id: message.from.0, session_id: Uuid::nil() },
            message_block: ImprovedInstantMessageMessageBlock {
                to_agent_id: message.to.0,
                dialog: message.dialog,
                id: message.id,
                position: message.position,
                from_agent_name: text::to_wire(message.from_name, 255),
                message: message.text.to_vec(),
                binary_bucket: message.bucket.to_vec(),
                ..ImprovedInstantMessageMessageBlock::default()
            },
            ..ImprovedInstantMessage::default()
        }
        .encode(out);
    })
}

/// The begin of a teleport.
pub(super) fn start_message(teleport_flags: u32) -> Arc<[u8]> {
    encoded(|out| TeleportStart { info: TeleportStartInfo { teleport_flags } }.encode(out))
}

/// The approaching end of a teleport.
pub(super) fn progress_message(agent: AgentId, teleport_flags: u32) -> Arc<[u8]> {
    encoded(|out| {
        TeleportProgress {
            agent_data: TeleportProgressAgentData { agent_id: agent.0 },
            info: TeleportProgressInfo { teleport_flags, message: text::to_wire("arriving", 255) },
        }
        .encode(out);
    })
}
