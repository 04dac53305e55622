//! Files of every version that there has been, as the builds of their time wrote them (`formats/README.md`): each loads, each comes to
//! what it came to then, and the newest ones are what this build writes.
//!
//! After a change of a format a test here fails: raise the version of the part that changed, give it an upgrade, and add golden
//! files of the new version (`docs/internals/formats.md`). The files that are here are never changed.

#[path = "support/golden_name.rs"]
mod golden_name;

use golden_name::{golden_name, parts};
use link::Frame;
use recording::{Recording, Replay, Step, Writer, upgrade};
use std::collections::BTreeSet;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use world::{World, WorldConfig, saved};

/// Step of the recording behind which snapshots and images were taken; journals are of the end.
const SAVED_BEHIND: usize = 150;

/// The formats that have golden files.
const FORMATS: [&str; 4] = ["image", "journal", "recording", "snapshot"];

/// A file as a build of its time wrote it.
struct Golden {
    name: String,
    bytes: Vec<u8>,
    /// Layout, and the sum of the versions by which its parts exceed 1: both rise with time.
    age: (u16, u32),
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats")
}

/// Layout and age of a file with this name, of this format.
fn age_of(format: &str, name: &str) -> Option<(u16, u32)> {
    let mut fields = name.strip_prefix(format)?.strip_prefix('-')?.split('-');
    let layout = fields.next()?.parse().ok()?;
    let version =
        |field: &str| field.trim_start_matches(|c: char| c.is_ascii_lowercase()).parse::<u32>().ok();
    let versions: Option<Vec<u32>> = fields.map(version).collect();
    Some((layout, versions?.into_iter().map(|version| version - 1).sum()))
}

/// Files of a format, the oldest first.
fn golden(format: &str) -> Vec<Golden> {
    let files = std::fs::read_dir(directory()).unwrap().filter_map(|file| {
        let path = file.unwrap().path();
        let name = path.file_stem()?.to_str()?.to_owned();
        let age = age_of(format, &name)?;
        Some(Golden { bytes: std::fs::read(&path).unwrap(), name, age })
    });
    let mut files: Vec<Golden> = files.collect();
    files.sort_by_key(|file| file.age);
    files
}

/// The file of the oldest version.
fn oldest(format: &str) -> Golden {
    golden(format).swap_remove(0)
}

/// The file of the version that this build writes.
fn newest(format: &str) -> Golden {
    golden(format).pop().expect("every format has golden files")
}

/// With this name, whether it is of the version that this build writes.
fn is_newest(format: &str, name: &str) -> bool {
    newest(format).name == name
}

/// Contents of the oldest recording, and its replay in this build.
struct Played {
    config: WorldConfig,
    steps: Vec<Step>,
    /// Behind step [`SAVED_BEHIND`].
    snapshot: Vec<u8>,
    /// Of the end.
    progress: Vec<u8>,
}

static PLAYED: LazyLock<Played> = LazyLock::new(|| {
    let upgraded = upgraded(&oldest("recording").bytes);
    let mut recording = open(&upgraded);
    let mut replay = Replay::new(&recording).unwrap();
    let steps: Vec<Step> = recording.steps().unwrap().map(Result::unwrap).collect();
    let mut snapshot = Vec::new();
    for (n, step) in (1..).zip(&steps) {
        replay.step(step.clone());
        if n == SAVED_BEHIND {
            snapshot = replay.world().snapshot();
        }
    }
    let mut progress = Vec::new();
    replay.world().progress(&mut progress);
    Played { config: recording.config(), steps, snapshot, progress }
});

/// A recording in the newest version of each part: builds read that of before without an upgrade, and no older one.
fn upgraded(recording: &[u8]) -> Vec<u8> {
    let mut upgraded = Vec::new();
    upgrade(&mut Cursor::new(recording), &mut upgraded).unwrap();
    upgraded
}

fn open(bytes: &[u8]) -> Recording<Cursor<&[u8]>> {
    Recording::read(Cursor::new(bytes)).unwrap()
}

#[test]
fn every_file_belongs_to_a_format_and_is_named_after_the_versions_in_it() {
    let mut n_golden = 0;
    for format in FORMATS {
        for Golden { name, bytes, .. } in golden(format) {
            assert_eq!(name, golden_name(format, &bytes));
            n_golden += 1;
        }
    }
    let n_files = std::fs::read_dir(directory()).unwrap().count();
    assert_eq!(n_files, n_golden + 1, "a file beside README.md is not read by any test");
}

/// Tag, version and golden file of each part, as the document lists them, and the whole document. Parts of regions are those of crate `keeper`,
/// whose tests read their golden files.
fn documented() -> (Vec<(String, u16, String)>, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/internals/formats.md");
    let text = std::fs::read_to_string(path).unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        let [_, tag, version, file, _, _] = cells[..] else { return None };
        (tag.len() == 4 && !file.contains("/keeper/")).then_some(())?;
        Some((tag.to_owned(), version.parse().ok()?, file.to_owned()))
    };
    (text.lines().filter_map(row).collect(), text)
}

#[test]
fn the_document_names_a_golden_file_of_each_part_and_version() {
    let (rows, text) = documented();
    let tests = directory().join("..");
    for (tag, version, file) in &rows {
        let name = file.split('/').next_back().unwrap();
        let format = FORMATS.into_iter().find(|format| name.starts_with(format)).unwrap_or("recording");
        let folder = if name == file { "formats" } else { "" };
        let bytes = std::fs::read(tests.join(folder).join(file)).unwrap();
        assert_eq!(parts(format, &bytes).get(tag), Some(version), "{file} as the golden file of {tag}");
    }
    let rows: BTreeSet<(String, u16)> = rows.into_iter().map(|(tag, version, _)| (tag, version)).collect();
    for format in FORMATS {
        for Golden { name, bytes, .. } in golden(format) {
            let is_listed = ["`", ".throngrec`"].iter().any(|end| text.contains(&format!("`{name}{end}")));
            assert!(is_listed, "{name} is not listed");
            let missing: Vec<_> =
                parts(format, &bytes).into_iter().filter(|part| !rows.contains(part)).collect();
            assert!(missing.is_empty(), "{name} has parts that are not listed: {missing:?}");
        }
    }
    // No file of `formats` has this part.
    assert!(rows.contains(&("CAST".to_owned(), 1)));
}

#[test]
fn names_are_of_a_layout_and_of_versions_that_rise() {
    let age = |name| age_of("snapshot", name);
    assert_eq!([age("snapshot-6"), age("snapshot-7")], [Some((6, 0)), Some((7, 0))]);
    assert_eq!([age("snapshot-7-npcs2"), age("snapshot-7-game3-npcs2")], [Some((7, 1)), Some((7, 3))]);
    assert_eq!([age("snapshot-"), age("snapshot-7-npcs"), age("image-2")], [None; 3]);
}

#[test]
fn the_newest_file_of_each_format_is_of_the_layout_that_this_build_writes() {
    assert_eq!(
        ["recording", "snapshot", "image", "journal"].map(|format| newest(format).age.0),
        [recording::VERSION, world::SNAPSHOT_VERSION, saved::IMAGE_VERSION, saved::JOURNAL_VERSION],
        "write golden files of the new version: cargo run -p recording --example formats"
    );
}

#[test]
fn every_recording_replays_to_the_states_that_were_recorded() {
    for Golden { name, bytes, .. } in golden("recording") {
        let upgraded = upgraded(&bytes);
        let mut recording = open(&upgraded);
        let mut replay = Replay::new(&recording).unwrap();
        let mut n = 0;
        for step in recording.steps().unwrap() {
            let step = step.unwrap();
            let (tick, expected) = (step.tick, step.state_hash);
            assert_eq!(Some(replay.step(step).state_hash), expected, "{name}, {tick:?}");
            n += 1;
        }
        assert_eq!(n, 300, "{name}");
        assert!(replay.world().npc_counts().falls > 0, "nothing happens in it");
    }
}

#[test]
fn a_world_from_every_snapshot_continues_with_the_states_that_were_recorded() {
    for Golden { name, bytes, .. } in golden("snapshot") {
        let mut world = World::restore(PLAYED.config.clone(), &bytes).unwrap();
        assert_eq!(world.snapshot(), PLAYED.snapshot, "{name}");
        let mut frame = Frame::empty();
        for step in &PLAYED.steps[SAVED_BEHIND..] {
            let Step { tick, dt, dilation, mut commands, state_hash, .. } = step.clone();
            world.step(tick, dt, dilation, &mut commands, &mut frame);
            assert_eq!(Some(frame.state_hash), state_hash, "{name}, {tick:?}");
        }
    }
}

#[test]
fn every_image_and_every_journal_make_the_same_world() {
    let mut expected = World::restore_without_visitors(PLAYED.config.clone(), &PLAYED.snapshot).unwrap();
    let restored = expected.state_hash();
    expected.take_up_progress(&PLAYED.progress).unwrap();
    assert_ne!(expected.state_hash(), restored, "the journal says nothing that the image does not");
    for Golden { name: image_name, bytes: image, .. } in golden("image") {
        for Golden { name, bytes: journal, .. } in golden("journal") {
            let mut world = saved::restore(PLAYED.config.clone(), Some(&image)).unwrap();
            assert_eq!(world.state_hash(), restored, "{image_name}");
            assert!(saved::apply_journal(&mut world, &journal).unwrap(), "{name}");
            assert_eq!(world.state_hash(), expected.state_hash(), "{name}");
        }
    }
}

/// Compressed files are compared as this build compresses them: another version of the library may make other bytes of the same content.
#[test]
fn the_output_of_this_build_is_the_newest_golden_file() {
    assert!(PLAYED.snapshot == newest("snapshot").bytes, "the snapshot's bytes have changed");
    let journal = saved::encode_journal(&PLAYED.progress);
    assert!(journal == newest("journal").bytes, "the journal's bytes have changed");
    assert!(saved::upgrade_image(&newest("image").bytes).unwrap().is_none());

    let newest = newest("recording").bytes;
    let mut recording = open(&newest);
    let (about, end, config) = (recording.about().clone(), *recording.end(), recording.config());
    let first = recording.world().unwrap().snapshot();
    let mut writer = Writer::begin(Vec::new(), &about, &config.terrain, &config.scenery, &first).unwrap();
    recording.steps().unwrap().for_each(|step| writer.step(&step.unwrap()).unwrap());
    let (written, ..) = writer.finish(end.ending).unwrap();
    let (mut rewritten, mut golden) = (Vec::new(), Vec::new());
    assert!(!upgrade(&mut Cursor::new(&written), &mut rewritten).unwrap());
    assert!(!upgrade(&mut Cursor::new(&newest), &mut golden).unwrap());
    assert!(rewritten == golden, "the recording's bytes have changed");
}

#[test]
fn an_upgrade_of_every_version_gives_what_this_build_writes() {
    for Golden { name, bytes: snapshot, .. } in golden("snapshot") {
        let upgraded = World::upgrade_snapshot(&snapshot).unwrap();
        assert_eq!(upgraded.is_none(), is_newest("snapshot", &name));
        assert!(upgraded.unwrap_or(snapshot) == PLAYED.snapshot, "{name}");
    }
    for Golden { name, bytes: image, .. } in golden("image") {
        let upgraded = saved::upgrade_image(&image).unwrap();
        assert_eq!(upgraded.is_none(), is_newest("image", &name));
        let Some(upgraded) = upgraded else { continue };
        assert!(upgraded == saved::encode_image(&PLAYED.snapshot), "{name}");
    }
    for Golden { name, bytes: journal, .. } in golden("journal") {
        let upgraded = saved::upgrade_journal(&journal).unwrap();
        assert_eq!(upgraded.is_none(), is_newest("journal", &name));
        let upgraded = upgraded.unwrap_or(journal);
        assert!(upgraded == saved::encode_journal(&PLAYED.progress), "{name}");
    }
    for Golden { name, bytes: recording, .. } in golden("recording") {
        let mut upgraded = Vec::new();
        let has_changed = upgrade(&mut Cursor::new(&recording), &mut upgraded).unwrap();
        assert_eq!(has_changed, !is_newest("recording", &name));
        assert!(
            !upgrade(&mut Cursor::new(&upgraded), &mut Vec::new()).unwrap(),
            "an upgrade is the newest version"
        );
        let steps: Vec<Step> = open(&upgraded).steps().unwrap().map(Result::unwrap).collect();
        assert!(steps == PLAYED.steps, "{name}");
    }
}

#[test]
fn a_golden_file_that_is_cut_off_or_altered_is_refused() {
    for Golden { name, bytes, .. } in golden("snapshot") {
        for at in (0..bytes.len()).step_by(97) {
            let restore = |bytes: &[u8]| World::restore(PLAYED.config.clone(), bytes).is_err();
            let mut altered = bytes.clone();
            altered[at] ^= 0x10;
            assert!(restore(&bytes[..at]) && restore(&altered), "{name}, byte {at}");
        }
    }
    for Golden { name, bytes, .. } in golden("recording") {
        for at in (0..bytes.len()).step_by(997) {
            let refused = |bytes: &[u8]| {
                let is_upgraded = upgrade(&mut Cursor::new(bytes), &mut Vec::new()).is_ok();
                Recording::read(Cursor::new(bytes)).is_err() && !is_upgraded
            };
            let mut altered = bytes.clone();
            altered[at] ^= 0x10;
            assert!(refused(&bytes[..at]) && refused(&altered), "{name}, byte {at}");
        }
    }
}
