//! Owners of scripts.

use crate::usage::FuelUsage;
use ids::AgentId;
use std::collections::BTreeMap;

/// Owners by a place of their own, as long as they have scripts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Owners {
    by_id: BTreeMap<AgentId, u32>,
    table: Vec<ScriptOwner>,
    free: Vec<u32>,
}

/// An owner.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScriptOwner {
    pub(crate) id: AgentId,
    pub(crate) n_scripts: usize,
    pub(crate) usage: FuelUsage,
}

impl Owners {
    /// Places that are or were taken: all are below.
    pub(crate) const fn bound(&self) -> usize {
        self.table.len()
    }

    /// Counts one more script of an owner. Returns its place.
    pub(crate) fn enter(&mut self, id: AgentId) -> u32 {
        let place = match self.by_id.get(&id) {
            Some(&place) => place,
            None => self.place(id),
        };
        self.table[place as usize].n_scripts += 1;
        place
    }

    fn place(&mut self, id: AgentId) -> u32 {
        let owner = ScriptOwner { id, n_scripts: 0, usage: FuelUsage::NONE };
        let place = self.free.pop().unwrap_or(self.table.len() as u32);
        if (place as usize) < self.table.len() {
            self.table[place as usize] = owner;
        } else {
            self.table.push(owner);
        }
        self.by_id.insert(id, place);
        place
    }

    /// Counts one script less.
    pub(crate) fn leave(&mut self, place: u32) {
        self.table[place as usize].n_scripts -= 1;
    }

    /// Frees the place of an owner that has no scripts any more. False if it has some.
    pub(crate) fn free_if_gone(&mut self, place: u32) -> bool {
        let ScriptOwner { id, n_scripts, .. } = self.table[place as usize];
        let is_gone = n_scripts == 0;
        if is_gone {
            self.by_id.remove(&id);
            self.free.push(place);
        }
        is_gone
    }

    pub(crate) fn owner(&self, place: u32) -> &ScriptOwner {
        &self.table[place as usize]
    }

    pub(crate) fn owner_mut(&mut self, place: u32) -> &mut ScriptOwner {
        &mut self.table[place as usize]
    }

    /// Owners and their places, in the order of their ids.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &ScriptOwner)> {
        self.by_id.values().map(|&place| (place, &self.table[place as usize]))
    }
}
