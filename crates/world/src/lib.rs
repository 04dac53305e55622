//! Entities, movement and terrain of one region: authoritative, single-threaded, deterministic.
//!
//! It knows no packets, sockets or bandwidth, owns no thread and reads no clock. [`Command`]s go in, one [`Frame`] a tick comes
//! out; start with [`World::step`]. Everything here is a function of the commands and the seed.

pub mod animations;
mod arrivals;
mod chat;
mod command;
mod contacts;
mod counters;
mod delta;
mod frame;
mod gait;
mod game;
mod generate;
mod ground;
mod inbox;
mod life;
mod local_ids;
mod movement;
mod npc;
mod outcome;
mod periods;
mod presence;
mod resync;
mod roster;
mod scenery;
mod setting;
mod snapshot;
mod terrain;
mod world;

pub use chat::CHAT_BYTES_MAX;
pub use command::*;
pub use counters::WorldCounters;
pub use frame::*;
pub use gait::{
    CROUCH_M_PER_S, FLY_M_PER_S, FLY_VERTICAL_M_PER_S, RUN_M_PER_S, SUB_STEPS_PER_S, WALK_M_PER_S,
};
pub use game::{
    HEALTH_MAX, MISSIONS_MAX, Mission, MissionFault, MissionFaults, MissionProblem, MissionStatus,
    ProgressError, WAYPOINTS_MAX, Waypoint,
};
pub use generate::{PLAZA_M, WATER_M};
pub use ground::{BORDER_MARGIN_M, CEILING_M};
pub use life::{Beginning, Fault, Life};
pub use npc::{
    Actor, Cast, CastError, CastErrors, Looks, LooksError, NpcCounts, Recast, RecastRefusal, Script, Spawn,
};
pub use outcome::NPCS_MAX;
pub use resync::CHUNK_ENTITIES_MAX;
pub use scenery::{Prim, Scenery, SceneryError, Standing};
pub use snapshot::{Checkpoint, IdsUsed, RestoreError};
pub use terrain::{Terrain, TerrainError};
pub use world::{World, WorldConfig};
