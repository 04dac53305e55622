//! A data directory made of a backup. Every byte of the backup is compared with its sums on the way; the database comes last, so that no server finds a half.

use crate::content_list::{ContentList, ContentListError, ListedContent};
use crate::copier::{ContentCopier, Copied, CopyFailure, length_of};
use crate::date::date;
use crate::directory::{BackupDirError, BackupEntry, CONTENTS, DATABASE, assets_of, folder_of, list_backups};
use crate::driver::{WorkDriver, WorkEnded};
use crate::files::{
    FileFailure, failed, is_lost, make_dir, make_file, names_in, sum_of, sync_all_below, sync_and_forget,
    sync_dir,
};
use crate::manifest::{Manifest, ManifestError};
use crate::verify::{ContentFaults, FaultList, FlawKind, name_owners};
use assets::content_path;
use data_dir::{DataDir, DataDirError, FileLock, FileLockError};
use jobs::JobProgress;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use store::{AssetHash, StoreError, StoreUrl};

/// The way in which files of contents come into the new directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilesMode {
    /// Each is copied and read back.
    Copy,
    /// Each is another name of the file in the backup, where the file system allows that: for a directory that is thrown away soon.
    Link,
}

/// A restore.
#[derive(Clone, Copy, Debug)]
pub struct RestoreOrder<'a> {
    /// The directory of backups.
    pub from: &'a Path,
    /// Name of the backup; the newest one without it.
    pub name: Option<&'a str>,
    /// The data directory to make: missing or empty.
    pub data: &'a Path,
    /// Folder of the assets: below the data directory unless it is absolute.
    pub assets: &'a Path,
    /// The way of the files.
    pub mode: FilesMode,
}

/// Failure of a restore: there is no data directory to start a server on.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The directory of backups.
    #[error(transparent)]
    Directory(#[from] BackupDirError),
    /// There is no backup.
    #[error("{} has no backup", .0.display())]
    Empty(PathBuf),
    /// There is none of this name.
    #[error("there is no backup {name:?}; there are: {known}")]
    Unknown {
        /// The name.
        name: String,
        /// Names of the others.
        known: String,
    },
    /// A later build has written it.
    #[error("backup {0} was written by a later build; restore it with that one")]
    LaterBuild(String),
    /// A part of the backup is not as it was made.
    #[error("{part} of backup {name} is damaged; choose another one with --backup, there are: {known}")]
    Damaged {
        /// The part.
        part: &'static str,
        /// Name of the backup.
        name: String,
        /// Names of the others.
        known: String,
    },
    /// Its manifest.
    #[error("backup {name} cannot be read; choose another one with --backup, there are: {known}")]
    Manifest {
        /// Name of the backup.
        name: String,
        /// Names of the others.
        known: String,
        /// The reason.
        source: ManifestError,
    },
    /// The data directory to make.
    #[error(transparent)]
    Target(#[from] DataDirError),
    /// The folder of assets lies outside of the data directory, and is not empty.
    #[error("{} is not empty; name another folder of assets", .0.display())]
    Assets(PathBuf),
    /// A file or folder.
    #[error(transparent)]
    File(#[from] FileFailure),
    /// The restored database.
    #[error("cannot read the restored database")]
    Store(#[from] StoreError),
    /// The disk has other bytes than were written.
    #[error("{} was written and reads back otherwise; check the disk", .0.display())]
    ReadBack(PathBuf),
    /// It was ended.
    #[error(transparent)]
    Ended(#[from] WorkEnded),
}

impl RestoreError {
    /// True if the backup is not as it was made.
    #[must_use]
    pub const fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. } | Self::Manifest { .. })
    }
}

impl From<CopyFailure> for RestoreError {
    fn from(why: CopyFailure) -> Self {
        match why {
            CopyFailure::File(why) => Self::File(why),
            CopyFailure::ReadBack(path) => Self::ReadBack(path),
        }
    }
}

/// A finished restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreReport {
    /// Manifest of the backup.
    pub manifest: Manifest,
    /// Time of the end, seconds since 1970.
    pub verified_s: i64,
    /// Tables and contents that are not as the manifest has them.
    pub differences: u64,
    /// Contents that are damaged or missing in the backup, and those that were lost before it was made.
    pub faults: FaultList,
}

impl RestoreReport {
    /// For programs.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let Self { manifest, verified_s, differences, faults } = self;
        json!({
            "backup": manifest.name,
            "cut_at": date(manifest.cut_s),
            "assets": manifest.assets,
            "items": manifest.items,
            "objects": manifest.objects,
            "damaged": faults.damaged(),
            "missing": faults.missing(),
            "differences": differences,
            "verified_at": date(*verified_s),
            "faults": faults.to_json(),
        })
    }
}

/// Makes a data directory of a backup.
///
/// # Errors
/// [`RestoreError`]. A directory that was begun is refused by servers; the same call begins it anew.
pub fn restore(
    order: &RestoreOrder<'_>,
    holder: &str,
    driver: &mut dyn WorkDriver,
) -> Result<RestoreReport, RestoreError> {
    let entries = list_backups(order.from)?;
    let _lock = lock(order.from, holder)?;
    let (entry, manifest) = choose(order.from, entries, order.name)?;
    Ok(restore_entry(order, &entry, manifest, driver)?.0)
}

/// Keeps the backups from being pruned meanwhile. A medium that cannot be written to has no other program on it.
fn lock(from: &Path, holder: &str) -> Result<Option<FileLock>, BackupDirError> {
    match FileLock::acquire(&from.join("lock"), holder) {
        Ok(lock) => Ok(Some(lock)),
        Err(FileLockError::Held { holder, .. }) => {
            Err(BackupDirError::InUse { path: from.to_owned(), holder })
        }
        Err(FileLockError::Io { .. }) => Ok(None),
    }
}

/// A chosen backup: its name, and the names of the others.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) name: String,
    others: String,
}

/// The backup of this name, or the newest one.
pub(crate) fn choose(
    from: &Path,
    mut entries: Vec<BackupEntry>,
    name: Option<&str>,
) -> Result<(Chosen, Manifest), RestoreError> {
    let known: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    let at = match name {
        Some(name) => known
            .iter()
            .position(|known| known == name)
            .ok_or_else(|| RestoreError::Unknown { name: name.to_owned(), known: known.join(", ") })?,
        None => known.len().checked_sub(1).ok_or_else(|| RestoreError::Empty(from.to_owned()))?,
    };
    let BackupEntry { name, manifest, .. } = entries.swap_remove(at);
    let others: Vec<String> = known.into_iter().filter(|known| *known != name).collect();
    let others = if others.is_empty() { "no others".to_owned() } else { others.join(", ") };
    match manifest {
        Ok(manifest) => Ok((Chosen { name, others }, manifest)),
        Err(source) => Err(RestoreError::Manifest { name, known: others, source }),
    }
}

/// Restores a backup; also, the contents that are damaged in it.
pub(crate) fn restore_entry(
    order: &RestoreOrder<'_>,
    chosen: &Chosen,
    manifest: Manifest,
    driver: &mut dyn WorkDriver,
) -> Result<(RestoreReport, Vec<AssetHash>), RestoreError> {
    let damaged =
        |part| RestoreError::Damaged { part, name: chosen.name.clone(), known: chosen.others.clone() };
    if manifest.schema > store::newest_version() {
        return Err(RestoreError::LaterBuild(chosen.name.clone()));
    }
    let folder = folder_of(order.from, &chosen.name);
    let list = ContentList::open(&folder.join(CONTENTS), &manifest.contents).map_err(|why| match why {
        ContentListError::File(why) if !is_lost(&why.source) => RestoreError::File(why),
        _ => damaged("the list of assets"),
    })?;
    let stored = folder.join(DATABASE);
    match sum_of(&stored, |_| Ok::<(), FileFailure>(())) {
        Ok(sum) if sum == manifest.database => {}
        Err(why) if !is_lost(&why.source) => return Err(why.into()),
        _ => return Err(damaged("the database")),
    }
    let data = DataDir::begin_restore(order.data)?;
    let assets = order.data.join(order.assets);
    if !assets.starts_with(order.data) && !names_in(&assets)?.is_empty() {
        return Err(RestoreError::Assets(assets));
    }
    let contents = restore_contents(order, &assets, list, manifest.contents.contents, driver)?;
    let database = StoreUrl::path_in_directory(order.data);
    copy_database(&stored, &database, &manifest, driver)?;
    let url = StoreUrl::file(&database);
    let n_tables = match manifest.schema == store::newest_version() {
        true => differing_tables(&url, &manifest)?,
        false => {
            // Its bytes are those of the backup; the tables become those that this program reads.
            store::migrate(&url)?;
            0
        }
    };
    let RestoredContents { faults: found, in_backup, restored } = contents;
    let damaged = found.of_kind(FlawKind::Damaged).collect();
    let mut faults = FaultList::default();
    found.note(&url, &mut faults)?;
    name_owners(&url, &mut faults)?;
    if order.mode == FilesMode::Copy {
        heal(&database, &restored)?;
        sync_and_forget(&database)?;
    }
    sync_dir(order.data)?;
    data.end_restore()?;
    let (verified_s, differences) = (driver.unix_s(), n_tables + in_backup);
    Ok((RestoreReport { manifest, verified_s, differences, faults }, damaged))
}

/// Result of restoring contents.
#[derive(Debug, Default)]
struct RestoredContents {
    faults: ContentFaults,
    /// Contents that the backup should have, and has not.
    in_backup: u64,
    /// Contents whose bytes are there.
    restored: BTreeSet<AssetHash>,
}

fn restore_contents(
    order: &RestoreOrder<'_>,
    assets: &Path,
    list: impl Iterator<Item = Result<ListedContent, FileFailure>>,
    total: u64,
    driver: &mut dyn WorkDriver,
) -> Result<RestoredContents, RestoreError> {
    let from = assets_of(order.from);
    let mut copier = ContentCopier::new(&from, assets)?;
    let mut restored = RestoredContents::default();
    for (done, content) in (1..).zip(list) {
        let ListedContent { hash, length, is_present } = content?;
        let copied = match (is_present, order.mode) {
            (false, _) => {
                let why = "its bytes were lost before the backup was made";
                restored.faults.push(hash, (FlawKind::Missing, why.to_owned()));
                Copied::Missing
            }
            (true, FilesMode::Copy) => copier.copy(hash, length)?,
            (true, FilesMode::Link) => match link(&from, assets, hash, length)? {
                Some(linked) => linked,
                None => copier.copy(hash, length)?,
            },
        };
        let why = match copied {
            Copied::Yes => None,
            Copied::Missing => Some((FlawKind::Missing, "its bytes are missing in the backup".to_owned())),
            Copied::Damaged(why) => Some((FlawKind::Damaged, format!("in the backup {why}"))),
        };
        match why {
            None => drop(restored.restored.insert(hash)),
            Some(evidence) if is_present => {
                restored.in_backup += 1;
                restored.faults.push(hash, evidence);
            }
            Some(_) => {}
        }
        driver.advance(JobProgress { part: "assets", done, total }, u64::from(length))?;
    }
    copier.finish()?;
    Ok(restored)
}

/// Gives a verified file of the backup another name; none if the file system has no such thing.
fn link(from: &Path, to: &Path, hash: AssetHash, length: u32) -> Result<Option<Copied>, RestoreError> {
    let (source, target) = (content_path(from, hash), content_path(to, hash));
    match length_of(from, hash)? {
        None => return Ok(Some(Copied::Missing)),
        Some(found) if found != u64::from(length) => {
            return Ok(Some(Copied::Damaged(format!("its length is {found} instead of {length}"))));
        }
        Some(_) => {}
    }
    let damaged = match sum_of(&source, |_| Ok::<(), FileFailure>(())) {
        Ok(sum) if sum.blake3 == hash.to_string() => None,
        Ok(sum) => Some(format!("its {} bytes have the hash {}", sum.bytes, sum.blake3)),
        Err(why) if is_lost(&why.source) => Some(format!("its bytes cannot be read: {}", why.source)),
        Err(why) => return Err(why.into()),
    };
    if let Some(why) = damaged {
        return Ok(Some(Copied::Damaged(why)));
    }
    make_dir(target.parent().expect("a content lies in a directory"))?;
    Ok(fs::hard_link(&source, &target).is_ok().then_some(Copied::Yes))
}

/// Copies the database under its name.
fn copy_database(
    from: &Path,
    to: &Path,
    manifest: &Manifest,
    driver: &mut dyn WorkDriver,
) -> Result<(), RestoreError> {
    let new = to.with_extension("new");
    let progress = JobProgress { part: "database", done: 0, total: 0 };
    let copy = || -> io::Result<()> {
        let mut file = make_file(&new)?;
        io::copy(&mut File::open(from)?, &mut file)?;
        file.sync_all()
    };
    copy().map_err(failed("write", &new))?;
    sync_and_forget(&new)?;
    let found = sum_of(&new, |bytes| driver.advance(progress, bytes).map_err(RestoreError::from))?;
    if found != manifest.database {
        return Err(RestoreError::ReadBack(new));
    }
    fs::rename(&new, to).map_err(failed("rename", &new))?;
    Ok(sync_all_below(to.parent().expect("a file lies in a directory"))?)
}

/// Number of tables whose rows are not those of the manifest.
fn differing_tables(database: &StoreUrl, manifest: &Manifest) -> Result<u64, StoreError> {
    let found = store::read_back(database)?;
    let is_same = |digest: &store::TableDigest| {
        let mut tables = manifest.tables.iter();
        let expected = tables.find(|expected| expected.table == digest.table);
        expected.is_some_and(|expected| expected.rows == digest.rows && expected.hash == digest.hash)
    };
    let n_other = found.iter().filter(|digest| !is_same(digest)).count();
    Ok((n_other + manifest.tables.len().saturating_sub(found.len())) as u64)
}

/// Ends the quarantine of contents whose sound bytes have been restored.
fn heal(database: &Path, restored: &BTreeSet<AssetHash>) -> Result<(), StoreError> {
    const CONTENTS_AT_ONCE: u32 = 4_096;
    let healed = store::view(&StoreUrl::file(database), |view| -> Result<_, StoreError> {
        let (mut healed, mut after) = (Vec::new(), AssetHash([0; 32]));
        loop {
            let contents = view.contents_after(after, CONTENTS_AT_ONCE)?;
            let Some(last) = contents.last() else { return Ok(healed) };
            after = last.hash;
            let in_quarantine = contents.iter().filter(|content| content.damage.is_some());
            healed.extend(in_quarantine.map(|content| content.hash).filter(|hash| restored.contains(hash)));
        }
    })?;
    if healed.is_empty() { Ok(()) } else { store::end_quarantine(database, &healed) }
}
