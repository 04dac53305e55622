//! The data directory: database, the operator's token, and the addresses of a running server. One server at a time uses it (`lock`),
//! and no other user of the machine can read it (`privacy`).

//!
//! Start with [`DataDir::open`]. Locks of single files ([`FileLock`]) serve databases that lie elsewhere too.

mod lock;
mod path_below;
mod privacy;

pub use lock::{FileLock, FileLockError, LockError};
pub use path_below::path_below;
pub use privacy::{PrivacyError, create_privately, make_private};

use lock::DirLock;
use privacy::PRIVATE_FILE;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Bytes of the operator's token, before they are written as hexadecimal digits.
const TOKEN_BYTES: usize = 32;

/// `DATA/run.json`: the addresses of a running server. It exists while the server runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFile {
    /// Process id.
    pub pid: u32,
    /// HTTP address.
    pub http: SocketAddr,
    /// The pool of UDP ports.
    pub udp: Vec<SocketAddrV4>,
    /// Operator's address.
    pub admin: SocketAddr,
    /// Login URI on this machine.
    pub login_uri: String,
    /// The page, from this machine.
    pub page: String,
}

impl RunFile {
    /// Run file of this process.
    #[must_use]
    pub fn new(http: SocketAddr, udp: &[SocketAddrV4], admin: SocketAddr) -> Self {
        let host = if http.ip().is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { http.ip() };
        let uri = format!("http://{}/", SocketAddr::new(host, http.port()));
        Self { pid: std::process::id(), http, udp: udp.to_vec(), admin, login_uri: uri.clone(), page: uri }
    }

    /// Reads that of the server which runs on this directory.
    ///
    /// # Errors
    /// When there is none, or it is not ours.
    pub fn read(data: &Path) -> io::Result<Self> {
        let text = fs::read_to_string(data.join(RUN_FILE))?;
        serde_json::from_str(&text).map_err(io::Error::other)
    }
}

const DATABASE_FILE: &str = "throng.sqlite";
const RUN_FILE: &str = "run.json";
const TOKEN_FILE: &str = "admin.token";
const HISTORY_FILE: &str = "console.history";
/// Written and removed again, to see whether that can be done.
const PROBE_FILE: &str = "probe";
/// More than a file system stores inside its inode.
const PROBE_BYTES: usize = 16 * 1024;
/// Prefixes of the server's own files.
const FILES: [&str; 7] =
    [DATABASE_FILE, RUN_FILE, TOKEN_FILE, HISTORY_FILE, "tuning.toml", lock::LOCK_FILE, RESTORE_MARK];
/// Names of the server's own directories.
const DIRECTORIES: [&str; 7] =
    ["archives", "captures", "crashes", "recordings", "regions", "symbols", "terrain"];

/// The directory is the target of a restore that has not ended.
const RESTORE_MARK: &str = "restore.unfinished";

/// Names in a directory; none of one that is missing.
fn names_in(path: &Path) -> io::Result<Vec<OsString>> {
    match fs::read_dir(path) {
        Ok(entries) => entries.map(|entry| Ok(entry?.file_name())).collect(),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(why) => Err(why),
    }
}

/// Reads the operator's token of the server on this directory.
///
/// # Errors
/// When there is none, or it may not be read.
pub fn read_token(data: &Path) -> io::Result<String> {
    Ok(fs::read_to_string(data.join(TOKEN_FILE))?.trim().to_owned())
}

/// The recordings of a data directory.
#[must_use]
pub fn recordings_path(data: &Path) -> PathBuf {
    data.join("recordings")
}

/// Region files of a data directory, on their way out or in.
#[must_use]
pub fn regions_path(data: &Path) -> PathBuf {
    data.join("regions")
}

/// Archives of a data directory, on their way out or in.
#[must_use]
pub fn archives_path(data: &Path) -> PathBuf {
    data.join("archives")
}

/// The directory of a data directory for grounds on their way between server and operator.
#[must_use]
pub fn terrain_path(data: &Path) -> PathBuf {
    data.join("terrain")
}

/// The lines that were typed at the console of a data directory.
#[must_use]
pub fn console_history_path(data: &Path) -> PathBuf {
    data.join(HISTORY_FILE)
}

/// The captures of a data directory.
#[must_use]
pub fn captures_path(data: &Path) -> PathBuf {
    data.join("captures")
}

/// Reasons for which a data directory, or a file in it, cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// Another server runs on it.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// It cannot be closed to other users.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    /// A file in it.
    #[error("cannot {step} {path}")]
    File {
        /// Failed step.
        step: &'static str,
        /// The path.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// It is to be the target of a restore, and has something in it.
    #[error("{} is not empty; name another directory, or one that does not exist", .0.display())]
    NotEmpty(PathBuf),
    /// A restore into it has begun and did not end.
    #[error("a restore into {} has not ended: repeat the `throng restore` that began it", .0.display())]
    HalfRestored(PathBuf),
    /// No random numbers for the operator's token.
    #[error("the system gives no random numbers")]
    Random(#[source] getrandom::Error),
}

/// The data directory of this server, locked until this is dropped.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    _lock: DirLock,
}

impl DataDir {
    /// Takes the directory for this server: creates it when it is missing, closes it to other users and locks it.
    ///
    /// # Errors
    /// When another server runs on it, or it is not fit for a data directory.
    pub fn open(path: &Path) -> Result<Self, DataDirError> {
        let tightened = make_private(path)?;
        let lock = DirLock::acquire(path)?;
        if path.join(RESTORE_MARK).exists() {
            return Err(DataDirError::HalfRestored(path.into()));
        }
        if tightened {
            tracing::warn!(path = %path.display(), "the data directory was open to other users; it is closed now");
        }
        Ok(Self { path: path.into(), _lock: lock })
    }

    /// Takes a directory for a restore: one that is missing or empty, or that an interrupted restore has left, which is emptied. Until
    /// [`end_restore`](Self::end_restore) no server starts on it.
    ///
    /// # Errors
    /// When another server runs on it, or something is in it.
    pub fn begin_restore(path: &Path) -> Result<Self, DataDirError> {
        let failed = |step| move |source| DataDirError::File { step, path: path.into(), source };
        let is_own = |name: &OsString| *name == *lock::LOCK_FILE || *name == *RESTORE_MARK;
        let names = names_in(path).map_err(failed("read"))?;
        // A directory of other things is not even closed to other users.
        if !names.is_empty() && !names.iter().any(|name| *name == *lock::LOCK_FILE) {
            return Err(DataDirError::NotEmpty(path.into()));
        }
        make_private(path)?;
        let lock = DirLock::acquire(path)?;
        let names = names_in(path).map_err(failed("read"))?;
        let is_begun = names.iter().any(|name| *name == *RESTORE_MARK);
        for name in names.iter().filter(|name| !is_own(name)) {
            if !is_begun {
                return Err(DataDirError::NotEmpty(path.into()));
            }
            let found = path.join(name);
            let removed = match found.is_dir() && !found.is_symlink() {
                true => fs::remove_dir_all(&found),
                false => fs::remove_file(&found),
            };
            removed.map_err(failed("empty"))?;
        }
        let data = Self { path: path.into(), _lock: lock };
        data.replace(RESTORE_MARK, "A restore into this directory has not ended.")?;
        let sync = |path: &Path| fs::File::open(path)?.sync_all();
        sync(&path.join(RESTORE_MARK)).and_then(|()| sync(path)).map_err(failed("write"))?;
        Ok(data)
    }

    /// The restore has ended: servers may start.
    ///
    /// # Errors
    /// When the mark cannot be removed.
    pub fn end_restore(&self) -> Result<(), DataDirError> {
        let path = self.path.join(RESTORE_MARK);
        let removed = fs::remove_file(&path).and_then(|()| fs::File::open(&self.path)?.sync_all());
        removed.map_err(|source| DataDirError::File { step: "remove", path, source })
    }

    /// The operator's token; made at the first start and kept.
    ///
    /// # Errors
    /// When it cannot be read or written, or there are no random numbers.
    pub fn admin_token(&self) -> Result<String, DataDirError> {
        let path = self.path.join(TOKEN_FILE);
        match read_token(&self.path) {
            Ok(token) if token.len() == 2 * TOKEN_BYTES => return Ok(token),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(DataDirError::File { step: "read", path, source }),
        }
        let mut bytes = [0; TOKEN_BYTES];
        getrandom::fill(&mut bytes).map_err(DataDirError::Random)?;
        let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        self.replace(TOKEN_FILE, &token)?;
        Ok(token)
    }

    /// Publishes this server's addresses to other processes.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_run_file(&self, run_file: &RunFile) -> Result<(), DataDirError> {
        let text = serde_json::to_string_pretty(run_file).expect("addresses become JSON");
        self.replace(RUN_FILE, &text)
    }

    /// The server is about to end.
    pub fn remove_run_file(&self) {
        let path = self.path.join(RUN_FILE);
        if let Err(error) = fs::remove_file(&path) {
            tracing::warn!(path = %path.display(), %error, "cannot remove");
        }
    }

    /// Tries whether the disk takes a file and keeps it.
    ///
    /// # Errors
    /// The system's error.
    pub fn probe(&self) -> io::Result<()> {
        let path = self.path.join(PROBE_FILE);
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(PRIVATE_FILE).open(&path)?;
        file.write_all(&[b'.'; PROBE_BYTES])?;
        file.sync_all()?;
        fs::remove_file(&path)
    }

    /// Directory of captures.
    #[must_use]
    pub fn captures(&self) -> PathBuf {
        captures_path(&self.path)
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Directory of recordings.
    #[must_use]
    pub fn recordings(&self) -> PathBuf {
        recordings_path(&self.path)
    }

    /// Directory of region files.
    #[must_use]
    pub fn regions(&self) -> PathBuf {
        regions_path(&self.path)
    }

    /// Directory of archives on their way between server and operator.
    #[must_use]
    pub fn archives(&self) -> PathBuf {
        archives_path(&self.path)
    }

    /// Directory of grounds on their way between server and operator.
    #[must_use]
    pub fn terrain(&self) -> PathBuf {
        terrain_path(&self.path)
    }

    /// Reads a small file.
    ///
    /// # Errors
    /// The system's error.
    pub fn read(&self, name: &str) -> io::Result<String> {
        fs::read_to_string(self.path.join(name))
    }

    /// Writes a whole file or nothing: a concurrent reader never reads a half.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn replace(&self, name: &str, text: &str) -> Result<(), DataDirError> {
        let path = self.path.join(name);
        let new = self.path.join(format!("{name}.new"));
        let write = || {
            let mut file =
                OpenOptions::new().write(true).create(true).truncate(true).mode(PRIVATE_FILE).open(&new)?;
            file.write_all(text.as_bytes())?;
            file.write_all(b"\n")?;
            fs::rename(&new, &path)
        };
        write().map_err(|source| DataDirError::File { step: "write", path: path.clone(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restore_begins_in_an_empty_directory_and_keeps_servers_out_until_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        let restore = DataDir::begin_restore(&path).unwrap();
        assert!(matches!(DataDir::begin_restore(&path), Err(DataDirError::Lock(_))), "one at a time");
        fs::create_dir(path.join("assets")).unwrap();
        fs::write(path.join("assets/half"), b"half").unwrap();
        drop(restore);
        let refused = DataDir::open(&path).unwrap_err();
        assert!(matches!(refused, DataDirError::HalfRestored(_)), "{refused}");
        let again = DataDir::begin_restore(&path).unwrap();
        assert!(!path.join("assets").exists(), "an interrupted restore begins anew");
        fs::write(path.join(DATABASE_FILE), b"whole").unwrap();
        again.end_restore().unwrap();
        drop(again);
        drop(DataDir::open(&path).unwrap());
        assert!(matches!(DataDir::begin_restore(&path), Err(DataDirError::NotEmpty(_))));
        assert_eq!(fs::read(path.join(DATABASE_FILE)).unwrap(), b"whole");
    }

    #[test]
    fn a_restore_leaves_a_directory_with_other_things_and_one_in_use_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("letter.txt"), b"Dear Ada").unwrap();
        assert!(matches!(DataDir::begin_restore(folder.path()), Err(DataDirError::NotEmpty(_))));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let used = tempfile::tempdir().unwrap();
        let server = DataDir::open(used.path()).unwrap();
        assert!(matches!(DataDir::begin_restore(used.path()), Err(DataDirError::Lock(_))));
        drop(server);
        drop(DataDir::begin_restore(used.path()).unwrap());
    }
}
