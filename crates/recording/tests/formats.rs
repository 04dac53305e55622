//! Files of every version that there has been, as the builds of their time wrote them (`formats/README.md`): each loads, each comes to
//! what it came to then, and the newest ones are what this build writes.
//!
//! When a test here fails because a format has changed: raise the version of the part that changed, give it an upgrade, and add golden
//! files of the new version (`docs/internals/formats.md`). The files that are here are never changed.

use link::Frame;
use recording::{Recording, Replay, Step, Writer, upgrade};
use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;
use std::sync::LazyLock;
use world::{World, WorldConfig, saved};

/// Step of the recording behind which snapshots and images were taken; journals are of the end.
const SAVED_BEHIND: usize = 150;

/// Files of a format, by version.
fn golden(format: &str) -> BTreeMap<u16, Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats");
    let version = |name: &str| {
        let (found, version) = name.strip_suffix(".throngrec").unwrap_or(name).split_once('-')?;
        if found == format { version.parse().ok() } else { None }
    };
    let files = std::fs::read_dir(directory).unwrap().filter_map(|file| {
        let path = file.unwrap().path();
        Some((version(path.file_name()?.to_str()?)?, std::fs::read(&path).unwrap()))
    });
    files.collect()
}

/// What the oldest recording holds, and what becomes of it in this build.
struct Played {
    config: WorldConfig,
    steps: Vec<Step>,
    /// Behind step [`SAVED_BEHIND`].
    snapshot: Vec<u8>,
    /// Of the end.
    progress: Vec<u8>,
}

static PLAYED: LazyLock<Played> = LazyLock::new(|| {
    let oldest = &golden("recording")[&4];
    let mut recording = open(oldest);
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

fn open(bytes: &[u8]) -> Recording<Cursor<&[u8]>> {
    Recording::read(Cursor::new(bytes)).unwrap()
}

#[test]
fn the_newest_file_of_each_format_is_of_the_version_that_this_build_writes() {
    let newest = |format| *golden(format).last_key_value().unwrap().0;
    assert_eq!(
        ["recording", "snapshot", "image", "journal"].map(newest),
        [recording::VERSION, world::SNAPSHOT_VERSION, saved::IMAGE_VERSION, saved::JOURNAL_VERSION],
        "write golden files of the new version: cargo run -p recording --example formats"
    );
}

#[test]
fn every_recording_replays_to_the_states_that_were_recorded() {
    for (version, bytes) in golden("recording") {
        let mut recording = open(&bytes);
        let mut replay = Replay::new(&recording).unwrap();
        let mut n = 0;
        for step in recording.steps().unwrap() {
            let step = step.unwrap();
            let (tick, expected) = (step.tick, step.state_hash);
            assert_eq!(Some(replay.step(step).state_hash), expected, "version {version}, {tick:?}");
            n += 1;
        }
        assert_eq!(n, 300, "version {version}");
        assert!(replay.world().npc_counts().falls > 0, "nothing happens in it");
    }
}

#[test]
fn a_world_from_every_snapshot_continues_with_the_states_that_were_recorded() {
    for (version, bytes) in golden("snapshot") {
        let mut world = World::restore(PLAYED.config.clone(), &bytes).unwrap();
        assert_eq!(world.snapshot(), PLAYED.snapshot, "version {version}");
        let mut frame = Frame::empty();
        for step in &PLAYED.steps[SAVED_BEHIND..] {
            let Step { tick, dt, dilation, mut commands, state_hash, .. } = step.clone();
            world.step(tick, dt, dilation, &mut commands, &mut frame);
            assert_eq!(Some(frame.state_hash), state_hash, "version {version}, {tick:?}");
        }
    }
}

#[test]
fn every_image_and_every_journal_make_the_same_world() {
    let mut expected = World::restore_without_visitors(PLAYED.config.clone(), &PLAYED.snapshot).unwrap();
    let restored = expected.state_hash();
    expected.take_up_progress(&PLAYED.progress).unwrap();
    assert_ne!(expected.state_hash(), restored, "the journal says nothing that the image does not");
    for (image_version, image) in golden("image") {
        for (version, journal) in golden("journal") {
            let mut world = saved::restore(PLAYED.config.clone(), Some(&image)).unwrap();
            assert_eq!(world.state_hash(), restored, "image version {image_version}");
            assert!(saved::apply_journal(&mut world, &journal).unwrap(), "journal version {version}");
            assert_eq!(world.state_hash(), expected.state_hash(), "journal version {version}");
        }
    }
}

/// Compressed files are compared as this build compresses them: another version of the library may make other bytes of the same content.
#[test]
fn what_this_build_writes_is_the_newest_golden_file() {
    assert!(
        PLAYED.snapshot == golden("snapshot")[&world::SNAPSHOT_VERSION],
        "the snapshot's bytes have changed"
    );
    let journal = saved::encode_journal(&PLAYED.progress);
    assert!(journal == golden("journal")[&saved::JOURNAL_VERSION], "the journal's bytes have changed");
    assert!(saved::upgrade_image(&golden("image")[&saved::IMAGE_VERSION]).unwrap().is_none());

    let newest = &golden("recording")[&recording::VERSION];
    let mut recording = open(newest);
    let (about, end, config) = (recording.about().clone(), *recording.end(), recording.config());
    let first = recording.world().unwrap().snapshot();
    let mut writer = Writer::begin(Vec::new(), &about, &config.terrain, &config.scenery, &first).unwrap();
    recording.steps().unwrap().for_each(|step| writer.step(&step.unwrap()).unwrap());
    let (written, ..) = writer.finish(end.ending).unwrap();
    let (mut rewritten, mut golden) = (Vec::new(), Vec::new());
    assert!(!upgrade(&mut Cursor::new(&written), &mut rewritten).unwrap());
    assert!(!upgrade(&mut Cursor::new(newest), &mut golden).unwrap());
    assert!(rewritten == golden, "the recording's bytes have changed");
}

#[test]
fn an_upgrade_of_every_version_gives_what_this_build_writes() {
    for (version, snapshot) in golden("snapshot") {
        let upgraded = World::upgrade_snapshot(&snapshot).unwrap();
        assert_eq!(upgraded.is_none(), version == world::SNAPSHOT_VERSION);
        assert!(upgraded.unwrap_or(snapshot) == PLAYED.snapshot, "snapshot version {version}");
    }
    for (version, image) in golden("image") {
        let upgraded = saved::upgrade_image(&image).unwrap();
        assert_eq!(upgraded.is_none(), version == saved::IMAGE_VERSION);
        let Some(upgraded) = upgraded else { continue };
        assert!(upgraded == saved::encode_image(&PLAYED.snapshot), "image version {version}");
    }
    for (version, journal) in golden("journal") {
        let upgraded = saved::upgrade_journal(&journal).unwrap();
        assert_eq!(upgraded.is_none(), version == saved::JOURNAL_VERSION);
        let upgraded = upgraded.unwrap_or(journal);
        assert!(upgraded == saved::encode_journal(&PLAYED.progress), "journal version {version}");
    }
    for (version, recording) in golden("recording") {
        let mut upgraded = Vec::new();
        let has_changed = upgrade(&mut Cursor::new(&recording), &mut upgraded).unwrap();
        assert_eq!(has_changed, version != recording::VERSION);
        assert!(
            !upgrade(&mut Cursor::new(&upgraded), &mut Vec::new()).unwrap(),
            "an upgrade is the newest version"
        );
        let steps: Vec<Step> = open(&upgraded).steps().unwrap().map(Result::unwrap).collect();
        assert!(steps == PLAYED.steps, "recording version {version}");
    }
}

#[test]
fn a_golden_file_that_is_cut_off_or_altered_is_refused() {
    for (version, bytes) in golden("snapshot") {
        for at in (0..bytes.len()).step_by(97) {
            let restore = |bytes: &[u8]| World::restore(PLAYED.config.clone(), bytes).is_err();
            let mut altered = bytes.clone();
            altered[at] ^= 0x10;
            assert!(restore(&bytes[..at]) && restore(&altered), "snapshot version {version}, byte {at}");
        }
    }
    for (version, bytes) in golden("recording") {
        for at in (0..bytes.len()).step_by(997) {
            let refused = |bytes: &[u8]| {
                let is_upgraded = upgrade(&mut Cursor::new(bytes), &mut Vec::new()).is_ok();
                Recording::read(Cursor::new(bytes)).is_err() && !is_upgraded
            };
            let mut altered = bytes.clone();
            altered[at] ^= 0x10;
            assert!(refused(&bytes[..at]) && refused(&altered), "recording version {version}, byte {at}");
        }
    }
}
