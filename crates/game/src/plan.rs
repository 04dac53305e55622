//! Missions as data, checked before any world exists.
//!
//! A [`Mission`] of a template becomes a [`MissionPlan`] without names to resolve: places are on the mesh, groups are sets of NPCs, and
//! chains of missions end.

use glam::Vec3;
use serde::{Deserialize, Serialize};
use state_hash::StateHasher;
use std::{fmt, ops::RangeInclusive, sync::Arc};
use thiserror::Error;
use world::{GameFaults, GameRules, GameSite, GameSource, NpcSet};

/// Missions of one template at most.
pub const MISSIONS_MAX: usize = 16;
/// Waypoints of one mission at most.
pub const WAYPOINTS_MAX: usize = 64;
/// Maximum length of a text, bytes: the capacity of a notice.
const TEXT_BYTES_MAX: usize = 254;
/// Allowed radii of waypoints, metres.
const RADII_M: RangeInclusive<f32> = 0.5..=128.0;

/// The game as a template describes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MissionScript {
    /// Missions of visitors.
    pub missions: Vec<Mission>,
    /// NPCs' blows hurt visitors.
    pub damage: bool,
}

/// A mission of a world's visitors: waypoints in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mission {
    /// Its name, unlike all others.
    pub name: String,
    /// Name of the mission with whose completion it begins; without one it begins with the world.
    pub after: Option<String>,
    /// Seconds from its completion until it begins again; 0 is never.
    pub again_s: u16,
    /// At least one.
    pub waypoints: Vec<Waypoint>,
    /// Said when it is completed; if empty, its name and that it is.
    pub done: String,
}

/// A place to reach.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Waypoint {
    /// Metres from the corner; of several storeys the nearest counts.
    pub position: Vec3,
    /// Metres from there to a visitor's soles, 0.5 to 128.
    pub radius_m: f32,
    /// Kind or group of NPCs that have to have fallen.
    pub clear: Option<String>,
    /// Said when it is next; if empty, the mission's name and how far it has come.
    pub text: String,
}

/// Something that is wrong with a mission.
#[derive(Clone, Debug, PartialEq)]
pub struct MissionFault {
    /// Index of the mission.
    pub mission: usize,
    /// Index of its waypoint, if the fault is in one.
    pub waypoint: Option<usize>,
    /// The fault.
    pub problem: MissionProblem,
}

/// Faults of missions.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum MissionProblem {
    /// More than a world takes.
    #[error("{found} {what} are more than {most}")]
    TooMany {
        /// The counted items.
        what: &'static str,
        /// Number found.
        found: usize,
        /// Or fewer.
        most: usize,
    },
    /// It has no name.
    #[error("a mission needs a name")]
    Nameless,
    /// Another one before it has its name.
    #[error("there is another mission {0:?}")]
    SameName(String),
    /// It leads nowhere.
    #[error("a mission needs a waypoint")]
    NoWaypoints,
    /// A name is unknown.
    #[error("there is no {what} {wanted:?}")]
    Unknown {
        /// Mission, or kind or group.
        what: &'static str,
        /// The name.
        wanted: String,
    },
    /// It would begin behind itself.
    #[error("{0:?} begins after itself")]
    Cycle(String),
    /// No NPC belongs to the name.
    #[error("{0:?} has no NPCs")]
    NoNpcs(String),
    /// The place is not walkable.
    #[error("{0} is not walkable")]
    Nowhere(Vec3),
    /// The radius is out of range.
    #[error("radius_m is {0}, and must be between {min} and {max}", min = RADII_M.start(), max = RADII_M.end())]
    Radius(f32),
    /// More than a notice can carry.
    #[error("a text of {0} bytes is longer than {TEXT_BYTES_MAX}")]
    TooLong(usize),
}

/// All that is wrong, one a line.
#[derive(Clone, Debug, PartialEq)]
pub struct MissionFaults(pub Vec<MissionFault>);

/// Missions with all names looked up.
#[derive(Debug, Default)]
pub struct MissionPlan {
    pub(super) missions: Vec<Planned>,
    /// NPCs' blows hurt visitors.
    pub(super) damage: bool,
    fingerprint: u64,
}

#[derive(Debug)]
pub(super) struct Planned {
    pub(super) name: String,
    pub(super) after: Option<u8>,
    pub(super) again_ms: Option<u32>,
    pub(super) goals: Vec<Goal>,
    pub(super) done: Arc<str>,
}

#[derive(Debug)]
pub(super) struct Goal {
    /// Position on the ground.
    pub(super) at: Vec3,
    pub(super) radius_m: f32,
    pub(super) clear: Option<NpcSet>,
    pub(super) text: Arc<str>,
}

impl GameSource for MissionScript {
    fn compile(&self, site: &GameSite<'_>) -> Result<Arc<dyn GameRules>, GameFaults> {
        match MissionPlan::new(self.missions.clone(), self.damage, site) {
            Ok(plan) => Ok(Arc::new(plan)),
            Err(faults) => Err(GameFaults(Box::new(faults))),
        }
    }
}

impl MissionPlan {
    fn new(missions: Vec<Mission>, damage: bool, site: &GameSite<'_>) -> Result<Self, MissionFaults> {
        let mut faults = PlanFaults::default();
        if missions.len() > MISSIONS_MAX {
            faults.add(None, too_many("missions", missions.len(), MISSIONS_MAX));
            return Err(MissionFaults(faults.list));
        }
        let after = order(&missions, &mut faults);
        let mut plan = Self { damage, ..Self::default() };
        for ((number, mission), after) in missions.into_iter().enumerate().zip(after) {
            faults.mission = number;
            plan.missions.push(planned(mission, after, site, &mut faults));
        }
        if !faults.list.is_empty() {
            faults.list.sort_by_key(|fault| fault.mission);
            return Err(MissionFaults(faults.list));
        }
        plan.fingerprint = plan.hash();
        Ok(plan)
    }

    /// A number that differs when missions do.
    pub(crate) const fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    fn hash(&self) -> u64 {
        let mut hasher = StateHasher::new();
        hasher.u64(u64::from(self.damage));
        for Planned { name, after, again_ms, goals, done } in &self.missions {
            hasher.bytes(name.as_bytes());
            hasher.u64(after.map_or(u64::MAX, u64::from));
            hasher.u64(again_ms.map_or(u64::MAX, u64::from));
            hasher.bytes(done.as_bytes());
            hasher.u64(goals.len() as u64);
            for Goal { at, radius_m, clear, text } in goals {
                hasher.vec3(*at);
                hasher.f32(*radius_m);
                clear.unwrap_or_default().fold_into(&mut hasher);
                hasher.bytes(text.as_bytes());
            }
        }
        hasher.finish()
    }
}

/// Faults so far, with the position of the next one.
#[derive(Default)]
struct PlanFaults {
    list: Vec<MissionFault>,
    mission: usize,
}

impl PlanFaults {
    fn add(&mut self, waypoint: Option<usize>, problem: MissionProblem) {
        self.list.push(MissionFault { mission: self.mission, waypoint, problem });
    }

    fn check_text(&mut self, waypoint: Option<usize>, text: &str) {
        if text.len() > TEXT_BYTES_MAX {
            self.add(waypoint, MissionProblem::TooLong(text.len()));
        }
    }
}

const fn too_many(what: &'static str, found: usize, most: usize) -> MissionProblem {
    MissionProblem::TooMany { what, found, most }
}

/// For each mission the one after which it begins.
fn order(missions: &[Mission], faults: &mut PlanFaults) -> Vec<Option<u8>> {
    let number_of = |name: &str| missions.iter().position(|mission| mission.name == name);
    let mut after = Vec::new();
    for (number, mission) in missions.iter().enumerate() {
        faults.mission = number;
        if mission.name.is_empty() {
            faults.add(None, MissionProblem::Nameless);
        } else if number_of(&mission.name) != Some(number) {
            faults.add(None, MissionProblem::SameName(mission.name.clone()));
        }
        let former = mission.after.as_deref().map(number_of);
        if let (Some(None), Some(wanted)) = (former, &mission.after) {
            faults.add(None, MissionProblem::Unknown { what: "mission", wanted: wanted.clone() });
        }
        after.push(former.flatten());
    }
    for (number, mission) in missions.iter().enumerate() {
        // A return to the start is a cycle; other cycles are reported by their own members.
        let mut before = after[number];
        for _ in 0..missions.len() {
            if before == Some(number) {
                faults.mission = number;
                faults.add(None, MissionProblem::Cycle(mission.name.clone()));
                break;
            }
            before = before.and_then(|before| after[before]);
        }
    }
    after.into_iter().map(|after| after.map(|number| number as u8)).collect()
}

fn planned(mission: Mission, after: Option<u8>, site: &GameSite<'_>, faults: &mut PlanFaults) -> Planned {
    let Mission { name, again_s, waypoints, done, .. } = mission;
    let n = waypoints.len();
    if n == 0 {
        faults.add(None, MissionProblem::NoWaypoints);
    }
    if n > WAYPOINTS_MAX {
        faults.add(None, too_many("waypoints", n, WAYPOINTS_MAX));
    }
    let done = if done.is_empty() { format!("{name}: done.") } else { done };
    faults.check_text(None, &done);
    let mut goals = Vec::new();
    for (number, Waypoint { position, radius_m, clear, text }) in waypoints.into_iter().enumerate() {
        let text = if text.is_empty() { format!("{name}: waypoint {} of {n}.", number + 1) } else { text };
        faults.check_text(Some(number), &text);
        if !RADII_M.contains(&radius_m) {
            faults.add(Some(number), MissionProblem::Radius(radius_m));
        }
        let at = (site.floor)(position);
        if at.is_none() {
            faults.add(Some(number), MissionProblem::Nowhere(position));
        }
        let clear = clear.map(|name| match (site.members)(&name) {
            Some(members) if !members.is_empty() => members,
            Some(empty) => {
                faults.add(Some(number), MissionProblem::NoNpcs(name));
                empty
            }
            None => {
                faults.add(Some(number), MissionProblem::Unknown { what: "kind or group", wanted: name });
                NpcSet::default()
            }
        });
        goals.push(Goal { at: at.unwrap_or(position), radius_m, clear, text: text.into() });
    }
    let again_ms = (again_s > 0).then_some(u32::from(again_s) * 1_000);
    Planned { name, after, again_ms, goals, done: done.into() }
}

impl std::error::Error for MissionFaults {}

impl fmt::Display for MissionFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (line, MissionFault { mission, waypoint, problem }) in self.0.iter().enumerate() {
            let end = if line == 0 { "" } else { "\n" };
            write!(f, "{end}mission {}", mission + 1)?;
            if let Some(waypoint) = waypoint {
                write!(f, ", waypoint {}", waypoint + 1)?;
            }
            write!(f, ": {problem}")?;
        }
        Ok(())
    }
}
