//! Copies of archives with one flipped byte.

use super::reports::rows;
use crate::regions::fails;
use crate::server::throng;
use archive::file::{ArchiveLimits, ArchiveReader, NextEntry};
use flate2::read::MultiGzDecoder;
use serde_json::Value;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::Output;

/// The first bytes of compressed files.
const GZIP: [u8; 2] = [0x1F, 0x8B];
/// Bytes of the header of an entry, and the place of a digit in it.
const HEADER: usize = 512;
const DIGIT: usize = 130;
/// Bytes of compressed data that are taken before they are understood.
const AHEAD: usize = 8;

/// Copies with one flipped byte are refused by a check and by a server, which name the place of the byte. `load` has the order for a file.
pub(super) fn assert_flipped_are_refused(
    kind: &str,
    file: &Path,
    copy: &Path,
    load: &dyn Fn(&Path) -> Output,
) {
    let bytes = fs::read(file).unwrap();
    let is_compressed = bytes.starts_with(&GZIP);
    let mut plain = Vec::new();
    if is_compressed {
        MultiGzDecoder::new(&bytes[..]).read_to_end(&mut plain).unwrap();
        // Known at the end of the compressed data at the latest, by their sum.
        let at = bytes.len() / 2;
        let place = place_of_refusal(kind, &flipped(&bytes, at), copy, load);
        let known = at.saturating_sub(AHEAD)..=bytes.len();
        assert!(known.contains(&place), "{}: {place} is not in {known:?}", file.display());
    } else {
        plain = bytes;
    }
    // A header has a sum of its own, so that the place is known to the block.
    let header = middle_header(&plain);
    let place = place_of_refusal(kind, &flipped(&plain, header + DIGIT), copy, load);
    assert_eq!(place, header + HEADER, "{}", file.display());
}

fn flipped(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= 1;
    bytes
}

/// Place of the header of an entry in the middle of an archive that is not compressed.
fn middle_header(plain: &[u8]) -> usize {
    let mut entries = ArchiveReader::open(plain, ArchiveLimits::default()).unwrap();
    let mut headers = Vec::new();
    while let Some(next) = entries.next_entry().unwrap() {
        if let NextEntry::Entry(entry) = next {
            headers.push(entry.inflated_at as usize);
        }
    }
    headers[headers.len() / 2]
}

/// Bytes before the place that a check and a server name, equally.
fn place_of_refusal(kind: &str, bytes: &[u8], copy: &Path, load: &dyn Fn(&Path) -> Output) -> usize {
    fs::write(copy, bytes).unwrap();
    let output = throng().args([kind, "check", "--json"]).arg(copy).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let checked: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut parts = rows(&checked, "unreadable_parts").iter();
    let part = parts.find(|part| part["path"] == "end of the archive");
    let reason = part.and_then(|part| part["reason"].as_str()).unwrap_or_else(|| panic!("{checked}"));
    let (_, place) = reason.split_once("byte ").unwrap_or_else(|| panic!("no place in {reason}"));
    let place: String = place.chars().take_while(char::is_ascii_digit).collect();
    fails(&load(copy), 1, &format!("byte {place} of the file"));
    place.parse().unwrap()
}
