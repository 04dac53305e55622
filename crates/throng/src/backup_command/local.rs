//! The work of commands without a server: at full speed, with lines of progress on standard error.

use super::BackupCommandError;
use crate::cli::RestoreArgs;
use crate::config::Config;
use crate::configured::stored_data;
use crate::database;
use crate::trial::start_worlds;
use backup::{
    BackupDir, BackupError, BackupReport, FilesMode, RehearsalError, RehearsalReport, RestoreOrder,
    RestoreReport, Verification, WorkDriver,
};
use data_dir::create_privately;
use job_desk::{EndRequest, PacedDriver, WorkClock};
use jobs::JobProgress;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Period of progress lines.
const PROGRESS_PERIOD: Duration = Duration::from_secs(5);

/// Does work with real clocks; the time of its begin is its argument, seconds since 1970.
fn drive<T>(work: impl FnOnce(u64, &mut dyn WorkDriver) -> T) -> T {
    #[expect(clippy::disallowed_methods, reason = "here a command's clocks begin")]
    let (started, start) = (Instant::now(), SystemTime::now());
    let start_s = start.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let monotonic = || started.elapsed();
    let unix_s = || start_s.saturating_add(started.elapsed().as_secs()).cast_signed();
    let mut next_at = PROGRESS_PERIOD;
    let mut show = |progress: JobProgress| {
        if monotonic() >= next_at {
            next_at = monotonic() + PROGRESS_PERIOD;
            let JobProgress { part, done, total } = progress;
            // Progress is for a watching operator; without one, it is lost.
            let _ = match total {
                0 => writeln!(std::io::stderr(), "{part}: {done}"),
                total => writeln!(std::io::stderr(), "{part}: {done} of {total}"),
            };
        }
    };
    let mut driver = PacedDriver {
        clock: WorkClock { monotonic: &monotonic, unix_s: &unix_s },
        pace: None,
        end: &EndRequest::default(),
        show: &mut show,
    };
    work(start_s, &mut driver)
}

pub(super) fn verify(config: &Config, is_deep: bool) -> Result<Verification, BackupCommandError> {
    drive(|now_s, driver| {
        let data = stored_data(config, now_s);
        Ok(backup::verify(&data.to_verify(is_deep), driver)?)
    })
}

pub(super) fn back_up(config: &Config, directory: &Path) -> Result<BackupReport, BackupCommandError> {
    create_privately();
    drive(|now_s, driver| {
        let dir = BackupDir::open(directory, &holder()).map_err(BackupError::from)?;
        let data = stored_data(config, now_s);
        Ok(backup::back_up(&dir, &data.to_back_up(), config.backup.keep, driver)?)
    })
}

pub(super) fn restore(
    config: &Config,
    args: &RestoreArgs,
    data: &Path,
) -> Result<RestoreReport, BackupCommandError> {
    create_privately();
    let order = RestoreOrder {
        from: &args.from,
        name: args.backup.as_deref(),
        data,
        assets: &config.assets.directory,
        mode: FilesMode::Copy,
    };
    drive(|_, driver| Ok(backup::restore(&order, &holder(), driver)?))
}

pub(super) fn rehearse(config: &Config, args: &RestoreArgs) -> Result<RehearsalReport, BackupCommandError> {
    create_privately();
    let (name, scratch) = (args.backup.as_deref(), args.to.as_deref());
    // A new one is not made for a rehearsal.
    backup::list_backups(&args.from).map_err(RehearsalError::from)?;
    drive(|_, driver| {
        let dir = BackupDir::open(&args.from, &holder()).map_err(RehearsalError::from)?;
        let mut start = |data: &Path, driver: &mut dyn WorkDriver| start_worlds(config, data, driver);
        Ok(backup::rehearse(&dir, name, scratch, &mut start, driver)?)
    })
}

/// Name of this command, reported to a rival.
fn holder() -> String {
    database::server_name().replacen("the server", "a command", 1)
}
