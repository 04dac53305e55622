//! Contents of the file: records (layout in crate `record`), in this order.
//!
//! ```text
//! tag     body                                                                                          any number of
//! "ABOT"  About: which world, its NPCs and what it is made from (postcard)
//! "GRND"  ground: every height as f32, row by row from the south-west corner
//! "OBJS"  static objects (postcard)
//! "WRLD"  `World::snapshot`, which has records of its own
//! "CAST"  Inhabitants: a cast to which the world goes over in a later step (postcard)                    yes
//! "STEP"  some Steps, one behind the other (postcard)                                                   yes
//! "END "  End: how many steps and commands there are, and why no more
//! ```
//!
//! All bodies are deflated where that makes them shorter. A file without its last record was cut off.

use crate::steps1;
use game::MissionScript;
use ids::{Epoch, WorldId};
use link::{Scenery, Terrain};
use record::{END, Format, Part};
use serde::{Deserialize, Serialize};
use std::{fmt, ops::Range, sync::Arc};
use world::{NpcCast, Script, WorldConfig};

/// Version of the layout that is written; each part has a version of its own beside.
pub const VERSION: u16 = 5;

/// Versions up to 4 had chunks and no records.
pub(crate) const FORMAT: Format = Format {
    magic: *b"THRR",
    number: VERSION,
    reads: "4 and 5",
    name: "recording",
    // A snapshot of 10,000 dressed avatars is 13 MB (`cargo bench -p world --bench snapshot`).
    body_bytes_max: 256 << 20,
};

pub(crate) const ABOUT: Part = Part::new(*b"ABOT", "about");
pub(crate) const GROUND: Part = Part::new(*b"GRND", "ground");
pub(crate) const OBJECTS: Part = Part::new(*b"OBJS", "objects");
pub(crate) const SNAPSHOT: Part = Part::new(*b"WRLD", "world");
/// Its version rises when a command or a step changes its form. Version 2: every command has an author. Version 3: prims in commands have contents; solids of assets are commands.
pub(crate) const STEPS: Part =
    Part { upgrades: &[steps1::upgrade, record::unchanged], ..Part::new(*b"STEP", "steps") };

/// A later [`NpcCast`]. The tag is part of the file format, and keeps the name it was introduced with.
pub(crate) const CAST: Part = Part::new(*b"CAST", "cast");

/// All parts that this build knows.
pub(crate) const PARTS: [&Part; 7] = [&ABOUT, &GROUND, &OBJECTS, &SNAPSHOT, &CAST, &STEPS, &END];

/// The recorded world and its ingredients.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct About {
    /// Name of its region.
    pub name: String,
    /// The build that recorded it; another one may behave differently, and says so by the first tick that differs.
    pub build: String,
    /// Unix time at which the recording began, seconds.
    pub recorded_at_unix_s: u64,
    /// CLOCK_MONOTONIC of the machine at the server's time 0, in nanoseconds; 0 where time is virtual.
    pub clock_zero_ns: u64,
    /// Its number on the node.
    pub id: WorldId,
    /// Its life.
    pub epoch: Epoch,
    /// Width and depth in metres.
    pub size_m: u32,
    /// Local ids that it may hand out.
    pub local_ids: Range<u32>,
    /// Height of the water, metres.
    pub water_m: f32,
    /// Avatars that it lets in.
    pub max_avatars: u32,
    /// Seed of the world's random numbers.
    pub seed: u64,
    /// [`Terrain::fingerprint`] of the ground.
    pub terrain: u64,
    /// [`Scenery::fingerprint`] of its static objects.
    pub scenery: u64,
    /// Number of static objects.
    pub n_objects: u32,
    /// Its NPCs, if it has any.
    pub inhabitants: Option<Inhabitants>,
}

/// Ingredients of a world's cast beside its ground and static objects: the walkable area is computed anew.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Inhabitants {
    /// [`NpcCast::fingerprint`]. A build that makes another cast of the same script cannot replay the world.
    pub fingerprint: u64,
    /// Files of behaviours and all, but the game.
    pub script: Script,
    /// The game that its visitors played.
    pub game: MissionScript,
}

impl Inhabitants {
    /// Describes a cast.
    #[must_use]
    pub fn of(cast: &NpcCast) -> Self {
        Self {
            fingerprint: cast.fingerprint(),
            script: cast.script().clone(),
            game: MissionScript::of(cast).cloned().unwrap_or_default(),
        }
    }

    /// The script, with its game.
    pub(crate) fn whole_script(&self) -> Script {
        Script { game: self.game.clone().into_source(), ..self.script.clone() }
    }
}

impl About {
    /// Describes a world.
    #[must_use]
    pub fn new(name: &str, build: &str, recorded_at_unix_s: u64, config: &WorldConfig) -> Self {
        Self {
            name: name.to_owned(),
            build: build.to_owned(),
            recorded_at_unix_s,
            clock_zero_ns: 0,
            id: config.id,
            epoch: config.epoch,
            size_m: config.size_m,
            local_ids: config.local_ids.clone(),
            water_m: config.water_m,
            max_avatars: u32::try_from(config.max_avatars).unwrap_or(u32::MAX),
            seed: config.seed,
            terrain: config.terrain.fingerprint(),
            scenery: config.scenery.fingerprint(),
            n_objects: u32::try_from(config.scenery.len()).unwrap_or(u32::MAX),
            inhabitants: config.cast.as_ref().map(|cast| Inhabitants::of(cast)),
        }
    }

    /// Configuration of the replayed world.
    pub(crate) fn config(
        &self,
        terrain: Arc<Terrain>,
        scenery: Arc<Scenery>,
        cast: Option<Arc<NpcCast>>,
    ) -> WorldConfig {
        WorldConfig {
            id: self.id,
            epoch: self.epoch,
            size_m: self.size_m,
            local_ids: self.local_ids.clone(),
            terrain,
            scenery,
            objects: None,
            land: None,
            cast,
            water_m: self.water_m,
            max_avatars: self.max_avatars as usize,
            seed: self.seed,
        }
    }

    /// True if a world can be made from it, so that nothing asserts later.
    pub(crate) fn is_sound(&self) -> bool {
        let n_npcs = self.inhabitants.as_ref().map_or(0, |inhabitants| inhabitants.script.spawns.len());
        let ids_needed = self.max_avatars as usize + self.n_objects as usize + n_npcs;
        self.local_ids.len() > ids_needed && self.water_m.is_finite()
    }
}

/// The last record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Steps in the file.
    pub steps: u64,
    /// Commands in all of them.
    pub commands: u64,
    /// Reason for the end.
    pub ending: Ending,
}

/// Reasons for which a recording ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// The time that was asked for had passed.
    Complete,
    /// The world was stopped, with its server.
    Stopped,
    /// Steps came faster than they were written, and the world does not wait.
    QueueFull,
    /// The world panicked in the last step.
    Panicked,
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Complete => "complete",
            Self::Stopped => "ended early: the world was stopped",
            Self::QueueFull => "ended early: steps came faster than they could be written",
            Self::Panicked => "ended early: the world panicked in the last step",
        })
    }
}
