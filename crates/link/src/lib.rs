//! Messages between the simulating side (worlds, hosts) and the serving side (gateways, replicas), and what describes a world to
//! both.
//!
//! Plain data: every message has a serde encoding, none holds a running object, a lock or a queue. It simulates nothing, sends
//! nothing and reads no clock. Start with [`Command`], which goes into a world, and [`Frame`], which comes out of it; [`WorldSpec`]
//! describes a world to both sides beforehand, with its ground ([`Terrain`]) and its static objects ([`Scenery`]).

mod census;
mod chat;
mod command;
mod frame;
mod game;
mod gateway;
mod generate;
mod host;
mod looks;
mod name;
mod numbers;
mod scenery;
mod spec;
mod terrain;
mod travel;

pub use census::WorldCensus;
pub use chat::{CHAT_BYTES_MAX, Chat, ChatKind};
pub use command::{Action, Appearance, Author, Command, Control, ControlFlags, Enter};
pub use frame::{
    Animation, Animations, Audience, Avatar, Change, Entity, EntryRefusal, Event, Frame, Motion,
    SnapshotChunk, read_few,
};
pub use game::GameEvent;
pub use gateway::{AdmissionNumber, GatewayNotice, GatewayOrder, OccupantCount};
pub use generate::{PLAZA_M, WATER_M};
pub use host::{
    InstanceRefusal, InstanceReply, InstanceRequest, Maker, NewInstance, RequestId, Shortage, Visitor,
};
pub use looks::{Looks, LooksError};
pub use name::is_misleading;
pub use numbers::{
    HostNumber, INSTANCE_LOCAL_IDS, INSTANCE_WORLDS_PER_HOST, LOCAL_ID_BLOCK, SHARED_WORLDS_MAX,
    instance_world, shared_local_ids,
};
pub use scenery::{Prim, Scenery, SceneryError, StaticObject, is_arch, plain_texture};
pub use spec::{BOX_NAME, GroundSpec, Portal, PortalTo, WorldSpec};
pub use terrain::{CEILING_M, Terrain, TerrainError, is_region_size};
pub use travel::{CircuitKey, Passage, PassageRefusal, TravelOrder};
