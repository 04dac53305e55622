//! The inbox phase: commands take effect, in an order that does not depend on how they came.

use crate::{
    arrivals, chat,
    counters::WorldCounters,
    game::GameState,
    ground::SolidGround,
    land::{Land, LandArrival, LandAuthor, LandDeed, LandOrder},
    local_ids::LocalIds,
    npc::{self, Npcs},
    objects::{ActingAvatar, ActingUser, EditedLand, EditedWorld, Edits, ObjectStore, RestoreAuthor},
    presence::{Presence, Stance, facing},
    requests,
    resync::Resync,
    roster::Roster,
    seats::SeatSurroundings,
    setting::WorldSetting,
    solids::Solids,
};
use glam::Vec3;
use ids::{AgentId, LocalId, SessionKey, Ticket};
use link::{
    Action, Author, Command, ContentReplacement, ContentRezzing, ControlFlags, EditRights, Effect, Enter,
    EntryRefusal, Event, Frame, HeldObject, ItemRestoration, KnownSolid, LandCommand, LandEvent, LandRefusal,
    ObjectCommand, ObjectLimits, Restoration, RestorePlace, Rezzing, SitRefusal, TakeOffOrder, TouchCommand,
    WearOrder,
};
use std::sync::Arc;
use systems::System;

/// Effects that one frame passes on at most, those of all avatars together; each is a message to all clients near by.
const EFFECTS_PER_TICK_MAX: usize = 16;

/// The inbox phase, and its results for later phases.
#[derive(Debug, Default)]
pub(crate) struct InboxPhase {
    /// Visitors that punch in this tick; the NPC phase drains it.
    pub(crate) punches: Vec<LocalId>,
    /// Commands on land, in their order; the land phase drains it.
    pub(crate) land_orders: Vec<LandOrder>,
    /// Solids of assets, in the order in which they came; [`Solids`] takes them.
    pub(crate) arrived_solids: Vec<KnownSolid>,
    /// Effects passed on in this tick, of all avatars.
    n_effects: usize,
}

/// The parts of a world that commands change.
#[derive(Debug)]
pub(crate) struct Receivers<'a> {
    pub(crate) setting: &'a WorldSetting,
    pub(crate) roster: &'a mut Roster,
    pub(crate) local_ids: &'a mut LocalIds,
    pub(crate) npcs: &'a Npcs,
    pub(crate) game: Option<&'a mut dyn GameState>,
    pub(crate) objects: Option<&'a mut ObjectStore>,
    pub(crate) edits: &'a mut Edits,
    pub(crate) land: Option<EditedLand<'a>>,
    pub(crate) solids: Option<&'a Solids>,
    pub(crate) departures: &'a mut Vec<LocalId>,
    pub(crate) resync: &'a mut Resync,
    pub(crate) counters: &'a mut WorldCounters,
}

impl InboxPhase {
    /// Applies a tick's commands by (session, sequence) and empties the buffer.
    #[inline(never)]
    pub(crate) fn receive(
        &mut self,
        commands: &mut Vec<Command>,
        mut receivers: Receivers<'_>,
        out: &mut Frame,
    ) {
        System::WorldInbox.enter();
        let to = &mut receivers;
        self.n_effects = 0;
        commands.sort_unstable_by_key(|command| (command.session, command.sequence));
        for command in commands.drain(..) {
            if !command.is_permitted() || to.is_impostor(&command) {
                to.counters.foreign += 1;
                continue;
            }
            self.carry_out(command, to, out);
        }
        // Reserved in the tick of an arrival, so that later punches do not allocate.
        if !to.npcs.is_empty() {
            self.punches.reserve(to.roster.len().saturating_sub(self.punches.len()));
        }
        to.bring_back(out);
    }

    /// Applies a command that is permitted.
    fn carry_out(&mut self, command: Command, to: &mut Receivers<'_>, out: &mut Frame) {
        let Command { author, session, sequence, action } = command;
        assert!(
            author == Author::Node || author == Author::Session(session),
            "a session commands its own avatar only"
        );
        match action {
            Action::Enter(enter) => to.enter_session(session, *enter, out),
            Action::Leave => to.remove_session(session, out),
            Action::Resync => {
                to.counters.resync += 1;
                to.resync.request();
            }
            // The reload that the host has offered is carried out before; another one is ignored.
            Action::ReloadBehaviors { .. } => to.counters.ignored += 1,
            Action::Object(request) => to.change_objects(author, (session, sequence), *request, out),
            Action::EditRights(rights) => to.grant(session, *rights),
            Action::ObjectLimits(limits) => to.limit_objects(limits),
            Action::Restore(order) => to.restore(&order, out),
            Action::RestoreItem(order) => to.restore_item(sequence, &order, out),
            Action::ReplaceContent(order) => to.replace_content(sequence, &order, out),
            Action::RezContent(order) => to.rez_content(sequence, &order, out),
            Action::Wear(order) => to.wear(&order, out),
            Action::TakeOff(order) => to.take_items_off(&order, out),
            Action::Settle(ticket) => to.settle(ticket),
            Action::HeldFull { owner, is_full } => to.note_full(owner, is_full),
            Action::PutSolid(known) if to.solids.is_some() => self.arrived_solids.push(*known),
            Action::PutSolid(_) => to.counters.ignored += 1,
            Action::Land(command) => match to.land_author(author, session) {
                Some(author) => {
                    let LandCommand { at_s, edit } = *command;
                    self.land_orders.push(LandOrder { author, session, sequence, at_s, edit });
                }
                None => to.counters.ignored += 1,
            },
            Action::SitOn { object, offset } => to.sit_on(session, object, offset, out),
            Action::Touch(touch) => to.touch(session, &touch, out),
            Action::Teleport { position, look_at } if author != Author::Node => {
                to.teleport((session, sequence), position, look_at, out);
            }
            Action::Effect(effect) => self.pass_on(session, *effect, to, out),
            action => match to.roster.of_session_mut(session) {
                Some(presence) => {
                    if !to.npcs.is_empty() && npc::is_punch(&action) {
                        self.punches.push(presence.id);
                    }
                    act(presence, action, (&to.setting.ground, to.solids), to.counters, out);
                }
                // It left while this was on its way.
                None => to.counters.ignored += 1,
            },
        }
    }

    /// Passes an effect on, if there is room for it in this tick: nothing depends on it, and a crowd has thousands in a second.
    fn pass_on(&mut self, session: SessionKey, effect: Effect, to: &mut Receivers<'_>, out: &mut Frame) {
        let Some(presence) = to.roster.of_session_mut(session) else {
            to.counters.ignored += 1;
            return;
        };
        to.counters.effect += 1;
        let (agent, at) = (presence.identity.agent, presence.motion.position.truncate());
        let is_silent = matches!(effect, Effect::Sound { .. })
            && to.land.as_ref().is_some_and(|on| !on.land.may(LandDeed::MakeSounds, agent, at));
        let has_room = self.n_effects < EFFECTS_PER_TICK_MAX && !is_silent;
        let event = requests::effect(presence, effect).filter(|_| has_room);
        match event {
            Some(event) => {
                self.n_effects += 1;
                out.events.push(Event::Effect(Arc::new(event)));
            }
            None => to.counters.effect_dropped += 1,
        }
    }
}

impl Receivers<'_> {
    /// True for an `Enter` that names another agent than that of the session's present avatar.
    fn is_impostor(&mut self, command: &Command) -> bool {
        let (Action::Enter(enter), Author::Session(session)) = (&command.action, command.author) else {
            return false;
        };
        self.roster.of_session_mut(session).is_some_and(|presence| presence.identity.agent != enter.agent)
    }

    /// Rights of a command's author on land; `None` for a session that is not here.
    fn land_author(&mut self, author: Author, session: SessionKey) -> Option<LandAuthor> {
        let agent = self.roster.of_session_mut(session).map(|presence| presence.identity.agent);
        match author {
            Author::Node => Some(LandAuthor { agent, is_operator: true }),
            Author::Session(_) => Some(LandAuthor { agent: Some(agent?), is_operator: false }),
        }
    }

    fn enter_session(&mut self, session: SessionKey, enter: Enter, out: &mut Frame) {
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
    fn teleport(
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

    fn change_objects(
        &mut self,
        author: Author,
        (session, sequence): (SessionKey, u64),
        request: ObjectCommand,
        out: &mut Frame,
    ) {
        let presence = self.roster.of_session_mut(session);
        if presence.is_none() && session != SessionKey::NODE {
            self.counters.ignored += 1;
            return;
        }
        self.counters.object += 1;
        let agent = presence.as_ref().map(|presence| presence.identity.agent);
        let avatar = presence.map(|presence| {
            let motion = presence.motion;
            ActingAvatar { id: presence.id, in_front: motion.position + motion.rotation * Vec3::X }
        });
        let actor = ActingUser { session, agent, avatar, is_node: author == Author::Node, sequence };
        let mut request = request;
        if let Some((objects, solids)) = self.objects.as_deref().zip(self.solids) {
            requests::follow_rays(&mut request, objects, solids);
        }
        let size_m = self.setting.ground.terrain.size_m() as f32;
        let land = self.land.as_mut().map(|EditedLand { land, uses }| EditedLand { land, uses });
        let on = EditedWorld { store: self.objects.as_deref_mut(), land, size_m };
        self.edits.carry_out(request, actor, on, &mut self.counters.edits, &mut out.events);
    }

    fn grant(&mut self, session: SessionKey, rights: EditRights) {
        if self.objects.is_none() || self.roster.of_session_mut(session).is_none() {
            self.counters.ignored += 1;
            return;
        }
        self.counters.edit_rights += 1;
        self.edits.grant(session, rights);
    }

    fn limit_objects(&mut self, limits: ObjectLimits) {
        if self.objects.is_none() {
            self.counters.ignored += 1;
            return;
        }
        self.counters.object_limits += 1;
        self.edits.set_limits(limits);
    }

    /// True if orders of the node are carried out: not in a world without objects, nor while the node has not settled that the world has gone back. Others are ignored.
    fn takes_orders(&mut self) -> bool {
        let takes_them = self.objects.as_deref().is_some_and(|objects| !objects.escrow().is_undoing());
        self.counters.ignored += u64::from(!takes_them);
        takes_them
    }

    fn restore(&mut self, order: &Restoration, out: &mut Frame) {
        if !self.takes_orders() {
            return;
        }
        self.counters.restore += 1;
        let author = self.author_of(order, 0);
        let size_m = self.setting.ground.terrain.size_m() as f32;
        let land = self.land.as_mut().map(|EditedLand { land, uses }| EditedLand { land, uses });
        let on = EditedWorld { store: self.objects.as_deref_mut(), land, size_m };
        self.edits.restore(order, author, on, &mut self.counters.edits, &mut out.events);
    }

    fn rez_content(&mut self, sequence: u64, order: &ContentRezzing, out: &mut Frame) {
        if !self.takes_orders() {
            return;
        }
        self.counters.restore += 1;
        let author = self.author_of(&order.restoration, sequence);
        let size_m = self.setting.ground.terrain.size_m() as f32;
        let land = self.land.as_mut().map(|EditedLand { land, uses }| EditedLand { land, uses });
        let on = EditedWorld { store: self.objects.as_deref_mut(), land, size_m };
        self.edits.rez_content(order, author, on, &mut self.counters.edits, &mut out.events);
    }

    /// The author of an order for an object, and its place.
    fn author_of(&mut self, order: &Restoration, sequence: u64) -> RestoreAuthor {
        match order.place {
            RestorePlace::Former | RestorePlace::At(_) => RestoreAuthor::Node,
            RestorePlace::Rezzed(rezzing) => self.rez_author(&order.object, &rezzing, sequence),
            RestorePlace::Back { session, .. } => self.restore_author(session, sequence),
        }
    }

    /// The user who rezzes an object, and its place.
    fn rez_author(&mut self, object: &HeldObject, rezzing: &Rezzing, sequence: u64) -> RestoreAuthor {
        let actor = self.acting_user(rezzing.session, sequence);
        let Some((actor, objects)) = actor.zip(self.objects.as_deref()) else {
            return RestoreAuthor::Absent;
        };
        let at = requests::rez_place(object, rezzing, objects, self.solids);
        RestoreAuthor::User(actor, Some(at))
    }

    /// The user of a session in this world, for which the node acts.
    fn acting_user(&mut self, session: SessionKey, sequence: u64) -> Option<ActingUser> {
        let presence = self.roster.of_session_mut(session)?;
        let motion = presence.motion;
        let avatar = ActingAvatar { id: presence.id, in_front: motion.position + motion.rotation * Vec3::X };
        let agent = Some(presence.identity.agent);
        Some(ActingUser { session, agent, avatar: Some(avatar), is_node: false, sequence })
    }

    /// The user of a session for which the node acts, at no place of its own.
    fn restore_author(&mut self, session: SessionKey, sequence: u64) -> RestoreAuthor {
        let actor = self.acting_user(session, sequence);
        actor.map_or(RestoreAuthor::Absent, |actor| RestoreAuthor::User(actor, None))
    }

    fn restore_item(&mut self, sequence: u64, order: &ItemRestoration, out: &mut Frame) {
        if !self.takes_orders() {
            return;
        }
        self.counters.restore += 1;
        let author = self.restore_author(order.session, sequence);
        let size_m = self.setting.ground.terrain.size_m() as f32;
        let land = self.land.as_mut().map(|EditedLand { land, uses }| EditedLand { land, uses });
        let on = EditedWorld { store: self.objects.as_deref_mut(), land, size_m };
        self.edits.restore_item(order, author, on, &mut self.counters.edits, &mut out.events);
    }

    fn replace_content(&mut self, sequence: u64, order: &ContentReplacement, out: &mut Frame) {
        if !self.takes_orders() {
            return;
        }
        self.counters.restore += 1;
        let author = self.restore_author(order.session, sequence);
        let size_m = self.setting.ground.terrain.size_m() as f32;
        let land = self.land.as_mut().map(|EditedLand { land, uses }| EditedLand { land, uses });
        let on = EditedWorld { store: self.objects.as_deref_mut(), land, size_m };
        self.edits.replace_content(order, author, on, &mut self.counters.edits, &mut out.events);
    }

    fn wear(&mut self, order: &WearOrder, out: &mut Frame) {
        if !self.takes_orders() {
            return;
        }
        self.counters.wear += 1;
        let author = self.restore_author(order.session, 0);
        let size_m = self.setting.ground.terrain.size_m() as f32;
        let land = self.land.as_mut().map(|EditedLand { land, uses }| EditedLand { land, uses });
        let on = EditedWorld { store: self.objects.as_deref_mut(), land, size_m };
        self.edits.wear(order, author, on, &mut self.counters.edits, &mut out.events);
    }

    fn take_items_off(&mut self, order: &TakeOffOrder, out: &mut Frame) {
        if !self.takes_orders() {
            return;
        }
        self.counters.take_off += 1;
        let size_m = self.setting.ground.terrain.size_m() as f32;
        let land = self.land.as_mut().map(|EditedLand { land, uses }| EditedLand { land, uses });
        let on = EditedWorld { store: self.objects.as_deref_mut(), land, size_m };
        self.edits.take_items_off(order, on, &mut self.counters.edits, &mut out.events);
    }

    fn settle(&mut self, ticket: Ticket) {
        let Some(objects) = self.objects.as_deref_mut() else {
            self.counters.ignored += 1;
            return;
        };
        self.counters.settle += 1;
        objects.escrow_mut().settle(ticket);
    }

    fn note_full(&mut self, owner: AgentId, is_full: bool) {
        let Some(objects) = self.objects.as_deref_mut() else {
            self.counters.ignored += 1;
            return;
        };
        self.counters.held_full += 1;
        objects.escrow_mut().set_full(owner, is_full);
    }

    fn sit_on(&mut self, session: SessionKey, object: LocalId, offset: Vec3, out: &mut Frame) {
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

    fn touch(&mut self, session: SessionKey, command: &TouchCommand, out: &mut Frame) {
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

    fn remove_session(&mut self, session: SessionKey, out: &mut Frame) {
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
    fn bring_back(&mut self, out: &mut Frame) {
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
fn act(
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
pub(crate) fn relocate(
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{World, WorldConfig, animations::PUNCH_LEFT};
    use ids::{AgentId, Epoch, Tick, Uuid, WorldId};
    use link::Terrain;
    use std::{sync::Arc, time::Duration};

    const TICK: Duration = Duration::from_millis(50);

    fn world() -> World {
        World::new(WorldConfig {
            id: WorldId(0),
            epoch: Epoch(0),
            size_m: 256,
            local_ids: 1..1_000,
            terrain: Arc::new(Terrain::flat(256, 21.0)),
            scenery: Arc::default(),
            objects: None,
            land: None,
            cast: None,
            water_m: 20.0,
            max_avatars: 10,
            seed: 1,
        })
    }

    fn enter_as(agent: u128) -> Action {
        Action::Enter(Box::new(Enter {
            agent: AgentId(Uuid::from_u128(agent)),
            first_name: "Ada".into(),
            last_name: "Resident".into(),
            position: Vec3::splat(50.0),
            look_at: Vec3::X,
            flying: false,
            appearance: None,
        }))
    }

    #[test]
    fn a_world_without_npcs_remembers_no_punches() {
        let mut world = world();
        let punch = || Action::Animate(vec![(PUNCH_LEFT, true)]);
        for (sequence, action) in (0..).zip([enter_as(1)].into_iter().chain((0..100).map(|_| punch()))) {
            let mut commands = vec![Command::by_session(SessionKey(1), sequence, action)];
            world.step(Tick(sequence), TICK, 1.0, &mut commands, &mut Frame::empty());
        }
        assert!(world.inbox.punches.is_empty());
    }

    #[test]
    fn a_session_acts_for_its_own_avatar_only() {
        let (ada, eve) = (SessionKey(1), SessionKey(2));
        let (mut world, mut honest) = (world(), world());
        let mut frame = Frame::empty();
        for world in [&mut world, &mut honest] {
            let mut arrivals =
                vec![Command::by_session(ada, 0, enter_as(1)), Command::by_session(eve, 0, enter_as(2))];
            world.step(Tick(0), TICK, 1.0, &mut arrivals, &mut frame);
        }
        let forged = |session, sequence, action| Command {
            author: Author::Session(eve),
            ..Command::by_node(session, sequence, action)
        };
        let elsewhere = || Action::Teleport { position: Vec3::splat(99.0), look_at: Vec3::X };
        let mut commands = vec![
            forged(ada, 1, Action::Leave),
            forged(ada, 2, elsewhere()),
            forged(SessionKey(3), 1, enter_as(3)),
            forged(SessionKey::NODE, 1, Action::Resync),
            forged(eve, 2, Action::ReloadBehaviors { cast: 0 }),
            forged(
                eve,
                3,
                Action::EditRights(Box::new(EditRights { is_operator: true, owners: Vec::new() })),
            ),
            forged(SessionKey::NODE, 2, Action::ObjectLimits(ObjectLimits::default())),
            forged(SessionKey::NODE, 3, Action::Settle(Ticket(9))),
            forged(
                SessionKey::NODE,
                4,
                Action::HeldFull { owner: AgentId(Uuid::from_u128(1)), is_full: true },
            ),
            forged(ada, 3, Action::Object(Box::new(ObjectCommand::Link(Vec::new())))),
            // As another account than the session's.
            forged(eve, 1, enter_as(1)),
        ];
        world.step(Tick(1), TICK, 1.0, &mut commands, &mut frame);
        assert!(frame.events.is_empty() && frame.snapshot.is_none(), "{frame:?}");
        let told = frame.state_hash;
        honest.step(Tick(1), TICK, 1.0, &mut Vec::new(), &mut frame);
        assert_eq!(told, frame.state_hash);
        let counters = world.counters();
        assert_eq!((counters.foreign, counters.leave, counters.teleport, counters.resync), (11, 0, 0, 0));

        // The node may ask the same.
        let mut commands = vec![Command::by_node(ada, 0, Action::Leave)];
        world.step(Tick(2), TICK, 1.0, &mut commands, &mut frame);
        assert_eq!(world.sessions().collect::<Vec<_>>(), [eve]);
        assert_eq!(world.counters().foreign, 11);
    }

    #[test]
    #[should_panic(expected = "a session commands its own avatar only")]
    fn a_command_for_an_avatar_of_another_session_is_not_carried_out() {
        let World { setting, roster, local_ids, npcs, edits, delta, resync, counters, inbox, .. } =
            &mut world();
        let departures = &mut delta.departures;
        let mut to = Receivers {
            setting,
            roster,
            local_ids,
            npcs,
            game: None,
            objects: None,
            edits,
            land: None,
            solids: None,
            departures,
            resync,
            counters,
        };
        let leave = Command::by_node(SessionKey(1), 1, Action::Leave);
        let forged = Command { author: Author::Session(SessionKey(2)), ..leave };
        inbox.carry_out(forged, &mut to, &mut Frame::empty());
    }
}
