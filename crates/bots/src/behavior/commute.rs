//! To and fro between two places on opposite sides of the region. The ways of all commuters cross near its middle.

use super::course::WalkTarget;
use super::{AT_POS, AvatarControls, BotPosition};
use crate::rng::Rng;
use glam::Vec2;
use ids::Instant;
use std::time::Duration;

/// Distance of both places from the middle ÷ the region's edge.
pub const COMMUTE_REACH_EDGES: f32 = 0.4;

/// By how much the places depart from lying opposite each other, as seen from the middle, in radians: ways miss the middle by up to
/// a fifteenth of the edge, so that it is crowded and no single point.
pub const COMMUTE_BEND_RAD: f32 = 0.3;

/// Rest at each place, in seconds.
pub const COMMUTE_PAUSE_S: (f32, f32) = (5.0, 15.0);

/// State of a commuting bot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Commuter {
    /// Directions of the two places from the region's middle.
    places: [Vec2; 2],
    /// Index of the next place.
    next: usize,
    doing: CommuteStage,
}

#[derive(Clone, Copy, Debug)]
enum CommuteStage {
    Beginning,
    Pausing { until: Instant },
    Walking(WalkTarget),
}

impl Commuter {
    pub(super) fn new(rng: &mut Rng) -> Self {
        let one = rng.direction();
        let other = (-one).rotate(Vec2::from_angle(rng.within(COMMUTE_BEND_RAD)));
        Self { places: [one, other], next: 0, doing: CommuteStage::Beginning }
    }

    /// The keys held from now on.
    pub(super) fn act(
        &mut self,
        now: Instant,
        spot: BotPosition,
        body: &mut AvatarControls,
        rng: &mut Rng,
    ) -> u32 {
        let (shortest, longest) = COMMUTE_PAUSE_S;
        match &mut self.doing {
            // Not all at once.
            CommuteStage::Beginning => self.pause(now, rng.between(0.0, longest)),
            CommuteStage::Pausing { until } if now < *until => {}
            CommuteStage::Pausing { .. } => {
                let aside = self.places[self.next] * COMMUTE_REACH_EDGES * spot.region_size_m;
                let mut course = WalkTarget::to(spot.middle() + aside);
                if course.steer(spot.position, body) {
                    self.doing = CommuteStage::Walking(course);
                    return AT_POS;
                }
                self.arrive(now, rng.between(shortest, longest));
            }
            CommuteStage::Walking(course) => {
                if course.steer(spot.position, body) {
                    return AT_POS;
                }
                self.arrive(now, rng.between(shortest, longest));
            }
        }
        0
    }

    fn arrive(&mut self, now: Instant, pause_s: f32) {
        self.next = 1 - self.next;
        self.pause(now, pause_s);
    }

    fn pause(&mut self, now: Instant, seconds: f32) {
        self.doing = CommuteStage::Pausing { until: now + Duration::from_secs_f32(seconds) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::behavior::Behavior;
    use crate::behavior::trial::{behave, phases};

    const MIDDLE: Vec2 = Vec2::splat(128.0);

    #[test]
    fn a_commuter_goes_to_and_fro_through_the_middle_and_rests_at_both_ends() {
        for seed in 0..20 {
            let walked = behave(Behavior::Commute, 0, seed, 600, Vec2::new(30.0, 140.0));
            let mut sides = Vec::new();
            for pair in walked.windows(2) {
                if pair[0].1.walking && !pair[1].1.walking {
                    sides.push(pair[1].2 - MIDDLE);
                }
            }
            assert!(sides.len() >= 6, "seed {seed}: {} arrivals", sides.len());
            for pair in sides.windows(2) {
                assert!(pair.iter().all(|side| (98.0..107.0).contains(&side.length())), "{pair:?}");
                assert!(pair[0].angle_to(pair[1]).abs() > 2.7, "seed {seed}: {pair:?} are not opposite");
            }
            // Behind the first way, which may begin anywhere.
            let arrived =
                walked.iter().position(|(.., at)| at.distance(MIDDLE) > 99.0).expect("it got there");
            let nearest = walked[arrived..].iter().map(|(.., at)| at.distance(MIDDLE));
            assert!(nearest.fold(f32::INFINITY, f32::min) < 20.0, "seed {seed}");
            let rests = phases(&walked).into_iter().skip(1).filter(|(walking, _)| !walking);
            for (_, updates) in rests {
                assert!((49..=152).contains(&updates), "a rest of {updates} updates");
            }
        }
    }
}
