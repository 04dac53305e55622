//! Head of a frame: due tasks become a batch.
//!
//! A beat takes all awake tasks of its group. Those that missed the last beat come first, since they have been due longest; then the
//! others by descending cost. A group's next beat waits until all jobs of its last one have begun, so that on an overloaded node no
//! task has two frames while another has none: all are dilated alike. A task still running at a beat misses it and is due at its end,
//! off the beat, together with tasks that were added, resumed or put off.

use super::{
    Flight, OffBeatDue, Schedule,
    group::RateGroup,
    slot::{FrameTime, Missed, TaskPhase, TaskSlot},
};
use crate::{
    batch::{NewJob, Stay, StepJob},
    clock::nominal,
    cost::CostClass,
    frames::FrameRecord,
};
use ids::Instant;
use std::{sync::Arc, time::Duration};

/// Buffers for putting members in order, reused so that a beat allocates nothing.
#[derive(Debug)]
pub(super) struct BeatOrder {
    /// First index of each class.
    starts: [u32; CostClass::COUNT],
    sorted: Vec<u32>,
    /// Due before this beat.
    first: Vec<u32>,
    normal: Vec<u32>,
    /// Began their last frame less than `dt / 2` ago: they come at the end of the batch.
    last: Vec<u32>,
}

impl Default for BeatOrder {
    fn default() -> Self {
        let none = Vec::new;
        Self { starts: [0; CostClass::COUNT], sorted: none(), first: none(), normal: none(), last: none() }
    }
}

/// Least capacity of a batch: batches off the beat are small and vary in size.
const LEAST_ROOM: usize = 64;

impl<H: Clone> Schedule<H> {
    /// Forms batches of all due tasks.
    pub(super) fn form_batches(&mut self, now: Instant) {
        let n_flights = self.flights.len();
        let open = self.flights.iter().filter(|flight| flight.batch.remaining() > 0);
        let worked_at = open.map(Flight::urgency).min();
        for index in 0..self.groups.len() {
            let group = &self.groups[index];
            if group.n_awake > 0 && group.clock.due_at() <= now && !self.is_beginning(index) {
                self.collect_results();
                self.form_beat(index, now);
            }
        }
        if self.off_beat_at.is_some_and(|at| at <= now) {
            self.form_off_beat(now);
        }
        // Workers leave their batch only for a more urgent one.
        if worked_at
            .is_some_and(|worked_at| self.flights[n_flights..].iter().any(|new| new.urgency() < worked_at))
        {
            self.flags.call();
        }
        let due_at = |(index, group): (usize, &RateGroup)| {
            (group.n_awake > 0 && !self.is_beginning(index)).then(|| group.clock.due_at())
        };
        let beat_at = self.groups.iter().enumerate().filter_map(due_at).min();
        self.flags.set_look_at(beat_at.into_iter().chain(self.off_beat_at).min());
    }

    /// A stay with the most urgent batch that has jobs left.
    pub(super) fn most_urgent(&self) -> Option<Stay<H>> {
        let open = self.flights.iter().filter(|flight| flight.batch.remaining() > 0);
        let flight = open.min_by_key(|flight| flight.urgency())?;
        Some(Stay { batch: Arc::clone(&flight.batch), n_pulled: 0, last: 0, round: self.flags.round() })
    }

    /// True while jobs of a group's last beat have not begun.
    fn is_beginning(&self, group: usize) -> bool {
        self.flights.iter().any(|flight| flight.group == Some(group) && flight.batch.remaining() > 0)
    }

    fn form_beat(&mut self, index: usize, now: Instant) {
        let group = &mut self.groups[index];
        let (due_at, dt) = (group.clock.due_at(), group.clock.dt());
        let Some(beat) = group.clock.begin(now, self.load.stretch()) else { return };
        let mut members = std::mem::take(&mut group.members);
        let mut order = std::mem::take(&mut self.order);

        let mut cost = Duration::ZERO;
        members.retain(|&member| {
            let stays = self.stays_member(member, Missed { beat, came_at: now });
            if stays {
                // However long a step is, it keeps one worker busy at a time.
                cost += self.slots[member as usize].cost.estimate().min(dt);
            }
            stays
        });
        order.sort(&mut members, &self.slots);
        order.choose(&members, &self.slots, now);

        let mut flight = self.spare_flight(members.len());
        let jobs = flight.jobs();
        let frame = FrameTime { nominal: beat, is_anchored: true };
        for &member in order.first.iter().chain(&order.normal).chain(&order.last) {
            let slot = &mut self.slots[member as usize];
            let due_at = slot.wanted.take().map_or(due_at, |wanted| wanted.at).max(slot.floor);
            jobs.push(job(slot, member, due_at, frame, dt));
        }
        self.order = order;
        let group = &mut self.groups[index];
        group.members = members;
        group.n_retired = 0;
        group.cost = cost;
        self.load.update(now, self.demand() / self.flags.capacity());
        flight.group = Some(index);
        flight.deadline = beat + dt;
        self.launch(flight, now, due_at, dt);
    }

    /// True if a member still takes part in its group's beats. One that is running misses this beat.
    fn stays_member(&mut self, index: u32, missed: Missed) -> bool {
        let slot = &mut self.slots[index as usize];
        match slot.state {
            TaskPhase::Idle => {}
            TaskPhase::Out => slot.miss(missed),
            TaskPhase::Asleep => slot.is_member = false,
            TaskPhase::Retired | TaskPhase::Free => {
                slot.is_member = false;
                self.release(index);
            }
        }
        matches!(self.slots[index as usize].state, TaskPhase::Idle | TaskPhase::Out)
    }

    /// Forms a batch of the tasks that are due off the beat.
    fn form_off_beat(&mut self, now: Instant) {
        let mut list = std::mem::take(&mut self.off_beat);
        let mut flight = self.spare_flight(list.len());
        let jobs = flight.jobs();
        let (mut due_at, mut shortest, mut deadline) = (now, Duration::MAX, None::<Instant>);
        self.off_beat_at = None;
        list.retain(|&index| {
            let slot = &mut self.slots[index as usize];
            let Some(wanted) = slot.wanted else {
                slot.is_off_beat = false;
                self.release(index);
                return false;
            };
            if wanted.at > now {
                self.off_beat_at = Some(self.off_beat_at.map_or(wanted.at, |at| at.min(wanted.at)));
                return true;
            }
            slot.wanted = None;
            slot.is_off_beat = false;
            let dt = self.groups[slot.group].clock.dt();
            jobs.push(job(slot, index, wanted.at, wanted.frame(now, dt), dt));
            due_at = due_at.min(wanted.at);
            shortest = shortest.min(dt);
            let by = wanted.beat.unwrap_or(wanted.at) + dt;
            deadline = Some(deadline.map_or(by, |deadline| deadline.min(by)));
            false
        });
        self.off_beat = list;
        flight.group = None;
        flight.deadline = deadline.unwrap_or(now);
        self.launch(flight, now, due_at, shortest);
    }

    /// A batch is complete. An empty one is kept for the next.
    fn launch(&mut self, mut flight: Flight<H>, now: Instant, due_at: Instant, dt: Duration) {
        if flight.batch.jobs.is_empty() {
            self.spare.push(flight);
            return;
        }
        let (is_beat, level) = (flight.group.is_some(), self.level);
        flight.open = self.log.open(FrameRecord {
            is_beat,
            dt,
            due_at,
            formed_at: now,
            level,
            ..FrameRecord::default()
        });
        (flight.n_left, flight.is_partly_collected) = (0, false);
        self.flights.push(flight);
    }

    /// An unused batch with capacity for `n_jobs` jobs: the smallest such one, so that large ones remain for large beats.
    fn spare_flight(&mut self, n_jobs: usize) -> Flight<H> {
        let mut best: Option<(usize, usize)> = None;
        for (index, flight) in self.spare.iter_mut().enumerate() {
            // A worker that saw the end of a batch may not have let go of it yet.
            let Some(batch) = Arc::get_mut(&mut flight.batch) else { continue };
            let room = batch.jobs.capacity();
            let is_better =
                |best: usize| if best < n_jobs { room > best } else { (n_jobs..best).contains(&room) };
            if best.is_none_or(|(_, best)| is_better(best)) {
                best = Some((index, room));
            }
        }
        let mut flight = best.map_or_else(Flight::default, |(index, _)| self.spare.swap_remove(index));
        Arc::get_mut(&mut flight.batch).expect("the batch is not shared").clear();
        flight.jobs().reserve(n_jobs.max(LEAST_ROOM));
        flight.pending.clear();
        flight.pending.reserve(n_jobs.max(LEAST_ROOM));
        flight
    }
}

/// A task's next frame. The task is out from now on.
fn job<H: Clone>(
    slot: &mut TaskSlot<H>,
    index: u32,
    due_at: Instant,
    frame: FrameTime,
    dt: Duration,
) -> StepJob<H> {
    slot.state = TaskPhase::Out;
    slot.frame = frame;
    slot.is_woken = false;
    StepJob::new(NewJob {
        handle: slot.handle.clone(),
        id: slot.id,
        tick: slot.next_tick,
        due_at,
        dt,
        dilation: slot.rhythm.dilation_at(frame.nominal),
        slot: index,
    })
}

impl OffBeatDue {
    /// The frame that a task makes now which was due at a time of its own.
    fn frame(&self, now: Instant, dt: Duration) -> FrameTime {
        match self.beat {
            // The task was asleep: the interval before is no measure of its speed.
            None => FrameTime { nominal: now, is_anchored: false },
            Some(beat) => FrameTime { nominal: nominal(beat, now, dt), is_anchored: true },
        }
    }
}

impl BeatOrder {
    /// Sorts by descending class, stable within a class.
    fn sort<H>(&mut self, members: &mut Vec<u32>, slots: &[TaskSlot<H>]) {
        let class = |&member: &u32| slots[member as usize].cost.class();
        if members.is_sorted_by(|one, next| class(one) >= class(next)) {
            return;
        }
        // Counting sort: its time does not depend on the order before.
        self.starts.fill(0);
        members.iter().for_each(|member| self.starts[usize::from(class(member).0)] += 1);
        let mut start = 0;
        for n in self.starts.iter_mut().rev() {
            let members_of_class = std::mem::replace(n, start);
            start += members_of_class;
        }
        self.sorted.clear();
        self.sorted.resize(members.len(), 0);
        for member in members.iter() {
            let place = &mut self.starts[usize::from(class(member).0)];
            self.sorted[*place as usize] = *member;
            *place += 1;
        }
        std::mem::swap(members, &mut self.sorted);
    }

    /// Chooses the members with a frame in this beat, in order.
    fn choose<H>(&mut self, members: &[u32], slots: &[TaskSlot<H>], now: Instant) {
        for part in [&mut self.first, &mut self.normal, &mut self.last] {
            part.clear();
        }
        for &member in members {
            let slot = &slots[member as usize];
            match (slot.state, slot.wanted) {
                (TaskPhase::Idle, Some(wanted)) if wanted.at <= now => self.first.push(member),
                (TaskPhase::Idle, None) if slot.floor <= now => self.normal.push(member),
                // By the end of the batch half of `dt` will have passed; if not, the frame is postponed.
                (TaskPhase::Idle, None) if slot.frame.is_anchored => self.last.push(member),
                // It is due later, at a time of its own or with the next beat; or it is out.
                _ => {}
            }
        }
    }
}
