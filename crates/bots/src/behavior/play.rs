//! A game in one's own instance, between visits to the shared world: through a portal, a fight, and back through a portal.
//!
//! Nothing tells a body which world it is in. Both portals have to stand at [`PLAY_PORTAL`]; who walks into it and finds itself
//! somewhere else has passed.

use super::course::Course;
use super::walk::Walker;
use super::{AT_POS, Body, MARKET_GOER, Spot};
use crate::rng::Rng;
use glam::Vec2;
use ids::Instant;
use std::time::Duration;

/// Where the portal stands, in the shared world to a template and in the template's worlds back, metres from the corner. It has to reach
/// [`ARRIVED_M`](super::ARRIVED_M) at least, and may reach further. Nearer to the border than [`BORDER_M`](super::BORDER_M): walkers would stray
/// into it, each has a world of their own behind it, and few find back.
pub const PLAY_PORTAL: Vec2 = Vec2::new(251.0, 128.0);
/// How long a player stays in either world before they make for the portal, in seconds.
pub const PLAY_STAY_S: (f32, f32) = (20.0, 60.0);
/// Time between two blows.
pub const PLAY_STRIKE_PERIOD: Duration = Duration::from_millis(700);

/// Who is so far from where they were a moment ago, in metres, has passed.
const PASSED_M: f32 = 20.0;
/// How long somebody waits in the portal; who is refused walks about and tries again.
const PATIENCE: Duration = Duration::from_secs(10);

/// Somebody who plays.
#[derive(Clone, Copy, Debug)]
pub(super) struct Player {
    doing: Doing,
    walker: Walker,
    next_strike_at: Option<Instant>,
    /// Where it was at the last look.
    last: Option<Vec2>,
}

#[derive(Clone, Copy, Debug)]
enum Doing {
    Arriving,
    Fighting { until: Instant },
    Leaving { course: Course, there_since: Option<Instant> },
}

impl Player {
    pub(super) const fn new() -> Self {
        Self { doing: Doing::Arriving, walker: Walker::new(MARKET_GOER), next_strike_at: None, last: None }
    }

    /// The keys held from now on.
    pub(super) fn act(&mut self, now: Instant, spot: Spot, body: &mut Body, rng: &mut Rng) -> u32 {
        let has_passed = self.last.is_some_and(|last| last.distance(spot.position) > PASSED_M);
        self.last = Some(spot.position);
        match &mut self.doing {
            Doing::Arriving => self.stay(now, rng),
            Doing::Fighting { until } if now < *until => {}
            Doing::Fighting { .. } => {
                self.doing = Doing::Leaving { course: Course::to(PLAY_PORTAL), there_since: None };
            }
            Doing::Leaving { course, there_since } => {
                if has_passed || there_since.is_some_and(|since| now - since > PATIENCE) {
                    self.stay(now, rng);
                } else {
                    let walks = course.follow(spot.position, body);
                    if !walks && there_since.is_none() {
                        *there_since = Some(now);
                    }
                    return if walks { AT_POS } else { 0 };
                }
            }
        }
        if self.next_strike_at.is_none_or(|at| at <= now) {
            // A blow in the shared world hits nobody: it is a gesture there.
            body.strikes = true;
            self.next_strike_at = Some(now + PLAY_STRIKE_PERIOD);
        }
        self.walker.act(now, spot, body, rng)
    }

    fn stay(&mut self, now: Instant, rng: &mut Rng) {
        let seconds = rng.between(PLAY_STAY_S.0, PLAY_STAY_S.1);
        self.doing = Doing::Fighting { until: now + Duration::from_secs_f32(seconds) };
    }
}

#[cfg(test)]
mod tests {
    use crate::behavior::{ARRIVED_M, Actor, BORDER_M, Behavior, PLAY_PORTAL, Pose, Spot, WALK_M_PER_S};
    use crate::rng::Rng;
    use glam::{Vec2, Vec3};
    use ids::Instant;

    const MIDDLE: Vec2 = Vec2::splat(128.0);

    /// Plays for so many seconds beside a portal that reaches so far, or leads nowhere; how often it was passed, and how many blows there
    /// were.
    fn play(seed: u64, seconds: u64, reach_m: Option<f32>) -> (u32, u32) {
        let mut rng = Rng::new(seed, 0);
        let mut actor = Actor::new(Behavior::Play, 0, &mut rng);
        let (mut position, mut passed, mut blows) = (MIDDLE, 0, 0);
        for tick in 0..seconds * 10 {
            let spot = Spot { position, region_size_m: 256.0 };
            let Pose { rotation, walking, .. } = actor.act(Instant::from_millis(tick * 100), spot, &mut rng);
            blows += u32::from(actor.take_strike());
            if walking {
                position += (rotation * Vec3::X).truncate() * WALK_M_PER_S * 0.1;
            }
            if reach_m.is_some_and(|reach_m| position.distance(PLAY_PORTAL) <= reach_m) {
                passed += 1;
                position = MIDDLE;
            }
        }
        (passed, blows)
    }

    #[test]
    fn a_player_fights_and_passes_through_the_portal_again_and_again() {
        for (seed, reach_m) in (0..10).flat_map(|seed| [(seed, ARRIVED_M), (seed, 4.0)]) {
            let (passed, blows) = play(seed, 1_200, Some(reach_m));
            // Two thirds of the time it stays, and strikes; the rest is the way.
            assert!((10..30).contains(&passed), "{passed} times in 20 minutes");
            assert!((700..1_700).contains(&blows), "{blows} blows in 20 minutes");
        }
    }

    #[test]
    fn nobody_strays_into_the_portal_who_only_walks_about() {
        let reach_m = 256.0 - BORDER_M - PLAY_PORTAL.x;
        assert!(reach_m <= -ARRIVED_M, "walkers come as near as {} m", -reach_m);
    }

    #[test]
    fn who_finds_the_portal_shut_goes_on_fighting_and_comes_back() {
        let (_, blows) = play(1, 1_200, None);
        assert!(blows > 300, "{blows} blows in 20 minutes");
    }
}
