//! The inventory over UDP. Current clients fetch it over HTTP.

messages! {
    /// Makes an item. The reply names the same callback.
    CreateInventoryItem: Low 305, zero_coded, from Client {
        agent_data: one CreateInventoryItemAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        inventory_block: one CreateInventoryItemInventoryBlock {
            callback_id: u32, folder_id: Uuid, transaction_id: Uuid, next_owner_mask: u32, r#type: i8,
            inv_type: i8, wearable_type: u8, name: Variable1, description: Variable1,
        }
    }

    /// Items that were made, or changed.
    UpdateCreateInventoryItem: Low 267, zero_coded, from Server {
        agent_data: one UpdateCreateInventoryItemAgentData {
            agent_id: Uuid, sim_approved: bool, transaction_id: Uuid,
        }
        inventory_data: many UpdateCreateInventoryItemInventoryData {
            item_id: Uuid, folder_id: Uuid, callback_id: u32, creator_id: Uuid, owner_id: Uuid, group_id: Uuid,
            base_mask: u32, owner_mask: u32, group_mask: u32, everyone_mask: u32, next_owner_mask: u32,
            group_owned: bool, asset_id: Uuid, r#type: i8, inv_type: i8, flags: u32, sale_type: u8,
            sale_price: i32, name: Variable1, description: Variable1, creation_date: i32, crc: u32,
        }
    }

    /// Makes a link to an item. The reply is [`UpdateCreateInventoryItem`] with the same callback.
    LinkInventoryItem: Low 426, zero_coded, from Client {
        agent_data: one LinkInventoryItemAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        inventory_block: one LinkInventoryItemInventoryBlock {
            callback_id: u32, folder_id: Uuid, transaction_id: Uuid, old_item_id: Uuid, r#type: i8,
            inv_type: i8, name: Variable1, description: Variable1,
        }
    }

    /// Copies items. The reply is [`BulkUpdateInventory`] with the same callbacks.
    CopyInventoryItem: Low 269, zero_coded, from Client {
        agent_data: one CopyInventoryItemAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        inventory_data: many CopyInventoryItemInventoryData {
            callback_id: u32, old_agent_id: Uuid, old_item_id: Uuid, new_folder_id: Uuid, new_name: Variable1,
        }
    }

    /// Folders and items that came or were changed.
    BulkUpdateInventory: Low 281, zero_coded, from Server {
        agent_data: one BulkUpdateInventoryAgentData {
            agent_id: Uuid, transaction_id: Uuid,
        }
        folder_data: many BulkUpdateInventoryFolderData {
            folder_id: Uuid, parent_id: Uuid, r#type: i8, name: Variable1,
        }
        item_data: many BulkUpdateInventoryItemData {
            item_id: Uuid, callback_id: u32, folder_id: Uuid, creator_id: Uuid, owner_id: Uuid, group_id: Uuid,
            base_mask: u32, owner_mask: u32, group_mask: u32, everyone_mask: u32, next_owner_mask: u32,
            group_owned: bool, asset_id: Uuid, r#type: i8, inv_type: i8, flags: u32, sale_type: u8,
            sale_price: i32, name: Variable1, description: Variable1, creation_date: i32, crc: u32,
        }
    }

    /// Gives items other properties.
    UpdateInventoryItem: Low 266, zero_coded, from Client {
        agent_data: one UpdateInventoryItemAgentData {
            agent_id: Uuid, session_id: Uuid, transaction_id: Uuid,
        }
        inventory_data: many UpdateInventoryItemInventoryData {
            item_id: Uuid, folder_id: Uuid, callback_id: u32, creator_id: Uuid, owner_id: Uuid, group_id: Uuid,
            base_mask: u32, owner_mask: u32, group_mask: u32, everyone_mask: u32, next_owner_mask: u32,
            group_owned: bool,
            /// Of the upload of a new asset; nil without one.
            transaction_id: Uuid,
            r#type: i8, inv_type: i8, flags: u32, sale_type: u8, sale_price: i32, name: Variable1,
            description: Variable1, creation_date: i32, crc: u32,
        }
    }

    /// Moves items to folders.
    MoveInventoryItem: Low 268, zero_coded, from Client {
        agent_data: one MoveInventoryItemAgentData {
            agent_id: Uuid, session_id: Uuid, stamp: bool,
        }
        inventory_data: many MoveInventoryItemInventoryData {
            item_id: Uuid, folder_id: Uuid,
            /// Empty if it stays.
            new_name: Variable1,
        }
    }

    /// Removes items.
    RemoveInventoryItem: Low 270, plain, from Either {
        agent_data: one RemoveInventoryItemAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        inventory_data: many RemoveInventoryItemInventoryData {
            item_id: Uuid,
        }
    }

    /// Copies items that are embedded in a notecard. Current clients ask for it by a capability.
    CopyInventoryFromNotecard: Low 265, zero_coded, from Client {
        agent_data: one CopyInventoryFromNotecardAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        notecard_data: one CopyInventoryFromNotecardNotecardData {
            notecard_item_id: Uuid,
            /// The object that has the notecard in it; nil for the user's inventory.
            object_id: Uuid,
        }
        inventory_data: many CopyInventoryFromNotecardInventoryData {
            item_id: Uuid, folder_id: Uuid,
        }
    }

    /// Gives items other flags.
    ChangeInventoryItemFlags: Low 271, plain, from Client {
        agent_data: one ChangeInventoryItemFlagsAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        inventory_data: many ChangeInventoryItemFlagsInventoryData {
            item_id: Uuid, flags: u32,
        }
    }

    /// Makes a folder, whose id the client has chosen.
    CreateInventoryFolder: Low 273, plain, from Client {
        agent_data: one CreateInventoryFolderAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        folder_data: one CreateInventoryFolderFolderData {
            folder_id: Uuid, parent_id: Uuid, r#type: i8, name: Variable1,
        }
    }

    /// Gives folders other names and types.
    UpdateInventoryFolder: Low 274, plain, from Client {
        agent_data: one UpdateInventoryFolderAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        folder_data: many UpdateInventoryFolderFolderData {
            folder_id: Uuid, parent_id: Uuid, r#type: i8, name: Variable1,
        }
    }

    /// Moves folders into others.
    MoveInventoryFolder: Low 275, zero_coded, from Client {
        agent_data: one MoveInventoryFolderAgentData {
            agent_id: Uuid, session_id: Uuid, stamp: bool,
        }
        inventory_data: many MoveInventoryFolderInventoryData {
            folder_id: Uuid, parent_id: Uuid,
        }
    }

    /// Removes folders with everything in them.
    RemoveInventoryFolder: Low 276, plain, from Client {
        agent_data: one RemoveInventoryFolderAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        folder_data: many RemoveInventoryFolderFolderData {
            folder_id: Uuid,
        }
    }

    /// Removes folders and items.
    RemoveInventoryObjects: Low 284, plain, from Client {
        agent_data: one RemoveInventoryObjectsAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        folder_data: many RemoveInventoryObjectsFolderData {
            folder_id: Uuid,
        }
        item_data: many RemoveInventoryObjectsItemData {
            item_id: Uuid,
        }
    }

    /// Removes everything in a folder, which stays.
    PurgeInventoryDescendents: Low 285, zero_coded, from Client {
        agent_data: one PurgeInventoryDescendentsAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        inventory_data: one PurgeInventoryDescendentsInventoryData {
            folder_id: Uuid,
        }
    }

    /// Asks for items.
    FetchInventory: Low 279, zero_coded, from Client {
        agent_data: one FetchInventoryAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        inventory_data: many FetchInventoryInventoryData {
            owner_id: Uuid, item_id: Uuid,
        }
    }

    /// Items.
    FetchInventoryReply: Low 280, zero_coded, from Server {
        agent_data: one FetchInventoryReplyAgentData {
            agent_id: Uuid,
        }
        inventory_data: many FetchInventoryReplyInventoryData {
            item_id: Uuid, folder_id: Uuid, creator_id: Uuid, owner_id: Uuid, group_id: Uuid,
            base_mask: u32, owner_mask: u32, group_mask: u32, everyone_mask: u32, next_owner_mask: u32,
            group_owned: bool, asset_id: Uuid, r#type: i8, inv_type: i8, flags: u32, sale_type: u8,
            sale_price: i32, name: Variable1, description: Variable1, creation_date: i32, crc: u32,
        }
    }

    /// Asks for what a folder holds.
    FetchInventoryDescendents: Low 277, zero_coded, from Client {
        agent_data: one FetchInventoryDescendentsAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        inventory_data: one FetchInventoryDescendentsInventoryData {
            folder_id: Uuid, owner_id: Uuid, sort_order: i32, fetch_folders: bool, fetch_items: bool,
        }
    }

    /// Contents of a folder, in parts.
    InventoryDescendents: Low 278, zero_coded, from Server {
        agent_data: one InventoryDescendentsAgentData {
            agent_id: Uuid, folder_id: Uuid, owner_id: Uuid, version: i32, descendents: i32,
        }
        folder_data: many InventoryDescendentsFolderData {
            folder_id: Uuid, parent_id: Uuid, r#type: i8, name: Variable1,
        }
        item_data: many InventoryDescendentsItemData {
            item_id: Uuid, folder_id: Uuid, creator_id: Uuid, owner_id: Uuid, group_id: Uuid,
            base_mask: u32, owner_mask: u32, group_mask: u32, everyone_mask: u32, next_owner_mask: u32,
            group_owned: bool, asset_id: Uuid, r#type: i8, inv_type: i8, flags: u32, sale_type: u8,
            sale_price: i32, name: Variable1, description: Variable1, creation_date: i32, crc: u32,
        }
    }
}
