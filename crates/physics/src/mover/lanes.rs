//! Bounds of many facets, coordinate by coordinate, so that eight are compared at once.

use crate::bounds::Aabb;
use glam::Vec3;

/// Facets of a block.
const LANES: usize = 8;

/// Bounds of a list of facets.
#[derive(Clone, Debug, Default)]
pub(super) struct BoundsList {
    blocks: Vec<BoundsBlock>,
    len: usize,
}

/// Bounds of eight facets. Places without one are empty and overlap nothing.
#[derive(Clone, Copy, Debug)]
struct BoundsBlock {
    low: [[f32; LANES]; 3],
    high: [[f32; LANES]; 3],
}

impl BoundsBlock {
    const EMPTY: Self = Self { low: [[f32::INFINITY; LANES]; 3], high: [[f32::NEG_INFINITY; LANES]; 3] };

    /// A bit for each facet whose bounds overlap a box, as [`Aabb::overlaps`].
    #[inline]
    fn overlapping(&self, area: &Aabb) -> u32 {
        let (low, high) = (area.low.to_array(), area.high.to_array());
        let mut overlaps = [true; LANES];
        for axis in 0..3 {
            for (lane, overlaps) in overlaps.iter_mut().enumerate() {
                *overlaps &= (self.low[axis][lane] <= high[axis]) & (self.high[axis][lane] >= low[axis]);
            }
        }
        overlaps.iter().rev().fold(0, |bits, &is_met| bits << 1 | u32::from(is_met))
    }
}

impl BoundsList {
    /// Keeps the memory.
    pub(super) fn clear(&mut self) {
        self.blocks.clear();
        self.len = 0;
    }

    /// Adds the bounds of one more facet.
    pub(super) fn push(&mut self, bounds: &Aabb) {
        let (block, lane) = (self.len / LANES, self.len % LANES);
        if lane == 0 {
            self.blocks.push(BoundsBlock::EMPTY);
        }
        let block = &mut self.blocks[block];
        for axis in 0..3 {
            (block.low[axis][lane], block.high[axis][lane]) = (bounds.low[axis], bounds.high[axis]);
        }
        self.len += 1;
    }

    /// The bounds of a facet.
    pub(super) fn get(&self, index: usize) -> Aabb {
        let (block, lane) = (&self.blocks[index / LANES], index % LANES);
        let corner = |side: &[[f32; LANES]; 3]| Vec3::new(side[0][lane], side[1][lane], side[2][lane]);
        Aabb { low: corner(&block.low), high: corner(&block.high) }
    }

    /// Numbers of the facets whose bounds overlap a box, ascending.
    #[inline]
    pub(super) fn overlapping(&self, area: Aabb) -> impl Iterator<Item = usize> {
        self.blocks.iter().enumerate().flat_map(move |(number, block)| {
            let mut bits = block.overlapping(&area);
            std::iter::from_fn(move || {
                let lane = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                Some(number * LANES + lane)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn small_box() -> impl Strategy<Value = Aabb> {
        let coordinate = -4_i8..4;
        ([coordinate.clone(), coordinate.clone(), coordinate], [0_i8..3, 0..3, 0..3]).prop_map(
            |(low, size)| {
                let low = Vec3::from(low.map(f32::from));
                Aabb { low, high: low + Vec3::from(size.map(f32::from)) }
            },
        )
    }

    proptest! {
        #[test]
        fn those_that_overlap_are_listed_in_order(boxes in prop::collection::vec(small_box(), 0..40), area in small_box()) {
            let mut list = BoundsList::default();
            boxes.iter().for_each(|bounds| list.push(bounds));
            let expected: Vec<usize> = (0..boxes.len()).filter(|&index| boxes[index].overlaps(&area)).collect();
            prop_assert_eq!(list.overlapping(area).collect::<Vec<_>>(), expected);
            list.clear();
            prop_assert_eq!(list.overlapping(area).count(), 0);
        }
    }
}
