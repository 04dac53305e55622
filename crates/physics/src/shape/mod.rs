//! Solid form of prims.
//!
//! A profile (`outline`) is swept along a path (`sweep`) into a closed mesh (`build`, `mesh`) in units of the prim's scale, with fewer
//! triangles for smaller prims. Plain boxes, most prims by far, have no mesh. The meaning of each parameter is that of viewers. Solids of assets come
//! as triangles (`asset`).

mod asset;
mod build;
mod cache;
mod detail;
mod form;
mod lattice;
mod mesh;
mod outline;
mod sweep;
mod tree;

pub use cache::ShapeCache;
pub use form::SolidForm;
pub use mesh::{SolidMesh, TRIANGLES_MAX};
pub(crate) use tree::Segment;

use crate::bounds::Aabb;
use std::sync::Arc;

/// Solid of a prim in units of its scale. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub enum Geometry {
    /// Nothing to collide with: trees, grass, flexible prims.
    Empty,
    /// A box along the axes.
    Box(Aabb),
    /// Any other.
    Mesh(Arc<SolidMesh>),
}

impl Geometry {
    /// A box that fills the scale.
    pub const BOX: Self = Self::Box(Aabb::UNIT);

    /// The box around it.
    #[must_use]
    pub fn bounds(&self) -> Aabb {
        match self {
            Self::Empty => Aabb { low: glam::Vec3::ZERO, high: glam::Vec3::ZERO },
            Self::Box(bounds) => *bounds,
            Self::Mesh(mesh) => mesh.bounds(),
        }
    }
}

#[cfg(test)]
mod tests;
