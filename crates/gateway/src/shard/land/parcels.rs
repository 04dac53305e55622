//! Changes of parcels: settings, lists, borders, owners.

use super::number_of;
use crate::coverage::Feature;
use crate::land::parcel_of_message;
use crate::shard::Shard;
use crate::shard::counters::Refused;
use crate::shard::incoming::{Handled, Incoming};
use ids::{AgentId, LocalId, Uuid};
use link::{
    AccessEntry, AccessList, Derez, DerezKind, LandEdit, LandRect, LandRefusal, ObjectCommand, ParcelEdit,
    ReturnKinds,
};
use std::collections::BTreeSet;
use wire::messages::*;

/// Flags of an access list.
const ALLOWED: u32 = 1;
const BANNED: u32 = 1 << 1;

impl Shard {
    pub(in crate::shard) fn on_parcel_update(
        &mut self,
        at: &mut Incoming<'_>,
        m: ParcelPropertiesUpdate,
    ) -> Handled {
        let Some(known) = self.parcel_of(at, m.parcel_data.local_id) else {
            return self.refuse_unknown_parcel(at);
        };
        let settings = parcel_of_message(&known.parcel.settings, &m.parcel_data).ok_or(Refused::BadValue)?;
        self.edit_parcel(at, known.parcel.number, ParcelEdit::Settings(Box::new(settings)))
    }

    pub(in crate::shard) fn on_parcel_access_update(
        &mut self,
        at: &mut Incoming<'_>,
        m: ParcelAccessListUpdate,
    ) -> Handled {
        let list = match m.data.flags {
            ALLOWED => AccessList::Allowed,
            BANNED => AccessList::Banned,
            // Lists of experiences, which do not exist.
            _ => return Ok(self.refuse_feature(at, Feature::Method)),
        };
        let entry = |row: &ParcelAccessListUpdateList| AccessEntry {
            agent: AgentId(row.id),
            expires_s: u64::from(row.time.max(0).unsigned_abs()),
        };
        let edit = ParcelEdit::Access {
            list,
            is_first: m.data.sequence_id <= 1,
            entries: m.list.iter().map(entry).collect(),
        };
        self.edit_numbered(at, m.data.local_id, edit)
    }

    pub(in crate::shard) fn on_other_clean_time(
        &mut self,
        at: &mut Incoming<'_>,
        m: ParcelSetOtherCleanTime,
    ) -> Handled {
        let minutes = m.parcel_data.other_clean_time.max(0).unsigned_abs();
        self.edit_numbered(at, m.parcel_data.local_id, ParcelEdit::AutoReturn { minutes })
    }

    /// Objects are returned by kind or owner, or by their ids, wherever they are.
    pub(in crate::shard) fn on_return_objects(
        &mut self,
        at: &mut Incoming<'_>,
        m: ParcelReturnObjects,
    ) -> Handled {
        let kinds = ReturnKinds(m.parcel_data.return_type);
        let all = [
            ReturnKinds::OWNER,
            ReturnKinds::GROUP,
            ReturnKinds::OTHER,
            ReturnKinds::LISTED,
            ReturnKinds::FOR_SALE,
        ];
        if !all.iter().any(|kind| kinds.any(*kind)) {
            return self.return_named(at, &m.task_ids);
        }
        let owners = m.owner_ids.iter().map(|row| AgentId(row.owner_id)).collect();
        self.edit_numbered(at, m.parcel_data.local_id, ParcelEdit::ReturnObjects { kinds, owners })
    }

    /// Returns the objects of these prims, as far as the world lets the sender.
    fn return_named(&mut self, at: &mut Incoming<'_>, rows: &[ParcelReturnObjectsTaskIDs]) -> Handled {
        let replica = self.client(at.index).place.scene.feed.current();
        let prims = replica.objects();
        let root_of = |row: &ParcelReturnObjectsTaskIDs| {
            let id = prims.of_id(row.task_id)?;
            let parent = prims.get(id)?.prim.parent;
            // The parent of a worn object is an avatar.
            Some(if prims.get(parent).is_some() { parent } else { id })
        };
        let roots: BTreeSet<LocalId> = rows.iter().filter_map(root_of).collect();
        if roots.is_empty() {
            return Ok(self.refuse_feature(at, Feature::UnknownObject));
        }
        let (objects, kind) = (roots.into_iter().collect(), DerezKind::Return);
        let derez = Derez { objects, kind, folder: Uuid::nil(), transaction: Uuid::nil() };
        self.edit(at, ObjectCommand::Derez(derez))
    }

    pub(in crate::shard) fn on_parcel_release(&mut self, at: &mut Incoming<'_>, m: ParcelRelease) -> Handled {
        self.edit_numbered(at, m.data.local_id, ParcelEdit::Release)
    }

    pub(in crate::shard) fn on_parcel_reclaim(&mut self, at: &mut Incoming<'_>, m: ParcelReclaim) -> Handled {
        self.edit_numbered(at, m.data.local_id, ParcelEdit::Reclaim)
    }

    pub(in crate::shard) fn on_parcel_buy(&mut self, at: &mut Incoming<'_>, m: ParcelBuy) -> Handled {
        if m.data.is_group_owned {
            return Ok(self.refuse_feature(at, Feature::Groups));
        }
        let unsigned = |number: i32| u32::try_from(number).map_err(|_| Refused::BadValue);
        let edit =
            ParcelEdit::Buy { price: unsigned(m.parcel_data.price)?, area_m2: unsigned(m.parcel_data.area)? };
        self.edit_numbered(at, m.data.local_id, edit)
    }

    pub(in crate::shard) fn on_parcel_force_owner(
        &mut self,
        at: &mut Incoming<'_>,
        m: ParcelGodForceOwner,
    ) -> Handled {
        let owner = Some(AgentId(m.data.owner_id)).filter(|owner| !owner.0.is_nil());
        self.edit_numbered(at, m.data.local_id, ParcelEdit::ForceOwner(owner))
    }

    pub(in crate::shard) fn on_parcel_divide(&mut self, at: &mut Incoming<'_>, m: ParcelDivide) -> Handled {
        let ParcelDivideParcelData { west, south, east, north } = m.parcel_data;
        let id = self.new_parcel_id(at.index);
        self.edit_land(at, LandEdit::Divide { area: LandRect { west, south, east, north }, id })
    }

    pub(in crate::shard) fn on_parcel_join(&mut self, at: &mut Incoming<'_>, m: ParcelJoin) -> Handled {
        let ParcelJoinParcelData { west, south, east, north } = m.parcel_data;
        self.edit_land(at, LandEdit::Join(LandRect { west, south, east, north }))
    }

    /// A change of the parcel with the number that the client has sent.
    fn edit_numbered(&mut self, at: &mut Incoming<'_>, local_id: i32, edit: ParcelEdit) -> Handled {
        match number_of(local_id) {
            Some(number) => self.edit_parcel(at, number, edit),
            None => self.refuse_unknown_parcel(at),
        }
    }

    fn refuse_unknown_parcel(&mut self, at: &mut Incoming<'_>) -> Handled {
        let has_land = self.client(at.index).place.scene.feed.current().land().is_some();
        if has_land {
            self.refuse_land(at, LandRefusal::UnknownParcel)
        } else {
            Ok(self.refuse_feature(at, Feature::Land))
        }
    }
}
