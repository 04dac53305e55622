//! A game in one's own instance: the round of a mission's waypoints, and blows on the way. With a portal, visits to the shared world
//! come between.
//!
//! A body cannot know its world. Both portals have to stand at [`PLAY_PORTAL`]: a player that is near it and then somewhere else has
//! passed. Elsewhere a jump is a fall, after which the server puts the avatar into the middle of the world.

use super::course::WalkTarget;
use super::{AT_POS, AvatarControls, BotPosition};
use crate::rng::Rng;
use glam::Vec2;
use ids::Instant;
use std::time::Duration;

/// Position of the portal, in the shared world to a template and in the template's worlds back, metres from the corner. It has to reach
/// [`ARRIVED_M`](super::ARRIVED_M) at least, and may reach further. Nearer to the border than [`BORDER_M`](super::BORDER_M): walkers
/// would stray into it, each has a world of their own behind it, and few find back.
pub const PLAY_PORTAL: Vec2 = Vec2::new(251.0, 128.0);
/// Stay of a player in either world before it makes for the portal, in seconds.
pub const PLAY_STAY_S: (f32, f32) = (20.0, 60.0);
/// Time between two blows.
pub const PLAY_STRIKE_PERIOD: Duration = Duration::from_millis(700);

/// Waypoints of the mission that players follow, in order, again and again: metres from the corner of a world of 256 m, on the plaza in its
/// middle. A round takes half a minute.
pub const PLAY_WAYPOINTS: [Vec2; 4] =
    [Vec2::new(116.0, 116.0), Vec2::new(140.0, 116.0), Vec2::new(140.0, 140.0), Vec2::new(116.0, 140.0)];

/// A waypoint that is not reached within this time is given up: others may stand on it.
const WAYPOINT_PATIENCE: Duration = Duration::from_secs(40);
/// A jump in metres from one update to the next: a passage or a fall.
const JUMP_M: f32 = 20.0;
/// A jump from nearer than this to the portal, in metres, is a passage: the portal's reach, and the walk of some updates.
const AT_PORTAL_M: f32 = 10.0;
/// Wait of a player in the portal; a refused one walks about and tries again.
const PATIENCE: Duration = Duration::from_secs(10);

/// A bot that plays.
#[derive(Clone, Copy, Debug)]
pub(super) struct Player {
    /// True if it goes through portals.
    has_portal: bool,
    doing: PlayStage,
    round: WaypointRound,
    next_strike_at: Option<Instant>,
    /// Position at the last update.
    last: Option<Vec2>,
}

/// The way from waypoint to waypoint.
#[derive(Clone, Copy, Debug)]
struct WaypointRound {
    /// Index of the next one.
    next: usize,
    course: WalkTarget,
    give_up_at: Option<Instant>,
}

impl WaypointRound {
    const fn new() -> Self {
        Self { next: 0, course: WalkTarget::to(PLAY_WAYPOINTS[0]), give_up_at: None }
    }

    /// The keys held from now on.
    fn walk_round(&mut self, now: Instant, position: Vec2, body: &mut AvatarControls) -> u32 {
        let give_up_at = *self.give_up_at.get_or_insert(now + WAYPOINT_PATIENCE);
        if now >= give_up_at || !self.course.steer(position, body) {
            self.next = (self.next + 1) % PLAY_WAYPOINTS.len();
            self.course = WalkTarget::to(PLAY_WAYPOINTS[self.next]);
            self.give_up_at = Some(now + WAYPOINT_PATIENCE);
            self.course.steer(position, body);
        }
        AT_POS
    }
}

#[derive(Clone, Copy, Debug)]
enum PlayStage {
    Arriving,
    Fighting { until: Instant },
    Leaving { course: WalkTarget, there_since: Option<Instant> },
}

impl Player {
    pub(super) const fn new(has_portal: bool) -> Self {
        Self {
            has_portal,
            doing: PlayStage::Arriving,
            round: WaypointRound::new(),
            next_strike_at: None,
            last: None,
        }
    }

    /// The keys held from now on.
    pub(super) fn act(
        &mut self,
        now: Instant,
        spot: BotPosition,
        body: &mut AvatarControls,
        rng: &mut Rng,
    ) -> u32 {
        let has_passed = self.last.is_some_and(|last| {
            last.distance(spot.position) > JUMP_M && last.distance(PLAY_PORTAL) < AT_PORTAL_M
        });
        self.last = Some(spot.position);
        match &mut self.doing {
            PlayStage::Arriving => self.stay(now, rng),
            PlayStage::Fighting { .. } if !self.has_portal => {}
            PlayStage::Fighting { until } if now < *until => {}
            PlayStage::Fighting { .. } => {
                self.doing = PlayStage::Leaving { course: WalkTarget::to(PLAY_PORTAL), there_since: None };
            }
            PlayStage::Leaving { course, there_since } => {
                if has_passed || there_since.is_some_and(|since| now - since > PATIENCE) {
                    self.stay(now, rng);
                } else {
                    let walks = course.steer(spot.position, body);
                    if !walks && there_since.is_none() {
                        *there_since = Some(now);
                    }
                    return if walks { AT_POS } else { 0 };
                }
            }
        }
        if self.next_strike_at.is_none_or(|at| at <= now) {
            // A blow in the shared world hits no avatar: it is a gesture there.
            body.strikes = true;
            self.next_strike_at = Some(now + PLAY_STRIKE_PERIOD);
        }
        self.round.walk_round(now, spot.position, body)
    }

    fn stay(&mut self, now: Instant, rng: &mut Rng) {
        let seconds = rng.between(PLAY_STAY_S.0, PLAY_STAY_S.1);
        self.doing = PlayStage::Fighting { until: now + Duration::from_secs_f32(seconds) };
    }
}

#[cfg(test)]
mod tests {
    use crate::behavior::{
        ARRIVED_M, BORDER_M, Behavior, BodyPose, BotPosition, PLAY_PORTAL, PLAY_WAYPOINTS, RunningBehavior,
        WALK_M_PER_S,
    };
    use crate::rng::Rng;
    use glam::{Vec2, Vec3};
    use ids::Instant;

    const MIDDLE: Vec2 = Vec2::splat(128.0);

    /// Plays for `seconds` beside a portal with this reach, or none; returns the numbers of passages and of blows.
    fn play(seed: u64, seconds: u64, reach_m: Option<f32>) -> (u32, u32) {
        let mut rng = Rng::new(seed, 0);
        let mut actor = RunningBehavior::new(Behavior::Play, 0, &mut rng);
        let (mut position, mut passed, mut blows) = (MIDDLE, 0, 0);
        for tick in 0..seconds * 10 {
            let spot = BotPosition { position, region_size_m: 256.0 };
            let BodyPose { rotation, walking, .. } =
                actor.act(Instant::from_millis(tick * 100), spot, &mut rng);
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
    fn a_player_goes_round_the_waypoints_in_their_order_wherever_it_falls() {
        for falls in [false, true] {
            let mut rng = Rng::new(7, 0);
            let mut actor = RunningBehavior::new(Behavior::Quest, 0, &mut rng);
            let (mut position, mut reached) = (Vec2::new(30.0, 200.0), Vec::new());
            for tick in 0..6_000 {
                let spot = BotPosition { position, region_size_m: 256.0 };
                let BodyPose { rotation, .. } = actor.act(Instant::from_millis(tick * 100), spot, &mut rng);
                position += (rotation * Vec3::X).truncate() * WALK_M_PER_S * 0.1;
                let at = PLAY_WAYPOINTS.iter().position(|waypoint| waypoint.distance(position) <= ARRIVED_M);
                if let Some(at) = at.filter(|at| reached.last() != Some(at)) {
                    reached.push(at);
                }
                // Once on each leg, at least.
                if falls && tick % 50 == 0 {
                    position = MIDDLE;
                }
            }
            assert!(reached.len() >= 60, "{reached:?}");
            assert!(reached.windows(2).all(|pair| pair[1] == (pair[0] + 1) % 4), "{reached:?}");
        }
    }

    #[test]
    fn a_fall_on_the_way_to_the_portal_is_no_passage() {
        let mut rng = Rng::new(3, 0);
        let mut actor = RunningBehavior::new(Behavior::Play, 0, &mut rng);
        let (mut position, mut farthest, mut fallen_at, mut passed_at) = (MIDDLE, 0.0_f32, None, None);
        for tick in 0..3_000 {
            let spot = BotPosition { position, region_size_m: 256.0 };
            let BodyPose { rotation, walking, .. } =
                actor.act(Instant::from_millis(tick * 100), spot, &mut rng);
            if walking {
                position += (rotation * Vec3::X).truncate() * WALK_M_PER_S * 0.1;
            }
            farthest = farthest.max(position.x);
            if fallen_at.is_none() && position.x > 200.0 {
                (position, fallen_at) = (MIDDLE, Some(tick));
            }
            if passed_at.is_none() && position.distance(PLAY_PORTAL) <= ARRIVED_M {
                passed_at = Some(tick);
                break;
            }
        }
        let (fallen_at, passed_at) = (fallen_at.expect("it set out"), passed_at.expect("it went on"));
        // The way from the middle at 3.2 m/s, without another stay of 20 s before it.
        let way = (PLAY_PORTAL - MIDDLE).length() / WALK_M_PER_S * 10.0;
        assert!(
            (passed_at - fallen_at) as f32 <= way + 20.0,
            "{fallen_at} to {passed_at}, farthest {farthest}"
        );
    }

    #[test]
    fn a_bot_that_only_walks_about_stays_out_of_the_portal() {
        let reach_m = 256.0 - BORDER_M - PLAY_PORTAL.x;
        assert!(reach_m <= -ARRIVED_M, "walkers come as near as {} m", -reach_m);
    }

    #[test]
    fn a_bot_before_a_shut_portal_continues_fighting_and_comes_back() {
        let (_, blows) = play(1, 1_200, None);
        assert!(blows > 300, "{blows} blows in 20 minutes");
    }
}
