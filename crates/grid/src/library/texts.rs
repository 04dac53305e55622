//! Texts in the forms that viewers read: notecards, gestures and the landmark.

use ids::{Uuid, WELCOME_REGION};

/// A notecard without items in it.
pub(super) fn notecard(text: &str) -> String {
    let length = text.len();
    format!(
        "Linden text version 2\n{{\nLLEmbeddedItems version 1\n{{\ncount 0\n}}\nText length {length}\n{text}}}\n"
    )
}

/// Movement of an avatar that every viewer knows by its id.
#[derive(Clone, Copy, Debug)]
pub(super) struct Movement {
    pub(super) name: &'static str,
    pub(super) animation: Uuid,
}

/// No key starts a gesture.
const KEY_NONE: u8 = 255;

/// A gesture that a word in the chat starts: the avatar says a line, if there is one, and moves.
pub(super) fn gesture(trigger: &str, says: Option<&str>, movement: Movement) -> String {
    let Movement { name, animation } = movement;
    let (n_steps, chat) = match says {
        // A step of chat: its kind, the text, flags.
        Some(says) => (2, format!("2\n{says}\n0\n")),
        None => (1, String::new()),
    };
    // Version, key and modifiers, trigger, an empty replacement of it, and the steps; one of an animation has its kind, name, id, and flags.
    format!("2\n{KEY_NONE}\n0\n{trigger}\n\n{n_steps}\n{chat}0\n{name}\n{animation}\n0\n")
}

/// The landmark of the region in which newcomers arrive. Each grid has another one, and the text is the same on all: servers read [`WELCOME_REGION`] as that region,
/// and its landing point as the place. Viewers show the middle of the region.
pub(super) fn welcome_landmark() -> String {
    format!("Landmark version 2\nregion_id {WELCOME_REGION}\nlocal_pos 128 128 25\n")
}
