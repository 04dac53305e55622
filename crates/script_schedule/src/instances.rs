//! The scripts of a world by number: homes, phases, and numbers that are free.

use crate::usage::FuelUsage;
use ids::{AgentId, LocalId};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Scripts of a world at most.
pub const INSTANCES_MAX: usize = 1 << 18;

/// Number of a script in its world: the smallest that was free. It is given again after its script has been removed, so what outlives a script
/// (a request, a log) names it by the id of its item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct InstanceNumber(pub u32);

/// Place of a script in its world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Home {
    /// The linkset, by its root.
    pub linkset: LocalId,
    /// Rank in the linkset: by prim, then by place in the inventory of that.
    pub order: u32,
    /// The owner, with whom it shares its fuel.
    pub owner: AgentId,
}

/// Activity of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScriptPhase {
    /// The number is free.
    Free,
    /// Waits for an event.
    Waits,
    /// In the wheel.
    Timed,
    /// Taken out of the wheel in this tick, and in no queue yet.
    Due,
    /// In the queue of those that start or wake.
    Fresh,
    /// In the queue of those whose slice was used up.
    Spent,
    /// In its slice.
    Runs,
    /// Made ready by the slice under way, at whose end it comes into a queue.
    Woken,
    /// Failed or switched off.
    Stopped,
}

/// A script.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScriptSlot {
    pub(crate) linkset: LocalId,
    pub(crate) order: u32,
    /// Place of the owner among the owners.
    pub(crate) owner: u32,
    pub(crate) phase: ScriptPhase,
    /// In a queue: the tick since which it is in it.
    pub(crate) since: u64,
    /// The last tick in which it ran.
    pub(crate) ran_at: Option<u64>,
    /// In a queue: fuel left of its turn, or used beyond it.
    pub(crate) deficit: i64,
    pub(crate) usage: FuelUsage,
}

/// All scripts of a world.
#[derive(Clone, Debug, Default)]
pub(crate) struct Instances {
    slots: Vec<ScriptSlot>,
    /// Free numbers below the number of slots.
    free: BinaryHeap<Reverse<u32>>,
    by_home: BTreeSet<(LocalId, u32, u32)>,
    n_stopped: usize,
}

impl ScriptSlot {
    pub(crate) const fn new(linkset: LocalId, order: u32, owner: u32) -> Self {
        Self {
            linkset,
            order,
            owner,
            phase: ScriptPhase::Waits,
            since: 0,
            ran_at: None,
            deficit: 0,
            usage: FuelUsage::NONE,
        }
    }
}

impl Instances {
    /// Numbers that are or were given: all are below.
    pub(crate) const fn bound(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_home.len()
    }

    pub(crate) const fn n_stopped(&self) -> usize {
        self.n_stopped
    }

    /// Adds a script that waits.
    pub(crate) fn insert(&mut self, slot: ScriptSlot) -> u32 {
        let number = match self.free.pop() {
            Some(Reverse(number)) => {
                self.slots[number as usize] = slot;
                number
            }
            None => {
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
        };
        self.by_home.insert((slot.linkset, slot.order, number));
        number
    }

    /// Frees a number.
    pub(crate) fn remove(&mut self, number: u32) {
        self.set_phase(number, ScriptPhase::Free);
        let ScriptSlot { linkset, order, .. } = self.slots[number as usize];
        self.by_home.remove(&(linkset, order, number));
        self.free.push(Reverse(number));
    }

    /// Fills the slots of stored scripts, whose numbers rise. The numbers between them are free.
    pub(crate) fn restored(scripts: impl Iterator<Item = (u32, ScriptSlot)>) -> Self {
        let mut instances = Self::default();
        for (number, slot) in scripts {
            while instances.slots.len() < number as usize {
                instances.free.push(Reverse(instances.slots.len() as u32));
                instances.slots.push(ScriptSlot { phase: ScriptPhase::Free, ..slot });
            }
            instances.slots.push(ScriptSlot { phase: ScriptPhase::Waits, ..slot });
            instances.by_home.insert((slot.linkset, slot.order, number));
            instances.set_phase(number, slot.phase);
        }
        instances
    }

    /// The script of a number, if there is one.
    pub(crate) fn find(&self, number: u32) -> Option<&ScriptSlot> {
        self.slots.get(number as usize).filter(|slot| slot.phase != ScriptPhase::Free)
    }

    pub(crate) fn slot(&self, number: u32) -> &ScriptSlot {
        &self.slots[number as usize]
    }

    pub(crate) fn slot_mut(&mut self, number: u32) -> &mut ScriptSlot {
        &mut self.slots[number as usize]
    }

    pub(crate) fn set_phase(&mut self, number: u32, phase: ScriptPhase) {
        let slot = &mut self.slots[number as usize];
        self.n_stopped -= usize::from(slot.phase == ScriptPhase::Stopped);
        self.n_stopped += usize::from(phase == ScriptPhase::Stopped);
        slot.phase = phase;
    }

    /// Moves a script to another place.
    pub(crate) fn move_to(&mut self, number: u32, linkset: LocalId, order: u32) {
        let slot = &mut self.slots[number as usize];
        self.by_home.remove(&(slot.linkset, slot.order, number));
        self.by_home.insert((linkset, order, number));
        (slot.linkset, slot.order) = (linkset, order);
    }

    /// All scripts by number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &ScriptSlot)> {
        (0..).zip(&self.slots).filter(|(_, slot)| slot.phase != ScriptPhase::Free)
    }

    /// Scripts of a linkset in the order of its prims and their inventories.
    pub(crate) fn of_linkset(&self, linkset: LocalId) -> impl Iterator<Item = u32> {
        self.by_home.range((linkset, 0, 0)..=(linkset, u32::MAX, u32::MAX)).map(|&(_, _, number)| number)
    }

    /// Sorts numbers by linkset and place in it. Free numbers may be among them.
    pub(crate) fn sort_by_home(&self, numbers: &mut [u32]) {
        numbers.sort_unstable_by_key(|&number| {
            let slot = self.slot(number);
            (slot.linkset, slot.order, number)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_free_number_is_given() {
        let mut instances = Instances::default();
        let slot = ScriptSlot::new(LocalId(4), 0, 0);
        assert!((0..5).eq((0..5).map(|_| instances.insert(slot))));
        for number in [3, 0, 4] {
            instances.remove(number);
        }
        assert_eq!((instances.len(), instances.find(3).is_some()), (2, false));
        let scripts: Vec<(u32, ScriptSlot)> =
            instances.iter().map(|(number, slot)| (number, *slot)).collect();
        let mut restored = Instances::restored(scripts.into_iter());
        for number in [0, 3, 4, 5] {
            assert_eq!((instances.insert(slot), restored.insert(slot)), (number, number));
        }
    }

    #[test]
    fn scripts_of_a_linkset_are_in_the_order_of_their_places() {
        let mut instances = Instances::default();
        for (linkset, order) in [(1, 9), (2, 5), (2, 1), (3, 0), (2, 5)] {
            instances.insert(ScriptSlot::new(LocalId(linkset), order, 0));
        }
        assert!(instances.of_linkset(LocalId(2)).eq([2, 1, 4]));
        instances.move_to(0, LocalId(2), 3);
        assert!(instances.of_linkset(LocalId(2)).eq([2, 0, 1, 4]));
        assert!(instances.of_linkset(LocalId(1)).next().is_none());
        let mut numbers = [4, 3, 2, 1, 0];
        instances.sort_by_home(&mut numbers);
        assert_eq!(numbers, [2, 0, 1, 4, 3]);
    }

    #[test]
    fn stopped_scripts_are_counted() {
        let mut instances = Instances::default();
        for _ in 0..3 {
            instances.insert(ScriptSlot::new(LocalId(1), 0, 0));
        }
        instances.set_phase(0, ScriptPhase::Stopped);
        instances.set_phase(2, ScriptPhase::Stopped);
        assert_eq!(instances.n_stopped(), 2);
        instances.set_phase(0, ScriptPhase::Waits);
        instances.remove(2);
        assert_eq!(instances.n_stopped(), 0);
    }
}
