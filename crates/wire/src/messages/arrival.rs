//! From the arrival in a region to the logout: hand-shake, region facts, statistics, and how a visit ends.

messages! {
    /// The client is ready to be a root agent here. May come right behind
    /// [`UseCircuitCode`](super::UseCircuitCode), unreliable.
    CompleteAgentMovement: Low 249, plain, from Client {
        agent_data: one CompleteAgentMovementAgentData { agent_id: Uuid, session_id: Uuid, circuit_code: u32 }
    }

    /// Position of the avatar. A Linden Lab viewer that does not get it within 240 s logs out.
    AgentMovementComplete: Low 250, plain, from Server {
        agent_data: one AgentMovementCompleteAgentData { agent_id: Uuid, session_id: Uuid }
        data: one AgentMovementCompleteData {
            /// Metres from the region's corner.
            position: Vec3,
            /// Direction.
            look_at: Vec3,
            region_handle: u64,
            /// Unix time in seconds.
            timestamp: u32,
        }
        sim_data: one AgentMovementCompleteSimData {
            /// Name and version of the server.
            channel_version: Variable2,
        }
    }

    /// Description of the region: name, owner, water, ground textures. Opens the scene.
    RegionHandshake: Low 148, zero_coded, from Server {
        region_info: one RegionHandshakeRegionInfo {
            region_flags: u32,
            /// Maturity: 13 general, 21 moderate, 42 adult.
            sim_access: u8,
            sim_name: Variable1, sim_owner: Uuid, is_estate_manager: bool,
            /// Metres.
            water_height: f32,
            billable_factor: f32,
            /// Changes when a client must forget its cached objects.
            cache_id: Uuid,
            terrain_base0: Uuid, terrain_base1: Uuid, terrain_base2: Uuid, terrain_base3: Uuid,
            terrain_detail0: Uuid, terrain_detail1: Uuid, terrain_detail2: Uuid, terrain_detail3: Uuid,
            terrain_start_height00: f32, terrain_start_height01: f32, terrain_start_height10: f32,
            terrain_start_height11: f32, terrain_height_range00: f32, terrain_height_range01: f32,
            terrain_height_range10: f32, terrain_height_range11: f32,
        }
        region_info2: one RegionHandshakeRegionInfo2 { region_id: Uuid }
        region_info3: one RegionHandshakeRegionInfo3 {
            cpu_class_id: i32, cpu_ratio: i32, colo_name: Variable1, product_sku: Variable1,
            product_name: Variable1,
        }
        region_info4: many RegionHandshakeRegionInfo4 { region_flags_extended: u64, region_protocols: u64 }
    }

    /// The client has understood the hand-shake; from here on it takes terrain, parcels and objects.
    RegionHandshakeReply: Low 149, zero_coded, from Client {
        agent_data: one RegionHandshakeReplyAgentData { agent_id: Uuid, session_id: Uuid }
        region_info: one RegionHandshakeReplyRegionInfo {
            /// 1: cull by cache, 2: the cache is empty, 4: supports self-appearance.
            flags: u32,
        }
    }

    /// Asks for [`RegionInfo`].
    RequestRegionInfo: Low 141, plain, from Client {
        agent_data: one RequestRegionInfoAgentData { agent_id: Uuid, session_id: Uuid }
    }

    /// Region settings. node-metaverse never calls its hand-shake complete without it.
    RegionInfo: Low 142, zero_coded, from Server {
        agent_data: one RegionInfoAgentData { agent_id: Uuid, session_id: Uuid }
        region_info: one RegionInfoRegionInfo {
            sim_name: Variable1, estate_id: u32, parent_estate_id: u32, region_flags: u32,
            /// Maturity, as in [`RegionHandshake`].
            sim_access: u8,
            /// Capped at 255; the true figure is `max_agents32`.
            max_agents: u8,
            billable_factor: f32, object_bonus_factor: f32, water_height: f32, terrain_raise_limit: f32,
            terrain_lower_limit: f32, price_per_meter: i32, redirect_grid_x: i32, redirect_grid_y: i32,
            use_estate_sun: bool,
            /// 0–24, where the estate fixes the sun.
            sun_hour: f32,
        }
        region_info2: one RegionInfoRegionInfo2 {
            product_sku: Variable1, product_name: Variable1, max_agents32: u32, hard_max_agents: u32,
            hard_max_objects: u32,
        }
        region_info3: many RegionInfoRegionInfo3 { region_flags_extended: u64 }
        region_info5: many RegionInfoRegionInfo5 {
            /// Metres, as the other ranges and offsets.
            chat_whisper_range: f32,
            chat_normal_range: f32, chat_shout_range: f32, chat_whisper_offset: f32, chat_normal_offset: f32,
            chat_shout_offset: f32, chat_flags: u32,
        }
        combat_settings: extra RegionInfoCombatSettings {
            combat_flags: u32, on_death: u8, damage_throttle: f32, regeneration_rate: f32,
            invulnerabily_time: f32, damage_limit: f32,
        }
    }

    /// The region's performance figures, every 3 s: pairs of a number and a value.
    SimStats: Low 140, plain, from Server {
        region: one SimStatsRegion {
            /// Grid square.
            region_x: u32,
            /// Grid square.
            region_y: u32,
            region_flags: u32, object_capacity: u32,
        }
        stat: many SimStatsStat { stat_id: u32, stat_value: f32 }
        pid_stat: one SimStatsPidStat { pid: i32 }
        region_info: many SimStatsRegionInfo { region_flags_extended: u64 }
    }

    /// The dots on the small map. Replaces the whole list of the client.
    CoarseLocationUpdate: Medium 6, plain, from Server {
        location: many CoarseLocationUpdateLocation {
            /// Metres from the corner, clamped to 255.
            x: u8,
            /// Metres from the corner, clamped to 255.
            y: u8,
            /// Height in steps of 4 m.
            z: u8,
        }
        index: one CoarseLocationUpdateIndex {
            /// Index of the receiver's own location, or -1.
            you: i16,
            /// Index of the tracked location, or -1.
            prey: i16,
        }
        agent_data: many CoarseLocationUpdateAgentData { agent_id: Uuid }
    }

    /// Clock and sun of the region. Old, but it still drives the clocks of clients.
    SimulatorViewerTimeMessage: Low 150, plain, from Server {
        time_info: one SimulatorViewerTimeMessageTimeInfo {
            /// Microseconds.
            usec_since_start: u64,
            sec_per_day: u32, sec_per_year: u32, sun_direction: Vec3,
            /// Radians.
            sun_phase: f32,
            sun_ang_velocity: Vec3,
        }
    }

    /// Health of the own avatar, where damage is on.
    HealthMessage: Low 138, zero_coded, from Server {
        health_data: one HealthMessageHealthData {
            /// 0–100.
            health: f32,
        }
    }

    /// A notice to the user, shown as a box.
    AlertMessage: Low 134, plain, from Server {
        alert_data: one AlertMessageAlertData { message: Variable1 }
        alert_info: many AlertMessageAlertInfo { message: Variable1, extra_params: Variable1 }
        agent_info: extra AlertMessageAgentInfo { agent_id: Uuid }
    }

    /// A notice to one agent; modal if the client has to wait for the user.
    AgentAlertMessage: Low 135, plain, from Server {
        agent_data: one AgentAlertMessageAgentData { agent_id: Uuid }
        alert_data: one AgentAlertMessageAlertData { modal: bool, message: Variable1 }
    }

    /// Ends the client's session with a reason.
    KickUser: Low 163, plain, from Server {
        target_block: one KickUserTargetBlock { target_ip: Ip, target_port: Port }
        user_info: one KickUserUserInfo {
            agent_id: Uuid, session_id: Uuid,
            /// Shown to the user.
            reason: Variable2,
        }
    }

    /// The user leaves. Answered by [`LogoutReply`]; node-metaverse waits 5 s for it.
    LogoutRequest: Low 252, plain, from Client {
        agent_data: one LogoutRequestAgentData { agent_id: Uuid, session_id: Uuid }
    }

    /// The logout is done; the circuit may go.
    LogoutReply: Low 253, zero_coded, from Server {
        agent_data: one LogoutReplyAgentData { agent_id: Uuid, session_id: Uuid }
        inventory_data: many LogoutReplyInventoryData { item_id: Uuid }
    }

    /// Performance figures of the client. Received and forgotten.
    ViewerStats: Low 131, zero_coded, from Client {
        agent_data: one ViewerStatsAgentData {
            agent_id: Uuid, session_id: Uuid, ip: Ip, start_time: u32, run_time: f32, sim_fps: f32, fps: f32,
            agents_in_view: u8, ping: f32, meters_traveled: f64, regions_visited: i32, sys_ram: u32,
            sys_os: Variable1, sys_cpu: Variable1, sys_gpu: Variable1,
        }
        download_totals: one ViewerStatsDownloadTotals { world: u32, objects: u32, textures: u32 }
        net_stats: twice ViewerStatsNetStats { bytes: u32, packets: u32, compressed: u32, savings: u32 }
        fail_stats: one ViewerStatsFailStats {
            send_packet: u32, dropped: u32, resent: u32, failed_resends: u32, off_circuit: u32, invalid: u32,
        }
        misc_stats: many ViewerStatsMiscStats { r#type: u32, value: f64 }
    }
}
