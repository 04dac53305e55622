//! Why an experiment could not be run to its end.

use std::io;
use std::path::PathBuf;

/// What went wrong. What an experiment finds is never an error.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// There is no such experiment.
    #[error("there is no experiment {name:?}; there are: {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// An option that this experiment does not have.
    #[error("{name} has no option {option}")]
    Option {
        /// The option.
        option: &'static str,
        /// The experiment.
        name: String,
    },
    /// Runs that cannot be put together.
    #[error("{reason}")]
    Summary {
        /// Why not.
        reason: String,
    },
    /// What observers saw could not be compared with what was true.
    #[error("cannot compare what was shown with what was true: {reason}")]
    Freshness {
        /// Why not.
        reason: String,
    },
    /// The sink `tun` cannot be had. Nothing falls back to loopback, since figures of the two cannot be compared.
    #[error(
        "no TUN device between two network namespaces can be had here (--sink lo measures on loopback): {step}"
    )]
    NoTun {
        /// What was refused.
        step: &'static str,
        /// What the system said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A process could not be started.
    #[error("cannot start {what}")]
    Start {
        /// Which one.
        what: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A process ended before its time, or said something else than it should have.
    #[error("{what} {how}; its log is {log}")]
    Process {
        /// Which one.
        what: String,
        /// What it did.
        how: String,
        /// Where its standard error went.
        log: PathBuf,
    },
    /// The server's operator's address does not answer as it should.
    #[error("the server's operator's address does not answer: {path}")]
    Operator {
        /// What was asked.
        path: String,
        /// What came instead.
        #[source]
        source: io::Error,
    },
    /// What a process uses cannot be read.
    #[error("cannot read the usage of process {pid}")]
    Usage {
        /// Which one.
        pid: u32,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The calibrator could not be measured.
    #[error("cannot measure the calibrator L: {step}")]
    Calibrate {
        /// What was refused.
        step: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Something that the experiment needs is missing on this machine.
    #[error("{what}")]
    Missing {
        /// What, and how to get it.
        what: String,
    },
    /// A commit was not built.
    #[error(transparent)]
    Build(#[from] ::preflight::builds::CommitBuildError),
    /// Two builds were not compared.
    #[error(transparent)]
    Trial(#[from] ::preflight::trial::TrialError),
    /// A file cannot be read or written.
    #[error("cannot read or write {}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}
