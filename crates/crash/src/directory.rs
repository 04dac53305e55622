//! `DATA/crashes`: one dump per crash, with its summary, trace and costs beside it.
//!
//! | file | content |
//! |---|---|
//! | `<utc>-<pid>.dmp` | minidump of a crash that ended the process: a signal, or a panic that is not caught |
//! | `<utc>-<pid>-panic.dmp` | minidump of a panic that the process survived |
//! | the same with `.txt` | output of `throng crash show` |
//! | the same with `.perfetto-trace` | the flight recorder's last seconds, if it ran |
//! | the same with `.json` | costs of those seconds by world and thread |
//!
//! Fatal crashes and survived panics have a quota each, so that a world which panics all day does not evict the dump that
//! explains the server's end. Eviction over the quota: the oldest crashes of the same cause, with all their files.

use jiff::Timestamp;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

const PRIVATE_DIR: u32 = 0o700;
/// Dumps contain stacks and the environment.
const PRIVATE_FILE: u32 = 0o600;
/// Extensions of the flight recorder's trace and of its costs.
pub(crate) const TRACE: &str = "perfetto-trace";
pub(crate) const COSTS: &str = "json";
/// Extensions of a crash's files. The dump is removed last: the others are only found through it.
const EXTENSIONS: [&str; 4] = [TRACE, COSTS, "txt", "dmp"];
/// Distinct names for crashes of one process within one second. A further crash replaces the first.
const SAME_NAME_MAX: u32 = 100;

/// Severity of a crash, each with a quota of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashCause {
    /// The process ended: a signal, or a panic that is not caught.
    Fatal,
    /// A panic that the process survived.
    Panic,
}

/// Limits of one cause.
#[derive(Clone, Copy, Debug)]
pub struct Quota {
    /// Maximum number of dumps.
    pub dumps: usize,
    /// Maximum bytes of all files together.
    pub bytes: u64,
}

/// A crash on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpEntry {
    /// File name without extension; names sort by time.
    pub stem: String,
    /// Path of the dump.
    pub dump: PathBuf,
    /// Severity, from the file name.
    pub cause: CrashCause,
    /// Bytes of all its files together.
    pub bytes: u64,
}

/// A file of the directory cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// The operating system refused an operation.
    #[error("cannot {step} {path}")]
    Io {
        /// Operation, as a verb.
        step: &'static str,
        /// File or directory.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The dump alone exceeds the quota.
    #[error("a dump of {bytes} bytes exceeds the quota of crash dumps")]
    TooLarge {
        /// The dump's size.
        bytes: u64,
    },
}

/// The directory of crashes.
#[derive(Clone, Debug)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// The directory below a data directory. It need not exist.
    #[must_use]
    pub fn of(data: &Path) -> Self {
        Self { path: data.join("crashes") }
    }

    /// Path of the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All crashes, the oldest first.
    ///
    /// # Errors
    /// When the directory exists but cannot be read.
    pub fn list(&self) -> Result<Vec<DumpEntry>, DirectoryError> {
        let failed = |source| DirectoryError::Io { step: "read", path: self.path.clone(), source };
        let files = match fs::read_dir(&self.path) {
            Ok(files) => files,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut sizes: Vec<(String, String, u64)> = Vec::new();
        for file in files {
            let file = file.map_err(failed)?;
            let name = file.file_name();
            let Some((stem, extension)) = name.to_str().and_then(|name| name.split_once('.')) else {
                continue;
            };
            // The file was removed since the directory was read.
            let Ok(metadata) = file.metadata() else { continue };
            sizes.push((stem.to_owned(), extension.to_owned(), metadata.len()));
        }
        let mut entries: Vec<DumpEntry> = sizes
            .iter()
            .filter(|(stem, extension, _)| extension == "dmp" && !stem.is_empty())
            .map(|(stem, _, _)| DumpEntry {
                stem: stem.clone(),
                dump: self.path.join(format!("{stem}.dmp")),
                cause: if stem.contains("-panic") { CrashCause::Panic } else { CrashCause::Fatal },
                bytes: sizes.iter().filter(|(other, ..)| other == stem).map(|(.., bytes)| bytes).sum(),
            })
            .collect();
        entries.sort_by(|a, b| a.stem.cmp(&b.stem));
        Ok(entries)
    }

    /// Saves a dump atomically after evicting older ones of the same cause, and returns its path.
    ///
    /// # Errors
    /// When the disk is full or read-only, or the dump alone is larger than the quota.
    pub fn save(
        &self,
        cause: CrashCause,
        quota: Quota,
        unix_s: i64,
        pid: u32,
        dump: &[u8],
    ) -> Result<PathBuf, DirectoryError> {
        let bytes = dump.len() as u64;
        if bytes > quota.bytes {
            return Err(DirectoryError::TooLarge { bytes });
        }
        self.create()?;
        self.make_room(self.list_of(cause)?, quota, bytes);
        let part = self.path.join(format!(".{pid}.part"));
        let path = self.free_name(cause, unix_s, pid);
        let write = || {
            create_file(&part)?.write_all(dump)?;
            fs::rename(&part, &path)
        };
        write().map_err(|source| {
            // An incomplete file would occupy the space that is missing.
            let _ = fs::remove_file(&part);
            DirectoryError::Io { step: "write", path: path.clone(), source }
        })?;
        Ok(path)
    }

    /// Creates the directory if it does not exist.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn create(&self) -> Result<(), DirectoryError> {
        DirBuilder::new()
            .recursive(true)
            .mode(PRIVATE_DIR)
            .create(&self.path)
            .map_err(|source| DirectoryError::Io { step: "create", path: self.path.clone(), source })
    }

    /// Enforces the quota again after files were written beside `dump`. The newest crash of the cause keeps its dump; when
    /// it exceeds the quota alone, its trace is removed.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn enforce_quota(&self, cause: CrashCause, quota: Quota, dump: &Path) -> Result<(), DirectoryError> {
        if !dump.exists() {
            // Evicted meanwhile: files without their dump would never be found.
            EXTENSIONS.iter().for_each(|extension| remove(&dump.with_extension(extension)));
            return Ok(());
        }
        let mut older = self.list_of(cause)?;
        let Some(newest) = older.pop() else { return Ok(()) };
        self.make_room(older, quota, newest.bytes);
        if newest.bytes > quota.bytes {
            tracing::warn!(
                dump = newest.stem,
                bytes = newest.bytes,
                "trace removed: it exceeds the quota of crash dumps"
            );
            remove(&newest.dump.with_extension(TRACE));
        }
        Ok(())
    }

    /// The crashes of one cause, the oldest first.
    fn list_of(&self, cause: CrashCause) -> Result<Vec<DumpEntry>, DirectoryError> {
        let mut entries = self.list()?;
        entries.retain(|entry| entry.cause == cause);
        Ok(entries)
    }

    /// Evicts the oldest entries until one more dump of `bytes` fits the quota.
    fn make_room(&self, oldest_first: Vec<DumpEntry>, quota: Quota, bytes: u64) {
        let mut sum: u64 = oldest_first.iter().map(|entry| entry.bytes).sum();
        let mut n = oldest_first.len();
        for entry in oldest_first {
            if n < quota.dumps && sum + bytes <= quota.bytes {
                break;
            }
            EXTENSIONS.iter().for_each(|extension| remove(&entry.dump.with_extension(extension)));
            n -= 1;
            sum -= entry.bytes;
        }
    }

    fn free_name(&self, cause: CrashCause, unix_s: i64, pid: u32) -> PathBuf {
        let at = Timestamp::from_second(unix_s).unwrap_or(Timestamp::UNIX_EPOCH);
        let suffix = if cause == CrashCause::Panic { "-panic" } else { "" };
        let stem = format!("{}-{pid}{suffix}", at.strftime("%Y%m%dT%H%M%SZ"));
        let first = self.path.join(format!("{stem}.dmp"));
        let rest = (2..SAME_NAME_MAX).map(|n| self.path.join(format!("{stem}-{n}.dmp")));
        std::iter::once(first.clone()).chain(rest).find(|path| !path.exists()).unwrap_or(first)
    }
}

/// Creates or truncates a file with mode 0600.
pub(crate) fn create_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(PRIVATE_FILE).open(path)
}

fn remove(path: &Path) {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(path = %path.display(), %error, "cannot remove an old crash");
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUOTA: Quota = Quota { dumps: 3, bytes: 1_000 };

    fn stems(directory: &Directory) -> Vec<String> {
        directory.list().unwrap().into_iter().map(|entry| entry.stem).collect()
    }

    #[test]
    fn names_hold_time_process_and_cause() {
        let data = tempfile::tempdir().unwrap();
        let directory = Directory::of(data.path());
        directory.save(CrashCause::Fatal, QUOTA, 1_000_000_000, 42, b"dump").unwrap();
        directory.save(CrashCause::Panic, QUOTA, 1_000_000_000, 42, b"dump").unwrap();
        directory.save(CrashCause::Panic, QUOTA, 1_000_000_000, 42, b"dump").unwrap();
        assert_eq!(
            stems(&directory),
            ["20010909T014640Z-42", "20010909T014640Z-42-panic", "20010909T014640Z-42-panic-2"]
        );
    }

    #[test]
    fn the_oldest_of_its_cause_goes_with_all_its_files() {
        let data = tempfile::tempdir().unwrap();
        let directory = Directory::of(data.path());
        directory.save(CrashCause::Fatal, QUOTA, 0, 1, b"dump").unwrap();
        for s in 0..5 {
            let path = directory.save(CrashCause::Panic, QUOTA, s, 7, b"dump").unwrap();
            fs::write(path.with_extension("txt"), "summary").unwrap();
        }
        let left = stems(&directory);
        assert_eq!(left.len(), 4, "{left:?}");
        assert!(
            left.contains(&"19700101T000000Z-1".to_owned()),
            "the signal's is as old, but of another kind"
        );
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1 + 3 * 2);
    }

    #[test]
    fn bytes_count_with_everything_beside_the_dump() {
        let data = tempfile::tempdir().unwrap();
        let directory = Directory::of(data.path());
        let path = directory.save(CrashCause::Fatal, QUOTA, 0, 1, b"dump").unwrap();
        fs::write(path.with_extension("perfetto-trace"), [0; 900]).unwrap();
        assert_eq!(directory.list().unwrap()[0].bytes, 904);
        directory.save(CrashCause::Fatal, QUOTA, 1, 1, &[0; 200]).unwrap();
        assert_eq!(stems(&directory), ["19700101T000001Z-1"]);
        let refused = directory.save(CrashCause::Fatal, QUOTA, 2, 1, &[0; 1_001]);
        assert!(matches!(refused, Err(DirectoryError::TooLarge { bytes: 1_001 })));
        assert_eq!(stems(&directory).len(), 1, "and nothing was removed for it");
    }

    #[test]
    fn files_beside_a_dump_evict_older_dumps() {
        let data = tempfile::tempdir().unwrap();
        let directory = Directory::of(data.path());
        for s in 0..3 {
            let path = directory.save(CrashCause::Fatal, QUOTA, s, 1, &[0; 100]).unwrap();
            fs::write(path.with_extension("perfetto-trace"), [0; 300]).unwrap();
            directory.enforce_quota(CrashCause::Fatal, QUOTA, &path).unwrap();
        }
        assert_eq!(stems(&directory), ["19700101T000001Z-1", "19700101T000002Z-1"]);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 4);
    }

    #[test]
    fn a_trace_that_is_too_large_goes_and_its_dump_stays() {
        let data = tempfile::tempdir().unwrap();
        let directory = Directory::of(data.path());
        let path = directory.save(CrashCause::Fatal, QUOTA, 0, 1, b"dump").unwrap();
        fs::write(path.with_extension("perfetto-trace"), [0; 1_000]).unwrap();
        directory.enforce_quota(CrashCause::Fatal, QUOTA, &path).unwrap();
        assert_eq!(directory.list().unwrap()[0].bytes, 4);
    }

    #[test]
    fn files_beside_an_evicted_dump_are_removed_with_it() {
        let data = tempfile::tempdir().unwrap();
        let directory = Directory::of(data.path());
        let path = directory.save(CrashCause::Fatal, QUOTA, 0, 1, b"dump").unwrap();
        fs::remove_file(&path).unwrap();
        for extension in ["txt", "json", "perfetto-trace"] {
            fs::write(path.with_extension(extension), "late").unwrap();
        }
        directory.enforce_quota(CrashCause::Fatal, QUOTA, &path).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_failed_write_is_an_error_and_leaves_no_file() {
        let data = tempfile::tempdir().unwrap();
        // A file has the directory's name.
        fs::write(data.path().join("crashes"), "").unwrap();
        let directory = Directory::of(data.path());
        let error = directory.save(CrashCause::Fatal, QUOTA, 0, 1, b"dump").unwrap_err();
        assert!(error.to_string().contains("crashes"), "{error}");
        assert_eq!(fs::read_dir(data.path()).unwrap().count(), 1);
    }
}
