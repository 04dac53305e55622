//! Start of a region with objects: from the start of the process until a client is shown the first of them.

use super::stage::BuildStage;
use crate::bots::Bots;
use crate::clock;
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::median::median;
use crate::server::Server;
use report::{Column, Section, Table};
use std::time::Duration;

/// Deadline for the first object, and the period of looking for it.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_PERIOD: Duration = Duration::from_millis(5);

pub(super) fn measure(stage: &BuildStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    let data = stage.prepare("load", "", Some(&stage.content))?;
    // The first login makes the account, whose password is hashed for it.
    let first = Server::start_in(stage.run, "load", &data)?;
    let mut bots = visitor(stage, &first, "load-first")?;
    bots.command("enter 1")?;
    stage.dismiss(bots)?;
    first.stop()?;

    let (mut ready_s, mut shown_s) = (Vec::new(), Vec::new());
    let mut table = Table::new(vec![
        Column::number("start", ""),
        Column::number("until the server is ready", "s"),
        Column::number("until a client is shown the first object", "s"),
    ]);
    for n in 0..stage.size.starts {
        stage.run.references.sample();
        let began = clock::now();
        let server = Server::start_in(stage.run, "load", &data)?;
        ready_s.push(began.elapsed().as_secs_f64());
        let mut bots = visitor(stage, &server, &format!("load-{n}"))?;
        bots.command("enter 1")?;
        let is_shown = await_first(&mut bots)?;
        shown_s.push(if is_shown { began.elapsed().as_secs_f64() } else { f64::NAN });
        table.row(vec![((n + 1) as f64).into(), ready_s[n].into(), shown_s[n].into()]);
        stage.dismiss(bots)?;
        server.stop()?;
    }
    findings.figure("load_ready_s", median(&mut ready_s));
    findings.figure("load_45000_s", median(&mut shown_s));
    let text = "The client's process is started when the server is ready, and its login is part of the time.";
    findings.sections.push(Section::new("Starts of the region").text(text).table(table));
    Ok(())
}

fn visitor(stage: &BuildStage<'_>, server: &Server, name: &str) -> Result<Bots, ExperimentError> {
    Bots::start(stage.run, server, name, 1, &["--last-name", "Visitor", "--observers", "1"])
}

/// True when the first object is displayed; false if that takes too long.
fn await_first(bots: &mut Bots) -> Result<bool, ExperimentError> {
    let ends_at = clock::now() + PATIENCE;
    while clock::now() < ends_at {
        if bots.command("prims")?.prims.unwrap_or(0) > 0 {
            return Ok(true);
        }
        clock::wait(LOOK_PERIOD);
    }
    Ok(false)
}
