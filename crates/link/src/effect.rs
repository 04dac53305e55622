//! Effects that clients show each other: gazes, pointing, beams, sounds. Worlds pass them on to their neighbours and keep nothing of them.

use glam::Vec3;
use ids::{AgentId, SessionKey, Uuid};
use serde::{Deserialize, Serialize};

/// One effect of a viewer, opaque to the world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShownEffect {
    /// Its number, by which a viewer changes it.
    pub id: Uuid,
    /// Code of its kind.
    pub kind: u8,
    /// Seconds.
    pub duration_s: f32,
    /// Red, green, blue, alpha.
    pub color: [u8; 4],
    /// Source and target, at most [`Effect::DATA_MAX`] bytes.
    pub data: Vec<u8>,
}

/// Effects of one message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Effect {
    /// Gazes, pointing, beams; at most [`Effect::SHOWN_MAX`].
    Shown(Vec<ShownEffect>),
    /// A sound at the avatar.
    Sound {
        /// Asset.
        id: Uuid,
        /// Loudness, 0 to 1.
        gain: f32,
    },
}

impl Effect {
    /// Effects in one command; further ones of a message are cut off.
    pub const SHOWN_MAX: usize = 8;
    /// Bytes of one effect's data.
    pub const DATA_MAX: usize = 255;
}

/// An effect that others may show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EffectEvent {
    /// Session that sent it; its own client shows it already.
    pub session: SessionKey,
    /// Its account.
    pub agent: AgentId,
    /// Place of its avatar, metres from the region's corner.
    pub position: Vec3,
    /// Metres to the farthest avatar that is sent it.
    pub radius_m: f32,
    /// The effect.
    pub effect: Effect,
}
