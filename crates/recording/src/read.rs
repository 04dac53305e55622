//! Reading a recording: the whole file is checked before anything is made of it.

use crate::chunk::{self, Chain, Kind};
use crate::format::{About, End, Inhabitants, MAGIC, Step, VERSION};
use link::{Scenery, SceneryError, Standing, Terrain, TerrainError};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use world::{Cast, CastErrors, RestoreError, World, WorldConfig};

/// Why bytes are no recording, or none that this build can replay.
#[derive(Debug, Error)]
pub enum RecordingError {
    /// The file cannot be opened.
    #[error("cannot open {path}: {source}")]
    Open {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Reading failed.
    #[error("cannot read the recording: {0}")]
    Io(#[from] io::Error),
    /// Something else.
    #[error("not a recording")]
    NotARecording,
    /// Another build wrote it.
    #[error("recording version {found}, this build reads {VERSION}")]
    Version {
        /// What it is.
        found: u32,
    },
    /// It ends before its end.
    #[error("the recording was cut off")]
    CutOff,
    /// A checksum does not match.
    #[error("the recording is damaged")]
    Damaged,
    /// The checksums match and the content does not: we wrote nonsense.
    #[error("the recording cannot be decoded: {0}")]
    Undecodable(&'static str),
    /// Its ground is none.
    #[error("the recording has no ground: {0}")]
    Terrain(#[from] TerrainError),
    /// Its ground is another than the world's.
    #[error("the recording carries terrain {found:016x}, and its world stood on {expected:016x}")]
    OtherTerrain {
        /// What the world stood on.
        expected: u64,
        /// What is there.
        found: u64,
    },
    /// What stood on it cannot be.
    #[error("the recording's objects are none: {0}")]
    Scenery(#[from] SceneryError),
    /// Other objects than the world's.
    #[error("the recording carries scenery {found:016x}, and its world had {expected:016x}")]
    OtherScenery {
        /// What stood in the world.
        expected: u64,
        /// What is there.
        found: u64,
    },
    /// Those who lived in it cannot be.
    #[error("nobody can live in the recording's world as it says: {0}")]
    Cast(#[from] CastErrors),
    /// Others than the world's: their behaviours or their ways are made otherwise by this build.
    #[error(
        "the recording makes cast {found:016x}, and its world had {expected:016x}: another build recorded it"
    )]
    OtherCast {
        /// Who lived in the world.
        expected: u64,
        /// What is made of the same script here.
        found: u64,
    },
    /// The world that it begins with cannot be restored.
    #[error("the world of the recording cannot be restored: {0}")]
    Restore(#[from] RestoreError),
}

/// A recording, checked from end to end.
#[derive(Debug)]
pub struct Recording<R = BufReader<File>> {
    input: R,
    about: About,
    terrain: Arc<Terrain>,
    scenery: Arc<Scenery>,
    cast: Option<Arc<Cast>>,
    snapshot: Vec<u8>,
    end: End,
    /// Where the steps begin: offset, and the checksum before them.
    steps_at: u64,
    chain: Chain,
}

impl Recording {
    /// Opens a file.
    ///
    /// # Errors
    /// [`RecordingError`]; a file of another version, cut off or damaged is refused whole.
    pub fn open(path: &Path) -> Result<Self, RecordingError> {
        let file =
            File::open(path).map_err(|source| RecordingError::Open { path: path.to_owned(), source })?;
        Self::read(BufReader::new(file))
    }
}

impl<R: Read + Seek> Recording<R> {
    /// Reads from anything.
    ///
    /// # Errors
    /// As [`Recording::open`].
    pub fn read(mut input: R) -> Result<Self, RecordingError> {
        let mut preamble = Vec::with_capacity(8);
        input.by_ref().take(8).read_to_end(&mut preamble)?;
        let Some((&MAGIC, version)) = preamble.split_first_chunk::<4>() else {
            return Err(RecordingError::NotARecording);
        };
        match version.first_chunk::<4>().map(|version| u32::from_le_bytes(*version)) {
            Some(VERSION) => {}
            Some(found) => return Err(RecordingError::Version { found }),
            None => return Err(RecordingError::NotARecording),
        }
        let mut chain = Chain::default();
        let mut raw = Vec::new();
        let expect = |input: &mut R, chain: &mut Chain, raw: &mut Vec<u8>, expected: Kind| match chunk::read(
            input, chain, raw,
        )? {
            Some(kind) if kind == expected => Ok(()),
            Some(_) => Err(RecordingError::Undecodable("chunks in another order")),
            None => Err(RecordingError::CutOff),
        };
        expect(&mut input, &mut chain, &mut raw, Kind::About)?;
        let about: About =
            postcard::from_bytes(&raw).map_err(|_| RecordingError::Undecodable("what it is about"))?;
        if !about.is_sound() {
            return Err(RecordingError::Undecodable("a world that cannot be"));
        }
        expect(&mut input, &mut chain, &mut raw, Kind::Ground)?;
        let terrain = Arc::new(Terrain::from_r32(about.size_m, &raw)?);
        if terrain.fingerprint() != about.terrain {
            let (expected, found) = (about.terrain, terrain.fingerprint());
            return Err(RecordingError::OtherTerrain { expected, found });
        }
        expect(&mut input, &mut chain, &mut raw, Kind::Objects)?;
        let prims: Vec<Standing> = postcard::from_bytes(&raw)
            .map_err(|_| RecordingError::Undecodable("what stands in the world"))?;
        let scenery = Arc::new(Scenery::new(prims)?);
        if (scenery.fingerprint(), scenery.len()) != (about.scenery, about.n_objects as usize) {
            let (expected, found) = (about.scenery, scenery.fingerprint());
            return Err(RecordingError::OtherScenery { expected, found });
        }
        expect(&mut input, &mut chain, &mut raw, Kind::Snapshot)?;
        let snapshot = std::mem::take(&mut raw);
        let steps_at = input.stream_position()?;
        let first_steps = chain;
        let end = check_steps(&mut input, &mut chain, &mut raw)?;
        // It takes a while, so that whatever is quicker found wrong comes first.
        let cast = cast(&about, &terrain, &scenery)?;
        Ok(Self { input, about, terrain, scenery, cast, snapshot, end, steps_at, chain: first_steps })
    }

    /// Which world it is of.
    pub const fn about(&self) -> &About {
        &self.about
    }

    /// What it holds, and why it ended.
    pub const fn end(&self) -> &End {
        &self.end
    }

    /// What its world is made from, ground and scenery and all.
    #[must_use]
    pub fn config(&self) -> WorldConfig {
        self.about.config(Arc::clone(&self.terrain), Arc::clone(&self.scenery), self.cast.clone())
    }

    /// The world as it was before the first step.
    ///
    /// # Errors
    /// [`RecordingError::Restore`] when this build cannot make it again.
    pub fn world(&self) -> Result<World, RecordingError> {
        Ok(World::restore(self.config(), &self.snapshot)?)
    }

    /// Every step from the first one on, as often as you like. Each is read and decoded when it is asked for.
    ///
    /// # Errors
    /// When the file cannot be read any more.
    pub fn steps(&mut self) -> Result<Steps<'_, R>, RecordingError> {
        self.input.seek(SeekFrom::Start(self.steps_at))?;
        Ok(Steps { input: &mut self.input, chain: self.chain, raw: Vec::new(), at: 0, is_over: false })
    }
}

/// Those who lived in it.
fn cast(about: &About, terrain: &Terrain, scenery: &Scenery) -> Result<Option<Arc<Cast>>, RecordingError> {
    let Some(Inhabitants { fingerprint, script }) = &about.inhabitants else { return Ok(None) };
    let cast = Cast::new(script.clone(), terrain, scenery, about.water_m, &mut || true)?;
    let (expected, found) = (*fingerprint, cast.fingerprint());
    if found != expected {
        return Err(RecordingError::OtherCast { expected, found });
    }
    Ok(Some(Arc::new(cast)))
}

/// The steps of a recording in order.
#[derive(Debug)]
pub struct Steps<'a, R> {
    input: &'a mut R,
    chain: Chain,
    raw: Vec<u8>,
    /// How much of `raw` has been decoded.
    at: usize,
    is_over: bool,
}

impl<R: Read> Iterator for Steps<'_, R> {
    type Item = Result<Step, RecordingError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let step = self.decode_next();
        self.is_over = !matches!(step, Ok(Some(_)));
        step.transpose()
    }
}

impl<R: Read> Steps<'_, R> {
    fn decode_next(&mut self) -> Result<Option<Step>, RecordingError> {
        while self.at == self.raw.len() {
            self.at = 0;
            match chunk::read(self.input, &mut self.chain, &mut self.raw)? {
                Some(Kind::Steps) => {}
                Some(_) => return Ok(None),
                // It was there when the file was opened.
                None => return Err(RecordingError::CutOff),
            }
        }
        let (step, rest) = decode_step(&self.raw[self.at..])?;
        self.at = self.raw.len() - rest.len();
        Ok(Some(step))
    }
}

/// A world takes no longer step.
const STEP_MAX: Duration = Duration::from_secs(1);

fn decode_step(bytes: &[u8]) -> Result<(Step, &[u8]), RecordingError> {
    let (step, rest): (Step, _) =
        postcard::take_from_bytes(bytes).map_err(|_| RecordingError::Undecodable("a step"))?;
    if step.dt.is_zero() || step.dt > STEP_MAX || !(0.0..=1.0).contains(&step.dilation) {
        return Err(RecordingError::Undecodable("a step of no possible length"));
    }
    Ok((step, rest))
}

/// Reads every chunk of steps once, and the end.
fn check_steps(input: &mut impl Read, chain: &mut Chain, raw: &mut Vec<u8>) -> Result<End, RecordingError> {
    let (mut steps, mut commands) = (0, 0);
    let mut panicked = false;
    let end: End = loop {
        match chunk::read(input, chain, raw)?.ok_or(RecordingError::CutOff)? {
            Kind::Steps => {
                let mut rest = raw.as_slice();
                while !rest.is_empty() {
                    let (step, behind) = decode_step(rest)?;
                    if panicked {
                        return Err(RecordingError::Undecodable("a step behind the one that panicked"));
                    }
                    panicked = step.state_hash.is_none();
                    steps += 1;
                    commands += step.commands.len() as u64;
                    rest = behind;
                }
            }
            Kind::End => {
                break postcard::from_bytes(raw).map_err(|_| RecordingError::Undecodable("its end"))?;
            }
            Kind::About | Kind::Ground | Kind::Objects | Kind::Snapshot => {
                return Err(RecordingError::Undecodable("chunks in another order"));
            }
        }
    };
    if (end.steps, end.commands) != (steps, commands) {
        return Err(RecordingError::Undecodable("fewer or more steps than its end says"));
    }
    if chunk::read(input, chain, raw)?.is_some() {
        return Err(RecordingError::Undecodable("something behind its end"));
    }
    Ok(end)
}
