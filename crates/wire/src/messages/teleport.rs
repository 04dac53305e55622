//! Teleports. TeleportFinish, CrossedRegion and EnableSimulator are absent on purpose: clients refuse them over UDP, so they go over
//! the event queue.

messages! {
    /// To a place on the map.
    TeleportLocationRequest: Low 63, plain, from Client {
        agent_data: one TeleportLocationRequestAgentData { agent_id: Uuid, session_id: Uuid }
        info: one TeleportLocationRequestInfo {
            region_handle: u64,
            /// Metres from the region's corner.
            position: Vec3,
            look_at: Vec3,
        }
    }

    /// To a place, by region id.
    TeleportRequest: Low 62, plain, from Client {
        agent_data: one TeleportRequestAgentData { agent_id: Uuid, session_id: Uuid }
        info: one TeleportRequestInfo {
            region_id: Uuid,
            /// Metres from the region's corner.
            position: Vec3,
            look_at: Vec3,
        }
    }

    /// To a landmark; a null landmark is home.
    TeleportLandmarkRequest: Low 65, zero_coded, from Client {
        info: one TeleportLandmarkRequestInfo { agent_id: Uuid, session_id: Uuid, landmark_id: Uuid }
    }

    /// Accepts the offer of another user.
    TeleportLureRequest: Low 71, plain, from Client {
        info: one TeleportLureRequestInfo {
            agent_id: Uuid, session_id: Uuid, lure_id: Uuid, teleport_flags: u32,
        }
    }

    /// Offers others a teleport to where the user is.
    StartLure: Low 70, plain, from Client {
        agent_data: one StartLureAgentData { agent_id: Uuid, session_id: Uuid }
        info: one StartLureInfo { lure_type: u8, message: Variable1 }
        target_data: many StartLureTargetData { target_id: Uuid }
    }

    /// The teleport begins.
    TeleportStart: Low 73, plain, from Server {
        info: one TeleportStartInfo {
            /// TeleportFlags, bits: 2 lure, 3 landmark, 4 location, 5 home, 7 login, 8 godlike lure, 11 no cancel, 12 region id, 13
            /// flying, 17 within the region.
            teleport_flags: u32,
        }
    }

    /// Text for the user during a teleport.
    TeleportProgress: Low 66, plain, from Server {
        agent_data: one TeleportProgressAgentData { agent_id: Uuid }
        info: one TeleportProgressInfo {
            /// TeleportFlags, bits as in TeleportStart.
            teleport_flags: u32,
            message: Variable1,
        }
    }

    /// The teleport ends in the region where it began.
    TeleportLocal: Low 64, plain, from Server {
        info: one TeleportLocalInfo {
            agent_id: Uuid, location_id: u32, position: Vec3, look_at: Vec3,
            /// TeleportFlags, bits as in TeleportStart.
            teleport_flags: u32,
        }
    }

    /// The teleport did not happen; the avatar stays.
    TeleportFailed: Low 74, plain, from Server {
        info: one TeleportFailedInfo {
            agent_id: Uuid,
            /// Shown to the user, or a key that the client translates.
            reason: Variable1,
        }
        alert_info: many TeleportFailedAlertInfo { message: Variable1, extra_params: Variable1 }
    }

    /// The user no longer wants the teleport.
    TeleportCancel: Low 72, plain, from Client {
        info: one TeleportCancelInfo { agent_id: Uuid, session_id: Uuid }
    }

    /// Sets home (or the last location) to where the user is.
    SetStartLocationRequest: Low 324, zero_coded, from Client {
        agent_data: one SetStartLocationRequestAgentData { agent_id: Uuid, session_id: Uuid }
        start_location_data: one SetStartLocationRequestStartLocationData {
            sim_name: Variable1,
            /// 0 last location, 1 home.
            location_id: u32,
            location_pos: Vec3, location_look_at: Vec3,
        }
    }
}
