//! Durations of frames, and on request a trace of the steps on each worker.
//!
//! Every batch becomes a record when its last step ends. A reader that polls once a second gets the latest records and a summary that
//! keeps the maxima of all.

use crate::{TaskId, batch::JobResult};
use ids::Instant;
use std::{collections::VecDeque, time::Duration};

/// Records kept for the watcher: ten seconds of worlds at 20, 30 and 45 Hz. Beyond that the oldest go, counted.
pub const FRAMES_MAX: usize = 1_024;
/// Frames of one trace: some seconds.
pub const TRACE_FRAMES_MAX: usize = 128;
/// Steps of one trace: 64 frames of a thousand worlds, 3 MB. Further steps are counted and not kept.
pub const TRACE_STEPS_MAX: usize = 65_536;

/// One batch of worlds, when the last of them was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameRecord {
    /// True for a beat (all awake worlds of one rate), false for worlds that had missed their beat, were added or resumed.
    pub is_beat: bool,
    /// World time of the frame; the shortest one if rates are mixed.
    pub dt: Duration,
    /// Due time: the earliest of its worlds.
    pub due_at: Instant,
    /// Time at which the batch was formed.
    pub formed_at: Instant,
    /// Start of its first step.
    pub began_at: Instant,
    /// End of its last step.
    pub ended_at: Instant,
    /// Worlds that were stepped.
    pub worlds: u32,
    /// Sum of its steps.
    pub cost: Duration,
    /// Longest step.
    pub longest: Duration,
    /// The starvation level when it was put together.
    pub level: u8,
}

impl FrameRecord {
    /// From when it was due until its last world was done.
    #[must_use]
    pub const fn lasted(&self) -> Duration {
        self.ended_at.since(self.due_at)
    }
}

/// Frames since the last look, with the worst kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameSummary {
    /// Beats of all rates.
    pub beats: u64,
    /// Batches between beats, of worlds that had missed their beat, were added or resumed.
    pub between: u64,
    /// Beats that lasted longer than their `dt`.
    pub over: u64,
    /// The beat that lasted longest.
    pub worst: Option<FrameRecord>,
    /// Worlds of one beat.
    pub worlds_max: u32,
    /// Sum of all steps.
    pub cost: Duration,
    /// Greatest sum of one beat's steps.
    pub cost_max: Duration,
    /// Longest step.
    pub longest: Duration,
    /// The highest starvation level.
    pub level_max: u8,
    /// Records lost to [`FRAMES_MAX`].
    pub dropped: u64,
    /// Time for which workers held the schedule: all heads and tails. Another worker would have waited for as long.
    pub serial: Duration,
}

/// A few frames in every detail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameTrace {
    /// Batches in the order in which they were put together.
    pub frames: Vec<FrameRecord>,
    /// Steps in the order of their batches.
    pub steps: Vec<TracedStep>,
    /// Steps and batches for which there was no room ([`TRACE_STEPS_MAX`], [`TRACE_FRAMES_MAX`]).
    pub dropped: u64,
}

/// One step of one world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedStep {
    /// Index into [`FrameTrace::frames`].
    pub frame: u32,
    /// Worker that made the step.
    pub worker: u16,
    /// Task that was stepped.
    pub task: TaskId,
    /// Start.
    pub began_at: Instant,
    /// End.
    pub ended_at: Instant,
}

/// Record of a batch under way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OpenRecord {
    record: FrameRecord,
    /// The trace that it is part of, and its place there.
    traced: Option<(u32, u32)>,
}

/// Records, summary and trace. Its memory is allocated at its creation, or by the caller that requests a trace.
#[derive(Debug)]
pub(crate) struct FrameHistory {
    recent: VecDeque<FrameRecord>,
    summary: FrameSummary,
    tracing: Option<Tracing>,
    /// Traces that were asked for.
    n_traces: u32,
}

#[derive(Debug)]
struct Tracing {
    /// Number of the trace: batches of a discarded trace may still be under way.
    number: u32,
    trace: FrameTrace,
    /// Beats to begin still.
    to_begin: usize,
    /// Batches that are not over.
    n_open: usize,
}

impl FrameHistory {
    pub(crate) fn new() -> Self {
        Self {
            recent: VecDeque::with_capacity(FRAMES_MAX),
            summary: FrameSummary::default(),
            tracing: None,
            n_traces: 0,
        }
    }

    /// A batch was put together.
    pub(crate) fn open(&mut self, record: FrameRecord) -> OpenRecord {
        let traced = self.tracing.as_mut().and_then(|tracing| tracing.open(&record));
        OpenRecord { record, traced }
    }

    /// One of its steps was made.
    pub(crate) fn step(&mut self, open: &mut OpenRecord, task: TaskId, made: &JobResult) {
        let record = &mut open.record;
        let ended_at = made.began_at + made.took;
        record.began_at = if record.worlds == 0 { made.began_at } else { record.began_at.min(made.began_at) };
        record.ended_at = record.ended_at.max(ended_at);
        record.worlds += 1;
        record.cost += made.took;
        record.longest = record.longest.max(made.took);
        if let Some((frame, tracing)) = self.tracing_of(open.traced) {
            let (worker, began_at) = (made.worker, made.began_at);
            tracing.step(TracedStep { frame, worker, task, began_at, ended_at });
        }
    }

    /// All of its steps were.
    pub(crate) fn close(&mut self, open: &OpenRecord) {
        let OpenRecord { record, traced } = open;
        if let Some((frame, tracing)) = self.tracing_of(*traced) {
            tracing.trace.frames[frame as usize] = *record;
            tracing.n_open -= 1;
        }
        if record.worlds == 0 {
            return;
        }
        self.summary.add(record);
        if self.recent.len() == FRAMES_MAX {
            self.recent.pop_front();
            self.summary.dropped += 1;
        }
        self.recent.push_back(*record);
    }

    /// Drains the records since the last call into `records`, in order of their ends, and returns their summary.
    pub(crate) fn drain_records(&mut self, records: &mut Vec<FrameRecord>) -> FrameSummary {
        records.extend(self.recent.drain(..));
        std::mem::take(&mut self.summary)
    }

    /// Traces the next `n_beats` beats and the batches between them, into `trace`. Returns the memory of a trace that was never
    /// collected, so that the caller can drop it elsewhere.
    pub(crate) fn trace(&mut self, trace: FrameTrace, n_beats: usize) -> Option<FrameTrace> {
        self.n_traces += 1;
        let (number, to_begin) = (self.n_traces, n_beats.clamp(1, TRACE_FRAMES_MAX));
        let former = self.tracing.replace(Tracing { number, trace, to_begin, n_open: 0 });
        former.map(|former| former.trace)
    }

    fn tracing_of(&mut self, traced: Option<(u32, u32)>) -> Option<(u32, &mut Tracing)> {
        let (number, frame) = traced?;
        let tracing = self.tracing.as_mut().filter(|tracing| tracing.number == number)?;
        Some((frame, tracing))
    }

    /// The trace that was asked for, once all of it is there.
    pub(crate) fn take_trace(&mut self) -> Option<FrameTrace> {
        let tracing = self.tracing.take_if(|tracing| tracing.to_begin == 0 && tracing.n_open == 0)?;
        Some(tracing.trace)
    }
}

impl Tracing {
    fn open(&mut self, record: &FrameRecord) -> Option<(u32, u32)> {
        if self.to_begin == 0 {
            return None;
        }
        if record.is_beat {
            self.to_begin -= 1;
        }
        let frames = &mut self.trace.frames;
        if frames.len() == frames.capacity() {
            self.trace.dropped += 1;
            return None;
        }
        self.n_open += 1;
        frames.push(*record);
        Some((self.number, frames.len() as u32 - 1))
    }

    fn step(&mut self, step: TracedStep) {
        let steps = &mut self.trace.steps;
        if steps.len() == steps.capacity() {
            self.trace.dropped += 1;
        } else {
            steps.push(step);
        }
    }
}

impl FrameTrace {
    /// An empty trace with room for `n_beats` beats of `n_steps` steps, and half as many again for batches between them.
    #[must_use]
    pub fn with_room(n_beats: usize, n_steps: usize) -> Self {
        let n_beats = n_beats.clamp(1, TRACE_FRAMES_MAX);
        Self {
            frames: Vec::with_capacity(TRACE_FRAMES_MAX),
            steps: Vec::with_capacity((n_beats * (n_steps + n_steps / 2 + 64)).min(TRACE_STEPS_MAX)),
            dropped: 0,
        }
    }
}

impl FrameSummary {
    fn add(&mut self, record: &FrameRecord) {
        self.cost += record.cost;
        self.longest = self.longest.max(record.longest);
        self.level_max = self.level_max.max(record.level);
        if !record.is_beat {
            self.between += 1;
            return;
        }
        self.beats += 1;
        self.over += u64::from(record.lasted() > record.dt);
        self.worlds_max = self.worlds_max.max(record.worlds);
        self.cost_max = self.cost_max.max(record.cost);
        if self.worst.is_none_or(|worst| record.lasted() > worst.lasted()) {
            self.worst = Some(*record);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::StepOutcome;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn due(due_at: Instant) -> FrameRecord {
        FrameRecord { is_beat: true, dt: ms(50), due_at, formed_at: due_at, ..FrameRecord::default() }
    }

    fn step(began_ms: u64, took_ms: u64) -> JobResult {
        let (began_at, took) = (at(began_ms), ms(took_ms));
        JobResult { outcome: StepOutcome::Awake, worker: 0, began_at, late_by: Duration::ZERO, took }
    }

    fn run(log: &mut FrameHistory, due_ms: u64, steps: &[(u64, u64)]) {
        let mut open = log.open(due(at(due_ms)));
        for (task, &(began, took)) in (1..).zip(steps) {
            let made = step(began, took);
            log.step(&mut open, TaskId(task), &made);
        }
        log.close(&open);
    }

    #[test]
    fn a_frame_lasts_from_when_it_was_due_until_its_last_world_is_done() {
        let mut log = FrameHistory::new();
        run(&mut log, 100, &[(103, 20), (102, 5), (120, 10)]);
        run(&mut log, 150, &[(150, 60)]);
        let mut records = Vec::new();
        let summary = log.drain_records(&mut records);
        let first = &records[0];
        assert_eq!((first.began_at, first.ended_at, first.lasted()), (at(102), at(130), ms(30)));
        assert_eq!((first.worlds, first.cost, first.longest), (3, ms(35), ms(20)));
        assert_eq!((summary.beats, summary.over, summary.worst), (2, 1, Some(records[1])));
        assert_eq!((summary.cost, summary.cost_max, summary.longest), (ms(95), ms(60), ms(60)));
        assert_eq!(log.drain_records(&mut records), FrameSummary::default());
    }

    #[test]
    fn the_worst_is_kept_without_a_reader() {
        let mut log = FrameHistory::new();
        run(&mut log, 0, &[(0, 400)]);
        for frame in 1..=FRAMES_MAX as u64 {
            run(&mut log, frame * 50, &[(frame * 50, 1)]);
        }
        let mut records = Vec::new();
        let summary = log.drain_records(&mut records);
        assert_eq!((records.len(), summary.dropped), (FRAMES_MAX, 1));
        assert_eq!(summary.worst.map(|worst| worst.lasted()), Some(ms(400)));
    }

    #[test]
    fn a_trace_has_the_frames_that_were_asked_for_once_all_are_over() {
        let mut log = FrameHistory::new();
        assert_eq!(log.trace(FrameTrace::with_room(2, 3), 2), None);
        run(&mut log, 0, &[(0, 1), (1, 2)]);
        let unended = log.open(due(at(50)));
        assert_eq!(log.take_trace(), None);
        log.close(&unended);
        run(&mut log, 100, &[(100, 1)]);
        let trace = log.take_trace().unwrap();
        assert_eq!((trace.frames.len(), trace.steps.len(), trace.dropped), (2, 2, 0));
        assert_eq!((trace.steps[1].began_at, trace.steps[1].ended_at), (at(1), at(3)));
        assert_eq!(log.take_trace(), None);
    }

    #[test]
    fn a_batch_of_a_trace_that_was_given_up_disturbs_no_other() {
        let mut log = FrameHistory::new();
        assert_eq!(log.trace(FrameTrace::with_room(1, 1), 1), None);
        let mut open = log.open(due(at(0)));
        let former = log.trace(FrameTrace::with_room(1, 1), 1).expect("the former trace was not collected");
        assert_eq!(former.frames.len(), 1);
        let made = step(1, 1);
        log.step(&mut open, TaskId(1), &made);
        log.close(&open);
        run(&mut log, 50, &[(50, 1)]);
        let trace = log.take_trace().unwrap();
        assert_eq!((trace.frames.len(), trace.steps.len()), (1, 1));
        assert_eq!(trace.steps[0].began_at, at(50));
    }
}
