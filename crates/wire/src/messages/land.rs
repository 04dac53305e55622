//! Terrain and parcels. The properties of a parcel themselves go over the event queue: clients refuse them
//! here.

messages! {
    /// Patches of terrain, water, wind or clouds; see [`crate::terrain`].
    LayerData: High 11, plain, from Server {
        layer_id: one LayerDataLayerID {
            /// Kind of the layer: 0x4C (`L`) is land.
            r#type: u8,
        }
        layer_data: one LayerDataLayerData { data: Variable2 }
    }

    /// A stroke of the terrain brush.
    ModifyLand: Low 124, zero_coded, from Client {
        agent_data: one ModifyLandAgentData { agent_id: Uuid, session_id: Uuid }
        modify_block: one ModifyLandModifyBlock { action: u8, brush_size: u8, seconds: f32, height: f32 }
        parcel_data: many ModifyLandParcelData { local_id: i32, west: f32, south: f32, east: f32, north: f32 }
        modify_block_extended: many ModifyLandModifyBlockExtended { brush_size: f32 }
    }

    /// Ownership of each 4 m square, 1,024 squares per message.
    ParcelOverlay: Low 196, zero_coded, from Server {
        parcel_data: one ParcelOverlayParcelData {
            /// Index of this kilobyte in the whole overlay.
            sequence_id: i32,
            data: Variable2,
        }
    }

    /// Asks for the parcel under a rectangle, in metres; answered over the event queue.
    ParcelPropertiesRequest: Medium 11, zero_coded, from Client {
        agent_data: one ParcelPropertiesRequestAgentData { agent_id: Uuid, session_id: Uuid }
        parcel_data: one ParcelPropertiesRequestParcelData {
            /// Repeated in the answer; negative numbers have meanings of their own.
            sequence_id: i32,
            west: f32, south: f32, east: f32, north: f32, snap_selection: bool,
        }
    }

    /// Asks for a parcel's traffic. node-metaverse learns parcel ids this way.
    ParcelDwellRequest: Low 218, plain, from Client {
        agent_data: one ParcelDwellRequestAgentData { agent_id: Uuid, session_id: Uuid }
        data: one ParcelDwellRequestData { local_id: i32, parcel_id: Uuid }
    }

    /// A parcel's traffic and its id.
    ParcelDwellReply: Low 219, plain, from Server {
        agent_data: one ParcelDwellReplyAgentData { agent_id: Uuid }
        data: one ParcelDwellReplyData { local_id: i32, parcel_id: Uuid, dwell: f32 }
    }

    /// Asks for what a search result or landmark shows of a parcel.
    ParcelInfoRequest: Low 54, plain, from Client {
        agent_data: one ParcelInfoRequestAgentData { agent_id: Uuid, session_id: Uuid }
        data: one ParcelInfoRequestData { parcel_id: Uuid }
    }

    /// A parcel as displayed by search results and landmarks.
    ParcelInfoReply: Low 55, zero_coded, from Server {
        agent_data: one ParcelInfoReplyAgentData { agent_id: Uuid }
        data: one ParcelInfoReplyData {
            parcel_id: Uuid, owner_id: Uuid, name: Variable1, desc: Variable1, actual_area: i32,
            billable_area: i32, flags: u8, global_x: f32, global_y: f32, global_z: f32, sim_name: Variable1,
            snapshot_id: Uuid, dwell: f32, sale_price: i32, auction_id: i32,
        }
    }

    /// Requests a parcel's access or ban list.
    ParcelAccessListRequest: Low 215, zero_coded, from Client {
        agent_data: one ParcelAccessListRequestAgentData { agent_id: Uuid, session_id: Uuid }
        data: one ParcelAccessListRequestData { sequence_id: i32, flags: u32, local_id: i32 }
    }

    /// A parcel's access or ban list.
    ParcelAccessListReply: Low 216, zero_coded, from Server {
        data: one ParcelAccessListReplyData { agent_id: Uuid, sequence_id: i32, flags: u32, local_id: i32 }
        list: many ParcelAccessListReplyList { id: Uuid, time: i32, flags: u32 }
    }

    /// Requests the owners of the objects on a parcel.
    ParcelObjectOwnersRequest: Low 56, plain, from Client {
        agent_data: one ParcelObjectOwnersRequestAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        parcel_data: one ParcelObjectOwnersRequestParcelData {
            local_id: i32,
        }
    }

    /// Owners of objects on a parcel.
    ParcelObjectOwnersReply: Low 57, zero_coded, from Server {
        data: many ParcelObjectOwnersReplyData {
            owner_id: Uuid, is_group_owned: bool, count: i32, online_status: bool,
        }
    }

    /// Asks for a parcel by its number. The answer goes through the event queue.
    ParcelPropertiesRequestByID: Low 197, zero_coded, from Client {
        agent_data: one ParcelPropertiesRequestByIDAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        parcel_data: one ParcelPropertiesRequestByIDParcelData {
            sequence_id: i32, local_id: i32,
        }
    }

    /// Asks for the covenant of the estate.
    EstateCovenantRequest: Low 203, plain, from Client {
        agent_data: one EstateCovenantRequestAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
    }

    /// The covenant of the estate.
    EstateCovenantReply: Low 204, plain, from Server {
        data: one EstateCovenantReplyData {
            covenant_id: Uuid, covenant_timestamp: u32, estate_name: Variable1, estate_owner_id: Uuid,
        }
    }

    /// The telehub of the region, with points of arrival from its place along its axes.
    TelehubInfo: Low 10, plain, from Server {
        telehub_block: one TelehubInfoTelehubBlock {
            object_id: Uuid, object_name: Variable1, telehub_pos: Vec3, telehub_rot: Quat,
        }
        spawn_point_block: many TelehubInfoSpawnPointBlock { spawn_point_pos: Vec3 }
    }

    /// Asks for the busiest scripts or colliders. The answer goes through the event queue.
    LandStatRequest: Low 421, plain, from Client {
        agent_data: one LandStatRequestAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        request_data: one LandStatRequestRequestData {
            report_type: u32, request_flags: u32, filter: Variable1, parcel_local_id: i32,
        }
    }

    /// A command of the estate tools, or an answer to one.
    EstateOwnerMessage: Low 260, zero_coded, from Either {
        agent_data: one EstateOwnerMessageAgentData {
            agent_id: Uuid, session_id: Uuid, transaction_id: Uuid,
        }
        method_data: one EstateOwnerMessageMethodData {
            method: Variable1, invoice: Uuid,
        }
        param_list: many EstateOwnerMessageParamList {
            parameter: Variable1,
        }
    }
}
