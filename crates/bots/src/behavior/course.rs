//! A walk to a place.

use super::AvatarControls;
use glam::Vec2;

/// Distance that counts as arrival, in metres: twice the walk between two updates, so that no bot keeps walking past.
pub const ARRIVED_M: f32 = 2.0;

/// Error of direction from which on a walk is turned, in radians (6°). A turn in every update would make every update significant.
const COURSE_RAD: f32 = 0.1;

/// On the way to a place, or there. A bot pushed away after its arrival does not return.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WalkTarget {
    goal: Vec2,
    has_arrived: bool,
}

impl WalkTarget {
    /// To a place in metres from the region's corner.
    pub(super) const fn to(goal: Vec2) -> Self {
        Self { goal, has_arrived: false }
    }

    /// Turns a body that is elsewhere towards the place; gives whether it has to walk.
    pub(super) fn steer(&mut self, position: Vec2, body: &mut AvatarControls) -> bool {
        let way = self.goal - position;
        self.has_arrived |= way.length() <= ARRIVED_M;
        if !self.has_arrived && body.direction.angle_to(way).abs() > COURSE_RAD {
            body.face(way.normalize());
        }
        !self.has_arrived
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_leads_to_its_goal_with_few_turns_and_ends_there() {
        let mut body = AvatarControls::facing(Vec2::NEG_Y);
        let (mut position, mut turns) = (Vec2::new(10.0, 20.0), 0);
        let mut course = WalkTarget::to(Vec2::new(200.0, 90.0));
        for _ in 0..1_000 {
            let before = body.direction;
            if !course.steer(position, &mut body) {
                break;
            }
            turns += u32::from(before != body.direction);
            // A steady small push.
            position += body.direction * 0.32 + Vec2::new(0.0, 0.02);
        }
        assert!(position.distance(Vec2::new(200.0, 90.0)) <= ARRIVED_M, "{position}");
        assert!((1..20).contains(&turns), "{turns} turns");
        assert!(!course.steer(Vec2::ZERO, &mut body), "who was there does not come back");
    }
}
