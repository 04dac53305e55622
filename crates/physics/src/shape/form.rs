//! A prim's solid in metres, as a physics engine wants it: a primitive where it is one, else a hull or triangles.

use super::Geometry;
use super::mesh::MeshKind;
use glam::Vec3;

/// Scales that differ by less are equal: a cylinder is round.
const ROUND: f32 = 1e-4;

/// A solid in the prim's own axes, from its position, metres.
#[derive(Clone, Debug, PartialEq)]
pub enum SolidForm {
    /// A box along the axes.
    Box {
        /// Its centre; only a cut along the path moves it.
        centre: Vec3,
        /// Half its width along each axis.
        half: Vec3,
    },
    /// A ball around the position.
    Sphere {
        /// Its radius.
        radius: f32,
    },
    /// An upright cylinder around z.
    Cylinder {
        /// Its radius.
        radius: f32,
        /// Height of its bottom.
        low_z: f32,
        /// Height of its top.
        high_z: f32,
    },
    /// A triangle along z.
    Prism {
        /// Corners of the bottom, counter-clockwise from above, then those of the top.
        corners: [Vec3; 6],
    },
    /// The convex hull of these points, exactly.
    Hull {
        /// Its vertices and perhaps some more points of it.
        points: Vec<Vec3>,
    },
    /// A solid with dents: the triangles of its mesh.
    Triangles {
        /// Vertices of the mesh.
        vertices: Vec<Vec3>,
    },
}

impl Geometry {
    /// The solid at this scale; `None` if it collides with nothing.
    #[must_use]
    pub fn form(&self, scale: Vec3) -> Option<SolidForm> {
        let mesh = match self {
            Self::Empty => return None,
            Self::Box(unit) => {
                return Some(SolidForm::Box { centre: unit.centre() * scale, half: unit.half() * scale });
            }
            Self::Mesh(mesh) => mesh,
        };
        let is_equal = |a: f32, b: f32| (a - b).abs() <= a * ROUND;
        let is_round = is_equal(scale.x, scale.y);
        let points = || mesh.vertices().iter().map(|&vertex| vertex * scale);
        Some(match mesh.kind() {
            MeshKind::Sphere if is_round && is_equal(scale.x, scale.z) => {
                SolidForm::Sphere { radius: scale.x / 2.0 }
            }
            MeshKind::Cylinder if is_round => {
                let (low_z, high_z) = (mesh.bounds().low.z * scale.z, mesh.bounds().high.z * scale.z);
                SolidForm::Cylinder { radius: scale.x / 2.0, low_z, high_z }
            }
            MeshKind::Prism => {
                let mut corners = [Vec3::ZERO; 6];
                corners.iter_mut().zip(points()).for_each(|(corner, point)| *corner = point);
                SolidForm::Prism { corners }
            }
            MeshKind::Sphere | MeshKind::Cylinder | MeshKind::Convex => {
                SolidForm::Hull { points: points().collect() }
            }
            MeshKind::Concave => SolidForm::Triangles { vertices: points().collect() },
        })
    }
}
