//! State as bytes, for recordings and for worlds that move to another host.
//!
//! ```text
//! offset  bytes
//! 0       4      format, little-endian: 1
//! 4       1      n, length of the name of rapier's version
//! 5       n      that name, as `0.35.2`
//! 5 + n   …      the state in postcard: clock, queue, edits, drags, and rapier's world, whose layout is rapier's own
//! ```
//!
//! Another version of rapier reads other layouts and computes other bits. Its bytes are refused, and the caller begins anew from the motions that it has.
//! The bytes are trusted as far as their checksum, which the file around them has: rapier does not check what it reads.

use super::{Dynamics, DynamicsSettings, State};
use thiserror::Error;

/// Format of the bytes.
const FORMAT: u32 = 1;

/// Reasons to refuse bytes as a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DynamicsError {
    /// They were written by a build with another format or another version of rapier.
    #[error("the state of moving objects was written by another version of the physics engine")]
    OtherVersion,
    /// They are cut, damaged or contradict themselves.
    #[error("the state of moving objects is damaged")]
    Damaged,
}

impl Dynamics {
    /// All that decides the future, between two steps. Equal states have equal bytes.
    ///
    /// # Panics
    /// Never: all of it can be encoded.
    #[must_use]
    pub fn save(&self) -> Vec<u8> {
        let version = rapier3d::VERSION.as_bytes();
        let mut bytes = FORMAT.to_le_bytes().to_vec();
        bytes.push(version.len() as u8);
        bytes.extend_from_slice(version);
        postcard::to_extend(&self.state, bytes).expect("plain data in memory")
    }

    /// The state that [`Self::save`] made these bytes of. It continues bit by bit, in a region that is as it was.
    ///
    /// # Errors
    /// [`DynamicsError`].
    pub fn restore(settings: DynamicsSettings, bytes: &[u8]) -> Result<Self, DynamicsError> {
        let (format, rest) = bytes.split_first_chunk::<4>().ok_or(DynamicsError::Damaged)?;
        let (&length, rest) = rest.split_first().ok_or(DynamicsError::Damaged)?;
        let (version, rest) = rest.split_at_checked(length.into()).ok_or(DynamicsError::Damaged)?;
        if u32::from_le_bytes(*format) != FORMAT || version != rapier3d::VERSION.as_bytes() {
            return Err(DynamicsError::OtherVersion);
        }
        let (state, rest) = postcard::take_from_bytes::<State>(rest).map_err(|_| DynamicsError::Damaged)?;
        if !rest.is_empty() || !state.is_sound(&settings) {
            return Err(DynamicsError::Damaged);
        }
        Ok(Self { state, ..Self::new(settings) })
    }
}

impl State {
    /// False for a state that no run leads to.
    fn is_sound(&self, settings: &DynamicsSettings) -> bool {
        let Self { clock, wakes, edited, drags, held } = self;
        let max = settings.bodies_max;
        clock.is_sound()
            && wakes.is_sound()
            && wakes.len() <= max
            && drags.len() <= max
            && drags.values().all(|drag| drag.grip.is_finite() && drag.target.is_finite())
            && match held {
                Some(held) => held.bodies.len() <= max && held.is_sound(),
                None => edited.is_empty(),
            }
    }
}
