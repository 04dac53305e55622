//! A body for tests of behaviours: it obeys the flags, ten updates a second, in a region of 256 m.

use super::{AT_POS, Behavior, BodyPose, BotPosition, RunningBehavior, WALK_M_PER_S};
use crate::rng::Rng;
use glam::{Vec2, Vec3};
use ids::Instant;

/// An update, and where the body is behind it.
pub(super) type Act = (Instant, BodyPose, Vec2);

/// Actions of a bot with this number in `seconds`.
pub(super) fn behave(behavior: Behavior, number: u32, seed: u64, seconds: u64, start: Vec2) -> Vec<Act> {
    let mut rng = Rng::new(seed, 0);
    let mut actor = RunningBehavior::new(behavior, number, &mut rng);
    let mut position = start;
    let mut acts = Vec::new();
    for tick in 0..seconds * 10 {
        let now = Instant::from_millis(tick * 100);
        let pose = actor.act(now, BotPosition { position, region_size_m: 256.0 }, &mut rng);
        if pose.control_flags & AT_POS != 0 {
            position += (pose.rotation * Vec3::X).truncate() * WALK_M_PER_S * 0.1;
        }
        acts.push((now, pose, position));
    }
    acts
}

/// Lengths of the runs of updates that walk and that do not, the last one left out.
pub(super) fn phases(acts: &[Act]) -> Vec<(bool, usize)> {
    let mut phases: Vec<(bool, usize)> = Vec::new();
    for (_, pose, _) in acts {
        match phases.last_mut() {
            Some((walking, length)) if *walking == pose.walking => *length += 1,
            _ => phases.push((pose.walking, 1)),
        }
    }
    phases.pop();
    phases
}
