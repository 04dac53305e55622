//! Prims as colliders of rapier.
//!
//! Rapier has its own version of the vector library, so that vectors are converted by their components.

use crate::bounds::Aabb;
use crate::colliders::{Collider, PlacedSolid, Placement};
use crate::shape::{Geometry, SolidForm};
use glam::{Quat, Vec3};
use rapier3d::math::{Pose, Rotation, Vector};
use rapier3d::prelude::ColliderBuilder;
use std::f32::consts::FRAC_1_SQRT_2;

/// Least half width of a solid, metres: thinner ones give contacts without a direction.
const HALF_MIN_M: f32 = 0.005;
/// Turn that takes rapier's upright axis, y, to z.
const UPRIGHT: [f32; 4] = [FRAC_1_SQRT_2, 0.0, 0.0, FRAC_1_SQRT_2];

/// Treatment of solids with dents and holes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dents {
    /// Kept, as triangles: rooms can be entered. Only of prims that never move.
    Kept,
    /// Filled: bodies are convex hulls, also while they sleep, lest their contents are thrown out when they wake.
    Filled,
}

/// Turn of a shape that rapier builds upright along y.
pub(super) fn upright() -> Quat {
    Quat::from_array(UPRIGHT)
}

pub(super) fn to_vector(v: Vec3) -> Vector {
    Vector::new(v.x, v.y, v.z)
}

pub(super) fn from_vector(v: Vector) -> Vec3 {
    Vec3::new(v.x, v.y, v.z)
}

pub(super) fn to_pose(position: Vec3, rotation: Quat) -> Pose {
    let [x, y, z, w] = rotation.to_array();
    Pose::from_parts(to_vector(position), Rotation::from_xyzw(x, y, z, w))
}

pub(super) fn from_rotation(rotation: &Rotation) -> Quat {
    let [x, y, z, w] = rotation.to_array();
    Quat::from_xyzw(x, y, z, w)
}

/// A prim at a place; `None` if it collides with nothing.
pub(super) fn collider_at(
    geometry: &Geometry,
    placement: &Placement,
    dents: Dents,
) -> Option<ColliderBuilder> {
    let form = geometry.form(placement.scale)?;
    let (builder, local) = convert(&form, geometry, dents);
    Some(builder.position(to_pose(placement.position, placement.rotation) * local))
}

/// A prim of the store of colliders, in its place in the region.
pub(super) fn of_collider(collider: &Collider, dents: Dents) -> Option<ColliderBuilder> {
    let rotation = Quat::from_mat3(&collider.axes).normalize();
    match &collider.solid {
        PlacedSolid::Box { half, .. } => {
            let half = half.max(Vec3::splat(HALF_MIN_M));
            let pose = to_pose(collider.origin, rotation);
            Some(ColliderBuilder::cuboid(half.x, half.y, half.z).position(pose))
        }
        PlacedSolid::Mesh { mesh, scale } => {
            let placement = Placement { position: collider.origin, rotation, scale: *scale };
            collider_at(&Geometry::Mesh(mesh.clone()), &placement, dents)
        }
    }
}

/// A solid with its pose in the prim's own axes.
fn convert(form: &SolidForm, geometry: &Geometry, dents: Dents) -> (ColliderBuilder, Pose) {
    let here = to_pose(Vec3::ZERO, Quat::IDENTITY);
    match form {
        SolidForm::Box { centre, half } => block(*centre, *half),
        SolidForm::Sphere { radius } => (ColliderBuilder::ball(radius.max(HALF_MIN_M)), here),
        SolidForm::Cylinder { radius, low_z, high_z } => {
            let half = ((high_z - low_z) / 2.0).max(HALF_MIN_M);
            let pose = to_pose(Vec3::Z * (low_z + high_z) / 2.0, upright());
            (ColliderBuilder::cylinder(half, radius.max(HALF_MIN_M)), pose)
        }
        SolidForm::Prism { corners } => hull(corners),
        SolidForm::Hull { points } => hull(points),
        SolidForm::Triangles { vertices } => {
            let surface = match dents {
                Dents::Filled => None,
                Dents::Kept => triangles(&thickened(vertices), geometry),
            };
            surface.map_or_else(|| hull(vertices), |surface| (surface, here))
        }
    }
}

fn block(centre: Vec3, half: Vec3) -> (ColliderBuilder, Pose) {
    let half = half.max(Vec3::splat(HALF_MIN_M));
    (ColliderBuilder::cuboid(half.x, half.y, half.z), to_pose(centre, Quat::IDENTITY))
}

/// The convex hull of points; the box around them if they have none, as points in a plane.
fn hull(points: &[Vec3]) -> (ColliderBuilder, Pose) {
    let bounds = Aabb::around(points.iter().copied());
    let is_flat = bounds.half().min_element() < HALF_MIN_M;
    let converted: Vec<Vector> = points.iter().copied().map(to_vector).collect();
    let hull = if is_flat { None } else { ColliderBuilder::convex_hull(&converted) };
    let here = to_pose(Vec3::ZERO, Quat::IDENTITY);
    hull.map_or_else(|| block(bounds.centre(), bounds.half()), |hull| (hull, here))
}

/// Points spread along the axes along which they are flatter than the thinnest solid: triangles of some millimetres have no normals. Points in a plane
/// stay there.
fn thickened(points: &[Vec3]) -> Vec<Vec3> {
    let bounds = Aabb::around(points.iter().copied());
    let (centre, half) = (bounds.centre(), bounds.half());
    let factor = |half: f32| if half > 0.0 { (HALF_MIN_M / half).max(1.0) } else { 1.0 };
    let factors = Vec3::new(factor(half.x), factor(half.y), factor(half.z));
    if factors == Vec3::ONE {
        return points.to_vec();
    }
    points.iter().map(|&point| centre + (point - centre) * factors).collect()
}

fn triangles(vertices: &[Vec3], geometry: &Geometry) -> Option<ColliderBuilder> {
    let Geometry::Mesh(mesh) = geometry else { return None };
    let indices = mesh.triangles().iter().map(|triangle| triangle.map(u32::from)).collect();
    ColliderBuilder::trimesh(vertices.iter().copied().map(to_vector).collect(), indices).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::ShapeCache;
    use prim::Shape;

    #[test]
    fn a_thin_frame_keeps_its_opening_and_is_as_thick_as_the_thinnest_solid() {
        let frame = Shape { profile_hollow: 47_500, ..Shape::BOX };
        for scale in [
            [4.0_f32, 3.0, 0.001],
            [4.0, 3.0, 0.005],
            [4.0, 0.001, 3.0],
            [0.001; 3],
            [4.0, 3.0, 0.5],
            [256.0; 3],
        ] {
            let scale = Vec3::from(scale);
            let geometry = ShapeCache::default().of_shape(&frame, scale);
            let placement = Placement { position: Vec3::splat(128.0), rotation: Quat::IDENTITY, scale };
            let solid = collider_at(&geometry, &placement, Dents::Kept).expect("a solid");
            assert!(solid.shape.as_trimesh().is_some(), "{scale}: its opening is there");
            let bounds = solid.shape.compute_local_aabb();
            let (low, high) = (from_vector(bounds.mins), from_vector(bounds.maxs));
            let expected = scale.max(Vec3::splat(2.0 * HALF_MIN_M));
            assert!((high - low).abs_diff_eq(expected, 1e-3), "{scale}: {low} to {high}");
        }
    }
}
