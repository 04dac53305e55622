//! Prims as obstacles: a collider for each, and the avatars that move among them.
//!
//! [`Solids`] follows the objects of a world at the end of each step, so that colliders are those of the frame that clients see: a prim that was made in
//! a tick stops avatars from the next one on. Nothing of it is saved but the list of prims whose form has still to be built, and the solids of assets that have come; all
//! else follows from the objects. A world without prims has none of it, and its avatars move as in a world that is not built on.
//!
//! Files: `index` keeps the colliders in step, `forms` has the geometries that they are made of, `assets` those of them that are assets, `carry` moves avatars that stand on prims or
//! in their way, `walking` moves an avatar among prims, `rays` answers which surface is met.

mod area;
mod assets;
mod carry;
mod forms;
mod index;
mod rays;
#[cfg(test)]
mod tests;
mod walking;

pub(crate) use assets::StoredAssetSolids;
pub(crate) use forms::Forms;
pub(crate) use walking::AmongPrims;

use crate::{counters::WorldCounters, ground::SolidGround, objects::ObjectStore, roster::Roster};
use area::ChangedArea;
use assets::{Arrival, AssetSolids};
use carry::Standing;
use ids::LocalId;
use index::PrimChange;
use link::{Event, KnownSolid};
use physics::{Colliders, Cylinder, OrientedBox, Surroundings};
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

/// Solids as moving linksets need them.
#[derive(Debug)]
pub(crate) struct BodySolids<'a> {
    pub(crate) colliders: &'a Colliders,
    pub(crate) forms: &'a mut Forms,
    /// Prims whose solid came in this step: their colliders follow at its end or later.
    pub(crate) arrived: &'a [LocalId],
}

/// Colliders of a world's prims.
#[derive(Debug)]
pub(crate) struct Solids {
    colliders: Colliders,
    forms: Forms,
    /// Prims without a collider yet. They stop nothing and no ray meets them.
    waiting: VecDeque<LocalId>,
    /// The same, to be looked up.
    waiting_ids: BTreeSet<LocalId>,
    /// Prims that are boxes although the solid of their asset has come. Their turn follows, in the order of their ids; none of them is in `waiting`.
    refining: BTreeSet<LocalId>,
    /// Prims whose solid came in this step. Overwritten by the next one.
    arrived: Vec<LocalId>,
    /// Prims that got the collider of their solid in this step, ascending. Overwritten by the next one with changes.
    refined: Vec<LocalId>,
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
            forms: Forms::default(),
            waiting: VecDeque::new(),
            waiting_ids: BTreeSet::new(),
            refining: BTreeSet::new(),
            arrived: Vec::new(),
            refined: Vec::new(),
            surroundings: Vec::new(),
            changed: ChangedArea::new(size_m),
            changes: Vec::new(),
            standing: Vec::new(),
        }
    }

    /// Those of these objects, all at once: 45,000 prims take some tenths of a second, as a part of the construction of a world. `None` without
    /// objects.
    pub(crate) fn of(objects: &ObjectStore, size_m: u32) -> Option<Box<Self>> {
        (objects.len() > 0)
            .then(|| Self::built(objects, size_m, Vec::new(), BTreeSet::new(), AssetSolids::default()))
    }

    /// The same of a snapshot; `None` if a prim waits twice, or a solid of an asset is there twice. Solids without a prim are dropped: the objects may be of a later moment.
    pub(crate) fn restored(
        objects: &ObjectStore,
        size_m: u32,
        stored: StoredSolids,
        assets: StoredAssetSolids,
    ) -> Option<Box<Self>> {
        let StoredSolids { waiting } = stored;
        let StoredAssetSolids { known, refining } = assets;
        let distinct: BTreeSet<LocalId> = waiting.iter().copied().collect();
        if distinct.len() != waiting.len() {
            return None;
        }
        let refining = refining.into_iter().filter(|id| !distinct.contains(id)).collect();
        Some(Self::built(objects, size_m, waiting, refining, AssetSolids::restored(known)?))
    }

    fn built(
        objects: &ObjectStore,
        size_m: u32,
        waiting: Vec<LocalId>,
        refining: BTreeSet<LocalId>,
        assets: AssetSolids,
    ) -> Box<Self> {
        let mut solids = Self::new(size_m);
        solids.forms = Forms::with(assets);
        solids.waiting_ids = waiting.iter().copied().collect();
        solids.waiting = waiting.into();
        for (id, ..) in objects.prims() {
            if !solids.waiting_ids.contains(&id) {
                solids.put(objects, id, refining.contains(&id));
            }
        }
        let assets = &mut solids.forms.assets;
        assets.drop_unused();
        solids.refining = refining.into_iter().filter(|&id| assets.is_known(id)).collect();
        Box::new(solids)
    }

    /// Takes the solids of assets that came in this step, and empties the list. Their prims get them as the budget of steps allows, and moving linksets at once.
    pub(crate) fn take_assets(&mut self, came: &mut Vec<KnownSolid>, counters: &mut WorldCounters) {
        self.arrived.clear();
        for known in came.drain(..) {
            let key = known.key;
            match self.forms.assets.arrive(known) {
                Arrival::Taken => {
                    counters.put_solid += 1;
                    self.arrived.extend(self.forms.assets.users(&key));
                }
                Arrival::NoRoom => counters.put_solid_dropped += 1,
                Arrival::NotWanted => counters.ignored += 1,
            }
        }
        self.refining.extend(&self.arrived);
    }

    /// Announces the solids of assets that came into use in this step, or with `all` each that has not come.
    pub(crate) fn announce(&mut self, all: bool, events: &mut Vec<Event>) {
        let new = self.forms.assets.take_new();
        let wanted = if all { self.forms.assets.wanted().collect() } else { new };
        if !wanted.is_empty() {
            events.push(Event::SolidsWanted(wanted.into()));
        }
    }

    /// Announces nothing of the objects that a world continues with: the life before has done so.
    pub(crate) fn forget_announcements(&mut self) {
        self.forms.assets.forget_new();
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
        if !own.changes.is_empty() || own.is_waiting() {
            own.note_standing(roster, ground);
            own.apply_changes(objects);
            own.carry(roster, ground, dt);
        }
        if !is_needed {
            *solids = None;
        }
    }

    /// Colliders, and the forms that they are made of, for bodies.
    pub(crate) fn for_bodies(&mut self) -> BodySolids<'_> {
        let Self { colliders, forms, arrived, .. } = self;
        BodySolids { colliders, forms, arrived }
    }

    /// True if a prim waits for its collider, or for a finer one.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty() || !self.refining.is_empty()
    }

    /// Its state in a snapshot.
    pub(crate) fn stored(&self) -> StoredSolids {
        StoredSolids { waiting: self.waiting.iter().copied().collect() }
    }

    /// Solids of assets in a snapshot.
    pub(crate) fn stored_assets(&self) -> StoredAssetSolids {
        StoredAssetSolids {
            known: self.forms.assets.stored(),
            refining: self.refining.iter().copied().collect(),
        }
    }

    /// Hash of both.
    pub(crate) fn hash(&self, hasher: &mut StateHasher) {
        for LocalId(id) in &self.waiting {
            hasher.u32(*id);
        }
        // A world without assets has the hash that it had before there were any.
        if self.forms.assets.hash() != 0 {
            hasher.u64(self.forms.assets.hash());
        }
        for LocalId(id) in &self.refining {
            hasher.u64(u64::from(*id) << 32);
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
