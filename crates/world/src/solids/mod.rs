//! Prims as obstacles: a collider for each, and the avatars that move among them.
//!
//! [`Solids`] follows the objects of a world at the end of each step, so that colliders are those of the frame that clients see: a prim that was made in
//! a tick stops avatars from the next one on. Nothing of it is saved but the list of prims whose form has still to be built; all else follows from the
//! objects. A world without prims has none of it, and its avatars move as in a world that is not built on.
//!
//! Files: `index` keeps the colliders in step, `carry` moves avatars that stand on prims or in their way, `walking` moves an avatar among
//! prims, `rays` answers which surface is met.

mod area;
mod carry;
mod index;
mod rays;
#[cfg(test)]
mod tests;
mod walking;

pub(crate) use walking::AmongPrims;

use crate::{ground::SolidGround, objects::ObjectStore, roster::Roster};
use area::ChangedArea;
use carry::Standing;
use ids::LocalId;
use index::PrimChange;
use physics::{Colliders, Cylinder, OrientedBox, ShapeCache, Surroundings};
use record::Part;
use serde::{Deserialize, Serialize};
use state_hash::StateHasher;
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

/// Its state that does not follow from the objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredSolids {
    /// Prims without a collider yet, the first to get one first.
    pub(crate) waiting: Vec<LocalId>,
}

impl StoredSolids {
    /// The record in snapshots.
    pub(crate) const PART: Part = Part::new(*b"SOLI", "solids");
}

/// Colliders of a world's prims.
#[derive(Debug)]
pub(crate) struct Solids {
    colliders: Colliders,
    shapes: ShapeCache,
    /// Prims without a collider yet. They stop nothing and no ray meets them.
    waiting: VecDeque<LocalId>,
    /// The same, to be looked up.
    waiting_ids: BTreeSet<LocalId>,
    /// Surfaces around each avatar, by slot; they decide nothing.
    surroundings: Vec<Surroundings>,
    /// Squares of the ground above or below which something changes in this step.
    changed: ChangedArea,
    /// Changes of this step, emptied by it.
    changes: Vec<PrimChange>,
    /// Avatars on prims that change in this step, emptied by it.
    standing: Vec<Standing>,
}

impl Solids {
    fn new(size_m: u32) -> Self {
        Self {
            colliders: Colliders::new(size_m),
            shapes: ShapeCache::default(),
            waiting: VecDeque::new(),
            waiting_ids: BTreeSet::new(),
            surroundings: Vec::new(),
            changed: ChangedArea::new(size_m),
            changes: Vec::new(),
            standing: Vec::new(),
        }
    }

    /// Those of these objects, all at once: 45,000 prims take some tenths of a second, as a part of the construction of a world. `None` without
    /// objects.
    pub(crate) fn of(objects: &ObjectStore, size_m: u32) -> Option<Box<Self>> {
        (objects.len() > 0).then(|| Self::built(objects, size_m, Vec::new()))
    }

    /// The same of a snapshot; `None` if a prim waits twice.
    pub(crate) fn restored(objects: &ObjectStore, size_m: u32, stored: StoredSolids) -> Option<Box<Self>> {
        let StoredSolids { waiting } = stored;
        let distinct: BTreeSet<LocalId> = waiting.iter().copied().collect();
        (distinct.len() == waiting.len()).then(|| Self::built(objects, size_m, waiting))
    }

    fn built(objects: &ObjectStore, size_m: u32, waiting: Vec<LocalId>) -> Box<Self> {
        let mut solids = Self::new(size_m);
        solids.waiting_ids = waiting.iter().copied().collect();
        solids.waiting = waiting.into();
        for (id, ..) in objects.prims() {
            if !solids.waiting_ids.contains(&id) {
                solids.put(objects, id);
            }
        }
        Box::new(solids)
    }

    /// Brings colliders, and the avatars among them, in step with the changes of this step. `solids` comes with the first object of a world and goes with
    /// the last. Costs in proportion to the changes, and once for each avatar if there are any.
    #[inline(never)]
    pub(crate) fn follow(
        solids: &mut Option<Box<Self>>,
        objects: &ObjectStore,
        roster: &mut Roster,
        ground: &SolidGround,
        dt: Duration,
    ) {
        let is_needed = objects.len() > 0;
        let new = || Box::new(Self::new(ground.terrain.size_m()));
        let Some(own) = (if is_needed { Some(solids.get_or_insert_with(new)) } else { solids.as_mut() })
        else {
            return;
        };
        own.list_changes(objects);
        if !own.changes.is_empty() || !own.waiting.is_empty() {
            own.note_standing(roster, ground);
            own.apply_changes(objects);
            own.carry(roster, ground, dt);
        }
        if !is_needed {
            *solids = None;
        }
    }

    /// Colliders, and the forms that they are made of, for bodies.
    pub(crate) fn for_bodies(&mut self) -> (&Colliders, &mut ShapeCache) {
        (&self.colliders, &mut self.shapes)
    }

    /// True if a prim waits for its collider.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Its state in a snapshot.
    pub(crate) fn stored(&self) -> StoredSolids {
        StoredSolids { waiting: self.waiting.iter().copied().collect() }
    }

    /// Hash of the same.
    pub(crate) fn hash(&self, hasher: &mut StateHasher) {
        for LocalId(id) in &self.waiting {
            hasher.u32(*id);
        }
    }

    /// The box around a prim, along its own axes.
    pub(crate) fn oriented_box(&self, id: LocalId) -> Option<OrientedBox> {
        self.colliders.oriented_box(id)
    }

    /// Forgets the surfaces around avatars of slots that are no more.
    pub(crate) fn keep_slots(&mut self, n_slots: usize) {
        if n_slots == 0 {
            self.surroundings = Vec::new();
        }
        self.surroundings.truncate(n_slots);
    }

    /// Surfaces around the avatar in a slot.
    fn surroundings_of(&mut self, slot: u32) -> (&Colliders, &mut Surroundings) {
        let slot = slot as usize;
        if self.surroundings.len() <= slot {
            self.surroundings.resize_with(slot + 1, Surroundings::default);
        }
        (&self.colliders, &mut self.surroundings[slot])
    }
}

/// An avatar of this size.
const fn cylinder(half_height: f32) -> Cylinder {
    Cylinder { radius: crate::contacts::RADIUS_M, half_height }
}
