//! Scripts of a schedule, and their figures.

use super::ScriptSchedule;
use crate::instances::{Home, InstanceNumber, ScriptSlot};
use crate::usage;
use ids::{AgentId, LocalId};

impl ScriptSchedule {
    /// Scripts of a linkset in the order of its prims and their inventories: events for several of them come in this order.
    pub fn of_linkset(&self, linkset: LocalId) -> impl Iterator<Item = InstanceNumber> {
        self.instances.of_linkset(linkset).map(InstanceNumber)
    }

    /// The home of a script.
    #[must_use]
    pub fn home(&self, instance: InstanceNumber) -> Option<Home> {
        let &ScriptSlot { linkset, order, owner, .. } = self.instances.find(instance.0)?;
        Some(Home { linkset, order, owner: self.owners.owner(owner).id })
    }

    /// Number of scripts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.instances.len()
    }

    /// True without scripts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of scripts that have not stopped.
    #[must_use]
    pub fn n_active(&self) -> usize {
        self.len() - self.instances.n_stopped()
    }

    /// Number of scripts that wait for a slice.
    #[must_use]
    pub const fn n_ready(&self) -> usize {
        self.fresh.len() + self.spent.len() + self.due.len()
    }

    /// Digest of all slices: their ticks, scripts, fuel and ends.
    #[must_use]
    pub const fn digest(&self) -> u64 {
        self.digest
    }

    /// The scripts that have used the most fuel in the last [`Self::usage_ticks`], at most `n`, the greatest first. It looks at all scripts.
    #[must_use]
    pub fn top_scripts(&self, n: usize) -> Vec<(InstanceNumber, u64)> {
        let fuel =
            |(number, slot): (u32, &ScriptSlot)| (InstanceNumber(number), slot.usage.recent(self.tick));
        usage::greatest(self.instances.iter().map(fuel), n)
    }

    /// The owners whose scripts have used the most fuel, as [`Self::top_scripts`].
    #[must_use]
    pub fn top_owners(&self, n: usize) -> Vec<(AgentId, u64)> {
        let owners = self.owners.iter();
        usage::greatest(owners.map(|(_, owner)| (owner.id, owner.usage.recent(self.tick))), n)
    }

    /// Fuel of a script in the last [`Self::usage_ticks`].
    #[must_use]
    pub fn fuel_of(&self, instance: InstanceNumber) -> u64 {
        self.instances.find(instance.0).map_or(0, |slot| slot.usage.recent(self.tick))
    }

    /// Ticks that the fuel of scripts and owners is that of: one window of 256 ticks and the present one.
    #[must_use]
    pub fn usage_ticks(&self) -> u64 {
        usage::recent_ticks(self.began, self.tick)
    }
}
