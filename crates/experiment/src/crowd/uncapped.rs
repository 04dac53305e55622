//! A thousand walkers, each displayed to all clients, without limits: the maximum throughput of the machinery.

use super::clients::await_scenery;
use super::{CrowdSize, NO_CAP_BYTES_PER_S, NO_THROTTLE_BITS_PER_S, SPREAD, WINDOW_COST, WINDOW_QUICK};
use crate::bots::Bots;
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::meter::Sampler;
use crate::server::Server;
use crate::{Run, clock};
use std::time::Duration;

pub(super) fn measure(run: &Run, size: &CrowdSize, findings: &mut Findings) -> Result<(), ExperimentError> {
    let settings = format!(
        "size_m = 512\nboxes = {}\n\n[gateway]\nclient_bytes_per_s = {NO_CAP_BYTES_PER_S}\nsend_hz = 10\nvisible_max = 0\n\
         dead_reckoning = false\n",
        size.boxes
    );
    let server = Server::start_with(run, "server-all", "", &settings)?;
    let sampler = Sampler::start(server.pid())?;
    let options = ["--behavior", "walk", "--last-name", "all", "--throttle", NO_THROTTLE_BITS_PER_S];
    let mut bots = Bots::start(run, &server, "all", size.few, &options)?;
    bots.command(&format!("enter {}", size.few))?;
    await_scenery(&server, size.few, findings)?;
    clock::wait(run.pick(SPREAD, Duration::ZERO));
    let window = run.window(&server, run.pick(WINDOW_COST, WINDOW_QUICK))?;
    let report = bots.leave()?;
    let samples = sampler.finish();
    server.stop()?;

    let (cpu, updates) = (window.cpu_s_per_s(), window.rate("throng_terse_sent_total"));
    let packets = window.rate_with("throng_datagrams_total", "outcome", "sent");
    findings.figure("server_cores_all_1000", cpu);
    findings.figure("updates_all_1000", updates);
    findings.figure("packets_all_1000", packets);
    findings.figure("cpu_ns_per_update_all_1000", cpu / updates * 1e9);
    findings.figure("cpu_l_per_packet_all_1000", cpu / packets * 1e6 / run.l_us());
    if report.circuits_lost > 0 {
        findings.failures.push(format!("{} circuits were lost while all saw all", report.circuits_lost));
    }
    findings.usage("server_all", "The server while all see all", &samples);
    Ok(())
}
