//! Solids of assets, decoded: the parts of meshes that are meant for collisions, and hulls of sculpts.
//!
//! Bytes of an asset and the key of one of its solids lead to an [`AssetSolid`], which a world takes as data. Start with [`decode`]. Everything is bounded, total and
//! deterministic: any bytes give a solid or a [`SolidError`], in less than a second. There is no thread, file or clock.
//!
//! | key | solid |
//! |---|---|
//! | surface of a mesh | its physics triangles; else its list of hulls; else its hull |
//! | hull of a mesh | the hull that its uploader made; else that around its other physics parts |
//! | either, without parts for collisions | the box around its coarsest level of detail |
//! | hull of a sculpt | the convex hull of the points of its map |
//!
//! Triangles come before hulls, as in OpenSimulator's ubODE, for which most archives were built; Second Life's viewers show the hulls first. A surface with more than
//! [`ASSET_TRIANGLES_MAX`](prim::ASSET_TRIANGLES_MAX) triangles gives way to the hulls. OpenSimulator collides with the whole surface of a sculpt; here it is its hull, which has a twentieth of
//! the triangles.
//!
//! `mesh` reads sections of a mesh, `parts` the physics parts in them, `surface` and `hull` make solids of points and triangles, `sculpt` reads maps.

mod hull;
mod mesh;
mod parts;
mod sculpt;
mod surface;

use prim::{AssetSolid, SolidPart};
use sculpt::SIDE_MAX;
use wire::Malformed;

/// A solid, and the part of the asset that it was made of.
#[derive(Clone, Debug, PartialEq)]
pub struct DecodedSolid {
    /// The solid.
    pub solid: AssetSolid,
    /// Its origin.
    pub source: SolidSource,
}

/// Origins of solids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SolidSource {
    /// The triangles of a mesh.
    Triangles,
    /// A list of convex hulls of a mesh.
    Hulls,
    /// One convex hull.
    Hull,
    /// The box around a mesh.
    Bounds,
}

impl SolidSource {
    /// All origins.
    pub const ALL: [Self; 4] = [Self::Triangles, Self::Hulls, Self::Hull, Self::Bounds];

    /// Label for metrics.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Triangles => "triangles",
            Self::Hulls => "hulls",
            Self::Hull => "hull",
            Self::Bounds => "bounds",
        }
    }
}

/// Reasons for which an asset has no solid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SolidError {
    /// The header of a mesh cannot be decoded.
    #[error("the header of the mesh is damaged ({0})")]
    Header(Malformed),
    /// The header of a mesh is no map of sections.
    #[error("the mesh has no sections")]
    NoSections,
    /// Neither a part for collisions nor a level of detail can be read.
    #[error("no part of the mesh can be read")]
    NoParts,
    /// The sculpt map is no JPEG 2000 codestream that can be decoded.
    #[error("the sculpt map cannot be decoded")]
    Codestream,
    /// The sculpt map has too many pixels.
    #[error("the sculpt map has {width} x {height} pixels, at most {max} x {max} are taken", max = SIDE_MAX)]
    Pixels {
        /// Pixels in a row.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// The sculpt map lacks a colour, or has other depths than 8 bits.
    #[error("the sculpt map has no red, green and blue of 8 bits")]
    Colours,
}

/// Makes a solid of an asset. For a mesh `bytes` are the asset, for a sculpt its map, a JPEG 2000 codestream.
///
/// # Errors
/// [`SolidError`] for bytes that are not of such an asset.
pub fn decode(part: SolidPart, bytes: &[u8]) -> Result<DecodedSolid, SolidError> {
    match part {
        SolidPart::MeshSurface => mesh::Sections::read(bytes).and_then(|sections| parts::surface(&sections)),
        SolidPart::MeshHull => mesh::Sections::read(bytes).and_then(|sections| parts::hull(&sections)),
        SolidPart::SculptHull { is_sphere, is_mirrored } => sculpt::hull(bytes, is_sphere, is_mirrored),
    }
}

#[cfg(test)]
mod tests;
