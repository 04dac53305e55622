//! Requests of a script: another behaviour, speech, teleport, logout.

use super::Agent;
use super::arrival::{ArrivalStage, LOGOUT_MAX};
use crate::behavior::Behavior;
use crate::sender::Steadiness;
use circuit::Reliability;
use glam::Vec3;
use ids::{Instant, RegionHandle, Uuid};
use wire::messages::{
    AgentAnimation, AgentAnimationAgentData, AgentAnimationAnimationList, ChatFromViewer,
    ChatFromViewerAgentData, ChatFromViewerChatData, LogoutRequest, LogoutRequestAgentData,
    RequestMultipleObjects, RequestMultipleObjectsAgentData, TeleportLocationRequest,
    TeleportLocationRequestAgentData, TeleportLocationRequestInfo,
};
use wire::text;

/// Range of speech, by the numbers of ChatFromViewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loudness {
    /// Heard within 10 m.
    Whisper = 0,
    /// Heard within 20 m.
    Say = 1,
    /// Heard within 100 m.
    Shout = 2,
}

/// The viewers' own animation of a punch with the right hand.
const PUNCH: Uuid = Uuid::from_u128(0xc8e4_2d32_7310_6906_c903_cab5_d4a3_4656);

impl Agent {
    /// Behaves otherwise from its next agent update on, also in regions that it goes to later.
    pub fn behave(&mut self, behavior: Behavior) {
        self.config.behavior = behavior;
        self.echo = (behavior == Behavior::Probe).then(Box::default);
        self.actor.change(behavior, &mut self.rng);
        let plan = behavior.build_plan();
        self.builder = self.builder.take().filter(|_| plan.is_some());
        if let Some((builder, plan)) = self.builder.as_mut().zip(plan) {
            builder.set_plan(plan);
        }
        self.carrier = self.carrier.take().filter(|_| behavior.carry_plan().is_some());
        self.arm();
        self.narrow();
    }

    /// Sends updates this steadily from the next one on.
    pub const fn steady(&mut self, steadiness: Steadiness) {
        self.config.steadiness = steadiness;
        self.sender.steady(steadiness);
    }

    /// Sets the rate of agent updates, of edits of a bot that builds, or of requests of one that carries, 1 to 125 a second, from the next one on;
    /// [`Profile::Viewer`](crate::profile::Profile) only.
    pub fn set_rate_hz(&mut self, rate_hz: u32) {
        self.config.rate_hz = rate_hz;
        if let Some(builder) = &mut self.builder {
            builder.set_rate_hz(rate_hz);
        }
        if let Some(carrier) = &mut self.carrier {
            carrier.set_rate_hz(rate_hz);
        }
    }

    /// Speaks on the public channel. Nothing happens once the session is over.
    pub fn send_chat(&mut self, loudness: Loudness, words: &str) {
        let message = ChatFromViewer {
            agent_data: ChatFromViewerAgentData {
                agent_id: self.identity.agent.0,
                session_id: self.identity.session.0,
            },
            chat_data: ChatFromViewerChatData {
                message: text::to_wire(words, text::CHAT_MAX),
                r#type: loudness as u8,
                channel: 0,
            },
        };
        self.send(Reliability::Reliable, true, |out| message.encode(out));
    }

    /// Strikes at the avatar in front of it.
    pub fn strike(&mut self) {
        let message = AgentAnimation {
            agent_data: AgentAnimationAgentData {
                agent_id: self.identity.agent.0,
                session_id: self.identity.session.0,
            },
            animation_list: vec![AgentAnimationAnimationList { anim_id: PUNCH, start_anim: true }],
            physical_avatar_event_list: Vec::new(),
        };
        self.send(Reliability::Reliable, false, |out| message.encode(out));
    }

    /// Asks for prims that the viewer's cache lacks, as many as a message holds.
    pub(super) fn request_missed_prims(&mut self) {
        let Some(observer) = &mut self.observer else { return };
        let object_data = observer.prims_mut().take_missed();
        let message = RequestMultipleObjects {
            agent_data: RequestMultipleObjectsAgentData {
                agent_id: self.identity.agent.0,
                session_id: self.identity.session.0,
            },
            object_data,
        };
        self.send(Reliability::Reliable, true, |out| message.encode(out));
    }

    /// Asks for a teleport to a place on the map; `position` in metres from that region's corner. It ends with
    /// [`AgentEvent::Arrived`](super::AgentEvent::Arrived) or [`AgentEvent::TeleportFailed`](super::AgentEvent::TeleportFailed).
    pub fn teleport_to(&mut self, region: RegionHandle, position: Vec3) {
        let message = TeleportLocationRequest {
            agent_data: TeleportLocationRequestAgentData {
                agent_id: self.identity.agent.0,
                session_id: self.identity.session.0,
            },
            info: TeleportLocationRequestInfo { region_handle: region.0, position, look_at: Vec3::X },
        };
        self.teleporting = true;
        self.send(Reliability::Reliable, false, |out| message.encode(out));
    }

    /// Leaves the grid. It ends with [`AgentEvent::LoggedOut`](super::AgentEvent::LoggedOut), after 5 s at the latest. Nothing
    /// happens if that is under way or the session is over.
    pub fn log_out(&mut self, now: Instant) {
        if matches!(self.stage, ArrivalStage::LoggingOut | ArrivalStage::Lingering | ArrivalStage::Gone) {
            return;
        }
        let agent_data =
            LogoutRequestAgentData { agent_id: self.identity.agent.0, session_id: self.identity.session.0 };
        self.send(Reliability::Reliable, false, |out| LogoutRequest { agent_data }.encode(out));
        self.stage = ArrivalStage::LoggingOut;
        self.next_update_at = None;
        self.next_names_at = None;
        self.deadline = Some(now + LOGOUT_MAX);
    }
}
