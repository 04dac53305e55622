//! Pace and packing of a client's output. All of it may change while the server runs, for experiments.

use super::stream::{TERSE_PER_DATAGRAM, terse_blocks, terse_prim_blocks};
use wire::header::DATAGRAM_MAX;

/// Rate of clients' turns, and packing of their output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    /// Packing of datagrams.
    pub packing: Packing,
    /// Turns of a client per second, at least 1.
    pub hz: u32,
    /// True if a turn's buffers serve the next turn too. Without that each turn allocates its memory; only for experiments on that
    /// cost.
    pub reuses_buffers: bool,
    /// Percent of a client's bytes that objects have while some are due or move, at least; at most 100. Avatars have the others first. Of
    /// what those leave while land is due, land has half.
    pub object_percent: u32,
}

/// Ten turns a second, full datagrams, a quarter of the bytes for objects.
impl Default for Sending {
    fn default() -> Self {
        Self { packing: Packing::default(), hz: 10, reuses_buffers: true, object_percent: 25 }
    }
}

impl Sending {
    /// Share of the bytes for avatars while objects are due or move.
    pub(super) fn avatar_share(&self) -> f32 {
        1.0 - self.object_percent.min(100) as f32 / 100.0
    }
}

/// Maximum contents of a datagram of movements, or of full updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    /// Terse blocks, at least 1.
    pub terse: usize,
    /// Full blocks of avatars, at least 1.
    pub full: usize,
    /// Blocks of objects, at least 1.
    pub objects: usize,
    /// Bytes, at most [`DATAGRAM_MAX`]. A block that is longer alone goes alone.
    pub bytes: usize,
    /// True if ObjectUpdateCompressed is not zero-coded.
    pub plain_cache: bool,
}

impl Packing {
    /// Terse blocks of one datagram: as many as are allowed and fit.
    #[must_use]
    pub fn terse_blocks(&self) -> usize {
        self.terse.min(terse_blocks(self.bytes)).max(1)
    }

    /// The same of prims, which are not limited in number: at most 255, as the message counts.
    #[must_use]
    pub fn prim_blocks(&self) -> usize {
        terse_prim_blocks(self.bytes).clamp(1, u8::MAX.into())
    }
}

/// As many as fit.
impl Default for Packing {
    fn default() -> Self {
        Self {
            terse: TERSE_PER_DATAGRAM,
            full: usize::MAX,
            objects: usize::MAX,
            bytes: DATAGRAM_MAX,
            plain_cache: false,
        }
    }
}
