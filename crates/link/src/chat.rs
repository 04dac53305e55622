//! Chat: a sound with a place and a reach. The gateways find out which avatars hear it.

use glam::Vec3;
use ids::{SessionKey, Uuid};
use serde::{Deserialize, Serialize};

/// Longest text in bytes: with its terminator it fills the protocol's 1,024.
pub const CHAT_BYTES_MAX: usize = 1_023;

/// Range or kind of a chat message; the numbers are the protocol's of ChatFromViewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum ChatKind {
    /// 10 m.
    Whisper = 0,
    /// 20 m.
    Say = 1,
    /// 100 m.
    Shout = 2,
    /// The typing animation begins; heard as far as a say.
    StartTyping = 4,
    /// The typing animation ends.
    StopTyping = 5,
}

impl ChatKind {
    /// Distance at which it is still heard, metres.
    #[must_use]
    pub const fn radius_m(self) -> f32 {
        match self {
            Self::Whisper => 10.0,
            Self::Say | Self::StartTyping | Self::StopTyping => 20.0,
            Self::Shout => 100.0,
        }
    }
}

/// A chat message with the place where it sounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chat {
    /// Speaker's account or object.
    pub source: Uuid,
    /// Speaker's login.
    pub session: SessionKey,
    /// Name as shown.
    pub name: String,
    /// Source position.
    pub position: Vec3,
    /// Metres; avatars within hear it.
    pub radius_m: f32,
    /// Range or kind.
    pub kind: ChatKind,
    /// 0 is public. Others reach scripts only.
    pub channel: i32,
    /// Text, at most 1,023 bytes.
    pub text: String,
}
