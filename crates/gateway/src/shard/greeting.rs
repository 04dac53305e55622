//! Messages to an arriving client, before and besides the avatars around it.

use crate::mail::Ticket;
use crate::places::Place;
use glam::Vec3;
use wire::fanout;
use wire::messages::{
    AgentMovementComplete, AgentMovementCompleteAgentData, AgentMovementCompleteData,
    AgentMovementCompleteSimData,
};
use wire::text::{VARIABLE1_MAX, to_wire};

/// Server name and version as clients log it.
pub(super) const CHANNEL: &str = concat!("Throng ", env!("CARGO_PKG_VERSION"));

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
    /// Prims in it, static ones included.
    pub n_prims: u32,
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
pub(super) fn write_sim_stats(place: &Place, flags: u32, figures: WorldFigures, out: &mut Vec<u8>) {
    let stats = [
        (stat::TIME_DILATION, figures.dilation),
        (stat::SIM_FPS, figures.rate_hz),
        (stat::PHYSICS_FPS, figures.rate_hz),
        (stat::MAIN_AGENTS, figures.n_avatars as f32),
        (stat::CHILD_AGENTS, 0.0),
        (stat::TOTAL_PRIMS, figures.n_prims as f32),
    ];
    fanout::write_sim_stats(place.handle.grid(), flags, place.scene.object_capacity(), &stats, out);
}
