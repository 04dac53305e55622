//! Movement of avatars and objects.

use glam::{Quat, Vec3};
use serde::{Deserialize, Serialize};

/// Position and movement, as the clients extrapolate them. The default rests at the corner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Motion {
    /// Centre, metres from the region's corner.
    pub position: Vec3,
    /// Metres per second; zero when the entity rests.
    pub velocity: Vec3,
    /// Metres per second squared; zero for avatars.
    pub acceleration: Vec3,
    /// Unit quaternion.
    pub rotation: Quat,
    /// Radians per second about each axis.
    pub angular_velocity: Vec3,
}

impl Motion {
    /// True without velocity, acceleration and rotation: viewers extrapolate every other motion without limit.
    #[must_use]
    pub fn at_rest(&self) -> bool {
        self.velocity == Vec3::ZERO && self.acceleration == Vec3::ZERO && self.angular_velocity == Vec3::ZERO
    }
}
