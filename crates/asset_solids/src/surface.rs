//! Triangles of a mesh as a solid.
//!
//! Surfaces stop avatars from outside only. So a closed surface has to be turned outwards, and an open one stops from both sides: its outside is not known, and builders
//! use single planes as floors and walls.

use glam::{DVec3, Vec3};
use prim::{ASSET_TRIANGLES_MAX, AssetSolid};
use std::collections::BTreeMap;

/// Triangles, with vertices of equal place as one.
#[derive(Debug, Default)]
pub(crate) struct SurfaceBuilder {
    /// By the bits of their coordinates.
    places: BTreeMap<[u32; 3], u16>,
    vertices: Vec<Vec3>,
    triangles: Vec<[u16; 3]>,
}

impl SurfaceBuilder {
    /// Adds a triangle, counter-clockwise as seen from outside. One with two equal corners is left out, and one beyond the limit.
    pub(crate) fn add(&mut self, corners: [Vec3; 3]) {
        let [a, b, c] = corners;
        let is_triangle = a != b && b != c && c != a;
        if is_triangle && self.triangles.len() < ASSET_TRIANGLES_MAX {
            let triangle = corners.map(|corner| self.vertex(corner));
            self.triangles.push(triangle);
        }
    }

    /// The surface; `None` without a triangle.
    pub(crate) fn finish(self) -> Option<AssetSolid> {
        let Self { vertices, mut triangles, .. } = self;
        if is_closed(&triangles) {
            if volume(&vertices, &triangles) < 0.0 {
                triangles.iter_mut().for_each(|[_, b, c]| std::mem::swap(b, c));
            }
        } else if 2 * triangles.len() <= ASSET_TRIANGLES_MAX {
            let backs: Vec<[u16; 3]> = triangles.iter().map(|&[a, b, c]| [a, c, b]).collect();
            triangles.extend(backs);
        }
        AssetSolid::surface(vertices, triangles, false).ok()
    }

    fn vertex(&mut self, at: Vec3) -> u16 {
        // The sum turns −0 into 0.
        let bits = at.to_array().map(|coordinate| (coordinate + 0.0).to_bits());
        *self.places.entry(bits).or_insert_with(|| {
            self.vertices.push(at);
            (self.vertices.len() - 1) as u16
        })
    }
}

/// True if each edge belongs to two triangles, in opposite directions.
fn is_closed(triangles: &[[u16; 3]]) -> bool {
    let mut edges: BTreeMap<(u16, u16), u32> = BTreeMap::new();
    for &[a, b, c] in triangles {
        for edge in [(a, b), (b, c), (c, a)] {
            *edges.entry(edge).or_default() += 1;
        }
    }
    edges.iter().all(|(&(from, to), &count)| count == 1 && edges.contains_key(&(to, from)))
}

/// Volume of a closed surface, negative if its triangles are turned inwards.
fn volume(vertices: &[Vec3], triangles: &[[u16; 3]]) -> f64 {
    let corner = |index: u16| DVec3::from(vertices[usize::from(index)]);
    let sixfold = |&[a, b, c]: &[u16; 3]| corner(a).dot(corner(b).cross(corner(c)));
    triangles.iter().map(sixfold).sum::<f64>() / 6.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const TETRAHEDRON: [[Vec3; 3]; 4] = [
        [Vec3::ZERO, Vec3::Y, Vec3::X],
        [Vec3::ZERO, Vec3::X, Vec3::Z],
        [Vec3::ZERO, Vec3::Z, Vec3::Y],
        [Vec3::X, Vec3::Y, Vec3::Z],
    ];

    fn built(triangles: &[[Vec3; 3]]) -> (Vec<Vec3>, Vec<[u16; 3]>) {
        let mut builder = SurfaceBuilder::default();
        triangles.iter().for_each(|&corners| builder.add(corners));
        let Some(AssetSolid::Surface(surface)) = builder.finish() else { panic!("a surface") };
        (surface.vertices().to_vec(), surface.triangles().to_vec())
    }

    #[test]
    fn a_closed_surface_is_turned_outwards() {
        for is_inverted in [false, true] {
            let triangles = TETRAHEDRON.map(|[a, b, c]| if is_inverted { [a, c, b] } else { [a, b, c] });
            let (vertices, triangles) = built(&triangles);
            assert_eq!((vertices.len(), triangles.len()), (4, 4));
            assert!(volume(&vertices, &triangles) > 0.1);
        }
    }

    #[test]
    fn an_open_surface_stops_from_both_sides() {
        let (vertices, triangles) = built(&TETRAHEDRON[1..]);
        assert_eq!((vertices.len(), triangles.len()), (4, 6));
        for &[a, b, c] in &triangles[..3] {
            assert!(triangles[3..].contains(&[a, c, b]));
        }
        // As many as fit.
        let many: Vec<[Vec3; 3]> = (0..1_001_u16)
            .map(|n| [Vec3::ZERO, Vec3::X, Vec3::Y].map(|corner| corner + Vec3::Z * (f32::from(n) / 1_001.0)))
            .collect();
        assert_eq!(built(&many).1.len(), 1_001);
    }

    #[test]
    fn triangles_without_three_corners_are_left_out() {
        let line = [Vec3::X, Vec3::X, Vec3::Y];
        assert_eq!(built(&[line, TETRAHEDRON[0]]).1.len(), 2);
        let mut builder = SurfaceBuilder::default();
        builder.add(line);
        assert_eq!(builder.finish(), None);
        let (vertices, _) = built(&[[Vec3::ZERO, Vec3::X, Vec3::Y], [Vec3::NEG_X * 0.0, Vec3::Y, Vec3::Z]]);
        assert_eq!(vertices.len(), 4, "0 and −0 are one place");
    }
}
