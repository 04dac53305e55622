//! Blows and their effects: an NPC falls, lies, vanishes, and respawns at its spawn.

use super::{
    Legs, NpcCast, NpcCondition, NpcDirtyFlags, NpcHead, Npcs, STRUCK_MAX, Scratch, Surroundings, home_of,
    state::rehash,
};
use crate::{
    animations,
    outcome::{Blow, NpcSet},
    roster::Roster,
};
use behavior::senses::{EntityId, KindId, WorldTime};
use glam::Vec3;
use ids::LocalId;
use link::Action;

/// Animations that count as a strike: the only attack of an unmodified client.
const PUNCHES: [ids::Uuid; 4] =
    [animations::PUNCH_ONE_TWO, animations::PUNCH_LEFT, animations::PUNCH_RIGHT, animations::SWORD_STRIKE];
/// Damage of a visitor's blow.
const PUNCH_DAMAGE: u16 = 10;
/// Reach of a blow: maximum distance, metres, and minimum cosine of the angle from straight ahead.
const PUNCH_REACH_M: f32 = 2.5;
const PUNCH_COS: f32 = 0.5;
/// Milliseconds between two blows of one visitor; more of them are gestures.
const PUNCH_GAP_MS: u32 = 500;

/// True for a strike.
pub(crate) fn is_punch(action: &Action) -> bool {
    matches!(action, Action::Animate(changes) if changes.iter().any(|(id, on)| *on && PUNCHES.contains(id)))
}

impl Npcs {
    /// Takes some of an NPC's health.
    #[expect(clippy::too_many_arguments, reason = "a blow has a giver, a taker and a place")]
    pub(super) fn hurt(
        &mut self,
        cast: &NpcCast,
        number: usize,
        damage: u16,
        by: Option<EntityId>,
        kind: KindId,
        from: Vec3,
        now: WorldTime,
    ) {
        let (legs, head) = (&mut self.legs[number], &mut self.heads[number]);
        self.counts.blows += 1;
        legs.head_changed = true;
        head.health = head.health.saturating_sub(damage);
        head.perception.record_blow(by, kind, from, now);
        legs.attention.request_thought(now);
        if head.health == 0 {
            self.counts.falls += 1;
            self.outcome.fell.insert(number);
            legs.follower.stop();
            (legs.velocity, legs.climb, legs.wants_path) = (glam::Vec2::ZERO, 0.0, false);
            let lies_s = cast.actor(cast.roles[number].kind).lies_s;
            legs.condition = NpcCondition::Fallen(now.stamp().after(u32::from(lies_s) * 1_000));
            legs.dirty.moved = true;
            let ended = [head.plays.take(), head.gesture.take().map(|(gesture, _)| gesture)];
            let id_of = |animation: u16| cast.animations.get(usize::from(animation)).copied();
            for id in ended.into_iter().flatten().filter_map(id_of) {
                legs.dirty.animated |= head.animator.choose(&[(id, false)]);
            }
            legs.dirty.animated |= head.animator.show_movement(animations::DEAD);
        }
    }
}

impl Npcs {
    /// NPCs that are not up.
    pub(crate) fn down(&self) -> NpcSet {
        (0..self.len()).filter(|number| self.legs[*number].condition != NpcCondition::Up).collect()
    }

    /// Lays these NPCs out of sight until their respawn and brings back the others; returns the local ids that are gone.
    pub(crate) fn take_down(&mut self, cast: &NpcCast, down: NpcSet) -> impl Iterator<Item = LocalId> {
        let now = self.now().stamp();
        let mut gone = Vec::new();
        for number in 0..self.len() {
            let is_up = self.legs[number].condition == NpcCondition::Up;
            if is_up != down.has(number) {
                continue;
            }
            let respawn_s = cast.actor(cast.roles[number].kind).respawn_s;
            let back = now.after(u32::from(respawn_s) * 1_000);
            let (legs, head) = (&mut self.legs[number], &mut self.heads[number]);
            legs.condition = NpcCondition::Gone(match down.has(number) {
                true => (respawn_s > 0).then_some(back),
                false => Some(now),
            });
            legs.follower.stop();
            (legs.velocity, legs.climb, legs.wants_path) = (glam::Vec2::ZERO, 0.0, false);
            legs.head_changed = true;
            // An NPC that no frame has announced needs no removal.
            gone.extend(legs.id.take().filter(|_| !legs.dirty.created));
            legs.dirty = NpcDirtyFlags::default();
            rehash(&mut self.hash, number, legs, head);
        }
        gone.into_iter()
    }
}

impl Npcs {
    /// A visitor's strike hits the nearest NPC in front of it.
    pub(super) fn take_punches(
        &mut self,
        cast: &NpcCast,
        roster: &Roster,
        punches: &mut Vec<LocalId>,
        scratch: &Scratch,
    ) {
        let now = self.now();
        let stamp = now.stamp();
        self.struck.retain(|(_, at)| stamp.since(*at) < PUNCH_GAP_MS);
        for id in punches.drain(..) {
            let Some((_, presence)) = roster.iter().find(|(_, presence)| presence.id == id) else {
                continue;
            };
            let is_too_soon = self.struck.iter().any(|(who, _)| *who == id);
            if is_too_soon || self.struck.len() >= STRUCK_MAX {
                continue;
            }
            self.struck.push((id, stamp));
            let (from, ahead) = (presence.motion.position, presence.motion.rotation * Vec3::X);
            let npcs = scratch.candidates[..self.len()].iter().enumerate();
            let in_reach = npcs.filter_map(|(number, candidate)| {
                let way = candidate.position - from;
                let distance = way.length();
                let is_hit = !candidate.has_fallen
                    && distance <= PUNCH_REACH_M
                    && way.dot(ahead) >= distance * PUNCH_COS;
                is_hit.then_some((distance, number))
            });
            let nearest = in_reach.min_by(|a, b| a.0.total_cmp(&b.0));
            if let Some((_, number)) =
                nearest.filter(|(_, number)| self.legs[*number].condition == NpcCondition::Up)
            {
                let hit = self.legs[number].id.map(|to| Blow { to, by: Some(id), points: PUNCH_DAMAGE });
                self.outcome.hits.extend(hit);
                self.hurt(cast, number, PUNCH_DAMAGE, EntityId::new(id.0), KindId::PLAYER, from, now);
            }
        }
    }

    /// Removes NPCs that have lain long enough from the world, and respawns others.
    pub(super) fn fall_and_rise(&mut self, cast: &NpcCast, around: &mut Surroundings<'_>) {
        let terrain = &around.setting.ground.terrain;
        let now = self.now();
        for number in 0..self.len() {
            let role = &cast.roles[number];
            let actor = cast.actor(role.kind);
            match self.legs[number].condition {
                // Not in the tick of its fall, whose event carries its number; an NPC with a lying time of 0 is removed in the next
                // tick.
                NpcCondition::Fallen(until)
                    if now.stamp().has_reached(until) && !self.outcome.fell.has(number) =>
                {
                    let legs = &mut self.legs[number];
                    let back = now.stamp().after(u32::from(actor.respawn_s) * 1_000);
                    legs.condition = NpcCondition::Gone((actor.respawn_s > 0).then_some(back));
                    legs.dirty = NpcDirtyFlags::default();
                    around.departures.extend(legs.id.take());
                }
                NpcCondition::Gone(Some(until)) if now.stamp().has_reached(until) => {
                    // A new local id, so that no replica takes it for the fallen NPC.
                    let id = self.next_local_id(around.local_ids, around.roster);
                    let hash = self.legs[number].hash;
                    let mut legs = Legs::at_home(cast, role, terrain, id, number as u32, now);
                    legs.hash = hash;
                    self.legs[number] = legs;
                    self.heads[number] = NpcHead::new(cast, role, home_of(cast, role, terrain), now);
                    self.counts.respawns += 1;
                    self.outcome.rose.insert(number);
                }
                NpcCondition::Up => continue,
                NpcCondition::Fallen(_) | NpcCondition::Gone(_) => {}
            }
            let (legs, head) = (&mut self.legs[number], &self.heads[number]);
            rehash(&mut self.hash, number, legs, head);
        }
    }
}
