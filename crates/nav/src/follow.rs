//! Path following: velocity, turns at corners, and progress.
//!
//! A [`PathFollower`] is plain data of one walker: a copy of a path's next corners, and its progress. [`PathFollower::step`] returns
//! the preferred velocity and a status once a tick; it searches nothing itself, since searches have a budget that only the world knows.
//!
//! Clients extrapolate a walker by its velocity until they receive another, so on a straight leg the velocity is the same bit for bit:
//! the direction is computed once, at the leg's beginning, and again only if the walker would miss the corner. A corner costs one
//! change: the walker turns in the first tick in which it sees the next corner.

use crate::{
    mesh::{CELLS_PER_M, MeshPoint, NavMesh},
    path::Path,
};
use glam::Vec2;
use serde::{Deserialize, Serialize};
use state_hash::StateHasher;

/// Corners that a follower remembers.
const CORNERS: usize = 12;
/// Quarters of a cell per metre: 3 cm each, half of the clearance of paths from the ends of doors.
const QUARTERS_PER_M: f32 = 4.0 * CELLS_PER_M;

/// A walker that would miss its corner by more than this share of the distance takes a new direction: about 3°.
const MISS: f32 = 0.05;
/// And by more than this, metres.
const MISS_MIN_M: f32 = 0.04;

/// Distance from a corner within which a walker turns as soon as it sees the next, metres: a walker pushed past a corner does not
/// return.
const TURN_M: f32 = 0.75;

/// Corners that one passes at once: around the end of a wall they are a hand's breadth apart.
const TURNS_MAX: u32 = 4;

/// Closer to a place one is there, metres.
const AT_M: f32 = 2e-3;

/// Distance from the goal within which a walker goes at half speed, metres.
const SLOW_M: f32 = 0.75;

/// Progress is an approach by `PROGRESS_M` metres, or for slow walkers by their distance in `PROGRESS_S` seconds.
const PROGRESS_M: f32 = 0.1;
const PROGRESS_S: f32 = 0.2;
/// Seconds without progress until a walker presses.
const PRESS_S: f32 = 0.8;
/// Seconds without progress until it needs another path, again and again.
const REPLAN_S: f32 = 2.0;
/// A walker that stays within `STILL_M` metres for [`GIVE_UP_S`] seconds gives up: where two need a passage for one, one must leave, and a
/// wait of that length in a queue means the wrong door.
const STILL_M: f32 = 0.5;
/// Beyond any world, metres from its corner.
const PLACE_MAX_M: f32 = 65_536.0;
/// See [`Status::GaveUp`].
pub const GIVE_UP_S: f32 = 20.0;
/// Near the goal in a crowd, a walker without progress has arrived if it is within `CROWD_M_PER_S × waiting time` (at least `CROWD_S`), at most
/// `CROWD_MAX_M`, of it: eighty around one point stand within 3 m, two hundred within 5 m.
const CROWD_M_PER_S: f32 = 2.5;
const CROWD_S: f32 = 1.0;
const CROWD_MAX_M: f32 = 5.0;

/// Progress of a walker on its path.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathFollower {
    /// Direction of the present leg, unit length; zero before the first step on it.
    heading: Vec2,
    /// The corner to which it leads, metres.
    aim: Vec2,
    /// Metres a second.
    speed: f32,
    /// Close enough to the goal, metres.
    arrival_m: f32,
    /// Since the last progress, seconds.
    stuck_s: f32,
    /// The closest to `aim` so far, metres.
    closest_m: f32,
    /// Seconds within [`STILL_M`] of `still_at`.
    still_s: f32,
    still_at: Vec2,
    state: FollowerState,
    /// Next corner after `aim`.
    next: u8,
    len: u8,
    /// True if the path leads all the way to the goal.
    complete: bool,
    /// In quarters of a cell; the goal, which is the last of a complete path, is exact.
    corners: [[u16; 2]; CORNERS],
    goal: MeshPoint,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum FollowerState {
    Idle,
    /// It has a goal and no path.
    Waiting,
    Walking,
    Arrived,
}

/// Need of a walker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Nothing: it has nowhere to go.
    Idle,
    /// A path from where it is to its goal; see [`PathFollower::goal`] and [`PathFollower::set_path`].
    NeedsPath,
    /// Nothing: it walks.
    Walking,
    /// Nothing: it is there, or as close as others let it, or as the path leads. Said once; then it is idle.
    Arrived,
    /// Nothing: it has not come away from a place for [`GIVE_UP_S`], mostly since others are in the way. Said once; then it is idle.
    GaveUp,
}

/// A walker's preferred step in this tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WalkStep {
    /// Metres a second; zero to stand.
    pub velocity: Vec2,
    /// Need of the walker.
    pub status: Status,
    /// Stuck for a while, see [`crate::crowd::SteeredBody::pressing`].
    pub pressing: bool,
    /// Metres to the next corner, see [`crate::crowd::CrowdBody::left_m`].
    pub left_m: f32,
}

impl Default for PathFollower {
    fn default() -> Self {
        Self {
            heading: Vec2::ZERO,
            aim: Vec2::ZERO,
            speed: 0.0,
            arrival_m: 0.0,
            stuck_s: 0.0,
            closest_m: f32::MAX,
            still_s: 0.0,
            still_at: Vec2::INFINITY,
            state: FollowerState::Idle,
            next: 0,
            len: 0,
            complete: true,
            corners: [[0; 2]; CORNERS],
            goal: MeshPoint::NOWHERE,
        }
    }
}

impl PathFollower {
    /// Goes somewhere else from now on: waits for a path. `speed` in metres a second; `arrival_m` is how close is close enough.
    pub fn set_goal(&mut self, goal: MeshPoint, speed: f32, arrival_m: f32) {
        *self = Self { goal, speed, arrival_m, state: FollowerState::Waiting, ..Self::default() };
    }

    /// Walks at another speed, along the same path.
    pub const fn set_speed(&mut self, speed: f32) {
        self.speed = speed;
    }

    /// Goes nowhere.
    pub fn stop(&mut self) {
        *self = Self::default();
    }

    /// Goal, if there is one.
    #[must_use]
    pub fn goal(&self) -> Option<MeshPoint> {
        matches!(self.state, FollowerState::Waiting | FollowerState::Walking).then_some(self.goal)
    }

    /// Takes a path that was searched from where it is to its goal. A path that is [empty](Path::corners) is none: it has arrived where it is.
    pub fn set_path(&mut self, path: &Path) {
        if self.goal().is_none() {
            return;
        }
        let corners = path.corners();
        let kept = corners.len().min(CORNERS);
        self.complete = path.complete && kept == corners.len();
        self.len = kept as u8;
        for (to, from) in self.corners.iter_mut().zip(corners) {
            let quarters = (*from * QUARTERS_PER_M).round();
            *to = [quarters.x as u16, quarters.y as u16];
        }
        if self.complete {
            self.goal = path.end;
        }
        // Another path to the same goal does not free a stuck walker.
        if self.state == FollowerState::Waiting {
            self.stuck_s = 0.0;
        }
        self.state = if kept == 0 { FollowerState::Arrived } else { FollowerState::Walking };
        self.next = 0;
        self.begin_leg();
    }

    /// Wish of a walker at a spot for a tick of `dt` seconds. `hindered`: a wall was in its way in the last tick.
    pub fn step(&mut self, mesh: &NavMesh, at: MeshPoint, hindered: bool, dt: f32) -> WalkStep {
        if self.goal().is_some() && self.is_still(at.at, dt) {
            self.stop();
            return WalkStep::stand(Status::GaveUp);
        }
        match self.state {
            FollowerState::Idle => WalkStep::stand(Status::Idle),
            FollowerState::Waiting => WalkStep::stand(Status::NeedsPath),
            FollowerState::Arrived => {
                self.stop();
                WalkStep::stand(Status::Arrived)
            }
            FollowerState::Walking => self.walk(mesh, at, hindered, dt),
        }
    }

    /// Hash of the state that changes with each step, for comparing runs. Together with [`Self::way_hash`] it covers all state that
    /// decides the walker's behaviour.
    #[must_use]
    pub const fn step_hash(&self) -> u64 {
        let Self { heading, aim, stuck_s, closest_m, state, next, len, complete, .. } = *self;
        let mut hasher = StateHasher::new();
        let small = [state as u8, next, len, complete as u8];
        hasher.u64((u32::from_le_bytes(small) as u64) << 32 | stuck_s.to_bits() as u64);
        hasher.u64((closest_m.to_bits() as u64) << 32 | heading.x.to_bits() as u64);
        hasher.u64((heading.y.to_bits() as u64) << 32 | aim.x.to_bits() as u64);
        hasher.u32(aim.y.to_bits());
        hasher.finish()
    }

    /// Hash of goal, corners and speed: changes with [`Self::set_goal`], [`Self::set_path`], [`Self::set_speed`] and [`Self::stop`], and with a
    /// step that returns [`Status::Arrived`].
    #[must_use]
    pub fn way_hash(&self) -> u64 {
        let pair = |a: f32, b: f32| u64::from(a.to_bits()) << 32 | u64::from(b.to_bits());
        let mut hasher = StateHasher::new();
        hasher.u64(u64::from(self.goal.poly.0));
        hasher.u64(pair(self.goal.at.x, self.goal.at.y));
        hasher.u64(pair(self.speed, self.arrival_m));
        for [x, y] in &self.corners[..usize::from(self.len).min(CORNERS)] {
            hasher.u32(u32::from(*x) << 16 | u32::from(*y));
        }
        hasher.finish()
    }

    /// True if this state is possible for a walker on this mesh with a speed of at most `speed_max`, metres a second: a snapshot may
    /// hold anything.
    #[must_use]
    pub fn is_sound(&self, mesh: &NavMesh, speed_max: f32) -> bool {
        let Self { heading, aim, speed, arrival_m, stuck_s, closest_m, still_s, still_at, next, len, .. } =
            *self;
        let is_length = |metres: f32| metres.is_finite() && metres >= 0.0;
        // Farther than any world reaches, a distance would not be a number.
        let is_place = |at: Vec2| at.is_finite() && at.abs().max_element() <= PLACE_MAX_M;
        let has_goal = self.goal().is_none_or(|goal| mesh.poly(goal.poly).is_some() && is_place(goal.at));
        has_goal
            && next <= len
            && usize::from(len) <= CORNERS
            && (heading == Vec2::ZERO || (heading.length_squared() - 1.0).abs() < 1e-3)
            && is_place(aim)
            && (is_place(still_at) || still_at == Vec2::INFINITY)
            && (0.0..=speed_max).contains(&speed)
            && [arrival_m, stuck_s, closest_m, still_s].into_iter().all(is_length)
    }

    fn walk(&mut self, mesh: &NavMesh, at: MeshPoint, hindered: bool, dt: f32) -> WalkStep {
        let stride = self.speed * dt;
        for _ in 0..TURNS_MAX {
            if self.is_last() || !self.turns(mesh, at) {
                break;
            }
            if self.next >= self.len {
                self.state = FollowerState::Waiting;
                return WalkStep::stand(Status::NeedsPath);
            }
            self.begin_leg();
            self.stuck_s = 0.0;
        }
        let rest = self.aim - at.at;
        let distance = rest.length();
        if self.is_last() && self.has_arrived(distance) {
            self.stop();
            return WalkStep::stand(Status::Arrived);
        }
        self.notice_progress(distance, dt);
        // The last leg of an incomplete path leaves time for the next search.
        let is_ending = !self.complete && self.next >= self.len;
        let status = if is_ending || self.asks_again(dt) { Status::NeedsPath } else { Status::Walking };
        let pressing = self.stuck_s >= PRESS_S;
        let has_passed = self.heading != Vec2::ZERO && rest.dot(self.heading) <= 0.0;
        if distance <= stride && (self.is_last() || has_passed) {
            // The last step ends at the goal itself; a walker past its corner without a view of the next returns to the corner.
            return WalkStep { velocity: rest / dt, status, pressing, left_m: distance };
        }
        let miss = self.heading.perp_dot(rest).abs();
        let is_off =
            miss > (distance * MISS).max(MISS_MIN_M) || has_passed || hindered && miss > MISS_MIN_M / 4.0;
        if self.heading == Vec2::ZERO || is_off {
            self.heading = rest.normalize_or_zero();
        }
        let speed = if self.is_last() && distance < SLOW_M { self.speed / 2.0 } else { self.speed };
        WalkStep { velocity: self.heading * speed, status, pressing, left_m: distance }
    }

    /// True on the leg to the end of the whole path.
    const fn is_last(&self) -> bool {
        self.complete && self.next >= self.len
    }

    /// True if the corner at the end of the leg is reached: close, and the next one in sight.
    fn turns(&self, mesh: &NavMesh, at: MeshPoint) -> bool {
        let square = self.aim.distance_squared(at.at);
        square <= AT_M * AT_M
            || square <= TURN_M * TURN_M && self.next < self.len && mesh.ray(at, self.corner(self.next)).clear
    }

    fn has_arrived(&self, distance: f32) -> bool {
        let is_crowded =
            self.stuck_s >= CROWD_S && distance <= (CROWD_M_PER_S * self.stuck_s).min(CROWD_MAX_M);
        distance <= self.arrival_m.max(AT_M) || is_crowded
    }

    /// True after too long in one place. Corners and further searches do not count: a jam pushes walkers past some corners.
    fn is_still(&mut self, at: Vec2, dt: f32) -> bool {
        let is_near = at.distance_squared(self.still_at) <= STILL_M * STILL_M;
        (self.still_at, self.still_s) = if is_near { (self.still_at, self.still_s + dt) } else { (at, 0.0) };
        self.still_s >= GIVE_UP_S
    }

    fn notice_progress(&mut self, distance: f32, dt: f32) {
        let is_first = self.closest_m == f32::MAX;
        let is_closer = distance < self.closest_m - PROGRESS_M.min(self.speed * PROGRESS_S);
        if is_first || is_closer {
            self.closest_m = distance;
        }
        // The first measure on a leg, as after another search, says nothing.
        self.stuck_s = if is_closer && !is_first { 0.0 } else { self.stuck_s + dt };
    }

    /// Every so often while one is stuck.
    fn asks_again(&self, dt: f32) -> bool {
        let rounds = |stuck_s: f32| (stuck_s / REPLAN_S) as u32;
        rounds(self.stuck_s) > rounds((self.stuck_s - dt).max(0.0))
    }

    /// Begins the next leg.
    fn begin_leg(&mut self) {
        self.aim = self.corner(self.next);
        self.next = (self.next + 1).min(self.len);
        self.heading = Vec2::ZERO;
        self.closest_m = f32::MAX;
    }

    /// A corner, or the goal behind the last.
    fn corner(&self, place: u8) -> Vec2 {
        let is_goal = self.complete && place + 1 >= self.len;
        match self.corners.get(usize::from(place)) {
            Some(&[x, y]) if !is_goal => Vec2::new(f32::from(x), f32::from(y)) / QUARTERS_PER_M,
            _ => self.goal.at,
        }
    }
}

impl WalkStep {
    const fn stand(status: Status) -> Self {
        Self { velocity: Vec2::ZERO, status, pressing: false, left_m: f32::MAX }
    }
}

#[cfg(test)]
mod tests;
