//! Pieces of surface around one avatar, kept from step to step.

use super::obstacles::Obstacles;
use crate::bounds::Aabb;
use crate::colliders::{ColliderKind, Colliders};
use glam::{Vec2, Vec3};
use ids::LocalId;

/// Metres that a window reaches beyond a step, to each side and up and down, and the pieces that it has at most; with more of them the next smaller
/// window is tried. A walker fills the first one anew every ten steps or so. In a heap with more than the last one may have, the prims with the highest
/// ids are passed through.
const WINDOWS: [(f32, usize); 3] = [(0.5, 384), (0.15, 768), (0.0, 4_096)];
/// Places are relative to a corner of the square of this width that a step begins in, for precision. A power of two, so that no bit is lost.
const SQUARE_M: f32 = 4.0;

/// The surfaces of solid prims in a window around an avatar. They are looked up again when a step leaves the window, or when the store has changed
/// there.
///
/// They follow from the store and from the steps, and decide nothing by themselves: empty ones give the same movements. They belong to one avatar and
/// one store. Memory: about 100 bytes a piece; a window has some dozens, 768 at most unless a single step has more.
#[derive(Clone, Debug)]
pub struct Surroundings {
    window: Aabb,
    /// Version of the store that it is up to date with.
    version: u64,
    origin: Vec2,
    obstacles: Obstacles,
}

impl Default for Surroundings {
    fn default() -> Self {
        Self { window: Aabb::EMPTY, version: 0, origin: Vec2::ZERO, obstacles: Obstacles::default() }
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

    /// All pieces in an area, and perhaps more, relative to an origin.
    pub(super) fn around(&mut self, colliders: &Colliders, area: &Aabb, origin: Vec2) -> &Obstacles {
        if !self.window.contains(area) || self.origin != origin || !self.is_current(colliders) {
            self.refill(colliders, area, origin);
        }
        self.version = colliders.version();
        &self.obstacles
    }

    #[cold]
    fn refill(&mut self, colliders: &Colliders, area: &Aabb, origin: Vec2) {
        self.origin = origin;
        for (margin, pieces_max) in WINDOWS {
            self.window = area.grown(Vec3::splat(margin));
            if self.fill(colliders, pieces_max) {
                return;
            }
        }
    }

    /// Collects the pieces in the window; false if there are too many.
    fn fill(&mut self, colliders: &Colliders, pieces_max: usize) -> bool {
        self.obstacles.clear();
        // Of all prims near an avatar few are as close as this: the list is short, and on the stack.
        let mut near: smallvec::SmallVec<[(LocalId, u32); 64]> = smallvec::SmallVec::new();
        colliders.each_in(&self.window, |slot, _| {
            let (id, kind) = colliders.label(slot);
            if kind == ColliderKind::Solid {
                near.push((id, slot));
            }
        });
        near.sort_unstable();
        for (id, slot) in near {
            self.obstacles.add(id, colliders.collider(slot), &self.window, self.origin);
            if self.obstacles.len() > pieces_max {
                return false;
            }
        }
        true
    }
}
