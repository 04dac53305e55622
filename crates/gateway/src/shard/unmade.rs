//! Items that are not made of objects: inventories hold none.
//!
//! Beside the alert a client gets the reply that it waits for, with a null item. Viewers skip rows without an id; node-metaverse looks the
//! item up, does not find it, and reports an error.

use super::Shard;
use super::incoming::Incoming;
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
