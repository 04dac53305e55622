//! Solids of assets as geometries.

use super::Geometry;
use super::mesh::{MeshKind, SolidMesh, TRIANGLES_MAX};
use crate::bounds::Aabb;
use prim::{ASSET_TRIANGLES_MAX, AssetSolid};
use std::sync::Arc;

const _: () = assert!(ASSET_TRIANGLES_MAX <= TRIANGLES_MAX);

impl Geometry {
    /// Geometry of prims that collide as a solid of an asset. Takes as long as that of another mesh with as many triangles; the caller keeps it.
    #[must_use]
    pub fn of_asset(solid: &AssetSolid) -> Self {
        match solid {
            AssetSolid::Box(one) => Self::Box(Aabb { low: one.low(), high: one.high() }),
            AssetSolid::Surface(surface) => {
                let kind = if surface.is_convex() { MeshKind::Convex } else { MeshKind::Concave };
                let triangles = surface.triangles().iter().map(|&triangle| (triangle, 0)).collect();
                Self::Mesh(Arc::new(SolidMesh::new(surface.vertices().to_vec(), triangles, kind)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::SolidForm;
    use glam::Vec3;
    use proptest::prelude::*;

    fn surface(vertices: Vec<Vec3>, triangles: Vec<[u16; 3]>, is_convex: bool) -> Geometry {
        Geometry::of_asset(&AssetSolid::surface(vertices, triangles, is_convex).unwrap())
    }

    #[test]
    fn boxes_stay_boxes() {
        assert_eq!(Geometry::of_asset(&AssetSolid::FULL), Geometry::BOX);
        let half = AssetSolid::box_between(Vec3::splat(-0.5), Vec3::new(0.5, 0.5, 0.0)).unwrap();
        let bounds = Aabb { low: Vec3::splat(-0.5), high: Vec3::new(0.5, 0.5, 0.0) };
        assert_eq!(Geometry::of_asset(&half), Geometry::Box(bounds));
    }

    #[test]
    fn hulls_are_convex_to_the_engine_and_other_surfaces_are_not() {
        let corners = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z];
        let triangles = vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
        let form = |is_convex| surface(corners.clone(), triangles.clone(), is_convex).form(Vec3::splat(2.0));
        assert!(matches!(form(true), Some(SolidForm::Hull { points }) if points[1] == Vec3::X * 2.0));
        assert!(matches!(form(false), Some(SolidForm::Triangles { .. })));
    }

    proptest! {
        /// Triangles of any position, flat ones and repeated corners included.
        #[test]
        fn any_surface_is_a_geometry_within_its_vertices(
            corners in prop::collection::vec([-2.0_f32..=2.0, -2.0..=2.0, -2.0..=2.0], 1..60),
            triangles in prop::collection::vec(any::<[prop::sample::Index; 3]>(), 1..100),
        ) {
            let vertices: Vec<Vec3> = corners.into_iter().map(Vec3::from).collect();
            let triangles: Vec<[u16; 3]> =
                triangles.iter().map(|corners| corners.map(|at| at.index(vertices.len()) as u16)).collect();
            let around = Aabb::around(vertices.iter().copied());
            let n_triangles = triangles.len();
            let Geometry::Mesh(mesh) = surface(vertices, triangles, false) else { panic!("a mesh") };
            prop_assert_eq!((mesh.bounds(), mesh.triangles().len()), (around, n_triangles));
            mesh.each_in(&Aabb::UNIT, |corners| assert!(corners.iter().all(|corner| corner.is_finite())));
        }
    }
}
