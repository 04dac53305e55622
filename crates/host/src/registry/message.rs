//! Jobs of the registry and their outcomes. Requests, replies, orders and notices are messages of [`link`].

use ids::{AgentId, Instant, Uuid, WorldId};
use link::RequestId;
use std::ops::Range;
use std::sync::Arc;

/// Number of a job, unique for the life of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u64);

/// Long-running work. Each job except [`Job::Remove`] ends with exactly one [`JobOutcome`], also after a failure or a panic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Job {
    /// Write the row of a new instance durably.
    WriteRow(InstanceRow),
    /// Delete an instance's row and its state durably.
    DeleteRow(Uuid),
    /// Create the world from the saved state, or from the template if there is none, and step it.
    Start {
        /// Request that requires the world in memory; `None` for the first start of a new instance.
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
    /// Save the state of a world that is being stepped, after its last visitor has left.
    SaveState(WorldId),
    /// Write the times of the last visits, in seconds since 1970, of instances that portals created.
    NoteVisits(Vec<(Uuid, i64)>),
    /// Stop and destroy a world without a save.
    Remove(WorldId),
}

/// World to be suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspendTarget {
    /// World.
    pub world: WorldId,
    /// True if visitors have entered since the last save. Otherwise the saved state remains valid, unless the world reports a change.
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
    /// Time of the last visit, in seconds since 1970; `None` for an instance that no portal created. Such an instance does not expire.
    pub visited_s: Option<i64>,
}

/// Outcome of a job. [`Job::Remove`] has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    /// The row is durable, or the reason of the failure.
    RowWritten(Result<(), Arc<str>>),
    /// The row is deleted, or the reason of the failure.
    RowDeleted(Result<(), Arc<str>>),
    /// The world is being stepped; the number is the memory in bytes that its creation has retained, if known.
    Started(Result<Option<u64>, StartFailure>),
    /// Outcome for each world of the job.
    Suspended(Vec<(WorldId, SuspendOutcome)>),
    /// The state is durable, or the save failed and is not repeated before the instant.
    StateSaved(Result<(), Instant>),
    /// True if the last visits are durable; otherwise the next write includes them.
    VisitsNoted(bool),
}

/// Failure of [`Job::Start`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartFailure {
    /// The state is damaged: starts are refused until the node restarts.
    Damaged(Arc<str>),
    /// The state does not fit the template: starts are refused until the template changes.
    Misfit(Arc<str>),
    /// The store or a long task failed: the next request retries.
    Failed(Arc<str>),
    /// The node is stopping.
    Stopping,
}

/// Outcome of one world's suspension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SuspendOutcome {
    /// The state is durable and the world is removed; the number is its former size in bytes, if known.
    Saved(Option<u64>),
    /// The world continues, and its suspension is not retried before the instant.
    Kept {
        /// Time of the earliest retry.
        until: Instant,
        /// Reason why its state could not be saved; `None` if the world is unavailable during a restart after a panic.
        failure: Option<Arc<str>>,
    },
}
