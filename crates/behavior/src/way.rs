//! Getting somewhere: choosing a goal, being on the way, arriving.

use super::{
    intent::Go,
    mind::{Leaf, LeafProgress, NONE},
    node::{Gait, PlaceRef, Tenths},
    think::{
        NodeOutcome::{self, Failure, Running, Success},
        Thought,
    },
};
use crate::senses::{Journey, MoveProgress};
use core::f32::consts::TAU;
use glam::{Vec2, Vec3};

/// Distance from a goal that counts as arrival, metres.
pub(super) const ARRIVED_M: f32 = 1.0;
/// Height between two floors, metres: an NPC below a goal has not arrived.
const FLOOR_M: f32 = 2.5;
/// Milliseconds after which the way to a place is given up.
const WAY_MS_MAX: u32 = 120_000;

/// Progress of a way.
pub(super) enum Approach {
    Going,
    There,
    /// There is no way, or it took too long.
    Blocked,
}

impl<R: FnMut() -> u32> Thought<'_, R> {
    /// On the way to a place. `None` after the first arrival, which nothing undoes.
    pub(super) fn arrive(&mut self, leaf: &mut Leaf, pace: Gait, at: PlaceRef) -> Option<NodeOutcome> {
        match leaf.phase {
            LeafProgress::There => return None,
            LeafProgress::New if at == PlaceRef::HERE => {
                leaf.spot = self.senses.position;
                self.mark_arrived(leaf);
                return Some(Success);
            }
            LeafProgress::New => {
                let Some(spot) = self.point_of(at) else { return Some(Failure) };
                self.set_out(leaf, spot);
            }
            LeafProgress::Going => {}
        }
        Some(match self.way(leaf, ARRIVED_M) {
            Approach::Going => self.walk(leaf, pace),
            Approach::Blocked => Failure,
            Approach::There => {
                self.mark_arrived(leaf);
                Success
            }
        })
    }

    /// It is where it wanted to be: how long it stays counts from here.
    pub(super) fn mark_arrived(&self, leaf: &mut Leaf) {
        leaf.phase = LeafProgress::There;
        leaf.since = self.now;
        leaf.due = self.now;
    }

    pub(super) fn pause(&mut self, leaf: &mut Leaf, pause: (Tenths, Tenths)) -> NodeOutcome {
        leaf.phase = LeafProgress::There;
        leaf.due = self.now.after(self.between(pause));
        Running
    }

    /// Chooses another goal.
    pub(super) fn set_out(&self, leaf: &mut Leaf, spot: Vec3) {
        leaf.spot = spot;
        leaf.phase = LeafProgress::Going;
        leaf.due = self.now.after(WAY_MS_MAX);
        leaf.leg = leaf.leg.wrapping_add(1);
    }

    pub(super) fn walk(&mut self, leaf: &Leaf, pace: Gait) -> NodeOutcome {
        self.out.go = Go::To(leaf.spot);
        self.out.pace = pace.into();
        Running
    }

    /// Squared distance to a position, m². Height counts from that of a floor on: on a slope one end is higher, and positions are those
    /// of bodies' middles on one side and of feet on the other.
    pub(super) fn square_to(&self, place: Vec3) -> f32 {
        let way = place - self.senses.position;
        if way.z.abs() <= FLOOR_M { way.truncate().length_squared() } else { way.length_squared() }
    }

    pub(super) fn way(&self, leaf: &Leaf, within_m: f32) -> Approach {
        let way = leaf.spot - self.senses.position;
        if way.truncate().length_squared() <= within_m * within_m && way.z.abs() <= FLOOR_M {
            return Approach::There;
        }
        match self.senses.journey {
            Journey { leg, progress: MoveProgress::Arrived } if leg == leaf.leg => Approach::There,
            Journey { leg, progress: MoveProgress::Unreachable } if leg == leaf.leg => Approach::Blocked,
            _ if self.now.has_reached(leaf.due) => Approach::Blocked,
            _ => Approach::Going,
        }
    }

    /// The NPC's own point of a place.
    pub(super) fn point_of(&mut self, spot: PlaceRef) -> Option<Vec3> {
        match self.set.place(spot) {
            Some((middle, radius_m)) if radius_m > 0.0 => Some(self.point_near(middle, radius_m)),
            Some((middle, _)) => Some(middle),
            None => self.place(spot),
        }
    }

    pub(super) fn point_near(&mut self, middle: Vec3, radius_m: f32) -> Vec3 {
        let (sin, cos) = libm::sincosf(self.share() * TAU);
        // The root makes all of the disc equally likely.
        let far_m = radius_m * libm::sqrtf(self.share());
        middle + (Vec2::new(cos, sin) * far_m).extend(0.0)
    }

    pub(super) fn is_over(&self, leaf: &Leaf, lasting: Tenths) -> bool {
        lasting.0 > 0 && self.now.since(leaf.since) >= lasting.ms()
    }
}

/// The index of the point that is nearest.
pub(super) fn nearest(points: &[Vec3], to: Vec3) -> u16 {
    let squares = points.iter().map(|point| point.distance_squared(to));
    let nearest = squares.enumerate().min_by(|(_, a), (_, b)| a.total_cmp(b));
    nearest.map_or(NONE, |(index, _)| index as u16)
}
