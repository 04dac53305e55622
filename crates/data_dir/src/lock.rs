//! Locks of files, and that of a data directory: at most one server runs on it.
//!
//! The kernel holds the lock (`flock`) and releases it with the process, also after SIGKILL, so a lock is never stale. The process id in the
//! file is for the message alone. Commands on the database (`throng user`, `throng token`) need no lock: the database arbitrates between them.

use super::privacy::PRIVATE_FILE;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// The file in the data directory that is locked.
pub(super) const LOCK_FILE: &str = "lock";
/// Bytes of a holder's text that are read.
const HOLDER_BYTES_MAX: u64 = 256;

/// Reasons for which a directory cannot be locked.
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
        /// Its path.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another server".to_owned(), |pid| format!("the server with process id {pid}"))
}

/// Reasons for which a file cannot be locked.
#[derive(Debug, thiserror::Error)]
pub enum FileLockError {
    /// Another process has it.
    #[error("{path} is locked by another process")]
    Held {
        /// The file.
        path: PathBuf,
        /// Text written into it by the holder; empty while that is starting.
        holder: String,
    },
    /// The file cannot be opened, locked or written.
    #[error("cannot lock {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
}

/// A lock of a file of its own, held until this is dropped or the process ends. The file stays.
#[derive(Debug)]
pub struct FileLock {
    _file: File,
}

impl FileLock {
    /// Locks a file, which is created when it is missing, and writes `holder` into it, one line.
    ///
    /// # Errors
    /// [`FileLockError`].
    pub fn acquire(path: &Path, holder: &str) -> Result<Self, FileLockError> {
        let failed = |source| FileLockError::Io { path: path.to_owned(), source };
        // Not truncated: until the lock is taken, the text in it is another process's.
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false).mode(PRIVATE_FILE);
        let mut file = options.open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(FileLockError::Held { path: path.to_owned(), holder: read_holder(&file) });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let write_holder = |file: &mut File| {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{holder}")
        };
        write_holder(&mut file).map_err(failed)?;
        Ok(Self { _file: file })
    }
}

fn read_holder(file: &File) -> String {
    let mut text = String::new();
    // A text that cannot be read names no holder.
    let _ = file.take(HOLDER_BYTES_MAX).read_to_string(&mut text);
    text.trim().to_owned()
}

/// Held until it is dropped or the process ends.
#[derive(Debug)]
pub(super) struct DirLock {
    _lock: FileLock,
}

impl DirLock {
    /// Locks the directory for this process.
    ///
    /// # Errors
    /// When another process holds the lock, or the file cannot be opened or written.
    pub(super) fn acquire(dir: &Path) -> Result<Self, LockError> {
        let pid = std::process::id().to_string();
        match FileLock::acquire(&dir.join(LOCK_FILE), &pid) {
            Ok(lock) => Ok(Self { _lock: lock }),
            Err(FileLockError::Held { holder, .. }) => {
                Err(LockError::Held { path: dir.into(), pid: holder.parse().ok() })
            }
            Err(FileLockError::Io { path, source }) => Err(LockError::Io { path, source }),
        }
    }
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
