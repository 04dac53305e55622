//! Contents of objects and scripts.

messages! {
    /// Asks for the contents of an object.
    RequestTaskInventory: Low 289, plain, from Client {
        agent_data: one RequestTaskInventoryAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        inventory_data: one RequestTaskInventoryInventoryData {
            local_id: u32,
        }
    }

    /// Names the file of an object's contents; no name means no contents.
    ReplyTaskInventory: Low 290, zero_coded, from Server {
        inventory_data: one ReplyTaskInventoryInventoryData {
            task_id: Uuid, serial: i16, filename: Variable1,
        }
    }

    /// Puts an item into an object, or gives one there other properties.
    UpdateTaskInventory: Low 286, zero_coded, from Client {
        agent_data: one UpdateTaskInventoryAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        update_data: one UpdateTaskInventoryUpdateData {
            local_id: u32,
            /// 0: the item is named by its id.
            key: u8,
        }
        inventory_data: one UpdateTaskInventoryInventoryData {
            item_id: Uuid, folder_id: Uuid, creator_id: Uuid, owner_id: Uuid, group_id: Uuid, base_mask: u32,
            owner_mask: u32, group_mask: u32, everyone_mask: u32, next_owner_mask: u32, group_owned: bool,
            /// Of the upload of a new asset; nil without one.
            transaction_id: Uuid,
            r#type: i8, inv_type: i8, flags: u32, sale_type: u8, sale_price: i32, name: Variable1,
            description: Variable1, creation_date: i32, crc: u32,
        }
    }

    /// Removes an item from an object.
    RemoveTaskInventory: Low 287, zero_coded, from Client {
        agent_data: one RemoveTaskInventoryAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        inventory_data: one RemoveTaskInventoryInventoryData {
            local_id: u32, item_id: Uuid,
        }
    }

    /// Asks whether a script runs. The answer goes through the event queue.
    GetScriptRunning: Low 243, plain, from Client {
        script: one GetScriptRunningScript {
            object_id: Uuid, item_id: Uuid,
        }
    }
}
