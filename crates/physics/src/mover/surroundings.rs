//! Pieces of surface around one avatar, kept from step to step.

use super::memory::{Heights, StepMemory};
use super::obstacles::{Obstacles, ReachLists};
use super::{AvatarStep, Moved};
use crate::bounds::Aabb;
use crate::colliders::{ColliderKind, Colliders};
use glam::{Vec2, Vec3};
use ids::LocalId;

/// Windows, the widest first: metres beyond a step to each side, and surfaces at most. With more surfaces the next window is used, in the end the box of
/// the step itself. If even that has more than [`SURFACES_MAX`], the prims with the highest ids are passed through.
const WINDOWS: [(f32, usize); 2] = [(0.15, 384), (0.1, SURFACES_MAX)];
/// Up and down the first window reaches no farther beyond a step, metres: floors are level.
const UPRIGHT_MARGIN_M: f32 = 0.1;
/// Surfaces (facets and upright boxes) at most.
const SURFACES_MAX: usize = 4_096;
/// Steps ahead that the first window covers.
const STEPS_AHEAD: f32 = 4.0;
/// It reaches no farther ahead than this, metres.
const AHEAD_MAX_M: f32 = 2.0;
/// Places are relative to a corner of the square of this width that a step begins in, for precision. A power of two, so that no bit is lost.
const SQUARE_M: f32 = 4.0;

/// The surfaces of solid prims in a window around an avatar. They are looked up again when a step leaves the window, or when the store has changed
/// there.
///
/// A cache, derived from the store and from the steps: movements are the same with an empty one. It belongs to one avatar and one store. Memory: about
/// 130 bytes a surface; a window has some dozens, at most 4,096 and those of the last prim.
#[derive(Clone, Debug)]
pub struct Surroundings {
    window: Aabb,
    /// Version of the store that it is up to date with.
    version: u64,
    origin: Vec2,
    obstacles: Obstacles,
    /// The surfaces of the window exceeded [`SURFACES_MAX`], and some are missing: `obstacles` hold for a step with exactly this window.
    is_cut: bool,
    /// Displacement of the last step, if an obstacle was in its way: a better guess of the next displacement than the next wish.
    last_way: Option<Vec2>,
    memory: StepMemory,
    /// Scratch of a step.
    pub(super) lists: ReachLists,
}

impl Default for Surroundings {
    fn default() -> Self {
        Self {
            window: Aabb::EMPTY,
            version: 0,
            origin: Vec2::ZERO,
            obstacles: Obstacles::default(),
            is_cut: false,
            last_way: None,
            memory: StepMemory::default(),
            lists: ReachLists::default(),
        }
    }
}

impl Surroundings {
    /// True if nothing has changed in the window since the last step: an avatar at rest stays at rest.
    #[must_use]
    pub fn is_current(&self, colliders: &Colliders) -> bool {
        self.version == colliders.version() || !colliders.has_changed(&self.window, self.version)
    }

    /// Number of pieces in the window.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.obstacles.len()
    }

    /// True without pieces in the window.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.obstacles.is_empty()
    }

    /// Origin of the coordinates of a step that begins here.
    pub(super) fn origin(from: Vec2) -> Vec2 {
        (from / SQUARE_M).floor() * SQUARE_M
    }

    /// The result of a step that was made before in the same surroundings, if it is known.
    pub(super) fn recall(
        &mut self,
        colliders: &Colliders,
        step: &AvatarStep,
        ground: impl Fn(Vec2) -> f32,
    ) -> Option<Moved> {
        if self.memory.is_empty() {
            return None;
        }
        let moved = self.memory.recall(step, ground).filter(|_| self.is_current(colliders))?;
        self.version = colliders.version();
        Some(moved)
    }

    /// Notes the result of the last step.
    pub(super) fn remember(&mut self, step: &AvatarStep, heights: &Heights, moved: &Moved) {
        self.last_way = moved.hit.map(|_| (moved.position - step.from).truncate());
        self.memory.remember(step, heights, moved);
    }

    /// All pieces in the area of a step, and perhaps more, relative to an origin. `way` is the step's.
    pub(super) fn around(
        &mut self,
        colliders: &Colliders,
        area: &Aabb,
        way: Vec2,
        origin: Vec2,
    ) -> &Obstacles {
        let has_area = if self.is_cut { self.window == *area } else { self.window.contains(area) };
        if !has_area || self.origin != origin || !self.is_current(colliders) {
            self.refill(colliders, area, way, origin);
        }
        self.version = colliders.version();
        &self.obstacles
    }

    /// Collects the pieces in a window around an area: the largest one that has not too many of them.
    #[cold]
    fn refill(&mut self, colliders: &Colliders, area: &Aabb, way: Vec2, origin: Vec2) {
        self.memory.clear();
        self.obstacles.clear();
        self.origin = origin;
        self.is_cut = false;
        let [(margin, mut pieces_max), smaller @ ..] = WINDOWS;
        let mut smaller = smaller.into_iter();
        let ahead = (self.last_way.unwrap_or(way) * STEPS_AHEAD).clamp_length_max(AHEAD_MAX_M).extend(0.0);
        let wide = area.grown(Vec3::splat(margin).with_z(UPRIGHT_MARGIN_M));
        self.window = Aabb { low: wide.low + ahead.min(Vec3::ZERO), high: wide.high + ahead.max(Vec3::ZERO) };
        // Of all prims near an avatar few are as close as this: the list is short, and on the stack.
        let mut near: smallvec::SmallVec<[(LocalId, u32); 64]> = smallvec::SmallVec::new();
        colliders.each_in(&self.window, |slot, _| {
            let (id, kind) = colliders.label(slot);
            if kind == ColliderKind::Solid {
                near.push((id, slot));
            }
        });
        near.sort_unstable();
        for &(id, slot) in &near {
            let bounds = colliders.bounds(slot);
            if !bounds.overlaps(&self.window) {
                continue;
            }
            self.obstacles.add(id, colliders.collider(slot), bounds, &self.window, origin);
            while self.obstacles.len() > pieces_max {
                let Some((margin, most)) = smaller.next() else {
                    self.collect_area(colliders, &near, area, origin);
                    return;
                };
                pieces_max = most;
                self.window = area.grown(Vec3::splat(margin));
                self.obstacles.shrink(&self.window, origin);
            }
        }
    }

    /// Collects the pieces in the area of one step anew, as many as there may be: which ones these are must not depend on the windows before.
    fn collect_area(&mut self, colliders: &Colliders, near: &[(LocalId, u32)], area: &Aabb, origin: Vec2) {
        self.window = *area;
        self.obstacles.clear();
        for &(id, slot) in near {
            let bounds = colliders.bounds(slot);
            if !bounds.overlaps(area) {
                continue;
            }
            self.obstacles.add(id, colliders.collider(slot), bounds, area, origin);
            if self.obstacles.len() > SURFACES_MAX {
                self.is_cut = true;
                return;
            }
        }
    }
}
