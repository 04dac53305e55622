//! Scenes of observers at the end of a run, as a file ([`crate::record_file`]): the displayed prims, and when each was displayed first. They are
//! to be compared with the objects that the region really has.

use crate::agent::Agent;
use crate::prims::{PrimArrival, PrimCounters};
use crate::record_file::FileKind;
use glam::Vec3;
use ids::{Instant, LocalId};
use serde::{Deserialize, Serialize};
use wire::messages::{MessageNumber, ObjectUpdate, ObjectUpdateCompressed};

/// Files of [`SceneRecord`].
pub const SCENES_FILE: FileKind = FileKind { magic: *b"THRS", version: 1 };

/// A displayed prim.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShownPrim {
    /// The prim.
    pub id: LocalId,
    /// Checksum of the displayed version.
    pub crc: u32,
    /// Metres from the region's corner, or from the root of its linkset.
    pub position: Vec3,
    /// Message that showed it last.
    pub form: ShownForm,
}

/// Message that showed a prim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShownForm {
    /// ObjectUpdate.
    Full,
    /// ObjectUpdateCompressed.
    Compressed,
    /// ObjectUpdateCached: it was displayed from the viewer's cache.
    Cached,
}

impl ShownForm {
    const fn of(number: MessageNumber) -> Self {
        match number {
            ObjectUpdate::NUMBER => Self::Full,
            ObjectUpdateCompressed::NUMBER => Self::Compressed,
            _ => Self::Cached,
        }
    }
}

/// The scene of an observer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SceneRecord {
    /// The observer's number among the bots of its process.
    pub observer: u32,
    /// Time at which the server placed its avatar.
    pub placed_at: Instant,
    /// Its avatar, metres from the region's corner.
    pub eye: Vec3,
    /// The order in which prims were displayed first.
    pub arrivals: Vec<PrimArrival>,
    /// Prims that are displayed at the end, by local id.
    pub shown: Vec<ShownPrim>,
    /// Blocks of ObjectUpdate, ObjectUpdateCompressed and ObjectUpdateCached that it received.
    pub blocks: [u64; 3],
    /// Prims that it asked for because its cache lacked them.
    pub misses: u64,
    /// Prims in its cache at the end; 0 without a cache.
    pub kept: u64,
}

impl SceneRecord {
    /// The scene of a bot, if it observes and was placed.
    #[must_use]
    pub fn of(now: Instant, observer: u32, agent: &Agent) -> Option<Self> {
        let (placed_at, prims) = agent.placed_at().zip(agent.observer().map(|observer| observer.prims()))?;
        let &PrimCounters { blocks, misses, .. } = prims.counters();
        let shown = prims.prims().map(|(id, prim)| ShownPrim {
            id,
            crc: prim.crc,
            position: prim.position,
            form: ShownForm::of(prim.form),
        });
        Some(Self {
            observer,
            placed_at,
            eye: agent.position(now),
            arrivals: prims.arrivals().to_vec(),
            shown: shown.collect(),
            blocks,
            misses,
            kept: prims.cache().map_or(0, |cache| cache.len() as u64),
        })
    }
}
