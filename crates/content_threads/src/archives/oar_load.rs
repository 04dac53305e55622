//! Load of an archive into a running region.
//!
//! ```text
//! check ─► assets ─► save ─► hold ─► clear, land, objects, estate ─► end of the hold: one save has all of it
//!   │         │                         │ refused or cancelled
//!   └─ nothing of it shows              └─► all of it back ─► end of the hold
//! ```
//!
//! The disk has the region as before until the hold ends, so that a killed server starts without the archive or with all of it. Changes that show meanwhile are undone
//! by commands if the load fails; if that does not succeed either, the region is not saved any more, and a start of the server takes it from the disk.

use super::figures::{LoadedOar, load_figures};
use super::loaded_assets::load_assets;
use super::materials::MaterialLoader;
use super::oar_check::{CheckedOar, Clearing, OarLoadOptions, check_load};
use super::oar_land::{GroundChange, LandMaker, LandStep, ShownLand, saved_baked};
use super::parts::{ArchiveParts, KnownAccounts, random_seed};
use super::region_world::{RegionChanges, RegionWorld, ShownLinkset};
use super::steps::{ArchiveDone, ArchiveFailure, WatchedFile, WorkSteps, job_end};
use crate::archive_assets::LoadedAssets;
use archive::file::{ArchiveLimits, FileError};
use archive::oar::{OarReader, TerrainHeights};
use archiver::region::{LinksetConverter, RegionContents, read_terrain};
use archiver::{AccountRules, RenewedIds};
use backup::WorkDriver;
use gateway::places::Place;
use ids::{AgentId, Uuid, WorldId};
use job_desk::JobWork;
use jobs::{JobEnd, JobKind};
use link::{GroundPatch, LandEdit, LandReplacement};
use region_threads::keepers::SaveHold;
use region_threads::land_orders::LandOrderError;
use region_threads::node_edits::PendingEdit;
use std::collections::VecDeque;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use store::DocumentChanges;

/// Time for the save at the end of a load: one transaction with all of it.
const SAVE_PATIENCE: Duration = Duration::from_secs(600);

/// A load that was ordered.
#[derive(Debug)]
pub(super) struct OarLoad {
    pub(super) parts: Arc<ArchiveParts>,
    /// Name of the region.
    pub(super) region: String,
    /// Name of the file in the folder of archives.
    pub(super) file: PathBuf,
    /// Name of the archive in lists and logs: the file may be there for this load only.
    pub(super) title: String,
    pub(super) options: OarLoadOptions,
}

impl JobWork for OarLoad {
    fn kind(&self) -> JobKind {
        JobKind::OarLoad
    }

    fn subject(&self) -> String {
        format!("{} into {}", self.title, self.region)
    }

    fn carry_out(&self, driver: &mut dyn WorkDriver) -> JobEnd {
        job_end(self.load(&WorkSteps::new(driver)))
    }
}

/// Changes to be undone if a load fails.
#[derive(Debug, Default)]
struct Undo {
    objects: RegionChanges,
    land: LandReplacement,
}

impl OarLoad {
    fn load(&self, steps: &WorkSteps<'_>) -> ArchiveDone {
        let Self { parts, options, .. } = self;
        let place = parts.region(&self.region).map_err(ArchiveFailure::new)?;
        let path = parts.path(&self.file).map_err(ArchiveFailure::new)?;
        let file = parts.open(&path)?;
        let accounts = KnownAccounts::new(&parts.store);
        let checked = check_load(parts, place, &file, options, &accounts, steps)?;
        let is_known = |account: AgentId| accounts.has(account);
        let rules = AccountRules { is_known: &is_known, default_user: checked.default_user };
        let seed = random_seed()?;
        let land = LandMaker { parts, place, options, checked: &checked, accounts: rules, seed };
        // Its refusal, before anything is stored.
        land.first(&ShownLand::of(place)?, None)?;
        let mut materials = MaterialLoader::default();
        let assets = if options.skips_assets {
            LoadedAssets::default()
        } else {
            load_assets(parts, &file, &self.title, &mut |id, document| materials.add(id, document), steps)?
        };
        let materials = materials.keep(parts, place.world())?;
        let terrain = self.terrain(&checked, &file, steps)?;
        steps.advance("save", 0, 1, 0)?;
        parts.runtime.block_on(parts.save(place.world()))?;
        let baked = if terrain.is_some() { saved_baked(parts, place)? } else { Vec::new() };
        let (file, accounts, land) = (&file, &accounts, &land);
        let load = RegionLoad { parts, place, file, steps, accounts, land, terrain, baked, seed };
        let loaded = parts.runtime.block_on(load.carry_out())?;
        let loaded = LoadedOar { assets, materials, ..loaded };
        let LoadedOar { n_objects, n_prims, .. } = loaded;
        let outcome = format!("{n_objects} objects of {n_prims} prims are in {}", place.name());
        tracing::info!(region = place.name(), file = self.title, n_objects, n_prims, "an archive was loaded");
        Ok((outcome, load_figures(&checked, &loaded)))
    }

    /// The terrain of the archive, if it is to come in and there is one.
    fn terrain(
        &self,
        checked: &CheckedOar,
        file: &File,
        steps: &WorkSteps<'_>,
    ) -> Result<Option<TerrainHeights>, ArchiveFailure> {
        if !self.options.takes_terrain() {
            return Ok(None);
        }
        let input = WatchedFile::new(file, steps, "terrain")?;
        let read = OarReader::open(input, ArchiveLimits::default())
            .and_then(|mut reader| read_terrain(&mut reader, checked.plan.directory()));
        read.map_err(|error| steps.failure(&error))
    }
}

/// The part of a load that changes the region.
struct RegionLoad<'a, 'd> {
    parts: &'a ArchiveParts,
    place: &'a Place,
    file: &'a File,
    steps: &'a WorkSteps<'d>,
    accounts: &'a KnownAccounts<'a>,
    land: &'a LandMaker<'a>,
    terrain: Option<TerrainHeights>,
    /// The ground from which edits of the present one are limited.
    baked: Vec<GroundPatch>,
    seed: [u8; 32],
}

impl RegionLoad<'_, '_> {
    fn world(&self) -> WorldId {
        self.place.world()
    }

    async fn carry_out(&self) -> Result<LoadedOar, ArchiveFailure> {
        let hold = self.parts.holds.begin(self.world()).await.map_err(ArchiveFailure::new)?;
        let mut undo = Undo::default();
        match self.bring_in(&mut undo).await {
            Ok(loaded) => {
                self.end(hold, self.documents(&loaded)).await?;
                Ok(loaded)
            }
            Err(failure) => {
                self.lead_back(undo, &failure).await?;
                // The region is as before; a save that fails is tried again.
                let _ = hold.end(DocumentChanges::default());
                Err(failure)
            }
        }
    }

    /// Documents of the archive with values that the region has no field for.
    fn documents(&self, loaded: &LoadedOar) -> DocumentChanges {
        let LandMaker { options, checked, .. } = self.land;
        let rows = checked.plan.documents(options.takes_settings(), &loaded.parcels);
        DocumentChanges { rows, replaces: !options.is_merged }
    }

    /// Ends the hold, and waits for the save of everything that has changed meanwhile.
    async fn end(&self, hold: SaveHold, documents: DocumentChanges) -> Result<(), ArchiveFailure> {
        let reply = hold.end(documents).map_err(ArchiveFailure::new)?;
        let why = match tokio::time::timeout(SAVE_PATIENCE, reply).await {
            Ok(Ok(Ok(_))) => return Ok(()),
            Ok(Ok(Err(why))) => why,
            Ok(Err(_)) => "The server no longer saves regions.".to_owned(),
            Err(_) => "The save takes too long.".to_owned(),
        };
        let unsaved = "the region shows it, and it is not on the disk yet; the save is tried again";
        Err(ArchiveFailure::new(format!("{unsaved}: {why}")))
    }

    async fn bring_in(&self, undo: &mut Undo) -> Result<LoadedOar, ArchiveFailure> {
        let (parts, checked) = (self.parts, self.land.checked);
        let kept = parts.settings(self.world()).keeper.ids.kept.clone();
        let world = RegionWorld::new(&parts.node_edits, self.place, kept);
        let mut loaded = LoadedOar::default();
        if checked.clearing != Clearing::None {
            let goes = |linkset: &ShownLinkset| checked.clearing.has(linkset.id);
            loaded.n_cleared = world.clear(&goes, &mut undo.objects).await?;
        }
        let ground = parts.land.grounds().ground(self.world());
        let ground = self.terrain.as_ref().zip(ground.as_ref());
        let ground = ground.map(|(terrain, present)| GroundChange { terrain, present, baked: &self.baked });
        let first = self.land.first(&ShownLand::of(self.place)?, ground)?;
        (loaded.has_terrain, loaded.n_parcels) = (first.new.ground.is_some(), first.parcels.len() as u64);
        loaded.parcels = self.put(first, undo).await?;
        let mut converter = self.converter();
        if !self.land.options.skips_objects {
            let mut pending = VecDeque::new();
            let added = self.add_objects(&world, &mut converter, &mut pending, undo).await;
            // Commands on their way are carried out behind a failure, too.
            let settled = world.settle_all(&mut pending).await;
            added?;
            settled?;
        }
        let last = self.land.last(&ShownLand::of(self.place)?, converter.telehub());
        loaded.has_settings = last.new.estate.is_some();
        self.put(last, undo).await?;
        // A failed look-up would have made the default user an owner.
        self.accounts.check()?;
        (loaded.n_objects, loaded.n_prims) = converter.totals();
        loaded.changed = converter.findings().clone();
        Ok(loaded)
    }

    fn converter(&self) -> LinksetConverter<'_> {
        let (options, checked) = (self.land.options, self.land.checked);
        let ids = RenewedIds::new(options.ids(), self.seed);
        LinksetConverter::new(checked.placing, self.land.accounts, ids, checked.plan.telehub())
    }

    /// Sends the objects of the archive, portion by portion.
    async fn add_objects<'p>(
        &self,
        world: &'p RegionWorld<'p>,
        converter: &mut LinksetConverter<'_>,
        pending: &mut VecDeque<PendingEdit<'p>>,
        undo: &mut Undo,
    ) -> Result<(), ArchiveFailure> {
        let checked = self.land.checked;
        let input = WatchedFile::new(self.file, self.steps, "objects")?;
        let unread = |error: FileError| self.steps.failure(&error);
        let reader = OarReader::open(input, ArchiveLimits::default()).map_err(unread)?;
        let n_documents = checked.plan.n_documents();
        let mut contents = RegionContents::new(reader, checked.plan.directory(), n_documents);
        let ids = Uuid::from_slice(&self.seed[..16]).expect("sixteen bytes");
        let skips = |root: Uuid| checked.skipped.contains(&root);
        while let Some(portion) = contents.next_portion(converter, &skips).map_err(unread)? {
            self.steps.poll()?;
            if !portion.is_empty() {
                world.add(portion, ids, pending, &mut undo.objects).await?;
            }
        }
        Ok(())
    }

    /// Puts land into the region; the land that it replaces is noted before.
    async fn put(&self, step: LandStep, undo: &mut Undo) -> Result<Vec<(usize, Uuid)>, ArchiveFailure> {
        let LandStep { new, former, parcels } = step;
        if new.is_empty() {
            return Ok(parcels);
        }
        let edit = LandEdit::Replace(Box::new(new));
        let changed = self.parts.land.carry_out(self.world(), &edit).await;
        // A lost answer may belong to an edit that was carried out.
        if matches!(changed, Ok(()) | Err(LandOrderError::Lost)) {
            let LandReplacement { parcels, estate, ground } = former;
            let undone = &mut undo.land;
            undone.parcels = undone.parcels.take().or(parcels);
            undone.estate = undone.estate.take().or(estate);
            undone.ground = undone.ground.take().or(ground);
        }
        changed.map_err(|error| ArchiveFailure::of(&error))?;
        Ok(parcels)
    }

    /// Undoes everything. If that does not succeed, the hold is given up with its guard.
    async fn lead_back(&self, undo: Undo, failure: &ArchiveFailure) -> Result<(), ArchiveFailure> {
        let Undo { objects, land } = undo;
        let parts = self.parts;
        let kept = parts.settings(self.world()).keeper.ids.kept.clone();
        let world = RegionWorld::new(&parts.node_edits, self.place, kept);
        let ids = Uuid::from_slice(&self.seed[16..]).expect("sixteen bytes");
        let are_back = world.lead_back(objects, ids).await;
        let is_land_back = land.is_empty() || {
            let edit = LandEdit::Replace(Box::new(land));
            parts.land.carry_out(self.world(), &edit).await.is_ok()
        };
        if are_back && is_land_back {
            return Ok(());
        }
        let why = "the load has failed, and the region could not be led back: it is not saved any more. Restart the server; the disk has the region as it was before";
        tracing::error!(region = self.place.name(), ?failure, "{why}");
        Err(ArchiveFailure::new(why))
    }
}
