//! Which way around others.
//!
//! A wish that meets nobody within the next seconds is granted as it is, bit for bit. Else a few ways are looked at, the wish turned to either side
//! and slowed down, and the best is taken: the time until one meets somebody against the détour. Turned wishes stay the same from
//! tick to tick as long as the wish does, so that velocities change now and then and not all the time: each change is told to every client that
//! sees it. Ties go to the right. Last, nobody comes closer to anybody than contact by its own step.

use super::{Body, CREEP_M_PER_S, Mover, NEIGHBOURS_MAX, OVERLAP_MAX_M};
use glam::Vec2;
use smallvec::SmallVec;

/// Meetings later than this are no concern yet, seconds.
const HORIZON_S: f32 = 2.0;
/// Room kept to others where there is some, metres.
const ROOM_M: f32 = 0.08;
/// Those who overlap that much may stay so, metres: rounding moves nobody.
const SLACK_M: f32 = 0.02;
/// Who is on its way stops for nothing less, metres.
const YIELD_M: f32 = 0.05;
/// What a step that ends at contact may end inside of it, metres.
const ROUNDING_M: f32 = 1e-3;
/// How fast those who overlap more move apart, metres a second.
const PART_M_PER_S: f32 = 0.5;

/// What a second less until a meeting counts against turning all the way back.
const DANGER: f32 = 0.35;
/// What standing still counts.
const SLOWNESS: f32 = 0.55;
/// What another velocity than before counts: who has turned aside keeps to it.
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

/// What a turn to the left counts more than one to the right: those who meet head on both turn to their right, and pass.
const LEFT: f32 = 0.04;

/// The velocity to take. `others` are the nearest, without the mover; of more than [`NEIGHBOURS_MAX`] the first count. A wish that is no number is no wish.
#[must_use]
pub fn steer(mover: &Mover, others: &[Body], dt: f32) -> Vec2 {
    let others = &others[..others.len().min(NEIGHBOURS_MAX)];
    if !mover.body.wish.is_finite() || mover.body.wish == Vec2::ZERO {
        return part(mover, others, SLACK_M, dt);
    }
    let wish = mover.body.wish;
    // In a jam somebody has to give way. The order is total, so that whoever goes first of all is held by nobody.
    if others.iter().any(|other| overlap_m(mover, other) > YIELD_M && !goes_first(mover, other)) {
        return part(mover, others, YIELD_M, dt);
    }
    if mover.pressing {
        return press(mover, others, Vec2::ZERO, dt);
    }
    let threats: SmallVec<[Threat; NEIGHBOURS_MAX]> =
        others.iter().filter_map(|other| Threat::new(mover, other, wish)).collect();
    if threats.iter().all(|threat| threat.time(wish) >= HORIZON_S) {
        return keep_off(mover, others, wish, dt);
    }
    keep_off(mover, others, choose(mover, &threats, Vec2::ZERO), dt)
}

/// The same beside a wall. `wall` is the direction in which nothing goes, unit length or zero.
pub(super) fn steer_along(mover: &Mover, others: &[Body], wall: Vec2, dt: f32) -> Vec2 {
    let others = &others[..others.len().min(NEIGHBOURS_MAX)];
    if mover.pressing {
        return press(mover, others, wall, dt);
    }
    let threats: SmallVec<[Threat; NEIGHBOURS_MAX]> =
        others.iter().filter_map(|other| Threat::new(mover, other, mover.body.wish)).collect();
    keep_off(mover, others, choose(mover, &threats, wall), dt)
}

/// Whether a step leads closer to somebody than contact, and closer than before.
pub(super) fn is_closer(mover: &Mover, other: &Body, from: Vec2, to: Vec2) -> bool {
    // Rounding brings nobody to a stop.
    let contact = contact_m(mover, other) - ROUNDING_M;
    let after = to.distance_squared(other.at);
    after < contact * contact && after < from.distance_squared(other.at)
}

/// The best of the ways, of which nothing goes toward the wall.
fn choose(mover: &Mover, threats: &[Threat], wall: Vec2) -> Vec2 {
    let wish = mover.body.wish;
    let square = wish.length_squared().max(1e-6);
    let mut best = (f32::INFINITY, Vec2::ZERO);
    for (cos, sin, speed) in WAYS {
        let way = Vec2::new(wish.x * cos - wish.y * sin, wish.x * sin + wish.y * cos) * speed;
        let way = way - wall * way.dot(wall).max(0.0);
        let time = threats.iter().map(|threat| threat.time(way)).fold(HORIZON_S, f32::min);
        let length = way.length();
        let cost = (1.0 - if length > 0.0 { way.dot(wish) / (length * square.sqrt()) } else { 1.0 })
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
fn press(mover: &Mover, others: &[Body], wall: Vec2, dt: f32) -> Vec2 {
    let wish = mover.body.wish;
    let square = wish.length_squared().max(1e-6);
    let mut best = (f32::INFINITY, Vec2::ZERO);
    for (cos, sin, speed) in WAYS {
        let way = Vec2::new(wish.x * cos - wish.y * sin, wish.x * sin + wish.y * cos) * speed;
        let way = keep_off(mover, others, way - wall * way.dot(wall).max(0.0), dt);
        let cost = (1.0 - way.dot(wish) / square)
            + (1.0 - (way.length_squared() / square).sqrt()) * SLOWNESS
            + if sin > 0.0 { LEFT } else { 0.0 };
        if cost < best.0 {
            best = (cost, way);
        }
    }
    best.1
}

/// Somebody ahead.
struct Threat {
    /// From the mover.
    rel: Vec2,
    velocity: Vec2,
    /// Square of the distance that is kept.
    square: f32,
}

impl Threat {
    /// None for who is behind: it is theirs to see to it.
    fn new(mover: &Mover, other: &Body, wish: Vec2) -> Option<Self> {
        let rel = other.at - mover.body.at;
        if rel.dot(wish) < 0.0 {
            return None;
        }
        let distance = rel.length();
        // Who is close already counts as no closer than it is.
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

/// How deep two overlap, metres; negative when they do not.
fn overlap_m(mover: &Mover, other: &Body) -> f32 {
    mover.body.radius + other.radius - mover.body.at.distance(other.at)
}

/// How close two come, metres between axes.
fn contact_m(mover: &Mover, other: &Body) -> f32 {
    let contact = mover.body.radius + other.radius;
    if mover.pressing && goes_first(mover, other) { contact - OVERLAP_MAX_M } else { contact }
}

/// Whether the mover goes before somebody else: who is behind lets others go first, and of two who are in each other's way, or in
/// neither's, the one who is farther from its next corner.
fn goes_first(mover: &Mover, other: &Body) -> bool {
    let me = &mover.body;
    if other.left_m <= 0.0 || other.wish == Vec2::ZERO {
        return other.left_m > 0.0;
    }
    let rel = other.at - me.at;
    let (has_ahead, is_ahead) = (rel.dot(me.wish) > 0.0, rel.dot(other.wish) < 0.0);
    if has_ahead == is_ahead {
        let key = |body: &Body| (body.left_m, body.at.x, body.at.y);
        return key(me) < key(other);
    }
    is_ahead
}

/// What of a velocity keeps out of contact with those who do not move meanwhile.
fn keep_off(mover: &Mover, others: &[Body], velocity: Vec2, dt: f32) -> Vec2 {
    let reach = velocity.length() * dt;
    let mut kept = velocity;
    // The second time for those to whom evading the others has led.
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
    // What is left of a wish is no creeping.
    let is_creep = kept != velocity && kept.length_squared() < CREEP_M_PER_S * CREEP_M_PER_S;
    if is_creep { Vec2::ZERO } else { kept }
}

/// Direction of somebody, and room until contact.
fn room(mover: &Mover, other: &Body) -> (Vec2, f32) {
    let rel = other.at - mover.body.at;
    let distance = rel.length();
    // Two at the same point: east and west of each other.
    let toward = if distance > 1e-4 { rel / distance } else { Vec2::X };
    (toward, distance - contact_m(mover, other))
}

/// Away from those who overlap by more than the slack; who wants to go nowhere stands otherwise.
fn part(mover: &Mover, others: &[Body], slack: f32, dt: f32) -> Vec2 {
    let mut away = Vec2::ZERO;
    for other in others {
        let rel = mover.body.at - other.at;
        let contact = mover.body.radius + other.radius - slack;
        let square = rel.length_squared();
        // Somebody on its way holds its place against those behind it.
        let is_mine = mover.body.wish != Vec2::ZERO && goes_first(mover, other);
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
