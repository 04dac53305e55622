//! Line of sight: a segment against ground and boxes.
//!
//! The ground is traversed square metre by square metre under the segment, but blocks of [`BLOCK_M`] metres whose highest point lies
//! below it are skipped. Boxes come from the grid of [`Solids`].

use crate::{
    ground::{Corners, GroundHeights},
    solids::{Solids, Stride},
};
use glam::Vec3;
use std::sync::Arc;

/// Obstacles to sight in a region. Immutable; to be shared in an `Arc`.
#[derive(Clone, Debug)]
pub struct SightObstacles {
    solids: Arc<Solids>,
    /// Blocks along a side.
    side: u32,
    /// The highest sample in and around each block.
    ridges: Vec<f32>,
}

/// Metres along a block.
const BLOCK_M: u32 = 8;

impl SightObstacles {
    /// Looks over the ground once. `solids` belong to the same region.
    #[must_use]
    pub fn new(ground: GroundHeights<'_>, solids: Arc<Solids>) -> Self {
        let last = ground.size_m() - 1;
        let side = ground.size_m().div_ceil(BLOCK_M);
        let ridge = |block: u32| {
            let (west, south) = (block % side * BLOCK_M, block / side * BLOCK_M);
            let rows = south..=(south + BLOCK_M).min(last);
            rows.map(|row| {
                let begin = (row * ground.size_m() + west) as usize;
                let end = (row * ground.size_m() + (west + BLOCK_M).min(last)) as usize;
                ground.heights()[begin..=end].iter().copied().fold(f32::MIN, f32::max)
            })
            .fold(f32::MIN, f32::max)
        };
        Self { solids, side, ridges: (0..side * side).map(ridge).collect() }
    }

    /// The boxes.
    #[must_use]
    pub const fn solids(&self) -> &Arc<Solids> {
        &self.solids
    }

    /// True if neither ground nor box is between two points. `ground` is the one of the build. Beyond the region's border nothing
    /// obstructs; a point that is not finite sees nothing.
    #[must_use]
    pub fn is_clear(&self, ground: GroundHeights<'_>, from: Vec3, to: Vec3) -> bool {
        from.is_finite()
            && to.is_finite()
            && self.is_above_ground(ground, from, to)
            && self.solids.is_clear(from, to)
    }

    fn is_above_ground(&self, ground: GroundHeights<'_>, from: Vec3, to: Vec3) -> bool {
        let rise = to.z - from.z;
        let mut blocks = Stride::new(from.truncate(), to.truncate(), BLOCK_M as f32);
        let mut enter = 0.0f32;
        loop {
            let leave = blocks.cell_exit();
            let lowest = from.z + rise * if rise < 0.0 { leave } else { enter };
            let (x, y) = blocks.cell();
            if x < self.side && y < self.side && lowest <= self.ridges[(y * self.side + x) as usize] {
                let (begin, end) = (from + (to - from) * enter, from + (to - from) * leave);
                if !squares_are_below(ground, begin, end) {
                    return false;
                }
            }
            enter = leave;
            if !blocks.advance() {
                return true;
            }
        }
    }
}

/// True if all squares under a segment lie below it.
fn squares_are_below(ground: GroundHeights<'_>, from: Vec3, to: Vec3) -> bool {
    let way = to - from;
    let last = ground.size_m() - 1;
    let mut squares = Stride::new(from.truncate(), to.truncate(), 1.0);
    let mut enter = 0.0f32;
    loop {
        let leave = squares.cell_exit();
        let (x, y) = squares.cell();
        if x < last && y < last {
            let corners = ground.corners(x, y);
            let lowest = from.z + way.z * if way.z < 0.0 { leave } else { enter };
            if lowest <= corners.highest() {
                let local = from - Vec3::new(x as f32, y as f32, 0.0);
                if !is_below(corners, local, way, enter, leave) {
                    return false;
                }
            }
        }
        enter = leave;
        if !squares.advance() {
            return true;
        }
    }
}

/// True if the two triangles of a square lie below the part of a line between two fractions of it. On each triangle the distance is
/// linear, so the ends and the crossing of the diagonal decide.
fn is_below(corners: Corners, from: Vec3, way: Vec3, enter: f32, leave: f32) -> bool {
    let Corners { sw, se, nw, ne } = corners;
    let above = |share: f32| {
        let at = from + way * share;
        let (east, north) = (at.x, at.y);
        let height = if east + north < 1.0 {
            sw + (se - sw) * east + (nw - sw) * north
        } else {
            ne - (ne - nw) * (1.0 - east) - (ne - se) * (1.0 - north)
        };
        at.z >= height
    };
    let diagonal = (1.0 - from.x - from.y) / (way.x + way.y);
    above(enter) && above(leave) && (!(diagonal > enter && diagonal < leave) || above(diagonal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solids::Solid;
    use glam::{Quat, Vec2};
    use proptest::prelude::*;

    fn sight(ground: GroundHeights<'_>, solids: &[Solid]) -> SightObstacles {
        SightObstacles::new(ground, Arc::new(Solids::new(ground.size_m(), solids).unwrap()))
    }

    #[test]
    fn a_wall_hides_targets_behind_it_and_none_above() {
        let heights = vec![20.0; 64 * 64];
        let ground = GroundHeights::new(64, &heights).unwrap();
        let wall = Solid {
            centre: Vec3::new(32.0, 32.0, 21.0),
            rotation: Quat::IDENTITY,
            size: Vec3::new(0.2, 20.0, 2.0),
        };
        let sight = sight(ground, &[wall]);
        let eye = Vec3::new(20.0, 30.0, 21.7);
        assert!(!sight.is_clear(ground, eye, Vec3::new(44.0, 34.0, 21.0)));
        assert!(sight.is_clear(ground, eye, Vec3::new(31.0, 34.0, 21.0)), "before the wall");
        assert!(sight.is_clear(ground, eye, Vec3::new(44.0, 34.0, 27.0)), "above the wall");
        assert!(sight.is_clear(ground, eye, Vec3::new(44.0, 60.0, 21.0)), "beside the wall");
        assert!(!sight.is_clear(ground, eye, Vec3::NAN));
        assert!(!sight.is_clear(ground, eye, Vec3::new(25.0, 30.0, 19.0)), "under the ground");
        assert!(sight.is_clear(ground, Vec3::new(-50.0, -50.0, 0.0), Vec3::new(-60.0, 90.0, 0.0)), "outside");
    }

    /// Ridges and hollows of a few metres.
    fn waves(phase: f32) -> Vec<f32> {
        let at = |n: u32| Vec2::new((n % 64) as f32, (n / 64) as f32);
        (0..64 * 64)
            .map(|n| 20.0 + 2.5 * libm::sinf(at(n).x * 0.4 + phase) * libm::cosf(at(n).y * 0.3))
            .collect()
    }

    proptest! {
        #[test]
        fn the_ground_hides_what_a_dense_row_of_points_shows_hidden(
            phase in 0.0f32..6.0,
            from in (0.0f32..63.0, 0.0f32..63.0, 0.0f32..4.0), to in (0.0f32..63.0, 0.0f32..63.0, 0.0f32..4.0),
        ) {
            let heights = waves(phase);
            let ground = GroundHeights::new(64, &heights).unwrap();
            let lift = |(x, y, z): (f32, f32, f32)| Vec3::new(x, y, ground.height(Vec2::new(x, y)) + z);
            let (from, to) = (lift(from), lift(to));
            let depth = (0..=4_000)
                .map(|n| from.lerp(to, n as f32 / 4_000.0))
                .map(|at| ground.height(at.truncate()) - at.z)
                .fold(f32::MIN, f32::max);
            let clear = sight(ground, &[]).is_clear(ground, from, to);
            if depth > 0.002 {
                prop_assert!(!clear, "{depth} m of ground are above the line");
            } else if depth < -0.002 {
                prop_assert!(clear, "the line stays {} m above", -depth);
            }
        }
    }
}
