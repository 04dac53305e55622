//! The file of a configuration for the server that edits it: read whole, replaced whole, and only as long as it is as it was read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, fchown};
use std::path::{Path, PathBuf};

/// A file as it was read.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    /// Without symbolic links, which a replacement would replace.
    path: PathBuf,
    text: String,
}

/// Reasons for which the file is not read or replaced.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigFileError {
    /// The system's reason.
    #[error("cannot {step} {path}: {source}")]
    File {
        /// Failed step.
        step: &'static str,
        /// Its path.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A pipe, a device, or bytes that are no text.
    #[error("{0} is no file of text")]
    NoText(PathBuf),
    /// Another program has written it.
    #[error("{0} was changed by another program meanwhile")]
    Changed(PathBuf),
}

impl ConfigFile {
    /// Reads a file.
    ///
    /// # Errors
    /// [`ConfigFileError`].
    pub(crate) fn read(path: &Path) -> Result<Self, ConfigFileError> {
        let failed = |source| ConfigFileError::File { step: "read", path: path.to_owned(), source };
        let path = fs::canonicalize(path).map_err(failed)?;
        if !path.is_file() {
            return Err(ConfigFileError::NoText(path));
        }
        let bytes = fs::read(&path).map_err(failed)?;
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self { path, text }),
            Err(_) => Err(ConfigFileError::NoText(path)),
        }
    }

    /// Its text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Replaces the file by this text, which is on the disk then: wholly, or not at all. Its mode stays, and its owner as far as this process may set one.
    ///
    /// # Errors
    /// [`ConfigFileError`]; then the file is as it was, unless its folder could not be synchronised.
    pub(crate) fn replace(&self, text: &str) -> Result<(), ConfigFileError> {
        let new = self.path_of_new();
        let replaced = self.write(&new, text).and_then(|()| self.exchange(&new));
        if replaced.is_err() {
            // It may not have been made.
            let _ = fs::remove_file(&new);
        }
        replaced
    }

    /// The new file beside the present one: a rename does not leave the file system.
    fn path_of_new(&self) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        self.path.with_file_name(format!(".{name}.throng-{}", std::process::id()))
    }

    fn write(&self, new: &Path, text: &str) -> Result<(), ConfigFileError> {
        // Of a server with the same process id that was killed.
        let _ = fs::remove_file(new);
        let write = || {
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(new)?;
            let before = fs::metadata(&self.path)?;
            // Only root may give files away, and the new one is readable for its server in any case.
            let _ = fchown(&file, Some(before.uid()), Some(before.gid()));
            file.set_permissions(before.permissions())?;
            file.write_all(text.as_bytes())?;
            file.sync_all()
        };
        write().map_err(|source| ConfigFileError::File { step: "write", path: new.to_owned(), source })
    }

    fn exchange(&self, new: &Path) -> Result<(), ConfigFileError> {
        let failed = |step| move |source| ConfigFileError::File { step, path: self.path.clone(), source };
        if fs::read(&self.path).map_err(failed("read"))? != self.text.as_bytes() {
            return Err(ConfigFileError::Changed(self.path.clone()));
        }
        fs::rename(new, &self.path).map_err(failed("replace"))?;
        let folder = self.path.parent().unwrap_or_else(|| Path::new("/"));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed("synchronise the folder of"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_behind_its_link_and_keeps_its_mode() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, link) = (folder.path().join("real.toml"), folder.path().join("throng.toml"));
        fs::write(&path, "a = 1\n").expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("a mode");
        symlink("real.toml", &link).expect("a link");
        let file = ConfigFile::read(&link).expect("a text");
        assert_eq!(file.text(), "a = 1\n");
        file.replace("a = 2\n").expect("a new text");
        assert_eq!(fs::read_to_string(&link).expect("a file"), "a = 2\n");
        assert!(link.symlink_metadata().expect("a link").is_symlink());
        assert_eq!(path.metadata().expect("a file").permissions().mode() & 0o777, 0o640);
        assert_eq!(names(folder.path()), ["real.toml", "throng.toml"]);
    }

    #[test]
    fn a_file_that_an_editor_has_changed_meanwhile_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("throng.toml");
        fs::write(&path, "a = 1\n").expect("a file");
        let file = ConfigFile::read(&path).expect("a text");
        fs::write(&path, "a = 1 # mine\n").expect("a file");
        let told = file.replace("a = 2\n");
        assert!(matches!(told, Err(ConfigFileError::Changed(_))), "{told:?}");
        assert_eq!(fs::read_to_string(&path).expect("a file"), "a = 1 # mine\n");
        assert_eq!(names(folder.path()), ["throng.toml"]);
        fs::remove_file(&path).expect("a file");
        assert!(matches!(file.replace("a = 2\n"), Err(ConfigFileError::File { .. })));
        assert!(names(folder.path()).is_empty(), "it is not made anew");
    }

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("throng.toml");
        fs::write(&path, b"a = \"\xff\"\n").expect("a file");
        assert!(matches!(ConfigFile::read(&path), Err(ConfigFileError::NoText(_))));
        assert!(matches!(ConfigFile::read(folder.path()), Err(ConfigFileError::NoText(_))));
        assert!(matches!(ConfigFile::read(Path::new("/nowhere/a.toml")), Err(ConfigFileError::File { .. })));
    }
}
