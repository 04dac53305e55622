//! Save of a folder of an inventory into an archive, as one read of the database has it.

use super::figures::inventory_save_figures;
use super::inventory_path::folder_at;
use super::parts::{ArchiveParts, KnownAccounts};
use super::saved_file::{SavedAssets, SavedFile, write_assets};
use super::steps::{ArchiveDone, ArchiveFailure, WorkSteps, job_end};
use archive::iar::{IarControl, IarWriter};
use archiver::AssetClosure;
use archiver::inventory::{InventoryToWrite, InventoryWriteOptions, NODES_MAX, write_inventory};
use backup::WorkDriver;
use ids::AgentId;
use job_desk::JobWork;
use jobs::{JobEnd, JobKind};
use prim::Mask;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use store::FolderContents;

/// The end of a path that means the content of a folder, without the folder itself.
const CONTENTS: &str = "/*";

/// A save that was ordered.
#[derive(Debug)]
pub(super) struct IarSave {
    pub(super) parts: Arc<ArchiveParts>,
    /// First and last name of the account.
    pub(super) user: String,
    /// Path of the folder; with `/*` at its end, its content.
    pub(super) folder: String,
    /// Name of the file to make in the folder of archives.
    pub(super) file: PathBuf,
    /// Name of the archive in lists and logs.
    pub(super) title: String,
    /// Address of this grid, for the names of creators.
    pub(super) home: Option<String>,
    pub(super) skips_assets: bool,
    /// Only items with these rights.
    pub(super) rights: Mask,
}

impl JobWork for IarSave {
    fn kind(&self) -> JobKind {
        JobKind::IarSave
    }

    fn subject(&self) -> String {
        format!("{} of {} into {}", self.folder, self.user, self.title)
    }

    fn carry_out(&self, driver: &mut dyn WorkDriver) -> JobEnd {
        job_end(self.save(&WorkSteps::new(driver)))
    }
}

impl IarSave {
    fn save(&self, steps: &WorkSteps<'_>) -> ArchiveDone {
        let parts = &self.parts;
        let owner = parts.account(&self.user)?;
        let of_contents = self.folder.strip_suffix(CONTENTS);
        let all = parts.store.folders(owner)?;
        let root = folder_at(&all, of_contents.unwrap_or(&self.folder))?;
        let contents = parts.store.folder_contents(owner, root.id, NODES_MAX as u32)?;
        let (folders, items) = match contents {
            FolderContents::Whole { folders, items } => (folders, items),
            FolderContents::TooLarge => {
                let why = format!("there are more than {NODES_MAX} folders and items: save it in parts");
                return Err(ArchiveFailure::new(why));
            }
            FolderContents::Unknown => return Err(ArchiveFailure::new("the folder is gone")),
        };
        let control = IarControl::new(self.home.is_some(), !self.skips_assets);
        let (file, archive) = SavedFile::begin(parts, &self.file)?;
        let mut writer = IarWriter::begin(archive, &control)?;
        let mut closure = AssetClosure::default();
        let accounts = KnownAccounts::new(&parts.store);
        let name_of = |agent: AgentId| accounts.name(agent).map(|name| name.to_string());
        let inventory = InventoryToWrite {
            root: root.id,
            has_root: of_contents.is_none() && !root.parent.is_nil(),
            folders: &folders,
            items: &items,
            owner,
        };
        let options = InventoryWriteOptions {
            home: self.home.as_deref(),
            name_of: &name_of,
            rights: self.rights.bits(),
        };
        let n_all = items.len() as u64;
        let mut progress =
            |n_items: u64| steps.advance("items", n_items, n_all, 0).map_err(ArchiveFailure::from);
        let written = write_inventory::<_, ArchiveFailure>(
            &mut writer,
            &inventory,
            &options,
            &mut closure,
            &mut progress,
        )?;
        accounts.check()?;
        let mut assets = SavedAssets::default();
        if !self.skips_assets {
            let append = &mut |id, kind, bytes: &[u8]| writer.asset(id, kind, bytes);
            assets = write_assets(parts, closure, &BTreeMap::new(), append, steps)?;
        }
        assets.bytes = file.finish(writer.finish()?)?;
        let (n_items, n_assets) = (written.n_items, assets.n_assets);
        let outcome = format!("{n_items} items and {n_assets} assets are in {}", self.title);
        tracing::info!(user = self.user, file = self.title, n_items, n_assets, "an archive was saved");
        Ok((outcome, inventory_save_figures(&written, &assets)))
    }
}
