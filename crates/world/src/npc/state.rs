//! NPCs as state: hashed, copied into checkpoints, checked when they come out of a snapshot, and given other local ids.

use super::{Errand, Legs, NpcCast, NpcCondition, NpcHead, Npcs, STRUCK_MAX, Target, Toward};
use crate::{ground::SolidGround, periods::TIME_MAX, presence::SPEED_MAX_M_PER_S, renaming::Renaming};
use behavior::senses::{EntityId, WorldTime};
use glam::Vec3;
use ids::LocalId;
use nav::PathFollower;
use state_hash::StateHasher;

/// Maximum climb on slopes, metres per second.
const CLIMB_MAX_M_PER_S: f32 = 10.0 * SPEED_MAX_M_PER_S;
/// Soles are where the mesh says, but for rounding, metres.
const SOLES_M: f32 = 0.01;

impl Npcs {
    /// A copy with as much room for strikes: a later copy into its memory would allocate otherwise, if it were the first with a strike.
    pub(crate) fn copied(&self) -> Self {
        let mut copy = self.clone();
        copy.make_room_as(self);
        copy
    }

    fn make_room_as(&mut self, other: &Self) {
        self.struck.reserve(other.struck.capacity().saturating_sub(self.struck.len()));
    }

    /// Copies into the memory of another one, which a checkpoint would otherwise allocate every few seconds.
    pub(crate) fn copy_into(&self, copy: &mut Self) {
        let Self {
            legs,
            heads,
            sounds,
            struck,
            elapsed_ns,
            turns,
            // Empty between steps.
            outcome: _,
            hash,
            sounds_hash,
            has_sounded,
            counts,
        } = self;
        legs.clone_into(&mut copy.legs);
        heads.clone_into(&mut copy.heads);
        copy.sounds.clone_from(sounds);
        copy.make_room_as(self);
        struck.clone_into(&mut copy.struck);
        (copy.elapsed_ns, copy.turns, copy.counts) = (*elapsed_ns, *turns, *counts);
        copy.outcome.clear();
        (copy.hash, copy.sounds_hash, copy.has_sounded) = (*hash, *sounds_hash, *has_sounded);
    }

    /// Hash of all that decides the NPCs' future. Steps keep the greater part up to date.
    pub(crate) fn state_hash(&self) -> u64 {
        let mut hasher = StateHasher::new();
        hasher.u64(self.hash);
        hasher.u64(self.elapsed_ns);
        hasher.u64(self.turns);
        hasher.u64(self.sounds_hash);
        for (LocalId(who), at) in &self.struck {
            hasher.u64(u64::from(*who) << 32 | u64::from(at.0));
        }
        hasher.finish()
    }

    /// Recomputes the hashes that steps keep up to date.
    pub(crate) fn settle_hashes(&mut self) {
        self.hash = 0;
        for (number, (legs, head)) in (0..).zip(self.legs.iter_mut().zip(&self.heads)) {
            legs.hash = 0;
            legs.head_changed = true;
            rehash(&mut self.hash, number, legs, head);
        }
        self.sounds_hash = self.sounds.state_hash();
    }

    /// True if a snapshot of this format, of a world with this cast, can contain it.
    pub(crate) fn is_sound(&self, cast: &NpcCast, ground: &SolidGround) -> bool {
        let known = &cast.roles;
        let is_one = |((legs, head), role): ((&Legs, &NpcHead), &super::SpawnRole)| {
            legs.is_sound(cast, ground) && head.is_sound(cast) && head.health <= cast.actor(role.kind).health
        };
        self.legs.len() == known.len()
            && self.heads.len() == known.len()
            && self.legs.iter().zip(&self.heads).zip(known).all(is_one)
            && self.sounds.is_sound()
            && self.struck.len() <= STRUCK_MAX
            && self.elapsed_ns < TIME_MAX
            && self.turns < TIME_MAX
    }

    /// Completes a decoded state; false if this code never encodes such a one.
    pub(crate) fn revive(&mut self) -> bool {
        let whole = self.heads.iter_mut().all(|head| head.animator.revive());
        self.settle_hashes();
        whole
    }

    /// Renames all local ids; false if an NPC in the world has none in the new range. Other ids are dropped.
    pub(crate) fn rename(&mut self, renaming: &Renaming) -> bool {
        let id_of = |id: LocalId| renaming.of(id);
        let who_of = |who: EntityId| EntityId::new(renaming.of(LocalId(who.get()))?.0);
        for head in &mut self.heads {
            head.mind.rename_target(who_of);
            head.perception.rename(who_of);
            head.errand.rename(who_of);
        }
        self.sounds.rename(who_of);
        self.struck = self.struck.iter().filter_map(|(who, at)| Some((id_of(*who)?, *at))).collect();
        self.legs.iter_mut().all(|legs| {
            let former = legs.id;
            legs.id = former.and_then(id_of);
            legs.id.is_some() == former.is_some()
        })
    }

    /// Drops pending changes: between steps only a world before its first step has any.
    pub(crate) fn forget_news(&mut self) {
        self.legs.iter_mut().for_each(|legs| legs.dirty = super::NpcDirtyFlags::default());
    }

    /// World time since the beginning.
    pub(crate) fn now(&self) -> WorldTime {
        WorldTime(self.elapsed_ns / 1_000_000)
    }

    /// It in nanoseconds.
    pub(crate) const fn elapsed_ns(&self) -> u64 {
        self.elapsed_ns
    }
}

impl Legs {
    fn is_sound(&self, cast: &NpcCast, ground: &SolidGround) -> bool {
        let Self {
            spot, feet_m, velocity, preferred, left_m, climb, facing, follower, condition, id, ..
        } = self;
        let slow = |speed: glam::Vec2| speed.is_finite() && speed.abs().max_element() <= SPEED_MAX_M_PER_S;
        cast.mesh.holds(*spot)
            && (cast.mesh.height(super::ground_of(&ground.terrain), *spot) - feet_m).abs() <= SOLES_M
            && slow(*velocity)
            && slow(*preferred)
            && *left_m >= 0.0
            && climb.abs() <= CLIMB_MAX_M_PER_S
            && (facing.length_squared() - 1.0).abs() < 1e-3
            && follower.is_sound(&cast.mesh, SPEED_MAX_M_PER_S)
            && id.is_some() != matches!(condition, NpcCondition::Gone(_))
    }

    /// Hash of all that decides its future, its mind included.
    fn state_hash(&self, number: u64) -> u64 {
        let mut hasher = StateHasher::new();
        hasher.u64(number << 32 | u64::from(self.id.map_or(0, |id| id.0)));
        hasher.vec3(self.spot.at.extend(self.feet_m));
        hasher.u32(self.spot.poly.0);
        hasher.vec3(self.velocity.extend(self.climb));
        hasher.vec3(self.preferred.extend(self.left_m));
        hasher.u64(u64::from(self.facing.x.to_bits()) << 32 | u64::from(self.facing.y.to_bits()));
        let (kind, until) = match self.condition {
            NpcCondition::Up => (0, 0),
            NpcCondition::Fallen(until) => (1, until.0),
            NpcCondition::Gone(until) => (2 + u64::from(until.is_some()), until.map_or(0, |until| until.0)),
        };
        let flags = u64::from(self.hindered) | u64::from(self.wants_path) << 1 | u64::from(self.sits) << 2;
        hasher.u64(u64::from(until) << 32 | kind << 8 | flags);
        // Chains of their own, which a processor follows beside this one.
        hasher.u64(self.follower.step_hash());
        hasher.u64(self.attention.state_hash());
        hasher.u64(self.head_hash);
        hasher.finish()
    }
}

impl NpcHead {
    fn is_sound(&self, cast: &NpcCast) -> bool {
        self.mind.is_sound(&cast.behaviors) && self.perception.is_sound()
    }

    /// With the way that it chose.
    fn state_hash(&self, follower: &PathFollower) -> u64 {
        let mut hasher = StateHasher::new();
        hasher.u64(follower.way_hash());
        hasher.u64(self.mind.state_hash());
        hasher.u64(self.perception.state_hash());
        let plays = self.plays.map_or(0, |plays| u64::from(plays) + 1);
        let (gesture, until) =
            self.gesture.map_or((0, 0), |(gesture, until)| (u64::from(gesture) + 1, until.0));
        hasher.u64(gesture << 32 | u64::from(until));
        let journey = u64::from(self.journey.leg) << 8 | self.journey.progress as u64;
        hasher.u64(plays << 32 | u64::from(self.health) << 16 | journey);
        self.errand.hash(&mut hasher);
        self.animator.hash(&mut hasher);
        hasher.finish()
    }
}

impl Errand {
    fn rename(&mut self, who_of: impl Fn(EntityId) -> Option<EntityId>) {
        if let Target::Entity { who, .. } = &mut self.target {
            match who_of(*who) {
                Some(renamed) => *who = renamed,
                None => self.target = Target::None,
            }
        }
        if let Toward::Entity(who) = self.face {
            self.face = who_of(who).map_or(Toward::Ahead, Toward::Entity);
        }
    }

    fn hash(&self, hasher: &mut StateHasher) {
        let Self { leg, target, face } = self;
        let (kind, who, place) = match *target {
            Target::None => (0, 0, Vec3::ZERO),
            Target::Point(point) => (1, 0, point),
            Target::Entity { who, within_m, at } => (2, who.get(), at.extend(within_m)),
            Target::Away(from) => (3, 0, from),
        };
        hasher.u64(u64::from(who) << 32 | u64::from(*leg) << 8 | kind);
        hasher.vec3(place);
        let (kind, who, place) = match *face {
            Toward::Ahead => (0, 0, Vec3::ZERO),
            Toward::Entity(who) => (1, who.get(), Vec3::ZERO),
            Toward::Point(point) => (2, 0, point),
            Toward::Heading(radians) => (3, 0, Vec3::new(radians, 0.0, 0.0)),
        };
        hasher.u64(u64::from(who) << 32 | kind);
        hasher.vec3(place);
    }
}

/// Brings the sum of all hashes up to date with one NPC: once a tick, after everything that happens to it.
pub(super) fn rehash(sum: &mut u64, number: usize, legs: &mut Legs, head: &NpcHead) {
    // The head is large and changes only with thoughts and looks.
    if std::mem::take(&mut legs.head_changed) || legs.dirty.animated {
        legs.head_hash = head.state_hash(&legs.follower);
    }
    let hash = legs.state_hash(number as u64);
    *sum = sum.wrapping_sub(std::mem::replace(&mut legs.hash, hash)).wrapping_add(hash);
}
