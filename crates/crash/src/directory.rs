//! `DATA/crashes`: one dump per crash, with its summary and the flight recorder's memory beside it.
//!
//! | file | what it is |
//! |---|---|
//! | `<utc>-<pid>.dmp` | minidump of a signal |
//! | `<utc>-<pid>-panic.dmp` | minidump of a panic |
//! | the same with `.txt` | what `throng crash show` says of it |
//! | the same with `.perfetto-trace` | the flight recorder's last seconds, when it ran |
//!
//! Signals and panics have a quota each, so that a world which panics all day evicts no segmentation fault. When a quota
//! would be exceeded the oldest crashes of the kind go, with all their files.

use jiff::Timestamp;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

const PRIVATE_DIR: u32 = 0o700;
/// Dumps hold stacks and the environment.
pub(crate) const PRIVATE_FILE: u32 = 0o600;
/// Crashes of one process in one second that get names of their own.
const SAME_NAME_MAX: u32 = 100;

/// What a dump was written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A signal, which ended the process.
    Signal,
    /// A panic, which may not have.
    Panic,
}

/// What may be kept of each cause.
#[derive(Clone, Copy, Debug)]
pub struct Quota {
    /// Dumps at most.
    pub dumps: usize,
    /// Bytes of all their files at most.
    pub bytes: u64,
}

/// A crash on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Name without extension; in order of time.
    pub stem: String,
    /// Its dump.
    pub dump: PathBuf,
    /// Why.
    pub cause: Cause,
    /// Of all its files.
    pub bytes: u64,
}

/// A file of the directory cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// The system refused.
    #[error("cannot {step} {path}")]
    Io {
        /// What was tried.
        step: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Not even an empty directory would have room.
    #[error("a dump of {bytes} bytes is larger than all dumps may be")]
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
    /// That of a data directory. It need not exist.
    #[must_use]
    pub fn of(data: &Path) -> Self {
        Self { path: data.join("crashes") }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All crashes, the oldest first.
    ///
    /// # Errors
    /// When the directory is there but cannot be read.
    pub fn list(&self) -> Result<Vec<Entry>, DirectoryError> {
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
            // A file that vanishes meanwhile was pruned.
            let Ok(metadata) = file.metadata() else { continue };
            sizes.push((stem.to_owned(), extension.to_owned(), metadata.len()));
        }
        let mut entries: Vec<Entry> = sizes
            .iter()
            .filter(|(stem, extension, _)| extension == "dmp" && !stem.is_empty())
            .map(|(stem, _, _)| Entry {
                stem: stem.clone(),
                dump: self.path.join(format!("{stem}.dmp")),
                cause: if stem.contains("-panic") { Cause::Panic } else { Cause::Signal },
                bytes: sizes.iter().filter(|(other, ..)| other == stem).map(|(.., bytes)| bytes).sum(),
            })
            .collect();
        entries.sort_by(|a, b| a.stem.cmp(&b.stem));
        Ok(entries)
    }

    /// Keeps a dump within its quota, whole or not at all, and returns its path.
    ///
    /// # Errors
    /// When the disk is full or read-only, or the dump alone is larger than the quota.
    pub fn save(
        &self,
        cause: Cause,
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
        self.make_room(cause, quota, bytes)?;
        let part = self.path.join(format!(".{pid}.part"));
        let path = self.free_name(cause, unix_s, pid);
        let write = || {
            let mut file =
                OpenOptions::new().write(true).create(true).truncate(true).mode(PRIVATE_FILE).open(&part)?;
            file.write_all(dump)?;
            fs::rename(&part, &path)
        };
        write().map_err(|source| {
            // A part would use up the very space that is missing.
            let _ = fs::remove_file(&part);
            DirectoryError::Io { step: "write", path: path.clone(), source }
        })?;
        Ok(path)
    }

    /// Makes the directory, if it is missing.
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

    fn make_room(&self, cause: Cause, quota: Quota, bytes: u64) -> Result<(), DirectoryError> {
        let mut kept = self.list()?;
        kept.retain(|entry| entry.cause == cause);
        let mut sum: u64 = kept.iter().map(|entry| entry.bytes).sum();
        let mut n = kept.len();
        for entry in kept {
            if n < quota.dumps && sum + bytes <= quota.bytes {
                break;
            }
            self.remove(&entry);
            n -= 1;
            sum -= entry.bytes;
        }
        Ok(())
    }

    fn remove(&self, entry: &Entry) {
        for extension in ["perfetto-trace", "txt", "dmp"] {
            let path = self.path.join(format!("{}.{extension}", entry.stem));
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::warn!(path = %path.display(), %error, "cannot remove an old crash");
                }
                _ => {}
            }
        }
    }

    fn free_name(&self, cause: Cause, unix_s: i64, pid: u32) -> PathBuf {
        let at = Timestamp::from_second(unix_s).unwrap_or(Timestamp::UNIX_EPOCH);
        let suffix = if cause == Cause::Panic { "-panic" } else { "" };
        let stem = format!("{}-{pid}{suffix}", at.strftime("%Y%m%dT%H%M%SZ"));
        let first = self.path.join(format!("{stem}.dmp"));
        let rest = (2..SAME_NAME_MAX).map(|n| self.path.join(format!("{stem}-{n}.dmp")));
        std::iter::once(first.clone()).chain(rest).find(|path| !path.exists()).unwrap_or(first)
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
    fn names_tell_time_process_and_cause() {
        let data = tempfile::tempdir().unwrap();
        let directory = Directory::of(data.path());
        directory.save(Cause::Signal, QUOTA, 1_000_000_000, 42, b"dump").unwrap();
        directory.save(Cause::Panic, QUOTA, 1_000_000_000, 42, b"dump").unwrap();
        directory.save(Cause::Panic, QUOTA, 1_000_000_000, 42, b"dump").unwrap();
        assert_eq!(
            stems(&directory),
            ["20010909T014640Z-42", "20010909T014640Z-42-panic", "20010909T014640Z-42-panic-2"]
        );
    }

    #[test]
    fn the_oldest_of_its_cause_goes_with_all_its_files() {
        let data = tempfile::tempdir().unwrap();
        let directory = Directory::of(data.path());
        directory.save(Cause::Signal, QUOTA, 0, 1, b"dump").unwrap();
        for s in 0..5 {
            let path = directory.save(Cause::Panic, QUOTA, s, 7, b"dump").unwrap();
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
        let path = directory.save(Cause::Signal, QUOTA, 0, 1, b"dump").unwrap();
        fs::write(path.with_extension("perfetto-trace"), [0; 900]).unwrap();
        assert_eq!(directory.list().unwrap()[0].bytes, 904);
        directory.save(Cause::Signal, QUOTA, 1, 1, &[0; 200]).unwrap();
        assert_eq!(stems(&directory), ["19700101T000001Z-1"]);
        let refused = directory.save(Cause::Signal, QUOTA, 2, 1, &[0; 1_001]);
        assert!(matches!(refused, Err(DirectoryError::TooLarge { bytes: 1_001 })));
        assert_eq!(stems(&directory).len(), 1, "and nothing was removed for it");
    }

    #[test]
    fn what_cannot_be_written_is_an_error_and_leaves_nothing() {
        let data = tempfile::tempdir().unwrap();
        // Where the directory should be is a file.
        fs::write(data.path().join("crashes"), "").unwrap();
        let directory = Directory::of(data.path());
        let error = directory.save(Cause::Signal, QUOTA, 0, 1, b"dump").unwrap_err();
        assert!(error.to_string().contains("crashes"), "{error}");
        assert_eq!(fs::read_dir(data.path()).unwrap().count(), 1);
    }
}
