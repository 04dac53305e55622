//! Requests of clients to change land: ground, parcels, region.

messages! {
    /// Takes the sender's last edit of the ground back.
    UndoLand: Low 77, plain, from Client {
        agent_data: one UndoLandAgentData { agent_id: Uuid, session_id: Uuid }
    }

    /// Other settings of a parcel. Viewers send the capability of the same name instead where it is granted.
    ParcelPropertiesUpdate: Low 198, zero_coded, from Client {
        agent_data: one ParcelPropertiesUpdateAgentData { agent_id: Uuid, session_id: Uuid }
        parcel_data: one ParcelPropertiesUpdateParcelData {
            local_id: i32,
            /// 1: the sender waits for the properties.
            flags: u32,
            parcel_flags: u32, sale_price: i32, name: Variable1, desc: Variable1, music_url: Variable1,
            media_url: Variable1, media_id: Uuid, media_auto_scale: u8, group_id: Uuid, pass_price: i32,
            pass_hours: f32, category: u8, auth_buyer_id: Uuid, snapshot_id: Uuid, user_location: Vec3,
            user_look_at: Vec3, landing_type: u8,
        }
    }

    /// A section of a parcel's access or ban list.
    ParcelAccessListUpdate: Low 217, zero_coded, from Client {
        agent_data: one ParcelAccessListUpdateAgentData { agent_id: Uuid, session_id: Uuid }
        data: one ParcelAccessListUpdateData {
            /// 1 for the access list, 2 for the ban list.
            flags: u32,
            local_id: i32,
            /// The same for all sections of a list.
            transaction_id: Uuid,
            /// From 1.
            sequence_id: i32,
            sections: i32,
        }
        list: many ParcelAccessListUpdateList {
            id: Uuid,
            /// End of validity, seconds since 1970; 0 for none.
            time: i32,
            flags: u32,
        }
    }

    /// A rectangle, in metres, becomes a parcel of its own.
    ParcelDivide: Low 211, plain, from Client {
        agent_data: one ParcelDivideAgentData { agent_id: Uuid, session_id: Uuid }
        parcel_data: one ParcelDivideParcelData { west: f32, south: f32, east: f32, north: f32 }
    }

    /// The parcels of a rectangle, in metres, become one.
    ParcelJoin: Low 210, plain, from Client {
        agent_data: one ParcelJoinAgentData { agent_id: Uuid, session_id: Uuid }
        parcel_data: one ParcelJoinParcelData { west: f32, south: f32, east: f32, north: f32 }
    }

    /// Returns objects of a parcel to their owners.
    ParcelReturnObjects: Low 199, zero_coded, from Client {
        agent_data: one ParcelReturnObjectsAgentData { agent_id: Uuid, session_id: Uuid }
        parcel_data: one ParcelReturnObjectsParcelData {
            local_id: i32,
            /// Kinds of objects as a set of bits.
            return_type: u32,
        }
        task_ids: many ParcelReturnObjectsTaskIDs { task_id: Uuid }
        owner_ids: many ParcelReturnObjectsOwnerIDs { owner_id: Uuid }
    }

    /// Asks which objects of a parcel are of these kinds, so that the viewer marks them.
    ParcelSelectObjects: Low 202, zero_coded, from Client {
        agent_data: one ParcelSelectObjectsAgentData { agent_id: Uuid, session_id: Uuid }
        parcel_data: one ParcelSelectObjectsParcelData { local_id: i32, return_type: u32 }
        return_ids: many ParcelSelectObjectsReturnIDs { return_id: Uuid }
    }

    /// The objects that the client marks.
    ForceObjectSelect: Low 205, plain, from Server {
        header: one ForceObjectSelectHeader {
            /// The objects marked so far are not marked any more.
            reset_list: bool,
        }
        data: many ForceObjectSelectData { local_id: u32 }
    }

    /// Time after which objects of other owners are returned.
    ParcelSetOtherCleanTime: Low 200, zero_coded, from Client {
        agent_data: one ParcelSetOtherCleanTimeAgentData { agent_id: Uuid, session_id: Uuid }
        parcel_data: one ParcelSetOtherCleanTimeParcelData {
            local_id: i32,
            /// Minutes; 0 for never.
            other_clean_time: i32,
        }
    }

    /// The owner gives a parcel up.
    ParcelRelease: Low 212, plain, from Client {
        agent_data: one ParcelReleaseAgentData { agent_id: Uuid, session_id: Uuid }
        data: one ParcelReleaseData { local_id: i32 }
    }

    /// The estate takes a parcel.
    ParcelReclaim: Low 208, plain, from Client {
        agent_data: one ParcelReclaimAgentData { agent_id: Uuid, session_id: Uuid }
        data: one ParcelReclaimData { local_id: i32 }
    }

    /// Buys a parcel that is for sale.
    ParcelBuy: Low 213, zero_coded, from Client {
        agent_data: one ParcelBuyAgentData { agent_id: Uuid, session_id: Uuid }
        data: one ParcelBuyData {
            group_id: Uuid, is_group_owned: bool, remove_contribution: bool, local_id: i32, r#final: bool,
        }
        parcel_data: one ParcelBuyParcelData {
            /// Price and area that the buyer saw.
            price: i32,
            area: i32,
        }
    }

    /// Another owner of a parcel, by an operator.
    ParcelGodForceOwner: Low 214, zero_coded, from Client {
        agent_data: one ParcelGodForceOwnerAgentData { agent_id: Uuid, session_id: Uuid }
        data: one ParcelGodForceOwnerData { owner_id: Uuid, local_id: i32 }
    }

    /// Other settings of the region, by an operator.
    GodUpdateRegionInfo: Low 143, zero_coded, from Client {
        agent_data: one GodUpdateRegionInfoAgentData { agent_id: Uuid, session_id: Uuid }
        region_info: one GodUpdateRegionInfoRegionInfo {
            sim_name: Variable1, estate_id: u32, parent_estate_id: u32, region_flags: u32,
            billable_factor: f32, price_per_meter: i32, redirect_grid_x: i32, redirect_grid_y: i32,
        }
        region_info2: many GodUpdateRegionInfoRegionInfo2 { region_flags_extended: u64 }
    }
}
