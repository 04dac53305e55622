//! Numbers of a world's prims by kind, kept up to date by every change: nothing counts them anew.

use link::PrimFlags;

/// Numbers of prims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectCounts {
    /// All of them.
    pub prims: usize,
    /// Those of linksets that physics moves, asleep or awake.
    pub physical: usize,
    /// Those of linksets that vanish by themselves.
    pub temporary: usize,
}

impl ObjectCounts {
    /// Counts a prim with these flags.
    pub(super) fn add(&mut self, flags: PrimFlags) {
        let Self { prims, physical, temporary } = self;
        *prims += 1;
        *physical += usize::from(flags.any(PrimFlags::PHYSICS));
        *temporary += usize::from(flags.any(PrimFlags::TEMPORARY));
    }

    /// Takes a prim with these flags back, which was counted.
    pub(super) fn remove(&mut self, flags: PrimFlags) {
        let Self { prims, physical, temporary } = self;
        *prims -= 1;
        *physical -= usize::from(flags.any(PrimFlags::PHYSICS));
        *temporary -= usize::from(flags.any(PrimFlags::TEMPORARY));
    }
}
