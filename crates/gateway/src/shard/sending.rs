//! Pace and packing of a client's output. All of it may change while the server runs, for experiments.

use super::stream::{TERSE_PER_DATAGRAM, terse_blocks};
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
}

/// Ten turns a second, full datagrams.
impl Default for Sending {
    fn default() -> Self {
        Self { packing: Packing::default(), hz: 10, reuses_buffers: true }
    }
}

/// Maximum contents of a datagram of movements, or of full updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    /// Terse blocks, at least 1.
    pub terse: usize,
    /// Full blocks of avatars, at least 1.
    pub full: usize,
    /// Full blocks of static objects, at least 1.
    pub objects: usize,
    /// Bytes, at most [`DATAGRAM_MAX`]. A block that is longer alone goes alone.
    pub bytes: usize,
}

impl Packing {
    /// Terse blocks of one datagram: as many as are allowed and fit.
    #[must_use]
    pub fn terse_blocks(&self) -> usize {
        self.terse.min(terse_blocks(self.bytes)).max(1)
    }
}

/// As many as fit.
impl Default for Packing {
    fn default() -> Self {
        Self { terse: TERSE_PER_DATAGRAM, full: usize::MAX, objects: usize::MAX, bytes: DATAGRAM_MAX }
    }
}
