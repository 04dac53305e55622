//! The inbox phase: commands take effect, in an order that does not depend on how they came.

use crate::{
    arrivals, chat,
    counters::WorldCounters,
    game::GameState,
    ground::SolidGround,
    local_ids::LocalIds,
    npc::{self, Npcs},
    presence::{Presence, Stance, facing},
    resync::Resync,
    roster::Roster,
    setting::WorldSetting,
};
use glam::Vec3;
use ids::{AgentId, LocalId, SessionKey};
use link::{Action, Author, Command, ControlFlags, Enter, EntryRefusal, Event, Frame};
use systems::System;

/// The inbox phase, and its results for later phases.
#[derive(Debug, Default)]
pub(crate) struct InboxPhase {
    /// Visitors that strike in this tick; the NPC phase drains it.
    pub(crate) punches: Vec<LocalId>,
}

/// The parts of a world that commands change.
#[derive(Debug)]
pub(crate) struct Receivers<'a> {
    pub(crate) setting: &'a WorldSetting,
    pub(crate) roster: &'a mut Roster,
    pub(crate) local_ids: &'a mut LocalIds,
    pub(crate) npcs: &'a Npcs,
    pub(crate) game: Option<&'a mut dyn GameState>,
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
        commands.sort_unstable_by_key(|command| (command.session, command.sequence));
        for command in commands.drain(..) {
            if !command.is_permitted() || to.is_impostor(&command) {
                to.counters.foreign += 1;
                continue;
            }
            self.carry_out(command, to, out);
        }
        // In the tick of an arrival, so that no later strike takes memory.
        if !to.npcs.is_empty() {
            self.punches.reserve(to.roster.len().saturating_sub(self.punches.len()));
        }
        to.bring_back(out);
    }

    /// Applies a command that is permitted.
    fn carry_out(&mut self, command: Command, to: &mut Receivers<'_>, out: &mut Frame) {
        let Command { author, session, action, .. } = command;
        assert!(
            author == Author::Node || author == Author::Session(session),
            "a session commands its own avatar only"
        );
        match action {
            Action::Enter(enter) => to.enter_session(session, *enter, out),
            Action::Leave => to.remove_session(session),
            Action::Resync => {
                to.counters.resync += 1;
                to.resync.request();
            }
            // Those that were offered have been carried out before.
            Action::ReloadBehaviors { .. } => to.counters.ignored += 1,
            action => match to.roster.of_session_mut(session) {
                Some(presence) => {
                    if !to.npcs.is_empty() && npc::is_punch(&action) {
                        self.punches.push(presence.id);
                    }
                    act(presence, action, &to.setting.ground, to.counters, out);
                }
                // It left while this was on its way.
                None => to.counters.ignored += 1,
            },
        }
    }
}

impl Receivers<'_> {
    /// True if a session that has an avatar here would enter as another agent.
    fn is_impostor(&mut self, command: &Command) -> bool {
        let (Action::Enter(enter), Author::Session(session)) = (&command.action, command.author) else {
            return false;
        };
        self.roster.of_session_mut(session).is_some_and(|presence| presence.identity.agent != enter.agent)
    }

    fn enter_session(&mut self, session: SessionKey, enter: Enter, out: &mut Frame) {
        let (position, look_at, flying) = (enter.position, enter.look_at, enter.flying);
        let (agent, ground) = (enter.agent, &self.setting.ground);
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
            relocate(presence, position, look_at, ground, self.counters);
            // The world may have restarted from an earlier state than the client's.
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
        relocate(&mut presence, position, look_at, ground, self.counters);
        self.roster.insert(presence);
        self.greet(session, agent, out);
    }

    fn greet(&self, session: SessionKey, agent: AgentId, out: &mut Frame) {
        if let Some(game) = &self.game {
            game.greet(session, agent, &mut out.events);
        }
    }

    fn remove_session(&mut self, session: SessionKey) {
        let Some(presence) = self.roster.remove(session) else {
            self.counters.ignored += 1;
            return;
        };
        self.counters.leave += 1;
        if !presence.dirty.created {
            self.departures.push(presence.id);
        }
    }

    /// Puts visitors who fell in the step before where visitors arrive.
    fn bring_back(&mut self, out: &mut Frame) {
        let Some(game) = self.game.as_deref_mut().filter(|game| game.has_fallen_visitors()) else { return };
        let ground = &self.setting.ground;
        let middle = glam::Vec2::splat(ground.terrain.size_m() as f32 / 2.0);
        let arrival = middle.extend(ground.surface(middle));
        for (_, presence) in self.roster.iter_mut() {
            let (agent, session) = (presence.identity.agent, presence.identity.session);
            if game.has_fallen(agent) {
                let half_height = Vec3::Z * presence.half_height();
                relocate(presence, arrival + half_height, Vec3::X, ground, self.counters);
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
    ground: &SolidGround,
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
            relocate(presence, position, look_at, ground, counters);
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
            arrivals::sit_down(presence, seat, ground);
            face(presence, look_at);
        }
        Action::Enter(_) | Action::Leave | Action::Resync | Action::ReloadBehaviors { .. } => {
            unreachable!("not an action of one avatar")
        }
    }
    presence.dirty.touched = true;
}

/// Moves an avatar elsewhere. Held controls stay held.
pub(crate) fn relocate(
    presence: &mut Presence,
    to: Vec3,
    look_at: Vec3,
    ground: &SolidGround,
    counters: &mut WorldCounters,
) {
    if !ground.holds(to, presence.half_height()) {
        counters.recovered += 1;
    }
    arrivals::place(presence, to, ground);
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
    fn a_world_without_npcs_remembers_no_blows() {
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
            // As another account than the session's.
            forged(eve, 1, enter_as(1)),
        ];
        world.step(Tick(1), TICK, 1.0, &mut commands, &mut frame);
        assert!(frame.events.is_empty() && frame.snapshot.is_none(), "{frame:?}");
        let told = frame.state_hash;
        honest.step(Tick(1), TICK, 1.0, &mut Vec::new(), &mut frame);
        assert_eq!(told, frame.state_hash);
        let counters = world.counters();
        assert_eq!((counters.foreign, counters.leave, counters.teleport, counters.resync), (6, 0, 0, 0));

        // The node may ask the same.
        let mut commands = vec![Command::by_node(ada, 0, Action::Leave)];
        world.step(Tick(2), TICK, 1.0, &mut commands, &mut frame);
        assert_eq!(world.sessions().collect::<Vec<_>>(), [eve]);
        assert_eq!(world.counters().foreign, 6);
    }

    #[test]
    #[should_panic(expected = "a session commands its own avatar only")]
    fn a_command_for_an_avatar_of_another_session_is_not_carried_out() {
        let World { setting, roster, local_ids, npcs, delta, resync, counters, inbox, .. } = &mut world();
        let departures = &mut delta.departures;
        let mut to = Receivers { setting, roster, local_ids, npcs, game: None, departures, resync, counters };
        let leave = Command::by_node(SessionKey(1), 1, Action::Leave);
        let forged = Command { author: Author::Session(SessionKey(2)), ..leave };
        inbox.carry_out(forged, &mut to, &mut Frame::empty());
    }
}
