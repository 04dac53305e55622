//! Requests of a building bot, as messages.

use super::{Agent, AgentConfig};
use crate::builder::{BuildEdit, BuildEvent, Builder, Plot};
use crate::new_prim::new_prim;
use circuit::Reliability;
use glam::Vec3;
use ids::{Instant, LocalId, Uuid};
use wire::messages::*;
use wire::text::{VARIABLE1_MAX, to_wire};

/// Bits of MultipleObjectUpdate: position, scale, linked set.
const POSITION: u8 = 1;
const SCALE: u8 = 4;
const LINKED_SET: u8 = 8;
/// Destination of DeRezObject: the trash.
const TRASH: u8 = 6;

impl Agent {
    /// Builds if it behaves so, from its arrival on.
    pub(super) fn take_up_building(&mut self, now: Instant) {
        let Some(plan) = self.config.behavior.build_plan() else {
            self.builder = None;
            return;
        };
        if self.builder.is_some() {
            return;
        }
        let AgentConfig { number, rate_hz, plot_m, records_edits, .. } = self.config;
        let plot = Plot::of(number, plot_m as f32, self.whereabouts.region_size_m());
        let mut builder = Builder::new(now, plan, plot, rate_hz);
        if records_edits {
            builder.keep_events();
        }
        self.builder = Some(Box::new(builder));
        let observer = self.observer.get_or_insert_default();
        observer.prims_mut().keep_changes();
    }

    /// Time of the next edit. Bots build from their arrival to their logout.
    pub(super) fn next_edit_at(&self) -> Option<Instant> {
        self.builder.as_ref().filter(|_| self.is_present()).map(|builder| builder.poll_timeout())
    }

    /// Sends the edit that is due.
    pub(super) fn build(&mut self, now: Instant) {
        if !self.is_present() {
            return;
        }
        self.take_up_building(now);
        let Some(mut builder) = self.builder.take() else { return };
        if let Some(edit) = builder.poll_edit(now, &mut self.rng) {
            self.send_edit(edit);
        }
        self.builder = Some(builder);
    }

    /// Compares new states of prims with its edits.
    pub(super) fn compare_prims(&mut self, now: Instant) {
        let Some((builder, observer)) = self.builder.as_mut().zip(self.observer.as_mut()) else { return };
        for id in observer.prims_mut().take_changes() {
            match observer.prims().get(id) {
                Some(prim) => builder.on_prim(now, id, prim),
                None => builder.on_kill(now, id),
            }
        }
    }

    /// Sent and seen edits since the last call, if it builds and records them ([`AgentConfig::records_edits`]).
    pub fn take_build_events(&mut self) -> Vec<(Instant, BuildEvent)> {
        self.builder.as_mut().map(|builder| builder.take_events()).unwrap_or_default()
    }

    /// Its findings, if it builds.
    #[must_use]
    pub fn builder(&self) -> Option<&Builder> {
        self.builder.as_deref()
    }

    fn send_edit(&mut self, edit: BuildEdit) {
        let (agent_id, session_id) = (self.identity.agent.0, self.identity.session.0);
        let message: Message = match edit {
            BuildEdit::Create { position, scale } => ObjectAdd {
                agent_data: ObjectAddAgentData { agent_id, session_id, group_id: Uuid::nil() },
                object_data: new_prim(position, scale),
            }
            .into(),
            BuildEdit::Move(id, position) => self.placement(id, POSITION | LINKED_SET, position),
            BuildEdit::Scale(id, scale) => self.placement(id, SCALE, scale),
            BuildEdit::Paint(id, texture_entry) => ObjectImage {
                agent_data: ObjectImageAgentData { agent_id, session_id },
                object_data: vec![ObjectImageObjectData {
                    object_local_id: id.0,
                    media_url: to_wire("", VARIABLE1_MAX),
                    texture_entry,
                }],
            }
            .into(),
            BuildEdit::Name(id, name) => ObjectName {
                agent_data: ObjectNameAgentData { agent_id, session_id },
                object_data: vec![ObjectNameObjectData {
                    local_id: id.0,
                    name: to_wire(&name, VARIABLE1_MAX),
                }],
            }
            .into(),
            BuildEdit::Link(root, part) => ObjectLink {
                agent_data: ObjectLinkAgentData { agent_id, session_id },
                object_data: [root, part].map(|id| ObjectLinkObjectData { object_local_id: id.0 }).into(),
            }
            .into(),
            BuildEdit::Delink(part) => ObjectDelink {
                agent_data: ObjectDelinkAgentData { agent_id, session_id },
                object_data: vec![ObjectDelinkObjectData { object_local_id: part.0 }],
            }
            .into(),
            BuildEdit::Drop(id) => ObjectFlagUpdate {
                agent_data: ObjectFlagUpdateAgentData {
                    agent_id,
                    session_id,
                    object_local_id: id.0,
                    use_physics: true,
                    ..ObjectFlagUpdateAgentData::default()
                },
                extra_physics: Vec::new(),
            }
            .into(),
            BuildEdit::Delete(id) => DeRezObject {
                agent_data: DeRezObjectAgentData { agent_id, session_id },
                agent_block: DeRezObjectAgentBlock {
                    destination: TRASH,
                    packet_count: 1,
                    ..DeRezObjectAgentBlock::default()
                },
                object_data: vec![DeRezObjectObjectData { object_local_id: id.0 }],
            }
            .into(),
        };
        self.send(Reliability::Reliable, true, |out| message.encode(out));
    }

    fn placement(&self, id: LocalId, bits: u8, vector: Vec3) -> Message {
        let data = vector.to_array().iter().flat_map(|part| part.to_le_bytes()).collect();
        MultipleObjectUpdate {
            agent_data: MultipleObjectUpdateAgentData {
                agent_id: self.identity.agent.0,
                session_id: self.identity.session.0,
            },
            object_data: vec![MultipleObjectUpdateObjectData { object_local_id: id.0, r#type: bits, data }],
        }
        .into()
    }
}
