//! Long tasks as the workplace of instances uses them: the construction of worlds.

use host::registry::StartFailure;
use schedule::long::{Long, LongOutcome, LongRefusal, LongTasks};
use std::time::Duration;

/// Construction of a world, which reports its own end.
pub struct ConstructionTask {
    /// Kind of work. Tasks of one kind run in order.
    pub kind: &'static str,
    /// Name of the world, for operators.
    pub name: String,
    /// Estimated time.
    pub estimated: Duration,
    /// The work.
    pub work: Box<dyn FnOnce() + Send>,
}

/// Looks for the end of a task: `None` while it waits or runs. The reason stands for a task that was ended before it could report.
pub type PollConstruction = Box<dyn Fn() -> Option<StartFailure> + Send>;

/// Threads on which worlds are constructed.
pub trait Constructions: Send + Sync {
    /// Has a task run at some time, or never: it may be cancelled, or given up.
    ///
    /// # Errors
    /// The task is not taken, for this reason.
    fn submit(&self, task: ConstructionTask) -> Result<PollConstruction, StartFailure>;
}

impl Constructions for LongTasks {
    fn submit(&self, task: ConstructionTask) -> Result<PollConstruction, StartFailure> {
        let ConstructionTask { kind, name, estimated, work } = task;
        let submitted = Self::submit(self, Long { kind, name, estimated, work: Box::new(move |_| work()) });
        let ticket = submitted.map_err(|why| match why {
            LongRefusal::Stopping { .. } => StartFailure::Stopping,
            why => StartFailure::Failed(why.to_string().into()),
        })?;
        let tasks = self.clone();
        Ok(Box::new(move || {
            let outcome = match ticket.outcome().try_recv() {
                Ok(outcome) => Some(outcome),
                Err(crossbeam_channel::TryRecvError::Empty) => return None,
                Err(crossbeam_channel::TryRecvError::Disconnected) => None,
            };
            Some(match outcome {
                Some(LongOutcome::Cancelled | LongOutcome::Abandoned) if !tasks.is_stopping() => {
                    StartFailure::Failed("An operator has ended it.".into())
                }
                _ => StartFailure::Stopping,
            })
        }))
    }
}

opaque_debug!(ConstructionTask);
