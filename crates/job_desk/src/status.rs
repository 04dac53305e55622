//! State of the configured directory of backups: for metrics, health, the page and the schedule.

use backup::{BackupDirError, BackupEntry, BackupSchedule, BackupTimes, list_backups};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use telemetry::MetricTable;

/// The directory as it was when it was looked at last.
#[derive(Debug, Default)]
struct Seen {
    backups: Arc<[BackupEntry]>,
    times: BackupTimes,
    late: Vec<String>,
}

/// State of the configured directory of backups.
#[derive(Debug)]
pub struct BackupStatus {
    /// None without a configured directory.
    directory: Option<PathBuf>,
    seen: Mutex<Seen>,
}

impl BackupStatus {
    pub(super) fn new(directory: &Path) -> Self {
        let directory = (!directory.as_os_str().is_empty()).then(|| directory.to_owned());
        Self { directory, seen: Mutex::default() }
    }

    pub(super) fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Looks at the directory again. Waits for its disk.
    pub(super) fn look(&self, schedule: &BackupSchedule, now_s: i64) {
        let Some(directory) = &self.directory else { return };
        let (backups, trouble) = match list_backups(directory) {
            Ok(backups) => (backups, None),
            // Before the first one.
            Err(BackupDirError::None(_)) => (Vec::new(), None),
            Err(why) => (Vec::new(), Some(format!("The directory of backups cannot be read: {why}."))),
        };
        let manifests = || backups.iter().filter_map(|entry| entry.manifest.as_ref().ok());
        let times = BackupTimes {
            made_s: manifests().map(|manifest| manifest.cut_s).max(),
            backup_s: backups.iter().filter_map(|entry| entry.sound()).map(|manifest| manifest.cut_s).max(),
            rehearsal_s: backups
                .iter()
                .filter_map(|entry| entry.rehearsal.as_ref())
                .filter(|rehearsal| rehearsal.has_succeeded())
                .map(|rehearsal| rehearsal.at_s)
                .max(),
        };
        let late = trouble.into_iter().chain(schedule.late(now_s, &times)).collect();
        *self.lock() = Seen { backups: backups.into(), times, late };
    }

    /// Times of the newest whole backup and of the last successful rehearsal.
    pub(super) fn times(&self) -> BackupTimes {
        self.lock().times
    }

    /// The backups, the oldest first.
    pub(super) fn backups(&self) -> Arc<[BackupEntry]> {
        Arc::clone(&self.lock().backups)
    }

    /// Sentences on work that is late.
    #[must_use]
    pub fn late(&self) -> Vec<String> {
        self.lock().late.clone()
    }

    /// Exports the ages, where there is something that has one.
    pub fn export(&self, table: &mut MetricTable, now_s: i64) {
        let BackupTimes { backup_s, rehearsal_s, .. } = self.times();
        let ages = [
            (
                "throng_backup_age_seconds",
                "Age of the newest whole backup in the configured directory.",
                backup_s,
            ),
            (
                "throng_rehearsal_age_seconds",
                "Time since the last successful rehearsal of a backup in the configured directory.",
                rehearsal_s,
            ),
        ];
        for (name, help, at_s) in ages {
            if let Some(at_s) = at_s {
                table.gauge(name, help, ("", ""), now_s.saturating_sub(at_s).max(0) as f64);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_without_backups_is_late_and_has_no_age() {
        let folder = tempfile::tempdir().unwrap();
        let schedule = BackupSchedule::new(1, 0, 0);
        let status = BackupStatus::new(&folder.path().join("backups"));
        status.look(&schedule, 10);
        assert!(status.late().is_empty() && status.backups().is_empty());
        status.look(&schedule, 7_200);
        assert_eq!(status.late(), ["There is no whole backup (`backup.directory`)."]);
        assert_eq!(status.times(), BackupTimes::default());
        let none = BackupStatus::new(Path::new(""));
        none.look(&schedule, 7_200);
        assert!(none.directory().is_none() && none.late().is_empty());
    }
}
