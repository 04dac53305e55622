//! The world map.

messages! {
    /// Asks for the tiles of the map.
    MapLayerRequest: Low 405, plain, from Client {
        agent_data: one MapLayerRequestAgentData {
            agent_id: Uuid, session_id: Uuid, flags: u32, estate_id: u32, godlike: bool,
        }
    }

    /// Tiles of the map: rectangles of grid squares and their textures.
    MapLayerReply: Low 406, plain, from Server {
        agent_data: one MapLayerReplyAgentData { agent_id: Uuid, flags: u32 }
        layer_data: many MapLayerReplyLayerData {
            left: u32, right: u32, top: u32, bottom: u32, image_id: Uuid,
        }
    }

    /// Asks for the regions in a rectangle of grid squares.
    MapBlockRequest: Low 407, plain, from Client {
        agent_data: one MapBlockRequestAgentData {
            agent_id: Uuid, session_id: Uuid, flags: u32, estate_id: u32, godlike: bool,
        }
        position_data: one MapBlockRequestPositionData {
            /// Grid squares, inclusive.
            min_x: u16,
            max_x: u16, min_y: u16, max_y: u16,
        }
    }

    /// Asks for regions by the beginning of their name.
    MapNameRequest: Low 408, plain, from Client {
        agent_data: one MapNameRequestAgentData {
            agent_id: Uuid, session_id: Uuid, flags: u32, estate_id: u32, godlike: bool,
        }
        name_data: one MapNameRequestNameData { name: Variable1 }
    }

    /// Regions. node-metaverse waits for one that names the region it is in. The sizes are OpenSimulator's
    /// addition: one row for each row of data, in metres.
    MapBlockReply: Low 409, plain, from Server {
        agent_data: one MapBlockReplyAgentData { agent_id: Uuid, flags: u32 }
        data: many MapBlockReplyData {
            /// Grid square.
            x: u16,
            /// Grid square.
            y: u16,
            name: Variable1,
            /// Maturity; 255 when there is no such region.
            access: u8,
            region_flags: u32, water_height: u8, agents: u8, map_image_id: Uuid,
        }
        size: extra MapBlockReplySize { size_x: u16, size_y: u16 }
    }

    /// Asks for things on the map, by type; 6 is where agents are.
    MapItemRequest: Low 410, plain, from Client {
        agent_data: one MapItemRequestAgentData {
            agent_id: Uuid, session_id: Uuid, flags: u32, estate_id: u32, godlike: bool,
        }
        request_data: one MapItemRequestRequestData { item_type: u32, region_handle: u64 }
    }

    /// Things on the map, in global metres.
    MapItemReply: Low 411, plain, from Server {
        agent_data: one MapItemReplyAgentData { agent_id: Uuid, flags: u32 }
        request_data: one MapItemReplyRequestData { item_type: u32 }
        data: many MapItemReplyData {
            /// Global metres.
            x: u32,
            /// Global metres.
            y: u32,
            id: Uuid,
            /// For agents: how many stand there.
            extra: i32,
            extra2: i32, name: Variable1,
        }
    }

    /// Asks where a region lies, by its id.
    RegionHandleRequest: Low 309, plain, from Client {
        request_block: one RegionHandleRequestRequestBlock {
            region_id: Uuid,
        }
    }

    /// Handle of a region; 0 means that the region does not exist.
    RegionIDAndHandleReply: Low 310, plain, from Server {
        reply_block: one RegionIDAndHandleReplyReplyBlock {
            region_id: Uuid, region_handle: u64,
        }
    }
}
