//! Entities, movement and terrain of one region: authoritative, single-threaded, deterministic.
//!
//! It knows no packets, sockets or bandwidth, owns no thread and reads no clock. [`link::Command`]s go in, one [`link::Frame`] a
//! tick comes out; start with [`World::step`]. Everything here is a function of the commands and the seed.

pub mod animations;
mod arrivals;
mod chat;
mod contacts;
mod counters;
mod delta;
mod gait;
mod game;
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
pub mod saved;
mod setting;
mod snapshot;
mod world;

pub use counters::WorldCounters;
pub use gait::{
    CROUCH_M_PER_S, FLY_M_PER_S, FLY_VERTICAL_M_PER_S, RUN_M_PER_S, SUB_STEPS_PER_S, WALK_M_PER_S,
};
pub use game::{
    HEALTH_MAX, MISSIONS_MAX, Mission, MissionFault, MissionFaults, MissionProblem, MissionStatus,
    ProgressError, WAYPOINTS_MAX, Waypoint,
};
pub use ground::BORDER_MARGIN_M;
pub use life::{Beginning, Fault, Life};
pub use npc::{Actor, Cast, CastError, CastErrors, NpcCounts, Recast, RecastRefusal, Script, Spawn};
pub use outcome::NPCS_MAX;
pub use resync::CHUNK_ENTITIES_MAX;
pub use snapshot::{Checkpoint, IdsUsed, RestoreError, SNAPSHOT_VERSION};
pub use world::{World, WorldConfig};
