//! Geometries of prims: those of their shapes, and those of assets.

use super::assets::AssetSolids;
use physics::{Geometry, ShapeCache};
use prim::{Body, ExtraParam, SolidKey};

/// Sources of geometries.
#[derive(Debug, Default)]
pub(crate) struct Forms {
    shapes: ShapeCache,
    pub(super) assets: AssetSolids,
}

impl Forms {
    /// Geometries with these solids of assets.
    pub(super) fn with(assets: AssetSolids) -> Self {
        Self { shapes: ShapeCache::default(), assets }
    }

    /// Geometry of a prim: nothing for flexible ones, whose form moves at clients alone. A prim whose form is an asset is a box until its solid comes.
    pub(crate) fn of_body(&mut self, body: &Body) -> Geometry {
        match SolidKey::of_body(body) {
            Some(key) => self.assets.geometry(&key),
            None if body.extra_params.get(ExtraParam::Flexible).is_some() => Geometry::Empty,
            None => self.shapes.of_body(body),
        }
    }
}
