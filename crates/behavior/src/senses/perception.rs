//! An NPC's recent perceptions: sightings, sounds, and the last blow against it.
//!
//! Small and without pointers, since there is one for each of tens of thousands. It remembers a few of each and forgets the
//! oldest first.

use super::{
    EntityId, KindId, Stamp, WorldTime,
    hearing::{HEARD_MEMORY_MS, Heard, Listener, SoundSubject, Sounds},
    sight::{Acuity, Candidate, Considered, Onlooker},
};
use glam::Vec3;
use serde::{Deserialize, Serialize};
use state_hash::StateHasher;

/// Entities that an NPC considers in one look, and remembers.
pub const SEEN_MAX: usize = 4;

/// Kinds of sounds that an NPC remembers, the last of each.
pub const HEARD_MAX: usize = 3;

/// Milliseconds for which a blow is remembered.
pub const HURT_MS: u32 = 60_000;

/// An entity that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sighting {
    /// The entity.
    pub who: EntityId,
    /// Its kind.
    pub kind: KindId,
    /// In view at the last look. Others are remembered.
    pub is_fresh: bool,
    /// Out of the fight when it was last seen.
    pub has_fallen: bool,
    /// The time of the last look that saw it.
    pub seen_at: Stamp,
    /// The place.
    pub place: Vec3,
}

/// A blow that was felt.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hurt {
    /// The entity that struck, if one did.
    pub by: Option<EntityId>,
    /// Its kind.
    pub kind: KindId,
    /// The place from which the blow came.
    pub place: Vec3,
    /// The time.
    pub at: Stamp,
}

/// Cost of perception, for the owner's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerceptionCounts {
    /// Looks: one NPC, once.
    pub looks: u64,
    /// Candidates considered.
    pub candidates: u64,
    /// Lines of sight that were asked for.
    pub rays: u64,
    /// Clear lines of sight.
    pub clear: u64,
    /// Times that an NPC listened.
    pub listened: u64,
}

/// One NPC's senses. Start with [`Perception::list_targets`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Perception {
    seen: [Sighting; SEEN_MAX],
    heard: [Heard; HEARD_MAX],
    hurt: Option<Hurt>,
    listened_at: Stamp,
    n_seen: u8,
    n_heard: u8,
}

impl Perception {
    /// Has noticed nothing yet.
    #[must_use]
    pub const fn new(now: WorldTime) -> Self {
        Self {
            seen: [NO_SIGHTING; SEEN_MAX],
            heard: [Heard::NOTHING; HEARD_MAX],
            hurt: None,
            listened_at: now.stamp(),
            n_seen: 0,
            n_heard: 0,
        }
    }

    /// Looks around: asks `is_clear` (from the eyes to the middle of a body) about the candidates considered, and remembers those in
    /// view. At most [`SEEN_MAX`] lines of sight.
    pub fn list_targets(
        &mut self,
        eyes: &Onlooker,
        sight: &Acuity,
        candidates: &[Candidate],
        now: WorldTime,
        is_clear: &mut impl FnMut(Vec3, Vec3) -> bool,
        counts: &mut PerceptionCounts,
    ) {
        counts.looks += 1;
        counts.candidates += candidates.len() as u64;
        self.forget(now.stamp(), sight.memory_ms);
        let from = eyes.position + Vec3::Z * sight.eyes_m;
        for index in Considered::of(eyes, sight, candidates).indexes() {
            let candidate = &candidates[index];
            counts.rays += 1;
            if is_clear(from, candidate.position) {
                counts.clear += 1;
                self.remember(candidate, now.stamp(), eyes.target);
            }
        }
    }

    /// Hears the sounds since the last call.
    pub fn listen(&mut self, ears: Listener, sounds: &Sounds, now: WorldTime, counts: &mut PerceptionCounts) {
        counts.listened += 1;
        let now = now.stamp();
        let mut n_heard = 0;
        for index in 0..usize::from(self.n_heard).min(HEARD_MAX) {
            if now.since(self.heard[index].heard_at) <= HEARD_MEMORY_MS {
                self.heard[n_heard] = self.heard[index];
                n_heard += 1;
            }
        }
        self.n_heard = n_heard as u8;
        let since = self.listened_at;
        self.listened_at = now;
        for heard in sounds.heard_from(ears, since, now) {
            self.keep_sound(heard, since);
        }
    }

    /// Feels a blow.
    pub fn record_blow(&mut self, by: Option<EntityId>, kind: KindId, place: Vec3, now: WorldTime) {
        self.hurt = Some(Hurt { by, kind, place, at: now.stamp() });
    }

    /// Entities that it saw, in no order.
    #[must_use]
    pub fn seen(&self) -> &[Sighting] {
        // A damaged snapshot may hold any number.
        &self.seen[..usize::from(self.n_seen).min(SEEN_MAX)]
    }

    /// Sounds that it heard, in no order.
    #[must_use]
    pub fn heard(&self) -> &[Heard] {
        &self.heard[..usize::from(self.n_heard).min(HEARD_MAX)]
    }

    /// The last blow.
    #[must_use]
    pub const fn hurt(&self) -> Option<Hurt> {
        self.hurt
    }

    /// All of its state as one number, for comparing runs.
    #[must_use]
    pub fn state_hash(&self) -> u64 {
        let mut hasher = StateHasher::new();
        hasher.u64(
            u64::from(self.n_seen) << 40 | u64::from(self.n_heard) << 32 | u64::from(self.listened_at.0),
        );
        for Sighting { who, kind, is_fresh, has_fallen, seen_at, place } in self.seen() {
            let small = u32::from_le_bytes([kind.0, u8::from(*is_fresh), u8::from(*has_fallen), 0]);
            hasher.u64(u64::from(who.get()) << 32 | u64::from(small));
            hasher.u32(seen_at.0);
            hasher.vec3(*place);
        }
        self.heard().iter().for_each(|heard| heard.hash(&mut hasher));
        if let Some(Hurt { by, kind, place, at }) = self.hurt {
            hasher.u64(u64::from(by.map_or(0, EntityId::get)) << 8 | u64::from(kind.0));
            hasher.vec3(place);
            hasher.u32(at.0);
        }
        hasher.finish()
    }

    /// Validates a value out of a snapshot, which may be anything.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let about = |heard: &Heard| heard.about.is_none_or(|about| about.place.is_finite());
        usize::from(self.n_seen) <= SEEN_MAX
            && usize::from(self.n_heard) <= HEARD_MAX
            && self.seen().iter().all(|sighting| sighting.place.is_finite())
            && self.heard().iter().all(|heard| heard.place.is_finite() && about(heard))
            && self.hurt.is_none_or(|hurt| hurt.place.is_finite())
    }

    /// Renumbers all entities; those without a new number are forgotten, and their blows have no source.
    pub fn rename(&mut self, name: impl Fn(EntityId) -> Option<EntityId>) {
        let mut n_seen = 0;
        for index in 0..self.seen().len() {
            if let Some(who) = name(self.seen[index].who) {
                self.seen[n_seen] = Sighting { who, ..self.seen[index] };
                n_seen += 1;
            }
        }
        self.n_seen = n_seen as u8;
        for heard in &mut self.heard {
            heard.by = heard.by.and_then(&name);
            heard.about = SoundSubject::renamed(heard.about, &name);
        }
        if let Some(hurt) = &mut self.hurt {
            hurt.by = hurt.by.and_then(&name);
        }
    }

    /// Forgets old entries. Entries not confirmed by the look that begins are out of view.
    fn forget(&mut self, now: Stamp, memory_ms: u32) {
        let mut n_seen = 0;
        for index in 0..self.seen().len() {
            let sighting = Sighting { is_fresh: false, ..self.seen[index] };
            if now.since(sighting.seen_at) <= memory_ms {
                self.seen[n_seen] = sighting;
                n_seen += 1;
            }
        }
        self.n_seen = n_seen as u8;
        if self.hurt.is_some_and(|hurt| now.since(hurt.at) > HURT_MS) {
            self.hurt = None;
        }
    }

    fn remember(&mut self, candidate: &Candidate, now: Stamp, target: Option<EntityId>) {
        let sighting = Sighting {
            who: candidate.who,
            kind: candidate.kind,
            is_fresh: true,
            has_fallen: candidate.has_fallen,
            seen_at: now,
            place: candidate.position,
        };
        let n_seen = self.seen().len();
        if let Some(known) = self.seen[..n_seen].iter_mut().find(|known| known.who == candidate.who) {
            *known = sighting;
        } else if n_seen < SEEN_MAX {
            self.seen[n_seen] = sighting;
            self.n_seen += 1;
        } else {
            // A look considers no more than fit, so at least one entry is only remembered: the oldest is dropped, the target last.
            let oldest = (0..SEEN_MAX).filter(|&index| !self.seen[index].is_fresh).max_by_key(|&index| {
                (Some(self.seen[index].who) != target, now.since(self.seen[index].seen_at))
            });
            if let Some(oldest) = oldest {
                self.seen[oldest] = sighting;
            }
        }
    }

    /// Keeps the last sound of each kind, and the loudest of those since the last call: constant steps must not drive out an alarm.
    fn keep_sound(&mut self, heard: Heard, since: Stamp) {
        let n_heard = self.heard().len();
        let known = &mut self.heard[..n_heard];
        if let Some(known) = known.iter_mut().find(|known| known.sound == heard.sound) {
            if heard.strength >= known.strength || !known.heard_at.has_reached(since) {
                *known = heard;
            }
        } else if n_heard < HEARD_MAX {
            self.heard[n_heard] = heard;
            self.n_heard += 1;
        } else if let Some(oldest) = known.iter_mut().max_by_key(|known| heard.heard_at.since(known.heard_at))
        {
            *oldest = heard;
        }
    }
}

/// The value of an empty place for a sighting.
const NO_SIGHTING: Sighting = Sighting {
    who: EntityId(std::num::NonZeroU32::MIN),
    kind: KindId(0),
    is_fresh: false,
    has_fallen: false,
    seen_at: Stamp(0),
    place: Vec3::ZERO,
};

#[cfg(test)]
mod tests;
