//! Heights of an archive's region on the ground of a region.

use super::placing::Placing;
use archive::oar::TerrainHeights;
use glam::Vec2;
use link::{GroundPatch, PATCH_M, Terrain};

/// The ground with the heights of an archive, where these come to: samples of a ground that is not turned by right angles, or moved by parts of a metre, are
/// interpolated.
#[must_use]
pub fn ground_of(archived: &TerrainHeights, placing: &Placing, present: &Terrain) -> Terrain {
    let size_m = present.size_m();
    let raise_m = placing.options().displacement.z;
    let mut heights = Vec::with_capacity(present.heights().len());
    for (index, &former) in (0_u32..).zip(present.heights()) {
        // A sample stands for a square metre.
        let middle = Vec2::new((index % size_m) as f32 + 0.5, (index / size_m) as f32 + 0.5);
        let height = placing.source_of(middle).map(|source| height_at(archived, source) + raise_m);
        heights.push(height.map_or(former, clamped));
    }
    Terrain::from_heights(size_m, heights).expect("heights within bounds, as many as before")
}

/// The heights of a region.
#[must_use]
pub fn heights_of(ground: &Terrain) -> TerrainHeights {
    let size_m = ground.size_m();
    TerrainHeights { width: size_m, depth: size_m, heights: ground.heights().to_vec() }
}

/// Patches of a ground that differ from the described one, row by row.
#[must_use]
pub fn patches_of(ground: &Terrain, described: &Terrain) -> Vec<GroundPatch> {
    // 64 patches along an edge at most.
    let side = (described.size_m() / PATCH_M) as u8;
    let places = (0..side).flat_map(|row| (0..side).map(move |column| (column, row)));
    let patches = places.filter_map(|(column, row)| {
        let patch = GroundPatch::new(column, row, ground.patch(column, row)).expect("heights of a ground");
        (!patch.has_same_heights(&described.patch(column, row))).then_some(patch)
    });
    patches.collect()
}

/// The height at a place, between the middles of four samples.
fn height_at(archived: &TerrainHeights, place: Vec2) -> f32 {
    let along = |metres: f32, n: u32| {
        let from_middle = (metres - 0.5).clamp(0.0, n as f32 - 1.0);
        let first = from_middle.floor();
        let second = (first + 1.0).min(n as f32 - 1.0);
        (first as usize, second as usize, from_middle - first)
    };
    let (west, east, x) = along(place.x, archived.width);
    let (south, north, y) = along(place.y, archived.depth);
    let sample = |column: usize, row: usize| archived.heights[row * archived.width as usize + column];
    let row = |row: usize| mixed(sample(west, row), sample(east, row), x);
    mixed(row(south), row(north), y)
}

/// The first one exactly for 0, whatever the second one is.
fn mixed(first: f32, second: f32, share: f32) -> f32 {
    if share == 0.0 { first } else { first + (second - first) * share }
}

fn clamped(height: f32) -> f32 {
    if height.is_nan() { 0.0 } else { height.clamp(-Terrain::HEIGHT_MAX_M, Terrain::HEIGHT_MAX_M) }
}

#[cfg(test)]
mod tests {
    use super::super::placing::{BoundingBox, PlacingOptions};
    use super::*;
    use glam::Vec3;

    /// Heights that differ everywhere.
    fn archived(width: u32, depth: u32) -> TerrainHeights {
        let heights = (0..width * depth).map(|n| (n % width) as f32 + (n / width) as f32 / 1_024.0).collect();
        TerrainHeights { width, depth, heights }
    }

    fn loaded(archived: &TerrainHeights, options: PlacingOptions, region_m: u32) -> Terrain {
        let placing = Placing::new(options, (archived.width, archived.depth), region_m);
        ground_of(archived, &placing, &Terrain::flat(region_m, -7.0))
    }

    fn sample(ground: &Terrain, x: u32, y: u32) -> f32 {
        ground.heights()[(y * ground.size_m() + x) as usize]
    }

    #[test]
    fn a_ground_of_the_same_size_is_that_of_the_archive_and_back() {
        let all = archived(256, 256);
        let ground = loaded(&all, PlacingOptions::default(), 256);
        assert_eq!(heights_of(&ground), all);
        assert!(patches_of(&ground, &ground).is_empty());
        assert_eq!(patches_of(&ground, &Terrain::flat(256, 21.0)).len(), 256);
    }

    #[test]
    fn smaller_and_larger_grounds_leave_the_rest_and_are_cut() {
        let small = loaded(&archived(256, 256), PlacingOptions::default(), 512);
        let heights = [(255, 0), (256, 0), (0, 300)].map(|(x, y)| sample(&small, x, y));
        assert_eq!(heights, [255.0, -7.0, -7.0]);
        let cut = loaded(&archived(512, 256), PlacingOptions::default(), 256);
        assert_eq!(sample(&cut, 255, 2), 255.0 + 2.0 / 1_024.0);
    }

    #[test]
    fn a_turned_and_moved_ground_lies_where_its_objects_do() {
        let all = archived(256, 256);
        let turned = loaded(&all, PlacingOptions { rotation_deg: 90.0, ..PlacingOptions::default() }, 256);
        // The south-western corner comes to the south-east.
        assert_eq!((sample(&turned, 255, 0), sample(&turned, 255, 10)), (0.0, 10.0));
        let bounds = BoundingBox { origin: Vec3::new(64.0, 0.0, 0.0), size: Vec3::new(16.0, 16.0, 0.0) };
        let displacement = Vec3::new(32.0, 8.0, 100.0);
        let options = PlacingOptions { bounds: Some(bounds), displacement, ..PlacingOptions::default() };
        let moved = loaded(&all, options, 256);
        let heights = [(32, 8), (47, 23), (31, 8), (48, 8), (32, 24)].map(|(x, y)| sample(&moved, x, y));
        assert_eq!(heights, [164.0, 179.0 + 15.0 / 1_024.0, -7.0, -7.0, -7.0]);
        let half = Vec3::new(0.5, 0.0, 0.0);
        let between = loaded(&all, PlacingOptions { displacement: half, ..PlacingOptions::default() }, 256);
        assert_eq!(sample(&between, 10, 0), 9.5);
    }

    #[test]
    fn impossible_heights_come_to_the_bounds() {
        let mut all = archived(256, 256);
        (all.heights[0], all.heights[1]) = (9_000.0, -9_000.0);
        let ground = loaded(&all, PlacingOptions::default(), 256);
        assert_eq!((sample(&ground, 0, 0), sample(&ground, 1, 0)), (2_048.0, -2_048.0));
    }
}
