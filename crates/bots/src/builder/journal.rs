//! Edits of building bots as a record of requests and of the updates that showed their effects, for comparison with other clients' screens and with a
//! database behind a crash.

use crate::prims::SeenPrim;
use crate::record_file::FileKind;
use glam::Vec3;
use ids::{Instant, LocalId};
use serde::{Deserialize, Serialize};

/// Files of [`EditRecord`].
pub const EDITS_FILE: FileKind = FileKind { magic: *b"THRE", version: 1 };

/// Metres by which positions and sizes may differ from those that were asked for.
const TOLERANCE_M: f32 = 0.001;

/// The visible state of a prim, as far as bots change it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrimState {
    /// In the region, or relative to the root, metres. Builders turn nothing.
    pub position: Vec3,
    /// Metres.
    pub scale: Vec3,
    /// Root of its linkset, or `LocalId(0)`.
    pub parent: LocalId,
    /// Hash of its textures ([`crate::prims::textures_of`]).
    pub textures: u64,
}

impl PrimState {
    /// The state that a viewer displays.
    #[must_use]
    pub const fn of(seen: &SeenPrim) -> Self {
        Self { position: seen.position, scale: seen.scale, parent: seen.parent, textures: seen.textures }
    }

    /// True if a client could not tell the two apart.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        (self.parent, self.textures) == (other.parent, other.textures)
            && self.position.abs_diff_eq(other.position, TOLERANCE_M)
            && self.scale.abs_diff_eq(other.scale, TOLERANCE_M)
    }
}

/// The visible effect of an edit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum EditEffect {
    /// A new prim stands alone here. Its local id follows with [`BuildEvent::Seen`].
    Made {
        /// Centre, metres from the region's corner.
        position: Vec3,
        /// Metres.
        scale: Vec3,
    },
    /// A prim has this state.
    Changed(LocalId, PrimState),
    /// A prim is gone.
    Gone(LocalId),
}

impl EditEffect {
    /// True if a prim in this state shows the effect; `None` is a prim that is not there. The id is the caller's concern.
    #[must_use]
    pub fn is_shown_by(&self, state: Option<&PrimState>) -> bool {
        match (self, state) {
            (Self::Made { position, scale }, Some(state)) => {
                let (position, scale) = (*position, *scale);
                let made = PrimState { position, scale, parent: LocalId(0), textures: state.textures };
                made.is_like(state)
            }
            (Self::Changed(_, wanted), Some(state)) => wanted.is_like(state),
            (Self::Gone(_), state) => state.is_none(),
            (Self::Made { .. } | Self::Changed(..), None) => false,
        }
    }
}

/// An event in the life of an edit. Names are in no update, and edits of them in no event.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum BuildEvent {
    /// A bot asked for it.
    Sent {
        /// Number among the edits of the bot.
        number: u64,
        /// Its effect.
        effect: EditEffect,
    },
    /// The bot's own screen shows it: the server has carried it out.
    Seen {
        /// Number among the edits of the bot.
        number: u64,
        /// The prim.
        id: LocalId,
    },
}

/// A record of a file of edits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EditRecord {
    /// Time, on the bots' clock.
    pub at: Instant,
    /// Number of the bot.
    pub builder: u32,
    /// Event.
    pub event: BuildEvent,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_is_shown_by_its_state_alone() {
        let state = PrimState {
            position: Vec3::new(1.0, 2.0, 3.0),
            scale: Vec3::ONE,
            parent: LocalId(0),
            textures: 7,
        };
        let (near, far) = (
            PrimState { position: state.position + Vec3::X * 1e-4, ..state },
            PrimState { position: state.position + Vec3::X, ..state },
        );
        let made = EditEffect::Made { position: state.position, scale: state.scale };
        let changed = EditEffect::Changed(LocalId(1), state);
        for effect in [made, changed] {
            assert!(effect.is_shown_by(Some(&near)));
            assert!(!effect.is_shown_by(Some(&far)) && !effect.is_shown_by(None));
        }
        assert!(made.is_shown_by(Some(&PrimState { textures: 8, ..state })), "a new prim has any textures");
        assert!(!changed.is_shown_by(Some(&PrimState { textures: 8, ..state })));
        assert!(!made.is_shown_by(Some(&PrimState { parent: LocalId(9), ..state })));
        let gone = EditEffect::Gone(LocalId(1));
        assert!(gone.is_shown_by(None) && !gone.is_shown_by(Some(&state)));
    }
}
