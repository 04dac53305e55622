//! Writes the golden files of the newest version of each format, from the oldest golden recording:
//! `cargo run -p recording --example formats -- crates/recording/tests/formats`.
//!
//! A file has the name of the versions in it; an existing file is never written again. `tests/formats/README.md` says which moment
//! of the recording each file is of.

#[path = "../tests/support/golden_name.rs"]
mod golden_name;

use golden_name::golden_name;
use recording::{Recording, Replay, Writer, upgrade};
use std::io::{self, Cursor};
use std::path::{Path, PathBuf};
use world::saved;

/// Step of the recording behind which snapshot and image are taken; the journal is of the end.
const SAVED_BEHIND: usize = 150;

fn main() -> io::Result<()> {
    let directory: PathBuf =
        std::env::args_os().nth(1).ok_or_else(|| io::Error::other("usage: formats DIRECTORY"))?.into();
    let oldest = std::fs::read(directory.join("recording-4.throngrec"))?;
    // It is older than what is read without an upgrade.
    let mut newest = Vec::new();
    upgrade(&mut Cursor::new(oldest), &mut newest).map_err(io::Error::other)?;
    let mut recording = Recording::read(Cursor::new(newest)).map_err(io::Error::other)?;
    let mut replay = Replay::new(&recording).map_err(io::Error::other)?;
    let config = recording.config();
    let (about, end) = (recording.about().clone(), *recording.end());
    let snapshot = replay.world().snapshot();
    let mut writer = Writer::begin(Vec::new(), &about, &config.terrain, &config.scenery, &snapshot)?;
    for (n, step) in (1..).zip(recording.steps().map_err(io::Error::other)?) {
        let step = step.map_err(io::Error::other)?;
        writer.step(&step)?;
        replay.step(step);
        if n == SAVED_BEHIND {
            let snapshot = replay.world().snapshot();
            write_new(&directory, "image", "", &saved::encode_image(&snapshot))?;
            write_new(&directory, "snapshot", "", &snapshot)?;
        }
    }
    let mut progress = Vec::new();
    replay.world().progress(&mut progress);
    let journal = saved::encode_journal(&progress);
    write_new(&directory, "journal", "", &journal)?;
    let (bytes, ..) = writer.finish(end.ending)?;
    write_new(&directory, "recording", ".throngrec", &bytes)
}

/// Writes a golden file, unless there is one of its versions.
fn write_new(directory: &Path, format: &str, ending: &str, bytes: &[u8]) -> io::Result<()> {
    let path = directory.join(golden_name(format, bytes) + ending);
    if path.exists() { Ok(()) } else { std::fs::write(path, bytes) }
}
