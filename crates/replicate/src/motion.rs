//! Movement in the terms of the wire.

use link::Motion;
use wire::object_update::FullMotion;

/// A motion as full updates have it.
pub(crate) const fn full_motion(motion: &Motion) -> FullMotion {
    FullMotion {
        position: motion.position,
        velocity: motion.velocity,
        acceleration: motion.acceleration,
        rotation: motion.rotation,
        angular_velocity: motion.angular_velocity,
    }
}
