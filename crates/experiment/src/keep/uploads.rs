//! Uploads over HTTP: as many as are acknowledged each second, and the synchronisations that they take.

use super::load::{self, LoadCrew};
use super::site::KeepStage;
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::server::Server;
use crate::tracer::Tracer;
use report::Section;
use std::time::Duration;

/// Figure of the synchronisations. Without a tracer it is absent, which is a failure of whole runs.
pub(super) const FSYNCS: &str = "fsyncs_per_1000_uploads";

/// Accounts that upload: one may have 32 uploads begun.
const ACCOUNTS: u32 = 16;
/// Uploads at a time for both figures.
const FEW: usize = 16;
const MANY: usize = 64;
/// Seed of the textures.
const SEED: u64 = 29;

pub(super) fn measure(stage: &KeepStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    measure_rate(stage, findings)?;
    count_synchronisations(stage, findings)?;
    let text = format!(
        "Textures of 60 kB by NewFileAgentInventory in two steps, each with an item; {FEW} threads with a \
         connection each. An upload is acknowledged when its bytes and its item are durable. \
         Synchronisations are the calls fsync, fdatasync and syncfs of the server, counted by strace while \
         {MANY} threads upload."
    );
    findings.sections.push(Section::new("Uploads").text(&text));
    Ok(())
}

fn measure_rate(stage: &KeepStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    let run = stage.run;
    let data = stage.prepare("uploads", "")?;
    let server = Server::start_in(run, "uploads", &data)?;
    let (bots, known) = load::log_in(stage, &server, "uploaders", ACCOUNTS)?;
    let mut crew = LoadCrew::connect(run, &known, FEW)?;
    run.references.sample();
    let uploaded = crew.upload(stage.size.uploads, SEED)?;
    let per_s = uploaded.textures.len() as f64 / uploaded.took.as_secs_f64();
    findings.figure("uploads_per_s", per_s);
    findings.figure("upload_ms_p99", load::percentile_ms(&uploaded.times, 0.99));
    stage.dismiss(bots)?;
    server.stop()
}

/// Not together with the rate: a traced call takes longer.
fn count_synchronisations(stage: &KeepStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    let run = stage.run;
    if !Tracer::is_available() {
        if !run.quick {
            findings.failures.push("synchronisations cannot be counted: strace does not work".to_owned());
        }
        return Ok(());
    }
    let data = stage.prepare("uploads-traced", "")?;
    let log = run.out.join("uploads.calls");
    let tracer = Tracer::new(Duration::ZERO, log.clone());
    let server = Server::start_traced(run, "uploads-traced", &data, &tracer)?;
    let (bots, known) = load::log_in(stage, &server, "uploaders-traced", ACCOUNTS)?;
    let mut crew = LoadCrew::connect(run, &known, MANY)?;
    let count = || tracer.count().map_err(|source| ExperimentError::File { path: log.clone(), source });
    let before = count()?;
    let uploaded = crew.upload(stage.size.uploads, SEED)?;
    let n_calls = count()?.saturating_sub(before);
    findings.figure(FSYNCS, n_calls as f64 * 1e3 / uploaded.textures.len() as f64);
    stage.dismiss(bots)?;
    server.stop()
}
