//! Cases beyond this machine's cores: the scheduler's own decisions on virtual time.
//!
//! `schedule::model` drives the code that schedules real worlds. Thirty-six workers pack a thousand worlds whose costs are spread and
//! drift; and a full node has a minute of too much long work, with the control of starvation and without.

use crate::Run;
use crate::findings::{Chart, ChartLine, Findings};
use report::{Section, TimelinePlot, TimelineSlice};
use schedule::FrameTrace;
use schedule::model::packing::{PackingSettings, WorldPacking, packing};
use schedule::model::starvation::{Episode, EpisodePoint, EpisodeSettings, episode};
use std::time::Duration;

/// Seeds, of which the worst is reported: of each the sum of the frames ÷ the sum of the shortest possible.
const SEEDS: u64 = 5;
/// Frames of each.
const FRAMES: usize = 1_000;
const FRAMES_QUICK: usize = 50;

/// Runs both models.
pub(super) fn measure(run: &Run, findings: &mut Findings) {
    packed(run, findings);
    starved(run, findings);
}

fn packed(run: &Run, findings: &mut Findings) {
    let frames = run.pick(FRAMES, FRAMES_QUICK);
    let pack = |seed| packing(&PackingSettings { seed, frames, ..PackingSettings::default() });
    let runs: Vec<WorldPacking> = (1..=SEEDS).map(pack).collect();
    let worst = runs.iter().map(|run| run.ratio).fold(0.0, f64::max);
    let p99 = runs.iter().map(|run| run.quantile(0.99)).fold(0.0, f64::max);
    findings.figure("makespan_ratio", worst);
    findings.figure("makespan_ratio_p99", p99);
    let text = "A frame of 1,000 worlds on 36 virtual workers, as the scheduler packed it. The first worlds are those that are expected to \
                take longest; costs are Pareto (α 1.5) and drift by up to 10 % a frame.";
    let section = Section::new("WorldPacking").text(text);
    let plot = timeline("One frame on 36 virtual workers", &runs[0].trace);
    findings.sections.push(match plot {
        Some(plot) => section.timeline(plot),
        None => section,
    });
}

/// The last whole frame of a trace: a track for each worker, a slice for each world.
pub(super) fn timeline(title: &str, trace: &FrameTrace) -> Option<TimelinePlot> {
    let (index, frame) =
        trace.frames.iter().enumerate().rfind(|(_, frame)| frame.is_beat && frame.worlds > 0)?;
    let ms = |at: ids::Instant| at.since(frame.formed_at).as_secs_f64() * 1e3;
    let steps = || trace.steps.iter().filter(|step| step.frame as usize == index);
    let workers = steps().map(|step| step.worker).max()?;
    let mut plot = TimelinePlot::new(title, "ms", 0.0, ms(frame.ended_at));
    for worker in 0..=workers {
        let of_worker = steps().filter(|step| step.worker == worker);
        let slices = of_worker.map(|step| {
            let took_us = step.ended_at.since(step.began_at).as_secs_f64() * 1e6;
            TimelineSlice {
                name: class(took_us).to_owned(),
                about: format!("world {}: {took_us:.0} µs", step.task.0),
                depth: 0,
                begin: ms(step.began_at),
                end: ms(step.ended_at),
            }
        });
        plot = plot.track(&format!("worker {worker}"), slices.collect());
    }
    Some(plot)
}

/// Worlds of a colour.
pub(super) const fn class(took_us: f64) -> &'static str {
    match took_us {
        ..30.0 => "below 30 µs",
        ..100.0 => "30–100 µs",
        ..300.0 => "100–300 µs",
        ..1_000.0 => "0.3–1 ms",
        ..10_000.0 => "1–10 ms",
        _ => "10 ms and more",
    }
}

fn starved(run: &Run, findings: &mut Findings) {
    let storm = run.pick(Duration::from_secs(60), Duration::from_secs(3));
    let run_one =
        |is_controlled| episode(&EpisodeSettings { is_controlled, storm, ..EpisodeSettings::default() });
    let (with, without) = (run_one(true), run_one(false));
    let seconds = |after: Option<Duration>| after.map_or(f64::NAN, |after| after.as_secs_f64());
    findings.figure("model_recover_s", seconds(with.recovered_after));
    findings.figure("model_backlog_s", with.backlog_max().as_secs_f64());
    findings.figure("model_backlog_s_uncontrolled", without.backlog_max().as_secs_f64());
    let both = |of: fn(&EpisodePoint) -> f64| {
        let line = |name: &str, episode: &Episode| ChartLine {
            name: name.to_owned(),
            points: episode.points.iter().map(|point| (point.at.0 as f64 / 1e9, of(point))).collect(),
        };
        vec![line("controlled", &with), line("not controlled", &without)]
    };
    let chart = |title: &str, what: &str, unit: &str, lines| Chart {
        title: title.to_owned(),
        x: ("time".to_owned(), "s".to_owned()),
        y: (what.to_owned(), unit.to_owned()),
        is_log: false,
        lines,
    };
    let backlog =
        chart("Backlog of long work", "backlog", "s", both(|point| point.backlog.work.as_secs_f64()));
    let level = chart("Starvation level", "level", "", both(|point| point.measure.level.into()));
    let dilation = chart("Dilation", "dilation", "", both(|point| point.dilation.into()));
    let backlog = findings.chart("model_backlog_s", backlog);
    let level = findings.chart("model_level", level);
    let dilation = findings.chart("model_dilation", dilation);
    let text = "A virtual node of two cores, of which the shards take one and the worlds 0.9, gets a minute of long work for a quarter of a \
                core. Without the control the queue grows for as long as the storm lasts and never empties; with it workers pause, which dilates all worlds \
                alike.";
    findings.sections.push(
        Section::new("Starvation, reproduced")
            .text(text)
            .line_plot(backlog)
            .line_plot(level)
            .line_plot(dilation),
    );
}
