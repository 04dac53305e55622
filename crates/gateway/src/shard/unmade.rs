//! Items that are not made of objects: static ones cannot be taken, and those that are not there.
//!
//! Beside the alert a client gets the reply that it waits for, with a null item. Viewers skip rows without an id; node-metaverse looks the
//! item up, does not find it, and reports an error.

use super::Shard;
use super::incoming::Incoming;
use ids::Uuid;
use std::sync::Arc;
use wire::messages::*;
use wire::text::{VARIABLE1_MAX, to_wire};

/// Objects of one take that are answered by name; a selection is a few.
const TAKEN_MAX: usize = 8;

impl Shard {
    /// Ends the wait of a client for the items of objects, by their local ids, that it wants to have in a folder of its inventory.
    pub(super) fn refuse_take(
        &mut self,
        at: &mut Incoming<'_>,
        transaction_id: Uuid,
        folder_id: Uuid,
        objects: &[u32],
    ) {
        let place = Arc::clone(&self.client(at.index).place);
        let mut inventory_data = Vec::new();
        for &id in objects.iter().take(TAKEN_MAX) {
            let Some(object) = self.object_of(at, id) else { continue };
            inventory_data.push(UpdateCreateInventoryItemInventoryData {
                folder_id,
                name: to_wire(place.ground().object_name(object), VARIABLE1_MAX),
                description: to_wire("", VARIABLE1_MAX),
                ..UpdateCreateInventoryItemInventoryData::default()
            });
        }
        if inventory_data.is_empty() {
            return;
        }
        let agent_id = self.client(at.index).ticket.agent.0;
        let agent_data = UpdateCreateInventoryItemAgentData { agent_id, sim_approved: false, transaction_id };
        self.reply(at, UpdateCreateInventoryItem { agent_data, inventory_data });
    }
}
