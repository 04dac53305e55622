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

    /// The motion after so many seconds, as clients extrapolate it.
    #[must_use]
    pub fn after(&self, seconds: f32) -> Self {
        if self.at_rest() {
            return *self;
        }
        let Self { position, velocity, acceleration, rotation, angular_velocity } = *self;
        let turned = Quat::from_scaled_axis(angular_velocity * seconds) * rotation;
        Self {
            position: position + velocity * seconds + acceleration * (seconds * seconds / 2.0),
            velocity: velocity + acceleration * seconds,
            rotation: turned.normalize(),
            ..*self
        }
    }
}
