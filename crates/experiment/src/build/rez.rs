//! Prims made by many clients at once, until another client is shown them and they are durable.

use super::region::DurableCount;
use super::stage::BuildStage;
use crate::bots::Bots;
use crate::clock;
use crate::crowd::{NO_CAP_BYTES_PER_S, NO_THROTTLE_BITS_PER_S};
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::server::Server;
use std::time::Duration;

/// Observers beside the bots that make prims.
const OBSERVERS: u32 = 2;
/// Prims that each bot makes.
const PRIMS_EACH: u32 = 800;
/// Edge of a bot's plot, metres: all plots are within the reach of the smallest prims from the middle.
const PLOT_M: &str = "8";
/// Command for the requests of each bot per second. Until they build, it is the rate of their agent updates.
const RATE: &str = "rate 125";
/// Time after which the rest is given up.
const WINDOW: Duration = Duration::from_secs(40);
const WINDOW_QUICK: Duration = Duration::from_secs(2);
const LOOK_PERIOD: Duration = Duration::from_millis(100);

pub(super) fn measure(stage: &BuildStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    let run = stage.run;
    let settings = format!("\n[gateway]\nclient_bytes_per_s = {NO_CAP_BYTES_PER_S}\n");
    let data = stage.prepare("rez", &settings, None)?;
    let server = Server::start_in(run, "rez", &data)?;
    let count = stage.size.makers + OBSERVERS;
    let observers = OBSERVERS.to_string();
    let options = [
        "--behavior",
        "stand",
        "--last-name",
        "Maker",
        "--observers",
        &observers,
        "--plot",
        PLOT_M,
        "--throttle",
        NO_THROTTLE_BITS_PER_S,
    ];
    let mut bots = Bots::start(run, &server, "makers", count, &options)?;
    bots.command(&format!("enter {count}"))?;
    let durable = DurableCount::open(&data)?;
    run.references.sample();
    let wanted = u64::from(stage.size.makers * PRIMS_EACH);
    let began = clock::now();
    bots.command(RATE)?;
    bots.command("behavior rez")?;
    let (sums, saved, took) = loop {
        let sums = bots.command("edits")?.edits.unwrap_or_default();
        let (saved, took) = (durable.count()?, began.elapsed());
        let is_done = sums.objects_observed.min(saved) >= wanted;
        if is_done || took >= run.pick(WINDOW, WINDOW_QUICK) {
            break (sums, saved, took);
        }
        clock::wait(LOOK_PERIOD);
    };
    let observed = sums.objects_observed;
    findings.figure("rez_per_s", observed.min(saved) as f64 / took.as_secs_f64());
    findings.figure("rez_failed", sums.objects_failed as f64);
    findings.figure("rez_observed", observed as f64);
    findings.figure("rez_durable", saved as f64);
    stage.dismiss(bots)?;
    server.stop()
}
