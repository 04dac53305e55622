//! From configured regions to places, and from templates to what instances are made from.

use super::ServeError;
use super::instances::{self, Template};
use crate::config::{self, Config, TerrainShape};
use gateway::places::{Land, PlaceSettings, Portal, PortalTo};
use glam::Vec3;
use std::sync::Arc;
use world::{Scenery, Terrain};

/// Flat ground lies this far above the water, in metres.
const FLAT_ABOVE_WATER_M: f32 = 2.0;

pub(super) fn settings(config: &Config) -> Vec<PlaceSettings> {
    let place = |region: &config::Region| {
        let (land, portals) = Ground::of_region(region).build(config);
        PlaceSettings {
            name: region.name.clone(),
            grid: (region.x, region.y),
            max_avatars: region.max_avatars,
            land,
            portals,
        }
    };
    config.region.iter().map(place).collect()
}

/// What instances are made from.
///
/// # Errors
/// When a template's NPCs cannot be had.
pub(super) fn templates(config: &Config) -> Result<Vec<Template>, ServeError> {
    let template = |template: &config::Template| {
        let (land, portals) = Ground::of_template(template).build(config);
        let name = template.name.clone();
        let load = |path| instances::load(path, &land.terrain, &land.scenery, land.water_m);
        let cast =
            match template.npcs.as_os_str().is_empty() {
                true => None,
                false => Some(Arc::new(load(&template.npcs).map_err(|source| ServeError::Template {
                    name: name.clone(),
                    source: Box::new(source),
                })?)),
            };
        Ok(Template { name, land, portals, cast, max_avatars: template.max_avatars })
    };
    config.template.iter().map(template).collect()
}

/// What regions and templates are configured alike.
struct Ground<'a> {
    name: &'a str,
    shape: TerrainShape,
    size_m: u32,
    seed: u32,
    water_m: f32,
    boxes: u32,
}

impl<'a> Ground<'a> {
    fn of_region(region: &'a config::Region) -> Self {
        let config::Region { name, terrain, size_m, seed, water_m, boxes, .. } = region;
        Self { name, shape: *terrain, size_m: *size_m, seed: *seed, water_m: *water_m, boxes: *boxes }
    }

    fn of_template(template: &'a config::Template) -> Self {
        let config::Template { name, terrain, size_m, seed, water_m, boxes, .. } = template;
        Self { name, shape: *terrain, size_m: *size_m, seed: *seed, water_m: *water_m, boxes: *boxes }
    }

    /// The ground with its boxes, its portals, and an arch over each of these.
    fn build(self, config: &Config) -> (Arc<Land>, Arc<[Portal]>) {
        let terrain = match self.shape {
            TerrainShape::Hills => Terrain::hills(self.size_m, self.seed.into()),
            TerrainShape::Flat => Terrain::flat(self.size_m, self.water_m + FLAT_ABOVE_WATER_M),
        };
        let mut scenery = Scenery::boxes(self.boxes, &terrain, self.seed.into());
        let here = config.portal.iter().filter(|portal| portal.from.eq_ignore_ascii_case(self.name));
        let portals: Arc<[Portal]> = here.map(|settings| portal(settings, &terrain)).collect();
        for portal in &*portals {
            scenery = scenery.with_arch(portal.at, portal.radius_m);
        }
        (Arc::new(Land::new(Arc::new(terrain), Arc::new(scenery), self.water_m)), portals)
    }
}

fn portal(settings: &config::Portal, terrain: &Terrain) -> Portal {
    let (x, y) = (settings.x, settings.y);
    let to = if settings.to.eq_ignore_ascii_case(config::Portal::BACK) {
        PortalTo::Back
    } else {
        PortalTo::Own(settings.to.as_str().into())
    };
    Portal { at: Vec3::new(x, y, terrain.height(x, y)), radius_m: settings.radius_m, to }
}
