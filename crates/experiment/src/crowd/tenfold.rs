//! Ten times as many as the few: 10,000 walkers on a server of their own, or as many as log in within [`ENTER_MAX`]. It is reported how they are served; nothing is
//! judged.

use super::capped::settings;
use super::clients::{CrowdProcesses, filled_sceneries};
use super::costs::{Lost, cores, pressed_ratio, tick_ms_p99};
use super::watch::CrowdMeasurements;
use super::{CrowdSize, SPREAD, shown};
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::meter::Sampler;
use crate::server::Server;
use crate::{Run, clock};
use report::Section;
use std::time::Duration;

const MANY: u32 = 10_000;
const MANY_QUICK: u32 = 40;
/// Logins take three a second beside 7,000 walkers on a machine with L of some 5 µs: 7,188 were in after 20 minutes (379a16b9).
const ENTER_MAX: Duration = Duration::from_secs(600);

pub(super) fn measure(
    run: &Run,
    size: &CrowdSize,
    findings: &mut Findings,
) -> Result<Section, ExperimentError> {
    let many = run.pick(MANY, MANY_QUICK);
    let size = &CrowdSize { many, ..*size };
    let server = Server::start_with(run, "server-10000", "", &settings(size))?;
    let sampler = Sampler::start(server.pid())?;
    let mut crowd = CrowdProcesses::start(run, &server, size, "-10000")?;
    let inside = crowd.enter_within(size, many - size.arriving, ENTER_MAX)?;
    let many = inside + size.arriving;
    findings.figure("clients_10000", many.into());
    findings.figure("sceneries_filled_ratio_10000", filled_sceneries(&server, inside)?);
    clock::wait(run.pick(SPREAD, Duration::ZERO));
    let mut watched = CrowdMeasurements::open(run, &server, &mut crowd, size)?;
    server.keep_metrics()?;
    watched.close()?;
    let mut reports = crowd.leave()?;
    reports.push(watched.arrived.clone());
    Lost::of(&reports, &server.metrics()?).report_losses("_10000", findings);
    let samples = sampler.finish();
    server.stop()?;

    let window = &watched.window;
    let each = |total: f64| total / f64::from(many);
    findings.figure("server_cores_10000", cores(window));
    let few_cores = findings.figures.get("server_cores_1000").copied().unwrap_or(f64::NAN);
    findings.figure("cost_ratio_10000_1000", each(cores(window)) / (few_cores / f64::from(size.few)));
    findings.figure("world_tick_ms_p99_10000", tick_ms_p99(window));
    findings.figure("dilation_min_10000", window.least_dilation());
    findings.figure("rate_held_10000", window.rate_held());
    let sent = |name| each(window.rate_with(name, "outcome", "sent"));
    findings.figure("pressed_ratio_10000", pressed_ratio(window));
    findings.figure("packets_per_client_10000", sent("throng_datagrams_total"));
    findings.figure("bytes_per_client_10000", sent("throng_datagram_bytes_total"));
    let section = shown::report_freshness(&watched.compare(run)?, "_10000", findings);
    findings.usage("server_10000", "The server with 10,000", &samples);
    Ok(section)
}
