//! Archives as they are written, as other programs write them, and damaged ones.

use super::*;
use proptest::prelude::*;
use std::io::{self, Read};
use tar::{EntryType, Header};

/// Entries with their contents, and the error that ended them.
type Everything = (Vec<(Box<str>, Vec<u8>)>, Vec<RefusedEntry>, Result<FileSummary, FileError>);

fn read_all(bytes: &[u8], limits: ArchiveLimits) -> Everything {
    let (mut entries, mut refused) = (Vec::new(), Vec::new());
    let mut reader = match ArchiveReader::open(bytes, limits) {
        Ok(reader) => reader,
        Err(why) => return (entries, refused, Err(why)),
    };
    loop {
        let read = reader.next_entry().and_then(|next| {
            let mut content = Vec::new();
            if let Some(NextEntry::Entry(_)) = &next {
                reader.read_content(&mut content)?;
            }
            Ok((next, content))
        });
        match read {
            Ok((Some(NextEntry::Entry(entry)), content)) => {
                assert_eq!(entry.bytes, content.len() as u64);
                entries.push((entry.path, content));
            }
            Ok((Some(NextEntry::Refused(entry)), _)) => refused.push(entry),
            Ok((None, _)) => return (entries, refused, Ok(reader.summary())),
            Err(why) => {
                assert_eq!(reader.next_entry(), Ok(None), "an error is the end");
                return (entries, refused, Err(why));
            }
        }
    }
}

fn read(bytes: &[u8]) -> Everything {
    read_all(bytes, ArchiveLimits::default())
}

fn entry(path: &str, content: &[u8]) -> (Box<str>, Vec<u8>) {
    (path.into(), content.to_vec())
}

fn sample() -> Vec<(Box<str>, Vec<u8>)> {
    let long = format!("objects/{}.xml", "a name of more than a hundred bytes ".repeat(9));
    vec![
        entry("archive.xml", b"<archive/>"),
        entry("empty.txt", b""),
        entry(&long, &[7; 512]),
        entry("assets/b", &[9; 1_500]),
        entry("objects/\u{fc}ber \u{1f3e0}.xml", b"x"),
    ]
}

fn write(entries: &[(Box<str>, Vec<u8>)], level: Option<u32>) -> Vec<u8> {
    let mut writer = match level {
        Some(level) => ArchiveWriter::gzip(Vec::new(), level),
        None => ArchiveWriter::plain(Vec::new()),
    };
    for (path, content) in entries {
        writer.append(path, content).unwrap();
    }
    writer.finish().unwrap()
}

/// An entry as a program of another sort writes it.
fn raw(path: &[u8], kind: u8, content: &[u8]) -> Vec<u8> {
    let mut header = Header::new_old();
    let n_path = path.len().min(100);
    header.as_old_mut().name[..n_path].copy_from_slice(&path[..n_path]);
    header.set_size(content.len() as u64);
    header.as_old_mut().linkflag = [kind];
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    bytes
}

fn archive_of(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = entries.concat();
    bytes.resize(bytes.len() + 2 * BLOCK, 0);
    bytes
}

fn names(everything: &Everything) -> Vec<&str> {
    everything.0.iter().map(|(path, _)| &**path).collect()
}

#[test]
fn entries_are_read_as_they_were_written() {
    for level in [None, Some(0), Some(6)] {
        let bytes = write(&sample(), level);
        assert_eq!(bytes, write(&sample(), level), "equal entries make equal files");
        let (entries, refused, end) = read(&bytes);
        assert_eq!((entries, refused), (sample(), vec![]));
        let summary = end.unwrap();
        assert_eq!((summary.n_entries, summary.file_bytes), (5, bytes.len() as u64));
        assert_eq!((summary.is_compressed, summary.has_trailing_bytes), (level.is_some(), false));
    }
}

#[test]
fn other_readers_of_tar_find_the_same_entries() {
    let bytes = write(&sample(), None);
    let mut archive = tar::Archive::new(&bytes[..]);
    let found: Vec<(Box<str>, Vec<u8>)> = archive
        .entries()
        .unwrap()
        .map(|entry| {
            let mut entry = entry.unwrap();
            let path = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            (path.into(), content)
        })
        .collect();
    assert_eq!(found, sample());
}

#[test]
fn a_header_is_that_of_opensimulator_but_for_its_mark() {
    let bytes = write(&sample()[..1], None);
    let header = &bytes[..BLOCK];
    assert!(header.starts_with(b"archive.xml\0"));
    for (at, field) in [
        (100, &b"0000777\0"[..]),
        (108, b"0000764\0"),
        (116, b"0000764\0"),
        (124, b"00000000012\0"),
        (136, b"11017037332\0"),
    ] {
        assert_eq!(&header[at..at + field.len()], field);
    }
    assert_eq!((header[156], &header[257..265]), (b'0', &b"ustar  \0"[..]));
}

#[test]
fn long_paths_of_every_form_are_read() {
    let long = format!("inventory/{}/item.xml", "folder__1".repeat(20));
    let record = format!("{} path={long}\n", long.len() + 10);
    assert_eq!(record.len(), long.len() + 10);
    let opensimulator = [raw(b"././@LongLink", b'L', long.as_bytes()), raw(long.as_bytes(), b'0', b"1")];
    let gnu = [raw(b"././@LongLink", b'L', [long.as_bytes(), b"\0"].concat().as_slice()), raw(b"x", 0, b"1")];
    let pax = [raw(b"x", b'g', b"13 comment=a\n"), raw(b"x", b'x', record.as_bytes()), raw(b"x", b'0', b"1")];
    for entries in [&opensimulator[..], &gnu, &pax] {
        let everything = read(&archive_of(entries));
        assert_eq!(everything.0, [entry(&long, b"1")]);
        assert!(everything.2.is_ok());
    }
    let sized = [raw(b"a", b'x', b"9 size=3\n"), raw(b"a", b'0', b"abc")];
    assert_eq!(read(&archive_of(&sized)).0, [entry("a", b"abc")]);
}

#[test]
fn damaged_long_paths_end_the_archive() {
    for entry in [
        raw(b"x", b'L', &vec![b'a'; PATH_BYTES_MAX + 1]),
        raw(b"x", b'x', b"12 path=a\n"),
        raw(b"x", b'x', b"path=a\n"),
        raw(b"x", b'x', b"99999999999999999999 path=a\n"),
        raw(b"x", b'x', b"11 size=-1\n"),
        raw(b"x", b'x', b"2 \n"),
    ] {
        let everything = read(&archive_of(&[raw(b"a", b'0', b""), entry, raw(b"b", b'0', b"")]));
        assert!(matches!(everything.2, Err(FileError::Header { .. })), "{everything:?}");
        assert_eq!(names(&everything), ["a"]);
    }
}

#[test]
fn links_devices_and_paths_out_of_the_archive_are_skipped_and_named() {
    let mut entries = vec![raw(b"archive.xml", b'0', b"x")];
    let refusals = [
        (&b"a"[..], b'1', EntryFault::Link),
        (b"b", b'2', EntryFault::Link),
        (b"c", b'3', EntryFault::Device),
        (b"d", b'4', EntryFault::Device),
        (b"e", b'6', EntryFault::Device),
        (b"f", b'S', EntryFault::Kind('S')),
        (b"/etc/passwd", b'0', EntryFault::Path(PathError::Absolute)),
        (b"assets/../../x", b'0', EntryFault::Path(PathError::Parent)),
        (b"../x", b'5', EntryFault::Path(PathError::Parent)),
        (b"", b'0', EntryFault::Path(PathError::Empty)),
        (b"archive.xml", b'0', EntryFault::Duplicate),
        (b"./archive.xml", b'7', EntryFault::Duplicate),
    ];
    entries.extend(refusals.map(|(path, kind, _)| raw(path, kind, &[1; 700])));
    entries.push(raw(b"assets/", b'5', b""));
    entries.push(raw(b"assets/", b'0', b""));
    entries.push(raw(b"assets/a", 0, b"y"));
    let (found, refused, end) = read(&archive_of(&entries));
    let names: Vec<&str> = found.iter().map(|(path, _)| &**path).collect();
    assert_eq!(names, ["archive.xml", "assets", "assets", "assets/a"]);
    assert_eq!(refused.iter().map(|entry| entry.reason).collect::<Vec<_>>(), refusals.map(|(_, _, why)| why));
    assert!(refused.iter().all(|entry| entry.bytes == 700 && !entry.reason.to_string().is_empty()));
    assert_eq!(end.unwrap().n_entries, 16);
}

#[test]
fn an_archive_cut_anywhere_returns_whole_entries_and_an_error() {
    let bytes = write(&sample(), None);
    let entries = sample();
    // Behind the first block of the end, no content is missing.
    let n_whole = bytes.len() - BLOCK;
    for length in (0..bytes.len()).step_by(BLOCK).chain([1, 100, 513, bytes.len() - 1]) {
        let everything = read(&bytes[..length]);
        assert_eq!(everything.0, entries[..everything.0.len()], "cut at {length}");
        match &everything.2 {
            Ok(_) => assert!(length >= n_whole && everything.0.len() == entries.len()),
            Err(FileError::Truncated(place)) => assert_eq!(place.inflated_bytes, length as u64),
            Err(why) => assert!(length < BLOCK && why.is_no_archive(), "{length}: {why}"),
        }
    }
}

#[test]
fn a_compressed_archive_cut_anywhere_is_an_error() {
    let bytes = write(&sample(), Some(6));
    for length in 0..bytes.len() {
        let everything = read(&bytes[..length]);
        assert_eq!(everything.0, sample()[..everything.0.len()], "cut at {length}");
        assert!(everything.2.is_err(), "cut at {length}");
    }
}

#[test]
fn a_flipped_byte_of_a_compressed_archive_is_an_error_or_unused() {
    let bytes = write(&sample(), Some(6));
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x20;
        let everything = read(&damaged);
        // The time in the header of gzip, and bits of padding, have no meaning.
        assert!(everything.2.is_err() || everything.0 == sample(), "{at}");
    }
}

#[test]
fn a_flipped_byte_of_a_header_is_named_with_its_place() {
    let mut bytes = write(&sample(), None);
    // The size of the second entry.
    bytes[2 * BLOCK + 130] ^= 1;
    let everything = read(&bytes);
    assert_eq!(names(&everything), ["archive.xml"]);
    let Err(FileError::Header { place, reason: "checksum" }) = everything.2 else { panic!("{everything:?}") };
    assert_eq!((place.inflated_bytes, place.entry.as_deref()), (3 * BLOCK as u64, Some("archive.xml")));
}

#[test]
fn other_files_and_empty_ones_are_no_archives() {
    let gzip = |content: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        io::Write::write_all(&mut encoder, content).unwrap();
        encoder.finish().unwrap()
    };
    for (bytes, why) in [
        (Vec::new(), FileError::Empty),
        (vec![0; 1_024], FileError::Empty),
        (gzip(b""), FileError::Empty),
        (gzip(&[0; 10_240]), FileError::Empty),
        (archive_of(&[raw(b"x", b'g', b"")]), FileError::Empty),
        (b"PK\x03\x04 and more".to_vec(), FileError::OtherForm),
        (vec![b'<'; 4_096], FileError::OtherForm),
        (gzip(&[b'<'; 4_096]), FileError::OtherForm),
        (b"\x1F\x9D of compress".to_vec(), FileError::OtherForm),
    ] {
        assert_eq!(read(&bytes).2, Err(why), "{:?}", &bytes[..bytes.len().min(8)]);
    }
}

#[test]
fn members_follow_each_other_and_trailing_bytes_are_noted() {
    let plain = write(&sample(), None);
    let (front, back) = plain.split_at(1_000);
    let gzip = |content: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        io::Write::write_all(&mut encoder, content).unwrap();
        encoder.finish().unwrap()
    };
    let members = [gzip(front), gzip(b""), gzip(back)].concat();
    let (entries, _, end) = read(&members);
    assert_eq!((entries, end.unwrap().has_trailing_bytes), (sample(), false));
    for trailing in [[&members[..], b"garbage"].concat(), [&plain[..], b"garbage"].concat()] {
        assert!(read(&trailing).2.unwrap().has_trailing_bytes);
    }
    let padded = [&plain[..], &[0; 8_192]].concat();
    assert!(!read(&padded).2.unwrap().has_trailing_bytes);
}

#[test]
fn bombs_end_at_their_bounds() {
    let limits = ArchiveLimits { entry_bytes_max: 600, entries_max: 3, ..ArchiveLimits::default() };
    let large = [raw(b"a", b'0', &[1; 601]), raw(b"b", b'0', &[1; 600])];
    let (entries, refused, _) = read_all(&archive_of(&large), limits);
    assert_eq!((entries.len(), refused[0].reason), (1, EntryFault::Large { bytes: 601, bytes_max: 600 }));
    let many: Vec<Vec<u8>> = (0..4).map(|n| raw(&[b'a' + n], b'0', b"")).collect();
    assert_eq!(read_all(&archive_of(&many), limits).2, Err(FileError::Entries(3)));
    let long: Vec<Vec<u8>> = (0..4).map(|_| raw(b"x", b'L', b"y")).collect();
    assert_eq!(read_all(&archive_of(&long), limits).2, Err(FileError::Entries(3)));
    let limits = ArchiveLimits { paths_bytes_max: 3, ..ArchiveLimits::default() };
    let (entries, _, end) = read_all(&archive_of(&many), limits);
    assert_eq!((entries.len(), end), (3, Err(FileError::Paths(3))));
    let limits = ArchiveLimits { inflated_bytes_max: 2_000, ..ArchiveLimits::default() };
    assert_eq!(read_all(&archive_of(&many), limits).2, Err(FileError::Inflated(2_000)));
}

/// Zeros without end, with a header before them.
struct Bomb {
    header: Vec<u8>,
    n_read: usize,
}

impl Read for Bomb {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = self.header.get(self.n_read..).unwrap_or_default();
        let n_header = rest.len().min(buffer.len());
        buffer[..n_header].copy_from_slice(&rest[..n_header]);
        buffer[n_header..].fill(0);
        self.n_read += buffer.len();
        Ok(buffer.len())
    }
}

#[test]
fn a_compressed_bomb_ends_at_its_ratio() {
    let mut header = Header::new_old();
    header.as_old_mut().name[0] = b'a';
    header.set_size(1 << 40);
    header.set_entry_type(EntryType::Regular);
    header.set_cksum();
    let zeros = Bomb { header: header.as_bytes().to_vec(), n_read: 0 };
    let compressed = flate2::read::GzEncoder::new(zeros, flate2::Compression::best());
    let mut reader = ArchiveReader::open(compressed, ArchiveLimits::default()).unwrap();
    let Ok(Some(NextEntry::Refused(entry))) = reader.next_entry() else { panic!("it is too large") };
    assert!(matches!(entry.reason, EntryFault::Large { .. }));
    assert_eq!(reader.next_entry(), Err(FileError::Ratio(200)));
    let n_inflated = reader.summary().inflated_bytes;
    assert!((64 << 20..66 << 20).contains(&n_inflated), "{n_inflated}");
}

#[test]
fn sizes_are_claims_that_cost_nothing() {
    let mut header = Header::new_gnu();
    header.as_old_mut().name[0] = b'a';
    header.set_size(u64::MAX);
    header.set_cksum();
    let everything = read(header.as_bytes());
    assert!(matches!(everything.2, Err(FileError::Header { reason: "size", .. })), "{everything:?}");
    header.set_size(u64::MAX - 1_023);
    header.set_cksum();
    let everything = read(header.as_bytes());
    assert!(matches!(everything.1[0].reason, EntryFault::Large { .. }), "{everything:?}");
    assert!(matches!(everything.2, Err(FileError::Truncated(_))), "{everything:?}");
    // Below the limit memory grows with the bytes that come.
    header.set_size(60 << 20);
    header.set_cksum();
    assert!(matches!(read(header.as_bytes()).2, Err(FileError::Truncated(_))));
}

#[test]
fn contents_are_read_in_parts_or_not_at_all() {
    let bytes = write(&sample(), Some(1));
    let mut reader = ArchiveReader::open(&bytes[..], ArchiveLimits::default()).unwrap();
    let mut paths = Vec::new();
    while let Some(NextEntry::Entry(entry)) = reader.next_entry().unwrap() {
        if &*entry.path == "assets/b" {
            let mut part = [0; 1_000];
            for n_read in [1_000, 500, 0] {
                assert_eq!(reader.read_part(&mut part), Ok(n_read));
            }
        }
        paths.push(entry.path);
    }
    assert_eq!(paths, sample().into_iter().map(|(path, _)| path).collect::<Vec<_>>());
}

#[test]
fn paths_and_lengths_are_checked_before_anything_is_written() {
    let mut writer = ArchiveWriter::plain(Vec::new());
    for path in ["", "/a", "../a", "a/../b", "a\0b", "C:\\a", &"a".repeat(PATH_BYTES_MAX + 1)] {
        assert!(matches!(writer.append(path, b""), Err(ArchiveWriteError::Path { .. })), "{path}");
        assert!(matches!(writer.append_folder(path), Err(ArchiveWriteError::Path { .. })), "{path}");
    }
    assert!(matches!(writer.append_from("a", 1 << 31, io::empty()), Err(ArchiveWriteError::Length { .. })));
    assert_eq!(writer.n_entries(), 0);
    writer.append_folder("assets").unwrap();
    let short = writer.append_from("a", 3, &b"ab"[..]);
    assert!(matches!(short, Err(ArchiveWriteError::Length { bytes: 3, .. })));
}

proptest! {
    #[test]
    fn any_contents_are_read_as_they_were_written(
        contents in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..1_200), 1..8),
        name in "[a-z\u{e4} ]{1,150}",
        level in proptest::option::of(0_u32..10),
    ) {
        let entries: Vec<(Box<str>, Vec<u8>)> = contents
            .into_iter()
            .enumerate()
            .map(|(n, content)| (format!("{name}{n}").into(), content))
            .collect();
        let everything = read(&write(&entries, level));
        prop_assert_eq!(everything.0, entries);
        prop_assert!(everything.2.is_ok());
    }

    #[test]
    fn damaged_archives_never_panic(
        at in any::<prop::sample::Index>(), byte in any::<u8>(), is_compressed in any::<bool>(),
    ) {
        let mut bytes = write(&sample(), is_compressed.then_some(6));
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = read(&bytes);
    }

    #[test]
    fn any_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..1_100)) {
        let _ = read(&bytes);
    }
}
