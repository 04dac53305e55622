//! Writes the golden files of the newest version of each format, from the oldest golden recording:
//! `cargo run -p recording --example formats -- crates/recording/tests/formats`.
//!
//! Only for a format whose version has just risen: files of earlier versions are never written again. `tests/formats/README.md` says which
//! moment of the recording each file is of.

use recording::{Recording, Replay, Writer};
use std::io::{self, Cursor};
use std::path::PathBuf;
use world::saved;

/// Step of the recording behind which snapshot and image are taken; the journal is of the end.
const SAVED_BEHIND: usize = 150;

fn main() -> io::Result<()> {
    let directory: PathBuf =
        std::env::args_os().nth(1).ok_or_else(|| io::Error::other("usage: formats DIRECTORY"))?.into();
    let oldest = std::fs::read(directory.join("recording-4.throngrec"))?;
    let mut recording = Recording::read(Cursor::new(oldest)).map_err(io::Error::other)?;
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
            std::fs::write(
                directory.join(format!("image-{}", saved::IMAGE_VERSION)),
                saved::encode_image(&snapshot),
            )?;
            std::fs::write(directory.join(format!("snapshot-{}", world::SNAPSHOT_VERSION)), snapshot)?;
        }
    }
    let mut progress = Vec::new();
    replay.world().progress(&mut progress);
    let journal = saved::encode_journal(&progress);
    std::fs::write(directory.join(format!("journal-{}", saved::JOURNAL_VERSION)), journal)?;
    let (bytes, ..) = writer.finish(end.ending)?;
    std::fs::write(directory.join(format!("recording-{}.throngrec", recording::VERSION)), bytes)
}
