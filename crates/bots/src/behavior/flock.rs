//! Groups that walk together, so that a crowd's density moves through the region.
//!
//! There is no leader: group and destinations follow from the bot's number and the time since the start of the run, so that bots of a
//! group agree without communication. Bots with the same number in two processes are of the same group.

use super::course::WalkTarget;
use super::{AT_POS, AvatarControls, BORDER_M, BotPosition, WALK_M_PER_S};
use crate::rng::Rng;
use glam::Vec2;
use ids::Instant;

/// Bots of a flock, with consecutive numbers.
pub const FLOCK_SIZE: u32 = 20;

/// Radius around the destination within which each bot has a place, the same at every destination.
pub const FLOCK_RADIUS_M: f32 = 8.0;

/// Deviation from that place along each axis, drawn at each destination.
pub const FLOCK_SPREAD_M: f32 = 1.5;

/// Time per destination ÷ the time of a walk along the region's edge. Two points of a square are half an edge apart in the mean, so
/// that a flock walks for two thirds of the time.
pub const FLOCK_TURN_EDGES: f64 = 0.75;

/// Seed of all flocks.
const FLOCKS: u64 = 0xF10C;

/// One of a flock.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlockMember {
    flock: u32,
    /// From the middle of the flock, metres.
    place: Vec2,
    /// The flock's turn, and the way of this one in it.
    under_way: Option<(u64, WalkTarget)>,
}

impl FlockMember {
    pub(super) fn new(number: u32, rng: &mut Rng) -> Self {
        // The root spreads them evenly over the disc.
        let place = rng.direction() * FLOCK_RADIUS_M * (rng.unit() as f32).sqrt();
        Self { flock: number / FLOCK_SIZE, place, under_way: None }
    }

    /// The keys held from now on.
    pub(super) fn act(
        &mut self,
        now: Instant,
        spot: BotPosition,
        body: &mut AvatarControls,
        rng: &mut Rng,
    ) -> u32 {
        let turn = destination_number(self.flock, now, spot.region_size_m);
        let course = match &mut self.under_way {
            Some((current, course)) if *current == turn => course,
            _ => {
                let aside = Vec2::new(rng.within(FLOCK_SPREAD_M), rng.within(FLOCK_SPREAD_M));
                let goal = destination(self.flock, turn, spot.region_size_m) + self.place + aside;
                &mut self.under_way.insert((turn, WalkTarget::to(goal))).1
            }
        };
        if course.steer(spot.position, body) { AT_POS } else { 0 }
    }
}

/// Number of the current destination. Flocks set out at different times.
fn destination_number(flock: u32, now: Instant, region_size_m: f32) -> u64 {
    let turn_s = f64::from(region_size_m) * FLOCK_TURN_EDGES / f64::from(WALK_M_PER_S);
    let late = Rng::new(FLOCKS, u64::from(flock)).unit();
    ((now - Instant::ZERO).as_secs_f64() / turn_s + late) as u64
}

/// A flock's destination in a turn: any point with the whole flock inside the region.
fn destination(flock: u32, turn: u64, region_size_m: f32) -> Vec2 {
    let mut rng = Rng::new(FLOCKS ^ turn.wrapping_add(1), u64::from(flock));
    let margin_m = BORDER_M + FLOCK_RADIUS_M + FLOCK_SPREAD_M;
    let mut within = || rng.between(margin_m, region_size_m - margin_m);
    Vec2::new(within(), within())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::behavior::trial::{Act, behave};
    use crate::behavior::{ARRIVED_M, Behavior};

    const SECONDS: u64 = 900;

    /// Ten bots of a flock, each with a seed of its own, which come from all over the region.
    fn flock(first: u32) -> Vec<Vec<Act>> {
        let start = |number: u32| Vec2::new(25.0 * number as f32, 250.0 - 20.0 * number as f32);
        let bot = |n| behave(Behavior::Flock, first + n, u64::from(first + n), SECONDS, start(n));
        (0..10).map(bot).collect()
    }

    /// Mean position of the bots, each second.
    fn middles(flock: &[Vec<Act>]) -> Vec<Vec2> {
        let at = |tick: usize| flock.iter().map(|bot| bot[tick].2).sum::<Vec2>() / flock.len() as f32;
        (0..SECONDS as usize * 10).step_by(10).map(at).collect()
    }

    #[test]
    fn a_flock_gathers_and_then_moves_through_the_region_together() {
        let bots = flock(20);
        let middles = middles(&bots);
        // By the end of the first turn they are together, and stay so.
        let reach_m = 2.0 * (FLOCK_RADIUS_M + 2.0 * FLOCK_SPREAD_M + ARRIVED_M);
        let mut apart = 0;
        for (second, middle) in middles.iter().enumerate().skip(120) {
            let far = |bot: &Vec<Act>| bot[second * 10].2.distance(*middle) > reach_m;
            apart += bots.iter().filter(|bot| far(bot)).count();
        }
        assert_eq!(apart, 0, "bots that are more than {reach_m} m from the flock's middle");
        let way: f32 = middles[120..].windows(2).map(|pair| pair[0].distance(pair[1])).sum();
        assert!(way > 500.0, "{way} m in thirteen minutes");
        for (_, _, position) in bots.iter().flatten() {
            assert!(position.cmpge(Vec2::ZERO).all() && position.cmple(Vec2::splat(256.0)).all());
        }
    }

    #[test]
    fn bots_of_a_flock_keep_apart_and_flocks_go_different_ways() {
        let (one, other) = (flock(0), flock(FLOCK_SIZE));
        let (a, b) = (middles(&one), middles(&other));
        let far = a.iter().zip(&b).filter(|(a, b)| a.distance(**b) > 2.0 * FLOCK_RADIUS_M).count();
        assert!(far * 2 > a.len(), "{far} of {} seconds", a.len());
        let last = |bot: &Vec<Act>| bot.last().expect("it did something").2;
        let spread = one.iter().map(|bot| last(bot).distance(*a.last().expect("there are some")));
        assert!(spread.fold(0.0, f32::max) > FLOCK_RADIUS_M / 2.0, "they stand in one place");
    }
}
