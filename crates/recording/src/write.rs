//! From a running world's [`Reel`] to a file.

use crate::format::{ABOUT, About, CAST, End, Ending, FORMAT, GROUND, Inhabitants, OBJECTS, SNAPSHOT, STEPS};
use crate::step::Step;
use crate::tape::{Reel, Taped};
use link::{Scenery, Terrain};
use record::{END, Part, RecordBuffer};
use std::io::{self, Write};
use thiserror::Error;
use world::NpcCast;

/// Steps of one record at most, six seconds at 20 Hz: bounds the memory of a reader and the loss of a file that is cut off.
const RECORD_STEPS_MAX: u32 = 128;
/// A record ends with the step that makes it longer, bytes before compression.
const RECORD_BYTES: usize = 256 << 10;

/// Reasons for which a recording could not be written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The world ended before it gave its first state.
    #[error("the world stopped before the recording began")]
    NeverBegan,
    /// The disk, most likely: full, or read-only.
    #[error("cannot write the recording: {0}")]
    Io(#[from] io::Error),
}

/// Writes a recording piece by piece.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    records: RecordBuffer,
    /// Steps that make no record yet.
    raw: Vec<u8>,
    n_raw: u32,
    end: End,
    bytes: u64,
    /// Fingerprints of casts that are in the file.
    casts: Vec<u64>,
}

impl<W: Write> Writer<W> {
    /// Writes the records before the steps.
    ///
    /// # Errors
    /// If `out` takes no more.
    pub fn begin(
        out: W,
        about: &About,
        terrain: &Terrain,
        scenery: &Scenery,
        snapshot: &[u8],
    ) -> io::Result<Self> {
        let end = End { steps: 0, commands: 0, ending: Ending::Stopped };
        let records = RecordBuffer::new(&FORMAT);
        let mut writer = Self { out, records, raw: Vec::new(), n_raw: 0, end, bytes: 0, casts: Vec::new() };
        writer.casts.extend(about.inhabitants.as_ref().map(|inhabitants| inhabitants.fingerprint));
        writer.record(&ABOUT, &encode(about))?;
        writer.record(&GROUND, &terrain.to_r32())?;
        writer.record(&OBJECTS, &encode(&scenery.prims()))?;
        writer.record(&SNAPSHOT, snapshot)?;
        Ok(writer)
    }

    /// Adds a cast to which the world goes over in a later step, unless the file has it.
    ///
    /// # Errors
    /// When `out` takes no more.
    pub fn cast(&mut self, cast: &NpcCast) -> io::Result<()> {
        let fingerprint = cast.fingerprint();
        if self.casts.contains(&fingerprint) {
            return Ok(());
        }
        self.casts.push(fingerprint);
        self.flush_steps()?;
        self.record(&CAST, &encode(&Inhabitants::of(cast)))
    }

    /// Adds a step.
    ///
    /// # Errors
    /// When `out` takes no more.
    pub fn step(&mut self, step: &Step) -> io::Result<()> {
        let raw = std::mem::take(&mut self.raw);
        self.raw = postcard::to_extend(step, raw).expect("plain data in memory always encodes");
        self.n_raw += 1;
        self.end.steps += 1;
        self.end.commands += step.commands.len() as u64;
        if self.n_raw >= RECORD_STEPS_MAX || self.raw.len() >= RECORD_BYTES {
            self.flush_steps()?;
        }
        Ok(())
    }

    /// Writes the end. Returns the output, the recording's totals and its length in bytes.
    ///
    /// # Errors
    /// [`io::Error`] of `out`.
    pub fn finish(mut self, ending: Ending) -> io::Result<(W, End, u64)> {
        self.flush_steps()?;
        self.end.ending = ending;
        let end = self.end;
        self.record(&END, &encode(&end))?;
        self.out.flush()?;
        Ok((self.out, end, self.bytes))
    }

    fn flush_steps(&mut self) -> io::Result<()> {
        if self.n_raw == 0 {
            return Ok(());
        }
        let mut raw = std::mem::take(&mut self.raw);
        self.record(&STEPS, &raw)?;
        raw.clear();
        self.raw = raw;
        self.n_raw = 0;
        Ok(())
    }

    /// The fastest level of compression: it runs beside a loaded server, and repeated commands shrink even so.
    fn record(&mut self, part: &Part, raw: &[u8]) -> io::Result<()> {
        self.records.push_deflated(part, raw);
        let bytes = self.records.take_bytes();
        self.bytes += bytes.len() as u64;
        self.out.write_all(&bytes)
    }
}

/// Writes the contents of a world's tape, to the end: on a thread of its own, since it waits for the disk.
///
/// # Errors
/// [`WriteError`]; the world's end of the tape notices and stops.
pub fn write<W: Write>(
    reel: &Reel,
    about: &About,
    terrain: &Terrain,
    scenery: &Scenery,
    out: W,
) -> Result<(W, End, u64), WriteError> {
    let checkpoint = reel.beginning().ok_or(WriteError::NeverBegan)?;
    // The world may have begun again since the recording was asked for.
    let about = About { epoch: checkpoint.epoch(), ..about.clone() };
    let mut writer = Writer::begin(out, &about, terrain, scenery, &checkpoint.encode())?;
    drop(checkpoint);
    for Taped { step, cast } in reel.steps() {
        if let Some(cast) = cast {
            writer.cast(&cast)?;
        }
        writer.step(&step)?;
    }
    Ok(writer.finish(reel.ending())?)
}

fn encode(value: &impl serde::Serialize) -> Vec<u8> {
    postcard::to_extend(value, Vec::new()).expect("plain data in memory always encodes")
}
