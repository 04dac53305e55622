//! Solids of assets: the forms in collisions of prims that are meshes or sculpts.
//!
//! A prim names the asset that has its form. [`SolidKey`] states which solid of that asset the prim collides as, and [`AssetSolid`] is this solid: a box, or triangles.
//! Coordinates are shares of the prim's scale, so that prims of any size share one solid; an asset that fills its prim reaches from −½ to ½.

use crate::body::{Body, PCode};
use crate::extra_params::ExtraParam;
use crate::physics::PhysicsShape;
use glam::Vec3;
use ids::Uuid;
use serde::{Deserialize, Serialize};
use state_hash::StateHasher;
use std::sync::Arc;
use thiserror::Error;

/// Triangles of a solid, at most: as many as the surface of any other prim may have.
pub const ASSET_TRIANGLES_MAX: usize = 2_000;
/// Vertices of a solid, at most: three of each triangle.
pub const ASSET_VERTICES_MAX: usize = 3 * ASSET_TRIANGLES_MAX;
/// Coordinates are within ± this. Assets that viewers upload keep to ½.
pub const ASSET_REACH: f32 = 2.0;
/// Least width of a box along each axis: a flat one would have no inside.
const THICKNESS_MIN: f32 = 0.002;

/// Bits of a sculpt's kind that hold its stitching, and those of them that a server knows.
const STITCHING_MASK: u8 = 0x07;
const SPHERE: u8 = 1;
const TORUS: u8 = 2;
const PLANE: u8 = 3;
const CYLINDER: u8 = 4;
const MESH: u8 = 5;
/// Bit of a sculpt whose map is mirrored along x.
const MIRRORED: u8 = 0x80;

/// One solid of an asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SolidKey {
    /// The mesh, or the texture that is a sculpt map.
    pub asset: Uuid,
    /// The solid of it.
    pub part: SolidPart,
}

/// Solids that an asset has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SolidPart {
    /// The triangles that a mesh has for collisions, rooms and holes included.
    MeshSurface,
    /// The convex hull of a mesh.
    MeshHull,
    /// The convex hull of a sculpt.
    SculptHull {
        /// The first and the last row of the map are a point each.
        is_sphere: bool,
        /// The map is mirrored along x.
        is_mirrored: bool,
    },
}

impl SolidKey {
    /// The solid that a prim collides as; `None` if no asset has its form, if it collides with nothing, and for kinds of sculpts that are not known.
    #[must_use]
    pub fn of_body(body: &Body) -> Option<Self> {
        let (asset, kind) = body.extra_params.sculpt()?;
        let collides = body.p_code == PCode::Prim
            && body.physics.shape != PhysicsShape::None
            && body.extra_params.get(ExtraParam::Flexible).is_none();
        if asset.is_nil() || !collides {
            return None;
        }
        let part = match kind & STITCHING_MASK {
            MESH if body.physics.shape == PhysicsShape::Convex => SolidPart::MeshHull,
            MESH => SolidPart::MeshSurface,
            stitching @ (SPHERE | TORUS | PLANE | CYLINDER) => {
                SolidPart::SculptHull { is_sphere: stitching == SPHERE, is_mirrored: kind & MIRRORED != 0 }
            }
            _ => return None,
        };
        Some(Self { asset, part })
    }

    /// Folds it into a hash of state.
    pub fn fold_into(&self, hasher: &mut StateHasher) {
        let (high, low) = self.asset.as_u64_pair();
        hasher.u64(high);
        hasher.u64(low);
        hasher.u32(match self.part {
            SolidPart::MeshSurface => 0,
            SolidPart::MeshHull => 1,
            SolidPart::SculptHull { is_sphere, is_mirrored } => {
                2 + u32::from(is_sphere) + 2 * u32::from(is_mirrored)
            }
        });
    }
}

/// A solid of an asset. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum AssetSolid {
    /// A box along the axes.
    Box(SolidBox),
    /// Triangles.
    Surface(Arc<SolidSurface>),
}

/// Reasons to refuse numbers as a solid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum AssetSolidError {
    /// A coordinate that is not a number, or beyond [`ASSET_REACH`].
    #[error("a coordinate that is not a number within ±{ASSET_REACH}")]
    Coordinate,
    /// A box whose low corner is not below its high one.
    #[error("a box without an inside")]
    Flat,
    /// No triangle, or more than [`ASSET_TRIANGLES_MAX`].
    #[error("a surface of {0} triangles, 1 to {ASSET_TRIANGLES_MAX} are taken")]
    Triangles(usize),
    /// More vertices than triangles can have.
    #[error("a surface of {0} vertices, at most {ASSET_VERTICES_MAX} are taken")]
    Vertices(usize),
    /// A triangle with a corner that is none of the vertices.
    #[error("a triangle with vertex {0}, which is not there")]
    Index(u16),
}

impl AssetSolid {
    /// The box that fills a prim's scale, as which a prim collides whose asset is unknown.
    pub const FULL: Self = Self::Box(SolidBox { low: Vec3::splat(-0.5), high: Vec3::splat(0.5) });

    /// The box between two corners, widened where it is thinner than 0.2 % of the scale.
    ///
    /// # Errors
    /// [`AssetSolidError::Coordinate`].
    pub fn box_between(low: Vec3, high: Vec3) -> Result<Self, AssetSolidError> {
        if !is_in_reach(low) || !is_in_reach(high) {
            return Err(AssetSolidError::Coordinate);
        }
        let (low, high) = (low.min(high), low.max(high));
        let half = ((high - low) * 0.5).max(Vec3::splat(THICKNESS_MIN / 2.0));
        // The middle of a thin one may be at the very edge.
        let most = Vec3::splat(ASSET_REACH) - half;
        let centre = ((low + high) * 0.5).clamp(-most, most);
        Ok(Self::Box(SolidBox { low: centre - half, high: centre + half }))
    }

    /// Triangles, counter-clockwise as seen from outside. `is_convex` states that they are the hull of the vertices.
    ///
    /// # Errors
    /// [`AssetSolidError`].
    pub fn surface(
        vertices: Vec<Vec3>,
        triangles: Vec<[u16; 3]>,
        is_convex: bool,
    ) -> Result<Self, AssetSolidError> {
        let surface = SolidSurface::try_from(SurfaceParts { vertices, triangles, is_convex })?;
        Ok(Self::Surface(Arc::new(surface)))
    }

    /// Number of its triangles; none of a box.
    #[must_use]
    pub fn n_triangles(&self) -> usize {
        match self {
            Self::Box(_) => 0,
            Self::Surface(surface) => surface.triangles.len(),
        }
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Box(_) => 0,
            Self::Surface(surface) => {
                size_of::<SolidSurface>() + size_of_val(&*surface.vertices) + size_of_val(&*surface.triangles)
            }
        }
    }

    /// Folds all of it into a hash of state.
    pub fn fold_into(&self, hasher: &mut StateHasher) {
        match self {
            Self::Box(SolidBox { low, high }) => {
                hasher.u32(0);
                hasher.vec3(*low);
                hasher.vec3(*high);
            }
            Self::Surface(surface) => {
                let SolidSurface { vertices, triangles, is_convex } = &**surface;
                hasher.u32(1 + u32::from(*is_convex));
                hasher.u64((vertices.len() as u64) << 32 | triangles.len() as u64);
                vertices.iter().for_each(|&vertex| hasher.vec3(vertex));
                for &[a, b, c] in triangles {
                    hasher.u64(u64::from(a) << 32 | u64::from(b) << 16 | u64::from(c));
                }
            }
        }
    }
}

/// A box along the axes of a prim, with an inside.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "BoxCorners", into = "BoxCorners")]
pub struct SolidBox {
    low: Vec3,
    high: Vec3,
}

impl SolidBox {
    /// Its lowest coordinates.
    #[must_use]
    pub const fn low(&self) -> Vec3 {
        self.low
    }

    /// Its highest coordinates.
    #[must_use]
    pub const fn high(&self) -> Vec3 {
        self.high
    }
}

/// The same, not checked yet.
#[derive(Serialize, Deserialize)]
struct BoxCorners {
    low: Vec3,
    high: Vec3,
}

impl From<SolidBox> for BoxCorners {
    fn from(SolidBox { low, high }: SolidBox) -> Self {
        Self { low, high }
    }
}

impl TryFrom<BoxCorners> for SolidBox {
    type Error = AssetSolidError;

    fn try_from(BoxCorners { low, high }: BoxCorners) -> Result<Self, AssetSolidError> {
        if !is_in_reach(low) || !is_in_reach(high) {
            return Err(AssetSolidError::Coordinate);
        }
        if low.cmplt(high).all() { Ok(Self { low, high }) } else { Err(AssetSolidError::Flat) }
    }
}

/// Triangles of a solid, which need not be closed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "SurfaceParts", into = "SurfaceParts")]
pub struct SolidSurface {
    vertices: Vec<Vec3>,
    triangles: Vec<[u16; 3]>,
    is_convex: bool,
}

impl SolidSurface {
    /// Its vertices.
    #[must_use]
    pub fn vertices(&self) -> &[Vec3] {
        &self.vertices
    }

    /// Indices of the corners of each triangle, counter-clockwise as seen from outside.
    #[must_use]
    pub fn triangles(&self) -> &[[u16; 3]] {
        &self.triangles
    }

    /// True if it is the convex hull of its vertices.
    #[must_use]
    pub const fn is_convex(&self) -> bool {
        self.is_convex
    }
}

/// The same, not checked yet.
#[derive(Serialize, Deserialize)]
struct SurfaceParts {
    vertices: Vec<Vec3>,
    triangles: Vec<[u16; 3]>,
    is_convex: bool,
}

impl From<SolidSurface> for SurfaceParts {
    fn from(SolidSurface { vertices, triangles, is_convex }: SolidSurface) -> Self {
        Self { vertices, triangles, is_convex }
    }
}

impl TryFrom<SurfaceParts> for SolidSurface {
    type Error = AssetSolidError;

    fn try_from(parts: SurfaceParts) -> Result<Self, AssetSolidError> {
        let SurfaceParts { vertices, triangles, is_convex } = parts;
        if !(1..=ASSET_TRIANGLES_MAX).contains(&triangles.len()) {
            return Err(AssetSolidError::Triangles(triangles.len()));
        }
        if vertices.len() > ASSET_VERTICES_MAX {
            return Err(AssetSolidError::Vertices(vertices.len()));
        }
        if !vertices.iter().all(|&vertex| is_in_reach(vertex)) {
            return Err(AssetSolidError::Coordinate);
        }
        match triangles.as_flattened().iter().find(|&&index| usize::from(index) >= vertices.len()) {
            Some(&index) => Err(AssetSolidError::Index(index)),
            None => Ok(Self { vertices, triangles, is_convex }),
        }
    }
}

fn is_in_reach(point: Vec3) -> bool {
    // Not a number is in no range.
    point.abs().cmple(Vec3::splat(ASSET_REACH)).all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extra_params::ExtraParams;
    use crate::shape::Shape;
    use ids::AgentId;
    use proptest::prelude::*;

    const ASSET: Uuid = Uuid::from_u128(7);

    fn body(kind: u8) -> Body {
        let creator = AgentId(Uuid::from_u128(1));
        let mut body = Body::new(Uuid::from_u128(2), Shape::BOX, Arc::default(), creator, 0);
        let data = [&ASSET.as_bytes()[..], &[kind]].concat();
        body.extra_params = body.extra_params.with(ExtraParam::Sculpt, Some(&data)).unwrap();
        body
    }

    fn part(body: &Body) -> Option<SolidPart> {
        SolidKey::of_body(body).map(|key| {
            assert_eq!(key.asset, ASSET);
            key.part
        })
    }

    #[test]
    fn the_physics_shape_of_a_mesh_chooses_its_solid() {
        let mut mesh = body(5);
        assert_eq!(part(&mesh), Some(SolidPart::MeshSurface));
        mesh.physics.shape = PhysicsShape::Convex;
        assert_eq!(part(&mesh), Some(SolidPart::MeshHull));
        mesh.physics.shape = PhysicsShape::None;
        assert_eq!(part(&mesh), None);
    }

    #[test]
    fn sculpts_collide_as_their_hull_mirrored_or_not() {
        let hull = |is_sphere, is_mirrored| Some(SolidPart::SculptHull { is_sphere, is_mirrored });
        for (kind, expected) in [
            (1, hull(true, false)),
            (2, hull(false, false)),
            (3, hull(false, false)),
            (4, hull(false, false)),
            (0x41, hull(true, false)),
            (0x81, hull(true, true)),
            (0xC3, hull(false, true)),
            (0, None),
            (6, None),
        ] {
            assert_eq!(part(&body(kind)), expected, "{kind:#x}");
        }
    }

    #[test]
    fn prims_without_an_asset_and_those_that_stop_nothing_have_no_solid_of_one() {
        let plain = Body { extra_params: ExtraParams::default(), ..body(5) };
        assert_eq!(SolidKey::of_body(&plain), None);
        let mut flexible = body(5);
        flexible.extra_params = flexible.extra_params.with(ExtraParam::Flexible, Some(&[0; 16])).unwrap();
        assert_eq!(SolidKey::of_body(&flexible), None);
        assert_eq!(SolidKey::of_body(&Body { p_code: PCode::Tree, ..body(5) }), None);
        let mut nameless = body(5);
        nameless.extra_params = nameless.extra_params.with(ExtraParam::Sculpt, Some(&[0; 17])).unwrap();
        assert_eq!(SolidKey::of_body(&nameless), None);
    }

    #[test]
    fn keys_of_one_asset_have_different_hashes() {
        let parts = [SolidPart::MeshSurface, SolidPart::MeshHull].into_iter();
        let hulls = [(false, false), (false, true), (true, false), (true, true)]
            .map(|(is_sphere, is_mirrored)| SolidPart::SculptHull { is_sphere, is_mirrored });
        let hash = |part| {
            let mut hasher = StateHasher::new();
            SolidKey { asset: ASSET, part }.fold_into(&mut hasher);
            hasher.finish()
        };
        let hashes: std::collections::BTreeSet<u64> = parts.chain(hulls).map(hash).collect();
        assert_eq!(hashes.len(), 6);
    }

    #[test]
    fn flat_boxes_are_widened_and_boxes_beyond_reach_refused() {
        let flat = AssetSolid::box_between(Vec3::new(-0.5, -0.5, 2.0), Vec3::new(0.5, 0.5, 2.0)).unwrap();
        let AssetSolid::Box(flat) = flat else { panic!("a box") };
        assert!((flat.high.z - flat.low.z - THICKNESS_MIN).abs() < 1e-6 && flat.high.z <= ASSET_REACH);
        assert_eq!((flat.low.x, flat.high.y), (-0.5, 0.5));
        let swapped = AssetSolid::box_between(Vec3::splat(0.5), Vec3::splat(-0.5));
        assert_eq!(swapped, Ok(AssetSolid::FULL));
        for broken in [f32::NAN, f32::INFINITY, -2.1] {
            let refused = AssetSolid::box_between(Vec3::splat(broken), Vec3::ONE);
            assert_eq!(refused, Err(AssetSolidError::Coordinate));
        }
    }

    #[test]
    fn surfaces_that_are_none_are_refused() {
        let corners = vec![Vec3::ZERO, Vec3::X, Vec3::Y];
        let surface = |vertices: &[Vec3], triangles: Vec<[u16; 3]>| {
            AssetSolid::surface(vertices.to_vec(), triangles, false).map(|solid| solid.n_triangles())
        };
        assert_eq!(surface(&corners, vec![[0, 1, 2]]), Ok(1));
        assert_eq!(surface(&corners, Vec::new()), Err(AssetSolidError::Triangles(0)));
        assert_eq!(surface(&corners, vec![[0, 1, 2]; 2_001]), Err(AssetSolidError::Triangles(2_001)));
        assert_eq!(surface(&corners, vec![[0, 1, 3]]), Err(AssetSolidError::Index(3)));
        assert_eq!(surface(&[Vec3::NAN; 3], vec![[0, 1, 2]]), Err(AssetSolidError::Coordinate));
        assert_eq!(surface(&[Vec3::X * 3.0; 3], vec![[0, 1, 2]]), Err(AssetSolidError::Coordinate));
        assert_eq!(surface(&[Vec3::X; 6_001], vec![[0, 1, 2]]), Err(AssetSolidError::Vertices(6_001)));
    }

    proptest! {
        #[test]
        fn bytes_that_are_read_are_a_solid_that_is_written_alike(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let Ok(solid) = postcard::from_bytes::<AssetSolid>(&bytes) else { return Ok(()) };
            match &solid {
                AssetSolid::Box(one) => prop_assert!(one.low().cmplt(one.high()).all()),
                AssetSolid::Surface(surface) => prop_assert!(
                    surface.triangles().as_flattened().iter().all(|&at| usize::from(at) < surface.vertices().len())
                ),
            }
            let written = postcard::to_stdvec(&solid).unwrap();
            prop_assert_eq!(postcard::from_bytes::<AssetSolid>(&written), Ok(solid));
        }

        #[test]
        fn a_solid_survives_its_encoding(
            corners in proptest::collection::vec([-2.0_f32..=2.0, -2.0..=2.0, -2.0..=2.0], 3..40), is_convex in any::<bool>(),
        ) {
            let vertices: Vec<Vec3> = corners.into_iter().map(Vec3::from).collect();
            let triangles = (0..vertices.len() as u16 - 2).map(|at| [at, at + 1, at + 2]).collect();
            let solid = AssetSolid::surface(vertices, triangles, is_convex).unwrap();
            let written = postcard::to_stdvec(&solid).unwrap();
            prop_assert_eq!(postcard::from_bytes::<AssetSolid>(&written), Ok(solid));
        }
    }
}
