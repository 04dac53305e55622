//! The inbox phase: commands take effect, in an order that does not depend on how they came.

use crate::{
    chat,
    command::{Action, Command, ControlFlags, Enter},
    counters::WorldCounters,
    frame::{Event, Frame, Refusal},
    ground::Ground,
    npc,
    presence::{Presence, Stance, facing},
    world::World,
};
use glam::Vec3;
use ids::{LocalId, SessionKey};
use systems::System;

impl World {
    /// Applies a tick's commands by (session, sequence) and empties the buffer.
    #[inline(never)]
    pub(crate) fn receive(&mut self, commands: &mut Vec<Command>, out: &mut Frame) {
        System::WorldInbox.enter();
        commands.sort_unstable_by_key(|command| (command.session, command.sequence));
        for Command { session, action, .. } in commands.drain(..) {
            match action {
                Action::Enter(enter) => self.enter(session, *enter, out),
                Action::Leave => self.leave(session),
                Action::Resync => {
                    self.counters.resync += 1;
                    self.resync.request();
                }
                action => match self.roster.of_session_mut(session) {
                    Some(presence) => {
                        if !self.npcs.is_empty() && npc::is_punch(&action) {
                            self.punches.push(presence.id);
                        }
                        act(presence, action, &self.ground, &mut self.counters, out);
                    }
                    // It left while this was on its way.
                    None => self.counters.ignored += 1,
                },
            }
        }
        self.bring_back(out);
    }

    fn enter(&mut self, session: SessionKey, enter: Enter, out: &mut Frame) {
        let (position, look_at, flying) = (enter.position, enter.look_at, enter.flying);
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
            relocate(presence, position, look_at, &self.ground, &mut self.counters);
            // The world may have begun again from an earlier state than the client was told of.
            self.tell_health(session, agent, out);
            self.tell_missions(session, out);
            return;
        }
        if self.roster.len() >= self.max_avatars {
            self.counters.refused += 1;
            out.events.push(Event::Refused { session, reason: Refusal::Full });
            return;
        }
        self.counters.enter += 1;
        let agent = enter.agent;
        let mut presence = Presence::new(session, self.next_id(), enter);
        relocate(&mut presence, position, look_at, &self.ground, &mut self.counters);
        self.roster.insert(presence);
        self.tell_health(session, agent, out);
        self.tell_missions(session, out);
    }

    fn leave(&mut self, session: SessionKey) {
        let Some(presence) = self.roster.remove(session) else {
            self.counters.ignored += 1;
            return;
        };
        self.counters.leave += 1;
        self.presences_hash = self.presences_hash.wrapping_sub(presence.hashes.whole);
        if !presence.news.created {
            self.removed.push(presence.id);
        }
    }

    /// The next local id. They ascend; once the range is used up they begin again, and those still alive are left out.
    pub(crate) fn next_id(&mut self) -> LocalId {
        loop {
            if self.next_local_id >= self.local_ids.end {
                self.next_local_id = self.local_ids.start;
                self.local_ids_wrapped = true;
            }
            let id = LocalId(self.next_local_id);
            self.next_local_id += 1;
            let taken = |(_, presence): (u32, &Presence)| presence.id == id;
            let is_npc = || self.npcs.ids().any(|taken| taken == id);
            // There are more ids than avatars, so this ends.
            if !self.local_ids_wrapped || !self.roster.iter().any(taken) && !is_npc() {
                return id;
            }
        }
    }
}

/// An action of somebody who is here.
fn act(
    presence: &mut Presence,
    action: Action,
    ground: &Ground,
    counters: &mut WorldCounters,
    out: &mut Frame,
) {
    match action {
        Action::Control(control) => {
            counters.control += 1;
            presence.controls.take(&control);
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
        Action::Animate(wishes) => {
            counters.animate += 1;
            presence.news.animated |= presence.animator.choose(&wishes);
        }
        Action::Chat { kind, channel, text } => {
            counters.chat += 1;
            out.events.extend(chat::say(presence, kind, channel, text));
        }
        Action::AlwaysRun(on) => {
            counters.always_run += 1;
            presence.controls.always_run = on;
        }
        Action::Enter(_) | Action::Leave | Action::Resync => unreachable!("not an action of one avatar"),
    }
    presence.news.touched = true;
}

/// Puts an avatar elsewhere. What its owner holds stays held.
pub(crate) fn relocate(
    presence: &mut Presence,
    to: Vec3,
    look_at: Vec3,
    ground: &Ground,
    counters: &mut WorldCounters,
) {
    if !ground.holds(to, presence.half_height()) {
        counters.recovered += 1;
    }
    World::place(presence, to, ground);
    if let Some(rotation) = facing(look_at) {
        presence.controls.body_rotation = rotation;
        presence.motion.rotation = rotation;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Terrain, WorldConfig, animations::PUNCH_LEFT};
    use ids::{AgentId, Epoch, Tick, Uuid, WorldId};
    use std::{sync::Arc, time::Duration};

    #[test]
    fn a_world_without_npcs_remembers_no_blows() {
        let enter = Action::Enter(Box::new(Enter {
            agent: AgentId(Uuid::from_u128(1)),
            first_name: "Ada".into(),
            last_name: "Resident".into(),
            position: Vec3::splat(50.0),
            look_at: Vec3::X,
            flying: false,
            appearance: None,
        }));
        let mut world = World::new(WorldConfig {
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
        });
        let punch = || Action::Animate(vec![(PUNCH_LEFT, true)]);
        for (sequence, action) in (0..).zip([enter].into_iter().chain((0..100).map(|_| punch()))) {
            let mut commands = vec![Command { session: SessionKey(1), sequence, action }];
            world.step(Tick(sequence), Duration::from_millis(50), 1.0, &mut commands, &mut Frame::empty());
        }
        assert!(world.punches.is_empty());
    }
}
