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
pub(crate) use plan::{NpcSet, Plan, Site};
pub use progress::ProgressError;

use crate::{frame::Frame, periods::Span, world::World};
use health::Wound;
use missions::Course;
use serde::{Deserialize, Serialize};
use state_hash::StateHasher;
use std::time::Duration;

/// What became of the game in one world.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Game {
    /// One for each mission of the plan.
    courses: Vec<Course>,
    /// Those who are not in full health, here or not.
    wounds: Vec<Wound>,
    #[serde(skip)]
    hash: u64,
    /// Rises with every change of what [`World::progress`] tells.
    #[serde(skip)]
    version: u64,
}

impl Game {
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

impl World {
    /// One tick of the game, behind all that visitors and NPCs did.
    pub(crate) fn play(&mut self, dt: Duration, out: &mut Frame) {
        let Some(cast) = self.cast.clone() else { return };
        let span = Span::new(self.npcs.elapsed_ns(), dt);
        self.heal(out);
        self.notice_falls(&cast.plan, out);
        self.advance_missions(&cast.plan, span, out);
    }
}
