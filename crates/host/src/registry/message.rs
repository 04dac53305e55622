//! Messages of the registry: requests and replies, jobs and their outcomes, orders to the gateway and its notices.

use glam::Vec3;
use ids::{AgentId, Instant, SessionKey, Uuid, WorldId};
use std::ops::Range;
use std::sync::Arc;
use thiserror::Error;

use crate::capacity::Shortage;

/// Number of a request, chosen by its sender and returned with the reply. Not reused while a reply is outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// Request of a user, an operator or a program.
#[derive(Clone, Debug, PartialEq)]
pub enum InstanceRequest {
    /// Create an instance; if one with this id, template and owner exists, nothing changes ([`InstanceReply::Exists`]).
    Open(NewInstance),
    /// Bring a session into an instance, which is resumed if necessary.
    Enter {
        /// Target.
        instance: Uuid,
        /// Visitor.
        visitor: Visitor,
        /// Metres from the world's corner; the template's landing point by default.
        position: Option<Vec3>,
    },
    /// Bring a session into its own user's instance of a template, which is created if there is none.
    EnterOwn {
        /// Instance to create if there is none; its owner is the visitor's agent.
        new: NewInstance,
        /// Visitor.
        visitor: Visitor,
    },
    /// Save an empty instance and remove its world from memory.
    Suspend(Uuid),
    /// Bring a suspended instance's world into memory.
    Resume(Uuid),
    /// Send all visitors back and delete the instance with its state.
    End(Uuid),
}

/// Description of an instance to be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewInstance {
    /// Id, random unless the requester chose it.
    pub id: Uuid,
    /// Template name, without regard to case.
    pub template: String,
    /// Displayed name, 1 to [`NewInstance::NAME_BYTES_MAX`] bytes without control characters; the template's name by default.
    pub name: Option<String>,
    /// Owner; at most one instance per owner and template.
    pub owner: Option<AgentId>,
    /// Creation time, seconds since 1970.
    pub created_s: i64,
    /// Program that creates it, and its quota.
    pub maker: Option<Maker>,
}

impl NewInstance {
    /// Bytes of a name that the protocol's messages carry.
    pub const NAME_BYTES_MAX: usize = 63;
}

/// Token with which instances are created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maker {
    /// Name of the token.
    pub token: Arc<str>,
    /// Existing instances that it may have created at once; `None` is unlimited.
    pub instances_max: Option<u32>,
}

/// Session that enters, with the circuit and world in which the request was made: the gateway refuses the admission if the avatar has left
/// them meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visitor {
    /// Login.
    pub session: SessionKey,
    /// Ticket of the circuit, if the request came through one.
    pub ticket: Option<u32>,
    /// World in which the avatar stood, if the request depends on it (a portal).
    pub from: Option<WorldId>,
}

/// Success of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceReply {
    /// The instance was created and is durable.
    Created(Uuid),
    /// The instance existed already and is durable.
    Exists(Uuid),
    /// The gateway has begun the visitor's passage.
    Admitted(Uuid),
    /// The instance is in the store only.
    Suspended(Uuid),
    /// The instance's world is stepped.
    Active(Uuid),
    /// The instance does not exist any more.
    Ended(Uuid),
}

/// Failure of a request. The texts are shown to users.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InstanceRefusal {
    /// Unknown template.
    #[error("There is no template {wanted:?}; there are: {known}.")]
    NoTemplate {
        /// As requested.
        wanted: String,
        /// Names of all templates.
        known: String,
    },
    /// The template of a stored instance is not configured any more.
    #[error("There is no template {0:?} any more; the instance stays suspended until there is one again.")]
    TemplateGone(Arc<str>),
    /// Unknown instance.
    #[error("There is no instance {0}.")]
    NoInstance(Uuid),
    /// The instance ended while the request waited.
    #[error("That world has ended.")]
    Ended,
    /// Limit of existing instances.
    #[error("There are {0} instances already, and no more are allowed (`instances.max`).")]
    Full(usize),
    /// Limit of instances in memory.
    #[error(
        "There are {0} instances in use already, and no more are allowed (`instances.active_max`). Please try again later."
    )]
    ActiveFull(usize),
    /// Quota of a token.
    #[error(
        "There are {max} instances made with the token {token:?}, and no more are allowed at once (`--max-worlds`)."
    )]
    Quota {
        /// Name of the token.
        token: Arc<str>,
        /// Its quota.
        max: u32,
    },
    /// A second instance of an owner and template.
    #[error("That user has an instance of this template already.")]
    Owned,
    /// Another instance has this id.
    #[error("There is another instance {0} already.")]
    Taken(Uuid),
    /// No gap of local ids is large enough.
    #[error("No range of {0} local ids is free for another world.")]
    LocalIds(u32),
    /// Malformed name.
    #[error("A name has 1 to {max} bytes and no control characters.", max = NewInstance::NAME_BYTES_MAX)]
    Name,
    /// The node lacks memory or CPU time.
    #[error("{}", match .0 {
        Shortage::Memory => "The server has no memory for another world just now. Please try again later.",
        Shortage::Cpu => "The server is busy with the worlds that people are in, and resumes no other one just now. Please try again later.",
    })]
    Shortage(Shortage),
    /// A suspension of an occupied instance.
    #[error("That world is occupied, or it is about to restart.")]
    InUse,
    /// The saved state cannot be loaded.
    #[error("{0}")]
    Blocked(Arc<str>),
    /// The store or a long task failed; the text names the cause.
    #[error("{0}")]
    Failed(Arc<str>),
    /// The gateway refused the passage; the text names the cause.
    #[error("{0}")]
    Passage(Arc<str>),
    /// Too many requests wait for the instance, or for room.
    #[error("Too many requests wait for that world. Please try again later.")]
    Busy,
    /// The node stops.
    #[error("The server is about to stop.")]
    Stopping,
}

/// Number of a job, unique for the life of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u64);

/// Work that takes long. Each one ends with exactly one [`JobOutcome`], after a failure or a panic, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Job {
    /// Write the row of a new instance, durably.
    WriteRow(InstanceRow),
    /// Delete an instance's row with its state, durably.
    DeleteRow(Uuid),
    /// Create the world and step it: from the saved state if there is one, else from the template.
    Start {
        /// World.
        world: WorldId,
        /// Instance.
        instance: Uuid,
        /// Template name.
        template: Arc<str>,
        /// Displayed name.
        name: Arc<str>,
        /// Local ids of the world.
        local_ids: Range<u32>,
    },
    /// Stop these worlds between two steps, save their states in one transaction and remove them from memory.
    Suspend(Vec<WorldId>),
    /// Save a world's state while it is stepped: its last visitor has left.
    SaveState(WorldId),
    /// Stop a world and destroy it. Nothing of it is saved.
    Remove(WorldId),
}

/// Stored description of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceRow {
    /// Id.
    pub id: Uuid,
    /// Template name.
    pub template: Arc<str>,
    /// Displayed name.
    pub name: Arc<str>,
    /// Owner.
    pub owner: Option<AgentId>,
    /// Creation time, seconds since 1970.
    pub created_s: i64,
    /// Token with which it was created.
    pub maker: Option<Arc<str>>,
}

/// End of a job. [`Job::SaveState`] and [`Job::Remove`] have no outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    /// The row is durable; or the reason why not.
    RowWritten(Result<(), Arc<str>>),
    /// The row is gone; or the reason why not.
    RowDeleted(Result<(), Arc<str>>),
    /// The world is stepped; its creation kept so many bytes, if that is known.
    Started(Result<Option<u64>, StartFailure>),
    /// For each world of the job.
    Suspended(Vec<(WorldId, SuspendOutcome)>),
}

/// Failure of [`Job::Start`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartFailure {
    /// The state is damaged: refused until the node restarts.
    Damaged(Arc<str>),
    /// The state does not fit the template: refused until the template changes.
    Misfit(Arc<str>),
    /// The store or a long task failed: the next request tries again.
    Failed(Arc<str>),
    /// The node stops.
    Stopping,
}

/// End of one world's suspension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SuspendOutcome {
    /// The state is durable and the world is out of memory; the size that it had in use, if that is known.
    Saved(Option<u64>),
    /// The world is stepped on: it restarts after a panic, or its state could not be saved. Not tried again before the instant.
    Kept(Instant),
}

/// Order to the gateway.
#[derive(Clone, Debug, PartialEq)]
pub enum GatewayOrder {
    /// Begin a passage; answered by [`GatewayNotice::Admission`].
    Admit {
        /// Request for which it is.
        request: RequestId,
        /// World, which stays in memory until the answer.
        world: WorldId,
        /// Visitor.
        visitor: Visitor,
        /// Metres from the world's corner.
        position: Option<Vec3>,
    },
    /// Send all sessions of a world back to where they came from, with this text.
    Empty {
        /// World.
        world: WorldId,
        /// Shown to the users.
        reason: &'static str,
    },
}

/// Message of the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GatewayNotice {
    /// Answer to [`GatewayOrder::Admit`]: the number of occupants with the new one, or the reason of the refusal.
    Admission {
        /// Request for which it was.
        request: RequestId,
        /// Occupants of the world, or the reason of the refusal.
        outcome: Result<u32, Arc<str>>,
    },
    /// The number of occupants of a world has changed.
    Occupants {
        /// World.
        world: WorldId,
        /// Sessions in it, on their way in, or with a way back to it.
        n: u32,
    },
}
