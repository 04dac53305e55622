//! Archives: any file is read within its bounds, its parts are written as they were read, and a check of it ends. (With `cfg(fuzzing)` checksums of headers
//! are not compared.) The first byte chooses between a whole file and one of the documents in it.
#![no_main]

use archive::check::{CheckConfig, check_iar, check_oar};
use archive::diff::{DiffSide, diff};
use archive::file::{ArchiveLimits, ArchiveWriter};
use archive::iar::{ArchivedItem, ArchivedProfile, IarControl};
use archive::oar::{ArchivedParcel, ArchivedSettings, OarContent, OarControl, OarPart, OarReader, OarWriter};
use libfuzzer_sys::fuzz_target;

const LIMITS: ArchiveLimits = ArchiveLimits {
    entry_bytes_max: 1 << 18,
    entries_max: 999,
    paths_bytes_max: 1 << 16,
    inflated_bytes_max: 1 << 20,
    ratio_max: 200,
};

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, content)) = bytes.split_first() else { return };
    match first % 7 {
        0 => read_file(content),
        1 => write_again(content, OarControl::read(content).map(|read| read.value.write())),
        2 => write_again(content, ArchivedSettings::read(content).map(|read| read.value.write())),
        3 => write_again(content, ArchivedParcel::read(content).map(|read| read.value.write())),
        4 => write_again(content, IarControl::read(content).map(|read| read.value.write())),
        5 => write_again(content, ArchivedItem::read(content).map(|read| read.value.write())),
        _ => write_again(content, ArchivedProfile::read(content).map(|read| read.value.write())),
    }
});

fn read_file(bytes: &[u8]) {
    let config = CheckConfig { limits: LIMITS, ..CheckConfig::default() };
    let _ = check_oar(bytes, &config);
    let _ = check_iar(bytes, &config);
    let Some(parts) = read_parts(bytes) else { return };
    let control = parts.iter().find_map(|part| match &part.content {
        OarContent::Control(read) => Some(&read.value),
        _ => None,
    });
    let Some(control) = control else { return };
    let archive = ArchiveWriter::plain(Vec::new());
    let mut writer = OarWriter::begin(archive, control).expect("memory takes everything");
    parts.iter().for_each(|part| writer.part(part).expect("the reader has taken its path"));
    let written = writer.finish().expect("memory takes everything");
    let is_refused = |part: &OarPart| matches!(part.content, OarContent::Refused(_));
    if !parts.iter().any(is_refused) {
        let open = |side| Ok(if side == DiffSide::A { bytes } else { &written[..] });
        assert!(diff(open, ArchiveLimits::default()).expect("both were read").is_empty());
    }
}

/// All parts of a file that can be read to its end.
fn read_parts(bytes: &[u8]) -> Option<Vec<OarPart>> {
    let mut reader = OarReader::open(bytes, LIMITS).ok()?;
    let mut parts = Vec::new();
    while let Some(part) = reader.next_part().ok()? {
        parts.push(part);
    }
    Some(parts)
}

/// A document that has not changed is written as it was read, but for a byte order mark and NULs behind it.
fn write_again<E>(content: &[u8], written: Result<String, E>) {
    if let Ok(written) = written {
        let text = std::str::from_utf8(content).expect("a document is UTF-8").trim_end_matches('\0');
        assert_eq!(written, text.strip_prefix('\u{FEFF}').unwrap_or(text));
    }
}
