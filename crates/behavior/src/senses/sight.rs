//! Candidates of a look: of all entities the few nearest in view.
//!
//! A line of sight costs far more than the rest of a look, so it is computed for these few only, and only for kinds that a behaviour
//! mentions.

use super::{EntityId, KindId, KindSet, perception::SEEN_MAX};
use glam::{Vec2, Vec3};
use serde::{Deserialize, Serialize};

/// Acuity of a kind of NPC's senses; a template has one for each kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Acuity {
    /// Range of sight, metres.
    pub radius_m: f32,
    /// Cosine of half of the field of view: −1 sees all around, 0 the half in front.
    pub half_view_cos: f32,
    /// Distance within which an entity is noticed in any direction, metres.
    pub close_m: f32,
    /// From the middle of the body up to the eyes, metres.
    pub eyes_m: f32,
    /// Milliseconds for which an entity out of view is remembered.
    pub memory_ms: u32,
    /// Factor on a person's range of hearing.
    pub hearing: f32,
}

impl Default for Acuity {
    /// A person: 200° of view.
    fn default() -> Self {
        Self {
            radius_m: 40.0,
            half_view_cos: -0.17,
            close_m: 2.5,
            eyes_m: 0.7,
            memory_ms: 10_000,
            hearing: 1.0,
        }
    }
}

/// A visible entity. A world lists its entities once a tick for all NPCs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The entity.
    pub who: EntityId,
    /// Its kind.
    pub kind: KindId,
    /// Fallen: noticed only by NPCs with it as their target.
    pub has_fallen: bool,
    /// The middle of the body: the end of lines of sight.
    pub position: Vec3,
}

/// The NPC that looks, its place, and the kinds it looks for.
#[derive(Clone, Copy, Debug)]
pub struct Onlooker {
    /// The NPC that looks: is not a candidate of its own.
    pub me: EntityId,
    /// The middle of the body.
    pub position: Vec3,
    /// Direction that it faces, of length 1.
    pub facing: Vec2,
    /// Kinds that matter to its behaviour ([`BehaviorSet::interest`](crate::BehaviorSet::interest)).
    pub interest: KindSet,
    /// Its target ([`Mind::target`](crate::Mind::target)): considered before all others, in all directions.
    pub target: Option<EntityId>,
}

/// The few to ask a line of sight for, nearest first.
#[derive(Debug)]
pub(super) struct Considered {
    /// Squares of distances, and indexes of candidates.
    nearest: [(f32, u32); SEEN_MAX],
    len: usize,
}

impl Considered {
    pub(super) fn of(eyes: &Onlooker, sight: &Acuity, candidates: &[Candidate]) -> Self {
        let mut considered = Self { nearest: [(f32::INFINITY, 0); SEEN_MAX], len: 0 };
        let reach = sight.radius_m * sight.radius_m;
        for (index, candidate) in (0..).zip(candidates) {
            let way = candidate.position - eyes.position;
            let square = way.length_squared();
            // NaN is not within reach either.
            let is_near = square <= reach;
            if !is_near || candidate.who == eyes.me {
                continue;
            }
            if eyes.target == Some(candidate.who) {
                considered.insert(-1.0, index);
            } else if !candidate.has_fallen
                && eyes.interest.has(candidate.kind)
                && is_in_view(eyes.facing, way.truncate(), sight)
            {
                considered.insert(square, index);
            }
        }
        considered
    }

    pub(super) fn indexes(&self) -> impl Iterator<Item = usize> {
        self.nearest[..self.len].iter().map(|&(_, index)| index as usize)
    }

    /// Keeps the list sorted and short. Of two at the same distance the one listed first stays first.
    fn insert(&mut self, square: f32, index: u32) {
        let at = self.nearest[..self.len].partition_point(|&(other, _)| other <= square);
        if at == SEEN_MAX {
            return;
        }
        self.len = (self.len + 1).min(SEEN_MAX);
        self.nearest.copy_within(at..self.len - 1, at + 1);
        self.nearest[at] = (square, index);
    }
}

/// True if a direction lies in the field of view; without a root: the signs first, then squares.
fn is_in_view(facing: Vec2, way: Vec2, sight: &Acuity) -> bool {
    let square = way.length_squared();
    if square <= sight.close_m * sight.close_m {
        return true;
    }
    let ahead = facing.dot(way);
    let cos = sight.half_view_cos;
    if cos >= 0.0 {
        ahead > 0.0 && ahead * ahead >= cos * cos * square
    } else {
        ahead >= 0.0 || ahead * ahead <= cos * cos * square
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(number: u32) -> EntityId {
        EntityId::new(number).unwrap()
    }

    fn candidate(number: u32, x: f32, y: f32) -> Candidate {
        let position = Vec3::new(x, y, 20.0);
        Candidate { who: id(number), kind: KindId::PLAYER, has_fallen: false, position }
    }

    fn eyes() -> Onlooker {
        let position = Vec3::new(0.0, 0.0, 20.0);
        Onlooker { me: id(99), position, facing: Vec2::X, interest: KindSet::ALL, target: None }
    }

    fn whom(eyes: &Onlooker, sight: &Acuity, candidates: &[Candidate]) -> Vec<u32> {
        Considered::of(eyes, sight, candidates).indexes().map(|index| candidates[index].who.get()).collect()
    }

    #[test]
    fn the_nearest_in_view_come_first_and_no_more_than_can_be_remembered() {
        let mut candidates: Vec<Candidate> =
            (1..=20).map(|n| candidate(n, 2.0 * ((n * 7 % 20) as f32) + 1.0, 0.0)).collect();
        candidates.push(candidate(99, 0.0, 0.0));
        assert_eq!(whom(&eyes(), &Acuity::default(), &candidates), [20, 3, 6, 9]);
    }

    #[test]
    fn a_target_behind_the_back_is_seen_only_close_by() {
        let sight = Acuity { half_view_cos: 0.5, ..Acuity::default() };
        let candidates = [
            candidate(1, -10.0, 0.0),
            candidate(2, -1.0, 0.0),
            candidate(3, 5.0, 8.0),
            candidate(4, 5.0, 9.0),
        ];
        assert_eq!(whom(&eyes(), &sight, &candidates), [2, 3]);
        let target = Onlooker { target: Some(id(1)), ..eyes() };
        assert_eq!(whom(&target, &sight, &candidates), [1, 2, 3]);
    }

    #[test]
    fn fallen_and_uninteresting_candidates_cost_no_line_of_sight() {
        let mut candidates = [candidate(1, 5.0, 0.0), candidate(2, 6.0, 0.0), candidate(3, 7.0, 0.0)];
        candidates[0].has_fallen = true;
        candidates[1].kind = KindId(7);
        let eyes = Onlooker { interest: KindSet::only(KindId::PLAYER), ..eyes() };
        assert_eq!(whom(&eyes, &Acuity::default(), &candidates), [3]);
        let eyes = Onlooker { target: Some(id(1)), ..eyes };
        assert_eq!(whom(&eyes, &Acuity::default(), &candidates), [1, 3]);
    }

    proptest! {
        #[test]
        fn the_field_of_view_is_the_angle_that_it_says(
            heading in -3.1f32..3.1, direction in -3.1f32..3.1, half in 0.1f32..3.0, far in 3.0f32..39.0,
        ) {
            let between = (heading - direction).abs();
            let between = between.min(core::f32::consts::TAU - between);
            prop_assume!((between - half).abs() > 0.01);
            let sight = Acuity { half_view_cos: libm::cosf(half), ..Acuity::default() };
            let facing = Vec2::from_angle(heading);
            let is_seen = is_in_view(facing, Vec2::from_angle(direction) * far, &sight);
            prop_assert_eq!(is_seen, between < half);
        }
    }
}
