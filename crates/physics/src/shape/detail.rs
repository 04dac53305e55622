//! Level of detail of a mesh.

use glam::Vec3;

/// Sizes of prims, metres, and the sides of their circles up to that size. The sides of a circle of that size lie within 2 cm of it, which an avatar
/// may overlap anyway.
const SIDES_BY_SIZE: [(f32, u32); 3] = [(0.5, 8), (1.0, 12), (2.0, 16)];
/// Sides of larger ones.
const SIDES_MAX: u32 = 24;
/// Sides of the profile that is swept around a circle, whose radius is at most half as large.
const SIDES_MIN: u32 = 8;

/// Number of triangles of round things.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Detail {
    sides: u32,
}

impl Detail {
    /// The detail of prims of this scale.
    pub(super) fn of_scale(scale: Vec3) -> Self {
        let size = scale.max_element();
        let sides =
            SIDES_BY_SIZE.into_iter().find(|&(most, _)| size <= most).map_or(SIDES_MAX, |(_, sides)| sides);
        Self { sides }
    }

    /// Sides of a circle, and steps of a path for each turn.
    pub(super) const fn circle_sides(self) -> u32 {
        self.sides
    }

    /// Sides of a circle that is swept around a circle.
    pub(super) const fn tube_sides(self) -> u32 {
        if self.sides / 2 > SIDES_MIN { self.sides / 2 } else { SIDES_MIN }
    }

    /// Steps of a line whose sides are bent.
    pub(super) const fn bent_steps(self) -> u32 {
        self.sides / 3
    }
}
