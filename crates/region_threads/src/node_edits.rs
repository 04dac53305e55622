//! Requests of the node to change objects: numbered commands to the worlds of regions, and the results that come back in frames.

use ids::{SessionKey, WorldId};
use link::{Action, Command, CommandSeries, EditRefusal, ObjectCommand};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use workplace::inboxes::Inbox;
use workplace::opaque_debug;
use workplace::world_map::WorldMap;

/// Time after which a request without a result counts as lost: a world that panics drops the commands of that step, and a frame may be lost.
const PATIENCE: Duration = Duration::from_secs(10);

/// Result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeEditOutcome {
    /// Objects that were changed.
    pub done: u32,
    /// Objects that stay as they are.
    pub refused: u32,
    /// The reason for the first of them.
    pub reason: Option<EditRefusal>,
}

/// Reasons for which a request has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeEditError {
    /// The world is none of a region.
    #[error("The world cannot be built on.")]
    NoRegion,
    /// Its inbox is full.
    #[error("The region is too busy. Try again later.")]
    Busy,
    /// No result came.
    #[error("The region has not answered; the last objects may be changed or not.")]
    Lost,
}

/// Requests under way.
pub struct NodeEdits {
    inboxes: WorldMap<Inbox>,
    next: AtomicU64,
    waiting: Mutex<BTreeMap<u64, oneshot::Sender<NodeEditOutcome>>>,
}

impl NodeEdits {
    /// To these worlds.
    pub fn new(inboxes: WorldMap<Inbox>) -> Self {
        Self { inboxes, next: AtomicU64::new(CommandSeries::Edits.first()), waiting: Mutex::default() }
    }

    /// Sends a request, and waits for its result.
    ///
    /// # Errors
    /// [`NodeEditError`].
    pub async fn carry_out(
        &self,
        world: WorldId,
        request: ObjectCommand,
    ) -> Result<NodeEditOutcome, NodeEditError> {
        self.send(world, request)?.wait().await
    }

    /// Hands a result to the request with this number.
    pub(super) fn settle(&self, sequence: u64, outcome: NodeEditOutcome) {
        if let Some(waiting) = self.waiting().remove(&sequence) {
            // The receiver may have given up.
            let _ = waiting.send(outcome);
        }
    }

    /// Sends a request. Requests to one world are carried out in their order, those that are sent together in one tick as a rule.
    ///
    /// # Errors
    /// [`NodeEditError::NoRegion`], [`NodeEditError::Busy`].
    pub fn send(&self, world: WorldId, request: ObjectCommand) -> Result<PendingEdit<'_>, NodeEditError> {
        let inbox = self.inboxes.get(world).ok_or(NodeEditError::NoRegion)?;
        let sequence = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, result) = oneshot::channel();
        // Before the command, whose result may come at once.
        self.waiting().insert(sequence, sender);
        let action = Action::Object(Box::new(request));
        if inbox.push_command(Command::by_node(SessionKey::NODE, sequence, action)) {
            Ok(PendingEdit { edits: self, sequence, result })
        } else {
            self.waiting().remove(&sequence);
            Err(NodeEditError::Busy)
        }
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<u64, oneshot::Sender<NodeEditOutcome>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request under way. It is forgotten when this is dropped, also by a caller that goes away.
pub struct PendingEdit<'a> {
    edits: &'a NodeEdits,
    sequence: u64,
    result: oneshot::Receiver<NodeEditOutcome>,
}

opaque_debug!(NodeEdits, PendingEdit<'_>);

impl PendingEdit<'_> {
    /// Waits for the result.
    ///
    /// # Errors
    /// [`NodeEditError::Lost`].
    pub async fn wait(mut self) -> Result<NodeEditOutcome, NodeEditError> {
        match tokio::time::timeout(PATIENCE, &mut self.result).await {
            Ok(Ok(outcome)) => Ok(outcome),
            Ok(Err(_)) | Err(_) => Err(NodeEditError::Lost),
        }
    }
}

impl Drop for PendingEdit<'_> {
    fn drop(&mut self) {
        self.edits.waiting().remove(&self.sequence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::{Instant, Tick};
    use schedule::{Pool, StepStart, Task};
    use std::sync::Arc;
    use workplace::inboxes::Waiting;

    const WORLD: WorldId = WorldId(1);

    struct Idle;

    impl Task for Idle {
        fn is_quiet(&mut self) -> bool {
            true
        }

        fn step(&mut self, _: &StepStart) {}
    }

    fn request() -> ObjectCommand {
        ObjectCommand::Link(Vec::new())
    }

    #[test]
    fn a_result_reaches_the_request_with_its_number() {
        let pool = Pool::start(1, || Instant::ZERO).expect("a thread");
        let waker = pool.add(Box::new(Idle), Duration::from_millis(50), Tick(0));
        let inbox = Inbox { waiting: Waiting::new(2), waker };
        let waiting = Arc::clone(&inbox.waiting);
        let edits = NodeEdits::new([(WORLD, inbox)].into_iter().collect());
        let mut first = edits.send(WORLD, request()).expect("room");
        let mut second = edits.send(WORLD, request()).expect("room");
        assert_eq!(edits.send(WORLD, request()).err(), Some(NodeEditError::Busy));
        assert_eq!(edits.send(WorldId(2), request()).err(), Some(NodeEditError::NoRegion));
        let mut commands = Vec::new();
        waiting.drain_commands(&mut commands);
        let numbers: Vec<u64> = commands.iter().map(|command| command.sequence).collect();
        assert_eq!(numbers, [first.sequence, second.sequence]);
        let outcome = |done| NodeEditOutcome { done, refused: 0, reason: None };
        edits.settle(second.sequence, outcome(2));
        edits.settle(77, outcome(9));
        assert_eq!((second.result.try_recv(), first.result.try_recv().is_err()), (Ok(outcome(2)), true));
        drop(first);
        assert!(edits.waiting().is_empty(), "nothing waits for ever");
    }
}
