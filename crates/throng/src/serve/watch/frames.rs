//! Figures of frames, of the scheduler and of the balance between short and long tasks.

use super::export::Export;
use crate::serve::inboxes::Inboxes;
use crate::serve::worlds::{self, Workplace};
use host::capacity::WorkerDemand;
use ids::WorldId;
use operator_api::{FrameLog, FrameTracer};
use schedule::{FrameRecord, FrameTrace, PoolBalance, TaskId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use telemetry::recorder::{Arg, Scope, ScopeKind};

/// Precision of a rate: durations are in seconds and counted in microseconds.
fn hz(dt: Duration) -> String {
    format!("{:.0}", 1.0 / dt.as_secs_f64())
}

/// A frame of all worlds of a rate that was unfinished when the next one was due, with the number of its worlds. It is found within a
/// second, in which threads keep their record.
static MISSED: Scope = Scope::new("worlds.frame").arg(Arg::Count).kind(ScopeKind::Frame);

/// Traces of the pool of worlds.
pub(in crate::serve) struct PoolTracer {
    pub(in crate::serve) workplace: Workplace,
    pub(in crate::serve) inboxes: Arc<Inboxes>,
}

impl FrameTracer for PoolTracer {
    fn trace_next_frames(&self, n_frames: usize) {
        self.workplace.trace_next_frames(n_frames);
    }

    fn take_trace(&self) -> Option<FrameTrace> {
        self.workplace.take_trace()
    }

    fn worlds_by_task(&self) -> BTreeMap<TaskId, WorldId> {
        self.inboxes.worlds_by_task()
    }
}

impl Export {
    /// Frames that ended in the time that has `passed`, with their steps; returns their demand on the workers.
    pub(super) fn frames(
        &mut self,
        worlds: &worlds::WorldsView,
        frames: &FrameLog,
        n_steps: u64,
        passed: f32,
    ) -> WorkerDemand {
        let mut records = std::mem::take(&mut self.frame_records);
        records.clear();
        let summary = worlds.drain_frames(&mut records);
        frames.add(summary.dropped, &records);
        for record in records.iter().filter(|record| record.is_beat) {
            self.frame(record);
            let (lasted, dt) = (record.lasted().as_nanos() as u64, record.dt.as_nanos() as u64);
            MISSED.check_duration(record.worlds.into(), lasted, dt);
        }
        self.frame_records = records;
        let over = self.frames_over + summary.over;
        self.frames_over = over;
        self.count("throng_frames_over_total", "Frames that lasted longer than their rate allows.", "", over);
        self.gauge(
            "throng_frame_worlds",
            "Worlds of one frame, the most in the last second.",
            ("", ""),
            summary.worlds_max.into(),
        );
        let serial_s = summary.serial.as_secs_f64();
        self.gauge(
            "throng_schedule_ratio",
            "Share of the last second in which a worker had the schedule, and others that wanted it waited.",
            ("", ""),
            serial_s / f64::from(passed),
        );
        self.gauge(
            "throng_schedule_per_step_seconds",
            "That time per step of a world.",
            ("", ""),
            serial_s / n_steps.max(1) as f64,
        );
        let standing = worlds.balance();
        if let Some(standing) = &standing {
            self.standing(standing, summary.level_max);
        }
        WorkerDemand {
            workers: standing.map_or(0.0, |standing| standing.demand),
            beats: summary.beats,
            over: summary.over,
            ..WorkerDemand::default()
        }
    }

    fn frame(&mut self, record: &FrameRecord) {
        let metrics = &self.metrics;
        let timing = self.frame_timings.entry(record.dt).or_insert_with(|| {
            let help = "Time from when the worlds of one rate were due until the last of them was done.";
            metrics.timing("throng_frame_seconds", help, &[("hz", &hz(record.dt))])
        });
        timing.record(record.lasted());
    }

    fn standing(&mut self, standing: &PoolBalance, level_max: u8) {
        let PoolBalance { measure, backlog, demand } = standing;
        self.gauge(
            "throng_starvation_level",
            "Degree to which worlds make room for long tasks, 0 to 5: the highest of the last second.",
            ("", ""),
            measure.level.max(level_max).into(),
        );
        self.gauge("throng_world_workers", "Workers that may run now.", ("", ""), measure.n_workers as f64);
        self.gauge(
            "throng_world_pause_ratio",
            "Share of its time that an only worker leaves to others by pausing.",
            ("", ""),
            f64::from(measure.pause_per_mille) / 1e3,
        );
        self.gauge(
            "throng_world_demand_workers",
            "Workers that all awake worlds need.",
            ("", ""),
            (*demand).into(),
        );
        self.gauge(
            "throng_long_backlog_seconds",
            "Time that the long threads need for waiting work.",
            ("", ""),
            backlog.work.as_secs_f64(),
        );
        self.gauge(
            "throng_long_oldest_seconds",
            "Wait of the oldest of it: tasks that have not begun, and results to be dropped.",
            ("", ""),
            backlog.oldest.as_secs_f64(),
        );
    }
}
