//! Regions to walk in: ground and boxes made of a seed, for tests and benchmarks.
#![allow(dead_code, reason = "each test and benchmark takes what it needs")]

use glam::{Quat, Vec2, Vec3};
use nav::{GroundHeights, NavMesh, Solid, Solids, WalkerSize};

/// A region before its mesh.
pub(crate) struct Site {
    pub(crate) size_m: u32,
    pub(crate) heights: Vec<f32>,
    pub(crate) solids: Vec<Solid>,
    pub(crate) walker: WalkerSize,
}

impl Site {
    /// Level ground.
    pub(crate) fn flat(size_m: u32) -> Self {
        let heights = vec![20.0; (size_m * size_m) as usize];
        Self { size_m, heights, solids: Vec::new(), walker: WalkerSize::default() }
    }

    /// Hills of up to 25 m, steeper than 45° in places, with water in the hollows.
    pub(crate) fn hills(size_m: u32, seed: u64) -> Self {
        let mut site = Self::flat(size_m);
        let octaves = [(96.0, 12.0), (48.0, 5.0), (24.0, 2.0), (12.0, 0.6)];
        for (place, height) in (0..).zip(&mut site.heights) {
            let at = Vec2::new((place % size_m) as f32, (place / size_m) as f32);
            *height = 28.0
                + (0u64..)
                    .zip(octaves)
                    .map(|(octave, (width, weight))| weight * noise(seed ^ octave << 40, at / width))
                    .sum::<f32>();
        }
        site.walker.water_m = 20.0;
        site
    }

    /// The same with boxes of 0.3–1.2 m all over the ground, turned any way about the upright axis.
    pub(crate) fn with_boxes(mut self, count: u32, seed: u64) -> Self {
        let mut random = Random(seed ^ 0xB0C5);
        for _ in 0..count {
            let at = Vec2::new(random.share(), random.share()) * self.size_m as f32;
            let edge = 0.3 + 0.9 * random.share();
            let centre = at.extend(self.ground().height(at) + edge / 2.0);
            let rotation = Quat::from_rotation_z(random.share() * 6.2);
            self.solids.push(Solid { centre, rotation, size: Vec3::splat(edge) });
        }
        self
    }

    /// Rooms of 8 m with doors of 1.2 m on level ground, some with a flat roof, some with a ramp to it.
    pub(crate) fn rooms(size_m: u32) -> Self {
        let mut site = Self::flat(size_m);
        let z = 20.0;
        let rooms = (size_m - 16) / 8;
        for (x, y) in (0..rooms).flat_map(|y| (0..rooms).map(move |x| (x, y))) {
            let corner = Vec3::new(8.0 + x as f32 * 8.0, 8.0 + y as f32 * 8.0, z);
            for side in [1.7, 6.3] {
                site.block(corner + Vec3::new(side, 0.0, 1.5), Vec3::new(3.4, 0.2, 3.0));
                site.block(corner + Vec3::new(0.0, side, 1.5), Vec3::new(0.2, 3.4, 3.0));
            }
            match (x + y) % 3 {
                0 => site.block(corner + Vec3::new(4.0, 4.0, 3.1), Vec3::new(8.0, 8.0, 0.2)),
                1 => site.solids.push(Solid {
                    centre: corner + Vec3::new(4.0, 4.0, 1.5),
                    rotation: Quat::from_rotation_y(-0.4),
                    size: Vec3::new(8.0, 2.0, 0.2),
                }),
                _ => {}
            }
        }
        site
    }

    /// Adds an upright box.
    pub(crate) fn block(&mut self, centre: Vec3, size: Vec3) {
        self.solids.push(Solid { centre, rotation: Quat::IDENTITY, size });
    }

    pub(crate) fn ground(&self) -> GroundHeights<'_> {
        GroundHeights::new(self.size_m, &self.heights).unwrap()
    }

    pub(crate) fn solids(&self) -> Solids {
        Solids::new(self.size_m, &self.solids).unwrap()
    }

    pub(crate) fn mesh(&self) -> NavMesh {
        NavMesh::build(self.ground(), &self.solids(), &self.walker, &mut || true).unwrap()
    }
}

/// A row of random numbers (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// 0…1.
    pub(crate) fn share(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1u32 << 24) as f32
    }
}

fn noise(seed: u64, at: Vec2) -> f32 {
    let cell = at.floor();
    let lattice = |x: i32, y: i32| {
        Random(seed ^ u64::from(x.cast_unsigned()) << 20 ^ u64::from(y.cast_unsigned())).share() * 2.0 - 1.0
    };
    let ease = |t: f32| t * t * t * (t * (t * 6.0 - 15.0) + 10.0);
    let (x, y) = (cell.x as i32, cell.y as i32);
    let (u, v) = (ease(at.x - cell.x), ease(at.y - cell.y));
    let lerp = |from: f32, to: f32, share: f32| from + (to - from) * share;
    lerp(lerp(lattice(x, y), lattice(x + 1, y), u), lerp(lattice(x, y + 1), lattice(x + 1, y + 1), u), v)
}
