//! The serving side as worlds need it: the way of their frames to clients, and the sessions of their visitors.
//!
//! A gateway implements these traits, in this process or behind a connection. What instances need of it beyond that is
//! [`InstanceGateway`](crate::instances::InstanceGateway).

use ids::{Epoch, WorldId};
use link::{Command, Frame, WorldCensus, WorldSpec};
use std::sync::Arc;

/// Destination of one world's frames.
pub trait FrameOutlet: Send {
    /// A frame to be filled, with the buffers of an earlier one if there are any.
    fn spare_frame(&mut self) -> Box<Frame>;

    /// Sends a frame. Called within a step: it waits for nothing.
    fn send(&mut self, frame: Box<Frame>) -> SentFrame;
}

/// Outcome of a sent frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentFrame {
    /// True if it found no room. A snapshot heals the gap that the next frame shows; events are lost.
    pub is_lost: bool,
    /// Whole replicas that were copied for it, since a shard held the one whose turn it was.
    pub n_copies: u64,
}

/// Requests a snapshot from a world, which later frames carry in parts. False if the world's inbox is full: it is to be requested again.
pub type SnapshotRequest = Box<dyn FnMut() -> bool + Send>;

/// The serving side as worlds need it.
pub trait WorldGateway: Send + Sync {
    /// An instance has come into memory: from now on it can be shown to clients. Its frames go into the outlet that this returns.
    fn open_world(&self, spec: &Arc<WorldSpec>, request_snapshot: SnapshotRequest) -> Box<dyn FrameOutlet>;

    /// An instance has left memory. Clients that are shown it keep that until they are elsewhere.
    fn close_world(&self, world: WorldId);

    /// Sessions of a world.
    fn census(&self, world: WorldId) -> WorldCensus;

    /// Dismissals of the users' avatars that clients are shown in a world although their sessions are not bound to it.
    fn dismissals(&self, world: WorldId) -> Vec<Command>;

    /// State of a world as clients are shown it; `None` if it is not in memory.
    fn shown(&self, world: WorldId) -> Option<ShownWorld>;
}

/// A world as clients are shown it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownWorld {
    /// Its epoch.
    pub epoch: Epoch,
    /// Sessions that have arrived in it and whose avatars are not shown.
    pub n_missing: usize,
}
