//! The inbox phase: commands take effect, in an order that does not depend on how they came.

mod avatars;
mod orders;
#[cfg(test)]
mod tests;

use crate::{
    counters::WorldCounters,
    game::GameState,
    land::{LandAuthor, LandDeed, LandOrder},
    local_ids::LocalIds,
    npc::{self, Npcs},
    objects::{EditedLand, Edits, ObjectStore},
    requests,
    resync::Resync,
    roster::Roster,
    setting::WorldSetting,
    solids::Solids,
};
use avatars::act;
use ids::{LocalId, SessionKey};
use link::{Action, Author, Command, Effect, Event, Frame, KnownSolid, LandCommand};
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
}
