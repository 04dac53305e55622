//! Odd little worlds: whatever ground and boxes there are, a mesh comes of it or a reason, walkers stay on it, searches keep their
//! budget and lead where they say.
#![no_main]

use glam::{EulerRot, Quat, Vec2, Vec3};
use libfuzzer_sys::fuzz_target;
use nav::{
    GroundHeights, MeshPoint, NavMesh, Path, PathEnd, PathFinder, PolyRef, SightObstacles, Solid, Solids,
    WalkerSize,
};
use std::sync::Arc;

/// Numbers out of the input; zeros once it has ended.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// Of a few round numbers and all in between.
    fn within(&mut self, low: f32, high: f32) -> f32 {
        let share = f32::from(u16::from_le_bytes([self.byte(), self.byte()])) / f32::from(u16::MAX);
        low + (high - low) * share
    }

    fn point(&mut self, low: f32, high: f32) -> Vec3 {
        Vec3::new(self.within(low, high), self.within(low, high), self.within(-4.0, 8.0))
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = Bytes(bytes);
    let size_m = 2 + u32::from(bytes.byte()) % 40;
    let size = size_m as f32;
    let rough = f32::from(bytes.byte()) / 32.0;
    let walker = WalkerSize {
        water_m: bytes.within(-6.0, 1.0),
        border_m: bytes.within(0.0, 1.0),
        step_m: bytes.within(0.0, 0.5),
        drop_m: 0.6,
        slope_max: bytes.within(0.0, 3.0),
        isle_min_m2: bytes.within(0.0, 8.0),
        ..WalkerSize::default()
    };
    let n_solids = bytes.byte() % 32;
    let solids: Vec<Solid> = (0..n_solids)
        .map(|_| {
            let centre = bytes.point(-2.0, size + 2.0);
            let (yaw, pitch, roll) =
                (bytes.within(0.0, 6.3), bytes.within(-1.6, 1.6), bytes.within(-1.6, 1.6));
            let turns = bytes.byte() % 3;
            let rotation = match turns {
                0 => Quat::IDENTITY,
                1 => Quat::from_rotation_z(yaw),
                _ => Quat::from_euler(EulerRot::ZYX, yaw, pitch, roll).normalize(),
            };
            let most = if bytes.byte() % 8 == 0 { 40.0 } else { 2.0 };
            let size = Vec3::new(bytes.within(0.0, most), bytes.within(0.0, most), bytes.within(0.0, 3.0));
            Solid { centre, rotation, size }
        })
        .collect();
    let mut heights = Vec::new();
    for _ in 0..size_m * size_m {
        heights.push((f32::from(bytes.byte()) - 100.0) / 100.0 * rough);
    }
    let ground = GroundHeights::new(size_m, &heights).unwrap();
    let Ok(solids) = Solids::new(size_m, &solids) else { return };
    let Ok(mesh) = NavMesh::build(ground, &solids, &walker, &mut || true) else { return };
    assert_eq!(NavMesh::from_bytes(&mesh.to_bytes()).as_ref(), Ok(&mesh));
    let sight = SightObstacles::new(ground, Arc::new(solids));
    let (mut finder, mut path) = (PathFinder::new(), Path::EMPTY);
    let mut spots: Vec<MeshPoint> = Vec::new();
    for n in 0..12u32 {
        let at = Vec2::new(n as f32 * 7.3 % size, n as f32 * 11.9 % size);
        let near = at.extend(ground.height(at));
        let _ = sight.is_clear(ground, near + Vec3::Z, Vec3::new(size - at.x, size - at.y, 2.0));
        spots.extend(mesh.locate(ground, near, 6.0, PolyRef::NONE));
    }
    for (&from, &to) in spots.iter().zip(spots.iter().rev()) {
        assert!(mesh.holds(from));
        let search = finder.find(&mesh, from, to, 200, &mut path);
        assert!(search.nodes <= 200);
        assert!(search.end != PathEnd::Goal || path.end == to);
        assert!(mesh.holds(path.end));
        let mut spot = from;
        for &corner in path.corners() {
            // As far as any region here is across.
            for _ in 0..40 {
                let slid = mesh.slide(spot, spot.at + (corner - spot.at).clamp_length_max(2.0));
                assert!(mesh.holds(slid.spot), "{slid:?}");
                spot = slid.spot;
            }
        }
        if search.end == PathEnd::Goal && path.complete {
            assert!(spot.at.distance(to.at) < 0.05, "{spot:?} instead of {to:?}");
        }
    }
});
