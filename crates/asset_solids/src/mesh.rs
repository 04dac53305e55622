//! Sections of a mesh asset.
//!
//! ```text
//! header     binary LLSD: a map of sections, each of which has an offset behind the header, and a size
//! sections   zlib streams of binary LLSD
//! ```
//!
//! Sections that are cut off, too large or no LLSD are absent: a damaged level of detail spoils no physics part.

use crate::SolidError;
use flate2::read::ZlibDecoder;
use std::io::Read as _;
use wire::llsd::{Limits, Llsd, binary};

/// Bytes in which a header ends, and its values. An uploader's has some 500 bytes.
const HEADER_LIMITS: Limits = Limits { bytes_max: 65_536, values_max: 2_048 };

/// Bytes of a section when inflated. A level of detail with eight faces of 65,535 vertices has 12 MiB.
const SECTION_BYTES_MAX: u64 = 16 << 20;

/// Values of a section: eight faces have a hundred.
const SECTION_VALUES_MAX: usize = 4_096;

/// A mesh whose header has been read.
#[derive(Debug)]
pub(crate) struct Sections<'a> {
    header: Llsd,
    /// All behind the header.
    data: &'a [u8],
}

impl<'a> Sections<'a> {
    /// Reads the header of a mesh.
    ///
    /// # Errors
    /// [`SolidError::Header`], [`SolidError::NoSections`].
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, SolidError> {
        let (header, length) = binary::decode_prefix(bytes, HEADER_LIMITS).map_err(SolidError::Header)?;
        if header.as_map().is_none() {
            return Err(SolidError::NoSections);
        }
        Ok(Self { header, data: bytes.get(length..).unwrap_or_default() })
    }

    /// Content of a section; `None` if it is absent, empty, or not readable.
    pub(crate) fn section(&self, name: &str) -> Option<Llsd> {
        let section = self.header.get(name);
        let number = |field: &str| usize::try_from(section.get(field).as_i32()?).ok();
        let (offset, size) = (number("offset")?, number("size")?);
        let stored = self.data.get(offset..)?.get(..size)?;
        let mut inflated = Vec::new();
        ZlibDecoder::new(stored).take(SECTION_BYTES_MAX + 1).read_to_end(&mut inflated).ok()?;
        // Uploaders differ in the bytes that they put behind the value.
        let limits = Limits { bytes_max: SECTION_BYTES_MAX as usize, values_max: SECTION_VALUES_MAX };
        let is_whole = inflated.len() as u64 <= SECTION_BYTES_MAX;
        is_whole.then(|| binary::decode_prefix(&inflated, limits).ok()).flatten().map(|(value, _)| value)
    }
}
