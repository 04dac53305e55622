//! Much more long work than the node can do, for a minute, while all worlds run: drills of arithmetic, submitted so that seconds of
//! work wait at any time, and worlds made and ended by many clients at once.

use super::frames::{chart, due_within, quantile_ms};
use super::stage::{WorldsTestbed, create};
use super::watcher::ServerPoller;
use crate::clock;
use crate::error::ExperimentError;
use crate::findings::Findings;
use report::Section;
use serde::Deserialize;
use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const STORM: Duration = Duration::from_secs(60);
const STORM_QUICK: Duration = Duration::from_secs(3);
/// Clients that make and end worlds without a pause, but for a moment when they are refused.
const MAKERS: usize = 4;
const MAKER_PAUSE: Duration = Duration::from_millis(10);
/// Attempts of a maker to end its instance.
const END_TRIES: u32 = 50;
/// Millions of rounds of each drill: about 25 ms of a core.
const MILLION_ROUNDS: u32 = 20;
const DRILL_S: f64 = 0.025;
/// Most drills handed in at once: the limit of the queue.
const DRILLS_MAX: f64 = 1_000.0;
/// Work that is to wait at any time of the storm, in seconds of a core. On two long threads this is the backlog at which worlds make
/// as much room as they ever do, and how fast cores are, or how many others want them, makes no difference to it.
const WAITING_S: f64 = 4.0;
const WAITING_S_QUICK: f64 = 0.5;
/// Before and behind it.
const CALM: Duration = Duration::from_secs(5);
const CALM_QUICK: Duration = Duration::from_secs(1);
/// Deadline for the queue to return to its former length.
const PATIENCE: Duration = Duration::from_secs(90);
/// Period of readings and of handing in more work.
pub(super) const POLL_PERIOD: Duration = Duration::from_millis(250);
/// The least backlog that makes a storm: the threshold of the first level of starvation.
pub(super) const STORM_MIN_S: f64 = 0.4;

/// Measures.
pub(super) fn measure(stage: &WorldsTestbed<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    let mut watcher = ServerPoller::start(stage)?;
    let calm = stage.run.pick(CALM, CALM_QUICK);
    watcher.watch(calm)?;
    let from_s = watcher.server_s();
    let Raged { over_s, drills, made, refused } = rage(stage, &mut watcher)?;
    let ends_at = clock::now() + PATIENCE;
    while !watcher.is_normal_since(over_s, calm) && clock::now() < ends_at {
        watcher.watch(POLL_PERIOD)?;
    }
    watcher.report_lost(findings);

    let in_storm = due_within(watcher.frames(), from_s, over_s);
    let backlog_s = watcher.most_backlog_within(from_s, over_s);
    let mut recovered_s = watcher.normal_after(over_s).unwrap_or(f64::NAN);
    if backlog_s < STORM_MIN_S && !stage.run.quick {
        let waited = report::number(backlog_s);
        findings.failures.push(format!(
            "no storm: the largest backlog of long work was {waited} s, and there was nothing to recover from"
        ));
        recovered_s = f64::NAN;
    }
    findings.figure("recover_s", recovered_s);
    findings.figure("storm_backlog_s_max", backlog_s);
    findings.figure("storm_drills", f64::from(drills));
    findings.figure("storm_tasks_done", made as f64);
    findings.figure("storm_tasks_refused", refused as f64);
    findings.figure("storm_level_max", watcher.most_level());
    findings.figure("storm_dilation_min", watcher.least_dilation());
    findings.figure("storm_frame_ms_p99", quantile_ms(&in_storm, 0.99));
    let backlog = findings.chart("storm_backlog_s", watcher.backlog_chart());
    let level = findings.chart("storm_level", watcher.level_chart());
    let times = chart("Frames before, in and after the storm", watcher.frames(), watcher.begin_s());
    let times = findings.chart("storm_frames_ms", times);
    let text = format!(
        "From {:.0} s on, for {:.0} s, tasks of some 25 ms each keep the backlog at {WAITING_S} s of a core's work, and {MAKERS} clients \
         create and end worlds without a pause, while all worlds run.",
        from_s - watcher.begin_s(),
        over_s - from_s,
    );
    let section = Section::new("A storm of long work").text(&text);
    findings.sections.push(section.line_plot(backlog).line_plot(level).line_plot(times));
    Ok(())
}

/// A storm that is over.
struct Raged {
    /// Time of its last task's request, in seconds since the server began.
    over_s: f64,
    /// Drills that were taken.
    drills: u32,
    made: u64,
    refused: u64,
}

/// The storm itself. It returns when all requests are done, and their completion is observed like the rest.
fn rage(stage: &WorldsTestbed<'_>, watcher: &mut ServerPoller<'_>) -> Result<Raged, ExperimentError> {
    let stops = AtomicBool::new(false);
    let (made, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    let work = |n: usize| {
        while !stops.load(Ordering::Relaxed) {
            if turn_over(stage, n).is_ok() {
                made.fetch_add(1, Ordering::Relaxed);
            } else {
                refused.fetch_add(1, Ordering::Relaxed);
                clock::wait(MAKER_PAUSE);
            }
        }
    };
    let (over_s, drills) = std::thread::scope(|scope| {
        let work = &work;
        let clients: Vec<_> = (0..MAKERS).map(|n| scope.spawn(move || work(n))).collect();
        let drilled = drill(stage, watcher);
        stops.store(true, Ordering::Relaxed);
        let over_s = watcher.server_s();
        let drills = drilled?;
        while clients.iter().any(|client| !client.is_finished()) {
            watcher.watch(POLL_PERIOD)?;
        }
        Ok::<_, ExperimentError>((over_s, drills))
    })?;
    Ok(Raged { over_s, drills, made: made.into_inner(), refused: refused.into_inner() })
}

/// Hands in as much as there has to be; how many drills were taken.
fn drill(stage: &WorldsTestbed<'_>, watcher: &mut ServerPoller<'_>) -> Result<u32, ExperimentError> {
    let wanted_s = stage.run.pick(WAITING_S, WAITING_S_QUICK);
    let ends_at = clock::now() + stage.run.pick(STORM, STORM_QUICK);
    let mut drills = 0;
    while clock::now() < ends_at {
        let count = n_missing(&waiting(stage)?, wanted_s);
        if count > 0 {
            let order = json!({ "count": count, "million_rounds": MILLION_ROUNDS });
            // It is refused when a thousand wait: more than that there cannot be.
            if let Ok(answer) = stage.operator.order("POST", "/v1/long-tasks", Some(&order)) {
                let BegunTasks { begun } = serde_json::from_str(&answer).unwrap_or_default();
                drills += begun;
            }
        }
        watcher.watch(POLL_PERIOD)?;
    }
    Ok(drills)
}

#[derive(Default, Deserialize)]
struct BegunTasks {
    begun: u32,
}

#[derive(Clone, Debug, Deserialize)]
struct LongTask {
    kind: String,
    state: String,
    expected_s: f64,
}

/// Long tasks that wait, now: the server's own counters are up to a second old.
fn waiting(stage: &WorldsTestbed<'_>) -> Result<Vec<LongTask>, ExperimentError> {
    let mut all: Vec<LongTask> = super::frames::ask(&stage.operator, "/v1/long-tasks")?;
    all.retain(|task| task.state == "waiting");
    Ok(all)
}

/// Number of drills needed for a backlog of `wanted_s`, by the server's current estimate of each.
fn n_missing(waiting: &[LongTask], wanted_s: f64) -> u32 {
    let is_waiting_s: f64 = waiting.iter().map(|task| task.expected_s).sum();
    let drill_s = waiting.iter().find(|task| task.kind == "drill").map_or(DRILL_S, |drill| drill.expected_s);
    let missing_s = (wanted_s - is_waiting_s).max(0.0);
    (missing_s / drill_s.max(1e-3)).ceil().min(DRILLS_MAX) as u32
}

/// Makes a world and ends it.
fn turn_over(stage: &WorldsTestbed<'_>, n: usize) -> Result<(), ExperimentError> {
    let class = &stage.classes[n % stage.classes.len()];
    let world = create(&stage.operator, &class.name)?;
    for _ in 1..END_TRIES {
        if stage.end(&world).is_ok() {
            return Ok(());
        }
        clock::wait(MAKER_PAUSE);
    }
    stage.end(&world)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enough_drills_are_submitted_to_fill_the_queue() {
        let task =
            |kind: &str, expected_s| LongTask { kind: kind.into(), state: "waiting".into(), expected_s };
        assert_eq!(n_missing(&[], 4.0), 160);
        assert_eq!(n_missing(&[task("world", 3.5)], 4.0), 20);
        assert_eq!(n_missing(&vec![task("drill", 0.5); 5], 4.0), 3);
        assert_eq!(n_missing(&[task("drill", 0.5), task("world", 9.0)], 4.0), 0);
        assert_eq!(n_missing(&[task("drill", 0.0)], 4.0), 1_000);
    }
}
