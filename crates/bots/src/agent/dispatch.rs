//! Handling of received messages. Bots that do not observe read only messages about themselves: of the scene's updates, nearly all of
//! the traffic, they read a few bytes.

use super::arrival::ArrivalStage;
use super::{Agent, AgentEvent, LossReason, NAMES_PERIOD};
use crate::destination::{Destination, TELEPORT_FINISH};
use crate::profile::Profile;
use circuit::{DropReason, Received};
use ids::{AgentId, Instant, Uuid};
use std::net::SocketAddrV4;
use wire::Malformed;
use wire::header::{Datagram, Flags};
use wire::llsd::Llsd;
use wire::messages::{
    AgentMovementComplete, AgentWearablesUpdate, AvatarAnimation, AvatarAnimationAnimationList,
    ChatFromSimulator, CloseCircuit, CoarseLocationUpdate, DisableSimulator, ImprovedTerseObjectUpdate,
    KickUser, LogoutReply, MessageNumber, ObjectUpdate, RegionHandshake, TeleportFailed, TeleportLocal,
    UUIDNameReply,
};
use wire::text;

/// Animations that node-metaverse says are over as soon as they begin: stand up, pre-jump, land, medium land, walk, run.
const NM_FINISHES: [Uuid; 6] = [
    Uuid::from_u128(0x3da1d753_028a_5446_24f3_9c9b856d9422),
    Uuid::from_u128(0x7a4e87fe_de39_6fcb_6223_024b00893244),
    Uuid::from_u128(0x7a17b059_12b2_41b1_570a_186368b6aa6f),
    Uuid::from_u128(0xf4f00d6e_b9fe_9292_f4cb_0ae06ea58d57),
    Uuid::from_u128(0x6ed24bd8_91aa_4b12_ccc7_c97c857ab4e0),
    Uuid::from_u128(0x05ddbff8_aaa9_92a1_2b74_8fe77a29b445),
];

impl Agent {
    /// Takes in a datagram from this address; a slow reader does so when its line has carried it.
    pub fn handle_datagram(&mut self, now: Instant, remote: SocketAddrV4, bytes: &[u8]) {
        if self.line.is_some() {
            self.enqueue(now, remote, bytes);
        } else {
            self.take_in(now, remote, bytes);
        }
    }

    /// Reads a datagram from this address.
    pub(super) fn take_in(&mut self, now: Instant, remote: SocketAddrV4, bytes: &[u8]) {
        if self.stage == ArrivalStage::Gone {
            return;
        }
        // Lent out for as long as the message is read.
        let mut scratch = std::mem::take(&mut self.scratch);
        if remote == self.here.remote {
            self.on_datagram_here(now, bytes, &mut scratch);
        } else if self.left.as_ref().is_some_and(|left| left.visit.remote == remote) {
            self.on_datagram_left(now, bytes, &mut scratch);
        } else {
            self.stats.strangers += 1;
        }
        self.scratch = scratch;
    }

    /// Takes in an event of the event queue.
    pub fn handle_event(&mut self, now: Instant, message: &str, body: &Llsd) {
        match message {
            TELEPORT_FINISH => match Destination::from_event(body) {
                Some(destination) => self.transfer(now, &destination),
                None => self.stats.dropped += 1,
            },
            "TeleportFailed" => {
                let reason = body.get("Info").at(0).get("Reason").as_str().unwrap_or_default();
                self.on_teleport_failed(reason.to_owned());
            }
            _ => {}
        }
    }

    fn on_datagram_here(&mut self, now: Instant, bytes: &[u8], scratch: &mut Vec<u8>) {
        self.note_order(bytes);
        let answered = self.here.circuit.stats().pings_answered;
        let received = self.here.circuit.handle_datagram(now, bytes, scratch);
        let result = match received {
            Ok(Some(received)) => self.on_message(now, received).map_err(DropReason::Malformed),
            Ok(None) => Ok(()),
            Err(reason) => Err(reason),
        };
        self.stats.dropped += u64::from(result.is_err());
        if self.stage == ArrivalStage::Gone {
            return;
        }
        if self.here.circuit.stats().pings_answered > answered
            && let Some(round_trip) = self.here.circuit.latest_ping()
        {
            self.emit(AgentEvent::Ping(round_trip));
        }
        self.advance();
    }

    /// Counts a datagram behind later ones. Resends keep their number, and carry no information about order.
    fn note_order(&mut self, bytes: &[u8]) {
        let Ok(datagram) = Datagram::parse(bytes) else { return };
        if datagram.flags.contains(Flags::RESENT) {
            return;
        }
        if self.newest.is_none_or(|newest| circuit::is_newer(datagram.sequence, newest)) {
            self.newest = Some(datagram.sequence);
        } else {
            self.stats.reordered += 1;
        }
    }

    /// It may hear itself.
    fn on_chat(&mut self, now: Instant, body: &[u8]) -> Result<(), Malformed> {
        let Some(echo) = &mut self.echo else { return Ok(()) };
        let chat = ChatFromSimulator::decode(body)?.chat_data;
        if chat.source_id == self.identity.agent.0 {
            let before = echo.reordered;
            let heard = echo.match_line(now, &text::from_wire(&chat.message));
            self.stats.reordered += echo.reordered - before;
            if let Some(after) = heard {
                self.emit(AgentEvent::Echo(after));
            }
        }
        Ok(())
    }

    /// The region that was left still wants acks and pings; all that it says is heard elsewhere now.
    fn on_datagram_left(&mut self, now: Instant, bytes: &[u8], scratch: &mut Vec<u8>) {
        let Some(left) = &mut self.left else { return };
        let received = left.visit.circuit.handle_datagram(now, bytes, scratch);
        if let Ok(Some(Received { number: DisableSimulator::NUMBER | CloseCircuit::NUMBER, .. })) = received {
            self.on_left_closed(now);
        }
    }

    fn on_message(&mut self, now: Instant, received: Received<'_>) -> Result<(), Malformed> {
        let Received { number, body, .. } = received;
        match number {
            ImprovedTerseObjectUpdate::NUMBER if self.tracks_itself() => self.whereabouts.on_terse(now, body),
            // For standing bots, too: a command may make them walk.
            ObjectUpdate::NUMBER => self.whereabouts.on_object_update(now, body),
            CoarseLocationUpdate::NUMBER if self.observer.is_none() => self.on_dots(now, body)?,
            AvatarAnimation::NUMBER if self.config.profile == Profile::NodeMetaverse => {
                let animation = AvatarAnimation::decode(body)?;
                if animation.sender.id == self.identity.agent.0 {
                    let finished = |row: &&AvatarAnimationAnimationList| NM_FINISHES.contains(&row.anim_id);
                    let count = animation.animation_list.iter().filter(finished).count();
                    if count > 0 && self.stage == ArrivalStage::Present {
                        self.finish_animations(now, count);
                    }
                }
            }
            ChatFromSimulator::NUMBER if self.echo.is_some() => self.on_chat(now, body)?,
            UUIDNameReply::NUMBER => self.names.on_reply(&UUIDNameReply::decode(body)?),
            RegionHandshake::NUMBER => self.on_region_handshake(now, &RegionHandshake::decode(body)?),
            AgentMovementComplete::NUMBER => {
                let data = AgentMovementComplete::decode(body)?.data;
                self.on_placed(now, data.position);
            }
            AgentWearablesUpdate::NUMBER => self.on_wearables(now),
            TeleportLocal::NUMBER => self.on_placed(now, TeleportLocal::decode(body)?.info.position),
            TeleportFailed::NUMBER => {
                let reason = text::from_wire(&TeleportFailed::decode(body)?.info.reason);
                self.on_teleport_failed(reason);
            }
            LogoutReply::NUMBER => self.on_logged_out(now),
            KickUser::NUMBER => self.lose(LossReason::Kicked),
            DisableSimulator::NUMBER | CloseCircuit::NUMBER => self.on_server_closed(now),
            _ => {}
        }
        self.carry_message(now, number, body)?;
        self.observe(now, number, body);
        Ok(())
    }

    fn observe(&mut self, now: Instant, number: MessageNumber, body: &[u8]) {
        let Some(observer) = &mut self.observer else { return };
        observer.on_message(now, number, body);
        for agent in observer.take_newcomers() {
            self.names.want(agent);
        }
        while self.observer.as_ref().is_some_and(|observer| observer.prims().is_missing()) {
            self.request_missed_prims();
        }
        self.compare_prims(now);
        self.carry_prims(now);
        self.plan_names(now);
    }

    /// Bots that decode no updates learn of nearby avatars from the map, and request names as viewers do for name tags.
    fn on_dots(&mut self, now: Instant, body: &[u8]) -> Result<(), Malformed> {
        for dot in CoarseLocationUpdate::decode(body)?.agent_data {
            self.names.want(AgentId(dot.agent_id));
        }
        self.plan_names(now);
        Ok(())
    }

    fn plan_names(&mut self, now: Instant) {
        if self.next_names_at.is_none() && self.names.is_wanting() {
            self.next_names_at = Some(now + NAMES_PERIOD);
        }
    }

    /// The server says so over the event queue and over UDP; the first of both counts.
    fn on_teleport_failed(&mut self, reason: String) {
        if std::mem::take(&mut self.teleporting) {
            self.emit(AgentEvent::TeleportFailed(reason));
        }
    }

    fn on_server_closed(&mut self, now: Instant) {
        if matches!(self.stage, ArrivalStage::LoggingOut | ArrivalStage::Lingering) {
            self.on_logged_out(now);
        } else {
            self.lose(LossReason::ServerClosed);
        }
    }

    /// Walkers have to know where they are; observers want to.
    fn tracks_itself(&self) -> bool {
        self.config.behavior.moves() || self.observer.is_some()
    }
}
