//! Grounds of configured regions and templates: terrain, boxes, and portals.

use crate::config::{self, Config, TerrainShape};
use glam::Vec3;
use link::{GroundSpec, Portal, PortalTo, Scenery, Terrain};
use std::sync::Arc;

/// Flat ground lies this far above the water, in metres.
const FLAT_ABOVE_WATER_M: f32 = 2.0;

/// Described ground of a region, and the portals on it.
pub(crate) type RegionGround = (GroundSpec, Arc<[Portal]>);

/// Grounds of the regions, in their order.
pub(crate) fn grounds(config: &Config) -> Vec<RegionGround> {
    config.region.iter().map(|region| Ground::of_region(region).describe(config)).collect()
}

/// Common configuration of regions and templates.
pub(crate) struct Ground<'a> {
    name: &'a str,
    shape: TerrainShape,
    size_m: u32,
    seed: u32,
    water_m: f32,
    boxes: u32,
    box_name: &'a str,
}

impl<'a> Ground<'a> {
    pub(crate) fn of_region(region: &'a config::RegionSection) -> Self {
        let config::RegionSection { name, terrain: shape, size_m, seed, water_m, boxes, box_name, .. } =
            region;
        let (shape, size_m, seed, water_m, boxes) = (*shape, *size_m, *seed, *water_m, *boxes);
        Self { name, shape, size_m, seed, water_m, boxes, box_name }
    }

    pub(crate) fn of_template(template: &'a config::TemplateSection) -> Self {
        let config::TemplateSection { name, terrain: shape, size_m, seed, water_m, boxes, box_name, .. } =
            template;
        let (shape, size_m, seed, water_m, boxes) = (*shape, *size_m, *seed, *water_m, *boxes);
        Self { name, shape, size_m, seed, water_m, boxes, box_name }
    }

    /// The ground with its boxes, its portals, and an arch over each of these.
    pub(crate) fn describe(self, config: &Config) -> (GroundSpec, Arc<[Portal]>) {
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
        let ground = GroundSpec::new(Arc::new(terrain), Arc::new(scenery), self.water_m);
        (GroundSpec { box_name: self.box_name.into(), ..ground }, portals)
    }
}

fn portal(settings: &config::PortalSection, terrain: &Terrain) -> Portal {
    let (x, y) = (settings.x, settings.y);
    let to = if settings.to.eq_ignore_ascii_case(config::PortalSection::BACK) {
        PortalTo::Back
    } else {
        PortalTo::Own(settings.to.as_str().into())
    };
    Portal { at: Vec3::new(x, y, terrain.height(x, y)), radius_m: settings.radius_m, to }
}
