//! Executables by build id: functions and lines for dumps of builds that have since been replaced.
//!
//! The linker writes a build id into the executable and the kernel maps it, so each dump names its builds. The release
//! profile keeps line tables in the executable, so keeping symbols means keeping executables, as `DATA/symbols/<build id>`:
//! a hard link if the file system and the file's owner allow one, else a copy.
//!
//! **Bound.** Kept are the running executable and those that dumps in `DATA/crashes` name. The others are removed at the
//! next start, so the quota of dumps bounds this directory.

use object::Object as _;
use object::read::ReadCache;
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// The executable of the calling process. Still readable after the file was replaced.
pub const OWN_EXECUTABLE: &str = "/proc/self/exe";

/// An executable cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum SymbolsError {
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
    /// The linker was configured not to write one.
    #[error("this executable has no build id")]
    NoBuildId,
}

/// The GNU build id of an executable or library, in hexadecimal digits; `None` for a file without one.
#[must_use]
pub fn build_id(path: &Path) -> Option<String> {
    let cache = ReadCache::new(File::open(path).ok()?);
    let file = object::File::parse(&cache).ok()?;
    Some(file.build_id().ok()??.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// `DATA/symbols`.
#[derive(Clone, Debug)]
pub struct Symbols {
    path: PathBuf,
}

impl Symbols {
    /// The directory below a data directory. It need not exist.
    #[must_use]
    pub fn of(data: &Path) -> Self {
        Self { path: data.join("symbols") }
    }

    /// Keeps the running executable and returns its build id. `link_from` is its likely path, for a hard link. Removes
    /// executables of other build ids unless they are `needed`.
    ///
    /// # Errors
    /// When the disk is full or read-only, or the executable has no build id.
    pub fn keep_executable(
        &self,
        link_from: &Path,
        needed: &BTreeSet<String>,
    ) -> Result<String, SymbolsError> {
        let id = build_id(Path::new(OWN_EXECUTABLE)).ok_or(SymbolsError::NoBuildId)?;
        let failed = |step| move |source| SymbolsError::Io { step, path: self.path.clone(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(&self.path).map_err(failed("create"))?;
        for file in fs::read_dir(&self.path).map_err(failed("read"))?.flatten() {
            let name = file.file_name();
            if name.to_str().is_none_or(|name| name != id && !needed.contains(name)) {
                fs::remove_file(file.path()).map_err(failed("prune"))?;
            }
        }
        let path = self.path.join(&id);
        if build_id(&path).as_ref() == Some(&id) {
            return Ok(id);
        }
        let part = self.path.join(format!(".{id}.part"));
        let _ = fs::remove_file(&part);
        let linked = fs::hard_link(link_from, &part).is_ok() && build_id(&part).as_ref() == Some(&id);
        if !linked {
            // Another file system, another owner, or replaced since the start.
            let _ = fs::remove_file(&part);
            if let Err(source) = fs::copy(OWN_EXECUTABLE, &part) {
                let _ = fs::remove_file(&part);
                return Err(SymbolsError::Io { step: "write", path: part, source });
            }
        }
        fs::rename(&part, &path).map_err(|source| SymbolsError::Io { step: "write", path, source })?;
        Ok(id)
    }

    /// A file with this build id: the own executable, a kept one, or the file at the path that it was loaded from.
    #[must_use]
    pub fn find(&self, id: &str, loaded_from: &Path) -> Option<PathBuf> {
        [Path::new(OWN_EXECUTABLE), &self.path.join(id), loaded_from]
            .into_iter()
            .find(|path| build_id(path).as_deref() == Some(id))
            .map(Path::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_running_executable_is_kept_and_found_by_its_build_id() {
        let data = tempfile::tempdir().unwrap();
        let symbols = Symbols::of(data.path());
        let id = symbols.keep_executable(&std::env::current_exe().unwrap(), &BTreeSet::new()).unwrap();
        assert_eq!(build_id(&data.path().join("symbols").join(&id)), Some(id.clone()));
        assert_eq!(symbols.find(&id, Path::new("/nowhere")), Some(OWN_EXECUTABLE.into()));
        assert_eq!(symbols.find("00", Path::new(OWN_EXECUTABLE)), None, "another build is no use");
    }

    #[test]
    fn a_file_that_is_not_the_running_executable_is_not_taken_for_it() {
        let data = tempfile::tempdir().unwrap();
        let replaced = data.path().join("throng");
        fs::write(&replaced, "a later build").unwrap();
        let id = Symbols::of(data.path()).keep_executable(&replaced, &BTreeSet::new()).unwrap();
        assert_eq!(build_id(&data.path().join("symbols").join(&id)), Some(id));
    }

    #[test]
    fn executables_that_no_dump_needs_go() {
        let data = tempfile::tempdir().unwrap();
        let dir = data.path().join("symbols");
        fs::create_dir(&dir).unwrap();
        for name in ["aa", "bb"] {
            fs::write(dir.join(name), name).unwrap();
        }
        let needed = BTreeSet::from(["aa".to_owned()]);
        Symbols::of(data.path()).keep_executable(&std::env::current_exe().unwrap(), &needed).unwrap();
        assert!(dir.join("aa").exists() && !dir.join("bb").exists());
    }
}
