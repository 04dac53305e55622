//! Patches of the ground by number, with their hashes.

use link::{GroundPatch, PATCH_M};
use state_hash::StateHasher;

/// A patch with its contribution to the state hash.
#[derive(Clone, Debug)]
pub(super) struct HashedPatch {
    pub(super) patch: GroundPatch,
    pub(super) hash: u64,
}

impl HashedPatch {
    pub(super) fn new(patch: GroundPatch) -> Self {
        let mut hasher = StateHasher::new();
        hasher.u64(u64::from(patch.row()) << 32 | u64::from(patch.column()));
        patch.heights().iter().for_each(|&height| hasher.f32(height));
        Self { hash: hasher.finish(), patch }
    }
}

/// A patch before and after an edit; `None` stands for the ground of the world's description.
#[derive(Clone, Debug)]
pub(super) struct Edited {
    pub(super) number: u16,
    pub(super) before: Option<HashedPatch>,
    pub(super) after: Option<HashedPatch>,
}

/// Contribution of a patch to the state hash: none without a difference from the described ground.
pub(super) fn hash_of(known: Option<&HashedPatch>) -> u64 {
    known.map_or(0, |known| known.hash)
}

/// Patches of a region of this width.
pub(super) const fn count_of(size_m: u32) -> u16 {
    // 4,096 at most.
    (size_m / PATCH_M * (size_m / PATCH_M)) as u16
}

/// Number of a patch: its place row by row from the south-west.
pub(super) const fn number_of(size_m: u32, column: u8, row: u8) -> u16 {
    row as u16 * (size_m / PATCH_M) as u16 + column as u16
}

/// Column and row of a patch with a number below [`count_of`].
pub(super) const fn place_of(size_m: u32, number: u16) -> (u8, u8) {
    let side = (size_m / PATCH_M) as u16;
    ((number % side) as u8, (number / side) as u8)
}
