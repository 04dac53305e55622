//! Phases: some bots act as commanded while the world is recorded.

use crate::bots::Bots;
use crate::error::ExperimentError;
use crate::meter::{Reading, Window};
use crate::server::Server;
use crate::{Run, clock};
use bots::record_file::monotonic_ns;
use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Names of the phases in figures.
pub(super) const PHASES: [&str; 6] = ["alone_1", "hostile", "alone_2", "slow", "alone_3", "storm"];

/// Duration of a phase. Full ones are long enough for about equal numbers of the walkers' turns and stops in each.
const WINDOW: Duration = Duration::from_secs(60);
const WINDOW_QUICK: Duration = Duration::from_secs(2);
/// Time for a change of behaviour to take effect, and for the effect to fade: paths recover by a sixteenth a second.
const SETTLE: Duration = Duration::from_secs(20);
const SETTLE_QUICK: Duration = Duration::from_millis(500);
/// Deadline for the start of a recording.
const RECORD_BEGINS: Duration = Duration::from_secs(1);
const RECORD_BEGINS_QUICK: Duration = Duration::from_millis(200);
/// Recording time of the world beyond a phase: readings wait for the server's next export.
const RECORD_LONGER: Duration = Duration::from_secs(4);
const RECORD_LONGER_QUICK: Duration = Duration::from_secs(2);
/// Deadline of a storm. Passwords are hashed in turn, on a part of a core.
pub(super) const STORM_MAX: Duration = Duration::from_secs(60);
pub(super) const STORM_MAX_QUICK: Duration = Duration::from_secs(4);

/// A phase that is over.
pub(super) struct FinishedPhase {
    pub(super) recording: PathBuf,
    /// On the monotonic clock.
    pub(super) window_ns: Range<u64>,
    pub(super) server: Window,
}

/// Runs the phases, one after the other.
pub(super) struct PhaseRunner<'a> {
    pub(super) run: &'a Run,
    pub(super) server: &'a Server,
    pub(super) phases: Vec<FinishedPhase>,
}

impl PhaseRunner<'_> {
    /// All bots stand and walk only.
    pub(super) fn quiet(&mut self) -> Result<(), ExperimentError> {
        clock::wait(self.run.pick(SETTLE, SETTLE_QUICK));
        let window = self.run.pick(WINDOW, WINDOW_QUICK);
        self.record(window, |_| {
            clock::wait(window);
            Ok(())
        })
    }

    /// Lets some bots act by their behaviour, and then stand again.
    pub(super) fn act(&mut self, bots: &mut Bots, behavior: &str) -> Result<(), ExperimentError> {
        bots.command(&format!("behavior {behavior}"))?;
        let acted = self.quiet();
        bots.command("behavior stand")?;
        acted
    }

    /// Many come at once. Gives how many seconds it took until all were in.
    pub(super) fn storm(&mut self, storm: &mut Bots, count: u32) -> Result<f64, ExperimentError> {
        let least = self.run.pick(Duration::ZERO, WINDOW_QUICK);
        let mut took_s = f64::NAN;
        self.record(self.run.pick(STORM_MAX, STORM_MAX_QUICK), |began| {
            storm.command(&format!("enter {count}"))?;
            took_s = began.elapsed().as_secs_f64();
            clock::wait_until(began + least);
            Ok(())
        })?;
        Ok(took_s)
    }

    /// Records the world for up to `longest` while something happens.
    fn record(
        &mut self,
        longest: Duration,
        happens: impl FnOnce(Instant) -> Result<(), ExperimentError>,
    ) -> Result<(), ExperimentError> {
        let path = self.run.out.join(format!("{}.recording", PHASES[self.phases.len()]));
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(ExperimentError::File { path, source: error });
            }
            _ => {}
        }
        self.run.references.sample();
        let longer = self.run.pick(RECORD_LONGER, RECORD_LONGER_QUICK);
        let mut recording = self.server.record(self.run, (longest + longer).as_secs(), &path)?;
        clock::wait(self.run.pick(RECORD_BEGINS, RECORD_BEGINS_QUICK));
        let begin = Reading::take(self.server)?;
        let begin_ns = monotonic_ns();
        happens(clock::now())?;
        let end_ns = monotonic_ns();
        let end = Reading::take(self.server)?;
        let status = recording.wait()?;
        if !status.success() {
            return Err(recording.error(format!("ended with {status}")));
        }
        let server = Window { begin, end };
        self.phases.push(FinishedPhase { recording: path, window_ns: begin_ns..end_ns, server });
        Ok(())
    }
}
