//! Properties of a prim that only physics reads.
//!
//! Ranges and defaults are those of OpenSimulator, whose archives contain them. It ignores a number outside of its range; here the nearest one in
//! range is taken.

use serde::{Deserialize, Serialize};
use state_hash::StateHasher;

/// Density of a prim, kg/m³.
const DENSITY_RANGE: (f32, f32) = (1.0, 22_587.0);
const FRICTION_RANGE: (f32, f32) = (0.0, 255.0);
const RESTITUTION_RANGE: (f32, f32) = (0.0, 1.0);
const GRAVITY_RANGE: (f32, f32) = (-1.0, 28.0);

/// Form of a prim in collisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum PhysicsShape {
    /// As it is drawn, holes included.
    #[default]
    Prim = 0,
    /// None: the prim collides with nothing, while other parts of its linkset do.
    None = 1,
    /// Its convex hull.
    Convex = 2,
}

impl PhysicsShape {
    /// The form with this code in messages.
    #[must_use]
    pub const fn of_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Prim),
            1 => Some(Self::None),
            2 => Some(Self::Convex),
            _ => None,
        }
    }
}

/// Form and matter of a prim in collisions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrimPhysics {
    /// Form.
    pub shape: PhysicsShape,
    /// Mass per volume, 1–22,587 kg/m³.
    pub density: f32,
    /// Coefficient of friction, 0–255.
    pub friction: f32,
    /// Part of the speed that is left after a bounce, 0–1.
    pub restitution: f32,
    /// Factor of gravity, −1–28.
    pub gravity: f32,
}

impl Default for PrimPhysics {
    fn default() -> Self {
        Self { shape: PhysicsShape::Prim, density: 1_000.0, friction: 0.6, restitution: 0.5, gravity: 1.0 }
    }
}

impl PrimPhysics {
    /// With the nearest numbers in range; `None` if one is infinite or not a number.
    #[must_use]
    pub fn clamped(self) -> Option<Self> {
        let Self { shape, density, friction, restitution, gravity } = self;
        let within =
            |value: f32, (least, most): (f32, f32)| value.is_finite().then(|| value.clamp(least, most));
        Some(Self {
            shape,
            density: within(density, DENSITY_RANGE)?,
            friction: within(friction, FRICTION_RANGE)?,
            restitution: within(restitution, RESTITUTION_RANGE)?,
            gravity: within(gravity, GRAVITY_RANGE)?,
        })
    }

    /// Folds all of it into a hash of state.
    pub fn fold_into(&self, hasher: &mut StateHasher) {
        let Self { shape, density, friction, restitution, gravity } = self;
        hasher.u32(*shape as u32);
        for value in [density, friction, restitution, gravity] {
            hasher.f32(*value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matter_is_cut_to_its_ranges() {
        let plain = PrimPhysics::default();
        assert_eq!(plain.clamped(), Some(plain));
        let heavy = PrimPhysics { density: 1e9, friction: -1.0, restitution: 2.0, gravity: -5.0, ..plain };
        let cut = PrimPhysics { density: 22_587.0, friction: 0.0, restitution: 1.0, gravity: -1.0, ..plain };
        assert_eq!(heavy.clamped(), Some(cut));
    }

    #[test]
    fn matter_that_is_no_number_is_refused() {
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert_eq!(PrimPhysics { density: value, ..PrimPhysics::default() }.clamped(), None);
            assert_eq!(PrimPhysics { gravity: value, ..PrimPhysics::default() }.clamped(), None);
        }
    }
}
