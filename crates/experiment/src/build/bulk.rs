//! A region file that is imported into a running region, with a crowd in it: the longest step meanwhile.

use super::region::{self, DurableCount};
use super::stage::BuildStage;
use crate::bots::Bots;
use crate::clock;
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::server::{REGION, Server};
use std::time::Duration;

/// Time that the kept maximum of steps covers; before the import it has to forget the start and the logins.
const MAXIMUM_COVERS: Duration = Duration::from_secs(31);
const MAXIMUM_COVERS_QUICK: Duration = Duration::ZERO;
/// Wait until an import is durable, and for the server's next export.
const DURABLE: Duration = Duration::from_secs(2);

pub(super) fn measure(stage: &BuildStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    let run = stage.run;
    let file = run.out.join("bulk.region");
    region::write_file(&file, &stage.content)?;
    let data = stage.prepare("bulk", "", None)?;
    let server = Server::start_in(run, "bulk", &data)?;
    let walkers = stage.size.idle_clients;
    let mut bots = Bots::start(run, &server, "bulk-walkers", walkers, &["--behavior", "walk"])?;
    bots.command(&format!("enter {walkers}"))?;
    clock::wait(run.pick(MAXIMUM_COVERS, MAXIMUM_COVERS_QUICK));

    let began = clock::now();
    server.import(run, &file)?;
    findings.figure("bulk_s", began.elapsed().as_secs_f64());
    clock::wait(DURABLE);
    let steps = server.metrics()?.only("world", REGION);
    findings.figure("bulk_pause_ms", steps.max("throng_world_tick_seconds_max").unwrap_or(f64::NAN) * 1e3);
    let n_durable = DurableCount::open(&data)?.count()?;
    if n_durable != u64::from(stage.size.prims) {
        let n_prims = stage.size.prims;
        findings.failures.push(format!("of an import of {n_prims} prims {n_durable} were durable 2 s later"));
    }
    stage.dismiss(bots)?;
    server.stop()
}
