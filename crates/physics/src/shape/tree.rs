//! Tree of boxes around the triangles of a mesh.
//!
//! The nodes stand in the order of a walk, each with the index behind its subtree, so that a query is one loop without a stack. Their boxes are in steps of
//! the whole box, 65,533 along each axis, rounded outward: a node has 16 bytes, and a query compares whole numbers. A region of 100,000 prims has some
//! thousand distinct meshes, and trees are the most of them.

use crate::bounds::Aabb;
use glam::Vec3;
use std::ops::Range;

/// Triangles of a leaf, at most.
const LEAF_MAX: usize = 4;

/// Steps of a tree's box along an axis: one less on each side than the numbers reach.
const STEPS: f32 = 65_533.0;
/// Bits of the number of triangles beside that of the first one: 2,000 triangles have numbers of 11 bits.
const COUNT_BITS: u32 = 3;

/// A tree over triangles that stand in the order of its leaves.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TriangleTree {
    branches: Box<[Branch]>,
    lattice: Lattice,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Branch {
    bounds: StepBox,
    /// Index of the next branch that is not below this one.
    skip: u16,
    /// Number of the first triangle of a leaf, and behind it their number; none in an inner branch.
    triangles: u16,
}

impl Branch {
    /// Numbers of the triangles of a leaf; empty for an inner branch.
    fn triangles(&self) -> Range<usize> {
        let first = usize::from(self.triangles >> COUNT_BITS);
        first..first + (usize::from(self.triangles) & ((1 << COUNT_BITS) - 1))
    }
}

/// A box in steps of the tree's.
#[derive(Clone, Copy, Debug, PartialEq)]
struct StepBox {
    low: [u16; 3],
    high: [u16; 3],
}

impl StepBox {
    fn overlaps(&self, other: &Self) -> bool {
        (0..3).all(|axis| self.low[axis] <= other.high[axis] && self.high[axis] >= other.low[axis])
    }
}

/// Steps along the axes of the box around all triangles.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Lattice {
    origin: Vec3,
    /// Steps per unit; none along an axis without width.
    per_unit: Vec3,
}

impl Lattice {
    fn of(all: &Aabb) -> Self {
        let per_unit =
            (all.high - all.low).to_array().map(|width| if width > 0.0 { STEPS / width } else { 0.0 });
        Self { origin: all.low, per_unit: per_unit.into() }
    }

    /// A place in steps. The tree's box begins at 1.
    fn place(&self, at: Vec3) -> Vec3 {
        (at - self.origin) * self.per_unit + 1.0
    }

    /// A box of whole steps around this one. All beyond the lattice is at its border.
    fn around(&self, bounds: &Aabb) -> StepBox {
        // A cast cuts off the fraction, and takes what is too large or too small to the border.
        StepBox {
            low: self.place(bounds.low).to_array().map(|steps| (steps as u16).saturating_sub(1)),
            high: self.place(bounds.high).to_array().map(|steps| (steps as u16).saturating_add(2)),
        }
    }
}

/// A line through space, from share 0 to share 1 of `way`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) from: Vec3,
    pub(crate) way: Vec3,
}

impl Segment {
    /// True if the part up to a share of it meets a box.
    pub(crate) fn meets(&self, bounds: &Aabb, most: f32) -> bool {
        self.entry(bounds, most).is_some()
    }

    /// Share at which it enters a box, 0 if it begins inside; `None` if the part up to `most` does not meet it.
    pub(crate) fn entry(&self, bounds: &Aabb, most: f32) -> Option<f32> {
        let (mut enter, mut leave) = (0.0_f32, most);
        for axis in 0..3 {
            let (low, high) = (bounds.low[axis] - self.from[axis], bounds.high[axis] - self.from[axis]);
            let way = self.way[axis];
            if way == 0.0 {
                if low > 0.0 || high < 0.0 {
                    return None;
                }
                continue;
            }
            let (a, b) = (low / way, high / way);
            // A hair later, so that rounding loses no flat box.
            enter = enter.max(a.min(b));
            leave = leave.min(a.max(b) * (1.0 + 4.0 * f32::EPSILON) + 1e-7);
        }
        (enter <= leave).then_some(enter)
    }
}

impl TriangleTree {
    /// A tree over triangles with these bounds, and the order in which they have to stand.
    pub(crate) fn new(bounds: &[Aabb]) -> (Self, Vec<u16>) {
        let mut order: Vec<u16> = (0..bounds.len() as u16).collect();
        let mut branches = Vec::with_capacity(bounds.len() + 1);
        let lattice = Lattice::of(&around(bounds, &order));
        if !order.is_empty() {
            grow(&mut branches, &lattice, bounds, &mut order, 0);
        }
        (Self { branches: branches.into(), lattice }, order)
    }

    /// Number of its triangles.
    pub(crate) fn n_triangles(&self) -> usize {
        // The walk ends with the leaf of the last ones.
        self.branches.last().map_or(0, |last| last.triangles().end)
    }

    /// Visits the triangles of the leaves that overlap a box.
    pub(crate) fn each_in(&self, area: &Aabb, visit: impl FnMut(Range<usize>)) {
        let area = self.lattice.around(area);
        self.walk(|bounds| bounds.overlaps(&area), visit);
    }

    /// Visits the triangles of the leaves that a segment meets. A visit returns the share of the segment that is still of interest.
    pub(crate) fn each_on(&self, segment: &Segment, most: f32, mut visit: impl FnMut(Range<usize>) -> f32) {
        let most = std::cell::Cell::new(most);
        let segment =
            Segment { from: self.lattice.place(segment.from), way: segment.way * self.lattice.per_unit };
        let meets = |bounds: &StepBox| {
            let vec = |steps: [u16; 3]| Vec3::from_array(steps.map(f32::from));
            segment.meets(&Aabb { low: vec(bounds.low), high: vec(bounds.high) }, most.get())
        };
        self.walk(meets, |triangles| most.set(visit(triangles)));
    }

    /// Bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.branches)
    }

    fn walk(&self, mut enters: impl FnMut(&StepBox) -> bool, mut visit: impl FnMut(Range<usize>)) {
        let mut index = 0;
        while let Some(branch) = self.branches.get(index) {
            if !enters(&branch.bounds) {
                index = usize::from(branch.skip);
                continue;
            }
            let triangles = branch.triangles();
            if !triangles.is_empty() {
                visit(triangles);
            }
            index += 1;
        }
    }
}

/// The box around some of these boxes.
fn around(bounds: &[Aabb], order: &[u16]) -> Aabb {
    order
        .iter()
        .map(|&index| &bounds[usize::from(index)])
        .fold(Aabb::EMPTY, |all, one| Aabb { low: all.low.min(one.low), high: all.high.max(one.high) })
}

/// Appends the subtree of some triangles, the first of which is number `first`, and orders them.
fn grow(branches: &mut Vec<Branch>, lattice: &Lattice, bounds: &[Aabb], order: &mut [u16], first: usize) {
    let own = |index: u16| &bounds[usize::from(index)];
    let around = around(bounds, order);
    let place = branches.len();
    let is_leaf = order.len() <= LEAF_MAX;
    let count = if is_leaf { order.len() as u16 } else { 0 };
    let triangles = (first as u16) << COUNT_BITS | count;
    branches.push(Branch { bounds: lattice.around(&around), skip: 0, triangles });
    if !is_leaf {
        let width = around.high - around.low;
        let axis = if width.x >= width.y && width.x >= width.z {
            0
        } else if width.y >= width.z {
            1
        } else {
            2
        };
        let middle = |index: u16| own(index).low[axis] + own(index).high[axis];
        order.sort_unstable_by(|&a, &b| middle(a).total_cmp(&middle(b)).then(a.cmp(&b)));
        let half = order.len() / 2;
        let (low, high) = order.split_at_mut(half);
        grow(branches, lattice, bounds, low, first);
        grow(branches, lattice, bounds, high, first + half);
    }
    branches[place].skip = branches.len() as u16;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn small_box() -> impl Strategy<Value = Aabb> {
        let coordinate = -1.0_f32..1.0;
        ([coordinate.clone(), coordinate.clone(), coordinate], [0.0_f32..0.3, 0.0..0.3, 0.0..0.3])
            .prop_map(|(low, size)| Aabb { low: low.into(), high: Vec3::from(low) + Vec3::from(size) })
    }

    proptest! {
        #[test]
        fn queries_visit_all_that_they_meet(
            boxes in prop::collection::vec(small_box(), 0..200), area in small_box(),
            from in [-1.0_f32..1.0, -1.0..1.0, -1.0..1.0], way in [-2.0_f32..2.0, -2.0..2.0, -2.0..2.0],
        ) {
            let (tree, order) = TriangleTree::new(&boxes);
            let segment = Segment { from: from.into(), way: way.into() };
            let (mut in_area, mut on_segment) = (Vec::new(), Vec::new());
            tree.each_in(&area, |range| in_area.extend(order[range].iter().copied()));
            tree.each_on(&segment, 1.0, |range| {
                on_segment.extend(order[range].iter().copied());
                1.0
            });
            prop_assert_eq!(tree.n_triangles(), boxes.len());
            for (index, bounds) in (0_u16..).zip(&boxes) {
                prop_assert!(!bounds.overlaps(&area) || in_area.contains(&index));
                prop_assert!(!segment.meets(bounds, 1.0) || on_segment.contains(&index));
            }
        }
    }
}
