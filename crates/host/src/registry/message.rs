//! Jobs of the registry and their outcomes. Requests, replies, orders and notices are messages of [`link`].

use ids::{AgentId, Instant, Uuid, WorldId};
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
