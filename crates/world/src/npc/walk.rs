//! Moves NPCs by one tick: along their paths, around others, on the mesh.

use super::{
    Legs, NpcCast, NpcCondition, NpcHead, Npcs, PATH_NODES_MAX, PATHS_PER_S, PATHS_PER_TICK_MAX, Scratch,
    Toward, act::direction, state::rehash,
};
use crate::{animations, cast::ground_of, periods::Span, setting::WorldSetting};
use behavior::senses::{Candidate, MoveProgress};
use glam::Vec2;
use ids::Uuid;
use nav::{
    Path, PathEnd, Status,
    crowd::{self, CrowdBody, SteeredBody},
};
use std::time::Duration;

/// Turns below this angle are dropped, since each is sent to all clients: square of the sine of about 2°.
const TURN_MIN: f32 = 0.0012;

impl Npcs {
    /// Serves path requests within the budget.
    pub(super) fn find_paths(&mut self, cast: &NpcCast, scratch: &mut Scratch, span: Span) {
        let n = self.len();
        let first = span.n_before(PATHS_PER_S) as usize % n.max(1);
        let mut left = span.n(PATHS_PER_S).min(PATHS_PER_TICK_MAX);
        let now = self.now();
        for number in (first..n).chain(0..first) {
            let legs = &mut self.legs[number];
            if !legs.wants_path || legs.condition != NpcCondition::Up {
                continue;
            }
            if left == 0 {
                self.counts.path_waits += 1;
                continue;
            }
            left -= 1;
            legs.wants_path = false;
            let Some(goal) = legs.follower.goal() else { continue };
            let mut path = Path::EMPTY;
            let search = scratch.finder.find(&cast.mesh, legs.spot, goal, PATH_NODES_MAX, &mut path);
            self.counts.paths += 1;
            self.counts.path_nodes += u64::from(search.nodes);
            if search.end == PathEnd::Nowhere {
                legs.follower.stop();
                self.heads[number].journey.progress = MoveProgress::Unreachable;
                legs.head_changed = true;
                legs.attention.request_thought(now);
            } else {
                legs.follower.set_path(&path);
                legs.head_changed = true;
            }
        }
    }

    /// Moves all NPCs by one tick.
    pub(super) fn walk(
        &mut self,
        cast: &NpcCast,
        setting: &WorldSetting,
        scratch: &mut Scratch,
        dt: Duration,
    ) {
        let dt_s = dt.as_secs_f32();
        let ground = ground_of(&setting.ground.terrain);
        let now = self.now();
        // NPCs that are not up are no obstacles.
        scratch.bodies.clear();
        let mut n_bodies = 0;
        for legs in &self.legs {
            let is_up = legs.condition == NpcCondition::Up;
            scratch.bodies.push(if is_up { n_bodies } else { u32::MAX });
            n_bodies += u32::from(is_up);
        }
        let visitors = scratch.candidates[self.len()..].iter().map(visitor_body);
        let up = self.legs.iter().filter(|legs| legs.condition == NpcCondition::Up).map(Legs::body);
        scratch.neighbours.rebuild(up.chain(visitors));
        let span = Span::new(self.elapsed_ns, dt);
        let makes_room: [bool; STANDERS_SHARES] = std::array::from_fn(|share| {
            span.is_due(STANDERS_MS, STANDERS_MS * share as u64 / STANDERS_SHARES as u64)
        });

        for number in 0..self.len() {
            let (legs, head) = (&mut self.legs[number], &mut self.heads[number]);
            if legs.condition != NpcCondition::Up {
                continue;
            }
            self.counts.ticks += 1;
            let body = scratch.bodies[number];
            let pace = legs.follower.step(&cast.mesh, legs.spot, legs.hindered, dt_s);
            match pace.status {
                Status::NeedsPath => legs.wants_path = true,
                Status::Arrived => {
                    (head.journey.progress, legs.head_changed) = (MoveProgress::Arrived, true);
                    legs.attention.request_thought(now);
                }
                Status::GaveUp => {
                    (head.journey.progress, legs.head_changed) = (MoveProgress::Unreachable, true);
                    legs.attention.request_thought(now);
                    self.counts.given_up += 1;
                }
                Status::Idle | Status::Walking => {}
            }
            (legs.preferred, legs.left_m) = (pace.velocity, pace.left_m);
            let stands = pace.velocity == Vec2::ZERO && legs.velocity == Vec2::ZERO;
            // A standing NPC makes room for others in the same place when its group is due.
            if stands && !makes_room[number % STANDERS_SHARES] {
                legs.dirty.moved |= turn_toward(legs, &head.errand.face, &scratch.candidates);
                show_movement(legs, head, resting(legs));
                rehash(&mut self.hash, number, legs, head);
                continue;
            }
            scratch.neighbours.around(body, &mut scratch.nearby);
            let mover = SteeredBody { body: legs.body(), pressing: pace.pressing };
            let step = crowd::walk(&cast.mesh, legs.spot, &mover, &scratch.nearby, dt_s);
            legs.hindered = step.hindered;
            let was = (legs.spot.at, legs.velocity, legs.facing);
            legs.spot = step.spot;
            legs.velocity = step.velocity;
            let (height, slope) = cast.mesh.facet(ground, step.spot);
            legs.feet_m = height;
            legs.climb = step.velocity.dot(slope);
            self.counts.moving += u64::from(step.velocity != Vec2::ZERO);
            if let Some(way) = direction_of(step.velocity) {
                let sine = legs.facing.perp_dot(way);
                if sine * sine > TURN_MIN || legs.facing.dot(way) < 0.0 {
                    legs.facing = way;
                }
            } else {
                turn_toward(legs, &head.errand.face, &scratch.candidates);
            }
            legs.dirty.moved |= was != (legs.spot.at, legs.velocity, legs.facing);
            let shown = movement(legs, pace.velocity, cast.actor(cast.roles[number].kind).walk_m_per_s);
            show_movement(legs, head, shown);
            scratch.neighbours.relocate(body, legs.body());
            rehash(&mut self.hash, number, legs, head);
        }
    }
}

/// Period of the check of standing NPCs for others in the same place, milliseconds; `STANDERS_SHARES` groups take turns.
const STANDERS_MS: u64 = 200;
const STANDERS_SHARES: usize = 4;

fn visitor_body(candidate: &Candidate) -> CrowdBody {
    // A visitor counts as standing: NPCs do not evade it in advance, but make room after contact.
    CrowdBody {
        at: candidate.position.truncate(),
        velocity: Vec2::ZERO,
        preferred: Vec2::ZERO,
        z: candidate.position.z - super::HALF_HEIGHT_M,
        radius: super::RADIUS_M,
        left_m: 0.0,
    }
}

/// The unit vector; none if the length is too small to normalise.
fn direction_of(way: Vec2) -> Option<Vec2> {
    (way.length_squared() > 1e-12).then(|| way.normalize())
}

/// Turns a standing NPC toward its target; true if it turned.
fn turn_toward(legs: &mut Legs, face: &Toward, candidates: &[Candidate]) -> bool {
    let to = match face {
        Toward::Ahead => return false,
        Toward::Entity(who) => {
            let Some(there) = candidates.iter().find(|candidate| candidate.who == *who) else { return false };
            there.position.truncate() - legs.spot.at
        }
        Toward::Point(point) => point.truncate() - legs.spot.at,
        Toward::Heading(radians) => direction(*radians),
    };
    let Some(to) = direction_of(to) else { return false };
    let sine = legs.facing.perp_dot(to);
    let turns = sine * sine > TURN_MIN || legs.facing.dot(to) < 0.0;
    if turns {
        legs.facing = to;
    }
    turns
}

/// Plays the animation of how it gets on.
fn show_movement(legs: &mut Legs, head: &mut NpcHead, movement: Uuid) {
    if legs.movement != movement {
        legs.movement = movement;
        legs.dirty.animated |= head.animator.show_movement(movement);
    }
}

const fn resting(legs: &Legs) -> Uuid {
    if legs.sits { animations::SIT_GROUND } else { animations::STAND }
}

/// The animation of how it gets on.
fn movement(legs: &Legs, preferred: Vec2, walk_m_per_s: f32) -> Uuid {
    if legs.velocity == Vec2::ZERO && preferred == Vec2::ZERO {
        return resting(legs);
    }
    // Threshold between walk and run, from the preferred speed: an NPC that is slowed down by others keeps its gait.
    if preferred.length_squared() > walk_m_per_s * walk_m_per_s * 1.2 {
        animations::RUN
    } else {
        animations::WALK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_have_length_one_or_are_none() {
        for length in [1e-30, 1e-23, 1e-19, 1e-7, 1e-5, 1.0, 1e3] {
            let direction = direction_of(Vec2::new(0.6, -0.8) * length);
            assert_eq!(direction.is_some(), length > 1e-6, "{length}");
            assert!(direction.is_none_or(|one| (one.length_squared() - 1.0).abs() < 1e-5), "{length}");
        }
        assert_eq!(direction_of(Vec2::NAN), None);
    }
}
