//! The effect of long work on the server over time: its backlog, the level of starvation and the frames, on the server's own clock.

use super::frames::{Frames, ScheduleFrame, beats};
use super::stage::WorldsTestbed;
use super::storm::POLL_PERIOD;
use crate::clock;
use crate::error::ExperimentError;
use crate::findings::{Chart, ChartLine, Findings};
use crate::meter::least;
use std::time::{Duration, Instant};

/// Long work below the threshold of a backlog, seconds, by the scheduler's own definition.
const NORMAL_S: f64 = 0.1;

/// One export of the server, which has one a second.
#[derive(Clone, Copy, Debug)]
struct ServerExport {
    /// Seconds since the server began.
    at_s: f64,
    backlog_s: f64,
    waiting: f64,
    level: f64,
    dilation: f64,
}

impl ServerExport {
    /// True if long work is at its level without a storm.
    fn is_normal(&self) -> bool {
        self.backlog_s <= NORMAL_S && self.waiting == 0.0
    }
}

/// Reads the server's exports four times a second.
pub(super) struct ServerPoller<'a> {
    stage: &'a WorldsTestbed<'a>,
    frame_reader: Frames<'a>,
    frames: Vec<ScheduleFrame>,
    exports: Vec<ServerExport>,
    /// Arrival of the newest export.
    arrived_at: Instant,
}

impl<'a> ServerPoller<'a> {
    pub(super) fn start(stage: &'a WorldsTestbed<'a>) -> Result<Self, ExperimentError> {
        let frame_reader = Frames::from_now(&stage.operator)?;
        let mut watcher =
            Self { stage, frame_reader, frames: Vec::new(), exports: Vec::new(), arrived_at: clock::now() };
        watcher.read_export()?;
        Ok(watcher)
    }

    pub(super) fn watch(&mut self, duration: Duration) -> Result<(), ExperimentError> {
        let ends_at = clock::now() + duration;
        while clock::now() < ends_at {
            self.read_export()?;
            clock::wait_until(ends_at.min(clock::now() + POLL_PERIOD));
        }
        Ok(())
    }

    fn read_export(&mut self) -> Result<(), ExperimentError> {
        let metrics = self.stage.server.metrics()?;
        let export = ServerExport {
            at_s: metrics.sum("throng_uptime_seconds"),
            backlog_s: metrics.sum("throng_long_backlog_seconds"),
            waiting: metrics.sum("throng_long_waiting"),
            level: metrics.sum("throng_starvation_level"),
            dilation: metrics.min("throng_world_dilation_ratio").unwrap_or(f64::NAN),
        };
        if self.exports.last().is_none_or(|last| last.at_s < export.at_s) {
            self.exports.push(export);
            self.arrived_at = clock::now();
        }
        self.frames.extend(beats(self.frame_reader.take()?));
        Ok(())
    }

    /// Now, in seconds since the server began; too early by no more than the time between two exports.
    pub(super) fn server_s(&self) -> f64 {
        self.exports.last().map_or(f64::NAN, |export| export.at_s + self.arrived_at.elapsed().as_secs_f64())
    }

    /// Time of the first export, in the same seconds.
    pub(super) fn begin_s(&self) -> f64 {
        self.exports.first().map_or(f64::NAN, |export| export.at_s)
    }

    /// From this moment on until long work was normal and stayed so to the end; none when it did not.
    pub(super) fn normal_after(&self, from_s: f64) -> Option<f64> {
        normal_after(&self.exports, from_s)
    }

    /// True if long work has been normal for `duration`, after this moment.
    pub(super) fn is_normal_since(&self, from_s: f64, duration: Duration) -> bool {
        let newest_s = self.exports.last().map_or(f64::NAN, |export| export.at_s);
        self.normal_after(from_s)
            .is_some_and(|after_s| newest_s - (from_s + after_s) >= duration.as_secs_f64())
    }

    pub(super) fn frames(&self) -> &[ScheduleFrame] {
        &self.frames
    }

    pub(super) fn report_lost(&self, findings: &mut Findings) {
        self.frame_reader.report_lost(findings);
    }

    pub(super) fn most_backlog_within(&self, from_s: f64, to_s: f64) -> f64 {
        let within = self.exports.iter().filter(|export| (from_s..to_s).contains(&export.at_s));
        within.map(|export| export.backlog_s).fold(0.0, f64::max)
    }

    pub(super) fn most_level(&self) -> f64 {
        self.exports.iter().map(|export| export.level).fold(0.0, f64::max)
    }

    pub(super) fn least_dilation(&self) -> f64 {
        self.exports.iter().map(|export| export.dilation).reduce(least).unwrap_or(f64::NAN)
    }

    pub(super) fn backlog_chart(&self) -> Chart {
        self.chart("backlog of long work", "s", |export| export.backlog_s)
    }

    pub(super) fn level_chart(&self) -> Chart {
        self.chart("starvation level", "", |export| export.level)
    }

    fn chart(&self, name: &str, unit: &str, of: fn(&ServerExport) -> f64) -> Chart {
        let begin_s = self.begin_s();
        let points = self.exports.iter().map(|export| (export.at_s - begin_s, of(export))).collect();
        Chart {
            title: format!("{name}, before, in and after the storm"),
            x: ("time".to_owned(), "s".to_owned()),
            y: (name.to_owned(), unit.to_owned()),
            is_log: false,
            lines: vec![ChartLine { name: name.to_owned(), points }],
        }
    }
}

fn normal_after(exports: &[ServerExport], from_s: f64) -> Option<f64> {
    let after = &exports[exports.partition_point(|export| export.at_s <= from_s)..];
    let n_before = after.iter().rposition(|export| !export.is_normal()).map_or(0, |last| last + 1);
    after.get(n_before).map(|export| export.at_s - from_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_work_is_normal_when_it_stays_so_regardless_of_earlier_samples() {
        let exports = |backlogs: &[f64]| -> Vec<ServerExport> {
            let export = |(second, &backlog_s): (u32, &f64)| ServerExport {
                at_s: f64::from(second),
                backlog_s,
                waiting: 0.0,
                level: 0.0,
                dilation: 1.0,
            };
            (0..).zip(backlogs).map(export).collect()
        };
        assert_eq!(normal_after(&exports(&[0.0, 2.0, 1.0, 0.0, 0.0]), 1.5), Some(1.5));
        assert_eq!(normal_after(&exports(&[0.0, 2.0, 0.0, 0.5, 0.1]), 1.5), Some(2.5));
        assert_eq!(normal_after(&exports(&[0.0, 2.0, 0.0, 0.5]), 1.5), None);
        assert_eq!(normal_after(&exports(&[0.0, 0.0]), 1.5), None);
        assert_eq!(normal_after(&exports(&[2.0, 2.0, 0.0]), 1.5), Some(0.5));
    }
}
