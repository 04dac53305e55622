//! Squares of a region on which bots build.

use glam::{Vec2, Vec3};

/// A square of a region.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plot {
    /// South-west corner, metres.
    pub corner: Vec2,
    /// Edge, metres.
    pub side: f32,
}

impl Plot {
    /// The plot of bot number `n`, the first ones next to the region's middle, where clients arrive. Bots beyond the last plot share the plots of
    /// the first ones.
    #[must_use]
    pub fn of(n: u32, side: f32, region_size_m: f32) -> Self {
        let in_row = ((region_size_m / side) as u32).max(1);
        let corner = |at: u32| Vec2::new((at % in_row) as f32, (at / in_row) as f32) * side;
        let mut plots: Vec<u32> = (0..in_row * in_row).collect();
        // Distances from the middle in half plots, so that they are whole numbers.
        let from_middle = |at: u32| (2 * at + 1).abs_diff(in_row);
        plots.sort_by_key(|at| from_middle(at % in_row).max(from_middle(at / in_row)));
        Self { corner: corner(plots[n as usize % plots.len()]), side }
    }

    /// True for a place above it.
    #[must_use]
    pub fn holds(&self, position: Vec3) -> bool {
        let inside = position.truncate() - self.corner;
        inside.min_element() >= 0.0 && inside.max_element() <= self.side
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plots_do_not_overlap_until_the_region_is_full() {
        let plots: Vec<Plot> = (0..16).map(|n| Plot::of(n, 64.0, 256.0)).collect();
        let apart = |a: &Plot, b: &Plot| (a.corner - b.corner).abs().max_element() >= 64.0;
        for (n, plot) in plots.iter().enumerate() {
            assert!(plot.corner.max_element() <= 192.0);
            assert!(plots[..n].iter().all(|other| apart(other, plot)));
        }
        assert_eq!(Plot::of(16, 64.0, 256.0), plots[0]);
    }

    #[test]
    fn the_first_plots_are_around_the_middle() {
        for n in 0..64 {
            let plot = Plot::of(n, 8.0, 256.0);
            let far = (plot.corner - Vec2::splat(128.0)).abs().max((plot.corner + 8.0 - 128.0).abs());
            assert!(far.max_element() <= 32.0, "plot {n} is at {}", plot.corner);
        }
    }
}
