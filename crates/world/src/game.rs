//! Interface between a world and the game that its visitors play: missions, health and the like. The games are crates above this one.
//!
//! A [`GameSource`] is the game as a template describes it. With the cast it becomes [`GameRules`], checked, immutable and shared by
//! all worlds of the cast. The game's state in one world is a [`GameState`], in snapshots, in the journal and in the hash. A step calls
//! it three times: commands ([`GameState::greet`], [`GameState::raise_fallen`]), perception of NPCs ([`GameState::has_fallen`]), and
//! [`GameState::play`] after the NPCs. Calls are dynamic ([ADR 0023](../../../docs/adr/0023-games-behind-a-trait.md)).

use crate::{
    outcome::{NpcDeeds, NpcSet},
    periods::Span,
    roster::Roster,
};
use behavior::senses::WorldTime;
use glam::Vec3;
use ids::{AgentId, LocalId, SessionKey};
use link::Event;
use record::Part;
use state_hash::StateHasher;
use std::{any::Any, error::Error, fmt, sync::Arc};
use thiserror::Error;

/// A game's state in snapshots. Its body is that of [`GameState::encode`].
pub(crate) const STATE_PART: Part = Part::new(*b"GAME", "game");

/// A game as a template describes it.
pub trait GameSource: fmt::Debug + Any + Send + Sync {
    /// Checks the description and looks up its names.
    ///
    /// # Errors
    /// [`GameFaults`]: all that is wrong with it.
    fn compile(&self, site: &GameSite<'_>) -> Result<Arc<dyn GameRules>, GameFaults>;
}

/// A game that can be played: immutable, and shared by all worlds of a cast.
pub trait GameRules: fmt::Debug + Any + Send + Sync {
    /// A number that differs when rules do. State is only decoded by rules with the fingerprint of those that it was encoded with.
    fn fingerprint(&self) -> u64;

    /// True if NPCs' blows hurt visitors.
    fn has_damage(&self) -> bool;

    /// The state in a world that begins.
    fn begin(self: Arc<Self>) -> Box<dyn GameState>;

    /// The state that [`GameState::encode`] wrote, and the bytes behind it.
    ///
    /// # Errors
    /// [`GameStateError`]. No bytes make it panic.
    fn decode(self: Arc<Self>, bytes: &[u8]) -> Result<(Box<dyn GameState>, &[u8]), GameStateError>;
}

/// A game's state in one world. The same calls with the same arguments make the same state and the same events.
pub trait GameState: fmt::Debug + Any + Send + Sync {
    /// Hash of all that decides its future.
    fn hash(&self) -> u64;

    /// Rises with every change of what [`World::progress`](crate::World::progress) writes: the encoded state, but for times, and the set of NPCs
    /// that are down.
    fn version(&self) -> u64;

    /// Continues behind the version of an earlier life, so that every change is noticed.
    fn outlive(&mut self, former: u64);

    /// Appends the state. Asks for no memory when `out` has room.
    fn encode(&self, out: &mut Vec<u8>);

    /// The state was decoded from the journal of another life: every timer in it begins again at `now`.
    fn restart_timers(&mut self, now: WorldTime);

    /// One tick, after the NPCs.
    fn play(&mut self, tick: &GameTick<'_>, out: &mut Vec<Event>);

    /// Events for a session that came in.
    fn greet(&self, session: SessionKey, agent: AgentId, out: &mut Vec<Event>);

    /// True while a fallen visitor has not been brought back.
    fn has_fallen_visitors(&self) -> bool;

    /// True if this visitor has fallen. NPCs see it lying.
    fn has_fallen(&self, agent: AgentId) -> bool;

    /// Events for the session of a fallen visitor that was put where visitors arrive.
    fn push_raised(&self, session: SessionKey, out: &mut Vec<Event>);

    /// All fallen visitors were brought back.
    fn raise_fallen(&mut self);
}

/// All that is wrong with a game's description. The game's crate knows the type inside.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct GameFaults(#[from] pub Box<dyn Error + Send + Sync>);

/// Reasons to refuse bytes as a game's state.
#[derive(Debug, Error)]
pub enum GameStateError {
    /// They are cut off or something else.
    #[error("the state cannot be decoded: {0}")]
    Undecodable(#[from] postcard::Error),
    /// They decode to a state that no game with these rules can have.
    #[error("the state is that of no possible game")]
    Unsound,
}

/// The place of a game, as far as [`GameSource::compile`] has to know it.
#[expect(missing_debug_implementations, reason = "closures have none")]
pub struct GameSite<'a> {
    /// NPCs of a kind or group; `None` when there is no such name.
    pub members: &'a dyn Fn(&str) -> Option<NpcSet>,
    /// The nearest point that an avatar can stand on, metres from the corner; `None` when there is none within 3 m.
    pub floor: &'a dyn Fn(Vec3) -> Option<Vec3>,
}

/// A tick as a game sees it, after all that visitors and NPCs did.
#[expect(missing_debug_implementations, reason = "closures have none")]
pub struct GameTick<'a> {
    /// World time at the tick's beginning: that of blows.
    pub began: WorldTime,
    /// World time at its end.
    pub now: WorldTime,
    /// A step's length from its end on.
    pub(crate) span: Span,
    /// Results of the NPC phase.
    pub outcome: &'a NpcDeeds,
    pub(crate) npcs_down: &'a dyn Fn() -> NpcSet,
    pub(crate) npc_id: &'a dyn Fn(usize) -> Option<LocalId>,
    pub(crate) roster: &'a Roster,
}

/// A visitor as a game sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GameVisitor {
    /// Its number in messages.
    pub id: LocalId,
    /// Its session.
    pub session: SessionKey,
    /// Its account.
    pub agent: AgentId,
    /// Its soles, metres from the corner.
    pub soles: Vec3,
}

impl GameTick<'_> {
    /// True if work with a period of `period_ms` of world time is due in this tick.
    #[must_use]
    pub fn is_due(&self, period_ms: u64) -> bool {
        self.span.is_due(period_ms, 0)
    }

    /// NPCs that lie or are away.
    #[must_use]
    pub fn npcs_down(&self) -> NpcSet {
        (self.npcs_down)()
    }

    /// Local id of an NPC by number, while it is in the world.
    #[must_use]
    pub fn npc_id(&self, number: usize) -> Option<LocalId> {
        (self.npc_id)(number)
    }

    /// All visitors, in the order of their slots.
    pub fn visitors(&self) -> impl Iterator<Item = GameVisitor> {
        self.roster.iter().map(|(_, presence)| GameVisitor {
            id: presence.id,
            session: presence.identity.session,
            agent: presence.identity.agent,
            soles: presence.motion.position - Vec3::Z * presence.half_height(),
        })
    }
}

/// Rules and state of a world whose cast has no game. Its encoding, hash and fingerprint are those of a game without missions and damage.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NoGame {
    version: u64,
}

impl NoGame {
    /// Two empty lists.
    pub(crate) const ENCODED: [u8; 2] = [0, 0];
}

impl GameRules for NoGame {
    fn fingerprint(&self) -> u64 {
        let mut hasher = StateHasher::new();
        hasher.u64(0);
        hasher.finish()
    }

    fn has_damage(&self) -> bool {
        false
    }

    fn begin(self: Arc<Self>) -> Box<dyn GameState> {
        Box::new(Self::default())
    }

    fn decode(self: Arc<Self>, bytes: &[u8]) -> Result<(Box<dyn GameState>, &[u8]), GameStateError> {
        match bytes.split_at_checked(Self::ENCODED.len()) {
            Some((head, rest)) if head == Self::ENCODED => Ok((self.begin(), rest)),
            Some(_) => Err(GameStateError::Unsound),
            None => Err(postcard::Error::DeserializeUnexpectedEnd.into()),
        }
    }
}

impl GameState for NoGame {
    fn hash(&self) -> u64 {
        StateHasher::new().finish()
    }

    fn version(&self) -> u64 {
        self.version
    }

    fn outlive(&mut self, former: u64) {
        self.version = former + 1;
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&Self::ENCODED);
    }

    fn restart_timers(&mut self, _: WorldTime) {
        self.version += 1;
    }

    fn play(&mut self, tick: &GameTick<'_>, _: &mut Vec<Event>) {
        let is_other = !tick.outcome.fell.is_empty() || !tick.outcome.rose.is_empty();
        self.version += u64::from(is_other);
    }

    fn greet(&self, _: SessionKey, _: AgentId, _: &mut Vec<Event>) {}

    fn has_fallen_visitors(&self) -> bool {
        false
    }

    fn has_fallen(&self, _: AgentId) -> bool {
        false
    }

    fn push_raised(&self, _: SessionKey, _: &mut Vec<Event>) {}

    fn raise_fallen(&mut self) {}
}
