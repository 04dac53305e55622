//! From a point in space to a spot on the mesh.

use super::{CELLS_PER_M, MeshPoint, NavMesh, PolyRef, TILE_CELLS, poly::Poly};
use crate::ground::GroundHeights;
use glam::{Vec2, Vec3};

/// Buckets along a tile: 4 m each.
const SIDE: u32 = 8;
/// Cells along a bucket.
const BUCKET_CELLS: u32 = TILE_CELLS / SIDE;
/// No search reaches farther, metres.
pub(crate) const REACH_MAX_M: f32 = 16.0;

/// The polygons that reach into each square of a tile.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Buckets {
    starts: Box<[u16]>,
    entries: Box<[u16]>,
}

impl Buckets {
    /// Sorts a tile's polygons in, by their bounds. `origin` is the tile's corner in cells.
    pub(crate) fn new(origin: [u32; 2], polys: &[Poly]) -> Self {
        let bucket =
            |at: u16, origin: u32| (u32::from(at).saturating_sub(origin) / BUCKET_CELLS).min(SIDE - 1);
        let mut lists = vec![Vec::new(); (SIDE * SIDE) as usize];
        for (index, poly) in (0u16..).zip(polys) {
            let low = |of: &[u16]| of.iter().copied().min().unwrap_or(0);
            let high = |of: &[u16]| of.iter().copied().max().unwrap_or(0);
            for y in bucket(low(&poly.ys), origin[1])..=bucket(high(&poly.ys), origin[1]) {
                for x in bucket(low(&poly.xs), origin[0])..=bucket(high(&poly.xs), origin[0]) {
                    lists[(y * SIDE + x) as usize].push(index);
                }
            }
        }
        let mut starts = vec![0];
        let mut entries: Vec<u16> = Vec::new();
        for list in lists {
            // An entry beyond the room is found by walking; no tile that can be built has that many.
            let room = usize::from(u16::MAX) - entries.len();
            entries.extend(list.into_iter().take(room));
            starts.push(entries.len() as u16);
        }
        Self { starts: starts.into(), entries: entries.into() }
    }

    /// The polygons that may reach into a bucket.
    fn list(&self, x: u32, y: u32) -> &[u16] {
        let bucket = (y * SIDE + x) as usize;
        match (self.starts.get(bucket), self.starts.get(bucket + 1)) {
            (Some(&begin), Some(&end)) => &self.entries[usize::from(begin)..usize::from(end)],
            _ => &[],
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of_val::<[u16]>(&self.starts) + size_of_val::<[u16]>(&self.entries)
    }
}

impl NavMesh {
    /// The spot at a point, or the nearest within `reach_m` of it (16 m at most). The point's height is that of feet; among storeys the
    /// nearest counts. `hint` is a polygon to try first, such as the last position. `ground` is the one of the build.
    #[must_use]
    pub fn locate(
        &self,
        ground: GroundHeights<'_>,
        at: Vec3,
        reach_m: f32,
        hint: PolyRef,
    ) -> Option<MeshPoint> {
        if !at.is_finite() || reach_m.is_nan() || reach_m < 0.0 {
            return None;
        }
        let reach = reach_m.min(REACH_MAX_M);
        let here = MeshPoint { poly: hint, at: at.truncate() };
        if self.holds(here) && (self.height(ground, here) - at.z).abs() <= reach.min(1.0) {
            return Some(here);
        }
        self.at_point(ground, at, reach).or_else(|| self.nearby(ground, at, reach))
    }

    /// The spot right above or below.
    fn at_point(&self, ground: GroundHeights<'_>, at: Vec3, reach: f32) -> Option<MeshPoint> {
        let mut best: Option<(f32, MeshPoint)> = None;
        self.each_at(at.truncate(), |reference| {
            let spot = MeshPoint { poly: reference, at: at.truncate() };
            let off = (self.height(ground, spot) - at.z).abs();
            if off <= reach && best.is_none_or(|(least, _)| off < least) {
                best = Some((off, spot));
            }
        });
        best.map(|(_, spot)| spot)
    }

    /// The nearest spot.
    fn nearby(&self, ground: GroundHeights<'_>, at: Vec3, reach: f32) -> Option<MeshPoint> {
        let cell = at.truncate() * CELLS_PER_M;
        let around = Vec2::splat(reach * CELLS_PER_M);
        let mut best: Option<(f32, MeshPoint)> = None;
        self.each_in(cell - around, cell + around, |reference, poly| {
            let spot = MeshPoint { poly: reference, at: poly.nearest(cell) / CELLS_PER_M };
            let level = spot.at.distance_squared(at.truncate());
            if level > best.map_or(reach * reach, |(least, _)| least) {
                return;
            }
            let off = self.height(ground, spot) - at.z;
            let square = level + off * off;
            if square <= reach * reach && best.is_none_or(|(least, _)| square < least) {
                best = Some((square, spot));
            }
        });
        best.map(|(_, spot)| spot)
    }

    /// Polygons that contain a point, metres, on any storey.
    pub(super) fn each_at(&self, at: Vec2, mut visit: impl FnMut(PolyRef)) {
        let cell = at * CELLS_PER_M;
        self.each_in(cell, cell, |reference, poly| {
            if poly.holds(cell) {
                visit(reference);
            }
        });
    }

    /// The polygons that may reach into a rectangle, given in cells; some more than once.
    fn each_in(&self, low: Vec2, high: Vec2, mut visit: impl FnMut(PolyRef, &Poly)) {
        let last = self.side * SIDE - 1;
        // Casts turn negative values into 0.
        let bucket = |at: f32| ((at / BUCKET_CELLS as f32) as u32).min(last);
        for y in bucket(low.y)..=bucket(high.y) {
            for x in bucket(low.x)..=bucket(high.x) {
                let tile = y / SIDE * self.side + x / SIDE;
                let of = &self.tiles[tile as usize];
                for &index in of.parts.buckets.list(x % SIDE, y % SIDE) {
                    visit(PolyRef::new(tile, u32::from(index)), &of.polys[usize::from(index)]);
                }
            }
        }
    }
}
