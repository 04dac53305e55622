//! The land below objects: the rights to build on it and to bring objects there, its room for prims, and the return of objects to their owners.
//!
//! A world without land has none of these rules. The node is bound by none of them, and an operator only by room.

use super::EditedLand;
use super::editor::ObjectEditor;
use crate::land::{Land, LandDeed};
use glam::Vec3;
use ids::{AgentId, LocalId, Uuid};
use link::{DerezKind, EditRefusal, ParcelNumber};

impl ObjectEditor<'_> {
    /// The right to build at a place, and room for so many prims there.
    pub(super) fn need_building_land(&mut self, position: Vec3, n_prims: usize) -> Result<(), EditRefusal> {
        let author = Land::editor(self.actor.agent, self.is_above_land_rules());
        let Some(EditedLand { land, .. }) = &self.land else { return Ok(()) };
        let parcel = land.parcel_below(position);
        if !land.permits(author, LandDeed::Build, parcel) {
            return Err(EditRefusal::NoBuilding);
        }
        let number = parcel.number;
        self.need_room(number, n_prims)
    }

    /// A linkset of this owner may move from one place to another, and there is room for it.
    pub(super) fn need_entry(
        &mut self,
        (owner, n_prims): (AgentId, usize),
        from: Vec3,
        to: Vec3,
    ) -> Result<(), EditRefusal> {
        let Some(EditedLand { land, .. }) = &self.land else { return Ok(()) };
        let (former, parcel) = (land.parcel_below(from), land.parcel_below(to));
        if former.number == parcel.number {
            return Ok(());
        }
        let author = Land::editor(Some(owner), self.is_above_land_rules());
        if !land.permits(author, LandDeed::EnterObjects, parcel) {
            return Err(EditRefusal::NoEntry);
        }
        let number = parcel.number;
        self.need_room(number, n_prims)
    }

    /// Room for so many more prims on the parcel of a place.
    pub(super) fn need_room_at(&mut self, position: Vec3, n_prims: usize) -> Result<(), EditRefusal> {
        let Some(EditedLand { land, .. }) = &self.land else { return Ok(()) };
        let number = land.parcel_below(position).number;
        self.need_room(number, n_prims)
    }

    /// True if the acting user may return the objects on the parcel of a linkset.
    pub(super) fn may_return(&self, root: LocalId) -> bool {
        let author = Land::editor(self.actor.agent, self.is_above_land_rules());
        let position = self.store.motion(root).map(|prim| prim.motion.position);
        self.land.as_ref().zip(position).is_some_and(|(EditedLand { land, .. }, position)| {
            land.permits(author, LandDeed::ReturnObjects, land.parcel_below(position))
        })
    }

    /// Sends a linkset back to its owner.
    pub(super) fn return_to_owner(&mut self, root: LocalId) {
        let result = self.derez_one(root, DerezKind::Return, (Uuid::nil(), Uuid::nil()));
        self.settle(None, result);
    }

    fn need_room(&mut self, number: ParcelNumber, n_prims: usize) -> Result<(), EditRefusal> {
        let (is_node, objects_max) = (self.actor.is_node, self.limits.objects_max);
        let Some(EditedLand { land, uses }) = &mut self.land else { return Ok(()) };
        let Some(parcel) = land.parcel(number).filter(|_| !is_node) else { return Ok(()) };
        uses.settle(self.store, land);
        let n_then = uses.n_prims_on(number) as usize + n_prims;
        if n_then > land.capacity(parcel, objects_max) as usize {
            return Err(EditRefusal::ParcelFull);
        }
        Ok(())
    }

    const fn is_above_land_rules(&self) -> bool {
        self.actor.is_node || self.own.is_operator
    }
}
