//! A report on assets that nothing names, by their creators and kinds. It deletes nothing.
//!
//! Named is what regions, held objects, worn ones, inventories and templates name, and what the bytes of these assets name, as in an archive. Inventories are read
//! before and after the regions: an object that goes from one to the other meanwhile is met. Assets that are newer than the report's begin are left out.

mod tally;

use super::materials::documents_of;
use super::parts::{ArchiveParts, KnownAccounts};
use super::steps::{ArchiveDone, ArchiveFailure, WorkSteps, job_end};
use crate::content::{ConfiguredContent, template_prims};
use archive::ArchivedKind;
use archive::check::Certainty;
use archive::object::{PartPlace, SceneGroup, ScenePart};
use archiver::AssetClosure;
use archiver::region::{group_of, name_land};
use assets::AssetKind;
use backup::WorkDriver;
use grid::asset_sources::AssetSources;
use ids::{AgentId, Uuid, WorldId};
use job_desk::JobWork;
use jobs::{JobEnd, JobKind};
use keeper::{Keeper, RegionIds, WornObject, check_region, held_object, linksets};
use link::{PlacedLinkset, SHARED_WORLDS_MAX, kept_object_ids, shared_local_ids, temporary_object_ids};
use std::collections::BTreeSet;
use std::sync::Arc;
use store::{StoreUrl, StoreView, view};
use tally::Tally;

/// Rows of one part of a list.
const ROWS_AT_ONCE: u32 = 500;
/// Bytes of a row of an inventory or of an asset, for the pace.
const ROW_BYTES: u64 = 256;
/// Kinds of items that name another item or a folder instead of an asset.
const LINKS: [i8; 2] = [24, 25];

/// A report that was ordered.
#[derive(Debug)]
pub(crate) struct AssetReport {
    pub(crate) parts: Arc<ArchiveParts>,
    /// Address of the database: the report reads states of it.
    pub(crate) database: StoreUrl,
    /// Content of the templates.
    pub(crate) templates: Arc<[ConfiguredContent]>,
}

impl JobWork for AssetReport {
    fn kind(&self) -> JobKind {
        JobKind::AssetReport
    }

    fn subject(&self) -> String {
        "assets that nothing names".to_owned()
    }

    fn carry_out(&self, driver: &mut dyn WorkDriver) -> JobEnd {
        let begun_s = driver.unix_s();
        job_end(self.report(begun_s, &WorkSteps::new(driver)))
    }
}

/// Assets that are named so far.
struct Search<'a, 'd> {
    closure: AssetClosure,
    steps: &'a WorkSteps<'d>,
    n_rows: u64,
    /// Damaged rows and assets, whose references are not known.
    n_unread: u64,
}

impl AssetReport {
    fn report(&self, begun_s: i64, steps: &WorkSteps<'_>) -> ArchiveDone {
        let mut search = Search { closure: AssetClosure::default(), steps, n_rows: 0, n_unread: 0 };
        let worlds: Vec<WorldId> = self.parts.places.iter().map(|place| place.world()).collect();
        view(&self.database, |view| search.name_items(view))?;
        self.name_regions(&mut search)?;
        view(&self.database, |view| {
            search.name_other_regions(view, &worlds.iter().copied().collect())?;
            search.name_held(view)?;
            search.name_worn(view)?;
            search.name_items(view)
        })?;
        for content in self.templates.iter() {
            let prims = template_prims(content).map_err(|error| ArchiveFailure::of(&error))?;
            for body in prims {
                let root = ScenePart { place: PartPlace::default(), flags: 0, body };
                search.closure.name_group(&SceneGroup { root, others: Vec::new() }, "template");
            }
        }
        for (id, document) in documents_of(&self.parts, &worlds)? {
            search.closure.follow(id, ArchivedKind::OPENSIMULATOR_MATERIAL, &document);
        }
        self.follow(&mut search)?;
        if search.closure.is_cut() {
            return Err(ArchiveFailure::new("more assets are named than the report can follow"));
        }
        let tally = self.tally(&search, begun_s)?;
        let accounts = KnownAccounts::new(&self.parts.store);
        let done = (tally.outcome(), tally.figures(search.n_unread, &|agent| accounts.name(agent)));
        accounts.check()?;
        Ok(done)
    }

    /// Notes the assets that the regions of this server name, as they are after a save.
    fn name_regions(&self, search: &mut Search<'_, '_>) -> Result<(), ArchiveFailure> {
        let Self { parts, .. } = self;
        for place in parts.places.iter() {
            let world = place.world();
            search.steps.poll()?;
            parts.runtime.block_on(parts.save(world))?;
            let stored = parts.store.read_region(world)?;
            let bytes = stored.bodies.n_bytes() + stored.states.n_bytes() + stored.land.n_bytes();
            let settings = &parts.settings(world).keeper;
            let (_, region) =
                Keeper::load(settings, &stored, Uuid::nil()).map_err(|error| ArchiveFailure::of(&error))?;
            search.n_unread += (stored.damages.len() + region.damaged.len()) as u64;
            drop(stored);
            name_land(&region.land, &mut search.closure);
            search.name_linksets(&linksets(&region.objects), bytes as u64)?;
        }
        Ok(())
    }

    /// Notes the assets that the named assets name, and so on.
    fn follow(&self, search: &mut Search<'_, '_>) -> Result<(), ArchiveFailure> {
        let Self { parts, .. } = self;
        let mut n_seen = 0;
        while let Some(id) = search.closure.poll_asset() {
            n_seen += 1;
            if AssetSources::is_own(id) {
                continue;
            }
            let mut bytes = ROW_BYTES;
            let kind = parts.store.asset(id)?.and_then(|stored| AssetKind::from_number(stored.row.kind));
            if let Some(kind) = kind.filter(|kind| names_others(*kind)) {
                match parts.assets.read(id).map_err(|error| ArchiveFailure::of(&error))? {
                    Some(asset) => {
                        bytes += asset.bytes.len() as u64;
                        search.closure.follow(id, ArchivedKind::from(kind), &asset.bytes);
                    }
                    None => search.n_unread += 1,
                }
            }
            let total = n_seen + search.closure.n_waiting() as u64;
            search.steps.advance("named assets", n_seen, total, bytes)?;
        }
        Ok(())
    }

    /// Counts the assets that are not named.
    fn tally(&self, search: &Search<'_, '_>, begun_s: i64) -> Result<Tally, ArchiveFailure> {
        let mut tally = Tally::default();
        let mut after = Uuid::nil();
        loop {
            let page = self.parts.store.lasting_assets_after(after, ROWS_AT_ONCE)?;
            let Some(last) = page.last() else { return Ok(tally) };
            after = last.row.id;
            let bytes = ROW_BYTES * page.len() as u64;
            for stored in page {
                let is_new = stored.row.created_s >= begun_s;
                tally.count(&stored.row, is_new || search.closure.has(stored.row.id));
            }
            search.steps.advance("all assets", tally.assets(), 0, bytes)?;
        }
    }
}

impl Search<'_, '_> {
    fn name_linksets(&mut self, linksets: &[PlacedLinkset], bytes: u64) -> Result<(), ArchiveFailure> {
        for prims in linksets {
            if let Some(group) = group_of(prims) {
                self.closure.name_group(&group, "object");
            }
        }
        self.advance(linksets.len(), bytes)
    }

    /// Notes the assets of stored regions that this server no longer has.
    fn name_other_regions(
        &mut self,
        view: &mut StoreView<'_, '_>,
        known: &BTreeSet<WorldId>,
    ) -> Result<(), ArchiveFailure> {
        for world in view.regions_with_rows()?.into_iter().map(WorldId) {
            if known.contains(&world) || !(1..=SHARED_WORLDS_MAX).contains(&world.0) {
                continue;
            }
            let stored = view.region(world)?;
            let all = shared_local_ids(world);
            let ids = RegionIds { kept: kept_object_ids(&all), temporary: temporary_object_ids(&all) };
            // Its land cannot be read without the description of its ground.
            self.n_unread += 1;
            let Ok(found) = check_region(&ids, &stored, None) else { continue };
            self.n_unread += found.damaged.len() as u64;
            let bytes = stored.bodies.n_bytes() + stored.states.n_bytes();
            self.name_linksets(&linksets(&found.objects), bytes as u64)?;
        }
        Ok(())
    }

    fn name_held(&mut self, view: &mut StoreView<'_, '_>) -> Result<(), ArchiveFailure> {
        let mut after = None;
        loop {
            let page = view.held_after(after, ROWS_AT_ONCE)?;
            self.n_unread += page.damages.len() as u64;
            for entry in &page.entries {
                match held_object(&entry.row) {
                    Ok(object) => self.name_linksets(&object.linksets, entry.row.value.len() as u64)?,
                    Err(_) => self.n_unread += 1,
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Notes the assets that worn objects name: those of their items may be of an earlier state.
    fn name_worn(&mut self, view: &mut StoreView<'_, '_>) -> Result<(), ArchiveFailure> {
        let mut after = (AgentId(Uuid::nil()), Uuid::nil());
        loop {
            let rows = view.worn_after(after, ROWS_AT_ONCE)?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = match last {
                Ok(row) => (row.owner, row.item),
                Err(damage) => (damage.owner, damage.item),
            };
            for row in rows {
                let worn = row.ok().and_then(|row| Some((WornObject::of_row(&row).ok()?, row.value.len())));
                match worn {
                    Some((worn, bytes)) => self.name_linksets(&worn.object.linksets, bytes as u64)?,
                    None => self.n_unread += 1,
                }
            }
        }
    }

    fn name_items(&mut self, view: &mut StoreView<'_, '_>) -> Result<(), ArchiveFailure> {
        let mut after = (AgentId(Uuid::nil()), Uuid::nil());
        loop {
            let items = view.items_after(after, ROWS_AT_ONCE)?;
            let Some(last) = items.last() else { return Ok(()) };
            after = (last.owner, last.item);
            for item in items.iter().filter(|item| !LINKS.contains(&item.asset_type)) {
                self.closure.name(item.asset, Certainty::Certain, "item");
            }
            self.advance(items.len(), ROW_BYTES * items.len() as u64)?;
        }
    }

    fn advance(&mut self, n_rows: usize, bytes: u64) -> Result<(), ArchiveFailure> {
        self.n_rows += n_rows as u64;
        Ok(self.steps.advance("rows", self.n_rows, 0, bytes)?)
    }
}

/// True for assets whose bytes may name further ones.
const fn names_others(kind: AssetKind) -> bool {
    matches!(
        kind,
        AssetKind::Object
            | AssetKind::Notecard
            | AssetKind::Gesture
            | AssetKind::Script
            | AssetKind::Clothing
            | AssetKind::BodyPart
            | AssetKind::Settings
            | AssetKind::Material
    )
}
