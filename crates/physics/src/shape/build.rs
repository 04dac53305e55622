//! From the parameters of a prim to its geometry.

use super::Geometry;
use super::detail::Detail;
use super::lattice::snap3;
use super::mesh::{MeshKind, SolidMesh, TRIANGLES_MAX};
use super::outline::Outline;
use super::sweep::{Sweep, share_of_path};
use crate::bounds::Aabb;
use glam::Vec3;
use prim::{Path, Profile, Shape};
use std::sync::Arc;

/// Code of a scale of 1.
const SCALE_ONE: u8 = 100;

/// Geometry of a shape. Shapes that no viewer makes are corrected first; those with unknown codes are boxes, as are the two curves of old
/// content that no menu offers ([`Path::Circle2`] and [`Path::Test`]).
pub(super) fn build(shape: &Shape, detail: Detail) -> Geometry {
    let Ok(shape) = shape.clamped() else { return Geometry::BOX };
    let (Ok(path), Ok(profile)) = (shape.path(), shape.profile()) else { return Geometry::BOX };
    match path {
        Path::Flexible => Geometry::Empty,
        Path::Circle2 | Path::Test => Geometry::BOX,
        Path::Line if profile.0 == Profile::Square && is_plain_line(&shape) => {
            let (begin, end) = share_of_path(&shape);
            let Aabb { low, high } = Aabb::UNIT;
            Geometry::Box(Aabb { low: low.with_z(begin - 0.5), high: high.with_z(end - 0.5) })
        }
        Path::Line => {
            let outline = Outline::new(&shape, profile, detail.circle_sides(), true);
            let is_flat = has_flat_sides(&shape, profile.0);
            let sweep = Sweep::along_line(&shape, detail, is_flat, steps_max(&outline));
            Geometry::Mesh(Arc::new(mesh(&outline, &sweep, line_kind(&shape, profile.0, &outline))))
        }
        Path::Circle => {
            // Half a circle makes a sphere, or nearly one.
            let is_tube = profile.0 == Profile::Circle;
            let sides = if is_tube { detail.tube_sides() } else { detail.circle_sides() };
            let outline = Outline::new(&shape, profile, sides, !super::sweep::circle_is_closed(&shape));
            let sweep = Sweep::along_circle(&shape, detail, steps_max(&outline));
            let kind = if is_sphere(&shape, profile.0) { MeshKind::Sphere } else { MeshKind::Concave };
            Geometry::Mesh(Arc::new(mesh(&outline, &sweep, kind)))
        }
    }
}

/// Steps of a path that keep a mesh within [`TRIANGLES_MAX`].
fn steps_max(outline: &Outline) -> usize {
    (TRIANGLES_MAX - 2 * outline.cap.len()) / (2 * outline.edges.len())
}

/// Sweeps an outline along a path.
fn mesh(outline: &Outline, sweep: &Sweep, kind: MeshKind) -> SolidMesh {
    let ring_len = outline.points.len() as u16;
    let rings = sweep.stations.len() as u16;
    let vertices: Vec<Vec3> = sweep
        .stations
        .iter()
        .flat_map(|station| outline.points.iter().map(|&point| snap3(station.at(point))))
        .collect();
    let mut triangles = Vec::new();
    for ring in 0..(if sweep.is_closed { rings } else { rings - 1 }) {
        let (here, there) = (ring * ring_len, (ring + 1) % rings * ring_len);
        for edge in &outline.edges {
            let (a, b) = (here + edge.from, here + edge.to);
            let (c, d) = (there + edge.to, there + edge.from);
            triangles.extend([([a, b, c], edge.face), ([a, c, d], edge.face)]);
        }
    }
    if !sweep.is_closed {
        let last = (rings - 1) * ring_len;
        for &[a, b, c] in &outline.cap {
            triangles.push(([a, c, b], outline.bottom));
            triangles.push(([last + a, last + b, last + c], outline.top));
        }
    }
    SolidMesh::new(vertices, triangles, kind)
}

/// True for a straight path without hole, cut of the profile, twist, taper and shear.
fn is_plain_line(shape: &Shape) -> bool {
    is_whole_profile(shape)
        && shape.path_scale_x == SCALE_ONE
        && shape.path_scale_y == SCALE_ONE
        && shape.path_shear_x == 0
        && shape.path_shear_y == 0
        && shape.path_twist == 0
        && shape.path_twist_begin == 0
}

const fn is_whole_profile(shape: &Shape) -> bool {
    shape.profile_begin == 0 && shape.profile_end == 0 && shape.profile_hollow == 0
}

fn line_kind(shape: &Shape, profile: Profile, outline: &Outline) -> MeshKind {
    match profile {
        Profile::Circle if is_plain_line(shape) => MeshKind::Cylinder,
        Profile::IsoscelesTriangle | Profile::EquilateralTriangle | Profile::RightTriangle
            if is_plain_line(shape) =>
        {
            MeshKind::Prism
        }
        _ => {
            let is_convex = outline.is_convex
                && has_flat_sides(shape, profile)
                && shape.path_twist == shape.path_twist_begin;
            if is_convex { MeshKind::Convex } else { MeshKind::Concave }
        }
    }
}

/// True if a straight path without twist has flat sides: a scale that differs along x and y bends those that are oblique to both.
fn has_flat_sides(shape: &Shape, profile: Profile) -> bool {
    shape.path_scale_x == shape.path_scale_y || (profile == Profile::Square && is_whole_profile(shape))
}

/// True for half a circle that is swept around its own diameter, whole and unturned.
fn is_sphere(shape: &Shape, profile: Profile) -> bool {
    profile == Profile::HalfCircle && is_plain_line(shape) && super::sweep::circle_is_closed(shape)
}
