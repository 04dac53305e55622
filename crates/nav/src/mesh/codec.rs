//! A mesh as bytes, for a cache on disk.
//!
//! ```text
//! "TNAV"  version u32  width u32  checksum u64  tile…                                    little-endian
//! tile    polygons u16, floors u16, borders u16; floor…; polygon…; border…
//! floor   height f32, slope east f32, slope north f32               without the ground, which is floor 0
//! polygon corners u8, floor u16; corners × (x u16, y u16); corners × link u16
//! border  side u8, leads out u8, edge u8, polygon u16, height f32
//! ```
//!
//! The decoder checks everything that walking relies on: corners within their tile and convex, links to a polygon with the same edge.
//! Bytes of another version are an error, and the mesh is built again.

use super::{
    Border, NavMesh, Parts, TILE_CELLS, TILE_M, Tile,
    island::Islands,
    locate::Buckets,
    poly::{EdgeLink, Plane, Poly, Side},
};
use crate::ground::GroundHeights;
use glam::Vec2;
use smallvec::SmallVec;
use std::sync::Arc;
use thiserror::Error;

const MAGIC: [u8; 4] = *b"TNAV";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 20;
/// Heights and slopes beyond this are damage.
const PLANE_MAX: f32 = 1e5;

/// Bytes that are no mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// Not ours, or of another version.
    #[error("no navmesh of version {VERSION}")]
    Version,
    /// Too few bytes, or trailing ones.
    #[error("the navmesh ends at byte {0}, and the bytes do not")]
    Length(usize),
    /// Something else than was written.
    #[error("the checksum is wrong")]
    Checksum,
    /// No region is this wide.
    #[error("no region is {0} m wide")]
    Size(u32),
    /// An inconsistent tile.
    #[error("tile {tile}: {what}")]
    Tile {
        /// Index of the tile.
        tile: u32,
        /// Inconsistency.
        what: &'static str,
    },
}

impl NavMesh {
    /// Writes the mesh.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut body = Vec::new();
        for tile in &self.tiles {
            write_tile(tile, &mut body);
        }
        let mut bytes = Vec::with_capacity(HEADER_BYTES + body.len());
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&self.size_m.to_le_bytes());
        bytes.extend_from_slice(&seal(self.size_m, &body).to_le_bytes());
        bytes.extend_from_slice(&body);
        bytes
    }

    /// Decodes the result of [`NavMesh::to_bytes`].
    ///
    /// # Errors
    /// [`DecodeError`] for anything else. Memory stays within a small multiple of the bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = TileReader { bytes, at: 0 };
        if reader.take_bytes::<4>()? != MAGIC || reader.u32()? != VERSION {
            return Err(DecodeError::Version);
        }
        let size_m = reader.u32()?;
        if !(GroundHeights::SIZE_MIN_M..=GroundHeights::SIZE_MAX_M).contains(&size_m) {
            return Err(DecodeError::Size(size_m));
        }
        let expected = u64::from_le_bytes(reader.take_bytes()?);
        // A fuzzer would never come past it.
        if !cfg!(fuzzing) && seal(size_m, &bytes[HEADER_BYTES..]) != expected {
            return Err(DecodeError::Checksum);
        }
        let side = size_m.div_ceil(TILE_M);
        let tiles =
            (0..side * side).map(|tile| read_tile(&mut reader, tile, side)).collect::<Result<_, _>>()?;
        if reader.at != bytes.len() {
            return Err(DecodeError::Length(reader.at));
        }
        let mut mesh = Self { size_m, side, tiles, islands: Arc::default() };
        mesh.check_links()?;
        mesh.islands = Arc::new(Islands::new(&mesh));
        Ok(mesh)
    }

    /// Every link has to lead to a polygon that has the same edge.
    fn check_links(&self) -> Result<(), DecodeError> {
        for from in self.polys() {
            let wrong = |what| DecodeError::Tile { tile: from.tile() as u32, what };
            let poly = self.poly(from).ok_or_else(|| wrong("a polygon is missing"))?;
            for edge in 0..poly.len() {
                let link = poly.links[edge];
                if link == EdgeLink::WALL {
                    continue;
                }
                let side = link.side().ok_or_else(|| wrong("a link leads to no side"))?;
                side.neighbour(from.tile() as u32, self.side)
                    .ok_or_else(|| wrong("a link leads out of the region"))?;
                let there = self.across(from, link).and_then(|to| self.poly(to));
                let ends = [poly.grid_corner(edge), poly.grid_corner((edge + 1) % poly.len())];
                let is_shared = there.is_some_and(|there| {
                    (0..there.len()).any(|other| {
                        [there.grid_corner((other + 1) % there.len()), there.grid_corner(other)] == ends
                    })
                });
                if !is_shared || self.across(from, link) == Some(from) {
                    return Err(wrong("a link leads to no neighbour"));
                }
            }
        }
        Ok(())
    }
}

/// Checksum of the header: over the width and everything behind it.
fn seal(size_m: u32, body: &[u8]) -> u64 {
    checksum(body) ^ checksum(&size_m.to_le_bytes())
}

/// 64 bits that any difference in the bytes changes; not cryptographic.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let fold = |sum: u64, word: u64| (sum ^ word).wrapping_mul(ODD).rotate_left(29);
    let (words, rest) = bytes.as_chunks::<8>();
    let sum = words.iter().fold(ODD ^ bytes.len() as u64, |sum, &word| fold(sum, u64::from_le_bytes(word)));
    let sum = rest.iter().fold(sum, |sum, &byte| fold(sum, u64::from(byte)));
    (sum ^ sum >> 31).wrapping_mul(ODD)
}

fn write_tile(tile: &Tile, out: &mut Vec<u8>) {
    let floors = tile.parts.floors.get(1..).unwrap_or_default();
    for count in [tile.polys.len(), floors.len(), tile.parts.borders.len()] {
        out.extend_from_slice(&(count as u16).to_le_bytes());
    }
    for plane in floors {
        for number in [plane.z, plane.slope.x, plane.slope.y] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
    for poly in tile.polys.iter() {
        out.push(poly.len() as u8);
        out.extend_from_slice(&poly.floor.to_le_bytes());
        for [x, y] in (0..poly.len()).map(|place| poly.grid_corner(place)) {
            out.extend_from_slice(&x.to_le_bytes());
            out.extend_from_slice(&y.to_le_bytes());
        }
        for link in &poly.links[..poly.len()] {
            out.extend_from_slice(&link.0.to_le_bytes());
        }
    }
    for border in &tile.parts.borders {
        out.extend_from_slice(&[border.side as u8, u8::from(border.leads_out), border.edge]);
        out.extend_from_slice(&border.poly.to_le_bytes());
        out.extend_from_slice(&border.z.to_le_bytes());
    }
}

fn read_tile(reader: &mut TileReader<'_>, tile: u32, side: u32) -> Result<Tile, DecodeError> {
    let wrong = |what| DecodeError::Tile { tile, what };
    let (polys, floors, borders) = (reader.u16()?, reader.u16()?, reader.u16()?);
    let mut planes = vec![Plane::default()];
    for _ in 0..floors {
        let numbers = [reader.f32()?, reader.f32()?, reader.f32()?];
        if !numbers.iter().all(|number| number.abs() <= PLANE_MAX) {
            return Err(wrong("a floor is nowhere"));
        }
        planes.push(Plane { z: numbers[0], slope: Vec2::new(numbers[1], numbers[2]) });
    }
    if usize::from(polys) >= EdgeLink::POLYS_MAX {
        return Err(wrong("too many polygons"));
    }
    let origin = [tile % side * TILE_CELLS, tile / side * TILE_CELLS];
    let mut list = Vec::new();
    for _ in 0..polys {
        let poly = read_poly(reader, origin, tile)?;
        if usize::from(poly.floor) >= planes.len() {
            return Err(wrong("a polygon has no floor"));
        }
        list.push(poly);
    }
    let mut edges = Vec::new();
    for _ in 0..borders {
        let border = read_border(reader, tile)?;
        if list.get(usize::from(border.poly)).is_none_or(|poly| usize::from(border.edge) >= poly.len()) {
            return Err(wrong("a border is no polygon's"));
        }
        edges.push(border);
    }
    let buckets = Buckets::new(origin, &list);
    let parts = Parts { floors: planes.into(), borders: edges.into(), buckets };
    Ok(Tile { polys: list.into(), parts: Arc::new(parts) })
}

fn read_poly(reader: &mut TileReader<'_>, origin: [u32; 2], tile: u32) -> Result<Poly, DecodeError> {
    let wrong = |what| DecodeError::Tile { tile, what };
    let [count] = reader.take_bytes()?;
    let count = usize::from(count);
    if !(3..=Poly::CORNERS_MAX).contains(&count) {
        return Err(wrong("a polygon has too few or too many corners"));
    }
    let floor = reader.u16()?;
    let mut corners: SmallVec<[[u16; 2]; Poly::CORNERS_MAX]> = SmallVec::new();
    for _ in 0..count {
        let corner = [reader.u16()?, reader.u16()?];
        let is_inside = |at: u16, origin: u32| (origin..=origin + TILE_CELLS).contains(&u32::from(at));
        if !is_inside(corner[0], origin[0]) || !is_inside(corner[1], origin[1]) {
            return Err(wrong("a corner lies outside"));
        }
        corners.push(corner);
    }
    if !is_convex(&corners) {
        return Err(wrong("a polygon is not convex"));
    }
    let mut poly = Poly::new(&corners, floor);
    for link in &mut poly.links[..count] {
        *link = EdgeLink(reader.u16()?);
    }
    Ok(poly)
}

/// True if all corners lie to the left of each edge, no two coincide, and not all are on one line.
fn is_convex(corners: &[[u16; 2]]) -> bool {
    let turn = |a: [u16; 2], b: [u16; 2], c: [u16; 2]| {
        let [a, b, c] = [a, b, c].map(|at| at.map(i64::from));
        (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    };
    let mut area = 0;
    for (place, &from) in corners.iter().enumerate() {
        let to = corners[(place + 1) % corners.len()];
        if corners[..place].contains(&from) || corners.iter().any(|&other| turn(from, to, other) < 0) {
            return false;
        }
        area += turn(corners[0], from, to);
    }
    area > 0
}

fn read_border(reader: &mut TileReader<'_>, tile: u32) -> Result<Border, DecodeError> {
    let [side, leads_out, edge] = reader.take_bytes()?;
    let side = match side {
        1 => Side::East,
        2 => Side::North,
        3 => Side::West,
        4 => Side::South,
        _ => return Err(DecodeError::Tile { tile, what: "a border is on no side" }),
    };
    let (poly, z) = (reader.u16()?, reader.f32()?);
    if leads_out > 1 || !z.is_finite() {
        return Err(DecodeError::Tile { tile, what: "a border is nowhere" });
    }
    Ok(Border { side, leads_out: leads_out == 1, edge, poly, z })
}

struct TileReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl TileReader<'_> {
    fn take_bytes<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let taken = self.bytes[self.at..].first_chunk::<N>().ok_or(DecodeError::Length(self.at))?;
        self.at += N;
        Ok(*taken)
    }

    fn u16(&mut self) -> Result<u16, DecodeError> {
        Ok(u16::from_le_bytes(self.take_bytes()?))
    }

    fn u32(&mut self) -> Result<u32, DecodeError> {
        Ok(u32::from_le_bytes(self.take_bytes()?))
    }

    fn f32(&mut self) -> Result<f32, DecodeError> {
        Ok(f32::from_le_bytes(self.take_bytes()?))
    }
}

#[cfg(test)]
mod tests;
