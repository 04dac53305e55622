//! Archives of every version: read, written again, cut, and with parts that cannot be read.

use super::*;
use crate::diff::{DiffReport, DiffSide, diff};
use crate::fields::DocumentError;
use crate::file::{ArchiveLimits, ArchiveWriteError, ArchiveWriter, FileError};
use crate::kind::ArchivedKind;
use crate::testing::*;
use crate::xml::XmlError;
use proptest::prelude::*;

/// Parts, and the error that ended them.
fn read_parts(bytes: &[u8]) -> (Vec<OarPart>, Option<FileError>) {
    match OarReader::open(bytes, ArchiveLimits::default()) {
        Ok(mut reader) => parts_of(|| reader.next_part()),
        Err(why) => (Vec::new(), Some(why)),
    }
}

fn whole(bytes: &[u8]) -> Vec<OarPart> {
    let (parts, end) = read_parts(bytes);
    assert_eq!(end, None);
    parts
}

fn control_of(parts: &[OarPart]) -> &OarControl {
    let control = parts.iter().find_map(|part| match &part.content {
        OarContent::Control(read) => Some(&read.value),
        _ => None,
    });
    control.expect("a control file")
}

fn write(parts: &[OarPart]) -> Vec<u8> {
    let archive = ArchiveWriter::gzip(Vec::new(), 1);
    let mut writer = OarWriter::begin(archive, control_of(parts)).unwrap();
    parts.iter().for_each(|part| writer.part(part).unwrap());
    writer.finish().unwrap()
}

fn differences(a: &[u8], b: &[u8]) -> DiffReport {
    let open = |side| Ok(if side == DiffSide::A { a } else { b });
    diff(open, ArchiveLimits::default()).unwrap()
}

#[test]
fn every_version_is_read_and_written_with_equal_parts() {
    for version in OAR_VERSIONS {
        let bytes = oar(version);
        let parts = whole(&bytes);
        assert_eq!(parts.len(), oar_entries(version).len());
        assert_eq!(control_of(&parts).version, version);
        let count = |is: fn(&OarContent) -> bool| parts.iter().filter(|part| is(&part.content)).count();
        let n_regions = if version.0 == 1 { 2 } else { 1 };
        assert_eq!(count(|content| matches!(content, OarContent::Terrain(_))), n_regions);
        assert_eq!(count(|content| matches!(content, OarContent::Object(_))), n_regions);
        assert_eq!(count(|content| matches!(content, OarContent::Asset(_))), 6);
        let n_parcels = if version >= (0, 3) { n_regions } else { 0 };
        assert_eq!(count(|content| matches!(content, OarContent::Parcel(_))), n_parcels);
        assert_eq!(count(|content| matches!(content, OarContent::Unreadable { .. })), 0);
        let written = write(&parts);
        assert_eq!(differences(&bytes, &written), DiffReport::default(), "{version:?}");
        assert_eq!(write(&whole(&written)), written, "{version:?}");
    }
}

#[test]
fn parts_of_several_regions_have_their_folders() {
    let parts = whole(&oar((1, 0)));
    let regions: Vec<Option<&str>> = parts.iter().map(|part| part.region.as_deref()).collect();
    let (sea, hills) = (Some("1_1_Sea_side"), Some("2_2_Hills"));
    assert_eq!(regions[..9], [None, sea, sea, sea, sea, hills, hills, hills, hills]);
    assert!(regions[9..].iter().all(Option::is_none));
}

#[test]
fn the_writer_makes_what_the_reader_reads() {
    let archive = ArchiveWriter::plain(Vec::new());
    let mut writer = OarWriter::begin(archive, &control((1, 0))).unwrap();
    let region = Some("1_1_Sea_side");
    writer.settings(region, "Sea/side", &settings()).unwrap();
    writer.parcel(region, &parcel()).unwrap();
    writer.terrain(region, "Sea side", &terrain()).unwrap();
    let house = house();
    let root = (&*house.root.body.names.name, [128.0, 128.0, 25.4], house.root.body.id);
    writer.object(region, root, &document(&house)).unwrap();
    for (id, kind, bytes) in assets() {
        writer.asset(id, kind, &bytes).unwrap();
    }
    let parts = whole(&writer.finish().unwrap());
    assert_eq!(&*parts[1].path, "regions/1_1_Sea_side/settings/Sea_side.xml");
    let object = format!("regions/1_1_Sea_side/objects/House_128-128-025__{}.xml", house.root.body.id);
    assert_eq!(*parts[4].path, *object);
    assert_eq!(parts[3].content, OarContent::Terrain(terrain()));
    assert_eq!(parts[4].content, OarContent::Object(document(&house).into_bytes()));
    let OarContent::Parcel(read) = &parts[2].content else { panic!("{:?}", parts[2]) };
    assert_eq!((&*read.value.name, read.value.n_squares()), ("Land", 4_096));
    let OarContent::Asset(asset) = &parts[5].content else { panic!("{:?}", parts[5]) };
    assert_eq!((asset.id, asset.kind), (id(TEXTURE), ArchivedKind::from_suffix("_texture.jp2")));
}

#[test]
fn the_control_file_is_the_first_entry() {
    let mut archive = ArchiveWriter::plain(Vec::new());
    archive.append("a", b"").unwrap();
    let refused = OarWriter::begin(archive, &control((0, 8))).unwrap_err();
    assert!(matches!(refused, ArchiveWriteError::Order { .. }));
}

#[test]
fn an_archive_cut_at_any_block_returns_whole_parts_and_an_error() {
    let bytes = oar((0, 8));
    let parts = whole(&bytes);
    for length in (0..bytes.len() - 512).step_by(512) {
        let (found, end) = read_parts(&bytes[..length]);
        assert_eq!(found, parts[..found.len()], "cut at {length}");
        let end = end.expect("a cut archive");
        assert!(matches!(end, FileError::Truncated(_)) || length == 0, "cut at {length}: {end}");
    }
}

#[test]
fn parts_that_cannot_be_read_are_named_and_kept() {
    let entries = [
        ("archive.xml", control((0, 8)).write().into_bytes()),
        ("settings/a.xml", b"<RegionSettings>".to_vec()),
        ("settings/b.xml", "<RegionSettings/>".encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("landdata/a.xml", b"<LandData>\xFF</LandData>".to_vec()),
        ("landdata/b.xml", b"<!DOCTYPE a [<!ENTITY b 'c'>]><LandData>&b;</LandData>".to_vec()),
        ("landdata/c.xml", [&b"<LandData>"[..], &b"<a>".repeat(200)].concat()),
        ("terrains/a.r32", vec![0; 100]),
        ("terrains/b.r32", vec![0xFF; 262_144]),
        ("assets/x_texture.jp2", b"x".to_vec()),
        ("assets.xml", b"<assets/>".to_vec()),
        ("other/file", b"y".to_vec()),
    ]
    .map(|(path, content)| (path.to_owned(), content));
    let bytes = archive(&entries);
    let parts = whole(&bytes);
    let reasons: Vec<Option<&OarPartError>> = parts
        .iter()
        .map(|part| match &part.content {
            OarContent::Unreadable { reason, .. } => Some(reason),
            _ => None,
        })
        .collect();
    assert!(reasons[0].is_none() && reasons[9].is_none() && reasons[10].is_none());
    assert!(reasons[1..9].iter().all(Option::is_some), "{reasons:?}");
    let truncated = OarPartError::Document(DocumentError::Xml(XmlError::Truncated));
    assert_eq!(reasons[1], Some(&truncated));
    let doctype = OarPartError::Document(DocumentError::Xml(XmlError::DocumentType { offset: 0 }));
    assert_eq!(reasons[4], Some(&doctype));
    let heights = OarPartError::Terrain(TerrainFileError::Infinite { x: 0, y: 0 });
    assert_eq!(reasons[7], Some(&heights));
    assert_eq!(differences(&bytes, &write(&parts)), DiffReport::default());
}

#[test]
fn sizes_of_regions_are_those_of_the_control_file() {
    let wide = RegionSize { width_m: 512, depth_m: 256 };
    let control = OarControl { size_m: Some(wide), ..control((0, 8)) };
    let terrain = TerrainHeights { width: 512, depth: 256, heights: vec![1.0; 131_072] };
    let entries = [("archive.xml", control.write().into_bytes()), ("terrains/a.r32", terrain.write())]
        .map(|(path, content)| (path.to_owned(), content));
    assert_eq!(whole(&archive(&entries))[1].content, OarContent::Terrain(terrain));
    let square = TerrainHeights { width: 256, depth: 256, heights: vec![1.0; 65_536] };
    let entries = [("archive.xml", control.write().into_bytes()), ("terrains/a.r32", square.write())]
        .map(|(path, content)| (path.to_owned(), content));
    assert!(matches!(whole(&archive(&entries))[1].content, OarContent::Unreadable { .. }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_archives_never_panic(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut entries = oar_entries((0, 3));
        // The terrain is nearly all of it.
        entries.retain(|(path, _)| !path.starts_with("terrains"));
        let mut bytes = archive(&entries);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = read_parts(&bytes);
    }
}
