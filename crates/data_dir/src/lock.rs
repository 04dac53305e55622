//! The lock of a data directory: at most one server runs on it.
//!
//! The kernel holds the lock (`flock`) and releases it with the process, also after SIGKILL, so a lock is never stale. The process id in the
//! file is for the message alone. Commands on the database (`throng user`, `throng token`) need no lock: the database arbitrates.

use super::privacy::PRIVATE_FILE;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// The file in the data directory that is locked.
pub(super) const LOCK_FILE: &str = "lock";
/// Digits of the largest process id, with room.
const PID_BYTES_MAX: u64 = 20;

/// Why a directory was not locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another server has it.
    #[error("{path} is in use by {}; stop that server first, or name another directory", holder(*.pid))]
    Held {
        /// The data directory.
        path: PathBuf,
        /// Process id of the other server, unless it is just starting.
        pid: Option<u32>,
    },
    /// The lock file.
    #[error("cannot lock {path}")]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another server".to_owned(), |pid| format!("the server with process id {pid}"))
}

/// Held until it is dropped or the process ends.
#[derive(Debug)]
pub(super) struct DirLock {
    _file: File,
}

impl DirLock {
    /// Locks the directory for this process.
    ///
    /// # Errors
    /// When another process holds the lock, or the file cannot be opened or written.
    pub(super) fn acquire(dir: &Path) -> Result<Self, LockError> {
        let path = dir.join(LOCK_FILE);
        let failed = |source| LockError::Io { path: path.clone(), source };
        // Not truncated: until the lock is ours, the process id in it is another's.
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false).mode(PRIVATE_FILE);
        let mut file = options.open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LockError::Held { path: dir.into(), pid: read_pid(&file) });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let write_pid = |file: &mut File| {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{}", std::process::id())
        };
        write_pid(&mut file).map_err(failed)?;
        Ok(Self { _file: file })
    }
}

fn read_pid(file: &File) -> Option<u32> {
    let mut text = String::new();
    file.take(PID_BYTES_MAX).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_lock_is_refused_with_the_holders_process_id_until_the_first_is_released() {
        let dir = tempfile::tempdir().unwrap();
        let first = DirLock::acquire(dir.path()).unwrap();
        let refused = DirLock::acquire(dir.path()).unwrap_err();
        let pid = std::process::id();
        assert!(matches!(refused, LockError::Held { pid: Some(found), .. } if found == pid), "{refused:?}");
        assert!(refused.to_string().contains(&format!("the server with process id {pid}")), "{refused}");
        drop(first);
        DirLock::acquire(dir.path()).unwrap();
    }

    #[test]
    fn a_process_id_that_is_not_written_yet_is_not_made_up() {
        let dir = tempfile::tempdir().unwrap();
        let first = DirLock::acquire(dir.path()).unwrap();
        std::fs::write(dir.path().join(LOCK_FILE), "").unwrap();
        let refused = DirLock::acquire(dir.path()).unwrap_err();
        assert!(refused.to_string().contains("by another server"), "{refused}");
        drop(first);
    }
}
