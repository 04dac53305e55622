//! Progress of a world's missions.
//!
//! The next waypoint of a running mission is done when a visitor is within its radius and all NPCs of its `clear` have fallen since it
//! became next, or lay already. An NPC that respawns meanwhile need not fall twice.

use super::{Game, plan::MissionPlan};
use behavior::senses::Stamp;
use ids::{LocalId, SessionKey};
use link::{Audience, Event, GameEvent};
use serde::{Deserialize, Serialize};
use state_hash::StateHasher;
use std::sync::Arc;
use world::{GameTick, NpcSet};

/// Period of the check of visitors' positions, milliseconds.
const LOOK_MS: u64 = 200;

/// One mission of one world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MissionCourse {
    stage: MissionStage,
    completed: u32,
    /// Fallen NPCs among those of the next waypoint's `clear`.
    felled: NpcSet,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum MissionStage {
    /// It begins then, or with the end of another one.
    Waiting(Option<Stamp>),
    /// The waypoint that is next.
    UnderWay(u8),
}

/// A mission as others may know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissionStatus<'a> {
    /// Its name.
    pub name: &'a str,
    /// Waypoints behind its visitors, while it is under way.
    pub done: Option<u8>,
    /// Waypoints in all.
    pub waypoints: u8,
    /// Times that it was completed.
    pub completed: u32,
}

impl MissionCourse {
    /// Bytes of an encoded course at most: variant and option, varints of a stamp and of `completed`, four of 64 bits.
    pub(super) const ENCODED_MAX: usize = 2 + 5 + 5 + 4 * 10;

    /// As a world begins: those are under way that follow no other one.
    pub(super) fn all(plan: &MissionPlan) -> Vec<Self> {
        let begin = |after: Option<u8>| {
            if after.is_some() { MissionStage::Waiting(None) } else { MissionStage::UnderWay(0) }
        };
        let course = |after| Self { stage: begin(after), completed: 0, felled: NpcSet::default() };
        plan.missions.iter().map(|mission| course(mission.after)).collect()
    }

    pub(super) fn are_sound(courses: &[Self], plan: &MissionPlan) -> bool {
        let n = |mission: usize| plan.missions[mission].goals.len();
        let is_sound = |(mission, course): (usize, &Self)| match course.stage {
            MissionStage::UnderWay(next) => usize::from(next) < n(mission),
            MissionStage::Waiting(_) => true,
        };
        courses.len() == plan.missions.len() && courses.iter().enumerate().all(is_sound)
    }

    pub(super) fn hash(&self, hasher: &mut StateHasher) {
        let (kind, value) = match self.stage {
            MissionStage::Waiting(None) => (0, 0),
            MissionStage::Waiting(Some(until)) => (1, until.0),
            MissionStage::UnderWay(next) => (2, u32::from(next)),
        };
        hasher.u64(u64::from(value) << 8 | kind);
        hasher.u32(self.completed);
        self.felled.fold_into(hasher);
    }

    /// Restarts the waiting time of a restored mission.
    pub(super) fn wait_again(&mut self, plan: &MissionPlan, mission: usize, now: Stamp) {
        if let MissionStage::Waiting(Some(_)) = self.stage {
            self.stage = MissionStage::Waiting(plan.missions[mission].again_ms.map(|ms| now.after(ms)));
        }
    }
}

impl Game {
    /// Missions and their progress, in the order of the template.
    pub fn missions(&self) -> impl Iterator<Item = MissionStatus<'_>> {
        self.plan.missions.iter().zip(&self.courses).map(|(mission, course)| MissionStatus {
            name: &mission.name,
            done: if let MissionStage::UnderWay(next) = course.stage { Some(next) } else { None },
            waypoints: mission.goals.len() as u8,
            completed: course.completed,
        })
    }

    /// Sends a session the running missions on arrival.
    pub(super) fn push_missions(&self, session: SessionKey, out: &mut Vec<Event>) {
        for (mission, course) in (0..).zip(&self.courses) {
            if let MissionStage::UnderWay(next) = course.stage {
                out.push(said(&self.plan, mission, next, Some(session)));
            }
        }
    }

    /// Notes which NPCs fell in this tick, and reports these and those that came back.
    pub(super) fn notice_falls(&mut self, tick: &GameTick<'_>, out: &mut Vec<Event>) {
        let (fell, rose) = (tick.outcome.fell, tick.outcome.rose);
        if fell.is_empty() && rose.is_empty() {
            return;
        }
        let events = |npcs: NpcSet, event: fn(LocalId) -> GameEvent| {
            let ids = npcs.numbers().filter_map(|number| tick.npc_id(number));
            ids.map(move |id| Event::Game(Audience::All, event(id)))
        };
        out.extend(events(fell, GameEvent::Fell));
        out.extend(events(rose, GameEvent::Rose));
        for (mission, course) in self.courses.iter_mut().enumerate() {
            if let MissionStage::UnderWay(next) = course.stage
                && let Some(clear) = self.plan.missions[mission].goals[usize::from(next)].clear
            {
                course.felled = course.felled.or(fell.and(clear));
            }
        }
        self.change();
    }

    /// Takes missions on whose next waypoint is reached, and begins those whose time has come.
    pub(super) fn advance_missions(&mut self, tick: &GameTick<'_>, out: &mut Vec<Event>) {
        if !tick.is_due(LOOK_MS) {
            return;
        }
        let plan = Arc::clone(&self.plan);
        let now = tick.now.stamp();
        for mission in 0..self.courses.len() {
            match self.courses[mission].stage {
                MissionStage::Waiting(Some(until)) if now.has_reached(until) => {
                    self.go_on_to(tick, mission, 0);
                    out.push(said(&plan, mission as u8, 0, None));
                }
                MissionStage::UnderWay(next) if self.is_reached(tick, mission, next) => {
                    let is_last = usize::from(next) + 1 == plan.missions[mission].goals.len();
                    if is_last {
                        self.complete(tick, mission, out);
                    } else {
                        self.go_on_to(tick, mission, next + 1);
                        out.push(said(&plan, mission as u8, next + 1, None));
                    }
                }
                MissionStage::Waiting(_) | MissionStage::UnderWay(_) => {}
            }
        }
    }

    fn is_reached(&self, tick: &GameTick<'_>, mission: usize, next: u8) -> bool {
        let goal = &self.plan.missions[mission].goals[usize::from(next)];
        let felled = self.courses[mission].felled;
        let is_cleared = goal.clear.is_none_or(|clear| felled.and(clear) == clear);
        let is_there = |visitor: world::GameVisitor| {
            visitor.soles.distance_squared(goal.at) <= goal.radius_m * goal.radius_m
        };
        is_cleared && tick.visitors().any(is_there)
    }

    fn go_on_to(&mut self, tick: &GameTick<'_>, mission: usize, next: u8) {
        let goals = &self.plan.missions[mission].goals;
        assert!(usize::from(next) < goals.len(), "mission {mission} has no waypoint {next}");
        let clear = goals[usize::from(next)].clear;
        let course = &mut self.courses[mission];
        course.stage = MissionStage::UnderWay(next);
        course.felled = clear.map_or_else(NpcSet::default, |clear| tick.npcs_down().and(clear));
        self.change();
    }

    fn complete(&mut self, tick: &GameTick<'_>, mission: usize, out: &mut Vec<Event>) {
        let (plan, now) = (Arc::clone(&self.plan), tick.now.stamp());
        let course = &mut self.courses[mission];
        course.completed = course.completed.saturating_add(1);
        course.stage = MissionStage::Waiting(plan.missions[mission].again_ms.map(|ms| now.after(ms)));
        course.felled = NpcSet::default();
        self.change();
        out.push(said(&plan, mission as u8, plan.missions[mission].goals.len() as u8, None));
        for (follower, of) in plan.missions.iter().enumerate() {
            let waits = matches!(self.courses[follower].stage, MissionStage::Waiting(_));
            if waits && of.after.map(usize::from) == Some(mission) {
                self.go_on_to(tick, follower, 0);
                out.push(said(&plan, follower as u8, 0, None));
            }
        }
    }
}

/// The mission's text after `done` waypoints; for all visitors if there is no session.
fn said(plan: &MissionPlan, mission: u8, done: u8, session: Option<SessionKey>) -> Event {
    let of = &plan.missions[usize::from(mission)];
    let text = of.goals.get(usize::from(done)).map_or(&of.done, |goal| &goal.text);
    let text = Arc::clone(text);
    let event = GameEvent::Mission { mission, done, waypoints: of.goals.len() as u8, text };
    Event::Game(session.map_or(Audience::All, Audience::Session), event)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_is_encoded_in_its_stated_bytes() {
        let stage = MissionStage::Waiting(Some(Stamp(u32::MAX)));
        let felled = (0..world::NPCS_MAX).collect();
        let course = MissionCourse { stage, completed: u32::MAX, felled };
        assert_eq!(postcard::to_allocvec(&course).expect("encodes").len(), MissionCourse::ENCODED_MAX);
    }
}
