//! Generated ground: hills around a flat plaza, with water in the hollows.
//!
//! Only additions, products and square roots, which every machine rounds alike: a seed always gives the same terrain.

use crate::terrain::Terrain;
use glam::Vec2;
use state_hash::mix;

/// Height of the plaza in the middle of [`Terrain::hills`], metres.
pub const PLAZA_M: f32 = 22.0;

/// Water level of [`Terrain::hills`], metres: the default of this ecosystem's regions.
pub const WATER_M: f32 = 20.0;

/// The plaza reaches this far from the middle; 128 m across, room for 5,000 at three square metres each.
const PLAZA_RADIUS_M: f32 = 64.0;

/// From here on the hills are themselves; between the two they slope to the plaza.
const HILLS_RADIUS_M: f32 = 100.0;

/// Deepest hollow and highest top, metres. Rescaling to them puts water into every region, for any seed.
const LOWEST_M: f32 = 13.0;
const HIGHEST_M: f32 = 46.0;

/// Widths of the hills of each octave, metres, and how much they count.
const OCTAVES: [(f32, f32); 4] = [(96.0, 1.0), (48.0, 0.4), (24.0, 0.15), (12.0, 0.05)];

impl Terrain {
    /// Hills between 13 and 46 m around a plaza at [`PLAZA_M`]; with water at [`WATER_M`] some hollows are lakes.
    ///
    /// # Panics
    /// When no region can have this size.
    #[must_use]
    pub fn hills(size_m: u32, seed: u64) -> Self {
        let middle = Vec2::splat(size_m as f32 / 2.0);
        let points = || (0..size_m).flat_map(|y| (0..size_m).map(move |x| Vec2::new(x as f32, y as f32)));

        let mut heights: Vec<f32> = points().map(|at| layered_noise(seed, at, &OCTAVES)).collect();
        let (lowest, highest) = points()
            .zip(&heights)
            .filter(|(at, _)| at.distance(middle) >= HILLS_RADIUS_M)
            .fold((f32::MAX, f32::MIN), |(low, high), (_, &h)| (low.min(h), high.max(h)));

        for (at, height) in points().zip(&mut heights) {
            let share = (*height - lowest) / (highest - lowest);
            let hill = LOWEST_M + share.clamp(0.0, 1.0) * (HIGHEST_M - LOWEST_M);
            let outward = (at.distance(middle) - PLAZA_RADIUS_M) / (HILLS_RADIUS_M - PLAZA_RADIUS_M);
            *height = PLAZA_M + (hill - PLAZA_M) * ease(outward.clamp(0.0, 1.0));
        }
        Self::from_heights(size_m, heights)
            .expect("callers choose a region's size; heights are in range by construction")
    }
}

/// Layers of smoothly joined random heights: of each its width in metres, and its weight, with which it is within ±weight. Depends on nothing but
/// the arguments.
#[must_use]
pub fn layered_noise(seed: u64, at: Vec2, octaves: &[(f32, f32)]) -> f32 {
    (0u64..)
        .zip(octaves)
        .map(|(octave, &(width, weight))| weight * layer(mix(seed ^ octave), at / width))
        .sum()
}

/// One layer: random heights in −1…1 at whole coordinates, eased between them.
fn layer(seed: u64, at: Vec2) -> f32 {
    let cell = at.floor();
    let (x, y) = (cell.x as i32, cell.y as i32);
    let (u, v) = (ease(at.x - cell.x), ease(at.y - cell.y));
    let south = lerp(lattice(seed, x, y), lattice(seed, x + 1, y), u);
    let north = lerp(lattice(seed, x, y + 1), lattice(seed, x + 1, y + 1), u);
    lerp(south, north, v)
}

fn lattice(seed: u64, x: i32, y: i32) -> f32 {
    let random = mix(seed ^ (u64::from(x.cast_unsigned()) << 32 | u64::from(y.cast_unsigned())));
    // 24 bits are what a float holds exactly.
    (random >> 40) as f32 / (1u32 << 23) as f32 - 1.0
}

fn lerp(from: f32, to: f32, share: f32) -> f32 {
    from + (to - from) * share
}

/// 0…1 → 0…1 with level ends, so that hills have no creases.
fn ease(t: f32) -> f32 {
    t * t * t * (t * (t * 6.0 - 15.0) + 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_has_a_flat_plaza_hills_and_some_water() {
        for seed in 0..12 {
            for size_m in [256, 512] {
                let hills = Terrain::hills(size_m, seed);
                let middle = size_m as f32 / 2.0;
                for offset in [-60.0, -20.0, 0.0, 33.3, 60.0] {
                    assert_eq!(hills.height(middle + offset, middle), PLAZA_M);
                    assert_eq!(hills.height(middle, middle + offset), PLAZA_M);
                }
                let heights = hills.heights();
                let wet = heights.iter().filter(|&&h| h < WATER_M).count() as f32 / heights.len() as f32;
                assert!((0.005..0.5).contains(&wet), "seed {seed}, {size_m} m: {wet} of it under water");
                assert!(heights.iter().any(|&h| h > 35.0), "seed {seed}, {size_m} m: no hill");
            }
        }
    }

    #[test]
    fn a_seed_names_one_terrain() {
        assert_eq!(Terrain::hills(256, 1).fingerprint(), Terrain::hills(256, 1).fingerprint());
        assert_ne!(Terrain::hills(256, 1).fingerprint(), Terrain::hills(256, 2).fingerprint());
    }

    /// Saved worlds stand on generated ground, so a change of the generator must be noticed.
    #[test]
    fn seed_one_is_the_terrain_it_has_always_been() {
        assert_eq!(format!("{:016x}", Terrain::hills(256, 1).fingerprint()), "68111ffff6ce71f1");
    }
}
