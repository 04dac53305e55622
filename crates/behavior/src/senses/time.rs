//! World time, and the half of it that minds remember.

use serde::{Deserialize, Serialize};

/// Milliseconds of world time since the world began. It stands still while a world is suspended and slows under dilation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorldTime(pub u64);

impl WorldTime {
    /// The part of it that is remembered.
    #[must_use]
    pub const fn stamp(self) -> Stamp {
        Stamp(self.0 as u32)
    }
}

/// Low 32 bits of a [`WorldTime`]: sufficient for ages up to 24 days.
///
/// Half the size, for tens of thousands of minds with a dozen of them each. A stamp kept longer than that would lie in the future; all
/// are forgotten or cleared in a thought or a look, which come about every second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stamp(pub u32);

impl Stamp {
    /// Milliseconds from `earlier` to here.
    #[must_use]
    pub const fn since(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }

    /// True if this is at or behind `other`.
    #[must_use]
    pub const fn has_reached(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0) as i32) >= 0
    }

    /// `ms` milliseconds later.
    #[must_use]
    pub const fn after(self, ms: u32) -> Self {
        Self(self.0.wrapping_add(ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_hold_where_the_number_begins_anew() {
        let before = WorldTime((1 << 32) - 100).stamp();
        let after = WorldTime((1 << 32) + 400).stamp();
        assert_eq!(after.since(before), 500);
        assert!(after.has_reached(before) && after.has_reached(before.after(500)));
        assert!(!before.has_reached(after) && !after.has_reached(before.after(501)));
    }
}
