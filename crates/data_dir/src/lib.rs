//! The data directory: database, the operator's token, and the addresses of a running server. One server at a time uses it (`lock`),
//! and no other user of the machine can read it (`privacy`).

//!
//! Start with [`DataDir::open`]. Locks of single files ([`FileLock`]) serve databases that lie elsewhere too.

mod lock;
mod privacy;

pub use lock::{FileLock, FileLockError, LockError};
pub use privacy::{PrivacyError, create_privately, make_private};

use lock::DirLock;
use privacy::PRIVATE_FILE;
use serde::{Deserialize, Serialize};
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
/// Written and removed again, to see whether that can be done.
const PROBE_FILE: &str = "probe";
/// More than a file system stores inside its inode.
const PROBE_BYTES: usize = 16 * 1024;
/// Prefixes of the server's own files.
const FILES: [&str; 5] = [DATABASE_FILE, RUN_FILE, TOKEN_FILE, "tuning.toml", lock::LOCK_FILE];
/// Names of the server's own directories.
const DIRECTORIES: [&str; 6] = ["captures", "crashes", "recordings", "regions", "symbols", "terrain"];

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

/// The directory of a data directory for grounds on their way between server and operator.
#[must_use]
pub fn terrain_path(data: &Path) -> PathBuf {
    data.join("terrain")
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
        if tightened {
            tracing::warn!(path = %path.display(), "the data directory was open to other users; it is closed now");
        }
        Ok(Self { path: path.into(), _lock: lock })
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
