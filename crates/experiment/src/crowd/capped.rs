//! The crowd that the targets name, with limits for each client.

use super::clients::{CrowdProcesses, await_scenery};
use super::costs::{self, Lost, Windows};
use super::watch::CrowdMeasurements;
use super::{CAP_BYTES_PER_S, CrowdSize, SPREAD, VISIBLE, WINDOW_COST, WINDOW_QUICK, shown};
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::meter::Sampler;
use crate::server::Server;
use crate::{Run, clock};
use report::Section;
use std::time::Duration;

/// Time for a crowd to gather on the plaza from the corners of the region.
const GATHER: Duration = Duration::from_secs(100);
const GATHER_QUICK: Duration = Duration::from_secs(1);

/// The region's size and boxes, and the limits of clients.
pub(super) fn settings(size: &CrowdSize) -> String {
    format!(
        "size_m = 512\nboxes = {}\nmax_avatars = 20000\n\n[gateway]\nmax_sessions = 20000\nclient_bytes_per_s = {CAP_BYTES_PER_S}\n\
         send_hz = 10\nvisible_max = {VISIBLE}\n",
        size.boxes
    )
}

pub(super) fn measure(
    run: &Run,
    size: &CrowdSize,
    findings: &mut Findings,
) -> Result<Section, ExperimentError> {
    let server = Server::start_with(run, "server", "", &settings(size))?;
    let sampler = Sampler::start(server.pid())?;
    let mut crowd = CrowdProcesses::start(run, &server, size, "")?;

    let mut enter = |count: u32, findings: &mut Findings| {
        crowd.enter(size, count)?;
        await_scenery(&server, count, findings)?;
        clock::wait(run.pick(SPREAD, Duration::ZERO));
        Ok::<_, ExperimentError>(())
    };
    let cost = run.pick(WINDOW_COST, WINDOW_QUICK);
    enter(size.few, findings)?;
    let few = run.window(&server, cost)?;
    enter(size.middle, findings)?;
    let middle = run.window(&server, cost)?;
    enter(size.many - size.arriving, findings)?;
    let mut watched = CrowdMeasurements::open(run, &server, &mut crowd, size)?;
    server.keep_metrics()?;
    crowd.command("behavior plaza")?;
    clock::wait(run.pick(GATHER, GATHER_QUICK));
    watched.close()?;
    let plaza = run.window(&server, cost)?;
    let mut reports = crowd.leave()?;
    reports.push(watched.arrived.clone());
    let lost = Lost::of(&reports, &server.metrics()?);
    let samples = sampler.finish();
    server.stop()?;

    let fresh = watched.compare(run)?;
    costs::report_costs(size, &Windows { few, middle, many: watched.window, plaza }, findings);
    lost.report_losses("", findings);
    costs::of_bots(&reports, findings);
    let section = shown::report_freshness(&fresh, "_5000", findings);
    findings.usage("server", "The server over the run", &samples);
    Ok(section)
}
