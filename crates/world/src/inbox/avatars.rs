//! Commands for avatars: arrival and departure, teleports, seats, touches, and the actions of one avatar.

use super::Receivers;
use crate::{
    arrivals, chat,
    counters::WorldCounters,
    ground::SolidGround,
    land::{Land, LandArrival},
    presence::{Presence, Stance, facing},
    requests,
    seats::SeatSurroundings,
    solids::Solids,
};
use glam::Vec3;
use ids::{AgentId, LocalId, SessionKey};
use link::{
    Action, ControlFlags, Enter, EntryRefusal, Event, Frame, LandEvent, LandRefusal, SitRefusal, TouchCommand,
};
use std::sync::Arc;

impl Receivers<'_> {
    pub(super) fn enter_session(&mut self, session: SessionKey, enter: Enter, out: &mut Frame) {
        let (position, look_at, flying) = (enter.position, enter.look_at, enter.flying);
        let (agent, around) = (enter.agent, (&self.setting.ground, self.solids));
        if let Some(presence) = self.roster.of_session_mut(session) {
            if flying {
                presence.stance = Stance::Flying;
                presence.controls.held = presence.controls.held.union(ControlFlags::FLY);
            }
            if let Some(appearance) = enter.appearance {
                presence.wear(appearance);
            }
            let agent = presence.identity.agent;
            self.counters.enter += 1;
            relocate(presence, position, look_at, around, self.counters);
            // Greeted again: a restarted world may have an earlier state than the client shows.
            self.greet(session, agent, out);
            return;
        }
        if self.roster.len() >= self.setting.max_avatars {
            self.counters.refused += 1;
            out.events.push(Event::Refused { session, reason: EntryRefusal::Full });
            return;
        }
        self.counters.enter += 1;
        let id = self.npcs.next_local_id(self.local_ids, self.roster);
        let mut presence = Presence::new(session, id, enter);
        relocate(&mut presence, position, look_at, around, self.counters);
        self.roster.insert(presence);
        self.greet(session, agent, out);
    }

    /// Teleports an avatar within the world: to the requested position, or to the landing point or telehub that the land prescribes. A user whom a parcel's lists
    /// exclude arrives as requested, and the land phase (`Land::put_out`) moves the avatar to the parcel's border.
    pub(super) fn teleport(
        &mut self,
        (session, sequence): (SessionKey, u64),
        position: Vec3,
        look_at: Vec3,
        out: &mut Frame,
    ) {
        let Some(presence) = self.roster.of_session_mut(session) else {
            self.counters.ignored += 1;
            return;
        };
        let agent = presence.identity.agent;
        let land = self.land.as_ref().map(|on| on.land);
        let is_listed = |land: &Land| {
            let parcel = land.parcel_at(position.truncate());
            parcel.is_some_and(|parcel| !land.may_be_on(agent, parcel))
        };
        let (position, look_at) = match land.map(|land| (land, land.arrival(agent, position))) {
            None | Some((_, LandArrival::AsRequested)) => (position, look_at),
            Some((_, LandArrival::At(point, direction))) => {
                (point, if direction == Vec3::ZERO { look_at } else { direction })
            }
            Some((land, LandArrival::Refused)) if is_listed(land) => (position, look_at),
            Some((_, LandArrival::Refused)) => {
                // The client waits for an arrival, also after a refusal: the avatar has not moved.
                let refused = LandEvent::Refused { sequence, reason: LandRefusal::NoLanding };
                out.events.extend([Event::Teleported(session), Event::Land(session, refused)]);
                return;
            }
        };
        let action = Action::Teleport { position, look_at };
        act(presence, action, (&self.setting.ground, self.solids), self.counters, out);
    }

    fn greet(&self, session: SessionKey, agent: AgentId, out: &mut Frame) {
        if let Some(game) = &self.game {
            game.greet(session, agent, &mut out.events);
        }
    }

    pub(super) fn sit_on(&mut self, session: SessionKey, object: LocalId, offset: Vec3, out: &mut Frame) {
        let Some(slot) = self.roster.slot_of(session) else {
            self.counters.ignored += 1;
            return;
        };
        self.counters.sit += 1;
        let refuse = |reason| Event::SitRefused { session, reason };
        let Some(objects) = self.objects.as_deref() else {
            out.events.push(refuse(SitRefusal::Unknown));
            return;
        };
        let around = SeatSurroundings { objects, solids: self.solids, ground: &self.setting.ground };
        let roster = &*self.roster;
        let sits_on =
            |presence: &Presence, prim: LocalId| presence.seat.as_ref().is_some_and(|seat| seat.prim == prim);
        let is_taken =
            |prim: LocalId| roster.iter().any(|(other, presence)| other != slot && sits_on(presence, prim));
        let presence = roster.get(slot).expect("a session's slot");
        match around.find(presence, object, offset, is_taken) {
            Ok(found) => {
                let presence = self.roster.get_mut(slot).expect("a session's slot");
                around.sit(presence, &found);
                let (object, place) = (found.object, found.on_prim);
                let (position, rotation) = (place.position, place.rotation);
                out.events.push(Event::Seated { session, object, position, rotation });
            }
            Err(reason) => out.events.push(refuse(reason)),
        }
    }

    pub(super) fn touch(&mut self, session: SessionKey, command: &TouchCommand, out: &mut Frame) {
        let presence = self.roster.slot_of(session).and_then(|slot| self.roster.get(slot));
        let touched = presence
            .zip(self.objects.as_deref())
            .and_then(|(presence, objects)| requests::touch(presence, command, objects, self.solids));
        let Some(touch) = touched else {
            self.counters.ignored += 1;
            return;
        };
        self.counters.touch += 1;
        out.events.push(Event::Touched(Arc::new(touch)));
    }

    pub(super) fn remove_session(&mut self, session: SessionKey, out: &mut Frame) {
        let Some(presence) = self.roster.remove(session) else {
            self.counters.ignored += 1;
            return;
        };
        self.counters.leave += 1;
        self.edits.forget(session);
        if let Some(objects) = self.objects.as_deref_mut() {
            let wearer = std::iter::once(presence.id);
            self.edits.take_off(objects, wearer, &mut self.counters.edits, &mut out.events);
        }
        if !presence.dirty.created {
            self.departures.push(presence.id);
        }
    }

    /// Moves visitors whose health reached 0 in the last step to the point of arrival.
    pub(super) fn bring_back(&mut self, out: &mut Frame) {
        let Some(game) = self.game.as_deref_mut().filter(|game| game.has_fallen_visitors()) else { return };
        let ground = &self.setting.ground;
        let middle = glam::Vec2::splat(ground.terrain.size_m() as f32 / 2.0);
        let arrival = middle.extend(ground.surface(middle));
        for (_, presence) in self.roster.iter_mut() {
            let (agent, session) = (presence.identity.agent, presence.identity.session);
            if game.has_fallen(agent) {
                let half_height = Vec3::Z * presence.half_height();
                relocate(presence, arrival + half_height, Vec3::X, (ground, self.solids), self.counters);
                out.events.push(Event::Teleported(session));
                game.push_raised(session, &mut out.events);
            }
        }
        game.raise_fallen();
    }
}

/// Applies an action of a present avatar.
pub(super) fn act(
    presence: &mut Presence,
    action: Action,
    around: (&SolidGround, Option<&Solids>),
    counters: &mut WorldCounters,
    out: &mut Frame,
) {
    match action {
        Action::Control(control) => {
            counters.control += 1;
            presence.controls.apply_control(&control);
        }
        Action::Teleport { position, look_at } => {
            counters.teleport += 1;
            relocate(presence, position, look_at, around, counters);
            out.events.push(Event::Teleported(presence.identity.session));
        }
        Action::Appear(appearance) => {
            counters.appear += 1;
            presence.wear(appearance);
        }
        Action::Animate(changes) => {
            counters.animate += 1;
            presence.dirty.animated |= presence.animator.choose(&changes);
        }
        Action::Chat { kind, channel, text } => {
            counters.chat += 1;
            out.events.extend(chat::chat_event(presence, kind, channel, text));
        }
        Action::AlwaysRun(on) => {
            counters.always_run += 1;
            presence.controls.always_run = on;
        }
        Action::Sit { seat, look_at } => {
            counters.sit += 1;
            arrivals::sit_down(presence, seat, around.0);
            face(presence, look_at);
        }
        Action::Enter(_)
        | Action::Leave
        | Action::Resync
        | Action::ReloadBehaviors { .. }
        | Action::Object(_)
        | Action::EditRights(_)
        | Action::ObjectLimits(_)
        | Action::Restore(_)
        | Action::RestoreItem(_)
        | Action::ReplaceContent(_)
        | Action::RezContent(_)
        | Action::Wear(_)
        | Action::TakeOff(_)
        | Action::Settle(_)
        | Action::HeldFull { .. }
        | Action::PutSolid(_)
        | Action::Land(_)
        | Action::SitOn { .. }
        | Action::Touch(_)
        | Action::Effect(_) => unreachable!("not an action of one avatar"),
    }
    presence.dirty.touched = true;
}

/// Moves an avatar elsewhere. Controls that its client holds down stay so.
fn relocate(
    presence: &mut Presence,
    to: Vec3,
    look_at: Vec3,
    (ground, solids): (&SolidGround, Option<&Solids>),
    counters: &mut WorldCounters,
) {
    if !ground.holds(to, presence.half_height()) {
        counters.recovered += 1;
    }
    arrivals::place(presence, to, ground, solids);
    face(presence, look_at);
}

/// Turns an avatar; a direction that points nowhere leaves it as it is.
fn face(presence: &mut Presence, look_at: Vec3) {
    if let Some(rotation) = facing(look_at) {
        presence.controls.body_rotation = rotation;
        presence.motion.rotation = rotation;
    }
}
