//! Load of an archive into a folder of an inventory: all of it in one transaction, behind its assets.

use super::figures::inventory_load_figures;
use super::inventory_path::folder_at;
use super::loaded_assets::load_assets;
use super::parts::{ArchiveParts, KnownAccounts, KnownAssets, random_seed};
use super::steps::{ArchiveDone, ArchiveFailure, WatchedFile, WorkSteps, job_end};
use crate::archive_assets::LoadedAssets;
use archive::check::{ArchiveReport, CheckConfig, check_iar};
use archive::file::{ArchiveLimits, FileError};
use archive::iar::IarReader;
use archiver::AccountRules;
use archiver::inventory::{InventoryPlan, InventoryPlanError, InventoryTarget, plan_inventory};
use backup::WorkDriver;
use ids::AgentId;
use job_desk::JobWork;
use jobs::{JobEnd, JobKind};
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

/// A load that was ordered.
#[derive(Debug)]
pub(super) struct IarLoad {
    pub(super) parts: Arc<ArchiveParts>,
    /// First and last name of the account.
    pub(super) user: String,
    /// Path of the folder that gets the content of the archive.
    pub(super) folder: String,
    /// Name of the file in the folder of archives.
    pub(super) file: PathBuf,
    /// Name of the archive in lists and logs.
    pub(super) title: String,
    /// Folders of the archive are merged into folders of the same name.
    pub(super) is_merged: bool,
    pub(super) skips_assets: bool,
}

impl JobWork for IarLoad {
    fn kind(&self) -> JobKind {
        JobKind::IarLoad
    }

    fn subject(&self) -> String {
        format!("{} into {} of {}", self.title, self.folder, self.user)
    }

    fn carry_out(&self, driver: &mut dyn WorkDriver) -> JobEnd {
        job_end(self.load(&WorkSteps::new(driver)))
    }
}

impl IarLoad {
    fn load(&self, steps: &WorkSteps<'_>) -> ArchiveDone {
        let parts = &self.parts;
        let owner = parts.account(&self.user)?;
        let path = parts.path(&self.file).map_err(ArchiveFailure::new)?;
        let file = parts.open(&path)?;
        let report = self.check(&file, steps)?;
        let plan = self.plan(owner, &file, steps)?;
        let mut n_materials = 0;
        let assets = if self.skips_assets {
            LoadedAssets::default()
        } else {
            load_assets(parts, &file, &self.title, &mut |_, _| n_materials += 1, steps)?
        };
        // The region where an object is rezzed one day would need them.
        let assets = LoadedAssets { n_unfit: assets.n_unfit + n_materials, ..assets };
        steps.advance("inventory", 0, plan.changes.len() as u64, 0)?;
        let limits = parts.store.inventory_limits();
        let changed = parts.store.change_inventory_whole(owner, &plan.changes, &limits)?;
        if let Err((_, refusal)) = changed {
            return Err(ArchiveFailure::new(format!("the inventory does not take it: {refusal}")));
        }
        let InventoryPlan { n_folders, n_items, n_links, .. } = plan;
        let outcome = format!(
            "{n_folders} folders, {n_items} items and {n_links} links are in {} of {}",
            self.folder, self.user
        );
        tracing::info!(user = self.user, file = self.title, n_folders, n_items, "an archive was loaded");
        Ok((outcome, inventory_load_figures(&report, &plan, &assets)))
    }

    fn check(&self, file: &File, steps: &WorkSteps<'_>) -> Result<ArchiveReport, ArchiveFailure> {
        let accounts = KnownAccounts::new(&self.parts.store);
        let assets = KnownAssets::new(&self.parts.store);
        let config = CheckConfig {
            knows_account: &|account| accounts.has(AgentId(account)),
            knows_asset: &|asset| assets.has(asset),
            ..CheckConfig::default()
        };
        let input = WatchedFile::new(file, steps, "check")?;
        let report = check_iar(input, &config).map_err(|error| steps.failure(&error))?;
        // A file that could not be read on may have been a job that is to end.
        steps.poll()?;
        accounts.check()?;
        assets.check()?;
        match &report.cut_short {
            Some(why) => Err(ArchiveFailure::new(why.to_string())),
            None => Ok(report),
        }
    }

    fn plan(
        &self,
        owner: AgentId,
        file: &File,
        steps: &WorkSteps<'_>,
    ) -> Result<InventoryPlan, ArchiveFailure> {
        let parts = &self.parts;
        let folders = parts.store.folders(owner)?;
        let folder = folder_at(&folders, &self.folder)?.id;
        let accounts = KnownAccounts::new(&parts.store);
        let is_known = |account: AgentId| accounts.has(account);
        let account_of = |name: &str| accounts.by_name(name);
        let target = InventoryTarget {
            owner,
            folder,
            folders: &folders,
            is_merged: self.is_merged,
            accounts: AccountRules { is_known: &is_known, default_user: owner },
            account_of: &account_of,
        };
        let input = WatchedFile::new(file, steps, "items")?;
        let unread = |error: FileError| steps.failure(&error);
        let reader = IarReader::open(input, ArchiveLimits::default()).map_err(unread)?;
        let plan = plan_inventory(reader, &target, random_seed()?).map_err(|error| match error {
            InventoryPlanError::File(error) => steps.failure(&error),
            error => ArchiveFailure::of(&error),
        })?;
        accounts.check()?;
        Ok(plan)
    }
}
