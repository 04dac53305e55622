//! Linksets that physics moves.
//!
//! [`Dynamics`] keeps a world of `rapier3d` for those that move, and none while none does. A linkset is woken ([`Dynamics::wake`], a hit, an edit), becomes
//! a body that collides with prims and ground near it, falls asleep, and leaves two seconds later: from then on it is one more static prim, which costs
//! nothing. The caller owns all state that lasts; what rapier needs of it comes through [`Neighbourhood`], and motions go back in an [`Outcome`].
//!
//! Time is divided into sub-steps of a sixtieth of a second. Equal calls give equal bits on every machine, also from [`Dynamics::save`] on. Not exact: solids
//! with dents are filled while physics moves their linkset; a linkset sleeps through what touches it slower than 0.1 m/s; avatars and bodies do not push
//! each other; ground cells are two triangles each. `docs/adr/0030-rapier.md` has the reasons.

mod body;
mod engine;
mod held;
mod neighbourhood;
mod outcome;
mod saved;
mod solid;
mod statics;
mod sub_steps;
#[cfg(test)]
mod tests;
mod wakes;

pub use engine::GRAVITY_M_PER_S2;
pub use neighbourhood::{BodyPart, BodyPlan, Neighbourhood, PrimSurface};
pub use outcome::{BodyMotion, Outcome, StopReason};
pub use saved::DynamicsError;

use crate::bounds::Aabb;
use engine::Pull;
use glam::Vec3;
use held::Held;
use ids::LocalId;
use serde::{Deserialize, Serialize};
use state_hash::StateHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use sub_steps::SubStepClock;
use wakes::WakeQueue;

/// Sleepers within this distance of a disturbed box wake, metres: they may have lain on what was there.
const TOUCH_M: f32 = 0.05;
/// Pull of a drag: a spring of 8 rad/s, critically damped.
const DRAG_STIFFNESS: f32 = 64.0;
const DRAG_DAMPING: f32 = 16.0;
/// Acceleration by a drag at most, m/s²: its force is at most this × mass.
const DRAG_MAX_M_PER_S2: f32 = 40.0;
/// Least distance of a drag's target from the borders, metres.
const EDGE_M: f32 = 1.0;
/// Offset of a gripped point from the root along each axis, at most, metres: parts are no farther.
const GRIP_MAX_M: f32 = 512.0;
/// Share of a dragged body's spin that is left after a sub-step: it does not swing for long.
const DRAG_SPIN_LEFT: f32 = 0.95;

/// Bounds of one region's bodies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DynamicsSettings {
    /// Width of the region, metres: a multiple of 16.
    pub size_m: u32,
    /// Bodies in rapier, at most; as many linksets may wait, asleep. The default is the greatest `region.max_physical`, so that only damaged states and
    /// callers with a lower bound reach it.
    pub bodies_max: usize,
    /// Bodies that wake in one sub-step. Each costs 24–68 µs beside its step (500 in one sub-step took 12–34 ms): 32 are 2 ms at most.
    pub wakes_per_sub_step: usize,
    /// A body whose root is lower has left the region, metres.
    pub low_z: f32,
    /// A body whose root is higher has left the region, metres.
    pub high_z: f32,
}

impl DynamicsSettings {
    /// Settings of a region of this width by default.
    #[must_use]
    pub const fn new(size_m: u32) -> Self {
        Self { size_m, bodies_max: 10_000, wakes_per_sub_step: 32, low_z: -100.0, high_z: 4_096.0 }
    }

    /// True for a place of a body in the region.
    fn holds(&self, position: Vec3) -> bool {
        let side = 0.0..=self.size_m as f32;
        side.contains(&position.x)
            && side.contains(&position.y)
            && (self.low_z..=self.high_z).contains(&position.z)
    }
}

/// Moving linksets of a region.
///
/// Without one it holds no memory but its own few hundred bytes, and a step does nothing.
#[derive(Debug)]
pub struct Dynamics {
    settings: DynamicsSettings,
    state: State,
    /// Scratch for a description.
    plan: BodyPlan,
}

/// All that decides the future, beside the region's own state.
#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    clock: SubStepClock,
    wakes: WakeQueue,
    /// Linksets that were edited since the last step.
    edited: BTreeSet<LocalId>,
    /// Dragged linksets by root.
    drags: BTreeMap<LocalId, Drag>,
    /// None while nothing moves.
    held: Option<Box<Held>>,
}

/// A drag of a linkset.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Drag {
    /// The dragged point, in the axes of the root.
    grip: Vec3,
    /// Its target, metres from the region's corner.
    target: Vec3,
}

impl Dynamics {
    /// Nothing moves yet.
    #[must_use]
    pub fn new(settings: DynamicsSettings) -> Self {
        Self { settings, state: State::default(), plan: BodyPlan::default() }
    }

    /// Wakes a linkset in one of the next sub-steps: it became physical, was set in motion, or has to fall. A linkset that physics does not move stays
    /// where it is. False if too many wait.
    pub fn wake(&mut self, root: LocalId) -> bool {
        self.state.wakes.push(root, self.settings.bodies_max)
    }

    /// Reports an edit of a prim that may be moving: removed, moved, cut, relinked, no longer physical. The body that had it as a part takes over the new description of its
    /// linkset, place and velocity included. Others are not concerned.
    pub fn edited(&mut self, prim: LocalId) {
        let body = self.state.held.as_ref().and_then(|held| held.body_of(prim));
        self.state.edited.extend(body);
        if self.has_body(prim) {
            self.state.edited.insert(prim);
        }
        if self.state.drags.contains_key(&prim) {
            self.wake(prim);
        }
    }

    /// Reports a prim that this step has changed or removed, with its place before: bodies near it look at their surroundings anew.
    pub fn scene_edited(&mut self, prim: LocalId, place: Aabb) {
        if let Some(held) = &mut self.state.held {
            held.note_edit(prim, place);
        }
    }

    /// Wakes the sleeping linksets that touch a box: something in it came, went or changed.
    pub fn disturb(&mut self, place: &Aabb, scene: &dyn Neighbourhood) {
        let colliders = scene.colliders();
        let sleepers: BTreeSet<LocalId> = colliders
            .ids_in(&place.grown(Vec3::splat(TOUCH_M)))
            .into_iter()
            .filter_map(|id| scene.surface(id)?.sleeper)
            .collect();
        for root in sleepers {
            self.wake(root);
        }
    }

    /// Drags a linkset by a point of it, given in the axes of its root, towards a target, from now on and until [`Self::release`]. The force is at most 40 m/s² ×
    /// mass. False for points that are not finite, and if too many linksets are dragged or wait to wake.
    pub fn drag(&mut self, root: LocalId, grip: Vec3, target: Vec3) -> bool {
        let drags = &self.state.drags;
        let has_room = drags.len() < self.settings.bodies_max || drags.contains_key(&root);
        if !grip.is_finite() || !target.is_finite() || !has_room {
            return false;
        }
        // Within the border, across which a body is lost.
        let DynamicsSettings { size_m, low_z, high_z, .. } = self.settings;
        let least = Vec3::new(EDGE_M, EDGE_M, low_z + EDGE_M);
        let most = Vec3::new(size_m as f32 - EDGE_M, size_m as f32 - EDGE_M, high_z - EDGE_M);
        let target = target.clamp(least, most);
        if !self.wake(root) {
            return false;
        }
        let grip = grip.clamp(Vec3::splat(-GRIP_MAX_M), Vec3::splat(GRIP_MAX_M));
        self.state.drags.insert(root, Drag { grip, target });
        true
    }

    /// Ends a drag; false if there is none.
    pub fn release(&mut self, root: LocalId) -> bool {
        self.state.drags.remove(&root).is_some()
    }

    /// Advances by a tick's time, and overwrites `out`.
    pub fn step(&mut self, dt: Duration, scene: &mut dyn Neighbourhood, out: &mut Outcome) {
        out.clear();
        let sub_steps = self.state.clock.due(dt);
        if self.is_idle() || sub_steps == 0 {
            return;
        }
        self.take_over_edits(scene, out);
        for sub_step in 0..sub_steps {
            self.wake_some(scene, out);
            self.sub_step(scene, sub_step == 0, out);
        }
        self.report(out);
        let State { wakes, held, .. } = &mut self.state;
        if wakes.is_empty() && held.as_ref().is_none_or(|held| held.bodies.is_empty()) {
            *held = None;
        }
    }

    /// True if nothing moves and nothing waits: a step would change nothing but its clock.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.state.held.is_none() && self.state.wakes.is_empty()
    }

    /// Bodies in rapier, those included that fell asleep within the last two seconds.
    #[must_use]
    pub fn n_bodies(&self) -> usize {
        self.state.held.as_ref().map_or(0, |held| held.bodies.len())
    }

    /// Bodies that are awake.
    #[must_use]
    pub fn n_awake(&self) -> usize {
        self.state.held.as_ref().map_or(0, |held| held.engine.n_awake())
    }

    /// Static prims in rapier.
    #[must_use]
    pub fn n_static_prims(&self) -> usize {
        self.state.held.as_ref().map_or(0, |held| held.statics.n_prims())
    }

    /// Linksets that wait to be woken.
    #[must_use]
    pub fn n_waiting(&self) -> usize {
        self.state.wakes.len()
    }

    /// Folds into a hash what tells two states apart at once: clock, queue, edits, drags, number of bodies. Motions are the caller's.
    pub fn fold_into(&self, hasher: &mut StateHasher) {
        let State { clock, wakes, edited, drags, .. } = &self.state;
        hasher.u64(clock.carry());
        wakes.iter().chain(edited.iter().copied()).for_each(|root| hasher.u32(root.0));
        for (root, drag) in drags {
            hasher.u32(root.0);
            hasher.vec3(drag.grip);
            hasher.vec3(drag.target);
        }
        hasher.u64((self.n_bodies() as u64) << 32 | self.n_waiting() as u64);
    }

    /// True for a linkset that rapier moves.
    #[must_use]
    pub fn has_body(&self, root: LocalId) -> bool {
        self.state.held.as_ref().is_some_and(|held| held.bodies.contains_key(&root))
    }

    fn take_over_edits(&mut self, scene: &mut dyn Neighbourhood, out: &mut Outcome) {
        for root in std::mem::take(&mut self.state.edited) {
            let Some(held) = &mut self.state.held else { return };
            if !held.bodies.contains_key(&root) {
                continue;
            }
            self.plan.clear();
            let stopped = if !scene.describe(root, &mut self.plan) {
                None
            } else if !self.plan.is_sound() {
                Some(StopReason::NotANumber)
            } else if held.replace(root, &self.plan) {
                continue;
            } else {
                Some(StopReason::NoSolid)
            };
            held.remove(root);
            self.state.drags.remove(&root);
            out.stopped.extend(stopped.map(|reason| (root, reason)));
        }
    }

    /// Makes bodies of the linksets that have waited longest.
    fn wake_some(&mut self, scene: &mut dyn Neighbourhood, out: &mut Outcome) {
        for _ in 0..self.settings.wakes_per_sub_step {
            let n_bodies = self.n_bodies();
            let Some(root) = self.state.wakes.pop() else { return };
            if let Some(held) = &mut self.state.held
                && let Some(body) = held.bodies.get(&root)
            {
                held.engine.wake(body.handle);
                continue;
            }
            if n_bodies >= self.settings.bodies_max {
                // Behind those that ask now: it falls when there is room.
                self.wake(root);
                return;
            }
            self.plan.clear();
            let stopped = if !scene.describe(root, &mut self.plan) {
                None
            } else if !self.plan.is_sound() {
                Some(StopReason::NotANumber)
            } else {
                let held = self.state.held.get_or_insert_with(|| Box::new(Held::new()));
                if held.add(root, &self.plan) {
                    continue;
                }
                Some(StopReason::NoSolid)
            };
            self.state.drags.remove(&root);
            out.stopped.extend(stopped.map(|reason| (root, reason)));
        }
    }

    fn sub_step(&mut self, scene: &dyn Neighbourhood, is_first: bool, out: &mut Outcome) {
        let State { drags, held, .. } = &mut self.state;
        let Some(held) = held else { return };
        held.look_around(scene, self.settings.size_m, is_first);
        for (&root, drag) in drags.iter() {
            let pull = Pull {
                target: drag.target,
                stiffness: DRAG_STIFFNESS,
                damping: DRAG_DAMPING,
                most: DRAG_MAX_M_PER_S2,
                spin_left: DRAG_SPIN_LEFT,
            };
            held.pull(root, drag.grip, &pull);
        }
        held.step();
        let mut broken = BTreeSet::new();
        held.engine.each_broken(|root| {
            broken.insert(root);
        });
        broken.into_iter().for_each(|root| self.stop(root, out));
        self.let_leavers_go(out);
        let State { wakes, held, .. } = &mut self.state;
        if let Some(held) = held {
            held.wake_touched(wakes, self.settings.bodies_max);
            held.let_sleepers_leave();
        }
    }

    /// Takes out a body whose state became non-finite, and reports it at rest at its last valid position.
    fn stop(&mut self, root: LocalId, out: &mut Outcome) {
        let Some(held) = &mut self.state.held else { return };
        let Some(body) = held.bodies.get(&root) else { return };
        out.moved.extend(held.engine.motion(root, body.handle).map(at_rest));
        out.stopped.push((root, StopReason::NotANumber));
        held.remove(root);
        self.state.drags.remove(&root);
    }

    /// Takes out the bodies that left the region.
    fn let_leavers_go(&mut self, out: &mut Outcome) {
        let Some(held) = &mut self.state.held else { return };
        let n_left = out.left.len();
        for (&root, body) in held.bodies.iter().filter(|(_, body)| body.asleep == 0) {
            let motion = held.engine.motion(root, body.handle);
            out.left.extend(motion.filter(|motion| !self.settings.holds(motion.position)));
        }
        for BodyMotion { root, .. } in &out.left[n_left..] {
            held.remove(*root);
            self.state.drags.remove(root);
        }
    }

    /// Lists the motions of a step.
    fn report(&mut self, out: &mut Outcome) {
        let State { drags, held, .. } = &mut self.state;
        let Some(held) = held else { return };
        let mut broken = Vec::new();
        for (&root, body) in &mut held.bodies {
            let is_asleep = body.asleep > 0;
            if is_asleep && body.is_rest_known {
                continue;
            }
            body.is_rest_known = is_asleep;
            match held.engine.motion(root, body.handle) {
                Some(motion) if is_asleep => out.moved.push(at_rest(motion)),
                Some(motion) => {
                    let is_free = !drags.contains_key(&root);
                    let acceleration = if is_free { held.engine.free_fall(body.handle) } else { Vec3::ZERO };
                    out.moved.push(BodyMotion { acceleration, ..motion });
                }
                None => broken.push(root),
            }
        }
        broken.into_iter().for_each(|root| self.stop(root, out));
        // Bodies that were stopped are in it already.
        out.moved.sort_unstable_by_key(|motion| motion.root);
    }
}

/// The same place without velocities.
fn at_rest(motion: BodyMotion) -> BodyMotion {
    BodyMotion { velocity: Vec3::ZERO, angular_velocity: Vec3::ZERO, acceleration: Vec3::ZERO, ..motion }
}
