//! Chat: a sound with a place and a reach. Who hears it is the gateways' business.

use crate::{
    animations::{Reason, TYPE},
    command::ChatKind,
    frame::{Chat, Event},
    presence::Presence,
};
use std::sync::Arc;

/// Longest text in bytes: with its terminator it fills the protocol's 1,024.
pub const CHAT_BYTES_MAX: usize = 1_023;

impl ChatKind {
    /// How far it is heard, metres (PROTOCOL §8a).
    #[must_use]
    pub const fn radius_m(self) -> f32 {
        match self {
            Self::Whisper => 10.0,
            Self::Say | Self::StartTyping | Self::StopTyping => 20.0,
            Self::Shout => 100.0,
        }
    }
}

/// Lets an avatar say something; typing shows on it, too. Saying nothing makes no event.
pub(crate) fn say(presence: &mut Presence, kind: ChatKind, channel: i32, mut text: String) -> Option<Event> {
    let typing = match kind {
        ChatKind::StartTyping => Some(true),
        ChatKind::StopTyping => Some(false),
        ChatKind::Whisper | ChatKind::Say | ChatKind::Shout => None,
    };
    if let Some(on) = typing {
        presence.news.animated |= presence.animator.show(TYPE, Reason::Typing, on);
    } else if text.is_empty() {
        return None;
    }
    text.truncate(text.floor_char_boundary(CHAT_BYTES_MAX));
    Some(Event::Chat(Arc::new(Chat {
        source: presence.identity.agent.0,
        session: presence.identity.session,
        name: format!("{} {}", presence.identity.first_name, presence.identity.last_name),
        position: presence.motion.position,
        radius_m: kind.radius_m(),
        kind,
        channel,
        text,
    })))
}
