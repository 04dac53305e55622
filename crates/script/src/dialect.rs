//! The two sets of rules by which values are computed and stored.

use crate::value::{Rotation, Vector};
use serde::{Deserialize, Serialize};

/// Rules of a script. They belong to its program, since objects travel between worlds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Dialect {
    /// Second Life's: intermediate results are doubles, stored floats are float32.
    Sl,
    /// OpenSimulator's: doubles everywhere.
    OpenSim,
}

impl Dialect {
    /// A float as a variable, a parameter, a return value, a component or a list element keeps it. All NaNs become one, since their bits differ between
    /// processors.
    #[must_use]
    pub fn float(self, value: f64) -> f64 {
        if value.is_nan() {
            return f64::NAN;
        }
        match self {
            Self::Sl => f64::from(value as f32),
            Self::OpenSim => value,
        }
    }

    /// A vector of components that are stored by [`Self::float`].
    #[must_use]
    pub fn vector(self, value: Vector) -> Vector {
        Vector { x: self.float(value.x), y: self.float(value.y), z: self.float(value.z) }
    }

    /// A rotation of components that are stored by [`Self::float`].
    #[must_use]
    pub fn rotation(self, value: Rotation) -> Rotation {
        Rotation {
            x: self.float(value.x),
            y: self.float(value.y),
            z: self.float(value.z),
            s: self.float(value.s),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_stored_in_32_bits_by_sl_and_in_64_by_opensim() {
        for (value, sl, opensim) in [
            (0.1, f64::from(0.1_f32), 0.1),
            (16_777_217.0, 16_777_216.0, 16_777_217.0),
            (1e300, f64::INFINITY, 1e300),
            (-1e300, f64::NEG_INFINITY, -1e300),
            (1e-300, 0.0, 1e-300),
        ] {
            assert_eq!(Dialect::Sl.float(value), sl, "{value}");
            assert_eq!(Dialect::OpenSim.float(value), opensim, "{value}");
        }
    }

    #[test]
    fn stored_nans_have_the_same_bits() {
        for dialect in [Dialect::Sl, Dialect::OpenSim] {
            assert_eq!(dialect.float(-f64::NAN).to_bits(), f64::NAN.to_bits());
            let vector = dialect.vector(Vector { x: -f64::NAN, y: 0.1, z: 1.0 });
            assert_eq!(vector.x.to_bits(), f64::NAN.to_bits());
        }
    }
}
