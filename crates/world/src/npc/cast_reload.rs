//! Hot reload of behaviours, while the world runs.
//!
//! A template's files are read anew, which makes another [`NpcCast`] on the same ground. Its worlds go over to it by a command
//! ([`link::Action::ReloadBehaviors`]) that names the cast, so that a recording repeats it and a world that moves takes it along. The slow
//! part, the comparison of names, is done once in a [`CastReload`], elsewhere, and offered to the world before the command. The world
//! itself renames the numbers that its NPCs have in mind and lets each begin its behaviour again; nothing large is allocated or freed.

use super::{NpcCast, Npcs, home_of};
use crate::animations::Animator;
use behavior::{Adoption, Names};
use ids::{SessionKey, Uuid};
use link::{Action, Author, Command, Terrain};
use std::sync::Arc;
use thiserror::Error;

/// Transition of worlds from one cast to another.
#[derive(Debug)]
pub struct CastReload {
    from: Arc<NpcCast>,
    to: Arc<NpcCast>,
    adoption: Adoption,
}

/// Reasons why worlds of one cast cannot change to another one. New worlds can use it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CastReloadRefusal {
    /// It is for another template.
    #[error("the ground is another one")]
    Ground,
    /// NPCs' memories refer to kinds by number.
    #[error("kind {number} was {was:?}, and a change can only add kinds behind the others")]
    Kind {
        /// From 1.
        number: usize,
        /// Its name.
        was: String,
    },
    /// Others than before, or in another order.
    #[error("NPC {number} ({was}) has changed; a running world keeps its NPCs")]
    Npc {
        /// Index of the spawn.
        number: usize,
        /// Its name.
        was: String,
    },
    /// Progress of missions that differ.
    #[error("missions or damage have changed; a running world keeps them")]
    Missions,
    /// More or fewer than before.
    #[error("{is} NPCs instead of {was}; a running world keeps its NPCs")]
    Count {
        /// Before.
        was: usize,
        /// Now.
        is: usize,
    },
}

impl CastReload {
    /// Compares both casts. Ground, NPCs and missions must be equal; behaviours, places, outfits, animations, strength and spawns may
    /// differ.
    ///
    /// # Errors
    /// [`CastReloadRefusal`].
    pub fn new(from: Arc<NpcCast>, to: Arc<NpcCast>) -> Result<Self, CastReloadRefusal> {
        if from.mark().ground != to.mark().ground {
            return Err(CastReloadRefusal::Ground);
        }
        let kinds = &to.script().vocabulary.kinds;
        for (index, was) in from.script().vocabulary.kinds.iter().enumerate() {
            if kinds.get(index).is_none_or(|is| is.name != was.name) {
                return Err(CastReloadRefusal::Kind { number: index + 1, was: was.name.clone() });
            }
        }
        if from.len() != to.len() {
            return Err(CastReloadRefusal::Count { was: from.len(), is: to.len() });
        }
        for (number, (was, is)) in from.roles.iter().zip(&to.roles).enumerate() {
            if (was.kind, &was.first_name, &was.last_name) != (is.kind, &is.first_name, &is.last_name) {
                let was = format!("{} {}", was.first_name, was.last_name);
                return Err(CastReloadRefusal::Npc { number, was });
            }
        }
        if from.mark().plan != to.mark().plan {
            return Err(CastReloadRefusal::Missions);
        }
        let adoption = Adoption::new(from.behaviors.names(), &to.behaviors);
        Ok(Self { from, to, adoption })
    }

    /// The cast that a world has to have to go over.
    #[must_use]
    pub const fn from(&self) -> &Arc<NpcCast> {
        &self.from
    }

    /// The new cast.
    #[must_use]
    pub const fn to(&self) -> &Arc<NpcCast> {
        &self.to
    }

    /// The command by which a world that was offered this reload carries it out.
    #[must_use]
    pub fn command(&self, sequence: u64) -> Command {
        let action = Action::ReloadBehaviors { cast: self.to.fingerprint() };
        Command::by_node(SessionKey::NODE, sequence, action)
    }

    /// The offered reload, if a command asks for it, which is removed: it takes effect before all others of its tick.
    pub(crate) fn take_ordered(
        offered: &mut Option<Arc<Self>>,
        commands: &mut Vec<Command>,
    ) -> Option<Arc<Self>> {
        let cast = offered.as_ref()?.to.fingerprint();
        let is_order = |command: &Command| {
            command.author == Author::Node && command.action == Action::ReloadBehaviors { cast }
        };
        let at = commands.iter().position(is_order)?;
        commands.remove(at);
        offered.take()
    }
}

impl Npcs {
    /// Continues the state of another cast's snapshot that [fits](crate::cast::CastMark::fits).
    pub(crate) fn take_over(&mut self, names: &Names, cast: &NpcCast) {
        let adoption = Adoption::new(names, &cast.behaviors);
        for ((legs, head), role) in self.legs.iter_mut().zip(&mut self.heads).zip(&cast.roles) {
            if !head.mind.adopt(&adoption) {
                head.mind.switch(role.behavior);
            }
            head.health = head.health.min(cast.actor(role.kind).health);
            // The animation behind the number is unknown now.
            if head.plays.take().is_some() | head.gesture.take().is_some() {
                (head.animator, legs.movement) = (Animator::new(), Uuid::nil());
            }
        }
    }

    /// Goes over from one cast to the other, between two steps.
    pub(crate) fn reload(&mut self, CastReload { from, to, adoption }: &CastReload, terrain: &Terrain) {
        let now = self.now();
        let roles = from.roles.iter().zip(&to.roles);
        for ((legs, head), (was, is)) in self.legs.iter_mut().zip(&mut self.heads).zip(roles) {
            // An NPC in its entry behaviour gets the new entry behaviour.
            let follows_entry = head.mind.behavior() == was.behavior;
            let is_there = head.mind.adopt(adoption);
            if follows_entry || !is_there {
                head.mind.switch(is.behavior);
            }
            if was.spot != is.spot {
                head.mind.set_home(home_of(to, is, terrain));
            }
            head.health = head.health.min(to.actor(is.kind).health);
            legs.dirty.appeared |= was.appearance != is.appearance;
            // Numbers of animations may differ now; the next thought restarts the current one if it is wanted.
            let played = [head.plays.take(), head.gesture.take().map(|(gesture, _)| gesture)];
            let id_of = |played: u16| from.animations.get(usize::from(played)).copied();
            for id in played.into_iter().flatten().filter_map(id_of) {
                legs.dirty.animated |= head.animator.choose(&[(id, false)]);
            }
            legs.attention.request_thought(now);
        }
        self.settle_hashes();
    }
}
