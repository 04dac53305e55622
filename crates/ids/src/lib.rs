//! Newtypes shared by every crate: who, where and when, never a bare integer.
//!
//! Nothing here does work. Start with [`RegionHandle`] for places and [`Instant`] for time.

mod time;

pub use time::Instant;
pub use uuid::Uuid;

use serde::{Deserialize, Serialize};
use std::fmt;

/// A user's account and avatar: permanent, known to every client. `FullID` of the avatar's object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AgentId(pub Uuid);

/// The public id of one login, repeated by the client in most messages. A secret between client and grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionId(pub Uuid);

/// A login as the node counts them: 1, 2, 3 … in order of login. Commands of a tick are ordered by it, so that a
/// run does not depend on random ids. [`SessionKey::NODE`] stands for the node itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionKey(pub u64);

impl SessionKey {
    /// The node itself as the author of a command (a resync, an announcement).
    pub const NODE: Self = Self(0);
}

/// The 32-bit number that a client sends in UseCircuitCode; one per login, the same for every region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CircuitCode(pub u32);

/// An entity's number inside messages, unique on the node so that two worlds never share one on a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LocalId(pub u32);

/// High half of the ids of textures that people without clients wear. The low half is a number, and means the same to who dresses them
/// and to who serves it.
pub const COLOUR_TEXTURES: u64 = 0x7468_726f_6e67_4004;

/// High half of the ids of the ground's textures. The low halves are 0 to 3, from the water upwards.
pub const GROUND_TEXTURES: u64 = 0x7468_726f_6e67_4005;

/// The texture of a plain box. Viewers know the id as that of plywood.
pub const PLYWOOD_TEXTURE: Uuid = Uuid::from_u128(0x8955_6747_24cb_43ed_920b_47ca_ed15_465f);

/// A world on this node, in order of creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorldId(pub u32);

/// Counts a world's lives: a restart begins a new epoch, and replicas start again from a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Epoch(pub u32);

/// A world's step number since its first epoch began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tick(pub u64);

/// Position of a place: global metres of its south-west corner, x in the high and y in the low 32 bits. Viewers find regions by it, so
/// two places never share one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RegionHandle(pub u64);

impl RegionHandle {
    /// Metres per grid square.
    pub const GRID_M: u32 = 256;

    /// The handle of the place whose corner lies at these grid squares; both below 65,536.
    #[must_use]
    pub const fn from_grid(x: u32, y: u32) -> Self {
        Self((((x * Self::GRID_M) as u64) << 32) | (y * Self::GRID_M) as u64)
    }

    /// Global x of the corner, in metres.
    #[must_use]
    pub const fn x_m(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Global y of the corner, in metres.
    #[must_use]
    pub const fn y_m(self) -> u32 {
        (self.0 & 0xFFFF_FFFF) as u32
    }

    /// Corner in grid squares.
    #[must_use]
    pub const fn grid(self) -> (u32, u32) {
        (self.x_m() / Self::GRID_M, self.y_m() / Self::GRID_M)
    }
}

impl fmt::Debug for RegionHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (x, y) = self.grid();
        write!(f, "RegionHandle({x},{y})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handle_splits_into_metres_and_squares() {
        let handle = RegionHandle::from_grid(1000, 1001);
        assert_eq!(handle.0, 256_000 << 32 | 256_256);
        assert_eq!((handle.x_m(), handle.y_m()), (256_000, 256_256));
        assert_eq!(handle.grid(), (1000, 1001));
    }
}
