//! Way into a region and out of the grid, step by step.
//!
//! ```text
//! Opening      UseCircuitCode is sent; its ack opens the circuit
//! Entering     CompleteAgentMovement is sent; RegionHandshake is awaited
//! Introducing  node-metaverse only: RegionHandshakeReply and two questions wait for their acks
//! Throttling   node-metaverse only: AgentThrottle waits for its ack
//! Settling     node-metaverse only: AgentWearablesUpdate is awaited
//! Present      everything was requested; agent updates flow
//! LoggingOut   LogoutRequest is sent; LogoutReply is awaited
//! Lingering    the last acks leave
//! Gone         the session is over
//! ```
//!
//! A viewer goes from Entering to Present at once. AgentMovementComplete may come at any time after Entering. Each message is reliable,
//! so the circuit repairs losses; a step without progress ends at a deadline.

use super::{Agent, AgentConfig, AgentEvent, LossReason};
use crate::behavior::RunningBehavior;
use crate::destination::Destination;
use crate::prims::PrimView;
use crate::profile::Profile;
use crate::sender::Sender;
use crate::whereabouts::Whereabouts;
use circuit::{Circuit, Reliability};
use glam::Vec3;
use ids::{Instant, RegionHandle};
use std::net::SocketAddrV4;
use std::time::Duration;
use wire::messages::{
    AgentDataUpdateRequest, AgentDataUpdateRequestAgentData, AgentSetAppearance, AgentSetAppearanceAgentData,
    AgentSetAppearanceObjectData, AgentSetAppearanceVisualParam, AgentThrottle, AgentThrottleAgentData,
    AgentThrottleThrottle, AgentWearablesRequest, AgentWearablesRequestAgentData, CompleteAgentMovement,
    CompleteAgentMovementAgentData, MapNameRequest, MapNameRequestAgentData, MapNameRequestNameData,
    RegionHandshake, RegionHandshakeReply, RegionHandshakeReplyAgentData, RegionHandshakeReplyRegionInfo,
    RequestRegionInfo, RequestRegionInfoAgentData, UseCircuitCode, UseCircuitCodeCircuitCode,
};
use wire::texture_entry::TextureEntry;

/// Wait for AgentMovementComplete: as in Linden Lab's viewer.
pub const ARRIVAL_MAX: Duration = Duration::from_secs(240);

/// Wait for LogoutReply: as in node-metaverse.
pub const LOGOUT_MAX: Duration = Duration::from_secs(5);

/// Time for which a circuit stays for its last acks.
const LINGER: Duration = Duration::from_millis(200);

/// Time for which the circuit to a former region waits for DisableSimulator.
const LEFT_MAX: Duration = Duration::from_secs(60);

/// Visual parameters of an avatar's look: as many as viewers send that know no physics layer.
pub const VISUAL_PARAMS: usize = 218;

/// Width, depth and height of a bot's box, in metres.
const AVATAR_SIZE_M: Vec3 = Vec3::new(0.45, 0.6, 1.9);

/// RegionHandshakeReply: supports self-appearance.
const HANDSHAKE_FLAGS: u32 = 4;

/// Flags of MapNameRequest: any region, by layer 2, as viewers send it.
const MAP_FLAGS: u32 = 2;

/// See the module's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArrivalStage {
    Opening,
    Entering,
    Introducing,
    Throttling,
    Settling,
    Present,
    LoggingOut,
    Lingering,
    Gone,
}

/// A circuit to a region.
#[derive(Clone, Debug)]
pub(super) struct RegionCircuit {
    pub(super) remote: SocketAddrV4,
    pub(super) region: RegionHandle,
    pub(super) circuit: Circuit,
}

impl RegionCircuit {
    /// `first_sequence` continues a circuit to the same address; without one, numbers begin as the profile says.
    pub(super) fn new(
        now: Instant,
        config: &AgentConfig,
        remote: SocketAddrV4,
        region: RegionHandle,
        first_sequence: Option<u32>,
    ) -> Self {
        let first_sequence = first_sequence.unwrap_or_else(|| config.profile.first_sequence());
        let mut circuit = config.profile.circuit_config();
        if let Some(period) = config.ping_period {
            circuit.ping_interval = period;
        }
        Self { remote, region, circuit: Circuit::new(now, &circuit, first_sequence) }
    }
}

/// Circuit to a former region: it acks late packets.
#[derive(Clone, Debug)]
pub(super) struct Left {
    pub(super) visit: RegionCircuit,
    pub(super) until: Instant,
}

impl Agent {
    /// Shows the ticket to the region.
    pub(super) fn open(&mut self, now: Instant) {
        let circuit_code = UseCircuitCodeCircuitCode {
            code: self.identity.circuit_code.0,
            session_id: self.identity.session.0,
            id: self.identity.agent.0,
        };
        self.send(Reliability::Reliable, false, |out| UseCircuitCode { circuit_code }.encode(out));
        self.stage = ArrivalStage::Opening;
        self.deadline = Some(now + ARRIVAL_MAX);
    }

    /// Takes the next step if it waited for acks only.
    pub(super) fn advance(&mut self) {
        if self.here.circuit.unacked() > 0 {
            return;
        }
        match self.stage {
            ArrivalStage::Opening => self.enter(),
            ArrivalStage::Introducing => {
                self.send_throttle();
                self.stage = ArrivalStage::Throttling;
            }
            ArrivalStage::Throttling => {
                self.request_agent_data();
                self.request_wearables();
                self.stage = ArrivalStage::Settling;
            }
            _ => {}
        }
    }

    fn enter(&mut self) {
        let agent_data = CompleteAgentMovementAgentData {
            agent_id: self.identity.agent.0,
            session_id: self.identity.session.0,
            circuit_code: self.identity.circuit_code.0,
        };
        self.send(Reliability::Reliable, false, |out| CompleteAgentMovement { agent_data }.encode(out));
        self.stage = ArrivalStage::Entering;
    }

    /// The region introduces itself: on arrival, and again when another world stands behind the same circuit.
    pub(super) fn on_region_handshake(&mut self, now: Instant, handshake: &RegionHandshake) {
        if self.stage == ArrivalStage::Opening {
            // The circuit is open, even if the ack was lost.
            self.enter();
        }
        if let Some(observer) = &mut self.observer {
            observer.prims_mut().enter_region(handshake.region_info.cache_id);
        }
        self.send_handshake_reply();
        if self.stage != ArrivalStage::Entering {
            return;
        }
        match self.config.profile {
            Profile::Viewer => {
                self.send_throttle();
                self.request_region_info();
                self.request_wearables();
                self.request_agent_data();
                self.request_map_name(&handshake.region_info.sim_name);
                // Somewhere in the first period, so that bots that arrive together do not send together.
                let wait = self.update_period().mul_f64(self.rng.unit());
                self.finish_arrival(now + wait);
            }
            Profile::NodeMetaverse => {
                self.request_region_info();
                self.request_map_name(&handshake.region_info.sim_name);
                self.stage = ArrivalStage::Introducing;
            }
        }
    }

    /// The avatar's outfit is known: a viewer shows how it looks, node-metaverse is connected.
    pub(super) fn on_wearables(&mut self, now: Instant) {
        if self.stage == ArrivalStage::Settling {
            self.finish_arrival(now + self.update_period());
        }
        if self.config.profile == Profile::Viewer && !std::mem::replace(&mut self.dressed, true) {
            self.send_appearance();
        }
    }

    fn finish_arrival(&mut self, first_update_at: Instant) {
        self.stage = ArrivalStage::Present;
        self.next_update_at = Some(first_update_at);
    }

    /// The server has placed the avatar.
    pub(super) fn on_placed(&mut self, now: Instant, position: Vec3) {
        self.whereabouts.place(now, position);
        self.sender = Sender::new(self.config.profile, self.config.steadiness, position);
        self.teleporting = false;
        if matches!(self.stage, ArrivalStage::LoggingOut | ArrivalStage::Lingering) {
            return;
        }
        self.arrived = true;
        self.placed_at = Some(now);
        self.deadline = None;
        if let Some(observer) = &mut self.observer {
            observer.note_placed(self.identity.agent);
        }
        self.emit(AgentEvent::Arrived(self.here.region));
    }

    /// Goes where a TeleportFinish leads: a new circuit, while the old one stays until the server ends it.
    pub(super) fn transfer(&mut self, now: Instant, destination: &Destination) {
        if matches!(self.stage, ArrivalStage::LoggingOut | ArrivalStage::Lingering | ArrivalStage::Gone) {
            return;
        }
        // A peer remembers a circuit's numbers for a minute, so a circuit to the same address continues them.
        let remote = destination.simulator;
        let same = [Some(&self.here), self.left.as_ref().map(|left| &left.visit)]
            .into_iter()
            .flatten()
            .find(|visit| visit.remote == remote)
            .map(|visit| visit.circuit.next_sequence());
        let visit = RegionCircuit::new(now, &self.config, remote, destination.region, same);
        let left = std::mem::replace(&mut self.here, visit);
        self.left = (left.remote != remote).then_some(Left { visit: left, until: now + LEFT_MAX });
        self.arrived = false;
        self.placed_at = None;
        self.dressed = false;
        self.ping_is_forgiven = false;
        self.newest = None;
        self.next_update_at = None;
        self.whereabouts = Whereabouts::new(now, self.identity.agent, destination.region_size_m as f32);
        self.actor = RunningBehavior::new(self.config.behavior, self.config.number, &mut self.rng);
        if let Some(observer) = &mut self.observer {
            observer.clear();
        }
        self.open(now);
    }

    /// LogoutReply came.
    pub(super) fn on_logged_out(&mut self, now: Instant) {
        if self.stage == ArrivalStage::LoggingOut {
            self.emit(AgentEvent::LoggedOut { answered: true });
            self.stage = ArrivalStage::Lingering;
            self.deadline = Some(now + LINGER);
        }
    }

    /// The server ends the circuit to a region that was left.
    pub(super) fn on_left_closed(&mut self, now: Instant) {
        if let Some(left) = &mut self.left {
            left.until = left.until.min(now + LINGER);
        }
    }

    pub(super) fn on_deadline(&mut self, now: Instant) {
        self.deadline = None;
        match self.stage {
            ArrivalStage::Lingering => self.end(),
            ArrivalStage::LoggingOut => {
                self.emit(AgentEvent::LoggedOut { answered: false });
                self.stage = ArrivalStage::Lingering;
                self.deadline = Some(now + LINGER);
            }
            _ => self.lose(LossReason::NeverArrived),
        }
    }

    fn send_handshake_reply(&mut self) {
        let prims = self.observer.as_ref().map(|observer| observer.prims());
        let cache_flags =
            prims.map_or_else(|| PrimView::default().handshake_flags(), PrimView::handshake_flags);
        let reply = RegionHandshakeReply {
            agent_data: RegionHandshakeReplyAgentData {
                agent_id: self.identity.agent.0,
                session_id: self.identity.session.0,
            },
            region_info: RegionHandshakeReplyRegionInfo { flags: HANDSHAKE_FLAGS | cache_flags },
        };
        self.send(Reliability::Reliable, true, |out| reply.encode(out));
    }

    fn send_throttle(&mut self) {
        let mut throttles = Vec::new();
        self.config.profile.throttles(self.config.throttle_bits_per_s).write(&mut throttles);
        let message = AgentThrottle {
            agent_data: AgentThrottleAgentData {
                agent_id: self.identity.agent.0,
                session_id: self.identity.session.0,
                circuit_code: self.identity.circuit_code.0,
            },
            throttle: AgentThrottleThrottle { gen_counter: 0, throttles },
        };
        self.send(Reliability::Reliable, true, |out| message.encode(out));
    }

    fn request_region_info(&mut self) {
        let (agent_id, session_id) = (self.identity.agent.0, self.identity.session.0);
        let agent_data = RequestRegionInfoAgentData { agent_id, session_id };
        self.send(Reliability::Reliable, false, |out| RequestRegionInfo { agent_data }.encode(out));
    }

    fn request_wearables(&mut self) {
        let (agent_id, session_id) = (self.identity.agent.0, self.identity.session.0);
        let agent_data = AgentWearablesRequestAgentData { agent_id, session_id };
        self.send(Reliability::Reliable, false, |out| AgentWearablesRequest { agent_data }.encode(out));
    }

    fn request_agent_data(&mut self) {
        let (agent_id, session_id) = (self.identity.agent.0, self.identity.session.0);
        let agent_data = AgentDataUpdateRequestAgentData { agent_id, session_id };
        self.send(Reliability::Reliable, false, |out| AgentDataUpdateRequest { agent_data }.encode(out));
    }

    /// Looks the region up by the name that it gave, with all its bytes, as node-metaverse does.
    fn request_map_name(&mut self, name: &[u8]) {
        let message = MapNameRequest {
            agent_data: MapNameRequestAgentData {
                agent_id: self.identity.agent.0,
                session_id: self.identity.session.0,
                flags: MAP_FLAGS,
                estate_id: 0,
                godlike: false,
            },
            name_data: MapNameRequestNameData { name: name.to_vec() },
        };
        self.send(Reliability::Reliable, false, |out| message.encode(out));
    }

    /// An individual appearance for each bot, as long as a real one, with textures that no client has to load.
    fn send_appearance(&mut self) {
        self.appearance_serial += 1;
        let param = |_| AgentSetAppearanceVisualParam { param_value: self.rng.next() as u8 };
        let visual_param = (0..VISUAL_PARAMS).map(param).collect();
        let message = AgentSetAppearance {
            agent_data: AgentSetAppearanceAgentData {
                agent_id: self.identity.agent.0,
                session_id: self.identity.session.0,
                serial_num: self.appearance_serial,
                size: AVATAR_SIZE_M,
            },
            wearable_data: Vec::new(),
            object_data: AgentSetAppearanceObjectData { texture_entry: TextureEntry::avatar().encode() },
            visual_param,
        };
        self.send(Reliability::Reliable, true, |out| message.encode(out));
    }
}
