//! Land that takes the place of the present one as a whole.

use super::ground_edits::GroundBudget;
use super::orders::LandAuthor;
use super::parcels::ParcelMap;
use super::part::Land;
use link::{
    Estate, LandRefusal, LandReplacement, LandState, PATCH_SAMPLES, ReplacedGround, ReplacedParcels, Terrain,
};
use std::sync::Arc;

impl Land {
    /// Replaces parts of the land, all of them or none.
    ///
    /// # Errors
    /// [`LandRefusal::NotPermitted`] unless an operator gives the order, [`LandRefusal::Malformed`] for land that no region can have, and
    /// [`LandRefusal::Busy`] after other edits of the ground in this tick. Nothing has changed then.
    pub(super) fn replace(
        &mut self,
        author: LandAuthor,
        new: LandReplacement,
        terrain: &mut Arc<Terrain>,
        budget: &mut GroundBudget,
    ) -> Result<(), LandRefusal> {
        if !author.is_operator {
            return Err(LandRefusal::NotPermitted);
        }
        let LandReplacement { parcels, estate, ground } = new;
        if estate.as_deref().is_some_and(|estate| !estate.is_sound()) {
            return Err(LandRefusal::Malformed);
        }
        let parcels = parcels.map(|parcels| self.other_parcels(parcels)).transpose()?;
        let ground = ground.map(|ReplacedGround { patches, baked }| {
            self.ground.other(patches, baked).ok_or(LandRefusal::Malformed)
        });
        let ground = ground.transpose()?;
        if let Some(ground) = &ground {
            budget.need()?;
            budget.charge((ground.n_patches() * PATCH_SAMPLES) as u64);
        }
        if let Some(parcels) = parcels {
            self.put_parcels(parcels);
        }
        if let Some(estate) = estate {
            self.edit_estate(Estate::clone(&estate));
        }
        if let Some(ground) = ground {
            self.ground.replace(terrain, ground);
        }
        Ok(())
    }

    /// Other parcels for this region.
    fn other_parcels(&self, new: ReplacedParcels) -> Result<ParcelMap, LandRefusal> {
        let ReplacedParcels { parcels, squares } = new;
        let highest = parcels.last().map_or_else(Default::default, |parcel| parcel.number);
        let last = self.parcels.last_number().max(highest);
        // The estate does not count.
        let estate = Arc::new(self.estate().clone());
        let state = LandState { parcels, squares, estate };
        ParcelMap::restored(self.size_m(), &state, last).ok_or(LandRefusal::Malformed)
    }
}
