//! Physics parts of a mesh, and the solids that they make.
//!
//! | section | content |
//! |---|---|
//! | `physics_shape`, in old assets, `physics_mesh` | an array of faces: `PositionDomain` (`Min`, `Max`), `Position`, `TriangleList` |
//! | `physics_convex` | a map: `Min`, `Max`; `HullList`, the number of points of each hull (0 for 256), with all `Positions`; `BoundingVerts`, points of one hull |
//! | `lowest_lod` to `high_lod` | faces as above |
//!
//! A position is three little-endian `u16`, 0 at `Min` and 65,535 at `Max`. Without a domain these are −½ and ½. Corners are little-endian `u16`.

use crate::hull::{Directions, HullSurface, bounds_of, hull_of, outermost};
use crate::mesh::Sections;
use crate::surface::SurfaceBuilder;
use crate::{DecodedSolid, SolidError, SolidSource};
use glam::{BVec3, Vec3};
use prim::{ASSET_REACH, ASSET_TRIANGLES_MAX, AssetSolid};
use wire::llsd::Llsd;

/// Sections with the triangles of a mesh for collisions; the first of them in the asset counts.
const TRIANGLE_SECTIONS: [&str; 2] = ["physics_shape", "physics_mesh"];
const CONVEX_SECTION: &str = "physics_convex";
/// Levels of detail, the coarsest first.
const LEVELS: [&str; 4] = ["lowest_lod", "low_lod", "medium_lod", "high_lod"];

/// Hulls of a list, at most, as in Second Life.
const HULLS_MAX: usize = 256;
/// Points of one face or hull, at most: a corner has 16 bits.
const POINTS_MAX: usize = 65_536;
/// Points of all hulls of a list that are taken as they are. With more their triangles exceed the limit.
const LIST_POINTS_MAX: usize = 2_048;

const STEPS: f32 = 65_535.0;
const BYTES_PER_POINT: usize = 6;
const BYTES_PER_TRIANGLE: usize = 6;

/// The solid of a prim that collides as the mesh is built.
pub(crate) fn surface(mesh: &Sections<'_>) -> Result<DecodedSolid, SolidError> {
    let triangles = TRIANGLE_SECTIONS.iter().find_map(|name| mesh.section(name));
    if let Some(solid) = triangles.as_ref().and_then(triangle_surface) {
        return Ok(DecodedSolid { solid, source: SolidSource::Triangles });
    }
    let convex = mesh.section(CONVEX_SECTION).and_then(|section| ConvexPart::read(&section));
    if let Some(solid) = convex.as_ref().and_then(|convex| hulls_surface(&convex.hulls)) {
        return Ok(DecodedSolid { solid, source: SolidSource::Hulls });
    }
    let points = triangles.as_ref().map(face_points).unwrap_or_default();
    hull_around(convex, points, mesh)
}

/// The solid of a prim that collides as the hull of the mesh.
pub(crate) fn hull(mesh: &Sections<'_>) -> Result<DecodedSolid, SolidError> {
    let convex = mesh.section(CONVEX_SECTION).and_then(|section| ConvexPart::read(&section));
    let needs_triangles = convex.as_ref().is_none_or(|convex| convex.is_empty());
    let section =
        if needs_triangles { TRIANGLE_SECTIONS.iter().find_map(|name| mesh.section(name)) } else { None };
    hull_around(convex, section.as_ref().map(face_points).unwrap_or_default(), mesh)
}

/// The hull that the uploader made, else that around the other hulls, else that around these points, else the box around the coarsest level of detail.
fn hull_around(
    convex: Option<ConvexPart>,
    points: Vec<Vec3>,
    mesh: &Sections<'_>,
) -> Result<DecodedSolid, SolidError> {
    let ConvexPart { base, hulls } = convex.unwrap_or_default();
    let candidates = [base, hulls.into_iter().flatten().collect(), points];
    if let Some(solid) = candidates.iter().find_map(|points| hull_solid(points)) {
        return Ok(DecodedSolid { solid, source: SolidSource::Hull });
    }
    let bounds = LEVELS.iter().find_map(|name| level_bounds(&mesh.section(name)?));
    let solid = bounds.and_then(|(low, high)| AssetSolid::box_between(low, high).ok());
    let solid = solid.ok_or(SolidError::NoParts)?;
    Ok(DecodedSolid { solid, source: SolidSource::Bounds })
}

/// The convex hull of points, or the box around points in a plane; `None` without a point.
pub(crate) fn hull_solid(points: &[Vec3]) -> Option<AssetSolid> {
    let (low, high) = bounds_of(points)?;
    match hull_of(points) {
        Some(HullSurface { vertices, .. }) if is_box(&vertices, low, high) => {
            AssetSolid::box_between(low, high).ok()
        }
        Some(HullSurface { vertices, triangles }) => AssetSolid::surface(vertices, triangles, true).ok(),
        None => AssetSolid::box_between(low, high).ok(),
    }
}

/// True if the vertices of a hull are the corners of the box around it. Boxes cost an avatar far less than twelve triangles.
fn is_box(vertices: &[Vec3], low: Vec3, high: Vec3) -> bool {
    let is_corner = |vertex: &Vec3| (vertex.cmpeq(low) | vertex.cmpeq(high)).all();
    vertices.len() == 8 && vertices.iter().all(is_corner)
}

/// Hulls as one surface; `None` without one, or if they have too many triangles even when each has few points.
fn hulls_surface(hulls: &[Vec<Vec3>]) -> Option<AssetSolid> {
    if let [only] = hulls {
        return hull_solid(only);
    }
    let n_points: usize = hulls.iter().map(Vec::len).sum();
    let whole = || joined(hulls.iter().filter_map(|points| closed_around(points)));
    let thin = |points: &Vec<Vec3>| closed_around(&outermost(points, Directions::Coarse));
    (n_points <= LIST_POINTS_MAX).then(whole).flatten().or_else(|| joined(hulls.iter().filter_map(thin)))
}

/// The convex hull of points, or the thin box around points in a plane.
fn closed_around(points: &[Vec3]) -> Option<HullSurface> {
    let of_box = || {
        let (low, high) = bounds_of(points)?;
        let AssetSolid::Box(thick) = AssetSolid::box_between(low, high).ok()? else { return None };
        let corner = |n: u8| {
            let is_high = [n & 1, n & 2, n & 4].map(|bit| bit != 0);
            Vec3::select(BVec3::from_array(is_high), thick.high(), thick.low())
        };
        hull_of(&(0..8).map(corner).collect::<Vec<Vec3>>())
    };
    hull_of(points).or_else(of_box)
}

fn joined(surfaces: impl Iterator<Item = HullSurface>) -> Option<AssetSolid> {
    let mut all = HullSurface::default();
    for HullSurface { vertices, triangles } in surfaces {
        if all.triangles.len() + triangles.len() > ASSET_TRIANGLES_MAX {
            return None;
        }
        let first = all.vertices.len() as u16;
        all.vertices.extend(vertices);
        all.triangles.extend(triangles.iter().map(|triangle| triangle.map(|corner| first + corner)));
    }
    AssetSolid::surface(all.vertices, all.triangles, false).ok()
}

/// The triangles of faces as a surface; `None` without one, with more than a solid may have, and for damaged faces.
fn triangle_surface(section: &Llsd) -> Option<AssetSolid> {
    let faces = faces(section)?;
    let n_triangles: usize = faces.iter().map(Face::n_triangles).sum();
    if n_triangles > ASSET_TRIANGLES_MAX {
        return None;
    }
    let mut surface = SurfaceBuilder::default();
    for face in &faces {
        for corners in face.triangles() {
            let [a, b, c] = corners.map(|corner| face.point(corner.into()));
            surface.add([a?, b?, c?]);
        }
    }
    surface.finish()
}

/// All points of faces, for a hull.
fn face_points(section: &Llsd) -> Vec<Vec3> {
    let faces = faces(section).unwrap_or_default();
    faces.iter().flat_map(|face| (0..face.n_points()).filter_map(move |index| face.point(index))).collect()
}

/// The box around a level of detail, by the domains of its faces.
fn level_bounds(section: &Llsd) -> Option<(Vec3, Vec3)> {
    let corners: Vec<Vec3> =
        faces(section)?.iter().flat_map(|face| [face.domain.low, face.domain.high]).collect();
    bounds_of(&corners)
}

/// Faces that have a form; `None` if one is damaged.
fn faces(section: &Llsd) -> Option<Vec<Face<'_>>> {
    let has_form = |face: &&Llsd| face.get("NoGeometry").as_bool() != Some(true);
    section.as_array().iter().filter(has_form).map(Face::read).collect()
}

/// Box in which positions are counted.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Domain {
    low: Vec3,
    high: Vec3,
}

impl Domain {
    /// The domain of a map with `Min` and `Max`, each of which may be absent; `None` for other values, and beyond the reach of solids.
    fn read(map: &Llsd) -> Option<Self> {
        let corner = |name: &str, default: f32| match map.get(name) {
            Llsd::Undef => Some(Vec3::splat(default)),
            value => value.as_vec3(),
        };
        let domain = Self { low: corner("Min", -0.5)?, high: corner("Max", 0.5)? };
        let is_near = |corner: Vec3| corner.abs().cmple(Vec3::splat(ASSET_REACH)).all();
        let is_box = domain.low.cmple(domain.high).all();
        (is_near(domain.low) && is_near(domain.high) && is_box).then_some(domain)
    }

    fn point(&self, bytes: &[u8; BYTES_PER_POINT]) -> Vec3 {
        let &[a, b, c, d, e, f] = bytes;
        let steps = [[a, b], [c, d], [e, f]].map(|two| f32::from(u16::from_le_bytes(two)));
        // Never beyond the far corner by rounding.
        (self.low + Vec3::from(steps) / STEPS * (self.high - self.low)).clamp(self.low, self.high)
    }
}

/// A face of a mesh.
#[derive(Debug)]
struct Face<'a> {
    domain: Domain,
    positions: &'a [[u8; BYTES_PER_POINT]],
    triangles: &'a [[u8; BYTES_PER_TRIANGLE]],
}

impl<'a> Face<'a> {
    fn read(face: &'a Llsd) -> Option<Self> {
        let (positions, _) = face.get("Position").as_binary()?.as_chunks();
        let (triangles, _) = face.get("TriangleList").as_binary()?.as_chunks();
        let domain = Domain::read(face.get("PositionDomain"))?;
        (positions.len() <= POINTS_MAX).then_some(Self { domain, positions, triangles })
    }

    const fn n_points(&self) -> usize {
        self.positions.len()
    }

    const fn n_triangles(&self) -> usize {
        self.triangles.len()
    }

    fn triangles(&self) -> impl Iterator<Item = [u16; 3]> {
        self.triangles.iter().map(|&[a, b, c, d, e, f]| [[a, b], [c, d], [e, f]].map(u16::from_le_bytes))
    }

    /// A point; `None` if there are fewer.
    fn point(&self, index: usize) -> Option<Vec3> {
        self.positions.get(index).map(|bytes| self.domain.point(bytes))
    }
}

/// Convex hulls of a mesh, as points.
#[derive(Debug, Default, PartialEq)]
struct ConvexPart {
    /// Of the one hull around all.
    base: Vec<Vec3>,
    /// Of each hull of the list.
    hulls: Vec<Vec<Vec3>>,
}

impl ConvexPart {
    /// The hulls of a section; `None` for one without a domain. A list that is damaged counts as absent.
    fn read(section: &Llsd) -> Option<Self> {
        section.as_map()?;
        let domain = Domain::read(section)?;
        let points = |name: &str| -> Vec<Vec3> {
            let (points, _) = section.get(name).as_binary().unwrap_or_default().as_chunks();
            points.iter().take(POINTS_MAX).map(|bytes| domain.point(bytes)).collect()
        };
        let lengths = section.get("HullList").as_binary().unwrap_or_default();
        let hulls = split(lengths, &points("Positions")).unwrap_or_default();
        Some(Self { base: points("BoundingVerts"), hulls })
    }

    fn is_empty(&self) -> bool {
        self.base.is_empty() && self.hulls.is_empty()
    }
}

/// Points of each hull, by the numbers of points in a list; `None` if there are too many hulls or too few points.
fn split(lengths: &[u8], mut points: &[Vec3]) -> Option<Vec<Vec<Vec3>>> {
    if lengths.len() > HULLS_MAX {
        return None;
    }
    let mut hulls = Vec::with_capacity(lengths.len());
    for &length in lengths {
        let length = if length == 0 { 256 } else { usize::from(length) };
        let (hull, rest) = points.split_at_checked(length)?;
        hulls.push(hull.to_vec());
        points = rest;
    }
    Some(hulls)
}
