//! Entities, movement and terrain of one region: authoritative, single-threaded, deterministic.
//!
//! It knows no packets, sockets or bandwidth, owns no thread and reads no clock. [`link::Command`]s go in, one [`link::Frame`] a
//! tick comes out; start with [`World::step`]. Everything here is a function of the commands and the seed.

pub mod animations;
mod arrivals;
mod bodies;
mod cast;
mod chat;
mod contacts;
mod counters;
mod delta;
mod gait;
mod game;
mod gestures;
mod ground;
mod inbox;
mod land;
mod life;
mod local_ids;
mod movement;
mod npc;
mod objects;
mod outcome;
mod periods;
mod presence;
mod progress;
mod renaming;
mod requests;
mod resync;
mod roster;
pub mod saved;
mod seats;
mod setting;
mod snapshot;
mod solids;
mod world;

pub use cast::{Actor, CastError, CastErrors, NpcCast, Script, Spawn};
pub use counters::{EditCounters, WorldCounters};
pub use gait::{
    CROUCH_M_PER_S, FLY_M_PER_S, FLY_VERTICAL_M_PER_S, RUN_M_PER_S, SUB_STEPS_PER_S, WALK_M_PER_S,
};
pub use game::{
    GameFaults, GameRules, GameSite, GameSource, GameState, GameStateError, GameTick, GameVisitor,
};
pub use ground::BORDER_MARGIN_M;
pub use land::{CLOSED_HEIGHT_M, Land, LandArrival, LandDeed, LandRole, ObjectReturn, land_allows};
pub use life::{Beginning, Fault, Life, LifeBaggage};
pub use local_ids::IdsUsed;
pub use npc::{CastReload, CastReloadRefusal, NpcCounts};
pub use objects::{ObjectCounts, REGION_CARRIED_MAX, REGION_ITEMS_MAX, RecentEdit, RecentEdits};
pub use outcome::{Blow, NPCS_MAX, NpcDeeds, NpcSet};
pub use progress::ProgressError;
pub use resync::CHUNK_ENTITIES_MAX;
pub use snapshot::{Checkpoint, RestoreError, SNAPSHOT_FORMAT, SNAPSHOT_PARTS, SNAPSHOT_VERSION};
pub use world::{World, WorldConfig};
