//! `throng oar` and `throng iar`: checks and comparisons of archives, without a server, and orders to load and save them.

mod ordered;
mod shown;
mod transit;

use crate::cli::{ArchiveCheckArgs, ArchiveDiffArgs, IarCommand, OarCommand};
use crate::database::{self, DatabaseError};
use crate::operator::OperatorError;
use archive::check::{ArchiveReport, CheckConfig, CheckError, CheckVerdict, check_iar, check_oar};
use archive::diff::{DiffError, DiffSide, diff};
use archive::file::ArchiveLimits;
use ids::{AgentId, Uuid};
use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use store::{Store, StoreError};

/// Errors of commands on archives.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveCommandError {
    /// The file.
    #[error("cannot open {path}")]
    Open {
        /// Its path.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// There is no archive in it.
    #[error("{path} cannot be checked")]
    Check {
        /// Its path.
        path: PathBuf,
        /// The reason.
        #[source]
        source: CheckError,
    },
    /// Archives that cannot be compared.
    #[error("{path} cannot be compared")]
    Diff {
        /// The archive at fault.
        path: PathBuf,
        /// The reason.
        #[source]
        source: DiffError,
    },
    /// A file on its way between server and operator.
    #[error("cannot {step} {path}")]
    Transit {
        /// Failed step.
        step: &'static str,
        /// Its path.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The running server.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// Its answer.
    #[error("the server's answer is not understood; is it of another version?")]
    Answer(#[from] serde_json::Error),
    /// The server's job.
    #[error("job {id} is {state}: {outcome}")]
    Job {
        /// Its number.
        id: u64,
        /// `failed` or `cancelled`.
        state: String,
        /// The reason.
        outcome: String,
    },
    /// The database that was named.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// A read of the database.
    #[error("cannot use the database")]
    Store(#[from] StoreError),
}

impl ArchiveCommandError {
    /// Exit status of the command: 2 without an archive, or for a wrong use.
    #[must_use]
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Open { .. } | Self::Check { .. } | Self::Database(DatabaseError::Config(_)) => 2,
            Self::Diff { source, .. } if source.is_no_archive() => 2,
            Self::Diff { .. }
            | Self::Transit { .. }
            | Self::Operator(_)
            | Self::Answer(_)
            | Self::Job { .. }
            | Self::Database(_)
            | Self::Store(_) => 1,
        }
    }
}

/// Runs a command on archives of regions; returns its output, and true if all of an archive loads, or was loaded or saved, or two archives are equal.
///
/// # Errors
/// [`ArchiveCommandError`], with its exit status.
pub fn run_oar(command: OarCommand) -> Result<(String, bool), ArchiveCommandError> {
    match command {
        OarCommand::Check(args) => check(&args, check_oar),
        OarCommand::Diff(args) => compare(&args),
        OarCommand::Load(args) => ordered::load_oar(&args),
        OarCommand::Save(args) => ordered::save_oar(&args),
    }
}

/// Runs a command on archives of inventories; returns its output, and true if all of the archive loads, or was loaded or saved.
///
/// # Errors
/// [`ArchiveCommandError`], with its exit status.
pub fn run_iar(command: IarCommand) -> Result<(String, bool), ArchiveCommandError> {
    match command {
        IarCommand::Check(args) => check(&args, check_iar),
        IarCommand::Load(args) => ordered::load_iar(&args),
        IarCommand::Save(args) => ordered::save_iar(&args),
    }
}

fn check(
    args: &ArchiveCheckArgs,
    check: fn(File, &CheckConfig<'_>) -> Result<ArchiveReport, CheckError>,
) -> Result<(String, bool), ArchiveCommandError> {
    let store = if args.has_store() { Some(database::open(&args.store)?) } else { None };
    let known = KnownRows { store, failure: RefCell::default() };
    let config = CheckConfig {
        knows_account: &|account| known.has_account(account),
        knows_asset: &|asset| known.has_asset(asset),
        prims_max: args.prims_max,
        ..CheckConfig::default()
    };
    let report = check(open(&args.file)?, &config)
        .map_err(|source| ArchiveCommandError::Check { path: args.file.clone(), source })?;
    if let Some(why) = known.failure.take() {
        return Err(why.into());
    }
    let text = match args.json {
        true => format!("{}\n", shown::check_json(&args.file, &report)),
        false => shown::check_text(&args.file, &report),
    };
    Ok((text, report.verdict() == CheckVerdict::Loads))
}

fn compare(args: &ArchiveDiffArgs) -> Result<(String, bool), ArchiveCommandError> {
    let path = |side| if side == DiffSide::A { &args.a } else { &args.b };
    let report = diff(|side| File::open(path(side)), ArchiveLimits::default())
        .map_err(|source| ArchiveCommandError::Diff { path: path(source.side()).clone(), source })?;
    let text = match args.json {
        true => format!("{}\n", shown::diff_json(&report)),
        false => shown::diff_text(&report),
    };
    Ok((text, report.is_empty()))
}

fn open(path: &Path) -> Result<File, ArchiveCommandError> {
    File::open(path).map_err(|source| ArchiveCommandError::Open { path: path.to_owned(), source })
}

/// Accounts and assets of the database that was named, if one was.
struct KnownRows {
    store: Option<Store>,
    /// The first read that failed.
    failure: RefCell<Option<StoreError>>,
}

impl KnownRows {
    fn has_account(&self, account: Uuid) -> bool {
        self.read(|store| store.account(AgentId(account)).map(|account| account.is_some()))
    }

    fn has_asset(&self, asset: Uuid) -> bool {
        self.read(|store| store.asset(asset).map(|asset| asset.is_some()))
    }

    fn read(&self, read: impl FnOnce(&Store) -> Result<bool, StoreError>) -> bool {
        let Some(store) = &self.store else { return false };
        read(store).unwrap_or_else(|why| {
            self.failure.borrow_mut().get_or_insert(why);
            false
        })
    }
}
