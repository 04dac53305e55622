//! Squares of the ground above or below which something has changed.

use glam::Vec2;
use physics::Aabb;

/// Width of a square, metres.
const SQUARE_M: f32 = 4.0;
/// A change reaches so far beyond its box, metres: an avatar is as wide, and steps over a kerb.
const MARGIN_M: f32 = 0.5;

/// A bit for each square.
#[derive(Debug)]
pub(super) struct ChangedArea {
    side: u32,
    words: Vec<u64>,
    is_empty: bool,
}

impl ChangedArea {
    /// Nothing has changed in a region of this width.
    pub(super) fn new(size_m: u32) -> Self {
        let side = (size_m as f32 / SQUARE_M) as u32 + 1;
        Self { side, words: vec![0; (side * side).div_ceil(64) as usize], is_empty: true }
    }

    pub(super) fn clear(&mut self) {
        if !self.is_empty {
            self.words.fill(0);
            self.is_empty = true;
        }
    }

    /// Something in a box changes.
    pub(super) fn mark(&mut self, around: &Aabb) {
        let (low, high) = (around.low.truncate() - MARGIN_M, around.high.truncate() + MARGIN_M);
        for row in self.square(low.y)..=self.square(high.y) {
            for column in self.square(low.x)..=self.square(high.x) {
                let bit = row * self.side + column;
                self.words[(bit / 64) as usize] |= 1 << (bit % 64);
            }
        }
        self.is_empty = false;
    }

    /// True if something may have changed above or below a point.
    pub(super) fn has(&self, at: Vec2) -> bool {
        let bit = self.square(at.y) * self.side + self.square(at.x);
        self.words[(bit / 64) as usize] >> (bit % 64) & 1 != 0
    }

    /// Column or row of a coordinate; those beyond the border belong to the last one there.
    fn square(&self, at: f32) -> u32 {
        ((at / SQUARE_M) as u32).min(self.side - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::Vec3;

    #[test]
    fn a_change_shows_around_its_box_and_nowhere_else() {
        let mut area = ChangedArea::new(256);
        area.mark(&Aabb { low: Vec3::new(100.0, 100.0, 0.0), high: Vec3::new(101.0, 103.0, 9.0) });
        assert!(area.has(Vec2::new(100.5, 101.0)) && area.has(Vec2::new(99.8, 103.4)));
        assert!(!area.has(Vec2::new(95.0, 101.0)) && !area.has(Vec2::new(100.5, 110.0)));
        area.clear();
        assert!(!area.has(Vec2::new(100.5, 101.0)));
    }

    #[test]
    fn boxes_beyond_the_border_change_the_squares_there() {
        let mut area = ChangedArea::new(256);
        area.mark(&Aabb { low: Vec3::splat(-50.0), high: Vec3::splat(-40.0) });
        area.mark(&Aabb { low: Vec3::splat(1e9), high: Vec3::splat(2e9) });
        assert!(area.has(Vec2::ZERO) && area.has(Vec2::splat(256.0)) && !area.has(Vec2::splat(128.0)));
    }
}
