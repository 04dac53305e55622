//! Sizes, content and data directories of the parts.

use super::content::Content;
use super::region;
use crate::Run;
use crate::bots::{Bots, BotsReport};
use crate::clock;
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::server::Server;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Numbers of prims, bots and rounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct BuildSize {
    pub(super) prims: u32,
    pub(super) prims_large: u32,
    pub(super) prims_of_crowd: u32,
    pub(super) prims_of_clients: u32,
    pub(super) walkers: u32,
    pub(super) idle_clients: u32,
    /// Few clients, and more of them, between which memory is compared.
    pub(super) clients_of_memory: [u32; 2],
    /// Bots that only make prims.
    pub(super) makers: u32,
    /// Bots that throw bodies.
    pub(super) throwers: u32,
    /// Bots that build slowly, and those that build as fast as they can.
    pub(super) builders: u32,
    pub(super) builders_many: u32,
    /// Prims whose arrival is awaited, and the first ones sent among which they are looked for.
    pub(super) foremost: usize,
    pub(super) first_sent: usize,
    pub(super) starts: usize,
    pub(super) kills: usize,
    pub(super) kill_builders: u32,
    pub(super) power_cuts: usize,
}

/// Keys of all regions: prims beyond those of their content may be made.
pub(super) const REGION_KEYS: &str = "max_objects = 200000\n";

/// Seed of all content.
const SEED: u64 = 1;

/// Wait for clients to be sent their scene, and the time without news after which they have it.
const SCENE_MAX: Duration = Duration::from_secs(300);
const SCENE_QUIET: Duration = Duration::from_secs(3);
const SCENE_QUIET_QUICK: Duration = Duration::from_millis(600);

/// Objects that a walking client is sent per second once it has most of its surroundings, at most.
const FEW_OBJECTS_PER_S: f64 = 30.0;

/// A run with its content, and the losses of all of its bots.
pub(super) struct BuildStage<'a> {
    pub(super) run: &'a Run,
    pub(super) size: &'a BuildSize,
    /// Content of most parts.
    pub(super) content: Content,
    circuits_lost: AtomicU32,
    logins_failed: AtomicU32,
}

impl<'a> BuildStage<'a> {
    pub(super) fn new(run: &'a Run, size: &'a BuildSize) -> Self {
        let content = Self::generate(size.prims);
        Self { run, size, content, circuits_lost: AtomicU32::new(0), logins_failed: AtomicU32::new(0) }
    }

    /// Content of so many prims.
    pub(super) fn generate(n_prims: u32) -> Content {
        Content::generate(n_prims, SEED, &region::kept_ids())
    }

    /// Adds the statistics of the content.
    pub(super) fn report_content(&self, findings: &mut Findings) {
        let figures = self.content.figures();
        findings.figure("prims", self.size.prims.into());
        findings.figure("prims_large", self.size.prims_large.into());
        findings.figure("content_raw_bytes", figures.raw_bytes);
        findings.figure("content_coded_bytes", figures.coded_bytes);
        findings.figure("content_prims_per_entry", figures.prims_per_entry);
        findings.sections.push(self.content.section());
    }

    /// Makes a data directory for servers with this content. `settings` has keys of the region with other sections behind them.
    pub(super) fn prepare(
        &self,
        name: &str,
        settings: &str,
        content: Option<&Content>,
    ) -> Result<PathBuf, ExperimentError> {
        let data = self.run.out.join(name);
        Server::prepare(&data, &format!("{REGION_KEYS}{settings}"))?;
        content.map_or(Ok(()), |content| region::fill(&data, content))?;
        Ok(data)
    }

    /// Lets bots log out, and notes their losses.
    pub(super) fn dismiss(&self, bots: Bots) -> Result<BotsReport, ExperimentError> {
        let report = bots.leave()?;
        self.circuits_lost.fetch_add(report.circuits_lost, Ordering::Relaxed);
        self.logins_failed.fetch_add(report.logins_failed, Ordering::Relaxed);
        Ok(report)
    }

    /// Waits until the server has sent all clients the objects around them.
    pub(super) fn await_scenes(&self, server: &Server) -> Result<(), ExperimentError> {
        let quiet = self.run.pick(SCENE_QUIET, SCENE_QUIET_QUICK);
        let ends_at = clock::now() + SCENE_MAX;
        let mut n_sent = f64::NAN;
        while clock::now() < ends_at {
            let before = n_sent;
            n_sent = server.metrics()?.sum("throng_object_updates_sent_total");
            if n_sent == before {
                return Ok(());
            }
            // The server exports its counters once a second.
            clock::wait(quiet.max(Duration::from_millis(1_100)));
        }
        Err(server.error(format!("was still sending objects after {} s", SCENE_MAX.as_secs())))
    }

    /// Waits until the server sends few full updates, for clients that never have all objects (they walk, or bodies are thrown). Ends after [`SCENE_MAX`] in
    /// any case.
    pub(super) fn settle_scenes(&self, server: &Server, clients: u32) -> Result<(), ExperimentError> {
        const UPDATES: &str = "throng_object_updates_sent_total";
        let sent = || {
            let metrics = server.metrics()?;
            Ok::<_, ExperimentError>(metrics.sum(UPDATES) - metrics.only("form", "terse").sum(UPDATES))
        };
        let quiet = self.run.pick(SCENE_QUIET, SCENE_QUIET_QUICK);
        let few = FEW_OBJECTS_PER_S * f64::from(clients) * quiet.as_secs_f64();
        let ends_at = clock::now() + SCENE_MAX;
        let mut before = sent()?;
        while clock::now() < ends_at {
            clock::wait(quiet);
            let now = sent()?;
            if now - before < few {
                break;
            }
            before = now;
        }
        Ok(())
    }

    /// Waits until observers display as many prims as they will.
    pub(super) fn await_prims(&self, bots: &mut Bots) -> Result<u64, ExperimentError> {
        let quiet = self.run.pick(SCENE_QUIET, SCENE_QUIET_QUICK);
        let ends_at = clock::now() + SCENE_MAX;
        let mut n_prims = 0;
        while clock::now() < ends_at {
            clock::wait(quiet);
            let before = n_prims;
            n_prims = bots.command("prims")?.prims.unwrap_or(0);
            if n_prims > 0 && n_prims == before {
                break;
            }
        }
        Ok(n_prims)
    }

    /// Adds the losses of all bots.
    pub(super) fn report_losses(&self, findings: &mut Findings) {
        findings.figure("circuits_lost", self.circuits_lost.load(Ordering::Relaxed).into());
        findings.figure("logins_failed", self.logins_failed.load(Ordering::Relaxed).into());
    }
}
