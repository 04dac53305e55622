//! Suspensions: an empty instance leaves memory for the store, until a visitor is on its way in (`starts`).
//!
//! A world is taken out of the pool between two steps, its state is copied and saved in one transaction with those of the job's other worlds,
//! and then it is dropped. After an error or a panic before that, it goes back into the pool.

use super::{InstanceWorkplace, unsaved};
use crate::instances::catalog::RevertedCast;
use crate::instances::pool::StoppedWorld;
use crate::instances::report::JobReport;
use crate::journal_buffer::JournalBuffer;
use host::registry::{JobOutcome, SuspendOutcome, SuspendTarget};
use ids::{Uuid, WorldId};
use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;
use telemetry::recorder::{Arg, Scope};
use world::saved;

/// One suspension job; its argument is the number of instances.
static SUSPEND: Scope = Scope::new("instances.suspend").arg(Arg::Count).limit_us(1_000_000);

/// Time for which a world that cannot be taken out is not chosen again: it is down, or its journal buffer is not written yet. Without
/// this pause it would be chosen every time, as the world that has been empty the longest.
const OUT_OF_REACH: Duration = Duration::from_secs(3);

/// A world that was down (its restart was pending) when the server stopped.
pub(in crate::instances) struct DownWorld {
    stopped: Box<dyn StoppedWorld>,
    /// Panics in a row; `None` once it has restarted, which consumes its checkpoint.
    in_a_row: Option<u32>,
}

/// Origin of a world on its way out of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeavingFrom {
    Pool,
    Down,
}

/// A world on its way out of memory.
pub(in crate::instances) struct LeavingWorld<'a> {
    workplace: &'a InstanceWorkplace,
    world: WorldId,
    id: Uuid,
    template: Arc<str>,
    journal_buffer: Arc<JournalBuffer>,
    from: LeavingFrom,
    /// Until it has left.
    stopped: Option<Box<dyn StoppedWorld>>,
    image: Option<store::State>,
}

impl LeavingWorld<'_> {
    /// The state to be saved, if anything has changed since the last one.
    fn take_image(&mut self, has_had_visitors: bool) {
        let Some(stopped) = &self.stopped else { return };
        // A world that went back to a former cast is resumed with that.
        let has_gone_back = self.journal_buffer.reverted_from().is_some();
        let is_down = self.from == LeavingFrom::Down;
        let is_changed = has_had_visitors || self.journal_buffer.has_news() || has_gone_back || is_down;
        self.image = (is_changed && !self.journal_buffer.is_closed()).then(|| store::State {
            id: self.id,
            sequence: self.journal_buffer.next_sequence(),
            bytes: saved::encode_image(&stopped.world().snapshot()),
        });
    }

    /// The cast to which the world was reverted, to be noted for its resumption. `None` for a world that restarted empty after the
    /// revert: it resumes from its saved state.
    fn reverted(&self) -> Option<RevertedCast> {
        let from = self.journal_buffer.reverted_from().filter(|_| !self.journal_buffer.is_closed())?;
        let to = Arc::clone(self.stopped.as_ref()?.cast()?);
        Some(RevertedCast { template: Arc::clone(&self.template), from, to })
    }

    /// The world leaves memory; its size in use, if that is known.
    fn leave(mut self) -> Option<u64> {
        let Self { workplace, world, id, .. } = self;
        if let Some(reverted) = self.reverted() {
            workplace.catalog().note_reverted(id, reverted);
        }
        let grown = workplace.counted(world).map_or(0, |counted| counted.grown_bytes);
        if let Some(stopped) = self.stopped.take() {
            stopped.leave();
        }
        let kept = workplace.forget(world);
        tracing::debug!(%id, world = world.0, "an instance is suspended");
        u64::try_from(kept? + grown).ok().filter(|&bytes| bytes > 0)
    }
}

impl Drop for LeavingWorld<'_> {
    fn drop(&mut self) {
        let Some(stopped) = self.stopped.take() else { return };
        match self.from {
            LeavingFrom::Pool => stopped.go_on(),
            LeavingFrom::Down => {
                self.workplace.down().insert(self.world, DownWorld { stopped, in_a_row: None });
            }
        }
    }
}

impl InstanceWorkplace {
    /// Suspends these instances. One whose saved state is current leaves memory in any case, another one only if its state can be saved.
    pub(in crate::instances) fn suspend(&self, targets: &[SuspendTarget], report: JobReport) {
        let scope = SUSPEND.enter(targets.len() as u64);
        let until = (self.clock)() + OUT_OF_REACH;
        let mut outcomes: BTreeMap<WorldId, SuspendOutcome> = BTreeMap::new();
        let mut leaving: Vec<LeavingWorld<'_>> = Vec::new();
        for target in targets {
            match self.take_out(target) {
                Some(world) => leaving.push(world),
                None => {
                    outcomes.insert(target.world, SuspendOutcome::Kept { until, failure: None });
                }
            }
        }
        let images: Vec<store::State> = leaving.iter_mut().filter_map(|one| one.image.take()).collect();
        let saved = if images.is_empty() { Ok(()) } else { self.persistence.save(&images) };
        let failure = saved.err().map(|why| (self.rests_until(), unsaved(why)));
        for one in leaving {
            let world = one.world;
            let is_saved = failure.is_none() || images.iter().all(|image| image.id != one.id);
            let outcome = match &failure {
                Some((until, why)) if !is_saved => {
                    SuspendOutcome::Kept { until: *until, failure: Some(Arc::clone(why)) }
                }
                _ => SuspendOutcome::Saved(one.leave()),
            };
            outcomes.insert(world, outcome);
        }
        drop(scope);
        let in_order =
            |target: &SuspendTarget| outcomes.remove(&target.world).map(|outcome| (target.world, outcome));
        report.end(JobOutcome::Suspended(targets.iter().filter_map(in_order).collect()));
    }

    /// Takes a world out of the pool, with a copy of its state. `None` if it is not stepped, is down and has to restart first, or restarted
    /// empty and its journal buffer is not written yet.
    pub(in crate::instances) fn take_out(&self, target: &SuspendTarget) -> Option<LeavingWorld<'_>> {
        let SuspendTarget { world, is_changed } = *target;
        let known = {
            let catalog = self.catalog();
            let stepped = catalog.stepped.get(&world)?;
            (stepped.id, Arc::clone(&stepped.template), Arc::clone(&stepped.journal_buffer))
        };
        let (id, template, journal_buffer) = known;
        // The state from before its empty restart exists only in the journal buffer until the `journal` thread has written it.
        if journal_buffer.is_closed() && journal_buffer.has_news() {
            return None;
        }
        let (from, stopped) = match self.pool.take_out(world) {
            Some(stopped) => (LeavingFrom::Pool, stopped),
            None => (LeavingFrom::Down, self.take_down(world)?),
        };
        let stopped = Some(stopped);
        let mut leaving =
            LeavingWorld { workplace: self, world, id, template, journal_buffer, from, stopped, image: None };
        leaving.take_image(is_changed);
        Some(leaving)
    }

    /// Restarts a world that was down when the server stopped, to save its state. At most once per world: a restart consumes the
    /// checkpoint, and a second one would be empty.
    fn take_down(&self, world: WorldId) -> Option<Box<dyn StoppedWorld>> {
        let DownWorld { mut stopped, in_a_row } = self.down().remove(&world)?;
        if let Some(in_a_row) = in_a_row {
            stopped.begin_again(in_a_row);
        }
        Some(stopped)
    }

    /// Takes the remains of worlds that are down, since the server stops, each with its panics in a row.
    pub(in crate::instances) fn set_down(
        &self,
        down: impl IntoIterator<Item = (WorldId, Box<dyn StoppedWorld>, u32)>,
    ) {
        let remains = down
            .into_iter()
            .map(|(world, stopped, in_a_row)| (world, DownWorld { stopped, in_a_row: Some(in_a_row) }));
        self.down().extend(remains);
    }

    fn down(&self) -> MutexGuard<'_, BTreeMap<WorldId, DownWorld>> {
        self.down.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
