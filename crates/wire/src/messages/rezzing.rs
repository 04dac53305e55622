//! Objects and items on their way between the inventory and the world.

messages! {
    /// Puts an object of the inventory, or of another object's contents, into the world.
    RezObject: Low 293, zero_coded, from Client {
        agent_data: one RezObjectAgentData {
            agent_id: Uuid, session_id: Uuid, group_id: Uuid,
        }
        rez_data: one RezObjectRezData {
            /// The object that has the item in it; nil for the inventory.
            from_task_id: Uuid,
            bypass_raycast: u8, ray_start: Vec3, ray_end: Vec3, ray_target_id: Uuid,
            ray_end_is_intersection: bool, rez_selected: bool,
            /// The item is to leave the inventory, also if it may be copied.
            remove_item: bool,
            item_flags: u32, group_mask: u32, everyone_mask: u32, next_owner_mask: u32,
        }
        inventory_data: one RezObjectInventoryData {
            item_id: Uuid, folder_id: Uuid, creator_id: Uuid, owner_id: Uuid, group_id: Uuid, base_mask: u32,
            owner_mask: u32, group_mask: u32, everyone_mask: u32, next_owner_mask: u32, group_owned: bool,
            /// Nil, or chosen by the client for this one request.
            transaction_id: Uuid,
            r#type: i8, inv_type: i8, flags: u32, sale_type: u8, sale_price: i32, name: Variable1,
            description: Variable1, creation_date: i32, crc: u32,
        }
    }

    /// Puts objects that are embedded in a notecard into the world.
    RezObjectFromNotecard: Low 294, zero_coded, from Client {
        agent_data: one RezObjectFromNotecardAgentData {
            agent_id: Uuid, session_id: Uuid, group_id: Uuid,
        }
        rez_data: one RezObjectFromNotecardRezData {
            from_task_id: Uuid, bypass_raycast: u8, ray_start: Vec3, ray_end: Vec3, ray_target_id: Uuid,
            ray_end_is_intersection: bool, rez_selected: bool, remove_item: bool, item_flags: u32,
            group_mask: u32, everyone_mask: u32, next_owner_mask: u32,
        }
        notecard_data: one RezObjectFromNotecardNotecardData {
            notecard_item_id: Uuid,
            /// The object that has the notecard in it; nil for the inventory.
            object_id: Uuid,
        }
        inventory_data: many RezObjectFromNotecardInventoryData {
            item_id: Uuid,
        }
    }

    /// Puts an object of the inventory into the world where it was last.
    RezRestoreToWorld: Low 425, plain, from Client {
        agent_data: one RezRestoreToWorldAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        inventory_data: one RezRestoreToWorldInventoryData {
            item_id: Uuid, folder_id: Uuid, creator_id: Uuid, owner_id: Uuid, group_id: Uuid, base_mask: u32,
            owner_mask: u32, group_mask: u32, everyone_mask: u32, next_owner_mask: u32, group_owned: bool,
            transaction_id: Uuid, r#type: i8, inv_type: i8, flags: u32, sale_type: u8, sale_price: i32,
            name: Variable1, description: Variable1, creation_date: i32, crc: u32,
        }
    }

    /// Puts a script into an object: one of the inventory, or a new one.
    RezScript: Low 304, zero_coded, from Client {
        agent_data: one RezScriptAgentData {
            agent_id: Uuid, session_id: Uuid, group_id: Uuid,
        }
        update_block: one RezScriptUpdateBlock {
            object_local_id: u32,
            /// The script runs from the start.
            enabled: bool,
        }
        inventory_block: one RezScriptInventoryBlock {
            /// Nil for a new script.
            item_id: Uuid,
            folder_id: Uuid, creator_id: Uuid, owner_id: Uuid, group_id: Uuid, base_mask: u32, owner_mask: u32,
            group_mask: u32, everyone_mask: u32, next_owner_mask: u32, group_owned: bool, transaction_id: Uuid,
            r#type: i8, inv_type: i8, flags: u32, sale_type: u8, sale_price: i32, name: Variable1,
            description: Variable1, creation_date: i32, crc: u32,
        }
    }

    /// Takes an item out of an object. Without the right to copy it, it leaves the object.
    MoveTaskInventory: Low 288, plain, from Client {
        agent_data: one MoveTaskInventoryAgentData {
            agent_id: Uuid, session_id: Uuid, folder_id: Uuid,
        }
        inventory_data: one MoveTaskInventoryInventoryData {
            local_id: u32, item_id: Uuid,
        }
    }
}
