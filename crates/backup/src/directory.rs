//! A directory of backups: its lock, its places, the backups in it.

use crate::date::{is_name, name_at};
use crate::files::{FileFailure, failed, make_dir, names_in, remove_dir, sync_dir, write_whole};
use crate::manifest::{Manifest, ManifestError};
use crate::rehearsal::Rehearsal;
use data_dir::{FileLock, FileLockError};
use std::fs;
use std::path::{Path, PathBuf};

/// A directory with this file is one of backups.
const MARK: &str = "throng-backups";
const LOCK: &str = "lock";
const BACKUPS: &str = "backups";
const ASSETS: &str = "assets";
/// The scratch directory of a rehearsal.
const REHEARSAL: &str = "rehearsal";

/// Files of a backup.
pub(crate) const DATABASE: &str = "database.sqlite";
pub(crate) const CONTENTS: &str = "contents.list";
pub(crate) const MANIFEST: &str = "manifest.json";
const REHEARSED: &str = "rehearsal.json";

/// Names that begin within one second, at most.
const NUMBERS: u32 = 9_999;

/// Reasons for which a directory is not used.
#[derive(Debug, thiserror::Error)]
pub enum BackupDirError {
    /// A file or directory.
    #[error(transparent)]
    File(#[from] FileFailure),
    /// It has other things than backups.
    #[error("{} is not empty and no directory of backups; name another one", .0.display())]
    Foreign(PathBuf),
    /// There are no backups.
    #[error("{} is no directory of backups", .0.display())]
    None(PathBuf),
    /// Another program writes there.
    #[error("{} is in use by {holder}", .path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
        /// The program, as it named itself.
        holder: String,
    },
    /// Its lock.
    #[error(transparent)]
    Lock(FileLockError),
}

/// A directory of backups that only this program writes to, until this is dropped.
#[derive(Debug)]
pub struct BackupDir {
    path: PathBuf,
    assets: PathBuf,
    _lock: FileLock,
}

impl BackupDir {
    /// Takes a directory, which is made if it is missing. `holder` is reported to a rival, such as "the server with process id 7".
    ///
    /// # Errors
    /// [`BackupDirError`]: another program writes there, or it has other things than backups.
    pub fn open(path: &Path, holder: &str) -> Result<Self, BackupDirError> {
        make_dir(path)?;
        let names = names_in(path)?;
        let is_marked = names.iter().any(|name| name == MARK);
        if !is_marked && names.iter().any(|name| name != LOCK) {
            return Err(BackupDirError::Foreign(path.to_owned()));
        }
        let lock = FileLock::acquire(&path.join(LOCK), holder).map_err(|why| match why {
            FileLockError::Held { holder, .. } if holder.is_empty() => {
                BackupDirError::InUse { path: path.to_owned(), holder: "another program".to_owned() }
            }
            FileLockError::Held { holder, .. } => BackupDirError::InUse { path: path.to_owned(), holder },
            why => BackupDirError::Lock(why),
        })?;
        let assets = path.join(ASSETS);
        make_dir(&path.join(BACKUPS))?;
        make_dir(&assets)?;
        if !is_marked {
            write_whole(&path.join(MARK), b"1\n")?;
        }
        Ok(Self { path: path.to_owned(), assets, _lock: lock })
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Folder of the contents.
    pub(crate) fn assets(&self) -> &Path {
        &self.assets
    }

    /// Folder of a backup.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        folder_of(&self.path, name)
    }

    /// Scratch directory of a rehearsal.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.path.join(REHEARSAL)
    }

    /// Begins a backup: its name, and its empty folder.
    pub(crate) fn begin(&self, now_s: i64) -> Result<(String, PathBuf), FileFailure> {
        let first = name_at(now_s);
        let numbered = (2..=NUMBERS).map(|n| format!("{first}-{n}"));
        let mut names = std::iter::once(first.clone()).chain(numbered);
        let name = names.find(|name| fs::symlink_metadata(self.folder(name)).is_err());
        let name = name.unwrap_or(first);
        let folder = self.folder(&name);
        fs::create_dir(&folder).map_err(failed("make", &folder))?;
        sync_dir(&self.path.join(BACKUPS))?;
        Ok((name, folder))
    }

    /// Removes backups that an interrupted run has left without a manifest.
    pub(crate) fn remove_unfinished(&self) -> Result<usize, FileFailure> {
        let mut n = 0;
        for name in names_in(&self.path.join(BACKUPS))? {
            let folder = self.folder(&name);
            if is_name(&name) && fs::symlink_metadata(folder.join(MANIFEST)).is_err() {
                remove_dir(&folder)?;
                n += 1;
            }
        }
        Ok(n)
    }

    /// Removes a backup. Its manifest goes first: an interruption leaves no half of it under its name.
    pub(crate) fn remove(&self, name: &str) -> Result<(), FileFailure> {
        let folder = self.folder(name);
        let manifest = folder.join(MANIFEST);
        fs::remove_file(&manifest).map_err(failed("remove", &manifest))?;
        sync_dir(&folder)?;
        remove_dir(&folder)
    }

    /// Keeps the outcome of a backup's rehearsal.
    pub(crate) fn keep_rehearsal(&self, name: &str, rehearsal: &Rehearsal) -> Result<(), FileFailure> {
        rehearsal.write(&self.folder(name).join(REHEARSED))
    }

    /// Its backups, the oldest first.
    pub(crate) fn list(&self) -> Result<Vec<BackupEntry>, FileFailure> {
        list_at(&self.path)
    }
}

/// A backup that exists.
#[derive(Debug)]
pub struct BackupEntry {
    /// Its name.
    pub name: String,
    /// Its manifest, or the reason for which that cannot be read.
    pub manifest: Result<Manifest, ManifestError>,
    /// Its last rehearsal.
    pub rehearsal: Option<Rehearsal>,
}

impl BackupEntry {
    /// The manifest, if nothing was damaged when the backup was made and no rehearsal has found it wanting since.
    #[must_use]
    pub fn sound(&self) -> Option<&Manifest> {
        let has_failed = self.rehearsal.as_ref().is_some_and(|rehearsal| rehearsal.is_damaged());
        self.manifest.as_ref().ok().filter(|manifest| manifest.is_sound() && !has_failed)
    }
}

/// The backups of a directory, the oldest first. A program that writes there meanwhile does not matter.
///
/// # Errors
/// [`BackupDirError::None`] and [`BackupDirError::File`].
pub fn list_backups(path: &Path) -> Result<Vec<BackupEntry>, BackupDirError> {
    match fs::symlink_metadata(path.join(MARK)) {
        Ok(_) => Ok(list_at(path)?),
        Err(_) => Err(BackupDirError::None(path.to_owned())),
    }
}

fn list_at(path: &Path) -> Result<Vec<BackupEntry>, FileFailure> {
    let mut entries = Vec::new();
    for name in names_in(&path.join(BACKUPS))? {
        let folder = folder_of(path, &name);
        if is_name(&name) && fs::symlink_metadata(folder.join(MANIFEST)).is_ok() {
            let manifest = Manifest::read(&folder.join(MANIFEST));
            let rehearsal = Rehearsal::read(&folder.join(REHEARSED));
            entries.push(BackupEntry { name, manifest, rehearsal });
        }
    }
    Ok(entries)
}

/// Folder of a backup in a directory.
pub(crate) fn folder_of(path: &Path, name: &str) -> PathBuf {
    path.join(BACKUPS).join(name)
}

/// Folder of the contents in a directory.
pub(crate) fn assets_of(path: &Path) -> PathBuf {
    path.join(ASSETS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_one_writer_and_lists_its_backups() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/backups");
        assert!(matches!(list_backups(&path), Err(BackupDirError::None(_))));
        let dir = BackupDir::open(&path, "the first program").unwrap();
        let rival = BackupDir::open(&path, "the second program").unwrap_err();
        assert!(rival.to_string().ends_with("is in use by the first program"), "{rival}");
        let (first, at) = dir.begin(1_000).unwrap();
        let (second, other) = dir.begin(1_000).unwrap();
        assert!(first < second && at != other);
        assert!(dir.list().unwrap().is_empty(), "without manifests they do not exist");
        Manifest { name: second.clone(), ..Manifest::default() }.write(&other.join(MANIFEST)).unwrap();
        assert_eq!(dir.remove_unfinished().unwrap(), 1);
        let names = |path: &Path| -> Vec<String> {
            list_backups(path).unwrap().into_iter().map(|entry| entry.name).collect()
        };
        assert_eq!(names(&path), std::slice::from_ref(&second));
        drop(dir);
        let again = BackupDir::open(&path, "the second program").unwrap();
        again.remove(&second).unwrap();
        assert!(names(&path).is_empty());
    }

    #[test]
    fn a_directory_with_other_things_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("letter.txt"), b"Dear Ada").unwrap();
        let refused = BackupDir::open(folder.path(), "a program").unwrap_err();
        assert!(matches!(refused, BackupDirError::Foreign(_)), "{refused}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_damaged_manifest_is_listed_as_such() {
        let folder = tempfile::tempdir().unwrap();
        let dir = BackupDir::open(folder.path(), "a program").unwrap();
        let (_, at) = dir.begin(1_000).unwrap();
        fs::write(at.join(MANIFEST), b"{}").unwrap();
        let list = dir.list().unwrap();
        assert!(list[0].manifest.is_err() && list[0].sound().is_none());
        assert_eq!(dir.remove_unfinished().unwrap(), 0);
    }
}
