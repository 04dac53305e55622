//! A crowd that walks among prims: the step of its world.

use super::stage::BuildStage;
use crate::bots::Bots;
use crate::clock;
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::server::Server;
use std::time::Duration;

/// Bits per second that a client requests, and bytes that it is given: as in `crowd`.
const THROTTLE_BITS_PER_S: &str = "1536000";
/// Logins under way at once: more than a busy server takes within a bot's patience are given up.
const LOGINS_AT_ONCE: u32 = 2_000;
/// Time for the crowd to spread out.
const SPREAD: Duration = Duration::from_secs(20);
const SPREAD_QUICK: Duration = Duration::from_millis(500);
const WINDOW: Duration = Duration::from_secs(40);
const WINDOW_QUICK: Duration = Duration::from_secs(2);

pub(super) fn measure(stage: &BuildStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    let run = stage.run;
    let content = BuildStage::generate(stage.size.prims_of_crowd);
    let data = stage.prepare("crowd", "", Some(&content))?;
    let server = Server::start_in(run, "crowd", &data)?;
    let walkers = stage.size.walkers;
    let options = ["--behavior", "walk", "--throttle", THROTTLE_BITS_PER_S];
    let mut bots = Bots::start(run, &server, "walkers", walkers, &options)?;
    for inside in (LOGINS_AT_ONCE..walkers).step_by(LOGINS_AT_ONCE as usize).chain([walkers]) {
        bots.command(&format!("enter {inside}"))?;
    }
    clock::wait(run.pick(SPREAD, SPREAD_QUICK));
    stage.settle_scenes(&server, walkers)?;
    let window = run.window(&server, run.pick(WINDOW, WINDOW_QUICK))?;
    let (begin, end) = (&window.begin.metrics, &window.end.metrics);
    let step_s = end.percentile_since(begin, "throng_world_tick_seconds", 0.99);
    findings.figure("crowd_step_ms_p99", step_s * 1e3);
    findings.figure("crowd_cores", window.cpu_s_per_s());
    stage.dismiss(bots)?;
    server.stop()
}
