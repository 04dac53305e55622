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

/// Pressed to sit down where one stands (bit 17).
pub const SIT_ON_GROUND: u32 = 1 << 17;

/// Length of a walker's legs, in metres.
pub const LEG_M: (f32, f32) = (20.0, 60.0);

/// How long a walker rests between legs, in seconds.
pub const PAUSE_S: (f32, f32) = (2.0, 10.0);

/// Speed at which the length of a leg is measured, in metres a second: a walk without obstacles.
pub const WALK_M_PER_S: f32 = 3.2;

/// Walkers turn back so far from a border, in metres: outside of it they would run against it.
pub const BORDER_M: f32 = 10.0;

/// How far ahead a walker looks for the border, in metres: more than it walks between two updates.
const LOOKAHEAD_M: f32 = 4.0;

/// Updates that carry SIT_ON_GROUND. They are unreliable, and it takes one to sit down.
const SIT_UPDATES: u8 = 3;

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
    /// Walks legs of [`LEG_M`] in random directions, with pauses of [`PAUSE_S`] between them.
    Walk,
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
    doing: Doing,
    direction: Vec2,
    rotation: Quat,
}

#[derive(Clone, Copy, Debug)]
enum Doing {
    Standing,
    Sitting { updates_left: u8 },
    Pausing { until: Option<Instant> },
    Walking { until: Instant },
}

impl Actor {
    /// Begins in a region, facing any direction. A walker pauses first, so that walkers that arrive together do not
    /// march in step.
    pub fn new(behavior: Behavior, rng: &mut Rng) -> Self {
        let doing = match behavior {
            Behavior::Stand => Doing::Standing,
            Behavior::Sit => Doing::Sitting { updates_left: SIT_UPDATES },
            Behavior::Walk => Doing::Pausing { until: None },
        };
        let mut actor = Self { doing, direction: Vec2::X, rotation: Quat::IDENTITY };
        actor.face(random_direction(rng));
        actor
    }

    /// The pose of an update that is made now.
    pub fn act(&mut self, now: Instant, spot: Spot, rng: &mut Rng) -> Pose {
        match &mut self.doing {
            Doing::Standing => self.pose(0),
            Doing::Sitting { updates_left: 0 } => self.pose(0),
            Doing::Sitting { updates_left } => {
                *updates_left -= 1;
                self.pose(SIT_ON_GROUND)
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
        }
    }

    fn pose(&self, control_flags: u32) -> Pose {
        let walking = matches!(self.doing, Doing::Walking { .. });
        Pose { rotation: self.rotation, control_flags, walking }
    }

    fn pause(&mut self, now: Instant, rng: &mut Rng) {
        let seconds = rng.between(PAUSE_S.0, PAUSE_S.1);
        self.doing = Doing::Pausing { until: Some(now + Duration::from_secs_f32(seconds)) };
    }

    /// Begins a leg that ends inside the region.
    fn set_out(&mut self, now: Instant, spot: Spot, rng: &mut Rng) {
        let length_m = rng.between(LEG_M.0, LEG_M.1);
        let directions = (0..DIRECTION_TRIES).map(|_| random_direction(rng));
        let inside =
            directions.into_iter().find(|direction| spot.holds(spot.position + direction * length_m));
        self.face(inside.unwrap_or_else(|| spot.inward()));
        self.doing = Doing::Walking { until: now + Duration::from_secs_f32(length_m / WALK_M_PER_S) };
    }

    /// Turns back before the border.
    fn steer(&mut self, spot: Spot, rng: &mut Rng) {
        let heads_out = !spot.holds(spot.position + self.direction * LOOKAHEAD_M);
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
    /// Whether a point is far enough from every border.
    fn holds(&self, point: Vec2) -> bool {
        let inside = BORDER_M..=self.region_size_m - BORDER_M;
        inside.contains(&point.x) && inside.contains(&point.y)
    }

    /// Direction of the region's middle.
    fn inward(&self) -> Vec2 {
        (Vec2::splat(self.region_size_m / 2.0) - self.position).normalize_or(Vec2::X)
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
        let mut rng = Rng::new(seed, 0);
        let mut actor = Actor::new(Behavior::Walk, &mut rng);
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
                assert!((LEG_M.0 - 0.5..=LEG_M.1 + 0.5).contains(&metres), "a leg of {metres} m");
            } else {
                assert!((PAUSE_S.0 - 0.2..=PAUSE_S.1 + 0.2).contains(&seconds), "a pause of {seconds} s");
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
    fn a_sitter_presses_the_key_and_lets_go() {
        let mut rng = Rng::new(1, 0);
        let mut actor = Actor::new(Behavior::Sit, &mut rng);
        let spot = Spot { position: Vec2::splat(128.0), region_size_m: 256.0 };
        let flags: Vec<u32> =
            (0..6).map(|tick| actor.act(Instant::from_millis(tick), spot, &mut rng).control_flags).collect();
        assert_eq!(flags, [SIT_ON_GROUND, SIT_ON_GROUND, SIT_ON_GROUND, 0, 0, 0]);
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
