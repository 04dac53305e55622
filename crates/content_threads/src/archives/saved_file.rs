//! The file of a save: made under another name, and there once it is whole.

use super::parts::ArchiveParts;
use super::steps::{ArchiveFailure, WorkSteps};
use archive::ArchivedKind;
use archive::file::{ArchiveWriteError, ArchiveWriter};
use archiver::{AssetClosure, MissingAsset};
use grid::asset_sources::AssetSources;
use ids::Uuid;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Archives name owners, and have texts of theirs.
const PRIVATE_FILE: u32 = 0o600;

/// Level of the compression. Most of an archive are textures, which do not get smaller at any.
const GZIP_LEVEL: u32 = 6;

/// Writes an asset into an archive.
pub(super) type AppendAsset<'a> = dyn FnMut(Uuid, ArchivedKind, &[u8]) -> Result<(), ArchiveWriteError> + 'a;

/// The file while it is written.
#[derive(Debug)]
pub(super) struct SavedFile {
    path: PathBuf,
    /// Name until it is whole. A file of this name is removed with this.
    unfinished: PathBuf,
}

impl SavedFile {
    /// Begins a file of this name in the folder of archives.
    ///
    /// # Errors
    /// If there is one, or it cannot be made.
    pub(super) fn begin(
        parts: &ArchiveParts,
        name: &Path,
    ) -> Result<(Self, ArchiveWriter<BufWriter<File>>), ArchiveFailure> {
        let path = parts.path(name).map_err(ArchiveFailure::new)?;
        parts.make_folder()?;
        if fs::symlink_metadata(&path).is_ok() {
            return Err(ArchiveFailure::new(format!("there is a file {} already", path.display())));
        }
        let mut unfinished = path.clone().into_os_string();
        unfinished.push(".unfinished");
        let unfinished = PathBuf::from(unfinished);
        // The file of a killed server has no use.
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(true).mode(PRIVATE_FILE);
        let file = options.open(&unfinished).map_err(|error| failed("make", &unfinished, &error))?;
        Ok((Self { path, unfinished }, ArchiveWriter::gzip(BufWriter::new(file), GZIP_LEVEL)))
    }

    /// Ends the file, which has its name from then on, also after a crash; returns its bytes.
    ///
    /// # Errors
    /// If it cannot be written, or there is a file of that name by now. Then nothing is left of it.
    pub(super) fn finish(self, out: BufWriter<File>) -> Result<u64, ArchiveFailure> {
        let file = out.into_inner().map_err(|error| failed("write", &self.unfinished, error.error()))?;
        file.sync_all().map_err(|error| failed("write", &self.unfinished, &error))?;
        let bytes = file.metadata().map_err(|error| failed("read", &self.unfinished, &error))?.len();
        // Unlike a rename, a link takes the place of no file.
        let linked = fs::hard_link(&self.unfinished, &self.path);
        linked.map_err(|error| failed("make", &self.path, &error))?;
        let folder = self.path.parent().expect("an archive lies in a folder");
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(|error| {
            let _ = fs::remove_file(&self.path);
            failed("write", folder, &error)
        })?;
        Ok(bytes)
    }
}

impl Drop for SavedFile {
    fn drop(&mut self) {
        // The one link, or the second one.
        let _ = fs::remove_file(&self.unfinished);
    }
}

fn failed(step: &str, path: &Path, error: &io::Error) -> ArchiveFailure {
    ArchiveFailure::new(format!("cannot {step} {}: {error}", path.display()))
}

/// Assets of a save.
#[derive(Debug, Default)]
pub(super) struct SavedAssets {
    pub(super) n_assets: u64,
    /// Bytes of the whole file.
    pub(super) bytes: u64,
    /// Assets that are named, and not there.
    pub(super) missing: Vec<MissingAsset>,
}

/// Writes all assets that are named so far, and those that these name. `materials` are documents of legacy materials, which are no assets here. Assets of the
/// server's own are those that viewers know.
pub(super) fn write_assets(
    parts: &ArchiveParts,
    mut closure: AssetClosure,
    materials: &BTreeMap<Uuid, Vec<u8>>,
    append: &mut AppendAsset<'_>,
    steps: &WorkSteps<'_>,
) -> Result<SavedAssets, ArchiveFailure> {
    let mut saved = SavedAssets::default();
    let mut n_seen = 0;
    while let Some(id) = closure.poll_asset() {
        n_seen += 1;
        if AssetSources::is_own(id) {
            continue;
        }
        let read = parts.assets.read(id).map_err(|error| ArchiveFailure::of(&error))?;
        let found = match (&read, materials.get(&id)) {
            (Some(asset), _) => Some((ArchivedKind::from(asset.kind), &asset.bytes[..])),
            (None, Some(document)) => Some((ArchivedKind::OPENSIMULATOR_MATERIAL, &document[..])),
            (None, None) => None,
        };
        let Some((kind, bytes)) = found else {
            closure.note_missing(id);
            continue;
        };
        append(id, kind, bytes)?;
        closure.follow(id, kind, bytes);
        saved.n_assets += 1;
        steps.advance("assets", n_seen, n_seen + closure.n_waiting() as u64, bytes.len() as u64)?;
    }
    saved.missing = closure.missing();
    Ok(saved)
}
