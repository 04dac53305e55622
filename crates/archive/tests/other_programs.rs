//! Archives of other programs, from the folder that `THRONG_OARS` names: checked, read, written and compared. Objects are read and written by their codec, also
//! those in inventories.

use archive::check::{ArchiveReport, CheckConfig, check_iar, check_oar};
use archive::diff::{DiffReport, DiffSide, diff};
use archive::file::{ArchiveLimits, ArchiveWriter};
use archive::iar::{IarContent, IarControl, IarReader, IarWriter};
use archive::oar::{OarContent, OarControl, OarReader, OarWriter};
use archive::object::{WriteOptions, XmlForm, read_object, write_object};
use archive::xml::XmlLimits;
use assets::AssetKind;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Archives with an ending, in the order of their names.
fn archives(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|why| panic!("{}: {why}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == ending));
    paths.sort();
    paths
}

/// A document of an object as the codec writes it; an unreadable document stays as it is.
fn written_again(document: &[u8], form: XmlForm) -> Vec<u8> {
    match read_object(document, &XmlLimits::OBJECT) {
        Ok(read) => write_object(&read.object, &WriteOptions { form, creators: None }).into_bytes(),
        Err(_) => document.to_vec(),
    }
}

fn write_oar(source: &Path, target: &Path) {
    let open = || OarReader::open(File::open(source).unwrap(), ArchiveLimits::default()).unwrap();
    let mut control = OarControl::default();
    let mut reader = open();
    while let Some(part) = reader.next_part().unwrap() {
        if let OarContent::Control(read) = part.content {
            control = read.value;
        }
    }
    let file = ArchiveWriter::gzip(File::create(target).unwrap(), 1);
    let mut writer = OarWriter::begin(file, &control).unwrap();
    let mut reader = open();
    while let Some(mut part) = reader.next_part().unwrap() {
        if let OarContent::Object(document) = &mut part.content {
            *document = written_again(document, XmlForm::Xml2);
        }
        writer.part(&part).unwrap();
    }
    writer.finish().unwrap();
}

/// Items before assets, as OpenSimulator needs them.
fn write_iar(source: &Path, target: &Path) {
    let open = || IarReader::open(File::open(source).unwrap(), ArchiveLimits::default()).unwrap();
    let mut control = IarControl::default();
    let mut reader = open();
    while let Some(part) = reader.next_part().unwrap() {
        if let IarContent::Control(read) = part.content {
            control = read.value;
        }
    }
    let file = ArchiveWriter::gzip(File::create(target).unwrap(), 1);
    let mut writer = IarWriter::begin(file, &control).unwrap();
    for are_assets in [false, true] {
        let mut reader = open();
        while let Some(mut part) = reader.next_part().unwrap() {
            if let IarContent::Asset(asset) = &mut part.content
                && asset.kind == Some(AssetKind::Object.into())
            {
                asset.bytes = written_again(&asset.bytes, XmlForm::Original);
            }
            if matches!(part.content, IarContent::Asset(_)) == are_assets {
                writer.part(&part).unwrap();
            }
        }
    }
    writer.finish().unwrap();
}

/// Counts that a copy of an archive has, too.
fn counts(report: &ArchiveReport) -> [u64; 8] {
    [
        report.n_objects,
        report.n_prims,
        report.n_scripts,
        report.n_assets,
        report.missing.n_total,
        report.damaged.n_total,
        report.unused.n_total,
        report.inventory.n_items + report.inventory.n_links,
    ]
}

fn compare(source: &Path, target: &Path, check: impl Fn(&Path) -> ArchiveReport) {
    assert_eq!(counts(&check(source)), counts(&check(target)), "{}", source.display());
    let open = |side| File::open(if side == DiffSide::A { source } else { target });
    assert_eq!(diff(open, ArchiveLimits::default()).unwrap(), DiffReport::default(), "{}", source.display());
}

#[test]
fn archives_of_other_programs_are_written_as_they_were_read() {
    let Some(folder) = std::env::var_os("THRONG_OARS").map(PathBuf::from) else {
        writeln!(std::io::stderr(), "skipped: THRONG_OARS names no folder").expect("standard error is open");
        return;
    };
    let scratch = tempfile::tempdir().unwrap();
    let target = scratch.path().join("copy");
    let config = CheckConfig::default();
    for source in archives(&folder, "oar") {
        write_oar(&source, &target);
        compare(&source, &target, |path| check_oar(File::open(path).unwrap(), &config).unwrap());
    }
    for source in archives(&folder, "iar") {
        write_iar(&source, &target);
        compare(&source, &target, |path| check_iar(File::open(path).unwrap(), &config).unwrap());
    }
}
