//! A backup: a cut of the database, the files of all assets that it names, and at last the manifest, with which it exists.
//!
//! | interrupted | then |
//! |---|---|
//! | before the manifest has its name | the backup does not exist, and the next run removes its folder; contents that were copied serve the next one |
//! | while older ones are removed | backups without a manifest do not exist, and the next run removes the rest of them |

use crate::content_list::{ContentListWriter, ContentSum, ListedContent};
use crate::copier::{ContentCopier, Copied, length_of};
use crate::date::date;
use crate::directory::{BackupDir, CONTENTS, DATABASE, MANIFEST};
use crate::driver::WorkDriver;
use crate::error::{BackupError, in_full};
use crate::files::{sum_of, sync_and_forget};
use crate::manifest::{FAULTS_MAX, Manifest, RegionSum, TableSum};
use crate::prune::{Sweep, Worth, superfluous, sweep};
use crate::verify::{
    ContentFaults, FlawKind, RegionToVerify, RowFindings, VerifyOrder, check_rows, name_owners,
};
use ids::Uuid;
use jobs::JobProgress;
use serde_json::{Value, json};
use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use store::{AssetContent, AssetHash, RegionCut, StoreError, StoreUrl, TableDigest};

/// Contents of one part of the list.
const CONTENTS_AT_ONCE: u32 = 512;

/// The data that a backup is made of.
#[derive(Clone, Copy)]
pub struct BackupSource<'a> {
    /// The database, of either engine.
    pub database: &'a StoreUrl,
    /// Folder of the assets.
    pub assets: &'a Path,
    /// Regions of the configuration.
    pub regions: &'a [RegionToVerify],
    /// True for the assets that the program itself has.
    pub is_own_asset: &'a dyn Fn(Uuid) -> bool,
    /// Name and version of the program.
    pub build: &'a str,
}

impl fmt::Debug for BackupSource<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { database, assets, .. } = self;
        f.debug_struct("BackupSource")
            .field("database", database)
            .field("assets", assets)
            .finish_non_exhaustive()
    }
}

/// A backup that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupReport {
    /// Its manifest.
    pub manifest: Manifest,
    /// Older backups that were removed.
    pub removed: Vec<String>,
    /// Files of contents that no backup names any more, and were removed.
    pub swept_files: u64,
    /// Their bytes.
    pub swept_bytes: u64,
    /// Reason for which older backups or contents were left: one whose names are not known, a failure, an end.
    pub unswept: Option<String>,
}

impl BackupReport {
    /// For programs.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let Self { manifest, removed, swept_files, swept_bytes, unswept } = self;
        json!({
            "backup": manifest.name,
            "cut_at": date(manifest.cut_s),
            "assets": manifest.assets,
            "items": manifest.items,
            "objects": manifest.objects,
            "damaged": manifest.damaged,
            "missing": manifest.missing,
            "whole": manifest.is_sound(),
            "verified_at": date(manifest.verified_s),
            "bytes": manifest.bytes(),
            "copied_files": manifest.copied_files,
            "copied_bytes": manifest.copied_bytes,
            "faults": manifest.faults,
            "removed": removed,
            "swept_files": swept_files,
            "swept_bytes": swept_bytes,
            "unswept": unswept,
        })
    }

    /// In a sentence.
    #[must_use]
    pub fn summary(&self) -> String {
        let Manifest { name, assets, items, objects, damaged, missing, copied_files, .. } = &self.manifest;
        format!(
            "backup {name} with {assets} assets, {items} items and {objects} objects, {copied_files} files copied; \
             {damaged} damaged, {missing} missing"
        )
    }
}

/// Makes a backup, and removes older ones: the newest `keep` stay, and the newest sound one.
///
/// # Errors
/// [`BackupError`]; then there is no new backup, and no older one has been removed.
pub fn back_up(
    dir: &BackupDir,
    source: &BackupSource<'_>,
    keep: u32,
    driver: &mut dyn WorkDriver,
) -> Result<BackupReport, BackupError> {
    dir.remove_unfinished()?;
    let cut_s = driver.unix_s();
    let (name, folder) = dir.begin(cut_s)?;
    let database = folder.join(DATABASE);
    let cut = cut_database(source.database, &database, driver)?;
    let copy = copy_contents(dir, source, &folder, driver)?;
    let tables = match copy.expired.is_empty() {
        true => cut.tables,
        false => {
            store::remove_from_cut(&database, &copy.expired)?;
            read_back(&database, None)?
        }
    };
    let url = StoreUrl::file(&database);
    let order = VerifyOrder {
        database: &url,
        assets: dir.assets(),
        regions: source.regions,
        is_own_asset: source.is_own_asset,
        is_deep: false,
    };
    let RowFindings { assets, items, objects, mut faults } = check_rows(&order, driver)?;
    copy.lost.note(&url, &mut faults)?;
    name_owners(&url, &mut faults)?;
    let progress = JobProgress { part: "database", ..JobProgress::default() };
    let database = sum_of(&database, |bytes| driver.advance(progress, bytes).map_err(BackupError::from))?;
    let region = |cut: RegionCut| RegionSum {
        region: cut.region.0,
        name: cut.name,
        epoch: cut.epoch.0,
        sequence: cut.sequence,
    };
    let manifest = Manifest {
        name,
        build: source.build.to_owned(),
        cut_s,
        verified_s: driver.unix_s(),
        schema: cut.version,
        database,
        contents: copy.sum,
        tables: tables.into_iter().map(TableSum::from).collect(),
        regions: cut.regions.into_iter().map(region).collect(),
        assets,
        items,
        objects,
        damaged: faults.damaged(),
        missing: faults.missing(),
        faults: faults.named().iter().take(FAULTS_MAX).map(ToString::to_string).collect(),
        copied_files: copy.files,
        copied_bytes: copy.bytes,
    };
    // The last chance of an end: from here on the backup exists.
    driver.advance(JobProgress { part: "pruning", done: 0, total: 256 }, 0)?;
    manifest.write(&folder.join(MANIFEST))?;
    let mut removed = Vec::new();
    let swept = prune(dir, keep, &mut removed, driver);
    let swept = swept.unwrap_or_else(|why| Sweep { left: Some(in_full(&why)), ..Sweep::default() });
    let Sweep { files: swept_files, bytes: swept_bytes, left: unswept } = swept;
    Ok(BackupReport { manifest, removed, swept_files, swept_bytes, unswept })
}

impl From<TableDigest> for TableSum {
    fn from(digest: TableDigest) -> Self {
        Self { table: digest.table.to_owned(), rows: digest.rows, hash: digest.hash }
    }
}

fn cut_database(
    from: &StoreUrl,
    to: &Path,
    driver: &mut dyn WorkDriver,
) -> Result<store::CutReport, BackupError> {
    let mut ended = None;
    let cut = store::cut(from, to, |progress| {
        let pieces = JobProgress { part: "database", done: progress.rows, total: progress.rows_total };
        match driver.advance(pieces, progress.bytes) {
            Ok(()) => ControlFlow::Continue(()),
            Err(why) => {
                ended = Some(why);
                ControlFlow::Break(())
            }
        }
    });
    let cut = match (cut, ended) {
        (_, Some(why)) => return Err(why.into()),
        (cut, None) => cut.map_err(BackupError::Cut)?,
    };
    read_back(to, Some(&cut.tables))?;
    Ok(cut)
}

/// Brings the file of a cut to the disk, and reads it back: it has these rows.
fn read_back(file: &Path, expected: Option<&[TableDigest]>) -> Result<Vec<TableDigest>, BackupError> {
    sync_and_forget(file)?;
    let found = store::read_back(&StoreUrl::file(file))?;
    match expected {
        Some(expected) if expected != found => Err(BackupError::ReadBack(file.to_owned())),
        _ => Ok(found),
    }
}

/// Result of copying the contents that a cut names.
#[derive(Debug, Default)]
struct CopiedContents {
    sum: ContentSum,
    files: u64,
    bytes: u64,
    /// Contents that have expired since the cut, in the order of their hashes.
    expired: Vec<AssetHash>,
    lost: ContentFaults,
}

/// Copies the files that the directory lacks, and writes the list of all.
fn copy_contents(
    dir: &BackupDir,
    source: &BackupSource<'_>,
    folder: &Path,
    driver: &mut dyn WorkDriver,
) -> Result<CopiedContents, BackupError> {
    let url = StoreUrl::file(folder.join(DATABASE));
    let mut list = ContentListWriter::create(&folder.join(CONTENTS))?;
    let mut copier = ContentCopier::new(source.assets, dir.assets())?;
    let mut copied = CopiedContents::default();
    store::view(&url, |view| -> Result<(), BackupError> {
        let (mut after, mut done, total) = (AssetHash([0; 32]), 0, view.count_assets()?);
        loop {
            let contents = view.contents_after(after, CONTENTS_AT_ONCE)?;
            let Some(last) = contents.last() else { return Ok(()) };
            after = last.hash;
            let mut absent = Vec::new();
            for content in &contents {
                let AssetContent { hash, length, .. } = *content;
                done += 1;
                let mut bytes = 0;
                // A file of this name was read back when it was written, and rehearsals set damaged ones aside.
                if length_of(dir.assets(), hash)? != Some(u64::from(length)) {
                    match copier.copy(hash, length)? {
                        Copied::Yes => {
                            bytes = u64::from(length);
                            copied.files += 1;
                            copied.bytes += bytes;
                        }
                        Copied::Missing => absent.push((hash, None)),
                        Copied::Damaged(why) => absent.push((hash, Some(why))),
                    }
                }
                driver.advance(JobProgress { part: "assets", done, total: total.max(done) }, bytes)?;
            }
            let lost = lost_of(source.database, absent, &mut copied)?;
            for AssetContent { hash, length, .. } in contents {
                if copied.expired.binary_search(&hash).is_err() {
                    list.push(ListedContent { hash, length, is_present: !lost.contains(&hash) })?;
                }
            }
        }
    })?;
    copier.finish()?;
    copied.sum = list.finish()?;
    Ok(copied)
}

/// Separates contents that have expired since the cut from lost ones, which are returned.
fn lost_of(
    database: &StoreUrl,
    absent: Vec<(AssetHash, Option<String>)>,
    copied: &mut CopiedContents,
) -> Result<Vec<AssetHash>, BackupError> {
    if absent.is_empty() {
        return Ok(Vec::new());
    }
    let mut lost = Vec::new();
    store::view(database, |view| -> Result<(), StoreError> {
        for (hash, why) in absent {
            if view.content(hash)?.is_none() {
                copied.expired.push(hash);
                continue;
            }
            let evidence = match why {
                Some(why) => (FlawKind::Damaged, why),
                None => (FlawKind::Missing, "its bytes are missing".to_owned()),
            };
            copied.lost.push(hash, evidence);
            lost.push(hash);
        }
        Ok(())
    })?;
    Ok(lost)
}

/// Removes backups that are superfluous, then contents that none names.
fn prune(
    dir: &BackupDir,
    keep: u32,
    removed: &mut Vec<String>,
    driver: &mut dyn WorkDriver,
) -> Result<Sweep, BackupError> {
    let backups = dir.list()?;
    let worths: Vec<Worth> = backups.iter().map(Worth::of).collect();
    for (backup, goes) in backups.into_iter().zip(superfluous(&worths, keep)) {
        if goes {
            dir.remove(&backup.name)?;
            removed.push(backup.name);
        }
    }
    sweep(dir, driver)
}
