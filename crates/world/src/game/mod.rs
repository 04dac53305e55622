//! The small game that visitors of a world play: missions, and health where damage is on.
//!
//! What there is to play is data of the template (`plan`), checked when it is loaded. What became of it in one world is its [`Game`]:
//! how far each mission has come (`missions`) and who is hurt (`health`). It is state like all else, in snapshots and in the hash;
//! and it is what users would miss most, so it also comes as a record of some dozen bytes (`progress`), to be written every second.

mod health;
mod missions;
mod plan;
mod progress;

pub use health::HEALTH_MAX;
pub use missions::MissionStatus;
pub use plan::{MISSIONS_MAX, Mission, MissionFault, MissionFaults, MissionProblem, WAYPOINTS_MAX, Waypoint};
pub(crate) use plan::{Plan, Site};
pub(crate) use progress::PROGRESS;
pub use progress::ProgressError;

use crate::{
    outcome::{NpcSet, Outcome},
    periods::Span,
    roster::Roster,
};
use behavior::senses::WorldTime;
use health::Wound;
use ids::{AgentId, LocalId, SessionKey};
use link::Frame;
use missions::Course;
use record::Part;
use serde::{Deserialize, Serialize};
use state_hash::StateHasher;

/// What became of the game in one world.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Game {
    /// One for each mission of the plan.
    courses: Vec<Course>,
    /// Those who are not in full health, here or not.
    wounds: Vec<Wound>,
    #[serde(skip)]
    hash: u64,
    /// Rises with every change of what [`crate::World::progress`] tells.
    #[serde(skip)]
    version: u64,
}

impl Game {
    /// Its record in snapshots.
    pub(crate) const PART: Part = Part::new(*b"GAME", "game");

    pub(crate) fn new(plan: &Plan) -> Self {
        let mut game = Self { courses: Course::all(plan), ..Self::default() };
        game.settle_hash();
        game
    }

    /// Of all that decides what becomes of it.
    pub(crate) const fn hash(&self) -> u64 {
        self.hash
    }

    pub(crate) const fn version(&self) -> u64 {
        self.version
    }

    /// Goes on with the numbers of an earlier life, so that no change is taken for none.
    pub(crate) const fn outlive(&mut self, former: u64) {
        self.version = former + 1;
    }

    /// Makes a copy in the memory of another one.
    pub(crate) fn copy_into(&self, copy: &mut Self) {
        let Self { courses, wounds, hash, version } = self;
        courses.clone_into(&mut copy.courses);
        wounds.clone_into(&mut copy.wounds);
        (copy.hash, copy.version) = (*hash, *version);
    }

    /// Whether it can have come out of a snapshot of ours, of a world with this plan.
    pub(crate) fn is_sound(&self, plan: &Plan) -> bool {
        Course::are_sound(&self.courses, plan) && Wound::are_sound(&self.wounds)
    }

    pub(crate) fn settle_hash(&mut self) {
        let mut hasher = StateHasher::new();
        self.courses.iter().for_each(|course| course.hash(&mut hasher));
        self.wounds.iter().for_each(|wound| wound.hash(&mut hasher));
        self.hash = hasher.finish();
    }

    fn change(&mut self) {
        self.version += 1;
        self.settle_hash();
    }
}

/// A tick as the game sees it, behind all that visitors and NPCs did.
pub(crate) struct GameTick<'a> {
    pub(crate) plan: &'a Plan,
    /// World time at the tick's beginning: that of blows.
    pub(crate) began: WorldTime,
    /// World time at its end.
    pub(crate) now: WorldTime,
    /// A step's length from its end on: when missions are looked at.
    pub(crate) span: Span,
    /// What NPCs did.
    pub(crate) outcome: &'a Outcome,
    /// NPCs that are not on their feet.
    pub(crate) npcs_down: &'a dyn Fn() -> NpcSet,
    /// Local id of an NPC that is in the world.
    pub(crate) npc_id: &'a dyn Fn(usize) -> Option<LocalId>,
    pub(crate) roster: &'a Roster,
}

impl Game {
    /// One tick of the game.
    pub(crate) fn play(&mut self, tick: &GameTick<'_>, out: &mut Frame) {
        self.take_blows(tick, out);
        self.heal(tick, out);
        self.notice_falls(tick, out);
        self.advance_missions(tick, out);
    }

    /// Tells a session that came in its health, where damage is on, and what is to be done.
    pub(crate) fn greet(&self, plan: &Plan, session: SessionKey, agent: AgentId, out: &mut Frame) {
        if plan.damage {
            self.tell_health(session, agent, out);
        }
        self.tell_missions(plan, session, out);
    }
}
