//! Names of golden files: format, layout, and each part above version 1 with its version, as in `snapshot-7-npcs2`. Parts of a snapshot
//! within an image or a recording count.

use flate2::read::ZlibDecoder;
use record::{PREAMBLE_LEN, RECORD_HEAD_LEN};
use std::collections::BTreeMap;
use std::io::Read as _;

/// Number of the last layout of each format that had no records.
const LAST_WITHOUT_RECORDS: [(&str, u16); 4] =
    [("image", 1), ("journal", 1), ("recording", 4), ("snapshot", 6)];

/// The name of a file of a format with these bytes, without the ending.
///
/// # Panics
/// When it is of another format, or cut off.
pub(crate) fn golden_name(format: &str, bytes: &[u8]) -> String {
    let mut name = format!("{format}-{}", layout(bytes));
    for (tag, version) in parts(format, bytes).into_iter().filter(|(_, version)| *version > 1) {
        name.push_str(&format!("-{}{version}", tag.trim().to_ascii_lowercase()));
    }
    name
}

/// Version of each part in a file of a format, by tag; a layout without records has none.
///
/// # Panics
/// When it is of another format, or cut off.
pub(crate) fn parts(format: &str, bytes: &[u8]) -> BTreeMap<String, u16> {
    let without_records = LAST_WITHOUT_RECORDS.iter().find(|(of, _)| *of == format).expect("a format").1;
    if layout(bytes) > without_records { versions(bytes) } else { BTreeMap::new() }
}

/// Number of a file's layout.
fn layout(bytes: &[u8]) -> u16 {
    // The first layout of images and journals began with its number.
    let at = if bytes.starts_with(b"THR") { 4 } else { 0 };
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// Version of each part's records, by tag.
fn versions(bytes: &[u8]) -> BTreeMap<String, u16> {
    let mut versions = BTreeMap::new();
    let mut rest = &bytes[PREAMBLE_LEN..];
    while !rest.is_empty() {
        let (head, behind) = rest.split_first_chunk::<RECORD_HEAD_LEN>().expect("a whole head");
        let tag = String::from_utf8(head[..4].to_vec()).expect("tags are ASCII");
        versions.insert(tag, u16::from_le_bytes([head[4], head[5]]));
        let stored = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
        let (body, behind) = behind.split_at(stored as usize);
        if &head[..4] == b"WRLD" {
            versions.append(&mut self::versions(&inflated(head[6], body)));
        }
        rest = behind;
    }
    versions
}

/// A body as it was before it was deflated, by the low byte of its record's flags.
fn inflated(flags: u8, body: &[u8]) -> Vec<u8> {
    if flags & 1 == 0 {
        return body.to_vec();
    }
    let mut raw = Vec::new();
    ZlibDecoder::new(body).read_to_end(&mut raw).expect("a deflated body");
    raw
}
