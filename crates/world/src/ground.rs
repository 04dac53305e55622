//! Possible places of an avatar: terrain, water, borders and ceiling of the region, and the way back from outside them.

use glam::{Vec2, Vec3};
use link::{CEILING_M, Terrain};
use std::sync::Arc;

/// Avatars stop so far from the region's border, metres: far enough that no viewer sees them in the next region.
pub const BORDER_MARGIN_M: f32 = 0.5;

/// The solid surroundings of a world.
#[derive(Clone, Debug)]
pub(crate) struct SolidGround {
    /// That of the world's description, which other worlds share, or a copy with edits.
    pub(crate) terrain: Arc<Terrain>,
    pub(crate) water_m: f32,
}

impl SolidGround {
    /// The nearest point within the borders.
    pub(crate) fn within(&self, at: Vec2) -> Vec2 {
        let far = self.terrain.size_m() as f32 - BORDER_MARGIN_M;
        at.clamp(Vec2::splat(BORDER_MARGIN_M), Vec2::splat(far))
    }

    /// Height of the ground, metres.
    pub(crate) fn height(&self, at: Vec2) -> f32 {
        self.terrain.facet(at).0
    }

    /// Metres up per metre along x and y.
    pub(crate) fn slope(&self, at: Vec2) -> Vec2 {
        self.terrain.facet(at).1
    }

    /// Height of the surface below a flyer: ground or water.
    pub(crate) fn surface(&self, at: Vec2) -> f32 {
        self.height(at).max(self.water_m)
    }

    /// True if an avatar's centre can be here; a rounded height counts as on the ground.
    pub(crate) fn holds(&self, position: Vec3, half_height: f32) -> bool {
        position.is_finite() && self.recover(position, half_height).distance(position) < 0.5
    }

    /// The nearest possible place of an avatar's centre: inside the borders, above the ground, below the ceiling. A position that is
    /// not finite becomes the middle of the region.
    pub(crate) fn recover(&self, position: Vec3, half_height: f32) -> Vec3 {
        let middle = Vec2::splat(self.terrain.size_m() as f32 / 2.0);
        let (at, z) = if position.is_finite() { (position.truncate(), position.z) } else { (middle, 0.0) };
        let at = self.within(at);
        at.extend(z.min(CEILING_M - half_height).max(self.height(at) + half_height))
    }
}
