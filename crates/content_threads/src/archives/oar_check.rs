//! Check of an archive before its load: every reason to refuse it is found before anything of it is in the region.

use super::parts::{ArchiveParts, ArchiveRegion, KnownAccounts, KnownAssets};
use super::steps::{ArchiveFailure, WatchedFile, WorkSteps};
use archive::check::{ArchiveReport, CheckConfig, check_oar_with};
use archiver::IdRule;
use archiver::region::{Placing, PlacingOptions, RegionDemand, RegionPlan, RegionPlanner};
use gateway::places::Place;
use ids::{AgentId, LocalId, Uuid};
use link::PrimFlags;
use std::collections::HashSet;
use std::fs::File;
use std::ops::Range;
use world::{REGION_CARRIED_MAX, REGION_ITEMS_MAX};

/// Options of a load, as OpenSimulator has them.
#[derive(Clone, Debug, Default)]
pub(super) struct OarLoadOptions {
    /// Name or folder of the region in an archive of several.
    pub(super) source: Option<String>,
    /// The region's content stays.
    pub(super) is_merged: bool,
    /// Objects with ids of the archive are replaced, though.
    pub(super) is_replacing: bool,
    pub(super) skips_assets: bool,
    pub(super) skips_objects: bool,
    /// The terrain comes in also when merging.
    pub(super) forces_terrain: bool,
    /// The parcels come in also when merging.
    pub(super) forces_parcels: bool,
    pub(super) keeps_ids: bool,
    /// First and last name of the account in place of unknown ones.
    pub(super) default_user: Option<String>,
    pub(super) placing: PlacingOptions,
}

impl OarLoadOptions {
    /// Rule for ids: objects that replace others have the ids of these.
    pub(super) const fn ids(&self) -> IdRule {
        if self.keeps_ids || (self.is_merged && self.is_replacing) { IdRule::Keep } else { IdRule::Renew }
    }

    pub(super) const fn takes_settings(&self) -> bool {
        !self.is_merged
    }

    pub(super) const fn takes_terrain(&self) -> bool {
        !self.is_merged || self.forces_terrain
    }

    pub(super) const fn takes_parcels(&self) -> bool {
        !self.is_merged || self.forces_parcels
    }
}

/// Linksets that make room for the linksets of an archive.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Clearing {
    None,
    /// All linksets that are kept and not worn.
    All,
    /// Linksets with these ids of their roots.
    Roots(HashSet<Uuid>),
}

impl Clearing {
    /// True for a linkset with this root.
    pub(super) fn has(&self, root: Uuid) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Roots(roots) => roots.contains(&root),
        }
    }
}

/// An archive that can be loaded, as far as the region stays as it is.
#[derive(Debug)]
pub(super) struct CheckedOar {
    pub(super) plan: RegionPlan,
    pub(super) report: ArchiveReport,
    pub(super) placing: Placing,
    /// Linksets of the region that go.
    pub(super) clearing: Clearing,
    /// Ids in the archive of roots that the region has already; these objects stay out.
    pub(super) skipped: HashSet<Uuid>,
    pub(super) default_user: AgentId,
}

/// Checks an archive for a load.
///
/// # Errors
/// The first reason for which it is not loaded.
pub(super) fn check_load(
    parts: &ArchiveParts,
    place: &Place,
    file: &File,
    options: &OarLoadOptions,
    accounts: &KnownAccounts<'_>,
    steps: &WorkSteps<'_>,
) -> Result<CheckedOar, ArchiveFailure> {
    let settings = parts.settings(place.world());
    let assets = KnownAssets::new(&parts.store);
    let config = CheckConfig {
        knows_account: &|account| accounts.has(AgentId(account)),
        knows_asset: &|asset| assets.has(asset),
        prims_max: settings.objects_max.into(),
        ..CheckConfig::default()
    };
    let mut planner = RegionPlanner::default();
    let input = WatchedFile::new(file, steps, "check")?;
    let report = check_oar_with(input, &config, &mut planner).map_err(|error| steps.failure(&error))?;
    // A file that could not be read on may have been a job that is to end.
    steps.poll()?;
    accounts.check()?;
    assets.check()?;
    if let Some(why) = &report.cut_short {
        return Err(ArchiveFailure::new(why.to_string()));
    }
    let plan = planner.finish(options.source.as_deref(), place.name(), &report);
    let plan = plan.map_err(|error| ArchiveFailure::of(&error))?;
    let placing = plan.placing(options.placing, place.ground().size_m);
    let default_user = default_user(parts, place, options, &report)?;
    let clearing = clearing(&plan, &placing, options);
    let staying = Staying::of(place, &settings.keeper.ids.kept, &clearing);
    let skipped = staying.skipped(&plan, &placing, options)?;
    let demand = match options.skips_objects {
        true => RegionDemand::default(),
        false => plan.demand(&placing, &|root| skipped.contains(&root)),
    };
    staying.check_room(&demand, settings)?;
    Ok(CheckedOar { plan, report, placing, clearing, skipped, default_user })
}

/// The account in place of unknown ones: an account that was named, or the owner of the estate. Without unknown accounts it does not matter.
fn default_user(
    parts: &ArchiveParts,
    place: &Place,
    options: &OarLoadOptions,
    report: &ArchiveReport,
) -> Result<AgentId, ArchiveFailure> {
    if let Some(name) = &options.default_user {
        return parts.account(name);
    }
    let replica = place.scene.feed.current();
    let estate_owner = replica.land().and_then(|land| land.estate()?.0.owner);
    let is_needed = !report.owners_unknown.is_empty() || !report.creators_unknown.is_empty();
    match estate_owner {
        Some(owner) => Ok(owner),
        None if is_needed => Err(ArchiveFailure::new(
            "the archive has owners or creators without an account here, and the estate has no owner: name an account in their place (`--default-user`)",
        )),
        None => Ok(AgentId(Uuid::nil())),
    }
}

fn clearing(plan: &RegionPlan, placing: &Placing, options: &OarLoadOptions) -> Clearing {
    match (options.skips_objects, options.is_merged, options.is_replacing) {
        (true, ..) | (false, true, false) => Clearing::None,
        (false, false, _) => Clearing::All,
        (false, true, true) => Clearing::Roots(plan.placed_ids(placing).map(|(root, _)| root).collect()),
    }
}

/// Prims of a region that stay during a load.
#[derive(Debug, Default)]
struct Staying {
    roots: HashSet<Uuid>,
    prims: HashSet<Uuid>,
    n_prims: u64,
    n_physical: u64,
    n_items: u64,
    carried_bytes: u64,
}

impl Staying {
    fn of(place: &Place, kept: &Range<u32>, clearing: &Clearing) -> Self {
        let replica = place.scene.feed.current();
        let objects = replica.objects();
        let mut staying = Self::default();
        for (id, entry) in objects.entries() {
            let is_root = entry.prim.parent == LocalId(0);
            let root = if is_root { Some(entry) } else { objects.get(entry.prim.parent) };
            let may_go = kept.contains(&id.0) && entry.wearer.is_none();
            if may_go && root.is_some_and(|root| clearing.has(root.body.id)) {
                continue;
            }
            if is_root {
                staying.roots.insert(entry.body.id);
            }
            staying.prims.insert(entry.body.id);
            staying.n_prims += 1;
            staying.n_physical += u64::from(entry.prim.flags.any(PrimFlags::PHYSICS));
            staying.n_items += entry.body.n_items() as u64;
            staying.carried_bytes += entry.body.carried_len() as u64;
        }
        staying
    }

    /// Ids of roots of the archive that are there already. With new ids none is.
    fn skipped(
        &self,
        plan: &RegionPlan,
        placing: &Placing,
        options: &OarLoadOptions,
    ) -> Result<HashSet<Uuid>, ArchiveFailure> {
        let mut skipped = HashSet::new();
        if options.skips_objects || options.ids() == IdRule::Renew {
            return Ok(skipped);
        }
        for (root, prims) in plan.placed_ids(placing) {
            if self.roots.contains(&root) {
                skipped.insert(root);
            } else if let Some(taken) = prims.iter().find(|prim| self.prims.contains(*prim)) {
                return Err(ArchiveFailure::new(format!(
                    "a part of the object {root} has the id {taken}, which is that of another object of the region"
                )));
            }
        }
        Ok(skipped)
    }

    /// Refuses more than the region may have.
    fn check_room(&self, demand: &RegionDemand, settings: &ArchiveRegion) -> Result<(), ArchiveFailure> {
        let rows = [
            ("prims", demand.n_prims, self.n_prims, u64::from(settings.objects_max), " (`max_objects`)"),
            (
                "physical prims",
                demand.n_physical,
                self.n_physical,
                u64::from(settings.physical_max),
                " (`max_physical`)",
            ),
            ("items in prims", demand.n_items, self.n_items, REGION_ITEMS_MAX as u64, ""),
            (
                "bytes of data of archives",
                demand.carried_bytes,
                self.carried_bytes,
                REGION_CARRIED_MAX as u64,
                "",
            ),
        ];
        for (what, n_new, n_there, n_max, setting) in rows {
            if n_new > 0 && n_there + n_new > n_max {
                return Err(ArchiveFailure::new(format!(
                    "the region has room for {n_max} {what}{setting}: {n_there} stay there, and the archive has {n_new}"
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::keeper_config;

    fn settings() -> ArchiveRegion {
        ArchiveRegion { keeper: keeper_config(), objects_max: 100, physical_max: 10 }
    }

    #[test]
    fn a_region_is_not_filled_beyond_any_of_its_bounds() {
        let staying = Staying { n_prims: 60, n_physical: 20, n_items: 5, ..Staying::default() };
        let check = |demand: RegionDemand| staying.check_room(&demand, &settings());
        let none = RegionDemand::default();
        // It has more physical ones than it may have, as before.
        assert!(check(RegionDemand { n_prims: 40, ..none }).is_ok());
        for (demand, named) in [
            (RegionDemand { n_prims: 41, ..none }, "100 prims"),
            (RegionDemand { n_prims: 1, n_physical: 1, ..none }, "10 physical prims"),
            (RegionDemand { n_items: REGION_ITEMS_MAX as u64 - 4, ..none }, "items"),
            (RegionDemand { carried_bytes: REGION_CARRIED_MAX as u64 + 1, ..none }, "bytes"),
        ] {
            let Err(ArchiveFailure::Failed(why)) = check(demand) else { panic!("{demand:?}") };
            assert!(why.contains(named), "{why}");
        }
    }

    #[test]
    fn merging_leaves_settings_terrain_and_parcels_unless_they_are_forced() {
        let takes = |options: &OarLoadOptions| {
            (options.takes_settings(), options.takes_terrain(), options.takes_parcels(), options.ids())
        };
        let merged = OarLoadOptions { is_merged: true, ..OarLoadOptions::default() };
        assert_eq!(takes(&OarLoadOptions::default()), (true, true, true, IdRule::Renew));
        assert_eq!(takes(&merged), (false, false, false, IdRule::Renew));
        let forced = OarLoadOptions { forces_terrain: true, forces_parcels: true, ..merged.clone() };
        assert_eq!(takes(&forced), (false, true, true, IdRule::Renew));
        let replacing = OarLoadOptions { is_replacing: true, ..merged };
        assert_eq!(replacing.ids(), IdRule::Keep);
        assert!(!Clearing::None.has(Uuid::nil()) && Clearing::All.has(Uuid::nil()));
        assert!(!Clearing::Roots(HashSet::from([Uuid::from_u128(1)])).has(Uuid::nil()));
    }
}
