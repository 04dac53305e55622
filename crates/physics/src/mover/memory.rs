//! Steps that an avatar has made already.
//!
//! Most walkers of a crowd press against a wall: each step begins where the last one ended, and ends there too.

use super::{AvatarStep, Gait, Moved};
use glam::Vec2;
use smallvec::SmallVec;

/// Steps that are remembered: an avatar in a corner may go round between some places. Of the walkers in generated content 49 % repeat the last step,
/// and 12 % one of the seven before (001d213, with three steps a tick).
const STEPS_MAX: usize = 8;
/// Heights of the ground on which a remembered step may depend.
const HEIGHTS_MAX: usize = 4;

/// Heights of the ground by place, as a step has asked for them.
#[derive(Clone, Debug, Default)]
pub(super) struct Heights {
    by_place: SmallVec<[(Vec2, f32); HEIGHTS_MAX]>,
    /// There were more.
    is_cut: bool,
}

impl Heights {
    pub(super) fn note(&mut self, place: Vec2, height: f32) {
        if self.by_place.contains(&(place, height)) {
            return;
        }
        self.is_cut |= self.by_place.len() == HEIGHTS_MAX;
        if !self.is_cut {
            self.by_place.push((place, height));
        }
    }

    /// True if the ground still has these heights.
    fn are_of(&self, ground: impl Fn(Vec2) -> f32) -> bool {
        self.by_place.iter().all(|&(place, height)| ground(place).to_bits() == height.to_bits())
    }
}

/// The last different steps with an obstacle in the way, for as long as the surroundings are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct StepMemory {
    /// Allocated by the first one.
    steps: Vec<RememberedStep>,
    /// The one that is replaced next.
    oldest: usize,
}

#[derive(Clone, Debug)]
struct RememberedStep {
    key: StepKey,
    heights: Heights,
    moved: Moved,
}

/// Bits of a step: 0 and −0 are different.
type StepKey = [u32; 12];

fn key_of(step: &AvatarStep) -> StepKey {
    let AvatarStep { from, wish, carried, cylinder, gait } = step;
    // Airborne: a negative NaN, which no `ground_drop` is.
    let drop = match gait {
        Gait::Walking { ground_drop } => *ground_drop,
        Gait::Airborne => f32::from_bits(u32::MAX),
    };
    let numbers = [from.x, from.y, from.z, wish.x, wish.y, wish.z, carried.x, carried.y, carried.z];
    let mut key = [0; 12];
    let rest = [cylinder.radius, cylinder.half_height, drop];
    key.iter_mut().zip(numbers.into_iter().chain(rest)).for_each(|(bits, number)| *bits = number.to_bits());
    key
}

impl StepMemory {
    pub(super) fn clear(&mut self) {
        self.steps.clear();
        self.oldest = 0;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The result of a step, if it is remembered and the ground is what it was.
    pub(super) fn recall(&self, step: &AvatarStep, ground: impl Fn(Vec2) -> f32) -> Option<Moved> {
        let key = key_of(step);
        // Most differ in their first word.
        let known = self.steps.iter().find(|known| known.key[0] == key[0] && known.key == key)?;
        known.heights.are_of(ground).then_some(known.moved)
    }

    pub(super) fn remember(&mut self, step: &AvatarStep, heights: &Heights, moved: &Moved) {
        if moved.hit.is_none() || heights.is_cut {
            return;
        }
        let key = key_of(step);
        let new = RememberedStep { key, heights: heights.clone(), moved: *moved };
        // A step on other ground replaces the one that it was before.
        if let Some(known) = self.steps.iter_mut().find(|known| known.key == key) {
            *known = new;
        } else if self.steps.len() < STEPS_MAX {
            self.steps.push(new);
        } else {
            self.steps[self.oldest] = new;
            self.oldest = (self.oldest + 1) % STEPS_MAX;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mover::{Cylinder, Obstruction, Support};
    use glam::Vec3;
    use ids::LocalId;

    fn step(x: f32) -> AvatarStep {
        AvatarStep {
            from: Vec3::new(x, 2.0, 3.0),
            wish: Vec3::X,
            carried: Vec3::ZERO,
            cylinder: Cylinder { radius: 0.3, half_height: 0.95 },
            gait: Gait::Walking { ground_drop: 0.1 },
        }
    }

    fn moved(x: f32) -> Moved {
        let hit = Some(Obstruction { id: LocalId(1), normal: Vec3::NEG_X });
        Moved { position: Vec3::new(x, 2.0, 3.0), on: Support::Ground, hit }
    }

    fn heights() -> Heights {
        let mut heights = Heights::default();
        heights.note(Vec2::ONE, 2.0);
        heights
    }

    #[test]
    fn equal_steps_over_equal_ground_are_recalled() {
        let mut memory = StepMemory::default();
        memory.remember(&step(0.0), &heights(), &moved(0.5));
        assert_eq!(memory.recall(&step(0.0), |_| 2.0), Some(moved(0.5)));
        assert_eq!(memory.recall(&step(0.0), |_| 2.1), None, "other ground");
        assert_eq!(memory.recall(&step(-0.0), |_| 2.0), None, "other bits");
        let airborne = AvatarStep { gait: Gait::Airborne, ..step(0.0) };
        assert_eq!(memory.recall(&airborne, |_| 2.0), None);
        memory.clear();
        assert_eq!(memory.recall(&step(0.0), |_| 2.0), None);
    }

    #[test]
    fn few_steps_are_remembered_and_the_oldest_is_forgotten() {
        let mut memory = StepMemory::default();
        let n_steps = STEPS_MAX + 1;
        for x in (0..n_steps).map(|x| x as f32) {
            memory.remember(&step(x), &heights(), &moved(x));
            memory.remember(&step(x), &heights(), &moved(x));
        }
        assert_eq!(memory.recall(&step(0.0), |_| 2.0), None);
        for x in (1..n_steps).map(|x| x as f32) {
            assert_eq!(memory.recall(&step(x), |_| 2.0), Some(moved(x)));
        }
    }

    #[test]
    fn steps_without_an_obstacle_and_those_over_much_ground_are_not_remembered() {
        let mut memory = StepMemory::default();
        memory.remember(&step(0.0), &heights(), &Moved { hit: None, ..moved(0.0) });
        let mut many = heights();
        (0..HEIGHTS_MAX).for_each(|x| many.note(Vec2::splat(x as f32 * 0.1), 2.0));
        memory.remember(&step(0.0), &many, &moved(0.0));
        assert!(memory.is_empty());
    }
}
