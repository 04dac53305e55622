//! Rapier's share of a region: awake bodies, those that fell asleep lately, and what is near them.

use super::body::Body;
use super::engine::{Engine, Pull};
use super::neighbourhood::{BodyPlan, Neighbourhood, PrimSurface};
use super::statics::Statics;
use super::wakes::WakeQueue;
use crate::bounds::Aabb;
use crate::colliders::ColliderKind;
use glam::Vec3;
use ids::LocalId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Least speed of a body that wakes the sleepers that it touches, m/s. A falling body has it after one sub-step (9.8 ÷ 60 = 0.16), a settling one has not.
const WAKE_M_PER_S: f32 = 0.1;
/// Edited prims that a look remembers: each is compared with each body.
const EDITS_MAX: usize = 256;
/// Sub-steps after which a sleeping body leaves rapier: two seconds.
const LEAVE_SUB_STEPS: u32 = 120;

/// Bodies in rapier, with their surroundings.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Held {
    pub(super) engine: Engine,
    /// By root.
    pub(super) bodies: BTreeMap<LocalId, Body>,
    /// Prims that are parts of bodies, with their roots. Their colliders in the store follow the bodies, and are not among the surroundings of any.
    parts: BTreeMap<LocalId, LocalId>,
    pub(super) statics: Statics,
    /// Places at which bodies came or went since the last look at surroundings.
    disturbed: Vec<Aabb>,
    /// Version of the colliders as of that look. None after a restore: a restored store counts its versions from the beginning.
    #[serde(skip)]
    colliders_version: Option<u64>,
    /// Edits since that look. None after a restore, whose first look is at everything.
    #[serde(skip)]
    edits: SceneEdits,
    /// Lists that live as long as a look.
    #[serde(skip)]
    lists: Lists,
}

/// Prims of the surroundings that were changed or removed since the last look, with their places before. The objects have the edits of a step at once, their colliders
/// with the next frame: a body that looked then only would have another state than one that looks at everything now, as a restored one does.
#[derive(Debug, Default)]
struct SceneEdits {
    prims: Vec<(LocalId, Aabb)>,
    /// There were more than [`EDITS_MAX`]: the next look is at everything.
    is_full: bool,
}

#[derive(Debug, Default)]
struct Lists {
    /// Bodies whose surroundings have to be looked at, with their areas.
    stale: Vec<(LocalId, Aabb)>,
    /// Solid prims of an area with their slots, ascending.
    found: Vec<(LocalId, u32)>,
    /// Those of them that no body has, with their surfaces.
    fixed: Vec<(LocalId, u32, PrimSurface)>,
    patches: Vec<(u8, u8)>,
    /// Prims that no body has and that have changed since the last look, with their places.
    changed: Vec<(LocalId, Aabb)>,
}

impl Held {
    pub(super) fn new() -> Self {
        Self {
            engine: Engine::new(),
            bodies: BTreeMap::new(),
            parts: BTreeMap::new(),
            statics: Statics::default(),
            disturbed: Vec::new(),
            colliders_version: None,
            edits: SceneEdits::default(),
            lists: Lists::default(),
        }
    }

    /// Adds a body; false if no part of the plan is solid. The plan is a sound one, and the body is not there.
    pub(super) fn add(&mut self, root: LocalId, plan: &BodyPlan) -> bool {
        let Some(added) = self.engine.add_body(root, plan) else { return false };
        self.bodies.insert(root, Body::new(added, plan.is_phantom));
        self.take_parts(root, plan);
        true
    }

    /// Replaces a body by one of this plan; false, and it is gone, if no part of that is solid.
    pub(super) fn replace(&mut self, root: LocalId, plan: &BodyPlan) -> bool {
        let Some(body) = self.bodies.get_mut(&root) else { return self.add(root, plan) };
        if !body.parts.iter().eq(plan.parts.iter().map(|part| &part.id)) {
            // What is no part of it any more may be static.
            let (at, _) = self.engine.reach(body.handle, body.centre, body.radius);
            self.disturbed.push(body.bounds(at));
        }
        self.engine.remove_body(body.handle);
        let Some(added) = self.engine.add_body(root, plan) else {
            let body = self.bodies.remove(&root).expect("it is there");
            self.release(root, &body);
            return false;
        };
        body.replace(added, plan.is_phantom);
        self.take_parts(root, plan);
        true
    }

    /// Notes an edit of a prim, for the next look.
    pub(super) fn note_edit(&mut self, prim: LocalId, place: Aabb) {
        let SceneEdits { prims, is_full } = &mut self.edits;
        if prims.len() < EDITS_MAX { prims.push((prim, place)) } else { *is_full = true }
    }

    /// Root of the body that a prim is a part of.
    pub(super) fn body_of(&self, prim: LocalId) -> Option<LocalId> {
        let is_root = self.bodies.contains_key(&prim).then_some(prim);
        self.parts.get(&prim).copied().or(is_root)
    }

    /// Removes a body; false if it is not there.
    pub(super) fn remove(&mut self, root: LocalId) -> bool {
        let Some(body) = self.bodies.remove(&root) else { return false };
        let (at, _) = self.engine.reach(body.handle, body.centre, body.radius);
        self.disturbed.push(body.bounds(at));
        self.engine.remove_body(body.handle);
        self.release(root, &body);
        true
    }

    /// Gives up the parts and the surroundings of a body.
    fn release(&mut self, root: LocalId, body: &Body) {
        for id in &body.parts {
            // Another body may have it by now.
            if self.parts.get(id) == Some(&root) {
                self.parts.remove(id);
            }
        }
        body.prims.iter().for_each(|&id| self.statics.release(id));
        body.patches.iter().for_each(|&at| self.statics.release_patch(at, &mut self.engine));
    }

    /// Makes prims parts of a body instead of its former ones, and takes them out of the surroundings of others.
    fn take_parts(&mut self, root: LocalId, plan: &BodyPlan) {
        let Self { engine, bodies, parts, statics, .. } = self;
        let own = &mut bodies.get_mut(&root).expect("a body that was added").parts;
        for id in own.drain(..) {
            if parts.get(&id) == Some(&root) {
                parts.remove(&id);
            }
        }
        own.extend(plan.parts.iter().map(|part| part.id));
        parts.extend(own.iter().map(|&id| (id, root)));
        for part in &plan.parts {
            let id = part.id;
            if statics.expel(id, engine) {
                for other in bodies.values_mut() {
                    if let Ok(place) = other.prims.binary_search(&id) {
                        other.prims.remove(place);
                    }
                }
            }
        }
    }

    /// Brings the surroundings of all bodies up to date. `is_first` is true in the first sub-step of a step: only between steps the region changes.
    pub(super) fn look_around(&mut self, scene: &dyn Neighbourhood, size_m: u32, is_first: bool) {
        let is_ground_new = is_first && self.statics.renew_ground(scene, &mut self.engine);
        let colliders = scene.colliders();
        let mut changed = std::mem::take(&mut self.lists.changed);
        changed.clear();
        // True after a restart, and if more has changed than is remembered.
        let mut is_all_new = false;
        if is_first {
            match self.colliders_version.and_then(|version| colliders.changed_since(version)) {
                Some(all) => changed.extend(all.filter(|(id, _)| !self.parts.contains_key(id))),
                None => is_all_new = true,
            }
            let SceneEdits { prims, is_full } = &mut self.edits;
            changed.extend(prims.drain(..).filter(|(id, _)| !self.parts.contains_key(id)));
            is_all_new |= std::mem::take(is_full);
        }
        let mut stale = std::mem::take(&mut self.lists.stale);
        stale.clear();
        for (&root, body) in &self.bodies {
            let (at, speed) = self.engine.reach(body.handle, body.centre, body.radius);
            if body.leaves_area(at, speed) {
                let velocity = self.engine.velocity(body.handle);
                stale.push((root, body.area_around(at, speed, velocity)));
            } else if is_all_new
                || is_ground_new
                || self.disturbed.iter().any(|place| place.overlaps(&body.area))
                || changed.iter().any(|(_, place)| place.overlaps(&body.area))
            {
                stale.push((root, body.area));
            }
        }
        for &(root, area) in &stale {
            self.look_around_one(root, area, scene, size_m);
        }
        // Also those that no body needs any more since then.
        if is_all_new {
            self.statics.check_all_unused(scene, &mut self.engine);
        }
        for &(id, _) in &changed {
            self.statics.check_unused(id, scene, &mut self.engine);
        }
        if is_first {
            self.statics.trim(&mut self.engine);
        }
        (self.lists.stale, self.lists.changed) = (stale, changed);
        self.disturbed.clear();
        self.colliders_version = Some(colliders.version());
    }

    fn look_around_one(&mut self, root: LocalId, area: Aabb, scene: &dyn Neighbourhood, size_m: u32) {
        let Lists { mut found, mut fixed, mut patches, .. } = std::mem::take(&mut self.lists);
        found.clear();
        fixed.clear();
        let colliders = scene.colliders();
        let is_phantom = self.bodies.get(&root).is_none_or(|body| body.is_phantom);
        if !is_phantom {
            colliders.each_in(&area, |slot, _| {
                let (id, kind) = colliders.label(slot);
                if kind == ColliderKind::Solid && !self.parts.contains_key(&id) {
                    found.push((id, slot));
                }
            });
            // The order of the grid is that of its history.
            found.sort_unstable();
            let is_fixed =
                |surface: &PrimSurface| surface.sleeper.is_none_or(|root| !self.bodies.contains_key(&root));
            fixed.extend(found.iter().filter_map(|&(id, slot)| {
                let surface = scene.surface(id).filter(is_fixed)?;
                Some((id, slot, surface))
            }));
        }
        let Self { engine, bodies, statics, .. } = self;
        let body = bodies.get_mut(&root).expect("a body that was listed");
        body.area = area;
        for &(id, slot, surface) in &fixed {
            let is_new = body.prims.binary_search(&id).is_err();
            statics.hold(id, is_new, colliders.collider(slot), &surface, engine);
        }
        for &id in &body.prims {
            if fixed.binary_search_by_key(&id, |&(id, ..)| id).is_err() {
                statics.release(id);
            }
        }
        body.prims.clear();
        body.prims.extend(fixed.iter().map(|&(id, ..)| id));
        statics.patches_at(&area, scene, size_m, &mut patches);
        for &at in &patches {
            if !body.patches.contains(&at) {
                statics.hold_patch(at, scene, engine);
            }
        }
        for &at in &body.patches {
            if !patches.contains(&at) {
                statics.release_patch(at, engine);
            }
        }
        body.patches.clone_from(&patches);
        (self.lists.found, self.lists.fixed, self.lists.patches) = (found, fixed, patches);
    }

    /// Advances by one sub-step.
    pub(super) fn step(&mut self) {
        let is_near_static =
            |body: &Body| body.asleep == 0 && !(body.prims.is_empty() && body.patches.is_empty());
        self.engine.step(self.bodies.values().any(is_near_static));
    }

    /// Pulls a body for one sub-step, if it is there.
    pub(super) fn pull(&mut self, root: LocalId, grip: Vec3, pull: &Pull) {
        if let Some(body) = self.bodies.get(&root) {
            self.engine.pull(body.handle, grip, pull);
        }
    }

    /// Lists the sleepers that fast bodies touch.
    pub(super) fn wake_touched(&self, wakes: &mut WakeQueue, max: usize) {
        for body in self.bodies.values().filter(|body| body.asleep == 0) {
            let (_, speed) = self.engine.reach(body.handle, body.centre, body.radius);
            if speed >= WAKE_M_PER_S {
                self.engine.each_touched_sleeper(body.handle, |sleeper| {
                    wakes.push(sleeper, max);
                });
            }
        }
    }

    /// Counts the sub-steps of sleep, and removes bodies that have slept for long. Those that touch fell asleep together, so that they leave together.
    pub(super) fn let_sleepers_leave(&mut self) {
        let mut leaving = BTreeSet::new();
        for (&root, body) in &mut self.bodies {
            body.asleep = if self.engine.is_asleep(body.handle) { body.asleep + 1 } else { 0 };
            // One whose rest has not been reported stays until then.
            if body.asleep > LEAVE_SUB_STEPS && body.is_rest_known {
                leaving.insert(root);
            }
        }
        for root in leaving {
            self.remove(root);
        }
    }

    /// False for a state that no run leads to.
    pub(super) fn is_sound(&self) -> bool {
        self.engine.n_bodies() == self.bodies.len()
            && self.statics.is_sound(&self.engine)
            && self.parts.values().all(|root| self.bodies.contains_key(root))
            && self.bodies.iter().all(|(&root, body)| {
                self.engine.has_body(body.handle)
                    && self.engine.motion(root, body.handle).is_some()
                    && body.centre.is_finite()
                    && body.radius.is_finite()
                    && body.prims.is_sorted_by(|a, b| a < b)
            })
    }
}
