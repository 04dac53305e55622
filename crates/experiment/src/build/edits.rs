//! Edits: how soon other clients see them and how soon they are durable, at the pace of users; and how many are durable per second.

use super::losses::EditHistory;
use super::recorded::RecordingWindow;
use super::region;
use super::stage::BuildStage;
use super::visitors::Visitors;
use crate::bots::Bots;
use crate::clock;
use crate::crowd::{NO_CAP_BYTES_PER_S, NO_THROTTLE_BITS_PER_S};
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::meter::Window;
use crate::server::Server;
use std::time::Duration;

/// Clients that watch, and edits of each bot per second.
const OBSERVERS: u32 = 4;
const PACE_HZ: &str = "4";
const RUSH_HZ: &str = "125";
/// Edge of a bot's plot, metres: all plots are within the reach of the smallest prims from the middle.
const PLOT_M: &str = "8";

const WINDOW: Duration = Duration::from_secs(60);
const WINDOW_RUSH: Duration = Duration::from_secs(20);
const WINDOW_QUICK: Duration = Duration::from_secs(2);
/// Time for the first prims to be made.
const BEGIN: Duration = Duration::from_secs(5);
const BEGIN_QUICK: Duration = Duration::from_secs(1);
/// Wait behind the last edit until all are durable: the promise of a second, and the time of edits on their way.
const DURABLE: Duration = Duration::from_secs(3);

/// Age of the oldest edit of each transaction at its end, and the time of the transaction.
const LAG: &str = "throng_save_lag_seconds";
const SAVE: &str = "throng_save_seconds";

pub(super) fn measure(stage: &BuildStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    let at_pace = at_pace(stage, findings)?;
    let in_rush = in_rush(stage, findings)?;
    let most = [&at_pace, &in_rush].map(|window| window.end.metrics.most_since(&window.begin.metrics, LAG));
    // Without a reading the limit is not met.
    let is_known = most.iter().all(|age_s| !age_s.is_nan());
    findings.figure("durable_after_s_max", if is_known { most[0].max(most[1]) } else { f64::NAN });
    let (begin, end) = (&at_pace.begin.metrics, &at_pace.end.metrics);
    findings.figure("save_s_p99", end.percentile_since(begin, SAVE, 0.99));
    Ok(())
}

/// Users' pace in a full region, with other clients that have the region's scene, and some that walk through it.
fn at_pace(stage: &BuildStage<'_>, findings: &mut Findings) -> Result<Window, ExperimentError> {
    let run = stage.run;
    let data = stage.prepare("edits", "", Some(&stage.content))?;
    let server = Server::start_in(run, "edits", &data)?;
    let count = stage.size.builders + OBSERVERS;
    let observers = OBSERVERS.to_string();
    let options = ["--behavior", "stand", "--last-name", "Builder", "--observers", &observers];
    let pace = ["--rate", PACE_HZ, "--plot", PLOT_M];
    let mut bots = Bots::start(run, &server, "builders", count, &[&options[..], &pace].concat())?;
    bots.command(&format!("enter {count}"))?;
    stage.await_scenes(&server)?;
    let visitors = Visitors::enter(stage, &server)?;
    bots.command("behavior build")?;
    clock::wait(run.pick(BEGIN, BEGIN_QUICK));
    let duration = run.pick(WINDOW, WINDOW_QUICK);
    let recording = RecordingWindow::begin(run, &server, "edits", duration)?;
    let window = run.window(&server, duration)?;
    let recorded = recording.end()?;
    let report = stage.dismiss(bots)?;
    let views = visitors.leave(stage)?;
    server.stop()?;
    views.compare(recorded, findings)?;
    let (begin, end) = (&window.begin.metrics, &window.end.metrics);
    let step_s = end.percentile_since(begin, "throng_world_tick_seconds", 0.99);
    findings.figure("building_step_ms_p99", step_s * 1e3);
    let nan = |ms: Option<f64>| ms.unwrap_or(f64::NAN);
    findings.figure("edit_seen_ms_p50", nan(report.edit_observed_ms_p50));
    findings.figure("edit_seen_ms_p99", nan(report.edit_observed_ms_p99));
    findings.figure("edits_observed", report.edits_observed as f64);
    findings.figure("edits_unobserved", report.edits_unobserved as f64);
    findings.figure("edits_wrong", report.edits_wrong as f64);
    Ok(window)
}

/// As many edits as the bots can send, in an empty region. The rate counts if the region is stored with all of them.
fn in_rush(stage: &BuildStage<'_>, findings: &mut Findings) -> Result<Window, ExperimentError> {
    let run = stage.run;
    let settings = format!("\n[gateway]\nclient_bytes_per_s = {NO_CAP_BYTES_PER_S}\n");
    let data = stage.prepare("rush", &settings, None)?;
    let server = Server::start_in(run, "rush", &data)?;
    let count = stage.size.builders_many;
    let file = run.out.join("rush.edits");
    let path = file.display().to_string();
    let options = ["--behavior", "rush", "--edits", &path, "--rate", RUSH_HZ, "--plot", PLOT_M];
    let options = [&options[..], &["--throttle", NO_THROTTLE_BITS_PER_S]].concat();
    let mut bots = Bots::start(run, &server, "rush", count, &options)?;
    bots.command(&format!("enter {count}"))?;
    clock::wait(run.pick(BEGIN, BEGIN_QUICK));
    let sent = |bots: &mut Bots| Ok::<_, ExperimentError>(bots.command("edits")?.edits.unwrap_or_default());
    let before = sent(&mut bots)?;
    let window = run.window(&server, run.pick(WINDOW_RUSH, WINDOW_QUICK))?;
    let n_sent = sent(&mut bots)?.edits_sent - before.edits_sent;
    bots.command("behavior stand")?;
    bots.command("edits")?;
    clock::wait(DURABLE);
    // Edits that are not durable by now are lost.
    server.kill()?;
    drop(bots);

    let (n_durable, others) = EditHistory::read(&file)?.durable(&region::read(&data)?);
    if !others.is_empty() {
        let n = others.len();
        findings.failures.push(format!(
            "{n} prims were not stored in the state of their last edit ({n_durable} edits were)"
        ));
    }
    let carried_out = window.rate_with("throng_object_edits_total", "outcome", "done");
    findings.figure("edits_offered_per_s", n_sent as f64 / window.seconds());
    findings.figure("durable_edits_per_s", if others.is_empty() { carried_out } else { f64::NAN });
    Ok(window)
}
