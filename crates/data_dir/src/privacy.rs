//! Privacy of a data directory: it holds password hashes, tokens and chat, and is its owner's alone.
//!
//! A directory that is open to other users is tightened, unless it contains other directories than a server's or is writable by all
//! users; then it is refused: `--data /srv` or `--data /tmp`, given by mistake to a server that runs as root, must not close them to
//! the machine.

use super::lock::LOCK_FILE;
use super::{DATABASE_FILE, DIRECTORIES, FILES, TOKEN_FILE};
use rustix::fs::Mode;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Modes of files and directories for the owner alone.
pub(super) const PRIVATE_DIR: u32 = 0o700;
pub(super) const PRIVATE_FILE: u32 = 0o600;
/// Permission bits of the group and of other users.
const OTHERS: u32 = 0o077;
const STICKY: u32 = 0o1000;
/// Directories in directories that are tightened, at most.
const DEPTH_MAX: u32 = 3;

/// Reasons for which a directory is refused as a data directory.
#[derive(Debug, thiserror::Error)]
pub enum PrivacyError {
    /// Its permissions, or those of something in it.
    #[error("cannot {step} {path}")]
    Io {
        /// Failed step.
        step: &'static str,
        /// The path.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// Other users can read it, and it does not seem to be meant for a server's data.
    #[error(
        "{path} is open to other users (mode {mode:04o}) and holds other things than data; name another directory, or close it with `chmod 700`"
    )]
    Open {
        /// Its path.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
}

/// Makes everything that this process creates from now on private to its owner.
pub fn create_privately() {
    rustix::process::umask(Mode::from_raw_mode(OTHERS));
}

/// Creates the data directory when it is missing, and closes it and its files to other users. True when anything was open.
///
/// # Errors
/// When it cannot be created or closed, or holds other things than data.
pub fn make_private(dir: &Path) -> Result<bool, PrivacyError> {
    let failed = |step| move |source| PrivacyError::Io { step, path: dir.to_owned(), source };
    DirBuilder::new().recursive(true).mode(PRIVATE_DIR).create(dir).map_err(failed("create"))?;
    let mode = fs::metadata(dir).map_err(failed("read"))?.permissions().mode() & 0o7777;
    let is_open = mode & OTHERS != 0;
    if is_open {
        let is_known = [DATABASE_FILE, TOKEN_FILE, LOCK_FILE].iter().any(|name| dir.join(name).exists());
        if mode & STICKY != 0 || !is_known && has_foreign_directories(dir).map_err(failed("read"))? {
            return Err(PrivacyError::Open { path: dir.into(), mode });
        }
        fs::set_permissions(dir, Permissions::from_mode(PRIVATE_DIR)).map_err(failed("close"))?;
    }
    let mut tightened = is_open;
    for entry in fs::read_dir(dir).map_err(failed("read"))? {
        let entry = entry.map_err(failed("read"))?;
        let name = entry.file_name();
        let is_data = name.to_str().is_some_and(|name| {
            FILES.iter().any(|known| name.starts_with(known)) || DIRECTORIES.contains(&name)
        });
        if is_data {
            tightened |= tighten(&entry.path(), DEPTH_MAX).map_err(|(path, source)| PrivacyError::Io {
                step: "close",
                path,
                source,
            })?;
        }
    }
    Ok(tightened)
}

/// True if a directory that no server makes lies in `dir`: closing `dir` would take that away from other users.
fn has_foreign_directories(dir: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let is_own = entry.file_name().to_str().is_some_and(|name| DIRECTORIES.contains(&name));
        if entry.file_type()?.is_dir() && !is_own {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Closes a file, or a directory with its contents. Files that vanish meanwhile (the database's side files) are no error; links are
/// left alone.
fn tighten(path: &Path, depth: u32) -> Result<bool, (PathBuf, io::Error)> {
    let gone_or = |path: &Path, error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Ok(false),
        _ => Err((path.to_owned(), error)),
    };
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) => return gone_or(path, error),
    };
    let private = match metadata.file_type() {
        kind if kind.is_file() => PRIVATE_FILE,
        kind if kind.is_dir() => PRIVATE_DIR,
        _ => return Ok(false),
    };
    let mut tightened = metadata.permissions().mode() & OTHERS != 0;
    // An executable among the symbols stays one.
    let mode = private | metadata.permissions().mode() & 0o700;
    if tightened && let Err(error) = fs::set_permissions(path, Permissions::from_mode(mode)) {
        return gone_or(path, error);
    }
    if metadata.is_dir() && depth > 0 {
        let entries = fs::read_dir(path).map_err(|error| (path.to_owned(), error))?;
        for entry in entries.flatten() {
            tightened |= tighten(&entry.path(), depth - 1)?;
        }
    }
    Ok(tightened)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn a_data_directory_that_others_could_read_is_closed_with_its_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir(path("captures")).unwrap();
        for name in
            ["throng.sqlite", "throng.sqlite-wal", "tuning.toml", "captures/one.capture", "throng.toml"]
        {
            fs::write(path(name), "").unwrap();
            chmod(&path(name), 0o644);
        }
        chmod(&path("captures"), 0o755);
        chmod(dir.path(), 0o755);
        assert!(make_private(dir.path()).unwrap());
        assert_eq!((mode(dir.path()), mode(&path("captures"))), (0o700, 0o700));
        for name in ["throng.sqlite", "throng.sqlite-wal", "tuning.toml", "captures/one.capture"] {
            assert_eq!(mode(&path(name)), 0o600, "{name}");
        }
        assert_eq!(mode(&path("throng.toml")), 0o644, "not the server's file");
        assert!(!make_private(dir.path()).unwrap(), "nothing is left to close");
    }

    #[test]
    fn a_directory_of_other_things_is_refused_and_left_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("letters")).unwrap();
        chmod(dir.path(), 0o755);
        let refused = make_private(dir.path()).unwrap_err();
        assert!(refused.to_string().contains("(mode 0755)"), "{refused}");
        assert_eq!(mode(dir.path()), 0o755);
        // A directory writable by all users, even if it is empty.
        let shared = tempfile::tempdir().unwrap();
        chmod(shared.path(), 0o1777);
        assert!(matches!(make_private(shared.path()), Err(PrivacyError::Open { .. })));
        assert_eq!(mode(shared.path()), 0o1777);
    }

    #[test]
    fn links_that_lead_out_of_the_directory_are_not_followed() {
        let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let other = elsewhere.path().join("other");
        fs::write(&other, "").unwrap();
        chmod(&other, 0o644);
        std::os::unix::fs::symlink(&other, dir.path().join("run.json")).unwrap();
        make_private(dir.path()).unwrap();
        assert_eq!(mode(&other), 0o644);
    }
}
