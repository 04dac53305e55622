//! From configured regions to places.

use crate::config::{Config, Region, TerrainShape};
use gateway::places::PlaceSettings;
use std::sync::Arc;
use world::{Scenery, Terrain};

/// Flat ground lies this far above the water, in metres.
const FLAT_ABOVE_WATER_M: f32 = 2.0;

pub(super) fn settings(config: &Config) -> Vec<PlaceSettings> {
    config.region.iter().map(place).collect()
}

fn place(region: &Region) -> PlaceSettings {
    let terrain = match region.terrain {
        TerrainShape::Hills => Terrain::hills(region.size_m, region.seed.into()),
        TerrainShape::Flat => Terrain::flat(region.size_m, region.water_m + FLAT_ABOVE_WATER_M),
    };
    let scenery = Scenery::boxes(region.boxes, &terrain, region.seed.into());
    PlaceSettings {
        name: region.name.clone(),
        grid: (region.x, region.y),
        size_m: region.size_m,
        water_m: region.water_m,
        max_avatars: region.max_avatars,
        terrain: Arc::new(terrain),
        scenery: Arc::new(scenery),
    }
}
