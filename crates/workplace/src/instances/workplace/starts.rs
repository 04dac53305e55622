//! Starts: an instance comes into memory, from its template or from its saved state.
//!
//! A `workplace` thread reads the state, then a long task constructs the world and hands it to the pool. An operator may end that task, and
//! the pool may end before it: each start has one [`StartClaim`], whose owner reports it. A task that finds the claim taken drops its world.

use super::{InstanceWorkplace, unsaved};
use crate::instances::catalog::{RevertedCast, SteppedInstance, WorldCatalog};
use crate::instances::pool::NewWorld;
use crate::instances::report::JobReport;
use crate::instances::tasks::{ConstructionTask, PollConstruction};
use crate::journal_buffer::JournalBuffer;
use crate::lock_order::{START_CLAIM, STARTS};
use crate::long;
use host::registry::{JobOutcome, StartFailure};
use ids::{Epoch, Uuid, WorldId};
use link::WorldSpec;
use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::{InstanceState, Part};
use telemetry::recorder::{Arg, Scope};
use telemetry::{Held, allocations};
use world::saved::{self, SavedError};
use world::{Life, World, WorldConfig};

/// One instance, from the store into the pool.
static RESUME: Scope = Scope::new("instances.resume").arg(Arg::World).limit_us(500_000);

/// Estimated time of the construction of a world, without and with each NPC.
const MAKE_ESTIMATE: Duration = Duration::from_millis(1);
const MAKE_NPC_ESTIMATE: Duration = Duration::from_micros(50);

/// Arguments of a start.
pub(in crate::instances) struct StartOrder {
    /// The instance is new: there is no saved state.
    pub(in crate::instances) is_first: bool,
    pub(in crate::instances) world: WorldId,
    pub(in crate::instances) id: Uuid,
    pub(in crate::instances) template: Arc<str>,
    pub(in crate::instances) name: Arc<str>,
    pub(in crate::instances) local_ids: Range<u32>,
}

/// The right to report the end of a start, taken once.
pub(in crate::instances) type StartClaim = Arc<Mutex<Option<JobReport>>>;

/// A world under construction.
pub(in crate::instances) struct PendingStart {
    poll: PollConstruction,
    claim: StartClaim,
}

/// Arguments of a world's construction.
pub(in crate::instances) struct StartPlan {
    id: Uuid,
    template: Arc<str>,
    spec: Arc<WorldSpec>,
    pub(in crate::instances) config: WorldConfig,
    reverted_from: Option<u64>,
}

fn take(claim: &StartClaim) -> Option<JobReport> {
    START_CLAIM.hold(|| claim.lock().unwrap_or_else(PoisonError::into_inner)).take()
}

impl InstanceWorkplace {
    /// Reads the saved state of an instance and submits the construction of its world.
    pub(in crate::instances) fn start(self: &Arc<Self>, order: StartOrder, report: JobReport) {
        let (is_first, id) = (order.is_first, order.id);
        // Another epoch than that of the saved state: frames are numbered from 0, and replicas begin with them.
        let epoch = Epoch(self.persistence.next_sequence() as u32);
        let plan = StartPlan::new(&self.catalog(), order, epoch);
        let Some(plan) = plan else {
            let why = StartFailure::Failed("The template is not there any more.".into());
            return report.end(JobOutcome::Started(Err(why)));
        };
        let state = if is_first { Ok(InstanceState::default()) } else { self.persistence.read(id) };
        let state = match state {
            Ok(state) => state,
            Err(why) => return report.end(JobOutcome::Started(Err(StartFailure::Failed(unsaved(why))))),
        };
        // Nothing of it is left, which is not the same as that there never was anything.
        if state.image.is_none() && !state.damages.is_empty() {
            let why = "Its saved state is damaged and was set aside: it does not match its checksum.";
            return report.end(JobOutcome::Started(Err(StartFailure::Damaged(why.into()))));
        }
        self.submit(is_first, plan, state, report);
    }

    fn submit(self: &Arc<Self>, is_first: bool, plan: StartPlan, state: InstanceState, report: JobReport) {
        let n_npcs = plan.config.cast.as_ref().map_or(0, |cast| cast.len());
        let claim: StartClaim = Arc::new(Mutex::new(Some(report)));
        let (kind, name) = (if is_first { long::MAKE_WORLD } else { long::RESUME }, plan.spec.name.clone());
        let work = {
            let (workplace, claim) = (Arc::clone(self), Arc::clone(&claim));
            Box::new(move || workplace.construct(is_first, plan, state, &claim))
        };
        let estimated = MAKE_ESTIMATE + MAKE_NPC_ESTIMATE * n_npcs as u32;
        match self.constructions.submit(ConstructionTask { kind, name, estimated, work }) {
            Ok(poll) => self.starts().push(PendingStart { poll, claim }),
            Err(failure) => {
                take(&claim).expect("nothing else has it").end(JobOutcome::Started(Err(failure)));
            }
        }
    }

    /// Constructs a world, in a long task.
    fn construct(&self, is_first: bool, plan: StartPlan, state: InstanceState, claim: &StartClaim) {
        let _scope = RESUME.enter(plan.config.id.0.into());
        let (id, config) = (plan.id, plan.config.clone());
        let held_before = allocations::held_here();
        let made = catch_unwind(AssertUnwindSafe(|| match is_first {
            true => Ok(World::new(config)),
            false => restore(config, &state),
        }));
        let failure = match made {
            Ok(Ok(world)) => {
                // Given up meanwhile, it is dropped here.
                let Some(report) = take(claim) else { return };
                let kept = self.found(plan, world, held_before);
                let started = kept.map(|kept| u64::try_from(kept).ok().filter(|&kept| kept > 0));
                return report.end(JobOutcome::Started(started.ok_or(StartFailure::Stopping)));
            }
            Ok(Err((part, why))) => self.judge(id, part, &why),
            Err(panic) => {
                if let Some(report) = take(claim) {
                    report.end(JobOutcome::Started(Err(judge_panic(id, is_first, &*panic))));
                }
                // The pool counts it, and its own report states the place.
                resume_unwind(panic);
            }
        };
        if let Some(report) = take(claim) {
            report.end(JobOutcome::Started(Err(failure)));
        }
    }

    /// A state that makes no world. Its checksum is right, so that a build of ours wrote it: it stays in place, for a build that can
    /// read it.
    fn judge(&self, id: Uuid, part: Part, why: &SavedError) -> StartFailure {
        if !why.is_damage() {
            tracing::warn!(%id, %part, %why, "a state of an instance fits nothing that there is here");
            return StartFailure::Misfit(left_as_it_is(&format!("it does not fit: {why}")));
        }
        self.persistence.note_damage();
        tracing::error!(%id, %part, %why, "no world comes of the saved state of an instance");
        let why = format!("Its saved state is left as it is, since nothing can be made of it: {why}.");
        StartFailure::Damaged(why.into())
    }

    /// Puts a world into the pool; the number of bytes that its construction kept, or `None` once the server stops.
    pub(in crate::instances) fn found(&self, plan: StartPlan, world: World, held_before: i64) -> Option<i64> {
        let StartPlan { id, template, spec, config, reverted_from } = plan;
        let number = config.id;
        let journal_buffer = Arc::new(JournalBuffer::new(self.persistence.sequences()));
        journal_buffer.begin(&world);
        journal_buffer.set_reverted_from(reverted_from);
        // Worlds take their checkpoints one after the other.
        let share = (number.0 % 64) as f32 / 64.0;
        let life = Life::of(world, config, share).kept();
        if !self.pool.take_in(NewWorld { spec, life, journal_buffer: Arc::clone(&journal_buffer) }) {
            return None;
        }
        let kept_bytes = allocations::held_here() - held_before;
        let stepped = SteppedInstance { id, template, journal_buffer, kept_bytes, saving: None };
        let former = self.catalog().stepped.insert(number, stepped);
        assert!(former.is_none(), "world {}: in memory twice", number.0);
        // Its template's files may have been read again while it was constructed.
        self.catch_up(number);
        Some(kept_bytes)
    }

    /// Ends starts whose long task was ended by an operator or by the end of the pool; every [`host::registry::Registry::TIMEOUT_PERIOD`].
    pub fn end_abandoned_starts(&self) {
        let mut reports = Vec::new();
        self.starts().retain(|start| {
            let Some(failure) = (start.poll)() else { return true };
            reports.extend(take(&start.claim).map(|report| (report, failure)));
            false
        });
        for (report, failure) in reports {
            report.end(JobOutcome::Started(Err(failure)));
        }
    }

    fn starts(&self) -> Held<MutexGuard<'_, Vec<PendingStart>>> {
        STARTS.hold(|| self.starts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl StartPlan {
    /// Arguments of a world's construction, with the cast of the template or the one to which the instance has gone back.
    pub(in crate::instances) fn new(catalog: &WorldCatalog, order: StartOrder, epoch: Epoch) -> Option<Self> {
        let StartOrder { world, id, template, name, local_ids, .. } = order;
        let known = catalog.template(&template)?;
        let reverted = catalog.reverted.get(&id);
        let spec = WorldSpec {
            world,
            epoch,
            is_shared: false,
            name: name.to_string(),
            max_avatars: known.max_avatars,
            max_objects: 0,
            hz: known.hz,
            local_ids,
            ground: Arc::clone(&known.ground),
            portals: Arc::clone(&known.portals),
            seed: id.as_u64_pair().0,
            cache_id: Uuid::nil(),
        };
        let cast = reverted.map(|RevertedCast { to, .. }| to).or(known.cast.as_ref()).cloned();
        let config = WorldConfig::new(&spec, cast);
        let reverted_from = reverted.map(|reverted| reverted.from);
        Some(Self { id, template: Arc::clone(&known.name), spec: Arc::new(spec), config, reverted_from })
    }
}

fn restore(config: WorldConfig, state: &InstanceState) -> Result<World, (Part, SavedError)> {
    let number = config.id;
    let world = saved::restore(config, state.image.as_ref().map(|image| &*image.bytes));
    let mut world = world.map_err(|why| (Part::Image, why))?;
    let journal = state.journal.as_ref();
    let is_taken_up = journal.map_or(Ok(true), |journal| saved::apply_journal(&mut world, &journal.bytes));
    if !is_taken_up.map_err(|why| (Part::Journal, why))? {
        tracing::info!(world = number.0, "missions have changed since, and begin anew");
    }
    Ok(world)
}

/// A state on which a construction panics would do so again.
fn judge_panic(id: Uuid, is_first: bool, panic: &(dyn Any + Send)) -> StartFailure {
    let text = panic.downcast_ref::<&str>().copied().map(str::to_owned);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    if is_first {
        return StartFailure::Failed(format!("It failed: {text}.").into());
    }
    tracing::error!(%id, why = text, "no world comes of the saved state of an instance");
    StartFailure::Misfit(left_as_it_is(&format!("nothing can be made of it: {text}")))
}

fn left_as_it_is(why: &str) -> Arc<str> {
    format!("Its saved state is left as it is: {why}.").into()
}
