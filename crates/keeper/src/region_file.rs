//! A region as one file, for export and import.
//!
//! Records (layout in crate `record`), in this order:
//!
//! ```text
//! offset  size  preamble
//! 0       4     "THRO"
//! 4       2     1, number of this layout
//! 6       2     0
//!
//! tag     body                                                                     any number of
//! "ABOT"  RegionAbout (postcard)
//! "PRIM"  some prims, one behind the other: 256 KiB of them, or a longer one        yes
//! "LAND"  some rows of the land, one behind the other, at most 256 KiB + one row   yes
//! "END "  number of prims u32 (postcard)
//!
//! offset  size  record
//! 0       4     tag
//! 4       2     version of the part: 1, or 2 of "PRIM"
//! 6       2     flags: bit 0 the body is deflated (zlib)
//! 8       4     n, bytes of the body as stored
//! 12      4     bytes of the body inflated, at most 2 MiB
//! 16      4     checksum: CRC-32 of the checksum before it, the 16 bytes before it and the stored body
//! 20      n     body
//!
//! offset  size  a prim in the body of "PRIM"
//! 0       4     offset of its local id in the range of kept objects; rises from prim to prim
//! 4       4     b, bytes of its body
//! 8       b     body: a value with the tag "BODY", as in the database
//! 8+b     4     s, bytes of its state
//! 12+b    s     state: a value with the tag "STAT", as in the database
//!
//! offset  size  a row in the body of "LAND"
//! 0       4     its key: kind × 2^16 + number; rises from row to row
//! 4       4     n, bytes of its value
//! 8       n     value, as in the database
//!
//! kind  number             value            rows
//! 0     0                  tag "ESTA"       one
//! 1     that of a parcel   tag "PARC"       one for each parcel
//! 2     place of a patch   tag "GRND"       one for each patch of the ground
//! 3     place of a patch   tag "GRND"       one for each patch of the baked ground that differs from the ground
//!
//! offset  size  a value
//! 0       4     tag
//! 4       2     version of its part
//! 6       2     0
//! 8             fields in the order of `rows::body::BodyRow`, `rows::state::StateRow` and `rows::land` (postcard)
//! ```
//!
//! Integers are little-endian. A state names the root of its linkset by the offset of its local id + 1, so that a region may be imported into another
//! one with a range of local ids of its own. The place of a patch is counted row by row from the south-west. All patches of the ground are present, so
//! that the import does not depend on the ground of the target region. Every version of a value is accepted. Temporary objects, worn objects and resting
//! local ids are not part of the file. Files of the first builds have no rows of land.
//!
//! [`read`] is total: any bytes yield a region that a world accepts, or an error. Damaged objects are not repaired.

mod begin;
mod land;

use crate::linksets::mend;
use crate::load::{RegionIds, pages_of};
use crate::rows::{
    Interned, PlacedPrim, RowError, Versions, join, push_body, push_state, read_body, read_state,
};
use crate::tracked::is_kept;
use ids::LocalId;
use land::{read_land, read_land_rows, write_land};
use link::{ObjectPage, RestingIds, StoredLand, StoredObjects, Terrain};
use record::{END, Format, PREAMBLE_LEN, Part, RecordBuffer, RecordCursor, RecordError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::ops::Range;
use store::{LandKey, LandRows};

const FORMAT: Format =
    Format { magic: *b"THRO", number: 1, reads: "1", name: "region file", body_bytes_max: 2 << 20 };
const ABOUT: Part = Part::new(*b"ABOT", "about");
/// Version 2 has bodies of version 2.
const PRIMS: Part = Part { upgrades: &[record::unchanged], ..Part::new(*b"PRIM", "prims") };
const LAND: Part = Part::new(*b"LAND", "land");

/// Size of prims or rows, in bytes, after which a record ends.
const PART_BYTES: usize = 256 << 10;

/// Properties of a region apart from its objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionAbout {
    /// Name of the region.
    pub name: String,
    /// Width and depth in metres.
    pub size_m: u32,
    /// The build that wrote the file.
    pub build: String,
    /// Time of the export, seconds since 1970.
    pub exported_s: u64,
}

/// A region from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionFile {
    /// Properties of the region.
    pub about: RegionAbout,
    /// Objects, with local ids of the importing region.
    pub objects: StoredObjects,
    /// Land with every patch of ground and baked ground, for [`StoredLand::over`]; `None` in files of the first builds.
    pub land: Option<StoredLand>,
}

/// Land to be written, with the described ground.
#[derive(Clone, Copy, Debug)]
pub struct LandToWrite<'a> {
    /// The land.
    pub land: &'a StoredLand,
    /// The ground of the region's description.
    pub described: &'a Terrain,
}

/// Reasons for which a file is not imported.
#[derive(Debug, thiserror::Error)]
pub enum RegionFileError {
    /// A record cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A prim cannot be read.
    #[error("prim {place}: {why}")]
    Prim {
        /// The place of its local id.
        place: u32,
        /// The reason.
        why: RowError,
    },
    /// Prims that a world does not accept together.
    #[error("prim {place} contradicts the others: {why}")]
    Contradiction {
        /// The place of its local id.
        place: u32,
        /// The reason.
        why: &'static str,
    },
    /// A prim that exceeds its record.
    #[error("a prim of the record at byte {0} is cut off")]
    PrimCutOff(u64),
    /// Two prims of one local id, or in another order.
    #[error("prim {0} is out of order")]
    Order(u32),
    /// A row of the land that cannot be read, is missing, or contradicts the others.
    #[error("{key}: {why}")]
    Land {
        /// Its key.
        key: LandKey,
        /// The reason.
        why: String,
    },
    /// A row of the land that exceeds its record, has an unknown kind, or is out of order.
    #[error("a row of the land in the record at byte {0} is cut off, of an unknown kind, or out of order")]
    LandRow(u64),
    /// An invalid width of a region.
    #[error("a region cannot be {0} m wide")]
    Size(u32),
    /// The number of prims differs from the number in the last record.
    #[error("the region file has {found} prims instead of {expected}")]
    Count {
        /// Number in the last record.
        expected: u32,
        /// Number of prims in the records.
        found: u32,
    },
}

/// Writes a region whose objects have these local ids.
///
/// # Errors
/// Those of the output.
pub fn write(
    out: &mut impl Write,
    about: &RegionAbout,
    objects: &StoredObjects,
    land: Option<LandToWrite<'_>>,
    ids: &RegionIds,
) -> io::Result<()> {
    let mut buffer = RecordBuffer::new(&FORMAT);
    buffer.push(&ABOUT, about);
    let (mut part, mut prim, mut value, mut n_prims) = (Vec::new(), Vec::new(), Vec::new(), 0_u32);
    for (id, place, versioned) in objects.pages.iter().flat_map(ObjectPage::prims) {
        if !is_kept(ids, id, place) {
            continue;
        }
        n_prims += 1;
        prim.clear();
        prim.extend_from_slice(&(id.0 - ids.kept.start).to_le_bytes());
        value.clear();
        push_body(&mut value, &versioned.body);
        push_sized(&mut prim, &value);
        value.clear();
        push_state(&mut value, &ids.kept, place, versioned);
        push_sized(&mut prim, &value);
        if !part.is_empty() && part.len() + prim.len() > PART_BYTES {
            buffer.push_deflated(&PRIMS, &part);
            part.clear();
            out.write_all(&buffer.take_bytes())?;
        }
        part.extend_from_slice(&prim);
    }
    if !part.is_empty() {
        buffer.push_deflated(&PRIMS, &part);
    }
    if let Some(land) = land {
        write_land(out, &mut buffer, land)?;
    }
    buffer.push_end(&n_prims);
    out.write_all(&buffer.take_bytes())
}

/// Reads a region for a range of local ids of kept objects, and checks all of it.
///
/// # Errors
/// [`RegionFileError`].
pub fn read(input: &mut impl Read, kept: &Range<u32>) -> Result<RegionFile, RegionFileError> {
    let mut preamble = Vec::new();
    input.by_ref().take(PREAMBLE_LEN as u64).read_to_end(&mut preamble).map_err(RecordError::from)?;
    let mut cursor = RecordCursor::begin(&FORMAT, &preamble)?;
    let (mut about, mut body) = (None, Vec::new());
    let mut prims = Prims { kept, interned: Interned::default(), list: Vec::new() };
    let mut land = LandRows::default();
    let expected: u32 = loop {
        let cut_off = RecordError::CutOff { format: FORMAT.name, offset: cursor.offset() };
        let Some(head) = cursor.read(input, &mut body)? else { return Err(cut_off.into()) };
        let record::Head { tag, version, is_skippable, offset } = head;
        let part = [&ABOUT, &PRIMS, &LAND, &END].into_iter().find(|part| part.tag == tag);
        let Some(part) = part else {
            if is_skippable {
                continue;
            }
            return Err(RecordError::UnknownPart { tag, version, offset }.into());
        };
        if (tag == ABOUT.tag) != about.is_none() {
            return Err(RecordError::OutOfOrder { tag, offset }.into());
        }
        let content = part.migrate(version, (&body).into(), offset)?;
        if tag == ABOUT.tag {
            about = Some(part.decode::<RegionAbout>(&content, offset)?);
        } else if tag == END.tag {
            break part.decode(&content, offset)?;
        } else if tag == LAND.tag {
            read_land_rows(&content, offset, &mut land)?;
        } else {
            prims.read_part(&content, offset)?;
        }
    };
    let mut rest = [0];
    if input.read(&mut rest).map_err(RecordError::from)? > 0 {
        return Err(RecordError::TooLong { format: FORMAT.name, offset: cursor.offset() }.into());
    }
    let about = about.ok_or(RecordError::Missing { format: FORMAT.name, part: ABOUT.name })?;
    let land = (!land.is_empty()).then(|| read_land(about.size_m, &land)).transpose()?;
    Ok(RegionFile { about, objects: prims.finish(expected)?, land })
}

/// Appends bytes with their length before them.
fn push_sized(out: &mut Vec<u8>, bytes: &[u8]) {
    let len = u32::try_from(bytes.len()).expect("fields of a prim have bounds");
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Prims that have been read so far.
struct Prims<'a> {
    kept: &'a Range<u32>,
    interned: Interned,
    list: Vec<PlacedPrim>,
}

impl Prims<'_> {
    fn read_part(&mut self, mut part: &[u8], offset: u64) -> Result<(), RegionFileError> {
        let cut_off = || RegionFileError::PrimCutOff(offset);
        while !part.is_empty() {
            let place = take_u32(&mut part).ok_or_else(cut_off)?;
            let body = take_sized(&mut part).ok_or_else(cut_off)?;
            let state = take_sized(&mut part).ok_or_else(cut_off)?;
            let prim = self.read_prim(place, body, state);
            let prim = prim.map_err(|why| RegionFileError::Prim { place, why })?;
            if self.list.last().is_some_and(|last| last.id >= prim.id) {
                return Err(RegionFileError::Order(place));
            }
            self.list.push(prim);
        }
        Ok(())
    }

    fn read_prim(&mut self, place: u32, body: &[u8], state: &[u8]) -> Result<PlacedPrim, RowError> {
        if place >= self.kept.end - self.kept.start {
            return Err(RowError::Foreign);
        }
        let body = read_body(body, Versions::All, &mut self.interned)?;
        let state = read_state(state, self.kept, Versions::All, &mut self.interned)?;
        let (motion, body) = join(body, state)?;
        Ok(PlacedPrim { id: LocalId(self.kept.start + place), motion, body })
    }

    /// Returns the objects, if their number is as expected and a world accepts them.
    fn finish(self, expected: u32) -> Result<StoredObjects, RegionFileError> {
        let Self { kept, mut list, .. } = self;
        let found = u32::try_from(list.len()).unwrap_or(u32::MAX);
        if found != expected {
            return Err(RegionFileError::Count { expected, found });
        }
        let place = |LocalId(id): LocalId| id - kept.start;
        let mended = mend(&mut list, BTreeMap::new());
        let renumbered = mended.changed.map(|id| (id, "its number in its linkset"));
        let lost = mended.lost.first().copied().or(renumbered);
        if let Some((id, why)) = lost {
            return Err(RegionFileError::Contradiction { place: place(id), why });
        }
        let n_used = list.last().map_or(0, |prim| place(prim.id) + 1);
        Ok(StoredObjects {
            pages: pages_of(list),
            kept: RestingIds { n_used, resting: Vec::new() },
            ..StoredObjects::default()
        })
    }
}

fn take_u32(bytes: &mut &[u8]) -> Option<u32> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u32::from_le_bytes(*number))
}

/// Reads bytes that follow their length.
fn take_sized<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = usize::try_from(take_u32(bytes)?).ok()?;
    let (taken, rest) = bytes.split_at_checked(len)?;
    *bytes = rest;
    Some(taken)
}

#[cfg(test)]
mod tests;
