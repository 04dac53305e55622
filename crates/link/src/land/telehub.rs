//! Telehubs: where teleports into a region arrive that allows no direct ones.

use glam::{Quat, Vec3};
use ids::{AgentId, Uuid};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Points of arrival at most: as many as viewers show.
pub const SPAWN_POINTS_MAX: usize = 16;
/// Bytes of a name at most.
const NAME_MAX: usize = 63;
/// Metres of a point from the hub along each axis at most: more than a region is wide.
const REACH_M: f32 = 4_096.0;

/// The telehub of a region.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Telehub {
    /// The object that marks it. It may be gone.
    pub object: Uuid,
    /// Name of the object when it was connected, at most 63 bytes.
    pub name: Arc<str>,
    /// Its place then, metres from the region's corner.
    pub position: Vec3,
    /// Its rotation then.
    pub rotation: Quat,
    /// Points of arrival, metres from the hub along its axes.
    pub spawn_points: Vec<Vec3>,
}

impl Telehub {
    /// True if an estate can have it.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let is_point = |point: &Vec3| point.is_finite() && point.abs().max_element() <= REACH_M;
        self.name.len() <= NAME_MAX
            && is_point(&self.position)
            && self.rotation.is_finite()
            && self.rotation.is_normalized()
            && self.spawn_points.len() <= SPAWN_POINTS_MAX
            && self.spawn_points.iter().all(is_point)
    }

    /// A place in the region as a point of arrival.
    #[must_use]
    pub fn beside(&self, place: Vec3) -> Vec3 {
        self.rotation.inverse() * (place - self.position)
    }

    /// Place at which a user arrives, metres from the region's corner. Users are spread over the points by their ids; without points it is the hub.
    #[must_use]
    pub fn arrival_of(&self, agent: AgentId) -> Vec3 {
        let Some(n_points) = u64::try_from(self.spawn_points.len()).ok().filter(|n| *n > 0) else {
            return self.position;
        };
        let (high, low) = agent.0.as_u64_pair();
        let point = state_hash::mix(high ^ low) % n_points;
        self.position + self.rotation * self.spawn_points[point as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f32::consts::FRAC_PI_2;

    fn telehub() -> Telehub {
        Telehub {
            object: Uuid::from_u128(1),
            name: "Hub".into(),
            position: Vec3::new(100.0, 50.0, 25.0),
            rotation: Quat::from_rotation_z(FRAC_PI_2),
            spawn_points: Vec::new(),
        }
    }

    #[test]
    fn users_are_spread_over_the_points_and_come_to_the_hub_without() {
        let mut hub = telehub();
        let users: Vec<AgentId> = (0..100).map(|n| AgentId(Uuid::from_u128(n))).collect();
        assert_eq!(hub.arrival_of(users[0]), hub.position);
        let places = [Vec3::new(110.0, 50.0, 25.0), Vec3::new(100.0, 60.0, 25.0)];
        hub.spawn_points = places.map(|place| hub.beside(place)).to_vec();
        assert!(hub.spawn_points[0].distance(Vec3::new(0.0, -10.0, 0.0)) < 1e-4, "along its axes");
        let at =
            |place: &Vec3| users.iter().filter(|user| hub.arrival_of(**user).distance(*place) < 1e-4).count();
        let counts = places.each_ref().map(at);
        assert!(counts[0] + counts[1] == 100 && counts.iter().all(|n| *n > 25), "{counts:?}");
    }

    #[test]
    fn a_telehub_is_within_its_bounds() {
        assert!(telehub().is_sound());
        for broken in [
            Telehub { name: "h".repeat(64).into(), ..telehub() },
            Telehub { position: Vec3::NAN, ..telehub() },
            Telehub { rotation: Quat::from_xyzw(0.0, 0.0, 0.0, 2.0), ..telehub() },
            Telehub { spawn_points: vec![Vec3::ZERO; 17], ..telehub() },
            Telehub { spawn_points: vec![Vec3::splat(1e9)], ..telehub() },
        ] {
            assert!(!broken.is_sound(), "{broken:?}");
        }
    }
}
