//! The crowd of the 5,000 on a machine that has too little CPU for it: beside it, another process takes a part of a core.

use super::capped::settings;
use super::clients::{CrowdProcesses, await_scenery};
use super::costs::{Lost, cores, pressed_ratio};
use super::watch::CrowdMeasurements;
use super::{CrowdSize, SPREAD, shown};
use crate::budget::{self, FigureLimit, Limit, budget};
use crate::burner::Burner;
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::meter::Sampler;
use crate::server::Server;
use crate::{Run, clock};
use report::Section;
use std::time::Duration;

const BUDGETS: [FigureLimit; 4] = [
    budget("circuits_lost_starved", "circuits lost beside the other process", "", Limit::AtMost(0.0)),
    budget("logins_failed_starved", "logins failed beside it", "", Limit::AtMost(0.0)),
    budget(
        "stop_error_m_p999_starved",
        "error after stops with 5 % loss beside it, p99.9",
        "m",
        Limit::AtMost(1.0),
    ),
    budget(
        "near20_error_m_p95_starved",
        "position error of the nearest 20 beside it, p95",
        "m",
        Limit::AtMost(0.4),
    ),
];

/// Figures without a budget.
const OTHERS: [&str; 13] = [
    "circuits_timed_out_starved",
    "circuits_unresponsive_starved",
    "near20_age_ms_p99_starved",
    "visible_count_starved",
    "oldest_visible_s_starved",
    "arrival_near50_s_starved",
    "scenes_compared_starved",
    "server_cores_starved",
    "burner_cores_starved",
    "dilation_min_starved",
    "rate_held_starved",
    "far_left_out_per_s_starved",
    "pressed_ratio_starved",
];

/// Run-up of the other process before measuring: the first degradation has taken place by then.
const SETTLE: Duration = Duration::from_secs(10);
const SETTLE_QUICK: Duration = Duration::from_secs(1);

/// Measures beside a process that takes this share of a core, and judges.
pub(super) fn measure(
    run: &Run,
    size: &CrowdSize,
    share: f64,
    findings: &mut Findings,
) -> Result<Section, ExperimentError> {
    let server = Server::start_with(run, "server-starved", "", &settings(size))?;
    let sampler = Sampler::start(server.pid())?;
    let mut crowd = CrowdProcesses::start(run, &server, size, "-starved")?;
    crowd.enter(size, size.many - size.arriving)?;
    await_scenery(&server, size.many - size.arriving, findings)?;
    clock::wait(run.pick(SPREAD, Duration::ZERO));
    let burner = Burner::start(run, share)?;
    clock::wait(run.pick(SETTLE, SETTLE_QUICK));
    let burnt_before = burner.cpu_s()?;
    let began = clock::now();
    let mut watched = CrowdMeasurements::open(run, &server, &mut crowd, size)?;
    findings.figure("burner_cores_starved", (burner.cpu_s()? - burnt_before) / began.elapsed().as_secs_f64());
    server.keep_metrics()?;
    watched.close()?;
    // Circuits that it cost are lost by now; logouts are no part of this.
    drop(burner);
    let mut reports = crowd.leave()?;
    reports.push(watched.arrived.clone());
    Lost::of(&reports, &server.metrics()?).report_losses("_starved", findings);
    let samples = sampler.finish();
    server.stop()?;

    let window = &watched.window;
    findings.figure("server_cores_starved", cores(window));
    findings.figure("dilation_min_starved", window.least_dilation());
    findings.figure("rate_held_starved", window.rate_held());
    findings.figure("pressed_ratio_starved", pressed_ratio(window));
    findings.figure("far_left_out_per_s_starved", window.rate("throng_far_left_out_total"));
    let section = shown::report_freshness(&watched.compare(run)?, "_starved", findings);
    budget::judge(run, &BUDGETS, findings);
    for figure in OTHERS {
        if !findings.figures.get(figure).is_some_and(|value| value.is_finite()) {
            findings.failures.push(format!("the run yielded no figure {figure}"));
        }
    }
    findings.usage("server_starved", "The server beside the other process", &samples);
    Ok(section)
}
