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

    /// Asks whether a script runs. The answer goes through the event queue.
    GetScriptRunning: Low 243, plain, from Client {
        script: one GetScriptRunningScript {
            object_id: Uuid, item_id: Uuid,
        }
    }
}
