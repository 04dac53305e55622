//! Messages to an arriving client, before and besides the avatars around it.

use crate::mail::Ticket;
use crate::places::{EncodedGround, Place};
use glam::Vec3;
use ids::Uuid;
use wire::fanout;
use wire::messages::{
    AgentMovementComplete, AgentMovementCompleteAgentData, AgentMovementCompleteData,
    AgentMovementCompleteSimData, RegionHandshake, RegionHandshakeRegionInfo, RegionHandshakeRegionInfo2,
    RegionHandshakeRegionInfo3, RegionHandshakeRegionInfo4,
};
use wire::text::{VARIABLE1_MAX, to_wire};

/// Maturity: general.
pub(super) const SIM_ACCESS: u8 = 13;

/// The viewer's region flags: landmarks and home may be set here (bits 1 and 2), and where damage is on (bit 0) viewers show health.
pub(super) fn region_flags(ground: &EncodedGround) -> u32 {
    u32::from(ground.damage) | 1 << 1 | 1 << 2
}

/// Server name and version as clients log it.
pub(super) const CHANNEL: &str = concat!("Throng ", env!("CARGO_PKG_VERSION"));

/// The region's name, water and ground textures. Opens the scene.
pub(super) fn region_handshake(place: &Place) -> RegionHandshake {
    // Sand, grass, earth and rock, which ViewerAsset and GetTexture serve.
    let detail = |number| Uuid::from_u64_pair(ids::GROUND_TEXTURES, number);
    RegionHandshake {
        region_info: RegionHandshakeRegionInfo {
            region_flags: region_flags(place.ground()),
            sim_access: SIM_ACCESS,
            sim_name: to_wire(place.name(), VARIABLE1_MAX),
            water_height: place.ground().water_m,
            billable_factor: 1.0,
            cache_id: place.region_id,
            terrain_detail0: detail(0),
            terrain_detail1: detail(1),
            terrain_detail2: detail(2),
            terrain_detail3: detail(3),
            terrain_start_height00: place.ground().water_m,
            terrain_start_height01: place.ground().water_m,
            terrain_start_height10: place.ground().water_m,
            terrain_start_height11: place.ground().water_m,
            terrain_height_range00: GROUND_RANGE_M,
            terrain_height_range01: GROUND_RANGE_M,
            terrain_height_range10: GROUND_RANGE_M,
            terrain_height_range11: GROUND_RANGE_M,
            ..RegionHandshakeRegionInfo::default()
        },
        region_info2: RegionHandshakeRegionInfo2 { region_id: place.region_id },
        region_info3: RegionHandshakeRegionInfo3 {
            cpu_class_id: 1,
            cpu_ratio: 1,
            colo_name: to_wire("", VARIABLE1_MAX),
            product_sku: to_wire("throng", VARIABLE1_MAX),
            product_name: to_wire("Throng", VARIABLE1_MAX),
        },
        // The bit for central baking stays clear: agents bake their own appearance here.
        region_info4: vec![RegionHandshakeRegionInfo4 { region_flags_extended: 0, region_protocols: 0 }],
    }
}

/// Metres over which the ground goes through its four textures.
const GROUND_RANGE_M: f32 = 30.0;

/// Position of the avatar. `unix_s` is the wall clock in seconds.
pub(super) fn movement_complete(
    ticket: &Ticket,
    place: &Place,
    position: Vec3,
    unix_s: u32,
) -> AgentMovementComplete {
    AgentMovementComplete {
        agent_data: AgentMovementCompleteAgentData {
            agent_id: ticket.agent.0,
            session_id: ticket.session_id.0,
        },
        data: AgentMovementCompleteData {
            position,
            look_at: ticket.look_at,
            region_handle: place.handle.0,
            timestamp: unix_s,
        },
        sim_data: AgentMovementCompleteSimData { channel_version: to_wire(CHANNEL, VARIABLE1_MAX) },
    }
}

/// A place as the small map has it.
pub(super) fn dot(at: Vec3) -> [u8; 3] {
    [at.x, at.y, at.z / 4.0].map(|metres| metres.clamp(0.0, 255.0) as u8)
}

/// Figures of a world that clients show in their statistics window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WorldFigures {
    /// The world's own time dilation, 0–1.
    pub dilation: f32,
    /// Steps per second.
    pub rate_hz: f32,
    /// Avatars in it.
    pub n_avatars: u32,
}

/// Statistic numbers that viewers know.
mod stat {
    pub(super) const TIME_DILATION: u32 = 0;
    pub(super) const SIM_FPS: u32 = 1;
    pub(super) const PHYSICS_FPS: u32 = 2;
    pub(super) const TOTAL_PRIMS: u32 = 11;
    pub(super) const MAIN_AGENTS: u32 = 13;
    pub(super) const CHILD_AGENTS: u32 = 14;
}

/// Writes the region's performance figures.
pub(super) fn write_sim_stats(place: &Place, figures: WorldFigures, out: &mut Vec<u8>) {
    let stats = [
        (stat::TIME_DILATION, figures.dilation),
        (stat::SIM_FPS, figures.rate_hz),
        (stat::PHYSICS_FPS, figures.rate_hz),
        (stat::MAIN_AGENTS, figures.n_avatars as f32),
        (stat::CHILD_AGENTS, 0.0),
        (stat::TOTAL_PRIMS, place.ground().n_objects() as f32),
    ];
    let ground = place.ground();
    fanout::write_sim_stats(place.handle.grid(), region_flags(ground), ground.object_capacity(), &stats, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{HARBOUR, Node};
    use grid::capability::{HeldTextures, viewer_asset};

    #[test]
    fn the_grounds_textures_can_be_fetched() {
        let handshake = region_handshake(Node::new().places.get(HARBOUR)).region_info;
        let (low, high) = (handshake.terrain_detail0, handshake.terrain_detail3);
        for id in [low, handshake.terrain_detail1, handshake.terrain_detail2, high] {
            let reply = viewer_asset(&HeldTextures::default(), &format!("texture_id={id}"), None);
            assert_eq!((reply.status, reply.content_type), (200, "image/x-j2c"), "{id}");
        }
    }
}
