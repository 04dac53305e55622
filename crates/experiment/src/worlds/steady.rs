//! All worlds with their players, for a while, and nothing else.

use super::costs::{self, StepDurations};
use super::frames::{self, Frames, ScheduleFrame, quantile_ms};
use super::npcs;
use super::stage::WorldsTestbed;
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::meter::{Reading, Window, least};
use crate::metrics::MetricScrape;
use crate::{clock, journal};
use report::{Column, Section, Table};
use std::time::Duration;

/// Walking time of the players before measuring.
const SETTLE: Duration = Duration::from_secs(20);
/// 2,400 frames: the dearest thousandth of them is more than one or two.
const WINDOW: Duration = Duration::from_secs(120);
const WINDOW_QUICK: Duration = Duration::from_secs(4);
/// Period of reading the NPCs' activity and the number of players.
const READING_PERIOD: Duration = Duration::from_secs(5);
/// Steps that a world makes in a second.
pub(super) const RATE_HZ: f64 = 20.0;
/// The server's watch reports frames once a second.
const REPORT_PERIOD: Duration = Duration::from_millis(1_200);

/// Observations of the window.
struct WindowObservations {
    window: Window,
    frames: Vec<ScheduleFrame>,
    npcs: Vec<npcs::NpcActivity>,
    /// The fewest players that were in their worlds.
    players: f64,
    /// Time that a worker had the schedule for each step, of the second before each reading.
    schedule_s: Vec<f64>,
}

/// Measures, and reports the NPCs' actions.
pub(super) fn measure(stage: &WorldsTestbed<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    clock::wait(stage.run.pick(SETTLE, Duration::ZERO));
    let costs = StepDurations::ask(&stage.operator)?;
    let observations = watch(stage, findings)?;
    let later = StepDurations::ask(&stage.operator)?;
    let timeline = frames::timeline(&stage.operator)?;

    let WindowObservations { window, frames, npcs: activity, players, schedule_s } = &observations;
    let count = f64::from(stage.count);
    findings.figure("worlds", count);
    findings.figure("players_inside_ratio", players / count);
    findings.figure("dilation_min", window.least_dilation());
    findings.figure("rate_held", window.rate_held());
    cores(window, count, findings);
    missions(window, count, findings);
    let npc_table = npcs::report_npcs(window, activity, stage.count, findings);
    npc_ticks(window, findings.figures["npc_ticks_per_s"], findings);
    frame_times(window, frames, findings);
    let mean_s = schedule_s.iter().sum::<f64>() / schedule_s.len() as f64;
    findings.figure("schedule_us_per_world", mean_s * 1e6);
    costs::report_costs(&costs, &later, findings);

    let mut table = Table::new(vec![
        Column::text("template"),
        Column::number("worlds", ""),
        Column::number("NPCs in each", ""),
    ]);
    for class in &stage.classes {
        table.row(vec![class.name.as_str().into(), class.worlds.into(), class.npcs.into()]);
    }
    let moving = findings.chart("npcs_moving_percent", npcs::chart(activity));
    let spread = findings.chart("world_costs", costs::chart(&costs, &later));
    let section = Section::new("Worlds").table(table).table(npc_table);
    findings.sections.push(section.line_plot(moving).line_plot(spread));
    let from_s = uptime(&window.begin.metrics);
    let times = frames::chart("Frames of the steady window", &frames::beats(frames.clone()), from_s);
    let section = Section::new("Frames").line_plot(findings.chart("frames_ms", times));
    findings.sections.push(match timeline {
        Some(plot) => section.timeline(plot),
        None => section,
    });
    Ok(())
}

fn watch(stage: &WorldsTestbed<'_>, findings: &mut Findings) -> Result<WindowObservations, ExperimentError> {
    stage.run.references.sample();
    let mut frames = Frames::from_now(&stage.operator)?;
    let begin = Reading::take(&stage.server)?;
    let mut reported = Vec::new();
    let mut activity = vec![npcs::NpcActivity::of(&begin.metrics)];
    let mut schedule_s = Vec::new();
    let mut players = inside(&begin.metrics);
    let ends_at = clock::now() + stage.run.pick(WINDOW, WINDOW_QUICK);
    let mut record = |metrics: &MetricScrape| {
        players = least(players, inside(metrics));
        activity.push(npcs::NpcActivity::of(metrics));
        schedule_s.push(metrics.sum("throng_schedule_per_step_seconds"));
    };
    while clock::now() + READING_PERIOD < ends_at {
        clock::wait(READING_PERIOD);
        record(&stage.server.metrics()?);
        reported.extend(frames.take()?);
    }
    clock::wait_until(ends_at);
    let window = Window { begin, end: Reading::take(&stage.server)? };
    record(&window.end.metrics);
    clock::wait(REPORT_PERIOD);
    reported.extend(frames.take()?);
    frames.report_lost(findings);
    let frames = frames::due_within(&reported, uptime(&window.begin.metrics), uptime(&window.end.metrics));
    Ok(WindowObservations { window, frames, npcs: activity, players, schedule_s })
}

/// Time of the server's export, in seconds since it began.
fn uptime(metrics: &MetricScrape) -> f64 {
    metrics.sum("throng_uptime_seconds")
}

/// Players in instances.
fn inside(metrics: &MetricScrape) -> f64 {
    metrics.with("throng_world_avatars", "world", "instances")
}

/// Steps of NPCs for each core of the whole server, which also stands for the players' circuits and the scheduler, and for each core of the
/// workers alone.
fn npc_ticks(window: &Window, per_s: f64, findings: &mut Findings) {
    findings.figure("npc_ticks_per_core_s", per_s / window.cpu_s_per_s());
    findings.figure("npc_ticks_per_worker_core_s", per_s / threads(window, "world-"));
}

fn cores(window: &Window, count: f64, findings: &mut Findings) {
    findings.figure("worlds_cores", window.cpu_s_per_s());
    findings.figure("world_cores", threads(window, "world-"));
    findings.figure("shard_cores", threads(window, "shard-"));
    // A respawned NPC is a new entity, and chat has to be stored; all other ticks need no allocation.
    let steady = window.rate("throng_world_steady_ticks_total");
    let allocations = window.rise_exported("throng_world_steady_allocations_total", None) / window.seconds();
    findings.figure("allocs_per_world_tick", allocations / steady);
    let ticks = window.rate_with("throng_world_tick_seconds_count", "world", "instances");
    let allocations = window.rate_of_threads("throng_thread_allocations_total", "world-");
    findings.figure("allocs_per_world_tick_all", allocations / ticks);
    findings.figure("steady_ticks_ratio", steady / ticks);
    findings.figure("worlds_awake_ratio", ticks / RATE_HZ / count);
}

/// Progress of players in missions, the number of journal writes and their lag.
fn missions(window: &Window, count: f64, findings: &mut Findings) {
    let completed = window.rise_exported("throng_missions_completed_total", None);
    findings.figure("missions_completed", completed);
    findings.figure("missions_per_world_min", completed / count / window.seconds() * 60.0);
    let journalled = window.rate_with("throng_instance_states_saved_total", "what", "journal");
    findings.figure("journal_per_world_s", journalled / count);
    journal::report_lag(window, findings);
}

fn frame_times(window: &Window, frames: &[ScheduleFrame], findings: &mut Findings) {
    findings.figure("steps_in_frames_ratio", frames::in_beats_ratio(frames));
    let n_all = frames.len();
    let beats = frames::beats(frames.to_vec());
    findings.figure("frames_between", (n_all - beats.len()) as f64);
    findings.figure("frames_at_rate_ratio", beats.len() as f64 / (window.seconds() * RATE_HZ));
    for (figure, share) in
        [("frame_ms_p50", 0.5), ("frame_ms_p99", 0.99), ("frame_ms_p999", 0.999), ("frame_ms_max", 1.0)]
    {
        findings.figure(figure, quantile_ms(&beats, share));
    }
    let level = beats.iter().map(|frame| frame.level).max().unwrap_or(0);
    findings.figure("starvation_level_max", level.into());
}

/// Cores that the threads used whose names begin so.
fn threads(window: &Window, prefix: &str) -> f64 {
    let ran = window.end.usage.ran_ns_since(&window.begin.usage);
    let of_them = ran.iter().filter(|(name, _)| name.starts_with(prefix)).map(|(_, ns)| ns);
    of_them.sum::<u64>() as f64 / 1e9 / window.seconds()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::{ProcessUsage, ThreadCpu};

    /// Ten seconds in which the threads ran so long.
    fn window(ran_s: &[(&str, u64)]) -> Window {
        let usage = |factor: u64| {
            let threads = (0..).zip(ran_s).map(|(tid, (name, ran_s))| {
                let ran_ns = ran_s * factor * 1_000_000_000;
                (tid, ThreadCpu { name: (*name).to_owned(), ran_ns, waited_ns: 0 })
            });
            ProcessUsage { threads: threads.collect(), ..ProcessUsage::default() }
        };
        let began = clock::now();
        let reading = |at_s: u32, factor: u64| {
            let metrics = MetricScrape::parse(&format!("throng_uptime_seconds {at_s}\n"));
            Reading::at(began + Duration::from_secs(at_s.into()), usage(factor), metrics)
        };
        Window { begin: reading(20, 1), end: reading(30, 2) }
    }

    #[test]
    fn steps_of_npcs_are_divided_by_the_cpu_time_of_the_whole_server_and_of_the_workers() {
        let window = window(&[("world-0", 3), ("world-1", 2), ("shard-0", 2), ("hub", 1)]);
        let mut findings = Findings::default();
        npc_ticks(&window, 400_000.0, &mut findings);
        // 0.8 of a core in all, of which 0.5 of the workers.
        let figure = |name: &str| findings.figures[name];
        assert!((figure("npc_ticks_per_core_s") - 500_000.0).abs() < 1e-3, "{findings:?}");
        assert!((figure("npc_ticks_per_worker_core_s") - 800_000.0).abs() < 1e-3, "{findings:?}");
    }
}
