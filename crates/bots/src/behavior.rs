//! What a bot does with its body, decided anew for each of its agent updates.
//!
//! It decides flags and direction only: movement is the server's. Where the bot is comes from
//! [`Whereabouts`](crate::whereabouts::Whereabouts).

use crate::rng::Rng;
use glam::{Quat, Vec2};
use ids::Instant;
use std::time::Duration;

/// Held to walk ahead (PROTOCOL §8a, bit 0).
pub const AT_POS: u32 = 1 << 0;

/// Says that an animation of the server's is over (bit 15).
pub const FINISH_ANIM: u32 = 1 << 15;

/// Pressed to get up (bit 16).
pub const STAND_UP: u32 = 1 << 16;

/// Pressed to sit down where one stands (bit 17).
pub const SIT_ON_GROUND: u32 = 1 << 17;

/// How somebody walks about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Habits {
    /// Length of a leg, in metres.
    pub leg_m: (f32, f32),
    /// Rest between two legs, in seconds.
    pub pause_s: (f32, f32),
    /// Edge of the square in the middle of the region that is walked about in, in metres; all of the region without one.
    pub ground_m: Option<f32>,
}

/// Of [`Behavior::Walk`].
pub const WALKER: Habits = Habits { leg_m: (20.0, 60.0), pause_s: (2.0, 10.0), ground_m: None };

/// Of [`Behavior::Plaza`]: a market on 128 m, where a few steps lead to the next stall.
pub const MARKET_GOER: Habits = Habits { leg_m: (3.0, 20.0), pause_s: (0.5, 4.0), ground_m: Some(128.0) };

/// One in so many of [`Behavior::Stadium`] walks about instead of sitting.
pub const STEWARDS: f32 = 20.0;

/// Speed at which the length of a leg is measured, in metres a second: a walk without obstacles.
pub const WALK_M_PER_S: f32 = 3.2;

/// Walkers turn back so far from a border, in metres: outside of it they would run against it.
pub const BORDER_M: f32 = 10.0;

/// How far ahead a walker looks for the border, in metres: more than it walks between two updates.
const LOOKAHEAD_M: f32 = 4.0;

/// Updates that carry SIT_ON_GROUND or STAND_UP. They are unreliable, and it takes one to change the posture.
const POSTURE_UPDATES: u8 = 3;

/// One round of [`Behavior::Mingle`]: a walk, a rest, some words in the middle of the rest. `tests/clients/fidelity.mjs`
/// has node-metaverse do the same.
pub const MINGLE_ROUND: Duration = Duration::from_secs(20);

/// How much of the round is walked. At [`WALK_M_PER_S`] that is 26 m, out in one round and back in the next.
pub const MINGLE_WALK: Duration = Duration::from_secs(8);

/// When in the round the words fall.
pub const MINGLE_WORDS_AT: Duration = Duration::from_secs(14);

/// Between two words of [`Behavior::Probe`]: half of what servers let somebody say for long.
pub const PROBE_PERIOD: Duration = Duration::from_millis(500);

/// Directions that are tried before a leg heads for the middle, which is always inside.
const DIRECTION_TRIES: u32 = 8;

/// What a bot does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Behavior {
    /// Stands where it arrived.
    #[default]
    Stand,
    /// Sits down on the ground and stays there.
    Sit,
    /// Walks legs in random directions and rests between them, as a [`WALKER`] does.
    Walk,
    /// Mills about on a plaza with everybody else, as a [`MARKET_GOER`] does.
    Plaza,
    /// Sits facing the middle of the region, as in a stadium; one in [`STEWARDS`] walks.
    Stadium,
    /// Walks, rests and talks in rounds of [`MINGLE_ROUND`]: out in a random direction, and back in the next.
    Mingle,
    /// Stands and says something every [`PROBE_PERIOD`], to measure how long it takes until it hears itself.
    Probe,
}

impl Behavior {
    /// By its name on command lines.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "stand" => Some(Self::Stand),
            "sit" => Some(Self::Sit),
            "walk" => Some(Self::Walk),
            "plaza" => Some(Self::Plaza),
            "stadium" => Some(Self::Stadium),
            "mingle" => Some(Self::Mingle),
            "probe" => Some(Self::Probe),
            _ => None,
        }
    }
}

/// Where a bot is, as far as its decisions go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    /// Metres from the region's south-west corner.
    pub position: Vec2,
    /// Edge of the region in metres.
    pub region_size_m: f32,
}

/// What the next update says about the body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// Direction of the body.
    pub rotation: Quat,
    /// Keys held.
    pub control_flags: u32,
    /// Whether it is under way, so that the camera follows.
    pub walking: bool,
}

/// A behaviour under way.
#[derive(Clone, Debug)]
pub struct Actor {
    /// Updates that ask to get up, before all else.
    rising: u8,
    doing: Doing,
    habits: Habits,
    direction: Vec2,
    rotation: Quat,
    /// Whether words are due.
    speaks: bool,
}

#[derive(Clone, Copy, Debug)]
enum Doing {
    Standing,
    Sitting {
        updates_left: u8,
    },
    /// About to sit, as soon as it is known where the middle is.
    TakingSeat,
    Pausing {
        until: Option<Instant>,
    },
    Walking {
        until: Instant,
    },
    Arriving,
    Mingling {
        round_began_at: Instant,
        has_spoken: bool,
        is_out: bool,
    },
    Probing {
        speaks_at: Option<Instant>,
    },
}

impl Actor {
    /// Begins in a region, facing any direction. A walker pauses first, so that walkers that arrive together do not
    /// march in step.
    pub fn new(behavior: Behavior, rng: &mut Rng) -> Self {
        let doing = match behavior {
            Behavior::Stand => Doing::Standing,
            Behavior::Sit => Doing::Sitting { updates_left: POSTURE_UPDATES },
            Behavior::Walk | Behavior::Plaza => Doing::Pausing { until: None },
            Behavior::Stadium if rng.unit() * f64::from(STEWARDS) < 1.0 => Doing::Pausing { until: None },
            Behavior::Stadium => Doing::TakingSeat,
            Behavior::Mingle => Doing::Arriving,
            Behavior::Probe => Doing::Probing { speaks_at: None },
        };
        let habits = if behavior == Behavior::Plaza { MARKET_GOER } else { WALKER };
        let direction = random_direction(rng);
        let mut actor = Self { rising: 0, doing, habits, direction, rotation: Quat::IDENTITY, speaks: false };
        actor.face(direction);
        actor
    }

    /// Does something else from now on; who sat gets up first, unless it is to sit.
    pub fn change(&mut self, behavior: Behavior, rng: &mut Rng) {
        let sat = matches!(self.doing, Doing::Sitting { .. });
        *self = Self::new(behavior, rng);
        if sat && !matches!(self.doing, Doing::Sitting { .. }) {
            self.rising = POSTURE_UPDATES;
        }
    }

    /// Whether words were due at the latest [`Self::act`]; asking takes them.
    pub const fn take_words(&mut self) -> bool {
        std::mem::replace(&mut self.speaks, false)
    }

    /// The pose of an update that is made now.
    pub fn act(&mut self, now: Instant, spot: Spot, rng: &mut Rng) -> Pose {
        if self.rising > 0 {
            self.rising -= 1;
            return self.pose(STAND_UP);
        }
        match &mut self.doing {
            Doing::Standing => self.pose(0),
            Doing::Sitting { updates_left: 0 } => self.pose(0),
            Doing::Sitting { updates_left } => {
                *updates_left -= 1;
                self.pose(SIT_ON_GROUND)
            }
            Doing::TakingSeat => {
                self.face(spot.inward());
                self.doing = Doing::Sitting { updates_left: POSTURE_UPDATES };
                self.pose(0)
            }
            Doing::Pausing { until: None } => {
                self.pause(now, rng);
                self.pose(0)
            }
            Doing::Pausing { until: Some(until) } if now < *until => self.pose(0),
            Doing::Pausing { .. } => {
                self.set_out(now, spot, rng);
                self.pose(AT_POS)
            }
            Doing::Walking { until } if *until <= now => {
                self.pause(now, rng);
                self.pose(0)
            }
            Doing::Walking { .. } => {
                self.steer(spot, rng);
                self.pose(AT_POS)
            }
            Doing::Arriving => {
                // Anywhere in a round, so that those who arrive together do not walk and talk together.
                let into_round = MINGLE_ROUND.mul_f64(rng.unit());
                let round_began_at = now + (MINGLE_ROUND - into_round);
                self.doing = Doing::Mingling { round_began_at, has_spoken: false, is_out: true };
                self.pose(0)
            }
            Doing::Mingling { .. } => self.mingle(now, rng),
            Doing::Probing { speaks_at } => {
                // The first time anywhere in a period, so that not all speak in one tick.
                let at = *speaks_at.get_or_insert_with(|| now + PROBE_PERIOD.mul_f64(rng.unit()));
                self.speaks = at <= now;
                if self.speaks {
                    *speaks_at = Some((at + PROBE_PERIOD).max(now));
                }
                self.pose(0)
            }
        }
    }

    fn mingle(&mut self, now: Instant, rng: &mut Rng) -> Pose {
        let Doing::Mingling { mut round_began_at, mut has_spoken, mut is_out } = self.doing else {
            unreachable!("only who mingles comes here")
        };
        if now < round_began_at {
            return self.pose(0);
        }
        if now - round_began_at >= MINGLE_ROUND {
            round_began_at = now;
            has_spoken = false;
            // A direction for life would make runs differ by who has whom in earshot.
            self.face(if is_out { -self.direction } else { random_direction(rng) });
            is_out = !is_out;
        }
        let into_round = now - round_began_at;
        if into_round >= MINGLE_WORDS_AT && !has_spoken {
            has_spoken = true;
            self.speaks = true;
        }
        self.doing = Doing::Mingling { round_began_at, has_spoken, is_out };
        self.pose(if into_round < MINGLE_WALK { AT_POS } else { 0 })
    }

    fn pose(&self, control_flags: u32) -> Pose {
        let walking = match self.doing {
            Doing::Walking { .. } => true,
            Doing::Mingling { .. } => control_flags & AT_POS != 0,
            _ => false,
        };
        Pose { rotation: self.rotation, control_flags, walking }
    }

    fn pause(&mut self, now: Instant, rng: &mut Rng) {
        let seconds = rng.between(self.habits.pause_s.0, self.habits.pause_s.1);
        self.doing = Doing::Pausing { until: Some(now + Duration::from_secs_f32(seconds)) };
    }

    /// Begins a leg that ends on the ground that is walked about on; from outside of it, one that leads there.
    fn set_out(&mut self, now: Instant, spot: Spot, rng: &mut Rng) {
        let Habits { leg_m, ground_m, .. } = self.habits;
        let mut length_m = rng.between(leg_m.0, leg_m.1);
        if let Some(ground_m) = ground_m
            && !spot.holds(spot.position, Some(ground_m))
        {
            length_m += spot.distance_m() - ground_m / 2.0;
        }
        let directions = (0..DIRECTION_TRIES).map(|_| random_direction(rng));
        let inside = directions
            .into_iter()
            .find(|direction| spot.holds(spot.position + direction * length_m, ground_m));
        self.face(inside.unwrap_or_else(|| spot.inward()));
        self.doing = Doing::Walking { until: now + Duration::from_secs_f32(length_m / WALK_M_PER_S) };
    }

    /// Turns back before the region's border.
    fn steer(&mut self, spot: Spot, rng: &mut Rng) {
        let heads_out = !spot.holds(spot.position + self.direction * LOOKAHEAD_M, None);
        let inward = spot.inward();
        if heads_out && self.direction.dot(inward) <= 0.0 {
            let aside = Vec2::from_angle(rng.within(std::f32::consts::FRAC_PI_4));
            self.face(inward.rotate(aside));
        }
    }

    fn face(&mut self, direction: Vec2) {
        self.direction = direction;
        self.rotation = Quat::from_rotation_z(direction.to_angle());
    }
}

impl Spot {
    /// Whether a point is on the ground in the middle, or at least far enough from every border.
    fn holds(&self, point: Vec2, ground_m: Option<f32>) -> bool {
        let middle_m = self.region_size_m / 2.0;
        let reach_m = ground_m.map_or(f32::INFINITY, |ground_m| ground_m / 2.0).min(middle_m - BORDER_M);
        let inside = middle_m - reach_m..=middle_m + reach_m;
        inside.contains(&point.x) && inside.contains(&point.y)
    }

    /// Direction of the region's middle.
    fn inward(&self) -> Vec2 {
        (Vec2::splat(self.region_size_m / 2.0) - self.position).normalize_or(Vec2::X)
    }

    /// To the region's middle.
    fn distance_m(&self) -> f32 {
        self.position.distance(Vec2::splat(self.region_size_m / 2.0))
    }
}

fn random_direction(rng: &mut Rng) -> Vec2 {
    Vec2::from_angle(rng.between(0.0, std::f32::consts::TAU))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body that does what the flags say, ten updates a second; gives the poses and positions.
    fn walk(seed: u64, seconds: u64, start: Vec2) -> Vec<(Instant, Pose, Vec2)> {
        behave(Behavior::Walk, seed, seconds, start)
    }

    fn behave(behavior: Behavior, seed: u64, seconds: u64, start: Vec2) -> Vec<(Instant, Pose, Vec2)> {
        let mut rng = Rng::new(seed, 0);
        let mut actor = Actor::new(behavior, &mut rng);
        let mut position = start;
        let mut walked = Vec::new();
        for tick in 0..seconds * 10 {
            let now = Instant::from_millis(tick * 100);
            let pose = actor.act(now, Spot { position, region_size_m: 256.0 }, &mut rng);
            if pose.control_flags & AT_POS != 0 {
                position += (pose.rotation * glam::Vec3::X).truncate() * WALK_M_PER_S * 0.1;
            }
            walked.push((now, pose, position));
        }
        walked
    }

    /// Lengths of the runs of updates with and without AT_POS, the last one left out.
    fn phases(walked: &[(Instant, Pose, Vec2)]) -> Vec<(bool, usize)> {
        let mut phases: Vec<(bool, usize)> = Vec::new();
        for (_, pose, _) in walked {
            match phases.last_mut() {
                Some((walking, length)) if *walking == pose.walking => *length += 1,
                _ => phases.push((pose.walking, 1)),
            }
        }
        phases.pop();
        phases
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
            let walked = behave(Behavior::Plaza, seed, 900, start);
            let (arriving, there) = walked.split_at(1_200);
            assert!(arriving.iter().all(|(.., position)| distance(*position) <= 128.0));
            assert!(there.iter().all(|(.., position)| distance(*position) < 66.0), "seed {seed}");
            let moving = there.iter().filter(|(_, pose, _)| pose.walking).count();
            assert!(moving * 2 > there.len(), "{moving} of {}", there.len());
        }
    }

    #[test]
    fn a_stadium_sits_facing_the_middle_and_a_few_walk() {
        let start = Vec2::new(60.0, 128.0);
        let all: Vec<_> = (0..400).map(|seed| behave(Behavior::Stadium, seed, 20, start)).collect();
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
        let mut actor = Actor::new(Behavior::Sit, &mut rng);
        let spot = Spot { position: Vec2::splat(128.0), region_size_m: 256.0 };
        let flags: Vec<u32> =
            (0..6).map(|tick| actor.act(Instant::from_millis(tick), spot, &mut rng).control_flags).collect();
        assert_eq!(flags, [SIT_ON_GROUND, SIT_ON_GROUND, SIT_ON_GROUND, 0, 0, 0]);
    }

    #[test]
    fn who_sat_gets_up_before_it_does_something_else() {
        let mut rng = Rng::new(1, 0);
        let mut actor = Actor::new(Behavior::Sit, &mut rng);
        let spot = Spot { position: Vec2::splat(128.0), region_size_m: 256.0 };
        actor.act(Instant::ZERO, spot, &mut rng);
        actor.change(Behavior::Stand, &mut rng);
        let mut flags = || actor.act(Instant::ZERO, spot, &mut rng).control_flags;
        assert_eq!([(); 4].map(|()| flags()), [STAND_UP, STAND_UP, STAND_UP, 0]);

        let mut actor = Actor::new(Behavior::Stand, &mut rng);
        actor.change(Behavior::Sit, &mut rng);
        assert_eq!(actor.act(Instant::ZERO, spot, &mut rng).control_flags, SIT_ON_GROUND);
    }

    #[test]
    fn who_mingles_walks_out_and_back_and_speaks_once_a_round() {
        let mut rng = Rng::new(3, 0);
        let mut actor = Actor::new(Behavior::Mingle, &mut rng);
        let spot = Spot { position: Vec2::splat(128.0), region_size_m: 256.0 };
        let (mut walked, mut words, mut position, mut furthest) = (0, 0, Vec2::ZERO, 0.0_f32);
        for second in 0..420 {
            let pose = actor.act(Instant::from_millis(second * 1000), spot, &mut rng);
            assert_eq!(pose.walking, pose.control_flags == AT_POS);
            if pose.walking {
                walked += 1;
                position += (pose.rotation * glam::Vec3::X).truncate() * WALK_M_PER_S;
            }
            words += u32::from(actor.take_words());
            furthest = furthest.max(position.length());
        }
        assert!((19..=21).contains(&words), "{words} times in 21 rounds, of which one only begins or ends");
        assert!((19 * 8..=21 * 8).contains(&walked), "{walked} seconds");
        assert!(furthest < 30.0, "{furthest} m");
    }

    #[test]
    fn a_stander_never_moves() {
        let mut rng = Rng::new(1, 0);
        let mut actor = Actor::new(Behavior::Stand, &mut rng);
        let spot = Spot { position: Vec2::splat(128.0), region_size_m: 256.0 };
        let first = actor.act(Instant::ZERO, spot, &mut rng);
        assert_eq!(first.control_flags, 0);
        assert!(
            (1..100).all(|second| actor.act(Instant::from_millis(second * 1000), spot, &mut rng) == first)
        );
    }
}
