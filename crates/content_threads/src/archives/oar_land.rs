//! Land of an archive for a running region, and the land that it replaces.

use super::oar_check::{CheckedOar, OarLoadOptions};
use super::parts::ArchiveParts;
use super::steps::ArchiveFailure;
use archive::oar::TerrainHeights;
use archiver::region::{FoundTelehub, ParcelRules, estate_of, ground_of, parcels_of, patches_of};
use archiver::{AccountRules, IdRule, RenewedIds};
use gateway::places::Place;
use ids::Uuid;
use keeper::Keeper;
use link::{Estate, GroundPatch, LandReplacement, ReplacedGround, ReplacedParcels, Terrain};
use std::collections::HashSet;
use std::sync::Arc;

/// Parcels and estate of a region as clients are shown them.
pub(super) struct ShownLand {
    parcels: ReplacedParcels,
    estate: Arc<Estate>,
}

impl ShownLand {
    pub(super) fn of(place: &Place) -> Result<Self, ArchiveFailure> {
        let replica = place.scene.feed.current();
        let shown = replica.land().and_then(|land| {
            let (estate, _) = land.estate()?;
            let parcels = land.parcels().map(|known| Arc::clone(&known.parcel)).collect();
            let parcels = ReplacedParcels { parcels, squares: land.squares().into() };
            Some(Self { parcels, estate: Arc::clone(estate) })
        });
        shown.ok_or_else(|| ArchiveFailure::new("the region has not shown its land yet"))
    }
}

/// The terrain of an archive, and the ground that it replaces.
#[derive(Clone, Copy)]
pub(super) struct GroundChange<'a> {
    pub(super) terrain: &'a TerrainHeights,
    pub(super) present: &'a Terrain,
    /// The ground from which edits of the present one are limited.
    pub(super) baked: &'a [GroundPatch],
}

/// Makes the land of one load.
pub(super) struct LandMaker<'a> {
    pub(super) parts: &'a ArchiveParts,
    pub(super) place: &'a Place,
    pub(super) options: &'a OarLoadOptions,
    pub(super) checked: &'a CheckedOar,
    pub(super) accounts: AccountRules<'a>,
    /// Seed of the ids of parcels.
    pub(super) seed: [u8; 32],
}

/// Land to be put into a region, and the land to be put back.
#[derive(Debug, Default)]
pub(super) struct LandStep {
    pub(super) new: LandReplacement,
    pub(super) former: LandReplacement,
    /// Parcels of the archive by their places in its list, each with its id now.
    pub(super) parcels: Vec<(usize, Uuid)>,
}

impl LandMaker<'_> {
    /// Parcels and ground, before the objects come.
    pub(super) fn first(
        &self,
        shown: &ShownLand,
        ground: Option<GroundChange<'_>>,
    ) -> Result<LandStep, ArchiveFailure> {
        let mut step = LandStep::default();
        if self.options.takes_parcels() && !self.checked.plan.parcels().is_empty() {
            let kept = Some(&shown.parcels).filter(|_| self.options.is_merged);
            let rules = ParcelRules {
                placing: self.checked.placing,
                accounts: self.accounts,
                estate_owner: shown.estate.owner,
                region_m: self.place.ground().size_m,
                now_s: self.parts.now_s(),
            };
            let mut ids = RenewedIds::new(self.parcel_ids(), self.seed);
            let loaded = parcels_of(self.checked.plan.parcels(), kept, &rules, &mut ids);
            let loaded = loaded.map_err(|error| ArchiveFailure::of(&error))?;
            step.former.parcels = Some(shown.parcels.clone());
            (step.new.parcels, step.parcels) = (Some(loaded.replaced), loaded.loaded);
        }
        if let Some(GroundChange { terrain, present, baked }) = ground {
            let described = &self.parts.settings(self.place.world()).keeper.land.terrain;
            let patches = patches_of(&ground_of(terrain, &self.checked.placing, present), described);
            step.new.ground = Some(ReplacedGround { patches: patches.clone(), baked: patches });
            let patches = patches_of(present, described);
            step.former.ground = Some(ReplacedGround { patches, baked: baked.to_vec() });
        }
        Ok(step)
    }

    /// The estate, behind the objects: one of them may be its telehub.
    pub(super) fn last(&self, shown: &ShownLand, telehub: Option<&FoundTelehub>) -> LandStep {
        let settings = self.checked.plan.settings().filter(|_| self.options.takes_settings());
        let Some(settings) = settings else { return LandStep::default() };
        let mut estate = estate_of(settings, &shown.estate, telehub);
        if self.options.skips_objects {
            estate.telehub.clone_from(&shown.estate.telehub);
        }
        let replacement = |estate| LandReplacement { estate: Some(estate), ..LandReplacement::default() };
        let former = replacement(Arc::clone(&shown.estate));
        LandStep { new: replacement(Arc::new(estate)), former, parcels: Vec::new() }
    }

    /// Parcels keep their ids, which landmarks and searches have, unless they come beside others, or another region has one of them.
    fn parcel_ids(&self) -> IdRule {
        if self.options.is_merged {
            return IdRule::Renew;
        }
        let mut taken = HashSet::new();
        for place in self.parts.places.iter().filter(|place| place.world() != self.place.world()) {
            let replica = place.scene.feed.current();
            taken.extend(replica.land().into_iter().flat_map(|land| land.parcels()).map(|it| it.parcel.id));
        }
        let is_taken = self.checked.plan.parcels().iter().any(|parcel| taken.contains(&parcel.id));
        if is_taken { IdRule::Renew } else { IdRule::Keep }
    }
}

/// The baked ground of a region as it was saved last.
pub(super) fn saved_baked(parts: &ArchiveParts, place: &Place) -> Result<Vec<GroundPatch>, ArchiveFailure> {
    let stored = parts.store.read_region(place.world())?;
    let loaded = Keeper::load(&parts.settings(place.world()).keeper, &stored, Uuid::nil());
    let (_, region) = loaded.map_err(|error| ArchiveFailure::of(&error))?;
    Ok(region.land.baked)
}
