//! SIGKILL at random instants while bots build: the edits that are lost, and whether each region is a complete frame.

use super::losses::{CrashLosses, EditHistory};
use super::region;
use super::stage::BuildStage;
use crate::bots::Bots;
use crate::clock;
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::server::Server;
use bots::record_file::monotonic_ns;
use bots::rng::Rng;
use report::{Column, Section, Table};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Edits of each bot per second, and the edge of its plot, metres.
const RATE_HZ: &str = "10";
const PLOT_M: &str = "8";
/// Time of building before a crash, at least and at most.
const BUILDING: (Duration, Duration) = (Duration::from_millis(1_000), Duration::from_millis(4_000));
/// Seed of these times.
const SEED: u64 = 7;

/// Crashes of one kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Crashes {
    pub(super) rounds: Vec<CrashLosses>,
    /// Starts that failed after a crash.
    pub(super) n_failed_starts: usize,
}

impl Crashes {
    /// Age of the oldest lost edit; not a number without edits that could be lost.
    pub(super) fn lost_s_max(&self) -> f64 {
        let n_seen: usize = self.rounds.iter().map(|round| round.n_seen).sum();
        let most = self.rounds.iter().map(|round| round.lost_s).fold(0.0, f64::max);
        if n_seen > 0 { most } else { f64::NAN }
    }

    pub(super) fn n_torn(&self) -> usize {
        self.n_failed_starts + self.rounds.iter().filter(|round| !round.torn.is_empty()).count()
    }

    /// A section with all rounds; reasons of torn regions become failures.
    pub(super) fn section(&self, heading: &str, text: &str, findings: &mut Findings) -> Section {
        let mut table = Table::new(vec![
            Column::number("round", ""),
            Column::number("edits that bots had seen", ""),
            Column::number("of these lost", ""),
            Column::number("age of the oldest", "s"),
            Column::text("complete frame"),
        ]);
        for (n, round) in self.rounds.iter().enumerate() {
            let whole = if round.torn.is_empty() { "yes" } else { "no" };
            table.row(vec![
                ((n + 1) as f64).into(),
                (round.n_seen as f64).into(),
                (round.n_lost as f64).into(),
                round.lost_s.into(),
                whole.into(),
            ]);
            findings
                .failures
                .extend(round.torn.iter().map(|why| format!("{heading}, round {}: {why}", n + 1)));
        }
        Section::new(heading).text(text).table(table)
    }
}

/// Bots that build on a server, with the file of their edits.
pub(super) struct CrashSite {
    server: Server,
    bots: Bots,
    file: PathBuf,
}

impl CrashSite {
    /// Starts the server of a data directory and lets bots build there for a random time; `None` if the server does not start.
    pub(super) fn build(
        stage: &BuildStage<'_>,
        name: &str,
        data: &Path,
        rng: &mut Rng,
    ) -> Result<Option<Self>, ExperimentError> {
        let run = stage.run;
        let server = match Server::start_in(run, name, data) {
            Ok(server) => server,
            Err(ExperimentError::Process { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let file = run.out.join(format!("{name}.edits"));
        let path = file.display().to_string();
        let count = stage.size.kill_builders;
        let options = ["--behavior", "build", "--edits", &path, "--rate", RATE_HZ, "--plot", PLOT_M];
        let options = [&options[..], &["--last-name", "Builder"]].concat();
        let mut bots = Bots::start(run, &server, name, count, &options)?;
        bots.command(&format!("enter {count}"))?;
        let (least, most) = BUILDING;
        clock::wait(least + (most - least).mul_f64(rng.unit()));
        Ok(Some(Self { server, bots, file }))
    }

    /// Kills the server; the time, and the edits up to then.
    pub(super) fn kill(mut self) -> Result<(u64, EditHistory), ExperimentError> {
        let killed_ns = monotonic_ns();
        self.server.kill()?;
        self.bots.command("edits")?;
        // Their sessions have ended with the server.
        drop(self.bots);
        Ok((killed_ns, EditHistory::read(&self.file)?))
    }
}

pub(super) fn measure(stage: &BuildStage<'_>, findings: &mut Findings) -> Result<(), ExperimentError> {
    let data = stage.prepare("kills", "", Some(&stage.content))?;
    let (mut rng, mut crashes) = (Rng::new(SEED, 0), Crashes::default());
    for n in 0..stage.size.kills {
        match CrashSite::build(stage, &format!("kill-{n}"), &data, &mut rng)? {
            Some(site) => {
                let (killed_ns, history) = site.kill()?;
                crashes.rounds.push(history.losses(&region::read(&data)?, killed_ns));
            }
            None => crashes.n_failed_starts += 1,
        }
    }
    // The last region has to start, too.
    match Server::start_in(stage.run, "kills", &data) {
        Ok(server) => server.stop()?,
        Err(_) => crashes.n_failed_starts += 1,
    }
    findings.figure("kills", crashes.rounds.len() as f64);
    findings.figure("killed_edits", crashes.rounds.iter().map(|round| round.n_seen as f64).sum());
    findings.figure("lost_edits_s_max", crashes.lost_s_max());
    findings.figure("torn_starts", crashes.n_torn() as f64);
    let text = "Bots build, the server is killed at a random instant, and the region is read from its database. An edit is lost if its bot \
                had seen its effect and the region does not have it; its age counts from its request.";
    let section = crashes.section("SIGKILL", text, findings);
    findings.sections.push(section);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_without_edits_promise_nothing_and_failed_starts_are_torn() {
        let empty = Crashes { rounds: vec![CrashLosses::default()], n_failed_starts: 1 };
        assert!(empty.lost_s_max().is_nan());
        assert_eq!(empty.n_torn(), 1);
        let torn = CrashLosses {
            n_seen: 5,
            lost_s: 0.4,
            torn: vec!["a".into(), "b".into()],
            ..CrashLosses::default()
        };
        let whole = CrashLosses { n_seen: 5, lost_s: 0.2, ..CrashLosses::default() };
        let crashes = Crashes { rounds: vec![torn, whole], n_failed_starts: 0 };
        assert_eq!((crashes.lost_s_max(), crashes.n_torn()), (0.4, 1));
        let mut findings = Findings::default();
        crashes.section("SIGKILL", "", &mut findings);
        assert_eq!(findings.failures, ["SIGKILL, round 1: a", "SIGKILL, round 1: b"]);
    }
}
