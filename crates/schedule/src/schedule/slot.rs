//! What is known of one task.

use super::TaskId;
use crate::{Laps, clock::Rhythm, cost::Cost};
use ids::{Instant, Tick};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Slot<H> {
    pub(super) id: TaskId,
    /// Its place among [`super::Schedule::groups`].
    pub(super) group: usize,
    pub(super) handle: H,
    pub(super) state: State,
    pub(super) next_tick: Tick,
    pub(super) cost: Cost,
    pub(super) rhythm: Rhythm,
    /// The frame that it is out for, or was last.
    pub(super) frame: Frame,
    /// No frame begins before: half of `dt` after the last one began.
    pub(super) floor: Instant,
    /// The first and the last beat that came while it was out.
    pub(super) missed: Option<(Missed, Missed)>,
    /// When it is due, where that is not with the next beat.
    pub(super) wanted: Option<Wanted>,
    /// While it is out: it will not fall asleep.
    pub(super) is_woken: bool,
    /// Its group's list names it.
    pub(super) is_member: bool,
    /// The list of those that are due off the beat names it.
    pub(super) is_off_beat: bool,
    /// A job names it although it is no more.
    pub(super) is_held: bool,
    pub(super) laps: Laps,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Waits for its next frame.
    Idle,
    /// In a batch: it waits for its turn, or runs.
    Out,
    /// Waits for a wake.
    Asleep,
    /// Removed or panicked. The slot is free once nothing names it.
    Retired,
    /// Nobody's.
    Free,
}

/// Which frame a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// The time that it counts as.
    pub(super) nominal: Instant,
    /// It is a beat's, made in time or late. Otherwise it is one more, of a world that was added or woken between two beats: the
    /// first beat at least half of `dt` later brings its next, and the time until then says nothing about how fast it runs.
    pub(super) is_anchored: bool,
}

/// A beat that came while a task was out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Missed {
    /// The time that the beat counts as.
    pub(super) beat: Instant,
    /// When it came.
    pub(super) came_at: Instant,
}

/// A time of its own at which a task is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) at: Instant,
    /// The beat that it is for; none for an awakening.
    pub(super) beat: Option<Instant>,
}

impl<H> Slot<H> {
    pub(super) fn new(id: TaskId, group: usize, first_tick: Tick, dt: Duration, handle: H) -> Self {
        Self {
            id,
            group,
            handle,
            state: State::Asleep,
            next_tick: first_tick,
            cost: Cost::default(),
            rhythm: Rhythm::new(dt),
            frame: Frame { nominal: Instant::ZERO, is_anchored: false },
            floor: Instant::ZERO,
            missed: None,
            wanted: None,
            is_woken: false,
            is_member: false,
            is_off_beat: false,
            is_held: false,
            laps: Laps::default(),
        }
    }

    /// The earliest time for a frame after the last one: world time is never faster than the wall's, however often a task is woken.
    pub(super) fn next_frame_at(&self, dt: Duration) -> Instant {
        (self.frame.nominal + dt).max(self.floor)
    }

    /// A beat came while it was out.
    pub(super) fn miss(&mut self, missed: Missed) {
        let (first, _) = self.missed.unwrap_or((missed, missed));
        self.missed = Some((first, missed));
    }

    /// The same frame once more, when its time has come.
    pub(super) const fn put_off(&mut self) -> Option<Wanted> {
        // A beat that came meanwhile has its frame in this one.
        self.missed = None;
        Some(Wanted { at: self.floor, beat: Some(self.frame.nominal) })
    }

    /// The time and the beat of the frame that it still owes after one that began then: the first beat that it missed, unless its
    /// turn came after the beat only and the frame was worth both.
    pub(super) fn owed(&mut self, began_at: Instant) -> Option<Wanted> {
        let (first, last) = self.missed.take()?;
        let (floor, is_anchored) = (self.floor, self.frame.is_anchored);
        let is_owed = |missed: &Missed| began_at <= missed.came_at && (is_anchored || missed.beat >= floor);
        let Missed { beat, .. } = [first, last].into_iter().find(is_owed)?;
        Some(Wanted { at: beat.max(floor), beat: Some(beat) })
    }
}
