//! Schedule of tasks: head and tail of every frame, without threads.
//!
//! [`Schedule::join_batch`] is the head: at a beat it puts the awake worlds of that rate into a batch by descending cost, and gives the
//! worker the most urgent batch. [`Schedule::leave_batch`] is the tail: a worker hands back its stay with a batch, and with the last stay the
//! costs of all jobs are recorded. In between the schedule is not needed: workers [pull](Stay::pull) jobs and check the
//! [`WorkerFlags`].
//!
//! - `group`: worlds of one rate and their beat. `slot`: state of one task. `flight`: a batch under way. `load`: overload.
//! - `form`: forming batches. `results`: collecting results.
//!
//! `H` is the caller's handle for running a task; the simulator and the tests have none.

mod flight;
mod form;
mod group;
mod load;
mod results;
mod slot;
#[cfg(test)]
mod tests;

use crate::{
    StepStats,
    batch::Stay,
    flags::WorkerFlags,
    frames::{FrameHistory, FrameRecord, FrameSummary, FrameTrace},
};
use flight::Flight;
use form::BeatOrder;
use group::RateGroup;
use ids::{Instant, Tick};
use load::Overload;
use slot::{OffBeatDue, TaskPhase, TaskSlot};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// Names a task of a pool; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u64);

/// A step to make now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepStart {
    /// Task.
    pub id: TaskId,
    /// Its step number.
    pub tick: Tick,
    /// World time to pass.
    pub dt: Duration,
    /// World time passed ÷ wall time passed, 0–1. Sent to clients.
    pub dilation: f32,
    /// Start of the step.
    pub at: Instant,
    /// Start − due time.
    pub late_by: Duration,
}

/// All tasks with their beats and costs.
#[derive(Debug)]
pub struct Schedule<H> {
    slots: Vec<TaskSlot<H>>,
    /// Slots of tasks that are no more.
    free: Vec<u32>,
    by_id: BTreeMap<TaskId, u32>,
    groups: Vec<RateGroup>,
    /// Tasks due off the beat: they missed a beat, were added, resumed or put off. Tasks that have run since, sleep or were removed
    /// stay until the list is next traversed.
    off_beat: Vec<u32>,
    /// The earliest of these times.
    off_beat_at: Option<Instant>,
    /// Batches that are not over.
    flights: Vec<Flight<H>>,
    /// Batches to be filled again.
    spare: Vec<Flight<H>>,
    order: BeatOrder,
    load: Overload,
    log: FrameHistory,
    flags: Arc<WorkerFlags>,
    level: u8,
}

impl<H: Clone> Schedule<H> {
    /// A schedule without tasks, for `n_workers` workers.
    #[must_use]
    pub fn new(n_workers: usize) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            by_id: BTreeMap::new(),
            groups: Vec::new(),
            off_beat: Vec::new(),
            off_beat_at: None,
            flights: Vec::new(),
            spare: Vec::new(),
            order: BeatOrder::default(),
            load: Overload::default(),
            log: FrameHistory::new(),
            flags: Arc::new(WorkerFlags::new(n_workers)),
            level: 0,
        }
    }

    /// Flags that workers check between two jobs.
    #[must_use]
    pub fn flags(&self) -> &Arc<WorkerFlags> {
        &self.flags
    }

    /// Adds a task that is due at once and then with every beat of `dt`; its first step is `first_tick`.
    ///
    /// # Panics
    /// When `dt` is zero.
    pub fn add(&mut self, now: Instant, id: TaskId, dt: Duration, first_tick: Tick, handle: H) {
        let group = self.group_of(dt, now);
        let slot = TaskSlot::new(id, group, first_tick, dt, handle);
        let index = match self.free.pop() {
            Some(index) => {
                self.slots[index as usize] = slot;
                index
            }
            None => {
                self.slots.push(slot);
                u32::try_from(self.slots.len() - 1).expect("four billion tasks do not fit into memory")
            }
        };
        self.by_id.insert(id, index);
        self.groups[group].n_tasks += 1;
        self.awake(index, now);
        self.want(index, OffBeatDue { at: now, beat: None });
    }

    /// Removes a task, running or not; the result of a running job is ignored. False if there is none.
    pub fn remove(&mut self, id: TaskId) -> bool {
        let Some(index) = self.by_id.remove(&id) else { return false };
        let slot = &mut self.slots[index as usize];
        slot.is_held = slot.state == TaskPhase::Out;
        self.retire(index);
        true
    }

    /// Ends a task's sleep, or the one it is about to begin. True when it was asleep.
    pub fn wake(&mut self, id: TaskId, now: Instant) -> bool {
        let Some(&index) = self.by_id.get(&id) else { return false };
        let slot = &mut self.slots[index as usize];
        match slot.state {
            TaskPhase::Asleep => {
                slot.rhythm.rest();
                let at = slot.next_frame_at(self.groups[slot.group].clock.dt()).max(now);
                self.awake(index, now);
                self.want(index, OffBeatDue { at, beat: None });
                true
            }
            TaskPhase::Out => {
                slot.is_woken = true;
                false
            }
            TaskPhase::Idle | TaskPhase::Retired | TaskPhase::Free => false,
        }
    }

    /// Head of a frame: forms batches of due tasks, and returns a stay with the most urgent batch that has jobs left.
    pub fn join_batch(&mut self, now: Instant) -> Option<Stay<H>> {
        self.form_batches(now);
        self.most_urgent()
    }

    /// Time at which [`Schedule::join_batch`] will return a batch: a past time means now, `None` means not before a wake-up, the end of a
    /// stay or a new task. Not for a worker that has just got a batch: others may be waiting for it.
    #[must_use]
    pub fn next_due_at(&self) -> Option<Instant> {
        let awake = self.groups.iter().filter(|group| group.n_awake > 0);
        awake.map(|group| group.clock.due_at()).chain(self.off_beat_at).min()
    }

    /// Drains the statistics of each task's steps since the last call into `stats`.
    pub fn drain_step_stats(&mut self, step_stats: &mut Vec<(TaskId, StepStats)>) {
        let Self { by_id, slots, .. } = self;
        let take =
            |(&id, &index): (&TaskId, &u32)| (id, std::mem::take(&mut slots[index as usize].step_stats));
        step_stats.extend(by_id.iter().map(take));
    }

    /// True if there are jobs not pulled yet.
    #[must_use]
    pub fn has_jobs(&self) -> bool {
        self.flights.iter().any(|flight| flight.batch.remaining() > 0)
    }

    /// Drains the frame records since the last call into `records` ([`crate::FRAMES_MAX`] at most), and returns the summary of all.
    pub fn drain_frames(&mut self, records: &mut Vec<FrameRecord>) -> FrameSummary {
        self.log.drain_records(records)
    }

    /// Traces the next `n_beats` beats into `room` ([`FrameTrace::with_room`]). Replaces an earlier trace, which is returned to be dropped
    /// elsewhere.
    pub fn trace(&mut self, room: FrameTrace, n_beats: usize) -> Option<FrameTrace> {
        self.log.trace(room, n_beats)
    }

    /// The trace that was asked for, once it is whole.
    pub fn take_trace(&mut self) -> Option<FrameTrace> {
        self.log.take_trace()
    }

    /// Tasks there are, asleep or awake.
    #[must_use]
    pub fn n_tasks(&self) -> usize {
        self.by_id.len()
    }

    /// Tasks that are not asleep.
    #[must_use]
    pub fn n_awake(&self) -> usize {
        self.groups.iter().map(|group| group.n_awake).sum()
    }

    /// Worker time that the awake tasks need, by their estimates: 1 is one worker all the time.
    #[must_use]
    pub fn demand(&self) -> f32 {
        self.groups.iter().map(RateGroup::demand).sum()
    }

    /// Sets the starvation level of the following frame records.
    pub const fn set_level(&mut self, level: u8) {
        self.level = level;
    }

    fn group_of(&mut self, dt: Duration, now: Instant) -> usize {
        if let Some(index) = self.groups.iter().position(|group| group.clock.dt() == dt) {
            return index;
        }
        let group = RateGroup::new(now, dt);
        // Unused rates make room.
        let unused = self.groups.iter().position(|group| group.n_tasks == 0 && group.members.is_empty());
        let index = unused.unwrap_or(self.groups.len());
        if index == self.groups.len() {
            self.groups.push(group);
        } else {
            self.groups[index] = group;
        }
        index
    }

    /// Adds a task to the members of its group that have frames.
    fn awake(&mut self, index: u32, now: Instant) {
        let slot = &mut self.slots[index as usize];
        slot.state = TaskPhase::Idle;
        let group = &mut self.groups[slot.group];
        if group.n_awake == 0 {
            group.clock.resume(now);
        }
        group.n_awake += 1;
        if !slot.is_member {
            slot.is_member = true;
            group.members.push(index);
        }
    }

    /// Has an idle task run at a time of its own.
    fn want(&mut self, index: u32, wanted: OffBeatDue) {
        let slot = &mut self.slots[index as usize];
        slot.wanted = Some(wanted);
        self.off_beat_at = Some(self.off_beat_at.map_or(wanted.at, |at| at.min(wanted.at)));
        if !slot.is_off_beat {
            slot.is_off_beat = true;
            self.off_beat.push(index);
        }
    }

    /// Ends a task's time here. Its slot is kept while a list or a job names it.
    fn retire(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        let was_awake = matches!(slot.state, TaskPhase::Idle | TaskPhase::Out);
        slot.state = TaskPhase::Retired;
        slot.wanted = None;
        let slot_group = slot.group;
        let group = &mut self.groups[slot_group];
        group.n_tasks -= 1;
        group.n_awake -= usize::from(was_awake);
        group.n_retired += usize::from(slot.is_member);
        if group.wants_tidying() {
            self.tidy(slot_group);
        }
        self.release(index);
    }

    /// Removes former members from a group's list. Beats do so as well, but a group without awake members has none.
    fn tidy(&mut self, group: usize) {
        let mut members = std::mem::take(&mut self.groups[group].members);
        members.retain(|&index| {
            let is_retired = self.slots[index as usize].state == TaskPhase::Retired;
            if is_retired {
                self.slots[index as usize].is_member = false;
                self.release(index);
            }
            !is_retired
        });
        self.groups[group].members = members;
        self.groups[group].n_retired = 0;
    }

    /// Frees the slot of a retired task that nothing names any more.
    fn release(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        if slot.state == TaskPhase::Retired && !slot.is_member && !slot.is_off_beat && !slot.is_held {
            slot.state = TaskPhase::Free;
            self.free.push(index);
        }
    }
}
