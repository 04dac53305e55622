//! Linksets that physics moves, as a phase of the step.
//!
//! [`Bodies`] follows the edits of a step, lets [`physics::Dynamics`] move what moves, and writes the motions into the objects, whose frames carry them like
//! any other. The objects have all values that last. Snapshots carry the engine's state as bytes beside them, so that a restored world continues bit by
//! bit; a checkpoint that a world begins again from after a panic has none, and what moved is woken with its velocity.

mod scene;
#[cfg(test)]
mod tests;

use crate::counters::WorldCounters;
use crate::land::Land;
use crate::objects::{Edits, ObjectStore, Pull};
use crate::roster::Roster;
use crate::solids::BodySolids;
use glam::Vec3;
use ids::{LocalId, SessionKey};
use link::{Event, Motion, ObjectMask, PATCH_M, PrimFlags, StoppedObject, Terrain};
use physics::{Aabb, BodyMotion, Colliders, Dynamics, DynamicsError, DynamicsSettings, Outcome, StopReason};
use record::Part;
use scene::{BodyScene, is_movable};
use serde::{Deserialize, Serialize};
use state_hash::StateHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Changes of a prim that may move bodies.
const OF_BODIES: ObjectMask = ObjectMask(
    ObjectMask::MOTION.0
        | ObjectMask::SHAPE.0
        | ObjectMask::EXTRA.0
        | ObjectMask::FLAGS.0
        | ObjectMask::LINK.0,
);
/// Of these, those that move all prims of a linkset.
const OF_PLACE: ObjectMask = ObjectMask(ObjectMask::MOTION.0 | ObjectMask::LINK.0);
/// Of these, those that give a linkset to physics or take it from there.
const OF_OWNER: ObjectMask = ObjectMask(ObjectMask::FLAGS.0 | ObjectMask::LINK.0);
/// Places of one step at which sleepers are woken one by one; all further ones are one box.
const PLACES_MAX: usize = 256;
/// No object is so high or so low, metres.
const HEIGHT_MAX_M: f32 = 10_000.0;

/// Moving linksets of a world.
#[derive(Debug)]
pub(crate) struct Bodies {
    dynamics: Dynamics,
    outcome: Outcome,
    /// The linkset that each session pulls, by its root, and the gripped point in the axes of that.
    pulls: BTreeMap<SessionKey, (LocalId, Vec3)>,
    /// Changes of the ground so far.
    ground_version: u64,
    /// Places that edits of this step have changed; empty between steps.
    places: Vec<Aabb>,
    /// Linksets that an edit of this step has taken from physics while they moved; empty between steps.
    ended: Vec<LocalId>,
}

/// State in a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredBodies {
    /// The linkset that each session pulls, and the gripped point.
    pulls: Vec<(SessionKey, LocalId, Vec3)>,
    /// [`Dynamics::save`].
    engine: Vec<u8>,
}

impl StoredBodies {
    /// The record in snapshots.
    pub(crate) const PART: Part = Part::new(*b"BODY", "moving objects");
}

/// The parts of a world that the phase reads and changes.
#[derive(Debug)]
pub(crate) struct BodiesPhase<'a> {
    pub(crate) objects: &'a mut ObjectStore,
    pub(crate) edits: &'a mut Edits,
    /// Solids of the last frame, none in a world that had no object then.
    pub(crate) solids: Option<BodySolids<'a>>,
    pub(crate) terrain: &'a Terrain,
    pub(crate) land: Option<&'a Land>,
    pub(crate) roster: &'a Roster,
    pub(crate) counters: &'a mut WorldCounters,
    pub(crate) events: &'a mut Vec<Event>,
}

impl Bodies {
    /// Nothing moves, in a region of this width.
    pub(crate) fn new(size_m: u32) -> Self {
        Self {
            dynamics: Dynamics::new(DynamicsSettings::new(size_m)),
            outcome: Outcome::default(),
            pulls: BTreeMap::new(),
            ground_version: 0,
            places: Vec::new(),
            ended: Vec::new(),
        }
    }

    /// Continues beside these objects. Without a stored state, and with one of another version of the engine, linksets that were moving are woken.
    ///
    /// `None` for a state that no run leads to.
    pub(crate) fn restored(size_m: u32, objects: &ObjectStore, stored: Option<StoredBodies>) -> Option<Self> {
        let Some(StoredBodies { pulls, engine }) = stored else {
            return Some(Self::woken(size_m, objects));
        };
        match Dynamics::restore(DynamicsSettings::new(size_m), &engine) {
            Ok(dynamics) => {
                let n_pulls = pulls.len();
                let pulls: BTreeMap<SessionKey, (LocalId, Vec3)> =
                    pulls.into_iter().map(|(session, root, grip)| (session, (root, grip))).collect();
                let is_sound = pulls.len() == n_pulls && pulls.values().all(|(_, grip)| grip.is_finite());
                is_sound.then(|| Self { dynamics, pulls, ..Self::new(size_m) })
            }
            Err(DynamicsError::OtherVersion) => Some(Self::woken(size_m, objects)),
            Err(DynamicsError::Damaged) => None,
        }
    }

    /// Those of objects as values: what was moving moves on.
    fn woken(size_m: u32, objects: &ObjectStore) -> Self {
        let mut bodies = Self::new(size_m);
        if objects.counts().physical > 0 {
            for (id, prim, _) in objects.prims() {
                if is_movable(prim) && !prim.motion.at_rest() {
                    bodies.dynamics.wake(id);
                }
            }
        }
        bodies
    }

    /// Its state between two steps; nothing while nothing has ever moved costs more than a few bytes.
    pub(crate) fn stored(&self) -> StoredBodies {
        StoredBodies {
            pulls: self.pulls.iter().map(|(&session, &(root, grip))| (session, root, grip)).collect(),
            engine: self.dynamics.save(),
        }
    }

    /// True if time alone moves nothing.
    pub(crate) fn is_idle(&self) -> bool {
        self.dynamics.is_idle()
    }

    /// Bodies that are awake.
    pub(crate) fn n_awake(&self) -> usize {
        self.dynamics.n_awake()
    }

    /// Its share of the state hash. The motions are in that of the objects.
    pub(crate) fn hash(&self, hasher: &mut StateHasher) {
        self.dynamics.fold_into(hasher);
        for (session, (root, grip)) in &self.pulls {
            hasher.u64(session.0);
            hasher.u32(root.0);
            hasher.vec3(*grip);
        }
    }

    /// One step.
    #[inline(never)]
    pub(crate) fn step(&mut self, dt: Duration, phase: BodiesPhase<'_>) {
        let BodiesPhase { objects, edits, solids, terrain, land, roster, counters, events } = phase;
        let pulls = edits.take_pulls();
        self.follow_edits(objects, solids.as_ref().map(|solids| solids.colliders));
        if let Some(solids) = &solids {
            self.follow_arrivals(objects, solids);
        }
        self.follow_pulls(pulls, roster);
        self.follow_ground(land);
        for root in self.ended.drain(..) {
            come_to_rest(root, objects);
        }
        // Without sleepers nothing wakes; without solids the world has had no object.
        if objects.counts().physical == 0 || solids.is_none() {
            self.places.clear();
        }
        let Some(BodySolids { colliders, forms, .. }) = solids else { return };
        let ground_version = self.ground_version;
        let mut scene = BodyScene { objects, colliders, forms, terrain, ground_version };
        for place in self.places.drain(..) {
            self.dynamics.disturb(&place, &scene);
        }
        self.dynamics.step(dt, &mut scene, &mut self.outcome);
        self.publish(land, objects, edits, roster, counters, events);
    }

    /// Wakes, moves and drops what the edits of this step concern, and notes the places at which something was.
    fn follow_edits(&mut self, objects: &ObjectStore, colliders: Option<&Colliders>) {
        let mut places = std::mem::take(&mut self.places);
        let mut note = |id: LocalId, dynamics: &mut Dynamics| {
            if let Some(place) = colliders.and_then(|colliders| colliders.oriented_box(id)) {
                push_place(&mut places, place.aabb());
                dynamics.scene_edited(id, place.aabb());
            }
        };
        for &id in objects.removed() {
            note(id, &mut self.dynamics);
            self.dynamics.edited(id);
        }
        for (id, mask) in objects.changed() {
            if !mask.any(OF_BODIES) {
                continue;
            }
            // The surface of a part depends on the flags of its root.
            if mask.any(OF_PLACE.union(OF_OWNER)) {
                objects.linkset(id).for_each(|id| note(id, &mut self.dynamics));
            } else {
                note(id, &mut self.dynamics);
            }
            let root = objects.root_of(id).unwrap_or(id);
            // It may have been the root of a body that is a part now.
            self.dynamics.edited(id);
            self.dynamics.edited(root);
            let Some(prim) = objects.motion(root) else { continue };
            if is_movable(prim) {
                self.dynamics.wake(root);
            } else if mask.any(OF_OWNER) && prim.parent == LocalId(0) && !prim.motion.at_rest() {
                self.ended.push(root);
            }
        }
        self.places = places;
    }

    /// Lets linksets have the solids of assets that came in this step, and wakes those that lie on the boxes that these replace.
    fn follow_arrivals(&mut self, objects: &ObjectStore, solids: &BodySolids<'_>) {
        for &id in solids.arrived {
            if let Some(place) = solids.colliders.oriented_box(id) {
                push_place(&mut self.places, place.aabb());
            }
            self.dynamics.edited(id);
            self.dynamics.edited(objects.root_of(id).unwrap_or(id));
        }
    }

    fn follow_pulls(&mut self, new: BTreeMap<SessionKey, Option<Pull>>, roster: &Roster) {
        let gone: Vec<SessionKey> =
            self.pulls.keys().copied().filter(|&session| roster.slot_of(session).is_none()).collect();
        gone.into_iter().for_each(|session| self.let_go(session));
        for (session, pull) in new {
            let goes_on = |&(root, _): &(LocalId, Vec3)| pull.is_some_and(|pull| pull.root == root);
            let former = self.pulls.get(&session).copied().filter(goes_on);
            if former.is_none() {
                self.let_go(session);
            }
            let Some(Pull { root, grip, target }) = pull else { continue };
            let grip = former.map_or(grip, |(_, grip)| grip);
            if self.dynamics.drag(root, grip, target) {
                self.pulls.insert(session, (root, grip));
            }
        }
    }

    /// Ends the pull of a session, unless another one pulls the same.
    fn let_go(&mut self, session: SessionKey) {
        let Some((root, _)) = self.pulls.remove(&session) else { return };
        if !self.pulls.values().any(|&(other, _)| other == root) {
            self.dynamics.release(root);
        }
    }

    /// Notes the patches of ground that this step has changed.
    fn follow_ground(&mut self, land: Option<&Land>) {
        for (column, row) in land.into_iter().flat_map(Land::changed_patches) {
            let (west, south) = (u32::from(column) * PATCH_M, u32::from(row) * PATCH_M);
            let low = Vec3::new(west as f32, south as f32, -HEIGHT_MAX_M);
            let high = Vec3::new((west + PATCH_M) as f32, (south + PATCH_M) as f32, HEIGHT_MAX_M);
            push_place(&mut self.places, Aabb { low, high });
            self.ground_version += 1;
        }
    }

    /// Writes the results of a step into the objects.
    fn publish(
        &mut self,
        land: Option<&Land>,
        objects: &mut ObjectStore,
        edits: &mut Edits,
        roster: &Roster,
        counters: &mut WorldCounters,
        events: &mut Vec<Event>,
    ) {
        for &body in &self.outcome.moved {
            let BodyMotion { root, position, rotation, velocity, angular_velocity, acceleration } = body;
            let motion = Motion { position, velocity, acceleration, rotation, angular_velocity };
            if land.is_some_and(|land| !may_enter(land, root, position, objects)) {
                come_to_rest(root, objects);
                self.dynamics.edited(root);
                self.dynamics.wake(root);
                continue;
            }
            if objects.motion(root).is_some_and(|prim| prim.motion != motion) {
                objects.set_motion(root, motion).expect("it is there");
            }
        }
        for body in &self.outcome.left {
            // It cannot leave without room for it in the store: it stays at its last place within the border.
            match edits.give_back(body.root, objects, events) {
                Ok(()) => counters.bodies_left += 1,
                Err(_) => {
                    counters.bodies_stopped += 1;
                    events.extend(stop(body.root, objects, roster));
                }
            }
        }
        for &(root, reason) in &self.outcome.stopped {
            match reason {
                StopReason::NotANumber => {
                    counters.bodies_stopped += 1;
                    events.extend(stop(root, objects, roster));
                }
                // A part with a solid wakes it.
                StopReason::NoSolid => {}
            }
        }
    }
}

/// True if the land lets a linkset come to a place. Beyond the region it is the region's border that decides.
fn may_enter(land: &Land, root: LocalId, to: Vec3, objects: &ObjectStore) -> bool {
    let Some((prim, versioned)) = objects.motion(root).zip(objects.body(root)) else { return true };
    let (from, to) = (prim.motion.position.truncate(), to.truncate());
    land.parcel_at(to).is_none() || land.may_move_object(versioned.body.ownership.owner, Some(from), to)
}

/// Takes the physical flag from a linkset, and brings it to rest. `None` if it is gone.
fn stop(root: LocalId, objects: &mut ObjectStore, roster: &Roster) -> Option<Event> {
    let prims: BTreeSet<LocalId> = objects.linkset(root).collect();
    for id in prims {
        let flags = objects.motion(id)?.flags.with(PrimFlags::PHYSICS, PrimFlags::default());
        objects.set_flags(id, flags).ok()?;
    }
    come_to_rest(root, objects);
    let position = objects.motion(root)?.motion.position;
    let body = &objects.body(root)?.body;
    let owner = body.ownership.owner;
    let presence = roster.iter().find(|(_, presence)| presence.identity.agent == owner);
    Some(Event::ObjectStopped(Arc::new(StoppedObject {
        owner,
        session: presence.map(|(_, presence)| presence.identity.session),
        object: body.id,
        name: body.names.name.to_string(),
        position,
    })))
}

/// Ends the movement of a linkset: clients let one with a velocity fly on for ever.
fn come_to_rest(root: LocalId, objects: &mut ObjectStore) {
    let Some(prim) = objects.motion(root) else { return };
    let Motion { position, rotation, .. } = prim.motion;
    let at_rest = Motion { position, rotation, ..Motion::default() };
    objects.set_motion(root, at_rest).expect("it is there");
}

/// Adds a place, or widens the last one when there are too many.
fn push_place(places: &mut Vec<Aabb>, place: Aabb) {
    let is_full = places.len() >= PLACES_MAX;
    match places.last_mut().filter(|_| is_full) {
        Some(last) => *last = Aabb { low: last.low.min(place.low), high: last.high.max(place.high) },
        None => places.push(place),
    }
}
