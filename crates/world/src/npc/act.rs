//! Execution of intents: what legs, mouth and fists do until the next thought.

use super::{
    Errand, GESTURE_MS, HALF_HEIGHT_M, NpcCast, NpcCondition, Npcs, Scratch, Target, Toward,
    changes::agent_of,
};
use crate::{cast::ground_of, outcome::Blow, presence::SPEED_MAX_M_PER_S, setting::WorldSetting};
use behavior::{
    Attack, Facing, Go, Intent, Pace, Pose,
    senses::{Candidate, EntityId, Journey, MoveProgress, Sound, Stamp},
};
use glam::{Vec2, Vec3};
use ids::{LocalId, SessionKey, WorldId};
use link::{CHAT_BYTES_MAX, Chat, ChatKind, Event, Frame};
use nav::{MeshPoint, PolyRef};
use std::sync::Arc;

/// A goal may lie so far from where one can walk, metres.
const GOAL_REACH_M: f32 = 4.0;
/// Close enough to a point, metres.
const ARRIVAL_M: f32 = 0.5;
/// Movement of a followed avatar, metres, above which a new path is chosen.
const FOLLOW_M: f32 = 1.5;
/// Distance at which an escape from a threat is searched, metres.
const FLIGHT_M: f32 = 16.0;

impl Npcs {
    /// Begins the intent of an NPC.
    pub(super) fn begin_intent(
        &mut self,
        cast: &NpcCast,
        setting: &WorldSetting,
        number: usize,
        intent: &Intent,
        scratch: &Scratch,
        out: &mut Frame,
    ) {
        self.set_out(cast, ground_of(&setting.ground.terrain), number, intent, &scratch.candidates);
        let now = self.now().stamp();
        let (legs, head) = (&mut self.legs[number], &mut self.heads[number]);
        legs.sits = intent.pose == Pose::Sit;
        head.errand.face = match intent.face {
            Facing::Ahead => Toward::Ahead,
            Facing::Toward(who) => Toward::Entity(who),
            Facing::At(place) => Toward::Point(place),
            Facing::Heading(radians) => Toward::Heading(radians),
        };
        let wanted = intent.animation.map(|animation| animation.0);
        let mut changes = smallvec::SmallVec::<[(ids::Uuid, bool); 4]>::new();
        let id_of = |animation: u16| cast.animations.get(usize::from(animation)).copied();
        if wanted != head.plays {
            changes.extend(head.plays.and_then(id_of).map(|id| (id, false)));
            changes.extend(wanted.and_then(id_of).map(|id| (id, true)));
            head.plays = wanted;
        }
        let is_over = |(_, until): &mut (u16, Stamp)| intent.gesture.is_some() || now.has_reached(*until);
        let ended = head.gesture.take_if(is_over);
        changes.extend(ended.and_then(|(gesture, _)| id_of(gesture)).map(|id| (id, false)));
        if let Some(gesture) = intent.gesture {
            changes.extend(id_of(gesture.0).map(|id| (id, true)));
            head.gesture = Some((gesture.0, now.after(GESTURE_MS)));
        }
        if !changes.is_empty() {
            legs.dirty.animated |= head.animator.choose(&changes);
        }
        if let Some(made) = intent.sound {
            let role = &cast.roles[number];
            let sound = Sound {
                kind: made.kind,
                place: legs.position(),
                reach_m: f32::from(made.reach_dm) / 10.0,
                by: legs.entity(),
                by_kind: role.kind,
                about: head.mind.about(),
            };
            self.sound(sound);
        }
        if let Some(line) = intent.say.and_then(|line| cast.behaviors.line(line)) {
            self.say_line(cast, setting.id, number, line, out);
        }
        if let Some(attack) = intent.attack {
            self.strike(cast, number, attack, &scratch.candidates);
        }
    }

    /// Sets a new goal, if it differs from the current one.
    fn set_out(
        &mut self,
        cast: &NpcCast,
        ground: nav::GroundHeights<'_>,
        number: usize,
        intent: &Intent,
        candidates: &[Candidate],
    ) {
        let actor = cast.actor(cast.roles[number].kind);
        let speed = match intent.pace {
            Pace::Creep => crate::CROUCH_M_PER_S,
            Pace::Walk => actor.walk_m_per_s,
            Pace::Run => actor.run_m_per_s,
            Pace::Speed(dm) => f32::from(dm) / 10.0,
        }
        .min(SPEED_MAX_M_PER_S);
        let (legs, head) = (&mut self.legs[number], &mut self.heads[number]);
        let is_new = head.errand.leg != intent.leg;
        head.errand.leg = intent.leg;
        if is_new {
            head.journey = Journey { leg: intent.leg, progress: MoveProgress::Going };
        }
        let hint = legs.spot.poly;
        let at_feet = |position: Vec3| position - Vec3::Z * HALF_HEIGHT_M;
        let locate = |point: Vec3| cast.mesh.locate(ground, point, GOAL_REACH_M, PolyRef::NONE);
        let goal: Option<(MeshPoint, f32)> = match intent.go {
            Go::Stay => {
                legs.follower.stop();
                legs.wants_path = false;
                head.errand.target = Target::None;
                // An NPC that has arrived may set out for the same goal again later: the goal may have moved.
                if head.journey.progress == MoveProgress::Arrived {
                    head.journey.progress = MoveProgress::Going;
                }
                return;
            }
            Go::To(point) => {
                if !is_new && head.errand.target == Target::Point(point) {
                    legs.follower.set_speed(speed);
                    return;
                }
                head.errand.target = Target::Point(point);
                locate(point).map(|spot| (spot, ARRIVAL_M))
            }
            Go::Toward { who, within_m } => {
                let Some(there) = candidates.iter().find(|candidate| candidate.who == who) else {
                    head.journey.progress = MoveProgress::Unreachable;
                    legs.follower.stop();
                    return;
                };
                let at = there.position.truncate();
                let is_known = matches!(head.errand.target, Target::Entity { who: known, at: chosen, .. }
                    if known == who && chosen.distance_squared(at) < FOLLOW_M * FOLLOW_M);
                if is_known && legs.follower.goal().is_some() {
                    legs.follower.set_speed(speed);
                    return;
                }
                if is_known && legs.spot.at.distance(at) <= within_m {
                    head.journey.progress = MoveProgress::Arrived;
                    return;
                }
                head.errand.target = Target::Entity { who, within_m, at };
                let feet = at_feet(there.position);
                cast.mesh.locate(ground, feet, GOAL_REACH_M, hint).map(|spot| (spot, within_m.max(ARRIVAL_M)))
            }
            Go::Away { from } => {
                let is_known =
                    matches!(head.errand.target, Target::Away(_)) && legs.follower.goal().is_some();
                if is_known && !is_new {
                    legs.follower.set_speed(speed);
                    return;
                }
                head.errand.target = Target::Away(from);
                let away = (legs.spot.at - from.truncate()).normalize_or(legs.facing);
                let point = (legs.spot.at + away * FLIGHT_M).extend(legs.feet_m);
                let seed = u64::from(head.errand.leg) << 32 ^ number as u64 ^ self.turns << 8;
                let aside = || cast.mesh.random_near(ground, legs.spot, FLIGHT_M, seed);
                cast.mesh
                    .locate(ground, point, FLIGHT_M / 2.0, PolyRef::NONE)
                    .or_else(aside)
                    .map(|spot| (spot, 1.0))
            }
        };
        match goal {
            Some((spot, arrival_m)) => {
                legs.follower.set_goal(spot, speed, arrival_m);
                legs.wants_path = true;
            }
            _ => {
                legs.follower.stop();
                legs.wants_path = false;
                head.journey.progress = MoveProgress::Unreachable;
            }
        }
    }

    fn say_line(&self, cast: &NpcCast, world: WorldId, number: usize, line: &str, out: &mut Frame) {
        let (legs, role) = (&self.legs[number], &cast.roles[number]);
        let mut text = line.to_owned();
        text.truncate(text.floor_char_boundary(CHAT_BYTES_MAX));
        out.events.push(Event::Chat(Arc::new(Chat {
            source: agent_of(world, number).0,
            session: SessionKey::NODE,
            name: format!("{} {}", role.first_name, role.last_name),
            position: legs.position(),
            radius_m: ChatKind::Say.radius_m(),
            kind: ChatKind::Say,
            channel: 0,
            text,
        })));
    }

    fn strike(&mut self, cast: &NpcCast, number: usize, attack: Attack, candidates: &[Candidate]) {
        let now = self.now();
        let from = self.legs[number].position();
        // The behaviour has checked the reach just before.
        let Some(there) = candidates.iter().position(|candidate| candidate.who == attack.who) else { return };
        let damage = attack.damage.saturating_mul(attack.blows.into());
        let by: Option<EntityId> = self.legs[number].entity();
        if there >= self.len() {
            let by = self.legs[number].id;
            self.outcome.blows.push(Blow { to: LocalId(attack.who.get()), by, points: damage });
        } else if self.legs[there].condition == NpcCondition::Up {
            self.hurt(cast, there, damage, by, cast.roles[number].kind, from, now);
        }
    }
}

impl Default for Errand {
    fn default() -> Self {
        Self { leg: 0, target: Target::None, face: Toward::Ahead }
    }
}

/// Direction of a heading, radians from east against the clock.
pub(super) fn direction(radians: f32) -> Vec2 {
    let (sin, cos) = libm::sincosf(radians);
    Vec2::new(cos, sin)
}
