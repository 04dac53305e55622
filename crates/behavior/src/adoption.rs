//! Minds under a new set of behaviours: after files have changed, or after a restart with others than before.
//!
//! Minds hold numbers; names map former numbers to new ones. The comparison is made once for all minds of a template.

use super::{
    mind::Mind,
    node::BehaviorId,
    set::{BehaviorSet, Names},
};

/// From the numbers of an old set to those of a new one.
#[derive(Clone, Debug)]
pub struct Adoption {
    behaviors: Vec<Option<u16>>,
    routes: Vec<Option<u16>>,
    resources: Vec<Option<u16>>,
}

impl Adoption {
    /// Compares the names of a set that was with a set that is to be.
    #[must_use]
    pub fn new(old: &Names, new: &BehaviorSet) -> Self {
        let new = new.names();
        Self {
            behaviors: moves(&old.behaviors, &new.behaviors),
            routes: moves(&old.routes, &new.routes),
            resources: moves(&old.resources, &new.resources),
        }
    }

    pub(super) fn behavior(&self, old: BehaviorId) -> Option<BehaviorId> {
        moved(&self.behaviors, old.0).map(BehaviorId)
    }

    pub(super) fn route(&self, old: u16) -> Option<u16> {
        moved(&self.routes, old)
    }

    pub(super) fn resource(&self, old: u8) -> Option<u8> {
        moved(&self.resources, u16::from(old)).map(|new| new as u8)
    }
}

impl Mind {
    /// Changes to the new set: restarts its behaviour at the root, and keeps memories whose names still exist. False when its behaviour
    /// is gone; it then does nothing until [`Mind::switch`].
    pub fn adopt(&mut self, adoption: &Adoption) -> bool {
        let behavior = adoption.behavior(self.behavior());
        self.begin_anew(behavior);
        self.rename(|route| adoption.route(route), |resource| adoption.resource(resource));
        behavior.is_some()
    }
}

fn moves(old: &[String], new: &[String]) -> Vec<Option<u16>> {
    let place = |name: &String| new.iter().position(|known| known == name).map(|index| index as u16);
    old.iter().map(place).collect()
}

fn moved(moves: &[Option<u16>], old: u16) -> Option<u16> {
    moves.get(usize::from(old)).copied().flatten()
}
