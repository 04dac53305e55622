//! Rights of sessions to edit objects, and bounds of a region's objects.

use ids::AgentId;
use serde::{Deserialize, Serialize};

/// Rights of a session to edit other users' objects. The gateway reports them when the avatar arrives and when they change, since it knows
/// operators and friends; sessions cannot claim them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditRights {
    /// True for an operator who has claimed an operator's rights.
    pub is_operator: bool,
    /// Users who let it edit their objects; at most [`EditRights::OWNERS_MAX`], others are left out.
    pub owners: Vec<AgentId>,
}

impl EditRights {
    /// Users who let one session edit their objects.
    pub const OWNERS_MAX: usize = 1_000;
}

/// Bounds of a region's objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectLimits {
    /// Prims in the region.
    pub objects_max: u32,
    /// Physical prims among them.
    pub physical_max: u32,
    /// Prims that a session makes per second, on average over a second and more.
    pub rez_per_s: u32,
    /// Prims that a session changes per second, likewise.
    pub edits_per_s: u32,
    /// Prims of a linkset, 256 at most.
    pub link_max: u32,
    /// World time until a temporary object vanishes, milliseconds.
    pub temporary_ms: u32,
    /// True while edits of sessions are refused, because earlier ones cannot be saved.
    pub is_closed: bool,
}

impl Default for ObjectLimits {
    fn default() -> Self {
        Self {
            objects_max: 45_000,
            physical_max: 1_000,
            rez_per_s: 200,
            edits_per_s: 5_000,
            link_max: 256,
            temporary_ms: 60_000,
            is_closed: false,
        }
    }
}
