//! Frames of all worlds together, as the server reports them.

use crate::error::ExperimentError;
use crate::findings::{Chart, ChartLine, Findings};
use crate::server::Operator;
use report::{TimelinePlot, TimelineSlice};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io;

/// Worlds of one rate, from when they were due until the last of them was done.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct ScheduleFrame {
    number: u64,
    /// False between the frames: worlds that were made, resumed or too slow.
    is_beat: bool,
    /// Since the server began, as its `throng_uptime_seconds`.
    due_us: u64,
    ended_us: u64,
    worlds: u32,
    pub(super) level: u8,
}

impl ScheduleFrame {
    fn ms(&self) -> f64 {
        (self.ended_us - self.due_us) as f64 / 1e3
    }

    fn due_s(&self) -> f64 {
        self.due_us as f64 / 1e6
    }

    /// Difference to an earlier frame's due time, seconds.
    pub(super) const fn due_s_behind(&self, earlier: &Self) -> f64 {
        self.due_us.saturating_sub(earlier.due_us) as f64 / 1e6
    }
}

#[derive(Deserialize)]
struct FramesPage {
    next: u64,
    frames: Vec<ScheduleFrame>,
}

/// Reads the server's frames one after the other.
pub(super) struct Frames<'a> {
    operator: &'a Operator,
    next: u64,
    /// Frames that the server had already dropped.
    n_lost: u64,
}

impl<'a> Frames<'a> {
    /// From those that end from now on.
    pub(super) fn from_now(operator: &'a Operator) -> Result<Self, ExperimentError> {
        let mut frames = Self { operator, next: 0, n_lost: 0 };
        frames.take()?;
        frames.n_lost = 0;
        Ok(frames)
    }

    /// Frames that have ended since the last call, as of the server's latest export.
    pub(super) fn take(&mut self) -> Result<Vec<ScheduleFrame>, ExperimentError> {
        let page: FramesPage = ask(self.operator, &format!("/v1/frames?from={}", self.next))?;
        self.n_lost += page.n_missing(self.next);
        self.next = page.next;
        Ok(page.frames.into_iter().filter(|frame| frame.worlds > 0).collect())
    }

    /// Adds the number of unread frames to the run's figure: the worst may be among them.
    pub(super) fn report_lost(&self, findings: &mut Findings) {
        *findings.figures.entry("frames_unseen".to_owned()).or_default() += self.n_lost as f64;
    }
}

impl FramesPage {
    /// Number of requested frames that are missing here: the server has evicted them, or could not keep them in the first place, which
    /// leaves gaps.
    fn n_missing(&self, from: u64) -> u64 {
        let wanted = from..self.next;
        let n_reported = self.frames.iter().filter(|frame| wanted.contains(&frame.number)).count();
        self.next.saturating_sub(from) - n_reported as u64
    }
}

/// A step of a world that began a whole tick late or lasted longer than one, as the server reports it.
#[derive(Clone, Debug, Deserialize)]
struct MissReport {
    number: u64,
    world: u32,
    tick: u64,
    /// None while it is unaccounted for.
    fate: Option<String>,
}

#[derive(Deserialize)]
struct MissReports {
    next: u64,
    misses: Vec<MissReport>,
}

/// Reads the server's missed ticks, repeatedly until each has its fate.
pub(crate) struct MissedTickReader<'a> {
    operator: &'a Operator,
    /// The first of the window.
    from: u64,
    /// The first that was not reported yet.
    next: u64,
    /// The fate of each so far, by world, tick and number: a restarted world has a tick again.
    fates: BTreeMap<(u32, u64, u64), Option<String>>,
    /// Misses that the server had already dropped.
    n_unseen: u64,
}

impl<'a> MissedTickReader<'a> {
    /// From those reported from now on.
    pub(crate) fn from_now(operator: &'a Operator) -> Result<Self, ExperimentError> {
        let reports: MissReports = ask(operator, MISSED_PATH)?;
        let (from, next) = (reports.next, reports.next);
        Ok(Self { operator, from, next, fates: BTreeMap::new(), n_unseen: 0 })
    }

    /// Records the fates of all misses that the server still has.
    pub(crate) fn read(&mut self) -> Result<(), ExperimentError> {
        let reports = ask(self.operator, &format!("{MISSED_PATH}?from={}", self.from))?;
        self.note(reports);
        Ok(())
    }

    fn note(&mut self, reports: MissReports) {
        let first = reports.misses.first().map_or(reports.next, |miss| miss.number);
        self.n_unseen += first.saturating_sub(self.next);
        self.next = reports.next;
        for MissReport { number, world, tick, fate } in reports.misses {
            let known = self.fates.entry((world, tick, number)).or_default();
            *known = fate.or_else(|| known.take());
        }
    }

    /// Reports their number, and how many are without an account.
    pub(crate) fn report_fates(&self, findings: &mut Findings) {
        let unaccounted: Vec<_> = self.fates.iter().filter(|(_, fate)| fate.is_none()).collect();
        findings.figure("ticks_missed", self.fates.len() as f64 + self.n_unseen as f64);
        findings.figure("frames_missed_untold", unaccounted.len() as f64 + self.n_unseen as f64);
        for ((world, tick, _), _) in unaccounted.into_iter().take(UNACCOUNTED_LISTED) {
            findings.failures.push(format!("the missed tick {tick} of world {world} is unaccounted for"));
        }
    }
}

const MISSED_PATH: &str = "/v1/frames/missed";
/// Missed ticks without an account that are named.
const UNACCOUNTED_LISTED: usize = 10;

/// Frames due between two moments of the server, in seconds since its start.
pub(super) fn due_within(frames: &[ScheduleFrame], from_s: f64, to_s: f64) -> Vec<ScheduleFrame> {
    let is_within = |frame: &&ScheduleFrame| (from_s..to_s).contains(&frame.due_s());
    frames.iter().filter(is_within).copied().collect()
}

/// Share of the worlds' steps that were made in frames, and not between them.
pub(super) fn in_beats_ratio(frames: &[ScheduleFrame]) -> f64 {
    let steps = |frame: &ScheduleFrame| f64::from(frame.worlds);
    let in_beats: f64 = frames.iter().filter(|frame| frame.is_beat).map(steps).sum();
    in_beats / frames.iter().map(steps).sum::<f64>()
}

/// Frames of all worlds of a rate. Steps between them, of worlds that were made, resumed or too slow, are no measure of these.
pub(super) fn beats(frames: Vec<ScheduleFrame>) -> Vec<ScheduleFrame> {
    frames.into_iter().filter(|frame| frame.is_beat).collect()
}

pub(super) fn ask<T: for<'a> Deserialize<'a>>(operator: &Operator, path: &str) -> Result<T, ExperimentError> {
    let answer = operator.order("GET", path, None)?;
    serde_json::from_str(&answer)
        .map_err(|error| ExperimentError::Operator { path: path.to_owned(), source: io::Error::other(error) })
}

/// Quantile of the frames at this share, milliseconds; NaN without frames.
pub(super) fn quantile_ms(frames: &[ScheduleFrame], share: f64) -> f64 {
    let mut all: Vec<f64> = frames.iter().map(ScheduleFrame::ms).collect();
    all.sort_unstable_by(f64::total_cmp);
    let last = all.len().saturating_sub(1);
    all.get((last as f64 * share).ceil() as usize).copied().unwrap_or(f64::NAN)
}

/// Frame times over the seconds since a moment of the server.
pub(super) fn chart(title: &str, frames: &[ScheduleFrame], from_s: f64) -> Chart {
    Chart {
        title: title.to_owned(),
        x: ("time".to_owned(), "s".to_owned()),
        y: ("frame".to_owned(), "ms".to_owned()),
        is_log: false,
        lines: vec![ChartLine {
            name: "from due until the last world was done".to_owned(),
            points: frames.iter().map(|frame| (frame.due_s() - from_s, frame.ms())).collect(),
        }],
    }
}

#[derive(Deserialize)]
struct TraceResponse {
    frames: Vec<ScheduleFrame>,
    steps: Vec<WorkerStep>,
}

#[derive(Deserialize)]
struct WorkerStep {
    frame: usize,
    worker: u16,
    world: Option<u32>,
    began_ns: u64,
    ended_ns: u64,
}

/// The next frame as the server's workers make it: a track for each, a slice for each world.
pub(super) fn timeline(operator: &Operator) -> Result<Option<TimelinePlot>, ExperimentError> {
    let trace: TraceResponse = ask(operator, "/v1/frames/trace?frames=3")?;
    let beats = trace.frames.iter().enumerate().filter(|(_, frame)| frame.is_beat);
    let Some((index, frame)) = beats.max_by_key(|(_, frame)| frame.worlds) else { return Ok(None) };
    let ms = |ns: u64| (ns as f64 - frame.due_us as f64 * 1e3) / 1e6;
    let steps = || trace.steps.iter().filter(|step| step.frame == index);
    let Some(workers) = steps().map(|step| step.worker).max() else { return Ok(None) };
    let title = format!("One frame of {} worlds on this server, from when it was due", frame.worlds);
    let mut plot = TimelinePlot::new(&title, "ms", 0.0, frame.ms());
    for worker in 0..=workers {
        let slices = steps().filter(|step| step.worker == worker).map(|step| {
            let took_us = (step.ended_ns - step.began_ns) as f64 / 1e3;
            let world =
                step.world.map_or_else(|| "a world that has ended".to_owned(), |n| format!("world {n}"));
            TimelineSlice {
                name: super::model::class(took_us).to_owned(),
                about: format!("{world}: {took_us:.0} µs"),
                depth: 0,
                begin: ms(step.began_ns),
                end: ms(step.ended_ns),
            }
        });
        plot = plot.track(&format!("worker {worker}"), slices.collect());
    }
    Ok(Some(plot))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::worlds) fn frame(
        number: u64,
        due_ms: u64,
        ms: u64,
        is_beat: bool,
        worlds: u32,
    ) -> ScheduleFrame {
        let due_us = due_ms * 1_000;
        ScheduleFrame { number, is_beat, due_us, ended_us: due_us + ms * 1_000, worlds, level: 0 }
    }

    #[test]
    fn quantiles_are_of_whole_frames_and_none_is_no_number() {
        let frames: Vec<ScheduleFrame> = (1..=100).rev().map(|ms| frame(0, 5, ms, true, 1)).collect();
        assert_eq!((quantile_ms(&frames, 0.0), quantile_ms(&frames, 1.0)), (1.0, 100.0));
        assert_eq!(quantile_ms(&frames, 0.99), 100.0);
        assert!(quantile_ms(&[], 0.5).is_nan());
    }

    #[test]
    fn frames_that_the_server_no_longer_had_are_counted() {
        let page = |numbers: &[u64], next| FramesPage {
            next,
            frames: numbers.iter().map(|&number| frame(number, 0, 1, true, 1)).collect(),
        };
        assert_eq!(page(&[7, 8], 9).n_missing(7), 0);
        assert_eq!(page(&[7, 8], 9).n_missing(4), 3);
        assert_eq!(page(&[4, 7, 8], 9).n_missing(4), 2);
        assert_eq!((page(&[], 9).n_missing(9), page(&[], 9).n_missing(4)), (0, 5));
    }

    #[test]
    fn a_missed_tick_without_a_fate_is_unaccounted_for_until_a_later_reading_has_one() {
        let miss = |number, tick, fate: Option<&str>| MissReport {
            number,
            world: 3,
            tick,
            fate: fate.map(str::to_owned),
        };
        let sink = crate::sink::Sink::open(crate::SinkKind::Lo, std::path::Path::new("unused on loopback"));
        let operator = Operator::nobody(std::sync::Arc::new(sink.expect("loopback")));
        let mut reader =
            MissedTickReader { operator: &operator, from: 5, next: 5, fates: BTreeMap::new(), n_unseen: 0 };
        let report = |reader: &MissedTickReader<'_>| {
            let mut findings = Findings::default();
            reader.report_fates(&mut findings);
            (findings.figures["ticks_missed"], findings.figures["frames_missed_untold"], findings.failures)
        };
        reader
            .note(MissReports { next: 7, misses: vec![miss(5, 100, None), miss(6, 101, Some("captured"))] });
        let (missed, unaccounted, failures) = report(&reader);
        assert_eq!((missed, unaccounted), (2.0, 1.0));
        assert!(failures[0].contains("tick 100 of world 3"), "{failures:?}");
        reader.note(MissReports {
            next: 8,
            misses: vec![miss(5, 100, Some("suppressed")), miss(7, 102, Some("lost"))],
        });
        assert_eq!(report(&reader), (3.0, 0.0, Vec::new()));
        // Two were forgotten before they were asked for.
        reader.note(MissReports { next: 11, misses: vec![miss(10, 200, Some("captured"))] });
        assert_eq!((report(&reader).0, report(&reader).1), (6.0, 2.0));
    }

    #[test]
    fn frames_belong_to_the_window_of_their_due_time_and_steps_between_them_are_reported() {
        let frames = [
            frame(0, 950, 900, true, 9),
            frame(1, 1_000, 5, true, 3),
            frame(2, 1_020, 5, false, 1),
            frame(3, 2_000, 5, true, 9),
        ];
        let within = due_within(&frames, 1.0, 2.0);
        assert_eq!(within.iter().map(|frame| frame.number).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(in_beats_ratio(&within), 0.75);
        assert!(in_beats_ratio(&[]).is_nan());
    }
}
