//! Sitting down on the ground and getting up again.

use super::{AvatarControls, BotPosition, SIT_ON_GROUND};

/// Updates that carry SIT_ON_GROUND or STAND_UP. They are unreliable, and it takes one to change the posture.
pub(super) const POSTURE_UPDATES: u8 = 3;

/// State of a sitting bot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sitter {
    /// To be faced first, as soon as it is known where that is: the region's middle.
    faces_middle: bool,
    updates_left: u8,
}

impl Sitter {
    /// Sits as it stands.
    pub(super) const fn new() -> Self {
        Self { faces_middle: false, updates_left: POSTURE_UPDATES }
    }

    /// Faces the middle of the region, then sits.
    pub(super) const fn facing_the_middle() -> Self {
        Self { faces_middle: true, updates_left: POSTURE_UPDATES }
    }

    /// The keys held from now on.
    pub(super) fn act(&mut self, spot: BotPosition, body: &mut AvatarControls) -> u32 {
        if std::mem::replace(&mut self.faces_middle, false) {
            body.face(spot.inward());
            return 0;
        }
        if self.updates_left == 0 {
            return 0;
        }
        self.updates_left -= 1;
        SIT_ON_GROUND
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::behavior::trial::behave;
    use crate::behavior::{Behavior, RunningBehavior, STAND_UP};
    use crate::rng::Rng;
    use glam::Vec2;
    use ids::Instant;

    const SPOT: BotPosition = BotPosition { position: Vec2::splat(128.0), region_size_m: 256.0 };

    #[test]
    fn a_stadium_sits_facing_the_middle_and_a_few_walk() {
        let start = Vec2::new(60.0, 128.0);
        let all: Vec<_> = (0..400).map(|seed| behave(Behavior::Stadium, 0, seed, 20, start)).collect();
        let walkers = all.iter().filter(|walked| walked.iter().any(|(_, pose, _)| pose.walking)).count();
        assert!((8..=40).contains(&walkers), "{walkers} of 400");
        for walked in &all {
            let sat = walked.iter().filter(|(_, pose, _)| pose.control_flags == SIT_ON_GROUND).count();
            if sat > 0 {
                assert_eq!(sat, usize::from(POSTURE_UPDATES));
                let last = walked.last().expect("it did something");
                assert!((last.1.rotation * glam::Vec3::X).x > 0.99, "it faces east");
            }
        }
    }

    #[test]
    fn a_sitter_presses_the_key_and_lets_go() {
        let mut rng = Rng::new(1, 0);
        let mut actor = RunningBehavior::new(Behavior::Sit, 0, &mut rng);
        let flags: Vec<u32> =
            (0..6).map(|tick| actor.act(Instant::from_millis(tick), SPOT, &mut rng).control_flags).collect();
        assert_eq!(flags, [SIT_ON_GROUND, SIT_ON_GROUND, SIT_ON_GROUND, 0, 0, 0]);
    }

    #[test]
    fn a_sitting_bot_gets_up_before_its_next_action() {
        let mut rng = Rng::new(1, 0);
        let mut actor = RunningBehavior::new(Behavior::Sit, 0, &mut rng);
        actor.act(Instant::ZERO, SPOT, &mut rng);
        actor.change(Behavior::Stand, &mut rng);
        let mut flags = || actor.act(Instant::ZERO, SPOT, &mut rng).control_flags;
        assert_eq!([(); 4].map(|()| flags()), [STAND_UP, STAND_UP, STAND_UP, 0]);

        let mut actor = RunningBehavior::new(Behavior::Stand, 0, &mut rng);
        actor.change(Behavior::Sit, &mut rng);
        assert_eq!(actor.act(Instant::ZERO, SPOT, &mut rng).control_flags, SIT_ON_GROUND);
    }
}
