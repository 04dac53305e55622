//! The navmesh as it is walked on: convex polygons in tiles, linked edge to edge.
//!
//! Made by [`NavMesh::build`](crate::build), read by everything else. A [`MeshPoint`] is a place on it: a polygon and a point. Walking
//! is in `slide`, searching in `path`, finding one's place in `locate`.
//!
//! Corners lie on a grid of [`CELL_M`], which floats hold exactly, so that both polygons at an edge compute with the same line. A
//! polygon lies on one floor: the ground, whose heights the caller has, or one box's top, a plane. Heights are therefore exact. A
//! tile's polygons are one piece of memory behind an `Arc`, which clones of the mesh share.

pub(crate) mod codec;
pub(crate) mod island;
pub(crate) mod locate;
pub(crate) mod poly;
pub(crate) mod slide;
pub(crate) mod stitch;
mod wander;

use crate::ground::GroundHeights;
use glam::Vec2;
use poly::{EdgeLink, Plane, Poly, Side};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub use codec::DecodeError;
pub use slide::{Ray, Slid};

/// Grid of the corners, metres. A power of two: coordinates are exact floats.
pub const CELL_M: f32 = 0.125;

/// Width of a tile, metres.
pub const TILE_M: u32 = 32;

/// Cells along a tile.
pub(crate) const TILE_CELLS: u32 = 256;

/// Cells along a metre.
pub(crate) const CELLS_PER_M: f32 = 8.0;

/// Name of a polygon of one mesh: tile and index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PolyRef(pub u32);

impl PolyRef {
    /// Polygon of a spot that is nowhere yet.
    pub const NONE: Self = Self(u32::MAX);

    pub(crate) const fn new(tile: u32, index: u32) -> Self {
        Self(tile << 16 | index)
    }

    pub(crate) const fn tile(self) -> usize {
        (self.0 >> 16) as usize
    }

    pub(crate) const fn index(self) -> usize {
        (self.0 & 0xFFFF) as usize
    }
}

/// A place on the mesh. `at` lies in the polygon, or at most [`TOLERANCE_M`] outside of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeshPoint {
    /// The polygon.
    pub poly: PolyRef,
    /// Metres from the region's south-west corner.
    pub at: Vec2,
}

impl MeshPoint {
    /// A spot on no polygon: walks from it do not move.
    pub const NOWHERE: Self = Self { poly: PolyRef::NONE, at: Vec2::ZERO };
}

/// Greatest distance of a spot's point from its polygon: rounding of coordinates up to 1,024 m with a margin, and far below the
/// clearance of the mesh from walls.
pub const TOLERANCE_M: f32 = 1.5e-3;

/// Walkable floor of a region. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct NavMesh {
    pub(crate) size_m: u32,
    /// Tiles along a side.
    pub(crate) side: u32,
    pub(crate) tiles: Box<[Tile]>,
    /// By tile and polygon.
    pub(crate) islands: Arc<island::Islands>,
}

/// A square of the mesh.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tile {
    pub(crate) polys: Arc<[Poly]>,
    pub(crate) parts: Arc<Parts>,
}

/// Data of a tile that walking does not need.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Parts {
    /// Planes of the floors; the first is a placeholder for the ground.
    pub(crate) floors: Box<[Plane]>,
    /// Edges on the tile's border that lead on, by side and place along it.
    pub(crate) borders: Box<[Border]>,
    pub(crate) buckets: locate::Buckets,
}

/// An edge on the border of a tile, across which one can walk if the neighbour has its counterpart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Border {
    pub(crate) side: Side,
    /// True if the edge may be crossed outward; else inward only.
    pub(crate) leads_out: bool,
    pub(crate) edge: u8,
    pub(crate) poly: u16,
    /// Height of the floor at the middle of the edge, metres: distinguishes storeys.
    pub(crate) z: f32,
}

impl NavMesh {
    /// Width and depth of the region, metres.
    #[must_use]
    pub const fn size_m(&self) -> u32 {
        self.size_m
    }

    /// Number of polygons.
    #[must_use]
    pub fn poly_count(&self) -> usize {
        self.tiles.iter().map(|tile| tile.polys.len()).sum()
    }

    /// Bytes of memory, including tiles shared with other meshes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let tile = |tile: &Tile| {
            let parts = &tile.parts;
            size_of_val::<[Poly]>(&tile.polys)
                + size_of::<Parts>()
                + size_of_val::<[Plane]>(&parts.floors)
                + size_of_val::<[Border]>(&parts.borders)
                + parts.buckets.bytes()
        };
        size_of_val::<[Tile]>(&self.tiles) + self.tiles.iter().map(tile).sum::<usize>() + self.islands.bytes()
    }

    /// A number that differs when the mesh does: same input, same number, on every machine.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        codec::checksum(&self.to_bytes())
    }

    /// Height of the floor at a spot, metres. `ground` is the one of the build. 0 on no polygon.
    #[must_use]
    pub fn height(&self, ground: GroundHeights<'_>, spot: MeshPoint) -> f32 {
        self.facet(ground, spot).0
    }

    /// Height and slope (metres up per metre east and north) of the floor at a spot.
    #[must_use]
    pub fn facet(&self, ground: GroundHeights<'_>, spot: MeshPoint) -> (f32, Vec2) {
        match self.poly(spot.poly) {
            Some(poly) if poly.floor == Poly::GROUND => ground.facet(spot.at),
            Some(poly) => {
                let plane = self.tiles[spot.poly.tile()].parts.floors[usize::from(poly.floor)];
                (plane.height(spot.at - self.origin(spot.poly.tile())), plane.slope)
            }
            None => (0.0, Vec2::ZERO),
        }
    }

    /// True if a spot's polygon lies on the ground, whose heights the caller may know already, and not on a box.
    #[must_use]
    pub fn is_on_ground(&self, spot: MeshPoint) -> bool {
        self.poly(spot.poly).is_some_and(|poly| poly.floor == Poly::GROUND)
    }

    /// True if a spot is valid: its polygon exists and contains its point.
    #[must_use]
    pub fn holds(&self, spot: MeshPoint) -> bool {
        self.poly(spot.poly).is_some_and(|poly| poly.holds(spot.at * CELLS_PER_M))
    }

    /// True if there is a way from one spot to the other and back. If false, there may still be a way down a ledge.
    #[must_use]
    pub fn are_connected(&self, a: MeshPoint, b: MeshPoint) -> bool {
        let island = |spot: MeshPoint| self.poly(spot.poly).map(|_| self.islands.of(spot.poly));
        island(a).is_some_and(|of_a| Some(of_a) == island(b))
    }

    /// The names of all polygons.
    pub fn polys(&self) -> impl Iterator<Item = PolyRef> {
        (0u32..)
            .zip(&self.tiles)
            .flat_map(|(tile, of)| (0..of.polys.len() as u32).map(move |index| PolyRef::new(tile, index)))
    }

    /// The corners of a polygon, metres, counter-clockwise, and for each edge from a corner to the next the polygon to which it leads.
    /// For looking at a mesh and for tests.
    pub fn outline(&self, of: PolyRef) -> impl Iterator<Item = (Vec2, Option<PolyRef>)> {
        let poly = self.poly(of).copied();
        let edges = poly.map_or(0, |poly| poly.len());
        (0..edges).filter_map(move |edge| {
            let poly = poly?;
            Some((poly.corner(edge) / CELLS_PER_M, self.across(of, poly.links[edge])))
        })
    }

    #[inline]
    pub(crate) fn poly(&self, of: PolyRef) -> Option<&Poly> {
        self.tiles.get(of.tile())?.polys.get(of.index())
    }

    /// The polygon to which a link of another one leads.
    #[inline]
    pub(crate) fn across(&self, from: PolyRef, link: EdgeLink) -> Option<PolyRef> {
        match link.side()? {
            Side::Inside => Some(PolyRef(from.0 & 0xFFFF_0000 | link.index())),
            side => Some(PolyRef::new(side.tile_beyond(from.0 >> 16, self.side), link.index())),
        }
    }

    /// South-west corner of a tile, metres.
    pub(crate) fn origin(&self, tile: usize) -> Vec2 {
        let (side, tile) = (self.side, tile as u32);
        Vec2::new((tile % side * TILE_M) as f32, (tile / side * TILE_M) as f32)
    }
}
