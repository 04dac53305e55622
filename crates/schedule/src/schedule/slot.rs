//! State of one task.

use super::TaskId;
use crate::{StepStats, clock::Rhythm, cost::CostEstimate};
use ids::{Instant, Tick};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct TaskSlot<H> {
    pub(super) id: TaskId,
    /// Its place among [`super::Schedule::groups`].
    pub(super) group: usize,
    pub(super) handle: H,
    pub(super) state: TaskPhase,
    pub(super) next_tick: Tick,
    pub(super) cost: CostEstimate,
    pub(super) rhythm: Rhythm,
    /// The frame that it is out for, or was last.
    pub(super) frame: FrameTime,
    /// No frame begins before: half of `dt` after the last one began.
    pub(super) floor: Instant,
    /// The first and the last beat that came while it was out.
    pub(super) missed: Option<(Missed, Missed)>,
    /// Due time off the beat.
    pub(super) wanted: Option<OffBeatDue>,
    /// While it is out: it will not fall asleep.
    pub(super) is_woken: bool,
    /// Its group's list names it.
    pub(super) is_member: bool,
    /// True while the list of tasks due off the beat contains it.
    pub(super) is_off_beat: bool,
    /// A job names it although it is no more.
    pub(super) is_held: bool,
    pub(super) step_stats: StepStats,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskPhase {
    /// Waits for its next frame.
    Idle,
    /// In a batch: it waits for its turn, or runs.
    Out,
    /// Sleeps until a wake-up.
    Asleep,
    /// Removed or panicked. The slot is free once nothing names it.
    Retired,
    /// Unused.
    Free,
}

/// Time of a job's frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameTime {
    /// The time that it counts as.
    pub(super) nominal: Instant,
    /// True for a frame of a beat, on time or late. False for an additional frame of a world added or resumed between two beats: its
    /// next frame comes with the first beat at least `dt / 2` later, and the interval until then is no measure of its speed.
    pub(super) is_anchored: bool,
}

/// A beat that came while a task was out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Missed {
    /// The time that the beat counts as.
    pub(super) beat: Instant,
    /// Time of the beat.
    pub(super) came_at: Instant,
}

/// Due time of a task off the beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OffBeatDue {
    pub(super) at: Instant,
    /// Beat that it makes up for; `None` after a sleep.
    pub(super) beat: Option<Instant>,
}

impl<H> TaskSlot<H> {
    pub(super) fn new(id: TaskId, group: usize, first_tick: Tick, dt: Duration, handle: H) -> Self {
        Self {
            id,
            group,
            handle,
            state: TaskPhase::Asleep,
            next_tick: first_tick,
            cost: CostEstimate::default(),
            rhythm: Rhythm::new(dt),
            frame: FrameTime { nominal: Instant::ZERO, is_anchored: false },
            floor: Instant::ZERO,
            missed: None,
            wanted: None,
            is_woken: false,
            is_member: false,
            is_off_beat: false,
            is_held: false,
            step_stats: StepStats::default(),
        }
    }

    /// Earliest time of the next frame: world time never runs faster than wall time, however often a task is woken.
    pub(super) fn next_frame_at(&self, dt: Duration) -> Instant {
        (self.frame.nominal + dt).max(self.floor)
    }

    /// A beat came while it was out.
    pub(super) fn miss(&mut self, missed: Missed) {
        let (first, _) = self.missed.unwrap_or((missed, missed));
        self.missed = Some((first, missed));
    }

    /// The same frame once more, when its time has come.
    pub(super) const fn put_off(&mut self) -> Option<OffBeatDue> {
        // A beat that came meanwhile has its frame in this one.
        self.missed = None;
        Some(OffBeatDue { at: self.floor, beat: Some(self.frame.nominal) })
    }

    /// Due time and beat of the frame still owed after one that began at `began_at`: the first missed beat, unless the frame began
    /// after that beat and counts for both.
    pub(super) fn owed(&mut self, began_at: Instant) -> Option<OffBeatDue> {
        let (first, last) = self.missed.take()?;
        let (floor, is_anchored) = (self.floor, self.frame.is_anchored);
        let is_owed = |missed: &Missed| began_at <= missed.came_at && (is_anchored || missed.beat >= floor);
        let Missed { beat, .. } = [first, last].into_iter().find(is_owed)?;
        Some(OffBeatDue { at: beat.max(floor), beat: Some(beat) })
    }
}
