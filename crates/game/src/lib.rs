//! The small game that visitors of a world play: missions, and health where damage is on.
//!
//! [`MissionScript`] is its description in a template. It is checked when the template's cast is made (`plan`), and becomes a
//! [`MissionPlan`]. The state in one world is a [`Game`]: progress of each mission (`missions`) and wounded visitors (`health`). The
//! world knows none of these types, only the traits of its module `game`; [`Game::of`] and [`MissionScript::of`] find them again.

mod health;
mod missions;
mod plan;

pub use health::HEALTH_MAX;
pub use missions::MissionStatus;
pub use plan::{
    MISSIONS_MAX, Mission, MissionFault, MissionFaults, MissionPlan, MissionProblem, MissionScript,
    WAYPOINTS_MAX, Waypoint,
};

use behavior::senses::WorldTime;
use health::Wound;
use ids::{AgentId, SessionKey};
use link::Event;
use missions::MissionCourse;
use state_hash::StateHasher;
use std::{any::Any, sync::Arc};
use world::{GameRules, GameSource, GameState, GameStateError, GameTick, NpcCast, World};

/// Bytes of a list's length, below 2^14, in the encoded state.
const LENGTH_BYTES_MAX: usize = 2;
/// Wounds for which room is reserved at a time.
const WOUNDS_RESERVED: usize = 8;

/// State of the game in one world.
#[derive(Clone, Debug, Default)]
pub struct Game {
    plan: Arc<MissionPlan>,
    /// One for each mission of the plan.
    courses: Vec<MissionCourse>,
    /// Accounts below full health, present or not.
    wounds: Vec<Wound>,
    hash: u64,
    /// Rises with every change of [`World::progress`].
    version: u64,
}

impl Game {
    /// The game of a world; `None` when it has no cast, or another game.
    #[must_use]
    pub fn of(world: &World) -> Option<&Self> {
        let state: &dyn Any = world.game()?;
        state.downcast_ref()
    }

    fn with_state(plan: Arc<MissionPlan>, courses: Vec<MissionCourse>, wounds: Vec<Wound>) -> Self {
        let mut game = Self { plan, courses, wounds, ..Self::default() };
        game.settle_hash();
        game
    }

    fn settle_hash(&mut self) {
        let mut hasher = StateHasher::new();
        self.courses.iter().for_each(|course| course.hash(&mut hasher));
        self.wounds.iter().for_each(|wound| wound.hash(&mut hasher));
        self.hash = hasher.finish();
    }

    fn change(&mut self) {
        self.version += 1;
        self.settle_hash();
    }

    /// Bytes of the encoded state at most. Wounds count in groups of [`WOUNDS_RESERVED`]: a buffer that is filled again, as that of a
    /// checkpoint, grows once for a group and not with each blow and each step of a mission.
    const fn encoded_max(&self) -> usize {
        let wounds = (self.wounds.len() + 1).next_multiple_of(WOUNDS_RESERVED);
        2 * LENGTH_BYTES_MAX + self.courses.len() * MissionCourse::ENCODED_MAX + wounds * Wound::ENCODED_MAX
    }
}

impl MissionScript {
    /// The missions and rules that a cast was made from; `None` when it has no game, or another one.
    #[must_use]
    pub fn of(cast: &NpcCast) -> Option<&Self> {
        let source: &dyn Any = &**cast.script().game.as_ref()?;
        source.downcast_ref()
    }

    /// As [`world::Script::game`] takes it.
    #[must_use]
    pub fn into_source(self) -> Option<Arc<dyn GameSource>> {
        Some(Arc::new(self))
    }
}

impl GameRules for MissionPlan {
    fn fingerprint(&self) -> u64 {
        Self::fingerprint(self)
    }

    fn has_damage(&self) -> bool {
        self.damage
    }

    fn begin(self: Arc<Self>) -> Box<dyn GameState> {
        let courses = MissionCourse::all(&self);
        Box::new(Game::with_state(self, courses, Vec::new()))
    }

    fn decode(self: Arc<Self>, bytes: &[u8]) -> Result<(Box<dyn GameState>, &[u8]), GameStateError> {
        let ((courses, wounds), rest): ((Vec<MissionCourse>, Vec<Wound>), _) =
            postcard::take_from_bytes(bytes)?;
        if !MissionCourse::are_sound(&courses, &self) || !Wound::are_sound(&wounds) {
            return Err(GameStateError::Unsound);
        }
        Ok((Box::new(Game::with_state(self, courses, wounds)), rest))
    }
}

impl GameState for Game {
    fn hash(&self) -> u64 {
        self.hash
    }

    fn version(&self) -> u64 {
        self.version
    }

    fn outlive(&mut self, former: u64) {
        self.version = former + 1;
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let state = (self.courses.as_slice(), self.wounds.as_slice());
        out.reserve(self.encoded_max());
        *out = postcard::to_extend(&state, std::mem::take(out)).expect("plain data in memory always encodes");
    }

    fn restart_timers(&mut self, now: WorldTime) {
        self.wounds.iter_mut().for_each(|wound| wound.restart_pause(now));
        for (mission, course) in self.courses.iter_mut().enumerate() {
            course.wait_again(&self.plan, mission, now.stamp());
        }
        self.change();
    }

    fn play(&mut self, tick: &GameTick<'_>, out: &mut Vec<Event>) {
        report_hits(tick, out);
        self.take_blows(tick, out);
        self.heal(tick, out);
        self.notice_falls(tick, out);
        self.advance_missions(tick, out);
    }

    fn greet(&self, session: SessionKey, agent: AgentId, out: &mut Vec<Event>) {
        if self.plan.damage {
            self.push_health(session, agent, out);
        }
        self.push_missions(session, out);
    }

    fn has_fallen_visitors(&self) -> bool {
        self.wounds.iter().any(Wound::is_fatal)
    }

    fn has_fallen(&self, agent: AgentId) -> bool {
        !self.wounds.is_empty() && self.health_of(agent) == 0
    }

    fn push_raised(&self, session: SessionKey, out: &mut Vec<Event>) {
        out.push(health::health_event(session, HEALTH_MAX));
    }

    fn raise_fallen(&mut self) {
        self.wounds.retain(|wound| !wound.is_fatal());
        self.change();
    }
}

/// Visitors' blows hurt NPCs in the NPC phase; they are only reported here.
fn report_hits(tick: &GameTick<'_>, out: &mut Vec<Event>) {
    out.extend(tick.outcome.hits.iter().map(health::blow_event));
}
