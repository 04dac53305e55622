//! The workplace of instances: carries out the registry's jobs with the pool, long tasks and the store, and reports their ends.
//!
//! Two `workplace` threads take jobs in order of arrival: rows, last visits, suspensions (`suspends`), removals, and the first half of a
//! start, the read of the saved state. The second half, the construction of the world, is a long task (`starts`). The saves of stepped worlds
//! belong to the `journal` thread, which has a second's promise to keep. No job is one that a frame waits for.
//!
//! A job is reported exactly once, by the drop of its [`JobReport`]: after an error and after a panic, too.

mod hot_reload;
mod journal;
mod starts;
mod suspends;

pub use hot_reload::{ReloadRefusal, Reloaded};
pub use journal::JOURNAL_PERIOD;
pub(super) use journal::{Journal, write_journal};
#[cfg(test)]
pub(super) use starts::StartPlan;

use super::InstanceStore;
use super::catalog::{SteppedInstance, Template, WorldCatalog};
use super::persistence::{InstancePersistence, InstanceStoreError};
use super::pool::{InstancePool, NodePool};
use super::report::{JobReport, JobReports};
use super::tasks::Constructions;
use crate::inboxes::Inboxes;
use crate::journal_buffer::JournalBuffer;
use crate::lock_order::CATALOG;
use crate::serving::WorldGateway;
use crate::worlds::{Workplace, WorldTotals};
use crate::{Clock, ThreadError};
use crossbeam_channel::{Receiver, Sender};
use host::registry::{Job, JobId, JobOutcome, StartFailure, SuspendOutcome};
use hot_reload::HotReload;
use ids::{Instant, WorldId};
use schedule::long::LongTasks;
use starts::PendingStart;
pub(super) use starts::StartOrder;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use suspends::DownWorld;
use telemetry::recorder::{Recorder, Scope, frame_end};
use telemetry::{Counter, Held, Metrics};

/// Threads for jobs: one suspension may wait for the disk while rows are written.
const THREADS: usize = 2;
/// Suspensions that failed for an unknown reason are not tried again for this long.
const PAUSE: Duration = Duration::from_secs(3);
/// Text for requests that the store or a fault of ours has failed.
const UNSAVED: &str = "The server cannot read or save worlds just now. Please try again later.";

/// A job, from the order to the report. A start is only read here.
static JOB: Scope = Scope::new("instances.job").limit_us(1_000_000);

/// Parts of the workplace.
pub struct WorkplaceParts<'a> {
    /// Templates.
    pub templates: Vec<Template>,
    /// The store.
    pub instance_store: &'a Arc<InstanceStore>,
    /// Inboxes of all worlds.
    pub inboxes: &'a Arc<Inboxes>,
    /// The pool.
    pub pool: Workplace,
    /// Long tasks.
    pub long: &'a LongTasks,
    /// The serving side, which shows the worlds.
    pub gateway: Arc<dyn WorldGateway>,
    /// Clock of the process.
    pub clock: &'a Clock,
    /// Registry of metrics.
    pub metrics: &'a Metrics,
}

/// The surroundings of the workplace. A server has a database and threads, the simulator has models.
pub struct WorkplaceBackend {
    /// Rows and states.
    pub persistence: Arc<dyn InstancePersistence>,
    /// Worlds that are stepped.
    pub pool: Arc<dyn InstancePool>,
    /// Construction of worlds.
    pub constructions: Arc<dyn Constructions>,
    /// Clock of the process.
    pub clock: Clock,
}

impl WorkplaceParts<'_> {
    /// The parts of a server as the workplace uses them.
    pub(super) fn backend(&self, pool: &NodePool) -> WorkplaceBackend {
        WorkplaceBackend {
            persistence: Arc::<InstanceStore>::clone(self.instance_store),
            pool: Arc::new(pool.clone()),
            constructions: Arc::new(self.long.clone()),
            clock: Arc::clone(self.clock),
        }
    }

    pub(super) fn node_pool(&self) -> NodePool {
        let (pool, gateway) = (self.pool.clone(), Arc::clone(&self.gateway));
        NodePool::new(pool, self.inboxes, gateway, self.clock, self.metrics)
    }
}

/// See the module.
pub struct InstanceWorkplace {
    catalog: Mutex<WorldCatalog>,
    pub(super) hot_reload: HotReload,
    pub(super) persistence: Arc<dyn InstancePersistence>,
    pub(super) pool: Arc<dyn InstancePool>,
    pub(super) constructions: Arc<dyn Constructions>,
    pub(super) clock: Clock,
    panics: Counter,
    /// Worlds under construction.
    pub(super) starts: Mutex<Vec<PendingStart>>,
    /// Remains of worlds that were down when the server stopped.
    pub(super) down: Mutex<BTreeMap<WorldId, DownWorld>>,
}

/// The catalog in the hands of this thread, which takes neither the hub nor the store meanwhile.
pub(super) type CatalogGuard<'a> = Held<MutexGuard<'a, WorldCatalog>>;

/// A job and its report.
pub(super) type QueuedJob = (JobId, Job);

/// The threads.
pub(super) struct WorkplaceThreads {
    threads: Vec<JoinHandle<()>>,
}

impl InstanceWorkplace {
    /// A workplace without worlds.
    pub fn new(templates: Vec<Template>, backend: WorkplaceBackend, metrics: &Metrics) -> Self {
        let WorkplaceBackend { persistence, pool, constructions, clock } = backend;
        Self {
            catalog: Mutex::new(WorldCatalog { templates, ..WorldCatalog::default() }),
            hot_reload: HotReload::default(),
            persistence,
            pool,
            constructions,
            clock,
            panics: metrics.counter(
                "throng_instances_panics_total",
                "Orders and rounds of the threads that look after instances which ended in a panic.",
                &[],
            ),
            starts: Mutex::default(),
            down: Mutex::default(),
        }
    }

    /// Starts the threads, which end when the sender of their jobs is dropped.
    pub(super) fn start_threads(
        self: &Arc<Self>,
        jobs: &Receiver<QueuedJob>,
        reports: &JobReports,
        recorder: Recorder,
    ) -> Result<WorkplaceThreads, ThreadError> {
        let thread = |_| {
            let (workplace, jobs, reports) = (Arc::clone(self), jobs.clone(), Arc::clone(reports));
            let run = move || {
                recorder.thread("workplace").install();
                for (id, job) in jobs {
                    let scope = JOB.enter(0);
                    workplace.survives("workplace", || workplace.carry_out(id, job, &reports));
                    drop(scope);
                    frame_end();
                }
            };
            let thread = std::thread::Builder::new().name("workplace".into()).spawn(run);
            thread.map_err(|source| ThreadError { name: "workplace", source })
        };
        Ok(WorkplaceThreads { threads: (0..THREADS).map(thread).collect::<Result<_, _>>()? })
    }

    /// Locks templates and worlds in memory.
    pub(super) fn catalog(&self) -> CatalogGuard<'_> {
        CATALOG.hold(|| self.catalog.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Does something on a thread that has to go on although it panics; false when it did, which is counted and logged.
    pub(super) fn survives(&self, thread: &'static str, work: impl FnOnce()) -> bool {
        let is_sound = catch_unwind(AssertUnwindSafe(work)).is_ok();
        if !is_sound {
            self.panics.increment(1);
            tracing::error!(thread, "a thread that looks after instances has panicked, and goes on");
        }
        is_sound
    }

    /// The first report of a job: its failure.
    pub(super) fn report(&self, id: JobId, job: &Job, reports: &JobReports) -> JobReport {
        let unsaved = || Arc::from(UNSAVED);
        let until = (self.clock)() + PAUSE;
        let failure = match job {
            Job::WriteRow(_) => JobOutcome::RowWritten(Err(unsaved())),
            Job::DeleteRow(_) => JobOutcome::RowDeleted(Err(unsaved())),
            Job::Start { .. } => JobOutcome::Started(Err(StartFailure::Failed(unsaved()))),
            Job::Suspend(targets) => {
                let kept = || SuspendOutcome::Kept { until, failure: Some(unsaved()) };
                JobOutcome::Suspended(targets.iter().map(|target| (target.world, kept())).collect())
            }
            Job::SaveState(_) => JobOutcome::StateSaved(Err(until)),
            Job::NoteVisits(_) => JobOutcome::VisitsNoted(false),
            Job::Remove(_) => unreachable!("a removal has no outcome"),
        };
        JobReport::new(id, failure, reports)
    }

    /// Carries a job out. Its end is reported now or later, except that of a removal.
    pub fn carry_out(self: &Arc<Self>, id: JobId, job: Job, reports: &JobReports) {
        if let Job::Remove(world) = job {
            return self.remove(world);
        }
        let report = self.report(id, &job, reports);
        match job {
            Job::WriteRow(row) => {
                report.end(JobOutcome::RowWritten(self.persistence.create(row).map_err(unsaved)))
            }
            Job::DeleteRow(id) => {
                let deleted = self.persistence.remove(id).map_err(unsaved);
                if deleted.is_ok() {
                    self.catalog().reverted.remove(&id);
                }
                report.end(JobOutcome::RowDeleted(deleted));
            }
            Job::Start { request, world, instance, template, name, local_ids } => {
                let is_first = request.is_none();
                self.start(StartOrder { is_first, world, id: instance, template, name, local_ids }, report);
            }
            Job::Suspend(targets) => self.suspend(&targets, report),
            Job::NoteVisits(visits) => {
                report.end(JobOutcome::VisitsNoted(self.persistence.note_visits(&visits).is_ok()));
            }
            Job::SaveState(world) => self.request_state(world, report),
            Job::Remove(_) => unreachable!("handled above"),
        }
    }

    /// Asks a stepped world for its whole state, which the `journal` thread saves and reports. The world may be asleep.
    fn request_state(&self, world: WorldId, report: JobReport) {
        let mut report = Some(report);
        let mut catalog = self.catalog();
        if let Some(stepped) = catalog.stepped.get_mut(&world) {
            std::mem::swap(&mut stepped.saving, &mut report);
            stepped.journal_buffer.ask_for_image();
        }
        drop(catalog);
        // Without the world, which may have left meanwhile, the report says that nothing was saved.
        drop(report);
        self.pool.wake(world);
    }

    /// Removes the world of an instance that has ended.
    fn remove(&self, world: WorldId) {
        self.pool.end(world);
        self.forget(world);
    }

    /// Drops the records of a world that has left memory. Returns the number of bytes that its creation kept.
    pub(super) fn forget(&self, world: WorldId) -> Option<i64> {
        // Its report is sent once the catalog is free.
        let stepped = self.catalog().stepped.remove(&world)?;
        Some(stepped.kept_bytes)
    }

    /// Measurements of a stepped instance.
    pub(super) fn counted(&self, world: WorldId) -> Option<WorldTotals> {
        self.pool.counted(world)
    }

    /// Stepped instances of which something is in memory only: those in the list, unless nothing more of them is kept, and those with a
    /// change that is not journalled.
    pub fn n_unsaved(&self, unsaved: &[WorldId]) -> usize {
        let is_unsaved = |(world, one): &(&WorldId, &SteppedInstance)| {
            let journal_buffer: &JournalBuffer = &one.journal_buffer;
            journal_buffer.has_news() || unsaved.contains(world) && !journal_buffer.is_closed()
        };
        self.catalog().stepped.iter().filter(is_unsaved).count()
    }

    /// Writes of states pause until then, because one has just failed.
    pub(super) fn rests_until(&self) -> Instant {
        self.persistence.rests_until().unwrap_or(Instant::ZERO)
    }
}

/// The store's error is in the log; users get a text without it.
pub(super) fn unsaved(_: InstanceStoreError) -> Arc<str> {
    UNSAVED.into()
}

impl WorkplaceThreads {
    /// Waits for the jobs that are left. The sender of jobs has to be dropped before.
    pub(super) fn join(self) {
        for thread in self.threads {
            if thread.join().is_err() {
                tracing::error!("a workplace thread has panicked");
            }
        }
    }
}

/// A queue of jobs: at most two per instance, so it is bounded by `instances.max`.
pub(super) fn job_queue() -> (Sender<QueuedJob>, Receiver<QueuedJob>) {
    crossbeam_channel::unbounded()
}

opaque_debug!(WorkplaceParts<'_>, WorkplaceBackend, InstanceWorkplace);
