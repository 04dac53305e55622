//! Sizes and losses of the experiment, and a server with bots that carry things until it is killed.

use crate::Run;
use crate::bots::{AuditFindings, Bots, CarrySums};
use crate::clock;
use crate::disk::DiskTimes;
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::server::Server;
use crate::tracer::Tracer;
use bots::rng::Rng;
use report::{Column, Section, Table};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Requests of each bot per second, and the edge of its plot, metres: all plots are within the reach of small prims from each other.
const RATE_HZ: &str = "8";
const PLOT_M: &str = "8";
/// Last name of the bots: the same accounts in each round.
const LAST_NAME: &str = "Carrier";
/// Longest wait for the first answer of a round, and the time between two looks.
const ANSWERED_WITHIN: Duration = Duration::from_secs(30);
const ANSWER_PERIOD: Duration = Duration::from_millis(250);
/// Time of carrying before a crash, at least and at most.
const CARRYING: (Duration, Duration) = (Duration::from_millis(1_500), Duration::from_millis(5_000));

/// Numbers of bots, rounds and things.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeepSize {
    pub(super) kills: usize,
    pub(super) power_cuts: usize,
    /// Kills with slow synchronisations, for each delay.
    pub(super) slow_kills: usize,
    pub(super) full_kills: usize,
    /// Bots that carry before each crash.
    pub(super) carriers: u32,
    /// Bots that make transfers.
    pub(super) ferriers: u32,
    pub(super) uploads: usize,
    pub(super) textures: usize,
    /// Clients that fetch textures.
    pub(super) fetchers: u32,
    pub(super) walkers: u32,
    /// Items and folders of a large inventory.
    pub(super) items: usize,
    pub(super) folders: usize,
    /// A large archive of a region: prims, textures, and uncompressed bytes of all.
    pub(super) archive_prims: u32,
    pub(super) archive_textures: u32,
    pub(super) archive_bytes: u64,
    /// Prims of each archive that is loaded and saved again.
    pub(super) round_trip_prims: u32,
    /// Assets of a store that is backed up.
    pub(super) backup_assets: usize,
    /// Bits that are flipped in each kind of file and row.
    pub(super) flips: u32,
}

/// Findings of all audits of a run.
#[derive(Clone, Copy, Debug, Default)]
struct AuditTotals {
    n_audits: u64,
    n_failed: u64,
    doubled: u64,
    vanished: u64,
}

/// A run with the losses of all of its bots and the findings of all audits.
pub(super) struct KeepStage<'a> {
    pub(super) run: &'a Run,
    pub(super) size: &'a KeepSize,
    /// The disk alone, before the run.
    pub(super) disk: DiskTimes,
    audits: Mutex<AuditTotals>,
    circuits_lost: AtomicU32,
    logins_failed: AtomicU32,
}

impl<'a> KeepStage<'a> {
    pub(super) fn new(run: &'a Run, size: &'a KeepSize, disk: DiskTimes) -> Self {
        let (circuits_lost, logins_failed) = (AtomicU32::new(0), AtomicU32::new(0));
        Self { run, size, disk, audits: Mutex::default(), circuits_lost, logins_failed }
    }

    /// Makes a data directory for servers. `settings` has other sections than that of the region.
    pub(super) fn prepare(&self, name: &str, settings: &str) -> Result<PathBuf, ExperimentError> {
        let data = self.run.out.join(name);
        Server::prepare(&data, settings)?;
        Ok(data)
    }

    /// Lets bots log out, and notes their losses.
    pub(super) fn dismiss(&self, bots: Bots) -> Result<(), ExperimentError> {
        let report = bots.leave()?;
        self.circuits_lost.fetch_add(report.circuits_lost, Ordering::Relaxed);
        self.logins_failed.fetch_add(report.logins_failed, Ordering::Relaxed);
        Ok(())
    }

    fn note_audit(&self, audit: &Result<AuditFindings, String>) {
        let mut totals = self.audits.lock().unwrap_or_else(PoisonError::into_inner);
        totals.n_audits += 1;
        match audit {
            Ok(findings) => {
                totals.doubled += findings.doubled;
                totals.vanished += findings.vanished;
            }
            Err(_) => totals.n_failed += 1,
        }
    }

    /// Adds the findings of all audits, if there were any.
    pub(super) fn report_audits(&self, findings: &mut Findings) {
        let AuditTotals { n_audits, n_failed, doubled, vanished } =
            *self.audits.lock().unwrap_or_else(PoisonError::into_inner);
        if n_audits > 0 {
            findings.figure("doubled", doubled as f64);
            findings.figure("vanished", vanished as f64);
            findings.figure("audits_failed", n_failed as f64);
        }
    }

    /// The same, and the losses of bots whose server was not killed.
    pub(super) fn report_losses(&self, findings: &mut Findings) {
        self.report_audits(findings);
        findings.figure("circuits_lost", self.circuits_lost.load(Ordering::Relaxed).into());
        findings.figure("logins_failed", self.logins_failed.load(Ordering::Relaxed).into());
    }
}

/// Losses of one crash.
#[derive(Clone, Debug, Default)]
struct CrashRound {
    sums: CarrySums,
    /// `None` if the server did not start again, or the things could not be read.
    audit: Option<AuditFindings>,
    why: Option<String>,
}

/// Crashes of one kind.
#[derive(Clone, Debug, Default)]
pub(super) struct KeepCrashes {
    rounds: Vec<CrashRound>,
}

impl KeepCrashes {
    pub(super) fn len(&self) -> usize {
        self.rounds.len()
    }

    /// Requests that were acknowledged, and requests without an answer.
    pub(super) fn requests(&self) -> (u64, u64) {
        let sums = self.rounds.iter().map(|round| round.sums);
        sums.fold((0, 0), |all, sums| (all.0 + sums.acknowledged, all.1 + sums.pending))
    }

    /// Things lost; not a number if a round has no audit, or nothing was acknowledged.
    pub(super) fn lost(&self) -> f64 {
        let lost = self.rounds.iter().map(|round| round.audit.as_ref().map(|audit| audit.lost as f64));
        let lost: Option<f64> = lost.sum();
        lost.filter(|_| self.requests().0 > 0).unwrap_or(f64::NAN)
    }

    /// A section with all rounds; differences and troubles become failures.
    pub(super) fn section(&self, heading: &str, text: &str, findings: &mut Findings) -> Section {
        let mut table = Table::new(vec![
            Column::number("round", ""),
            Column::number("acknowledged", ""),
            Column::number("without an answer", ""),
            Column::number("compared", ""),
            Column::number("lost", ""),
            Column::number("doubled", ""),
            Column::number("vanished", ""),
        ]);
        for (n, round) in (1..).zip(&self.rounds) {
            let audit = round.audit.clone().unwrap_or_default();
            let counts = [audit.audited, audit.lost, audit.doubled, audit.vanished];
            let sums = [f64::from(n), round.sums.acknowledged as f64, round.sums.pending as f64];
            let counts = counts.map(|count| if round.audit.is_some() { count as f64 } else { f64::NAN });
            table.row(sums.into_iter().chain(counts).map(Into::into).collect());
            let whys = audit.texts.iter().chain(&round.why);
            findings.failures.extend(whys.map(|why| format!("{heading}, round {n}: {why}")));
        }
        Section::new(heading).text(text).table(table)
    }
}

/// A server whose bots carry things, and the record of these.
pub(super) struct KeepSite<'a> {
    stage: &'a KeepStage<'a>,
    name: String,
    record: PathBuf,
    rng: Rng,
    n_starts: usize,
    crashes: KeepCrashes,
}

impl<'a> KeepSite<'a> {
    /// A site with a new record.
    pub(super) fn new(stage: &'a KeepStage<'a>, name: &str, seed: u64) -> Result<Self, ExperimentError> {
        let record = stage.run.out.join(format!("{name}.record"));
        match std::fs::remove_file(&record) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(ExperimentError::File { path: record, source });
            }
            _ => {}
        }
        let (name, rng) = (name.to_owned(), Rng::new(seed, 0));
        Ok(Self { stage, name, record, rng, n_starts: 0, crashes: KeepCrashes::default() })
    }

    /// Starts the server of a data directory, audits what an earlier crash has left, and lets bots carry for a random time, `meanwhile` in its midst; then it is
    /// killed.
    pub(super) fn crash(
        &mut self,
        data: &Path,
        tracer: Option<&Tracer>,
        meanwhile: impl FnOnce(Duration) -> Result<(), ExperimentError>,
    ) -> Result<(), ExperimentError> {
        let (server, mut bots) = self.start(data, tracer)?;
        self.audit(&mut bots)?;
        bots.command("behavior carry")?;
        let (least, most) = CARRYING;
        let half = (least + (most - least).mul_f64(self.rng.unit())) / 2;
        clock::wait(half);
        meanwhile(half)?;
        clock::wait(half);
        await_answer(&mut bots)?;
        server.kill()?;
        // The record has all answers up to now.
        let sums = bots.command("carry")?.carry.unwrap_or_default();
        self.crashes.rounds.push(CrashRound { sums, audit: None, why: None });
        Ok(())
    }

    /// Starts the server once more for the last audit, verifies its stored data, and gives all crashes.
    pub(super) fn end(mut self, data: &Path) -> Result<KeepCrashes, ExperimentError> {
        let (server, mut bots) = self.start(data, None)?;
        self.audit(&mut bots)?;
        self.stage.dismiss(bots)?;
        server.stop()?;
        if let Some(faults) = Server::verify(self.stage.run, data)?
            && let Some(round) = self.crashes.rounds.last_mut()
        {
            round.why = Some(format!("throng verify --deep: {faults}"));
        }
        Ok(self.crashes)
    }

    fn start(&mut self, data: &Path, tracer: Option<&Tracer>) -> Result<(Server, Bots), ExperimentError> {
        let (run, name) = (self.stage.run, format!("{}-{}", self.name, self.n_starts));
        self.n_starts += 1;
        let server = match tracer {
            Some(tracer) => Server::start_traced(run, &name, data, tracer)?,
            None => Server::start_in(run, &name, data)?,
        };
        let (count, record) = (self.stage.size.carriers, self.record.display().to_string());
        let options = ["--behavior", "stand", "--audit", &record, "--last-name", LAST_NAME];
        let options = [&options[..], &["--rate", RATE_HZ, "--plot", PLOT_M]].concat();
        let mut bots = Bots::start(run, &server, &name, count, &options)?;
        bots.command(&format!("enter {count}"))?;
        Ok((server, bots))
    }

    /// Compares the state behind the last crash with the record. Before the first one there is nothing to compare.
    fn audit(&mut self, bots: &mut Bots) -> Result<(), ExperimentError> {
        let Some(round) = self.crashes.rounds.last_mut() else { return Ok(()) };
        let reply = bots.command("audit")?;
        let why = || reply.trouble.clone().unwrap_or_else(|| "there was no audit".to_owned());
        let audit = reply.audit.clone().ok_or_else(why);
        self.stage.note_audit(&audit);
        match audit {
            Ok(audit) => round.audit = Some(audit),
            Err(why) => round.why = Some(why),
        }
        Ok(())
    }
}

/// A crash before the first answer proves nothing: on a busy machine bots may still be on their way by then.
fn await_answer(bots: &mut Bots) -> Result<(), ExperimentError> {
    let ends_at = clock::now() + ANSWERED_WITHIN;
    while bots.command("carry")?.carry.unwrap_or_default().acknowledged == 0 && clock::now() < ends_at {
        clock::wait(ANSWER_PERIOD);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_without_an_audit_leaves_no_number_of_losses() {
        let sums = CarrySums { acknowledged: 9, pending: 2, ..CarrySums::default() };
        let audit =
            AuditFindings { audited: 12, lost: 1, texts: vec!["gone".into()], ..AuditFindings::default() };
        let round = CrashRound { sums, audit: Some(audit), why: None };
        let mut crashes = KeepCrashes { rounds: vec![round.clone(), round.clone()] };
        assert_eq!((crashes.lost(), crashes.requests()), (2.0, (18, 4)));
        let mut findings = Findings::default();
        crashes.section("SIGKILL", "", &mut findings);
        assert_eq!(findings.failures, ["SIGKILL, round 1: gone", "SIGKILL, round 2: gone"]);
        crashes.rounds.push(CrashRound { audit: None, ..round });
        assert!(crashes.lost().is_nan());
        assert!(KeepCrashes::default().lost().is_nan(), "nothing was acknowledged");
    }
}
