//! A pull at a linkset that physics moves.

use glam::Vec3;
use ids::LocalId;

/// A pull of a session, judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pull {
    /// Root of the linkset.
    pub(crate) root: LocalId,
    /// The gripped point, in the axes of the root. Counts at the begin of a pull.
    pub(crate) grip: Vec3,
    /// Its destination, metres from the region's corner.
    pub(crate) target: Vec3,
}
