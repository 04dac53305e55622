//! Steering around others.
//!
//! A preferred velocity without a meeting in the next seconds is granted bit for bit. Otherwise a few candidates are rated, which are it
//! turned to either side and slowed down, and the best is taken: time until the meeting against detour. The candidates stay the same from
//! tick to tick as long as the preferred velocity does, so that velocities change rarely: each change is sent to every client that shows
//! the walker. Ties go to the right. Last, no walker comes closer to another than contact by its own step.

use super::{CREEP_M_PER_S, CrowdBody, NEIGHBOURS_MAX, OVERLAP_MAX_M, SteeredBody};
use glam::Vec2;
use smallvec::SmallVec;

/// Meetings later than this are no concern yet, seconds.
const HORIZON_S: f32 = 2.0;
/// Room kept to others where there is some, metres.
const ROOM_M: f32 = 0.08;
/// Overlap that may persist, metres: rounding moves no walker.
const SLACK_M: f32 = 0.02;
/// Least overlap that stops a walker, metres.
const YIELD_M: f32 = 0.05;
/// Depth to which a step that ends at contact may end inside it, metres.
const ROUNDING_M: f32 = 1e-3;
/// Speed at which overlapping walkers separate, metres a second.
const PART_M_PER_S: f32 = 0.5;

/// Weight of one second less until a meeting, relative to turning all the way back.
const DANGER: f32 = 0.35;
/// Weight of standing still.
const SLOWNESS: f32 = 0.55;
/// Weight of a velocity unlike the last one: a walker that has turned aside keeps to it.
const CHANGE: f32 = 0.12;

/// Ways that are looked at: cosine and sine of the turn (positive to the left), and speed. To the right first.
const WAYS: [(f32, f32, f32); 11] = [
    (1.0, 0.0, 1.0),
    (0.951_06, -0.309_02, 1.0),
    (0.951_06, 0.309_02, 1.0),
    (0.766_04, -0.642_79, 1.0),
    (0.766_04, 0.642_79, 1.0),
    (0.422_62, -0.906_31, 1.0),
    (0.422_62, 0.906_31, 1.0),
    (0.0, -1.0, 0.8),
    (0.0, 1.0, 0.8),
    (1.0, 0.0, 0.5),
    (1.0, 0.0, 0.0),
];

/// Additional weight of a turn to the left: two walkers head on both turn right, and pass.
const LEFT: f32 = 0.04;

/// Chosen velocity. `others` are the nearest, without the mover; the first [`NEIGHBOURS_MAX`] count. A preferred velocity that is not
/// finite counts as zero.
#[must_use]
pub fn steer(mover: &SteeredBody, others: &[CrowdBody], dt: f32) -> Vec2 {
    let others = &others[..others.len().min(NEIGHBOURS_MAX)];
    if !mover.body.preferred.is_finite() || mover.body.preferred == Vec2::ZERO {
        return part(mover, others, SLACK_M, dt);
    }
    let preferred = mover.body.preferred;
    // A jam needs an order. It is total, so that the first one is held by none.
    if others.iter().any(|other| overlap_m(mover, other) > YIELD_M && !goes_first(mover, other)) {
        return part(mover, others, YIELD_M, dt);
    }
    if mover.pressing {
        return press(mover, others, Vec2::ZERO, dt);
    }
    let threats: SmallVec<[Threat; NEIGHBOURS_MAX]> =
        others.iter().filter_map(|other| Threat::new(mover, other, preferred)).collect();
    if threats.iter().all(|threat| threat.time(preferred) >= HORIZON_S) {
        return keep_off(mover, others, preferred, dt);
    }
    keep_off(mover, others, choose(mover, &threats, Vec2::ZERO), dt)
}

/// The same beside a wall. `wall` is the direction in which nothing goes, unit length or zero.
pub(super) fn steer_along(mover: &SteeredBody, others: &[CrowdBody], wall: Vec2, dt: f32) -> Vec2 {
    let others = &others[..others.len().min(NEIGHBOURS_MAX)];
    if mover.pressing {
        return press(mover, others, wall, dt);
    }
    let threats: SmallVec<[Threat; NEIGHBOURS_MAX]> =
        others.iter().filter_map(|other| Threat::new(mover, other, mover.body.preferred)).collect();
    keep_off(mover, others, choose(mover, &threats, wall), dt)
}

/// True if a step leads closer to a body than contact, and closer than before.
pub(super) fn is_closer(mover: &SteeredBody, other: &CrowdBody, from: Vec2, to: Vec2) -> bool {
    // Rounding stops no walker.
    let contact = contact_m(mover, other) - ROUNDING_M;
    let after = to.distance_squared(other.at);
    after < contact * contact && after < from.distance_squared(other.at)
}

/// The best of the ways, of which nothing goes toward the wall.
fn choose(mover: &SteeredBody, threats: &[Threat], wall: Vec2) -> Vec2 {
    let preferred = mover.body.preferred;
    let square = preferred.length_squared().max(1e-6);
    let mut best = (f32::INFINITY, Vec2::ZERO);
    for (cos, sin, speed) in WAYS {
        let way =
            Vec2::new(preferred.x * cos - preferred.y * sin, preferred.x * sin + preferred.y * cos) * speed;
        let way = way - wall * way.dot(wall).max(0.0);
        let time = threats.iter().map(|threat| threat.time(way)).fold(HORIZON_S, f32::min);
        let length = way.length();
        let cost = (1.0 - if length > 0.0 { way.dot(preferred) / (length * square.sqrt()) } else { 1.0 })
            + (1.0 - length / square.sqrt()) * SLOWNESS
            + if sin > 0.0 { LEFT } else { 0.0 }
            + (HORIZON_S - time) * DANGER / (time + 0.25)
            + (way - mover.body.velocity).length_squared() / square * CHANGE;
        if cost < best.0 {
            best = (cost, way);
        }
    }
    best.1
}

/// The way on which one gets on most at once, however close others are.
fn press(mover: &SteeredBody, others: &[CrowdBody], wall: Vec2, dt: f32) -> Vec2 {
    let preferred = mover.body.preferred;
    let square = preferred.length_squared().max(1e-6);
    let mut best = (f32::INFINITY, Vec2::ZERO);
    for (cos, sin, speed) in WAYS {
        let way =
            Vec2::new(preferred.x * cos - preferred.y * sin, preferred.x * sin + preferred.y * cos) * speed;
        let way = keep_off(mover, others, way - wall * way.dot(wall).max(0.0), dt);
        let cost = (1.0 - way.dot(preferred) / square)
            + (1.0 - (way.length_squared() / square).sqrt()) * SLOWNESS
            + if sin > 0.0 { LEFT } else { 0.0 };
        if cost < best.0 {
            best = (cost, way);
        }
    }
    best.1
}

/// A body ahead.
struct Threat {
    /// From the mover.
    rel: Vec2,
    velocity: Vec2,
    /// Square of the distance that is kept.
    square: f32,
}

impl Threat {
    /// `None` for a body behind, which has to avoid the mover itself.
    fn new(mover: &SteeredBody, other: &CrowdBody, preferred: Vec2) -> Option<Self> {
        let rel = other.at - mover.body.at;
        if rel.dot(preferred) < 0.0 {
            return None;
        }
        let distance = rel.length();
        // A body already closer counts at its own distance.
        let keep = (contact_m(mover, other) + ROOM_M).min(distance * 0.98);
        Some(Self { rel, velocity: other.velocity, square: keep * keep })
    }

    /// Seconds until they meet.
    fn time(&self, way: Vec2) -> f32 {
        let closing = way - self.velocity;
        let approach = self.rel.dot(closing);
        if approach <= 0.0 {
            return f32::INFINITY;
        }
        let (a, c) = (closing.length_squared(), self.rel.length_squared() - self.square);
        let inside = approach * approach - a * c;
        if inside < 0.0 { f32::INFINITY } else { c.max(0.0) / (approach + inside.sqrt()) }
    }
}

/// Overlap of two bodies, metres; negative without one.
fn overlap_m(mover: &SteeredBody, other: &CrowdBody) -> f32 {
    mover.body.radius + other.radius - mover.body.at.distance(other.at)
}

/// Distance of two bodies at contact, metres between axes.
fn contact_m(mover: &SteeredBody, other: &CrowdBody) -> f32 {
    let contact = mover.body.radius + other.radius;
    if mover.pressing && goes_first(mover, other) { contact - OVERLAP_MAX_M } else { contact }
}

/// True if the mover precedes another body. A body behind lets the other go first; of two that are in each other's way, or in
/// neither's, the one farther from its next corner does.
fn goes_first(mover: &SteeredBody, other: &CrowdBody) -> bool {
    let me = &mover.body;
    if other.left_m <= 0.0 || other.preferred == Vec2::ZERO {
        return other.left_m > 0.0;
    }
    let rel = other.at - me.at;
    let (has_ahead, is_ahead) = (rel.dot(me.preferred) > 0.0, rel.dot(other.preferred) < 0.0);
    if has_ahead == is_ahead {
        let key = |body: &CrowdBody| (body.left_m, body.at.x, body.at.y);
        return key(me) < key(other);
    }
    is_ahead
}

/// Part of a velocity that avoids contact with bodies at rest.
fn keep_off(mover: &SteeredBody, others: &[CrowdBody], velocity: Vec2, dt: f32) -> Vec2 {
    let reach = velocity.length() * dt;
    let mut kept = velocity;
    // The second pass is for bodies to which evasion of the first ones has led.
    for _ in 0..2 {
        for other in others {
            let (toward, room) = room(mover, other);
            if room < reach {
                let excess = kept.dot(toward) - room.max(0.0) / dt;
                if excess > 0.0 {
                    kept -= toward * excess;
                }
            }
        }
    }
    let mut share = 1.0f32;
    for other in others {
        let (toward, room) = room(mover, other);
        let approach = kept.dot(toward) * dt;
        if approach > room.max(0.0) {
            share = share.min(room.max(0.0) / approach);
        }
    }
    if share < 1.0 {
        kept *= share;
    }
    // The rest of a preferred velocity must not creep.
    let is_creep = kept != velocity && kept.length_squared() < CREEP_M_PER_S * CREEP_M_PER_S;
    if is_creep { Vec2::ZERO } else { kept }
}

/// Direction to a body, and room until contact.
fn room(mover: &SteeredBody, other: &CrowdBody) -> (Vec2, f32) {
    let rel = other.at - mover.body.at;
    let distance = rel.length();
    // Two at the same point: east and west of each other.
    let toward = if distance > 1e-4 { rel / distance } else { Vec2::X };
    (toward, distance - contact_m(mover, other))
}

/// Velocity away from bodies that overlap by more than the slack; otherwise a walker without a preferred velocity stands.
fn part(mover: &SteeredBody, others: &[CrowdBody], slack: f32, dt: f32) -> Vec2 {
    let mut away = Vec2::ZERO;
    for other in others {
        let rel = mover.body.at - other.at;
        let contact = mover.body.radius + other.radius - slack;
        let square = rel.length_squared();
        // A walker on its way holds its place against those behind it.
        let is_mine = mover.body.preferred != Vec2::ZERO && goes_first(mover, other);
        if square < contact * contact && !is_mine {
            let distance = square.sqrt();
            away += if distance > 1e-4 { rel / distance } else { -Vec2::X };
        }
    }
    if away == Vec2::ZERO {
        return away;
    }
    keep_off(mover, others, away.normalize_or_zero() * PART_M_PER_S, dt)
}
