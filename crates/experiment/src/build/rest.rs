//! A region at rest, beside the same server without objects: memory of its prims, and cores that they cost with clients and without.

use super::content::Content;
use super::stage::BuildStage;
use crate::bots::Bots;
use crate::clock;
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::meter::usage;
use crate::server::Server;
use report::{Column, Section, Table};
use std::time::Duration;

/// Wait behind a start until its freed memory is back at the system, and behind logins.
const REST: Duration = Duration::from_secs(10);
const REST_QUICK: Duration = Duration::from_millis(200);
const WINDOW: Duration = Duration::from_secs(40);
const WINDOW_QUICK: Duration = Duration::from_millis(300);

/// Readings of one server.
#[derive(Clone, Copy, Debug)]
struct AtRest {
    private_bytes: f64,
    /// Without a client, and with all of them.
    empty_cores: f64,
    idle_cores: f64,
}

pub(super) fn measure(stage: &BuildStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    let n_prims = f64::from(stage.size.prims_large);
    let without = read(stage, "rest-empty", None)?;
    let with = read(stage, "rest-full", Some(&BuildStage::generate(stage.size.prims_large)))?;
    findings.figure("prim_bytes", (with.private_bytes - without.private_bytes) / n_prims);
    findings.figure("empty_cores_100000", with.empty_cores - without.empty_cores);
    findings.figure("idle_cores_100000", with.idle_cores - without.idle_cores);
    let mut table = Table::new(vec![
        Column::text("objects"),
        Column::number("private resident memory, no client", "MiB"),
        Column::number("no client", "cores"),
        Column::number("idle clients", "cores"),
    ]);
    for (name, at_rest) in [("none", without), ("all at rest", with)] {
        table.row(vec![
            name.into(),
            (at_rest.private_bytes / 1_048_576.0).into(),
            at_rest.empty_cores.into(),
            at_rest.idle_cores.into(),
        ]);
    }
    let text = "Figures are differences of the two rows. Memory has the reserves of the allocator and the caches of the database in it.";
    findings.sections.push(Section::new("At rest").text(text).table(table));
    Ok(())
}

fn read(stage: &BuildStage<'_>, name: &str, content: Option<&Content>) -> Result<AtRest, ExperimentError> {
    let run = stage.run;
    let data = stage.prepare(name, "", content)?;
    let server = Server::start_in(run, name, &data)?;
    clock::wait(run.pick(REST, REST_QUICK));
    let usage = usage(server.pid())?;
    let private_bytes = (usage.rss_bytes - usage.shared_bytes) as f64;
    let window = run.pick(WINDOW, WINDOW_QUICK);
    let empty_cores = run.window(&server, window)?.cpu_s_per_s();
    let clients = stage.size.idle_clients;
    let mut bots = Bots::start(run, &server, &format!("{name}-clients"), clients, &["--behavior", "stand"])?;
    bots.command(&format!("enter {clients}"))?;
    stage.await_scenes(&server)?;
    clock::wait(run.pick(REST, REST_QUICK));
    let idle_cores = run.window(&server, window)?.cpu_s_per_s();
    stage.dismiss(bots)?;
    server.stop()?;
    Ok(AtRest { private_bytes, empty_cores, idle_cores })
}
