//! Items that are not made: the inventory is read-only.
//!
//! Beside the alert a client gets the reply that it waits for, with a null item. Viewers skip rows without an id; node-metaverse looks the
//! item up, does not find it, and reports an error.

use super::Shard;
use super::incoming::{Handled, Incoming};
use crate::coverage::Feature;
use ids::Uuid;
use std::sync::Arc;
use wire::messages::*;
use wire::text::{VARIABLE1_MAX, to_wire};

/// Destinations of DeRezObject by which a user gets an item.
const TAKE_COPY: u8 = 1;
const TAKE: u8 = 4;
/// Objects of one take that are answered by name; a selection is a few.
const TAKEN_MAX: usize = 8;

impl Shard {
    pub(super) fn on_create_item(&mut self, at: &mut Incoming<'_>, m: CreateInventoryItem) -> Handled {
        let asked = m.inventory_block;
        let row = UpdateCreateInventoryItemInventoryData {
            folder_id: asked.folder_id,
            callback_id: asked.callback_id,
            r#type: asked.r#type,
            inv_type: asked.inv_type,
            name: asked.name,
            description: asked.description,
            ..UpdateCreateInventoryItemInventoryData::default()
        };
        self.refuse_items(at, asked.transaction_id, vec![row])
    }

    pub(super) fn on_link_item(&mut self, at: &mut Incoming<'_>, m: LinkInventoryItem) -> Handled {
        let asked = m.inventory_block;
        let row = UpdateCreateInventoryItemInventoryData {
            folder_id: asked.folder_id,
            callback_id: asked.callback_id,
            r#type: asked.r#type,
            inv_type: asked.inv_type,
            name: asked.name,
            description: asked.description,
            ..UpdateCreateInventoryItemInventoryData::default()
        };
        self.refuse_items(at, asked.transaction_id, vec![row])
    }

    pub(super) fn on_copy_items(&mut self, at: &mut Incoming<'_>, m: CopyInventoryItem) -> Handled {
        let row = |asked: CopyInventoryItemInventoryData| BulkUpdateInventoryItemData {
            callback_id: asked.callback_id,
            folder_id: asked.new_folder_id,
            name: asked.new_name,
            description: to_wire("", VARIABLE1_MAX),
            ..BulkUpdateInventoryItemData::default()
        };
        let agent_id = self.client(at.index).ticket.agent.0;
        for asked in m.inventory_data {
            let agent_data =
                BulkUpdateInventoryAgentData { agent_id, ..BulkUpdateInventoryAgentData::default() };
            let item_data = vec![row(asked)];
            self.reply(at, BulkUpdateInventory { agent_data, folder_data: Vec::new(), item_data });
        }
        Ok(self.refuse_feature(at, Feature::Inventory))
    }

    /// Objects that a user wants to have in the inventory are not taken.
    pub(super) fn refuse_take(&mut self, at: &mut Incoming<'_>, m: &DeRezObject) {
        if ![TAKE, TAKE_COPY].contains(&m.agent_block.destination) {
            return;
        }
        let place = Arc::clone(&self.client(at.index).place);
        let mut rows = Vec::new();
        for row in m.object_data.iter().take(TAKEN_MAX) {
            let Some(object) = self.object_of(at, row.object_local_id) else { continue };
            rows.push(UpdateCreateInventoryItemInventoryData {
                folder_id: m.agent_block.destination_id,
                name: to_wire(place.ground().object_name(object), VARIABLE1_MAX),
                description: to_wire("", VARIABLE1_MAX),
                ..UpdateCreateInventoryItemInventoryData::default()
            });
        }
        if !rows.is_empty() {
            self.send_unmade(at, m.agent_block.transaction_id, rows);
        }
    }

    fn refuse_items(
        &mut self,
        at: &mut Incoming<'_>,
        transaction_id: Uuid,
        rows: Vec<UpdateCreateInventoryItemInventoryData>,
    ) -> Handled {
        self.send_unmade(at, transaction_id, rows);
        Ok(self.refuse_feature(at, Feature::Inventory))
    }

    fn send_unmade(
        &mut self,
        at: &mut Incoming<'_>,
        transaction_id: Uuid,
        inventory_data: Vec<UpdateCreateInventoryItemInventoryData>,
    ) {
        let agent_id = self.client(at.index).ticket.agent.0;
        let agent_data = UpdateCreateInventoryItemAgentData { agent_id, sim_approved: false, transaction_id };
        self.reply(at, UpdateCreateInventoryItem { agent_data, inventory_data });
    }
}
