//! Errors that end an experiment early.

use std::io;
use std::path::PathBuf;

/// A failure of the run or its environment. A missed limit is a finding, never an error.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// There is no such experiment.
    #[error("there is no experiment {name:?}; there are: {known}")]
    Unknown {
        /// The requested name.
        name: String,
        /// The known names.
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
    /// A database for the servers of a run that is none, or cannot be theirs.
    #[error("--store {reason}")]
    Store {
        /// The reason for the refusal.
        reason: String,
    },
    /// This database does not answer as it should.
    #[error("cannot use the database of the run")]
    Database(#[source] Box<store::StoreError>),
    /// Runs that cannot be put together.
    #[error("{reason}")]
    Summary {
        /// The reason for the refusal.
        reason: String,
    },
    /// Observed positions could not be compared with the true ones.
    #[error("cannot compare displayed with true positions: {reason}")]
    Freshness {
        /// The reason.
        reason: String,
    },
    /// The objects of a region could not be prepared or read.
    #[error("cannot prepare or read a region: {reason}")]
    Region {
        /// The reason.
        reason: String,
    },
    /// The inventory of an account could not be prepared.
    #[error("cannot prepare an inventory: {reason}")]
    Inventory {
        /// The reason.
        reason: String,
    },
    /// An archive of the experiment's own could not be written, or stored data could not be compared.
    #[error("cannot prepare an archive or compare stored data: {reason}")]
    Archive {
        /// The reason.
        reason: String,
    },
    /// The sink `tun` is unavailable. There is no fallback to loopback, since figures of the two cannot be compared.
    #[error(
        "no TUN device between two network namespaces can be had here (--sink lo measures on loopback): {step}"
    )]
    NoTun {
        /// The refused step.
        step: &'static str,
        /// The system's error.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A process could not be started.
    #[error("cannot start {what}")]
    Start {
        /// The name of the program.
        what: String,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// A process ended before its time, or said something else than it should have.
    #[error("{what} {how}; its log is {log}")]
    Process {
        /// The name of the program.
        what: String,
        /// The way it ended or failed.
        how: String,
        /// Path of its standard error.
        log: PathBuf,
    },
    /// The server's operator's address does not answer as it should.
    #[error("the server's operator's address does not answer: {path}")]
    Operator {
        /// The requested path.
        path: String,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// A client's capability does not answer as it should.
    #[error("a client's capability does not answer as it should: {name}")]
    Capability {
        /// Its name.
        name: String,
        /// The difference.
        #[source]
        source: io::Error,
    },
    /// The resource usage of a process cannot be read.
    #[error("cannot read the usage of process {pid}")]
    Usage {
        /// Its process id.
        pid: u32,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The calibrator could not be measured.
    #[error("cannot measure the calibrator L: {step}")]
    Calibrate {
        /// The refused step.
        step: &'static str,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// Something that the experiment needs is missing on this machine.
    #[error("{what}")]
    Missing {
        /// The missing thing, and the way to get it.
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
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}
