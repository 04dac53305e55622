//! Memory of clients beside objects, as in `crowd`: between few and many clients that stand and have been sent the scene.

use super::stage::BuildStage;
use crate::bots::Bots;
use crate::clock;
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::meter::usage;
use crate::server::Server;
use report::{Column, Section, Table};
use std::time::Duration;

/// Wait until memory of logins and of the scene under way is free again.
const REST: Duration = Duration::from_secs(10);
const REST_QUICK: Duration = Duration::from_millis(200);

pub(super) fn measure(stage: &BuildStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    let (run, size) = (stage.run, stage.size);
    let content = BuildStage::generate(size.prims_of_clients);
    let data = stage.prepare("memory", "", Some(&content))?;
    let server = Server::start_in(run, "memory", &data)?;
    let [few, many] = size.clients_of_memory;
    let mut bots = Bots::start(run, &server, "memory-clients", many, &["--behavior", "stand"])?;
    let mut kib_with = |clients: u32| {
        bots.command(&format!("enter {clients}"))?;
        stage.await_scenes(&server)?;
        clock::wait(run.pick(REST, REST_QUICK));
        Ok::<_, ExperimentError>(usage(server.pid())?.rss_bytes as f64 / 1_024.0)
    };
    let readings = [(few, kib_with(few)?), (many, kib_with(many)?)];
    stage.dismiss(bots)?;
    server.stop()?;
    let [(_, with_few), (_, with_many)] = readings;
    findings.figure("client_kib_objects_10000", (with_many - with_few) / f64::from(many - few));
    let mut table = Table::new(vec![Column::number("clients", ""), Column::number("resident memory", "MiB")]);
    for (clients, kib) in readings {
        table.row(vec![f64::from(clients).into(), (kib / 1_024.0).into()]);
    }
    let text = format!("Beside {} prims at rest, all of which within reach were sent.", content.n_prims());
    findings.sections.push(Section::new("Memory of clients beside objects").text(&text).table(table));
    Ok(())
}
