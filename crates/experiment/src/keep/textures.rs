//! Textures over HTTP: from memory, from the disk, and beside clients that walk about.

use super::load::{self, LoadCrew, percentile_ms};
use super::site::KeepStage;
use crate::bots::Bots;
use crate::clock;
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::meter;
use crate::server::Server;
use ids::Uuid;
use report::Section;
use rustix::fs::{Advice, fadvise};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::Duration;

/// Accounts that upload and that fetch from memory, and threads that fetch from memory.
const ACCOUNTS: u32 = 16;
const THREADS: usize = 32;
/// Seed of the textures.
const SEED: u64 = 31;

/// Time of fetches from memory; of pings with fetches beside them and without.
const WINDOW: Duration = Duration::from_secs(20);
const WINDOW_PINGS: Duration = Duration::from_secs(30);
const WINDOW_QUICK: Duration = Duration::from_secs(2);
/// Time for walking clients to have their surroundings.
const SETTLE: Duration = Duration::from_secs(10);
const SETTLE_QUICK: Duration = Duration::from_secs(1);
/// Time between two pings of a walking client.
const PING_EVERY: &str = "500ms";

/// No limit of a user's bytes, with room for all textures in memory, and for hardly any.
const IN_MEMORY: &str = "\n[http]\nasset_bytes_per_s = 1073741824\n\n[assets]\ncache_bytes = 1073741824\n";
const ON_DISK: &str = "\n[http]\nasset_bytes_per_s = 1073741824\n\n[assets]\ncache_bytes = 1048576\n";
/// Directory of the assets in a data directory.
const ASSETS: &str = "assets";

pub(super) fn measure(stage: &KeepStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    let data = stage.prepare("textures", IN_MEMORY)?;
    let textures = from_memory(stage, &data, findings)?;
    Server::configure(&data, ON_DISK)?;
    from_disk(stage, &data, &textures, findings)?;
    Server::configure(&data, "")?;
    beside_walkers(stage, &data, &textures, findings)?;
    let (n, fetchers, walkers) = (textures.len(), stage.size.fetchers, stage.size.walkers);
    let text = format!(
        "{n} textures of 60 kB. From memory: {THREADS} threads fetch all of them over and over, and their \
         requests are divided by the CPU seconds of the server, those of its kernel calls included. From \
         the disk: the server has 1 MiB for assets, the kernel has dropped their files from its cache, and \
         {fetchers} clients fetch each texture once, among all of them. Beside {walkers} walking clients: \
         {fetchers} clients fetch all textures over and over, with the usual limit of bytes per user."
    );
    findings.sections.push(Section::new("Textures").text(&text));
    Ok(())
}

/// Uploads the textures, and fetches them from the server's memory.
fn from_memory(
    stage: &KeepStage<'_>,
    data: &Path,
    findings: &mut Findings,
) -> Result<Vec<Uuid>, ExperimentError> {
    let run = stage.run;
    let server = Server::start_in(run, "textures", data)?;
    let (bots, known) = load::log_in(stage, &server, "texture-fetchers", ACCOUNTS)?;
    let mut crew = LoadCrew::connect(run, &known, THREADS)?;
    let textures = crew.upload(stage.size.textures, SEED)?.textures;
    // All are in memory behind a first pass.
    crew.fetch_each(&textures)?;
    run.references.sample();
    let before = meter::usage(server.pid())?;
    let times = crew.fetch_until(clock::now() + run.pick(WINDOW, WINDOW_QUICK), &textures)?;
    let cpu_s = meter::usage(server.pid())?.cpu_s_since(&before);
    findings.figure("texture_gets_per_core_s", times.count() as f64 / cpu_s);
    findings.figure("texture_hit_ms_p99", percentile_ms(&times, 0.99));
    stage.dismiss(bots)?;
    server.stop()?;
    Ok(textures)
}

/// Fetches each texture once from the disk.
fn from_disk(
    stage: &KeepStage<'_>,
    data: &Path,
    textures: &[Uuid],
    findings: &mut Findings,
) -> Result<(), ExperimentError> {
    let (run, count) = (stage.run, stage.size.fetchers);
    let server = Server::start_in(run, "textures-cold", data)?;
    let (bots, known) = load::log_in(stage, &server, "texture-fetchers-cold", count)?;
    let mut crew = LoadCrew::connect(run, &known, count as usize)?;
    run.references.sample();
    let directory = data.join(ASSETS);
    drop_pages(&directory).map_err(|source| ExperimentError::File { path: directory, source })?;
    let times = crew.fetch_each(textures)?;
    findings.figure("texture_cold_ms_p50", percentile_ms(&times, 0.5));
    findings.figure("texture_cold_ms_p99", percentile_ms(&times, 0.99));
    stage.dismiss(bots)?;
    server.stop()
}

/// Has the kernel drop the content of all files of a directory from its cache. They are synchronised, or it would keep them.
fn drop_pages(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            drop_pages(&entry.path())?;
        } else {
            fadvise(&File::open(entry.path())?, 0, None, Advice::DontNeed)?;
        }
    }
    Ok(())
}

/// Pings of walking clients, with fetches beside them and without.
fn beside_walkers(
    stage: &KeepStage<'_>,
    data: &Path,
    textures: &[Uuid],
    findings: &mut Findings,
) -> Result<(), ExperimentError> {
    let (run, count) = (stage.run, stage.size.fetchers);
    let (n_walkers, window) = (stage.size.walkers, run.pick(WINDOW_PINGS, WINDOW_QUICK));
    let server = Server::start_in(run, "textures-walkers", data)?;
    let options = ["--behavior", "walk", "--last-name", "Walker", "--ping-every", PING_EVERY];
    let mut walkers = Bots::start(run, &server, "texture-walkers", n_walkers, &options)?;
    walkers.command(&format!("enter {n_walkers}"))?;
    let (fetchers, known) = load::log_in(stage, &server, "texture-fetchers-beside", count)?;
    let mut crew = LoadCrew::connect(run, &known, count as usize)?;
    clock::wait(run.pick(SETTLE, SETTLE_QUICK));
    run.references.sample();
    walkers.command("pings")?;
    clock::wait(window);
    let without = pings_ms_p99(&mut walkers)?;
    crew.fetch_until(clock::now() + window, textures)?;
    let beside = pings_ms_p99(&mut walkers)?;
    findings.figure("ping_beside_textures", beside / without);
    stage.dismiss(walkers)?;
    stage.dismiss(fetchers)?;
    server.stop()
}

/// The 99th percentile of the pings since the last time; not a number without pings.
fn pings_ms_p99(bots: &mut Bots) -> Result<f64, ExperimentError> {
    let pings = bots.command("pings")?.pings.unwrap_or_default();
    Ok(pings.p99_ms.unwrap_or(f64::NAN))
}
