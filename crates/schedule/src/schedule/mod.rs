//! Who runs next: the head and the tail of every frame, without threads.
//!
//! [`Schedule::look`] is the head. Where a beat has come it puts the awake worlds of that rate into a batch, the dearest
//! first, and hands the worker the most urgent batch there is. [`Schedule::leave`] is the tail: a worker hands back its stay with a
//! batch, and with the last one what all jobs cost is taken down. Between the two nobody needs the schedule: workers
//! [pull](Stay::pull) jobs, look at the [`Signs`], and go on.
//!
//! - `group`: worlds of one rate and their beat. `slot`: what is known of one world. `flight`: a batch under way. `load`: whether it is
//!   all too much.
//! - `form`: putting batches together. `settle`: taking them back.
//!
//! `H` is what the caller needs to run a task; the simulator and the tests have none.

mod flight;
mod form;
mod group;
mod load;
mod settle;
mod slot;
#[cfg(test)]
mod tests;

use crate::{
    Laps,
    batch::Stay,
    frames::{FrameLog, FrameRecord, FrameSummary, Trace},
    signs::Signs,
};
use flight::Flight;
use form::Order;
use group::Group;
use ids::{Instant, Tick};
use load::Load;
use slot::{Slot, State, Wanted};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// Names a task of a pool; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u64);

/// A step to make now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    /// Whose.
    pub id: TaskId,
    /// Its step number.
    pub tick: Tick,
    /// World time to pass.
    pub dt: Duration,
    /// World time passed ÷ wall time passed, 0–1. To be told to clients.
    pub dilation: f32,
    /// When it began.
    pub at: Instant,
    /// How long it was due before that.
    pub late_by: Duration,
}

/// All tasks with their beats and costs.
#[derive(Debug)]
pub struct Schedule<H> {
    slots: Vec<Slot<H>>,
    /// Slots of tasks that are no more.
    free: Vec<u32>,
    by_id: BTreeMap<TaskId, u32>,
    groups: Vec<Group>,
    /// Tasks that are due at a time of their own: they missed a beat, were added, woken or put off. Who has been run since then,
    /// sleeps or is gone stays until the list is looked through.
    off_beat: Vec<u32>,
    /// The earliest of these times.
    off_beat_at: Option<Instant>,
    /// Batches that are not over.
    flights: Vec<Flight<H>>,
    /// Batches to be filled again.
    spare: Vec<Flight<H>>,
    order: Order,
    load: Load,
    log: FrameLog,
    signs: Arc<Signs>,
    level: u8,
}

impl<H: Clone> Schedule<H> {
    /// No tasks, for so many workers.
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
            order: Order::default(),
            load: Load::default(),
            log: FrameLog::new(),
            signs: Arc::new(Signs::new(n_workers)),
            level: 0,
        }
    }

    /// What workers look at between two jobs.
    #[must_use]
    pub fn signs(&self) -> &Arc<Signs> {
        &self.signs
    }

    /// Adds a task that is due at once and then with every beat of `dt`; its first step is `first_tick`.
    ///
    /// # Panics
    /// When `dt` is zero.
    pub fn add(&mut self, now: Instant, id: TaskId, dt: Duration, first_tick: Tick, handle: H) {
        let group = self.group_of(dt, now);
        let slot = Slot::new(id, group, first_tick, dt, handle);
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
        self.want(index, Wanted { at: now, beat: None });
    }

    /// Takes a task out, also one that runs; what comes back of its job is ignored. False when there is none.
    pub fn remove(&mut self, id: TaskId) -> bool {
        let Some(index) = self.by_id.remove(&id) else { return false };
        let slot = &mut self.slots[index as usize];
        slot.is_held = slot.state == State::Out;
        self.retire(index);
        true
    }

    /// Ends a task's sleep, or the one it is about to begin. True when it was asleep.
    pub fn wake(&mut self, id: TaskId, now: Instant) -> bool {
        let Some(&index) = self.by_id.get(&id) else { return false };
        let slot = &mut self.slots[index as usize];
        match slot.state {
            State::Asleep => {
                slot.rhythm.rest();
                let at = slot.next_frame_at(self.groups[slot.group].clock.dt()).max(now);
                self.awake(index, now);
                self.want(index, Wanted { at, beat: None });
                true
            }
            State::Out => {
                slot.is_woken = true;
                false
            }
            State::Idle | State::Retired | State::Free => false,
        }
    }

    /// The head of a frame: puts together what is due, and gives the most urgent batch that has jobs left.
    pub fn look(&mut self, now: Instant) -> Option<Stay<H>> {
        self.form(now);
        self.most_urgent()
    }

    /// When [`Schedule::look`] will have something: a time in the past means now, `None` means not before a wake, a stay that
    /// ends or a new task. Not for a worker that just looked and was given a batch: others may be waiting for it.
    #[must_use]
    pub fn next_due_at(&self) -> Option<Instant> {
        let awake = self.groups.iter().filter(|group| group.n_awake > 0);
        awake.map(|group| group.clock.due_at()).chain(self.off_beat_at).min()
    }

    /// What each task's frames cost since the last call, appended to `laps`.
    pub fn take_laps(&mut self, laps: &mut Vec<(TaskId, Laps)>) {
        let Self { by_id, slots, .. } = self;
        let take = |(&id, &index): (&TaskId, &u32)| (id, std::mem::take(&mut slots[index as usize].laps));
        laps.extend(by_id.iter().map(take));
    }

    /// Whether there are jobs that nobody has pulled.
    #[must_use]
    pub fn has_jobs(&self) -> bool {
        self.flights.iter().any(|flight| flight.batch.remaining() > 0)
    }

    /// What frames took since the last call: the latest ([`crate::FRAMES_MAX`]) appended to `records`, and what all come to.
    pub fn take_frames(&mut self, records: &mut Vec<FrameRecord>) -> FrameSummary {
        self.log.take(records)
    }

    /// Keeps who makes which step when for the next `n_beats`, in place of a trace that was asked for before, of which what there is comes
    /// back to be dropped elsewhere. `room` is where it will stand ([`Trace::with_room`]).
    pub fn trace(&mut self, room: Trace, n_beats: usize) -> Option<Trace> {
        self.log.trace(room, n_beats)
    }

    /// The trace that was asked for, once it is whole.
    pub fn take_trace(&mut self) -> Option<Trace> {
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
        self.groups.iter().map(Group::demand).sum()
    }

    /// The starvation level that frames are told of.
    pub const fn set_level(&mut self, level: u8) {
        self.level = level;
    }

    fn group_of(&mut self, dt: Duration, now: Instant) -> usize {
        if let Some(index) = self.groups.iter().position(|group| group.clock.dt() == dt) {
            return index;
        }
        let group = Group::new(now, dt);
        // Rates that nobody has any more make room.
        let unused = self.groups.iter().position(|group| group.n_tasks == 0 && group.members.is_empty());
        let index = unused.unwrap_or(self.groups.len());
        if index == self.groups.len() {
            self.groups.push(group);
        } else {
            self.groups[index] = group;
        }
        index
    }

    /// Takes a task among those of its group that have frames.
    fn awake(&mut self, index: u32, now: Instant) {
        let slot = &mut self.slots[index as usize];
        slot.state = State::Idle;
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
    fn want(&mut self, index: u32, wanted: Wanted) {
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
        let was_awake = matches!(slot.state, State::Idle | State::Out);
        slot.state = State::Retired;
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

    /// Takes those out of a group's list that are no more. Beats do so as well, but a group has none while nobody is awake.
    fn tidy(&mut self, group: usize) {
        let mut members = std::mem::take(&mut self.groups[group].members);
        members.retain(|&index| {
            let is_retired = self.slots[index as usize].state == State::Retired;
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
        if slot.state == State::Retired && !slot.is_member && !slot.is_off_beat && !slot.is_held {
            slot.state = State::Free;
            self.free.push(index);
        }
    }
}
