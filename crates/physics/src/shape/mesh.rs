//! Triangles of a prim's surface, in units of its scale.

use super::tree::{Segment, TriangleTree};
use crate::bounds::Aabb;
use glam::{DVec3, Vec3};
use state_hash::StateHasher;

/// The most triangles of a prim.
pub const TRIANGLES_MAX: usize = 2_000;

/// Least square of twice the area of a triangle that stops anything; thinner ones are there only to close the surface.
const AREA_MIN: f32 = 1e-14;

/// Class of a solid that has triangles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MeshKind {
    /// An ellipsoid that fills the scale.
    Sphere,
    /// An elliptic cylinder along z that fills the scale.
    Cylinder,
    /// A triangle along z, with six vertices.
    Prism,
    /// Another convex solid.
    Convex,
    /// A solid with dents, holes or windings.
    Concave,
}

/// A closed surface of triangles. Each edge belongs to two triangles, once in each direction, and normals point out of the solid. Surfaces of assets may be open.
///
/// A path that winds more than once or is skewed may run through itself. Triangles without area occur, at the tip of a cone for instance.
#[derive(Clone, Debug, PartialEq)]
pub struct SolidMesh {
    vertices: Box<[Vec3]>,
    /// Those with an area first, in the order of the tree.
    triangles: Box<[[u16; 3]]>,
    /// Face of each triangle.
    faces: Box<[u8]>,
    tree: TriangleTree,
    bounds: Aabb,
    kind: MeshKind,
    /// Of vertices and triangles.
    hash: u64,
}

/// A hit of a segment on a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MeshHit {
    /// Share of the segment before the hit.
    pub(crate) share: f32,
    pub(crate) triangle: usize,
}

impl SolidMesh {
    pub(super) fn new(vertices: Vec<Vec3>, triangles: Vec<([u16; 3], u8)>, kind: MeshKind) -> Self {
        assert!(triangles.len() <= TRIANGLES_MAX, "a prim of {} triangles", triangles.len());
        let corners = |triangle: [u16; 3]| triangle.map(|index| vertices[usize::from(index)]);
        let has_area = |&(triangle, _): &([u16; 3], u8)| {
            let [a, b, c] = corners(triangle);
            (b - a).cross(c - a).length_squared() > AREA_MIN
        };
        let (mut ordered, flat): (Vec<_>, Vec<_>) = triangles.into_iter().partition(has_area);
        let boxes: Vec<Aabb> = ordered.iter().map(|&(triangle, _)| Aabb::around(corners(triangle))).collect();
        let (tree, order) = TriangleTree::new(&boxes);
        ordered = order.into_iter().map(|index| ordered[usize::from(index)]).collect();
        ordered.extend(flat);
        let mut hasher = StateHasher::new();
        vertices.iter().for_each(|&vertex| hasher.vec3(vertex));
        for &([a, b, c], _) in &ordered {
            hasher.u64(u64::from(a) << 32 | u64::from(b) << 16 | u64::from(c));
        }
        Self {
            hash: hasher.finish(),
            bounds: Aabb::around(vertices.iter().copied()),
            triangles: ordered.iter().map(|&(triangle, _)| triangle).collect(),
            faces: ordered.iter().map(|&(_, face)| face).collect(),
            vertices: vertices.into(),
            tree,
            kind,
        }
    }

    /// Its vertices, in units of the prim's scale.
    #[must_use]
    pub fn vertices(&self) -> &[Vec3] {
        &self.vertices
    }

    /// Indices of the corners of each triangle, counter-clockwise as seen from outside.
    #[must_use]
    pub fn triangles(&self) -> &[[u16; 3]] {
        &self.triangles
    }

    /// Number of each triangle's face, as viewers count them: end of the path, outer sides, hole, begin of the path, begin and end of
    /// the profile, as far as there are such. 0 for assets, whose triangles in collisions are not those that are drawn.
    #[must_use]
    pub fn faces(&self) -> &[u8] {
        &self.faces
    }

    /// Hash of its vertices and triangles.
    pub(crate) const fn hash(&self) -> u64 {
        self.hash
    }

    /// The box around it, in units of the prim's scale. A shear or a scale above 1 may lead beyond ±0.5.
    #[must_use]
    pub const fn bounds(&self) -> Aabb {
        self.bounds
    }

    /// Its volume, as a share of the cube that is its scale. Parts that a path runs through twice count twice.
    #[must_use]
    pub fn volume(&self) -> f64 {
        let corner = |index: u16| DVec3::from(self.vertices[usize::from(index)]);
        let sixfold = |&[a, b, c]: &[u16; 3]| corner(a).dot(corner(b).cross(corner(c)));
        self.triangles.iter().map(sixfold).sum::<f64>() / 6.0
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.vertices)
            + size_of_val(&*self.triangles)
            + size_of_val(&*self.faces)
            + self.tree.bytes()
    }

    pub(crate) const fn kind(&self) -> MeshKind {
        self.kind
    }

    pub(crate) fn corners(&self, triangle: usize) -> [Vec3; 3] {
        // Not by `map`, which is not inlined: 10 % of the time of walkers among prims.
        let [a, b, c] = self.triangles[triangle];
        let vertex = |index: u16| self.vertices[usize::from(index)];
        [vertex(a), vertex(b), vertex(c)]
    }

    /// Visits the triangles that have an area, in the order of [`Self::each_in`].
    pub(crate) fn each(&self, mut visit: impl FnMut([Vec3; 3])) {
        (0..self.tree.n_triangles()).for_each(|triangle| visit(self.corners(triangle)));
    }

    /// Visits triangles that may overlap a box, in units of the scale: their bounds do, and their planes pass through it.
    pub(crate) fn each_in(&self, area: &Aabb, mut visit: impl FnMut([Vec3; 3])) {
        if !self.bounds.overlaps(area) {
            return;
        }
        let (centre, half) = (area.centre(), area.half());
        self.tree.each_in(area, |triangles| {
            for triangle in triangles {
                let corners = self.corners(triangle);
                let [a, b, c] = corners;
                let normal = (b - a).cross(c - a);
                // A hair wider, for rounding.
                let is_cut = normal.dot(centre - a).abs() <= normal.abs().dot(half) * 1.001;
                if is_cut && Aabb::around(corners).overlaps(area) {
                    visit(corners);
                }
            }
        });
    }

    /// The first triangle that a segment meets from outside, before a share of it; all in units of the scale.
    pub(crate) fn cast(&self, segment: &Segment, most: f32) -> Option<MeshHit> {
        let mut nearest: Option<MeshHit> = None;
        self.tree.each_on(segment, most, |triangles| {
            for triangle in triangles {
                let Some(share) = enter_triangle(segment, self.corners(triangle)) else { continue };
                if nearest.map_or(share <= most, |hit| share < hit.share) {
                    nearest = Some(MeshHit { share, triangle });
                }
            }
            nearest.map_or(most, |hit| hit.share)
        });
        nearest
    }
}

/// Share of a segment at which it passes through a triangle from its outer side.
fn enter_triangle(segment: &Segment, [a, b, c]: [Vec3; 3]) -> Option<f32> {
    let (ab, ac) = (b - a, c - a);
    let across = segment.way.cross(ac);
    let facing = ab.dot(across);
    // Positive: against the normal.
    if facing <= 0.0 {
        return None;
    }
    let rel = segment.from - a;
    let u = rel.dot(across);
    let around = rel.cross(ab);
    let v = segment.way.dot(around);
    // A hair beyond each edge, so that no ray slips through between two triangles.
    let slack = -1e-6 * facing;
    if u < slack || v < slack || u + v > facing - slack {
        return None;
    }
    let share = ac.dot(around) / facing;
    (0.0..=1.0).contains(&share).then_some(share)
}
