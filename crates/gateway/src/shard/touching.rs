//! Touches of objects: from the press of a button over an object to its release, each passed on to the world.
//!
//! An object of the user's own that physics moves follows the pointer while the button is held. Static objects have no scripts that could notice them. A client that touches an object which is gone is told so by a kill.

use super::counters::Refused;
use super::incoming::{Handled, Incoming};
use super::objects::Found;
use super::{COMMANDS_MAX, Shard};
use crate::coverage::MessageOutcome;
use glam::Vec3;
use ids::LocalId;
use link::{Action, ObjectCommand, PrimFlags, SurfacePoint, TouchCommand, TouchPhase};
use std::sync::Arc;
use wire::messages::*;

/// A point of a surface as the messages of touches have it; `None` if the viewer does not know the face.
macro_rules! surface_of {
    ($rows:expr) => {
        $rows.into_iter().next().and_then(|row| {
            Some(SurfacePoint {
                face: u8::try_from(row.face_index).ok()?,
                uv: row.uv_coord.truncate(),
                st: row.st_coord.truncate(),
                position: row.position,
                normal: row.normal,
                binormal: row.binormal,
            })
        })
    };
}

impl Shard {
    pub(super) fn on_object_grab(&mut self, at: &mut Incoming<'_>, m: ObjectGrab) -> Handled {
        let ObjectGrabObjectData { local_id, grab_offset } = m.object_data;
        self.touch(at, local_id, TouchPhase::Began, grab_offset, surface_of!(m.surface_info))
    }

    pub(super) fn on_object_grab_update(&mut self, at: &mut Incoming<'_>, m: ObjectGrabUpdate) -> Handled {
        let place = Arc::clone(&self.client(at.index).place);
        let id = place.scene.feed.current().objects().of_id(m.object_data.object_id);
        // One that the world does not have has no local id to be killed by.
        let Some(LocalId(id)) = id else { return Ok(MessageOutcome::Ignored) };
        let offset = m.object_data.grab_offset_initial;
        let handled = self.touch(at, id, TouchPhase::Held, offset, surface_of!(m.surface_info))?;
        if handled == MessageOutcome::Done {
            self.pull(at, LocalId(id), offset, m.object_data.grab_position);
        }
        Ok(handled)
    }

    pub(super) fn on_object_de_grab(&mut self, at: &mut Incoming<'_>, m: ObjectDeGrab) -> Handled {
        let id = m.object_data.local_id;
        if self.commands.len() < COMMANDS_MAX && std::mem::take(&mut self.client(at.index).is_pulling) {
            self.command(at.index, Action::Object(Box::new(ObjectCommand::Release)));
        }
        self.touch(at, id, TouchPhase::Ended, Vec3::ZERO, surface_of!(m.surface_info))
    }

    /// Pulls an object of the user's own that physics moves. Others are touched and no more.
    fn pull(&mut self, at: &Incoming<'_>, object: LocalId, grip: Vec3, target: Vec3) {
        let client = self.client(at.index);
        let (agent, place) = (client.ticket.agent, Arc::clone(&client.place));
        let replica = place.scene.feed.current();
        let is_own_body = replica.objects().get(object).is_some_and(|entry| {
            entry.prim.flags.any(PrimFlags::PHYSICS) && entry.body.ownership.owner == agent
        });
        if is_own_body && self.commands.len() < COMMANDS_MAX {
            self.client(at.index).is_pulling = true;
            let drag = ObjectCommand::Drag { object, grip, target };
            self.command(at.index, Action::Object(Box::new(drag)));
        }
    }

    fn touch(
        &mut self,
        at: &mut Incoming<'_>,
        id: u32,
        phase: TouchPhase,
        offset: Vec3,
        surface: Option<SurfacePoint>,
    ) -> Handled {
        match self.find(at, id) {
            Found::Prim(_) => {}
            Found::Static(..) | Found::Avatar => return Ok(MessageOutcome::Ignored),
            Found::Nothing => {
                self.show_again(at, std::iter::once(id));
                return Ok(MessageOutcome::Refused);
            }
        }
        let has_room = self.client(at.index).touches.try_spend(at.now);
        if !has_room {
            // The next one of a held button tells the same.
            let is_held = phase == TouchPhase::Held;
            return if is_held { Ok(MessageOutcome::Ignored) } else { Err(Refused::Flood.into()) };
        }
        if self.commands.len() >= COMMANDS_MAX {
            return Err(Refused::WorldBusy.into());
        }
        if !self.client(at.index).has_avatar() {
            return Ok(self.refuse_without_avatar(at));
        }
        let touch = TouchCommand { object: LocalId(id), phase, offset, surface };
        self.command(at.index, Action::Touch(Box::new(touch)));
        Ok(MessageOutcome::Done)
    }
}
