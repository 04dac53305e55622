//! Objects of a world as they are stored, with everything beside them that a later start of the world must know.

use crate::object::ObjectPage;
use crate::transfer::{AnsweredOrder, StoredTransfers};
use serde::{Deserialize, Serialize};

/// Objects of a world as they are stored, and the local ids that must not be used yet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredObjects {
    /// Pages with prims, in ascending order.
    pub pages: Vec<ObjectPage>,
    /// Local ids of kept objects.
    pub kept: RestingIds,
    /// Local ids of temporary objects.
    pub temporary: RestingIds,
    /// World time, nanoseconds.
    pub now_ns: u64,
    /// Least version of a prim that changes. A world whose last changes were lost has shown versions that clients may have cached: a later start gives none of
    /// them again, as its floor is the time of its begin in seconds ([`Self::floor_at`]).
    pub version_floor: u32,
    /// Transfers between the world and the store.
    pub transfers: StoredTransfers,
    /// Orders of the node that were answered without a ticket, the oldest first. Snapshots have a record of their own for them.
    #[serde(skip)]
    pub orders: Vec<AnsweredOrder>,
}

impl StoredObjects {
    /// Least version of a world that starts at a time, in seconds since 1970. From 2038 on it is the same for all.
    #[must_use]
    pub fn floor_at(unix_s: u64) -> u32 {
        u32::try_from(unix_s).map_or(Self::FLOOR_MAX, |floor| floor.min(Self::FLOOR_MAX))
    }

    const FLOOR_MAX: u32 = 1 << 31;
}

/// Local ids of a range of objects, as far as they do not follow from the objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestingIds {
    /// Number of ids of the range that were ever used: the first ones.
    pub n_used: u32,
    /// Freed ids, counted from the begin of the range, with the world times of their removal in nanoseconds, in that order.
    pub resting: Vec<(u32, u64)>,
}
