//! An avatar says something: the checked text becomes a [`Chat`] event, typing shows on the avatar.

use crate::{
    animations::{Reason, TYPE},
    presence::Presence,
};
use link::{CHAT_BYTES_MAX, Chat, ChatKind, Event};
use std::sync::Arc;

/// Lets an avatar say something; typing shows on it, too. Saying nothing makes no event.
pub(crate) fn chat_event(
    presence: &mut Presence,
    kind: ChatKind,
    channel: i32,
    mut text: String,
) -> Option<Event> {
    let typing = match kind {
        ChatKind::StartTyping => Some(true),
        ChatKind::StopTyping => Some(false),
        ChatKind::Whisper | ChatKind::Say | ChatKind::Shout => None,
    };
    if let Some(on) = typing {
        presence.dirty.animated |= presence.animator.set_playing(TYPE, Reason::Typing, on);
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
