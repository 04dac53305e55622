//! Permissions, owners, sales, linksets, attachments, and the end of objects.

use crate::shard::Shard;
use crate::shard::incoming::{Handled, Incoming};
use ids::{AgentId, Uuid};
use link::{Derez, DerezKind, MaskEdit, ObjectCommand, Offer};
use wire::messages::*;

impl Shard {
    pub(in crate::shard) fn on_object_permissions(
        &mut self,
        at: &mut Incoming<'_>,
        m: ObjectPermissions,
    ) -> Handled {
        let read = |row: ObjectPermissionsObjectData| MaskEdit {
            field: row.field,
            is_set: row.set != 0,
            bits: row.mask,
        };
        self.edit_rows(at, m.object_data, |row| row.object_local_id, read, ObjectCommand::Permissions)
    }

    pub(in crate::shard) fn on_object_group(&mut self, at: &mut Incoming<'_>, m: ObjectGroup) -> Handled {
        let group = m.agent_data.group_id;
        let command = |objects| ObjectCommand::Group { objects, group };
        self.edit_ids(at, m.object_data, |row| row.object_local_id, command)
    }

    pub(in crate::shard) fn on_object_owner(&mut self, at: &mut Incoming<'_>, m: ObjectOwner) -> Handled {
        let ObjectOwnerHeaderData { owner_id, group_id: group, .. } = m.header_data;
        let command = |objects| ObjectCommand::Owner { objects, owner: AgentId(owner_id), group };
        self.edit_ids(at, m.object_data, |row| row.object_local_id, command)
    }

    pub(in crate::shard) fn on_object_sale_info(
        &mut self,
        at: &mut Incoming<'_>,
        m: ObjectSaleInfo,
    ) -> Handled {
        let read = |row: ObjectSaleInfoObjectData| Offer { kind: row.sale_type, price: row.sale_price };
        self.edit_rows(at, m.object_data, |row| row.local_id, read, ObjectCommand::Sale)
    }

    pub(in crate::shard) fn on_object_buy(&mut self, at: &mut Incoming<'_>, m: ObjectBuy) -> Handled {
        let group = m.agent_data.group_id;
        let read = |row: ObjectBuyObjectData| Offer { kind: row.sale_type, price: row.sale_price };
        let command = |offers| ObjectCommand::Buy { offers, group };
        self.edit_rows(at, m.object_data, |row| row.object_local_id, read, command)
    }

    pub(in crate::shard) fn on_object_link(&mut self, at: &mut Incoming<'_>, m: ObjectLink) -> Handled {
        self.edit_ids(at, m.object_data, |row| row.object_local_id, ObjectCommand::Link)
    }

    pub(in crate::shard) fn on_object_delink(&mut self, at: &mut Incoming<'_>, m: ObjectDelink) -> Handled {
        self.edit_ids(at, m.object_data, |row| row.object_local_id, ObjectCommand::Delink)
    }

    pub(in crate::shard) fn on_object_delete(&mut self, at: &mut Incoming<'_>, m: ObjectDelete) -> Handled {
        let command = |objects| {
            let kind = DerezKind::Delete;
            ObjectCommand::Derez(Derez { objects, kind, folder: Uuid::nil(), transaction: Uuid::nil() })
        };
        self.edit_ids(at, m.object_data, |row| row.object_local_id, command)
    }
}
