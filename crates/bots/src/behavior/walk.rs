//! Legs in random directions, and rests between them.

use super::{AT_POS, AvatarControls, BotPosition, WALK_M_PER_S};
use crate::rng::Rng;
use glam::Vec2;
use ids::Instant;
use std::time::Duration;

/// Style of walking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Habits {
    /// Length of a leg, in metres.
    pub leg_m: (f32, f32),
    /// Rest between two legs, in seconds.
    pub pause_s: (f32, f32),
    /// Edge of the square in the middle of the region that is walked about in, in metres; all of the region without one.
    pub ground_m: Option<f32>,
}

/// Style of [`Behavior::Walk`](super::Behavior::Walk).
pub const WALKER: Habits = Habits { leg_m: (20.0, 60.0), pause_s: (2.0, 10.0), ground_m: None };

/// Style of [`Behavior::Roam`](super::Behavior::Roam): without pauses.
pub const ROAMER: Habits = Habits { pause_s: (0.0, 0.0), ..WALKER };

/// Style of [`Behavior::Plaza`](super::Behavior::Plaza): a market on 128 m, with stalls a few steps apart.
pub const MARKET_GOER: Habits = Habits { leg_m: (3.0, 20.0), pause_s: (0.5, 4.0), ground_m: Some(128.0) };

/// Distance at which a walker avoids the border, in metres: more than its walk between two updates.
const LOOKAHEAD_M: f32 = 4.0;

/// Directions that are tried before a leg heads for the middle, which is always inside.
const DIRECTION_TRIES: u32 = 8;

/// State of a walking bot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walker {
    habits: Habits,
    doing: WalkStage,
}

#[derive(Clone, Copy, Debug)]
enum WalkStage {
    Pausing { until: Option<Instant> },
    Walking { until: Instant },
}

impl Walker {
    /// Pauses first, so that walkers that arrive together do not march in step.
    pub(super) const fn new(habits: Habits) -> Self {
        Self { habits, doing: WalkStage::Pausing { until: None } }
    }

    /// The keys held from now on.
    pub(super) fn act(
        &mut self,
        now: Instant,
        spot: BotPosition,
        body: &mut AvatarControls,
        rng: &mut Rng,
    ) -> u32 {
        match self.doing {
            WalkStage::Pausing { until: None } => self.pause(now, rng),
            WalkStage::Pausing { until: Some(until) } if now < until => 0,
            WalkStage::Pausing { .. } => self.set_out(now, spot, body, rng),
            WalkStage::Walking { until } if until <= now && self.habits.pause_s.1 > 0.0 => {
                self.pause(now, rng)
            }
            WalkStage::Walking { until } if until <= now => self.set_out(now, spot, body, rng),
            WalkStage::Walking { .. } => {
                steer(spot, body, rng);
                AT_POS
            }
        }
    }

    fn pause(&mut self, now: Instant, rng: &mut Rng) -> u32 {
        let seconds = rng.between(self.habits.pause_s.0, self.habits.pause_s.1);
        self.doing = WalkStage::Pausing { until: Some(now + Duration::from_secs_f32(seconds)) };
        0
    }

    /// Begins a leg that ends on the permitted ground, or leads there from outside.
    fn set_out(&mut self, now: Instant, spot: BotPosition, body: &mut AvatarControls, rng: &mut Rng) -> u32 {
        let Habits { leg_m, ground_m, .. } = self.habits;
        let mut length_m = rng.between(leg_m.0, leg_m.1);
        if let Some(ground_m) = ground_m
            && !spot.holds(spot.position, Some(ground_m))
        {
            length_m += spot.distance_m() - ground_m / 2.0;
        }
        let mut directions = (0..DIRECTION_TRIES).map(|_| rng.direction());
        let inside = directions.find(|direction| spot.holds(spot.position + direction * length_m, ground_m));
        body.face(inside.unwrap_or_else(|| spot.inward()));
        self.doing = WalkStage::Walking { until: now + Duration::from_secs_f32(length_m / WALK_M_PER_S) };
        AT_POS
    }
}

/// Turns back before the region's border.
fn steer(spot: BotPosition, body: &mut AvatarControls, rng: &mut Rng) {
    let heads_out = !spot.holds(spot.position + body.direction * LOOKAHEAD_M, None);
    let inward = spot.inward();
    if heads_out && body.direction.dot(inward) <= 0.0 {
        let aside = Vec2::from_angle(rng.within(std::f32::consts::FRAC_PI_4));
        body.face(inward.rotate(aside));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::behavior::trial::{Act, behave, phases};
    use crate::behavior::{Behavior, WALK_M_PER_S};

    fn walk(seed: u64, seconds: u64, start: Vec2) -> Vec<Act> {
        behave(Behavior::Walk, 0, seed, seconds, start)
    }

    #[test]
    fn a_walker_alternates_legs_and_pauses_of_the_stated_lengths() {
        let phases = phases(&walk(1, 600, Vec2::splat(128.0)));
        assert!(phases.len() > 30, "{phases:?}");
        for (walking, updates) in phases {
            let seconds = updates as f32 / 10.0;
            if walking {
                let metres = seconds * WALK_M_PER_S;
                let (shortest, longest) = WALKER.leg_m;
                assert!((shortest - 0.5..=longest + 0.5).contains(&metres), "a leg of {metres} m");
            } else {
                let (shortest, longest) = WALKER.pause_s;
                assert!((shortest - 0.2..=longest + 0.2).contains(&seconds), "a pause of {seconds} s");
            }
        }
    }

    #[test]
    fn a_roamer_never_rests_and_does_not_walk_straight_on_for_ever() {
        let walked = behave(Behavior::Roam, 0, 4, 120, Vec2::splat(128.0));
        let phases = phases(&walked);
        assert!(
            phases.iter().filter(|(walking, _)| !walking).all(|(_, updates)| *updates <= 2),
            "{phases:?}"
        );
        let turns = walked.windows(2).filter(|two| two[0].1.rotation != two[1].1.rotation).count();
        assert!(turns >= 5, "{turns} turns");
    }

    #[test]
    fn walkers_stay_inside_even_when_they_begin_at_the_edge() {
        for (seed, start) in [(1, Vec2::splat(128.0)), (2, Vec2::ZERO), (3, Vec2::new(256.0, 5.0))] {
            for (now, _, position) in walk(seed, 900, start) {
                let inside = position.cmpge(Vec2::ZERO).all() && position.cmple(Vec2::splat(256.0)).all();
                assert!(inside, "{position} at {now:?}, seed {seed}");
            }
        }
    }

    #[test]
    fn market_goers_come_to_the_plaza_and_stay_there() {
        let distance = |position: Vec2| (position - Vec2::splat(128.0)).abs().max_element();
        for (seed, start) in [(1, Vec2::splat(128.0)), (2, Vec2::splat(12.0)), (3, Vec2::new(240.0, 100.0))] {
            let walked = behave(Behavior::Plaza, 0, seed, 900, start);
            let (arriving, there) = walked.split_at(1_200);
            assert!(arriving.iter().all(|(.., position)| distance(*position) <= 128.0));
            assert!(there.iter().all(|(.., position)| distance(*position) < 66.0), "seed {seed}");
            let moving = there.iter().filter(|(_, pose, _)| pose.walking).count();
            assert!(moving * 2 > there.len(), "{moving} of {}", there.len());
        }
    }
}
