//! Model of the long tasks that construct worlds: each runs at a later time, or is ended by an operator and never runs.

use bots::rng::Rng;
use host::registry::StartFailure;
use ids::Instant;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use workplace::Clock;
use workplace::instances::{ConstructionTask, Constructions, PollConstruction};

/// A construction takes less than this, milliseconds.
const TAKES_MS: u64 = 300;
/// Reciprocal share of the tasks that an operator ends.
const CANCELLED: u64 = 12;

struct DueTask {
    at: Instant,
    task: ConstructionTask,
}

struct Tasks {
    waiting: Vec<DueTask>,
    rng: Rng,
}

/// See the module.
pub(super) struct ConstructionModel {
    tasks: Mutex<Tasks>,
    clock: Clock,
}

impl ConstructionModel {
    pub(super) fn new(clock: Clock, rng: Rng) -> Self {
        Self { tasks: Mutex::new(Tasks { waiting: Vec::new(), rng }), clock }
    }

    /// Runs the tasks that are due, in the order of their time.
    pub(super) fn run_due(&self, now: Instant) {
        while let Some(task) = self.take_due(now) {
            (task.work)();
        }
    }

    /// The process ends: no task runs any more.
    pub(super) fn clear(&self) {
        let waiting = std::mem::take(&mut self.tasks.lock().unwrap_or_else(PoisonError::into_inner).waiting);
        drop(waiting);
    }

    fn take_due(&self, now: Instant) -> Option<ConstructionTask> {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let due = tasks.waiting.iter().enumerate().filter(|(_, due)| due.at <= now);
        let (n, _) = due.min_by_key(|(n, due)| (due.at, *n))?;
        Some(tasks.waiting.remove(n).task)
    }
}

impl Constructions for ConstructionModel {
    fn submit(&self, task: ConstructionTask) -> Result<PollConstruction, StartFailure> {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let at = (self.clock)() + Duration::from_millis(tasks.rng.next() % TAKES_MS);
        if tasks.rng.next().is_multiple_of(CANCELLED) {
            let clock = Arc::clone(&self.clock);
            return Ok(Box::new(move || {
                (clock() >= at).then(|| StartFailure::Failed("An operator has ended it.".into()))
            }));
        }
        let has_run = Arc::new(AtomicBool::new(false));
        let noted = Arc::clone(&has_run);
        let ConstructionTask { kind, name, estimated, work } = task;
        let work = Box::new(move || {
            work();
            noted.store(true, Ordering::Relaxed);
        });
        tasks.waiting.push(DueTask { at, task: ConstructionTask { kind, name, estimated, work } });
        Ok(Box::new(move || has_run.load(Ordering::Relaxed).then_some(StartFailure::Stopping)))
    }
}
