//! Reading a recording: the whole file is checked before anything is made of it.

use crate::error::RecordingError;
use crate::format::{ABOUT, About, CAST, End, FORMAT, GROUND, Inhabitants, OBJECTS, SNAPSHOT, STEPS};
use crate::source::{Reach, RecordSource};
use crate::step::Step;
use link::{Scenery, StaticObject, Terrain};
use record::{END, Part, RecordError};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use world::{NpcCast, World, WorldConfig};

/// A recording, checked from end to end.
#[derive(Debug)]
pub struct Recording<R = BufReader<File>> {
    input: R,
    about: About,
    terrain: Arc<Terrain>,
    scenery: Arc<Scenery>,
    cast: Option<Arc<NpcCast>>,
    /// To which the world goes over, in the order of their records.
    later_casts: Vec<Arc<NpcCast>>,
    snapshot: Vec<u8>,
    end: End,
    /// The steps, from their first record on.
    steps_at: RecordSource,
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
        let mut source = RecordSource::begin(&mut input, Reach::Previous)?;
        let mut raw = Vec::new();
        let mut expect = |input: &mut R, raw: &mut Vec<u8>, expected: &Part| {
            let offset = source.offset();
            match source.read(input, raw)? {
                Some((part, _)) if part.tag == expected.tag => Ok(source),
                Some((part, _)) => Err(out_of_order(part, offset)),
                None => Err(cut_off(offset)),
            }
        };
        expect(&mut input, &mut raw, &ABOUT)?;
        let about: About =
            postcard::from_bytes(&raw).map_err(|_| RecordingError::Undecodable("what it is about"))?;
        if !about.is_sound() {
            return Err(RecordingError::Undecodable("a world that cannot be"));
        }
        expect(&mut input, &mut raw, &GROUND)?;
        let terrain = Arc::new(Terrain::from_r32(about.size_m, &raw)?);
        if terrain.fingerprint() != about.terrain {
            let (expected, found) = (about.terrain, terrain.fingerprint());
            return Err(RecordingError::OtherTerrain { expected, found });
        }
        expect(&mut input, &mut raw, &OBJECTS)?;
        let prims: Vec<StaticObject> = postcard::from_bytes(&raw)
            .map_err(|_| RecordingError::Undecodable("what stands in the world"))?;
        let scenery = Arc::new(Scenery::new(prims)?);
        if (scenery.fingerprint(), scenery.len()) != (about.scenery, about.n_objects as usize) {
            let (expected, found) = (about.scenery, scenery.fingerprint());
            return Err(RecordingError::OtherScenery { expected, found });
        }
        let steps_at = expect(&mut input, &mut raw, &SNAPSHOT)?;
        let snapshot = std::mem::take(&mut raw);
        let (end, later) = check_steps(&mut input, steps_at, &mut raw)?;
        // It is slow, so that cheaper checks come first.
        let cast = cast(&about, &terrain, &scenery)?;
        let later_casts = match &cast {
            Some(cast) => {
                later.iter().map(|one| later_cast(cast, one, &terrain)).collect::<Result<_, _>>()?
            }
            None if later.is_empty() => Vec::new(),
            None => return Err(RecordingError::Undecodable("another cast of a world without one")),
        };
        Ok(Self { input, about, terrain, scenery, cast, later_casts, snapshot, end, steps_at })
    }

    /// Description of its world.
    pub const fn about(&self) -> &About {
        &self.about
    }

    /// Its totals and the reason for its end.
    pub const fn end(&self) -> &End {
        &self.end
    }

    /// Configuration of its world, with ground and scenery.
    #[must_use]
    pub fn config(&self) -> WorldConfig {
        self.about.config(Arc::clone(&self.terrain), Arc::clone(&self.scenery), self.cast.clone())
    }

    /// Casts to which the world goes over in its steps.
    #[must_use]
    pub fn later_casts(&self) -> &[Arc<NpcCast>] {
        &self.later_casts
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
        self.input.seek(SeekFrom::Start(self.steps_at.offset()))?;
        Ok(Steps { input: &mut self.input, source: self.steps_at, raw: Vec::new(), at: 0, is_over: false })
    }
}

/// The NPCs that lived in it.
fn cast(about: &About, terrain: &Terrain, scenery: &Scenery) -> Result<Option<Arc<NpcCast>>, RecordingError> {
    let Some(inhabitants) = &about.inhabitants else { return Ok(None) };
    let cast = NpcCast::new(inhabitants.whole_script(), terrain, scenery, about.water_m, &mut || true)?;
    has_fingerprint(inhabitants, cast).map(Some)
}

/// A cast on the same ground, whose walkable area is that of the first one.
fn later_cast(
    first: &NpcCast,
    later: &Inhabitants,
    terrain: &Terrain,
) -> Result<Arc<NpcCast>, RecordingError> {
    has_fingerprint(later, first.with_script(later.whole_script(), terrain)?)
}

fn has_fingerprint(inhabitants: &Inhabitants, cast: NpcCast) -> Result<Arc<NpcCast>, RecordingError> {
    let (expected, found) = (inhabitants.fingerprint, cast.fingerprint());
    if found == expected { Ok(Arc::new(cast)) } else { Err(RecordingError::OtherCast { expected, found }) }
}

/// The steps of a recording in order.
#[derive(Debug)]
pub struct Steps<'a, R> {
    input: &'a mut R,
    source: RecordSource,
    raw: Vec<u8>,
    /// Decoded length of `raw`, in bytes.
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
            let offset = self.source.offset();
            match self.source.read(self.input, &mut self.raw)? {
                Some((part, _)) if part.tag == STEPS.tag => {}
                Some((part, _)) if part.tag == CAST.tag => self.raw.clear(),
                Some(_) => return Ok(None),
                // It was there when the file was opened.
                None => return Err(cut_off(offset)),
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

/// Reads every record of steps and casts once, and the end.
fn check_steps(
    input: &mut impl Read,
    mut source: RecordSource,
    raw: &mut Vec<u8>,
) -> Result<(End, Vec<Inhabitants>), RecordingError> {
    let (mut steps, mut commands) = (0, 0);
    let mut casts: Vec<Inhabitants> = Vec::new();
    let mut panicked = false;
    let end: End = loop {
        let offset = source.offset();
        let (part, _) = source.read(input, raw)?.ok_or_else(|| cut_off(offset))?;
        if part.tag == END.tag {
            break postcard::from_bytes(raw).map_err(|_| RecordingError::Undecodable("its end"))?;
        }
        if part.tag == CAST.tag {
            casts.push(postcard::from_bytes(raw).map_err(|_| RecordingError::Undecodable("a cast"))?);
            continue;
        }
        if part.tag != STEPS.tag {
            return Err(out_of_order(part, offset));
        }
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
    };
    if (end.steps, end.commands) != (steps, commands) {
        return Err(RecordingError::Undecodable("fewer or more steps than its end says"));
    }
    check_end(input, source, raw)?;
    Ok((end, casts))
}

/// Nothing may follow the end.
pub(crate) fn check_end(
    input: &mut impl Read,
    mut source: RecordSource,
    raw: &mut Vec<u8>,
) -> Result<(), RecordingError> {
    let offset = source.offset();
    match source.read(input, raw)? {
        Some(_) => Err(RecordError::TooLong { format: FORMAT.name, offset }.into()),
        None => Ok(()),
    }
}

pub(crate) const fn cut_off(offset: u64) -> RecordingError {
    RecordingError::Bytes(RecordError::CutOff { format: FORMAT.name, offset })
}

const fn out_of_order(part: &Part, offset: u64) -> RecordingError {
    RecordingError::Bytes(RecordError::OutOfOrder { tag: part.tag, offset })
}
