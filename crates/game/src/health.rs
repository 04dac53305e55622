//! Visitors' health, where damage is on: NPCs' blows reduce it, time restores it.
//!
//! A visitor with health 0 falls: the next step moves it to the arrival place with full health. Only accounts below full health are
//! listed, so that a new login of the same account stays wounded. Healing counts world time: a suspended world heals no account.

use super::Game;
use behavior::senses::{Stamp, WorldTime};
use ids::{AgentId, SessionKey};
use link::{Audience, Event, GameEvent};
use serde::{Deserialize, Serialize};
use state_hash::StateHasher;
use world::{Blow, GameState, GameTick};

/// Full health, as the protocol counts it.
pub const HEALTH_MAX: u8 = 100;

/// Maximum number of wounded accounts. Above it the one with the most health left heals at once, which may be the newest; accounts with
/// health 0 are kept until they are brought back.
const WOUNDED_MAX: usize = 256;
/// Milliseconds in which one point comes back.
const HEAL_MS: u32 = 1_000;
/// Milliseconds after a blow until the first one does.
const PAUSE_MS: u32 = 5_000;

/// An account below full health.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Wound {
    agent: AgentId,
    /// 0 of an avatar that has fallen and has not been brought back yet.
    health: u8,
    heals_at: Stamp,
}

impl Wound {
    /// Bytes of an encoded wound at most: the account with its length, health, a varint of 32 bits.
    pub(super) const ENCODED_MAX: usize = 17 + 1 + 5;

    pub(super) fn are_sound(wounds: &[Self]) -> bool {
        wounds.len() <= WOUNDED_MAX && wounds.iter().all(|wound| wound.health < HEALTH_MAX)
    }

    pub(super) fn hash(&self, hasher: &mut StateHasher) {
        hasher.bytes(self.agent.0.as_bytes());
        hasher.u64(u64::from(self.heals_at.0) << 8 | u64::from(self.health));
    }

    /// True if the visitor has fallen.
    pub(super) const fn is_fatal(&self) -> bool {
        self.health == 0
    }

    /// Restarts the healing pause of a restored wound.
    pub(super) fn restart_pause(&mut self, now: WorldTime) {
        self.heals_at = now.stamp().after(PAUSE_MS);
    }
}

impl Game {
    /// A visitor's health, 0 to [`HEALTH_MAX`].
    #[must_use]
    pub fn health_of(&self, agent: AgentId) -> u8 {
        self.wounds.iter().find(|wound| wound.agent == agent).map_or(HEALTH_MAX, |wound| wound.health)
    }

    /// Reduces an account's health; returns the account that heals at once for lack of room, if any.
    fn wound(&mut self, agent: AgentId, points: u16, now: WorldTime) -> Option<AgentId> {
        let left = |health: u8| health.saturating_sub(u8::try_from(points).unwrap_or(u8::MAX));
        let heals_at = now.stamp().after(PAUSE_MS);
        let mut well = None;
        if let Some(wound) = self.wounds.iter_mut().find(|wound| wound.agent == agent) {
            (wound.health, wound.heals_at) = (left(wound.health), heals_at);
        } else {
            let wound = Wound { agent, health: left(HEALTH_MAX), heals_at };
            if self.wounds.len() < WOUNDED_MAX {
                self.wounds.push(wound);
            } else {
                let least = self.wounds.iter_mut().max_by_key(|wound| wound.health)?;
                if least.health == 0 || least.health < wound.health {
                    return Some(agent);
                }
                well = Some(std::mem::replace(least, wound).agent);
            }
        }
        self.change();
        well
    }
}

impl Game {
    /// NPCs' blows hurt visitors, where damage is on.
    pub(super) fn take_blows(&mut self, tick: &GameTick<'_>, out: &mut Vec<Event>) {
        if self.plan.damage {
            tick.outcome.blows.iter().for_each(|blow| self.take_blow(blow, tick, out));
        }
    }

    fn take_blow(&mut self, blow: &Blow, tick: &GameTick<'_>, out: &mut Vec<Event>) {
        let &Blow { to, points, .. } = blow;
        let Some(visitor) = tick.visitors().find(|visitor| visitor.id == to) else { return };
        let (agent, session) = (visitor.agent, visitor.session);
        if points == 0 || self.has_fallen(agent) {
            return;
        }
        let well = self.wound(agent, points, tick.began);
        if well == Some(agent) {
            return;
        }
        let left = self.health_of(agent);
        out.push(blow_event(blow));
        out.push(health_event(session, left));
        if left == 0 {
            out.push(Event::Game(Audience::All, GameEvent::Fell(to)));
        }
        if let Some(well) = well {
            out.extend(health_of_sessions(tick, well, HEALTH_MAX));
        }
    }

    /// Sends a session its health on arrival.
    pub(super) fn push_health(&self, session: SessionKey, agent: AgentId, out: &mut Vec<Event>) {
        out.push(health_event(session, self.health_of(agent)));
    }

    /// Gives a point to each visitor whose time has come.
    pub(super) fn heal(&mut self, tick: &GameTick<'_>, out: &mut Vec<Event>) {
        let now = tick.now.stamp();
        let mut has_healed = false;
        for wound in &mut self.wounds {
            // A fallen visitor is brought back, in full health.
            if wound.health == 0 || !now.has_reached(wound.heals_at) {
                continue;
            }
            has_healed = true;
            (wound.health, wound.heals_at) = (wound.health + 1, now.after(HEAL_MS));
            out.extend(health_of_sessions(tick, wound.agent, wound.health));
        }
        if has_healed {
            self.wounds.retain(|wound| wound.health < HEALTH_MAX);
            self.change();
        }
    }
}

/// Events with an account's health, one for each of its present sessions.
fn health_of_sessions(tick: &GameTick<'_>, agent: AgentId, points: u8) -> impl Iterator<Item = Event> {
    let own = tick.visitors().filter(move |visitor| visitor.agent == agent);
    own.map(move |visitor| health_event(visitor.session, points))
}

/// A session's health, for its client.
pub(super) const fn health_event(session: SessionKey, points: u8) -> Event {
    Event::Game(Audience::Session(session), GameEvent::Health { points })
}

/// A blow that took health.
pub(super) const fn blow_event(&Blow { to, by, points }: &Blow) -> Event {
    Event::Game(Audience::All, GameEvent::Struck { who: to, by, points })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::Uuid;

    fn agent(n: usize) -> AgentId {
        AgentId(Uuid::from_u128(n as u128))
    }

    /// A game with `n` visitors struck in one tick, with health `least`, `least + 1`, …
    fn struck(n: usize, least: u8) -> Game {
        let mut game = Game::default();
        for (n, health) in (0..n).zip((least..HEALTH_MAX).cycle()) {
            assert_eq!(game.wound(agent(n), u16::from(HEALTH_MAX - health), WorldTime(0)), None);
        }
        game
    }

    #[test]
    fn memory_for_the_encoded_state_is_taken_once_for_several_wounds() {
        let mut encoded = Vec::new();
        struck(0, 1).encode(&mut encoded);
        let room = encoded.capacity();
        for n in 1..8 {
            encoded.clear();
            struck(n, 1).encode(&mut encoded);
            assert_eq!(encoded.capacity(), room, "{n} wounds");
        }
        let wound = Wound { agent: agent(usize::MAX), health: HEALTH_MAX, heals_at: Stamp(u32::MAX) };
        let game = Game { wounds: vec![wound; WOUNDED_MAX], ..Game::default() };
        encoded.clear();
        game.encode(&mut encoded);
        assert!(encoded.len() <= game.encoded_max(), "{} bytes", encoded.len());
        assert_eq!(postcard::to_allocvec(&wound).expect("encodes").len(), Wound::ENCODED_MAX);
    }

    #[test]
    fn a_full_table_forgets_the_least_wounded() {
        let mut game = struck(WOUNDED_MAX, 50);
        let version = game.version();
        assert_eq!(game.health_of(agent(49)), 99);
        let well = game.wound(agent(1_000), 30, WorldTime(0)).expect("there is no more room");
        assert_eq!((game.health_of(well), game.health_of(agent(1_000))), (HEALTH_MAX, 70));
        assert!(well.0.as_u128() % 50 == 49, "{well:?} lacked one point");
        assert_eq!(game.wounds.len(), WOUNDED_MAX);
        assert!(game.version() > version);
        assert!(Wound::are_sound(&game.wounds));
    }

    #[test]
    fn the_least_wounded_newcomer_to_a_full_table_is_not_hurt() {
        let mut game = Game::default();
        for n in 0..WOUNDED_MAX {
            assert_eq!(game.wound(agent(n), 60, WorldTime(0)), None);
        }
        let (version, hash) = (game.version(), game.hash());
        assert_eq!(game.wound(agent(1_000), 10, WorldTime(0)), Some(agent(1_000)));
        assert_eq!(game.health_of(agent(1_000)), HEALTH_MAX);
        assert_eq!((game.version(), game.hash()), (version, hash), "nothing has changed");
        assert!((0..WOUNDED_MAX).all(|n| game.health_of(agent(n)) == 40));
    }

    #[test]
    fn a_fallen_avatar_is_not_forgotten_before_its_return() {
        let mut game = Game::default();
        for n in 0..WOUNDED_MAX {
            assert_eq!(game.wound(agent(n), 1_000, WorldTime(0)), None);
        }
        assert_eq!(game.wound(agent(1_000), 1_000, WorldTime(0)), Some(agent(1_000)));
        assert!((0..WOUNDED_MAX).all(|n| game.health_of(agent(n)) == 0));
    }
}
