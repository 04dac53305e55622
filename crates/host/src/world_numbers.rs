//! World ids of a host's instances.

use ids::WorldId;
use link::{HostNumber, INSTANCE_WORLDS_PER_HOST, instance_world};

/// Sequence of the world ids of one host's instances. After 2^20 ids it begins again and skips ids in use.
#[derive(Clone, Debug)]
pub struct InstanceWorlds {
    host: HostNumber,
    next: u32,
}

impl InstanceWorlds {
    /// The sequence of a host, from its first id.
    #[must_use]
    pub const fn new(host: HostNumber) -> Self {
        Self { host, next: 0 }
    }

    /// The next free id. A freed id is dealt again after all other ids.
    ///
    /// # Panics
    /// If all ids are taken, or the host number is above [`HostNumber::MAX`].
    pub fn deal(&mut self, is_taken: impl Fn(WorldId) -> bool) -> WorldId {
        for _ in 0..INSTANCE_WORLDS_PER_HOST {
            let world = instance_world(self.host, self.next);
            self.next = (self.next + 1) % INSTANCE_WORLDS_PER_HOST;
            if !is_taken(world) {
                return world;
            }
        }
        panic!("a host has at most 2^20 instances")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_that_begins_again_passes_over_used_numbers() {
        let host = HostNumber(3);
        let mut numbers = InstanceWorlds { host, next: INSTANCE_WORLDS_PER_HOST - 1 };
        assert_eq!(numbers.deal(|_| false), instance_world(host, INSTANCE_WORLDS_PER_HOST - 1));
        let first = instance_world(host, 0);
        assert_eq!(numbers.deal(|world| world == first), instance_world(host, 1));
        assert_eq!(numbers.deal(|_| false), instance_world(host, 2), "each number is dealt once in a round");
    }
}
