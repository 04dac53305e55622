//! Jobs of the registry and their outcomes. Requests, replies, orders and notices are messages of [`link`].

use ids::{AgentId, Instant, Uuid, WorldId};
use link::RequestId;
use std::ops::Range;
use std::sync::Arc;

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
        /// Request that wants the world in memory; `None` for the first start of a new instance.
        request: Option<RequestId>,
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
    Suspend(Vec<SuspendTarget>),
    /// Save a world's state while it is stepped: its last visitor has left.
    SaveState(WorldId),
    /// Write the last visits of instances that portals created: seconds since 1970.
    NoteVisits(Vec<(Uuid, i64)>),
    /// Stop a world and destroy it. Nothing of it is saved.
    Remove(WorldId),
}

/// World to be suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspendTarget {
    /// World.
    pub world: WorldId,
    /// It has had visitors since its state was saved last. Otherwise the saved state stands, unless the world itself knows better.
    pub is_changed: bool,
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
    /// Last visit, in seconds since 1970, of an instance that a portal created. One without is kept until it is ended.
    pub visited_s: Option<i64>,
}

/// End of a job. [`Job::Remove`] has no outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    /// The row is durable; or the reason why not.
    RowWritten(Result<(), Arc<str>>),
    /// The row is gone; or the reason why not.
    RowDeleted(Result<(), Arc<str>>),
    /// The world is stepped; with the memory kept by its creation in bytes, if known.
    Started(Result<Option<u64>, StartFailure>),
    /// For each world of the job.
    Suspended(Vec<(WorldId, SuspendOutcome)>),
    /// The state is durable; or it could not be saved, and is not tried again before the instant.
    StateSaved(Result<(), Instant>),
    /// The last visits are durable; or they could not be written, and are written with the next ones.
    VisitsNoted(bool),
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
    /// The world is stepped on, and is not tried again before the instant.
    Kept {
        /// See above.
        until: Instant,
        /// Reason why its state could not be saved; `None` if the world is unavailable during a restart after a panic.
        failure: Option<Arc<str>>,
    },
}
