//! Sounds in a world: a short list of the recent ones.
//!
//! Chat, the steps of runners, fights and alarms are events with a place and a reach. They stay in the list for as long as
//! the slowest NPC needs to come round to listening.

use super::{EntityId, KindId, PERIOD_MAX_MS, PERIOD_MIN_MS, Stamp, WorldTime};
use glam::Vec3;
use serde::{Deserialize, Serialize};
use state_hash::StateHasher;

/// Sounds that a world remembers. When there are more, the one that reaches least far goes.
pub const SOUNDS_MAX: usize = 32;

/// Milliseconds for which a sound is audible: the longest period of looks, and the ticks around it.
pub const HEARABLE_MS: u32 = PERIOD_MAX_MS + 2 * PERIOD_MIN_MS;

/// Time for which an NPC remembers a sound, milliseconds.
pub(super) const HEARD_MEMORY_MS: u32 = 20_000;

/// Kind of a sound: a built-in one, or one of the template's ([`Vocabulary::sounds`](crate::Vocabulary::sounds)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SoundKind(pub u8);

impl SoundKind {
    /// Speech.
    pub const CHAT: Self = Self(0);
    /// Running steps.
    pub const STEPS: Self = Self(1);
    /// Blows.
    pub const FIGHT: Self = Self(2);
    /// A call to a target.
    pub const ALARM: Self = Self(3);

    /// The built-in kinds by name, in order of their numbers; a template's own follow.
    pub const NAMES: [&str; 4] = ["chat", "steps", "fight", "alarm"];

    /// Kinds that there can be: one bit each in a [`SoundSet`].
    pub const COUNT_MAX: usize = 32;
}

/// Some of the kinds of sounds, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SoundSet(pub u32);

impl SoundSet {
    /// Only this kind.
    #[must_use]
    pub const fn only(kind: SoundKind) -> Self {
        Self(1 << (kind.0 % 32))
    }

    /// True if a kind is in the set.
    #[must_use]
    pub const fn has(self, kind: SoundKind) -> bool {
        self.0 & Self::only(kind).0 != 0
    }
}

/// The entity that a sound reports, as alarms do.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SoundSubject {
    /// The entity.
    pub who: EntityId,
    /// Its kind.
    pub kind: KindId,
    /// Its position when it was last seen.
    pub place: Vec3,
}

/// Something that sounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sound {
    /// Its kind.
    pub kind: SoundKind,
    /// The place.
    pub place: Vec3,
    /// Metres to where a person just no longer hears it.
    pub reach_m: f32,
    /// The entity that makes it, if one does; it does not hear itself.
    pub by: Option<EntityId>,
    /// Kind of that entity.
    pub by_kind: KindId,
    /// The entity that it reports.
    pub about: Option<SoundSubject>,
}

/// A sound that an NPC heard.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Heard {
    /// Its kind.
    pub sound: SoundKind,
    /// 1 to 255: falls evenly with distance, to nothing at the sound's reach.
    pub strength: u8,
    /// Kind of the entity that made it.
    pub by_kind: KindId,
    /// The entity that made it.
    pub by: Option<EntityId>,
    /// The entity that it reported.
    pub about: Option<SoundSubject>,
    /// Its place.
    pub place: Vec3,
    /// The time at which it sounded.
    pub heard_at: Stamp,
}

impl SoundSubject {
    pub(super) fn renamed(about: Option<Self>, name: impl Fn(EntityId) -> Option<EntityId>) -> Option<Self> {
        about.and_then(|about| Some(Self { who: name(about.who)?, ..about }))
    }

    pub(super) fn hash(about: Option<Self>, hasher: &mut StateHasher) {
        let Some(Self { who, kind, place }) = about else {
            hasher.u64(0);
            return;
        };
        hasher.u64(u64::from(who.get()) << 8 | u64::from(kind.0));
        hasher.vec3(place);
    }
}

impl Heard {
    pub(super) fn hash(&self, hasher: &mut StateHasher) {
        let Self { sound, strength, by_kind, by, about, place, heard_at } = *self;
        let small = u32::from_le_bytes([sound.0, strength, by_kind.0, 0]);
        hasher.u64(u64::from(small) << 32 | u64::from(by.map_or(0, EntityId::get)));
        SoundSubject::hash(about, hasher);
        hasher.vec3(place);
        hasher.u32(heard_at.0);
    }

    pub(super) const NOTHING: Self = Self {
        sound: SoundKind(0),
        strength: 0,
        by_kind: KindId(0),
        by: None,
        about: None,
        place: Vec3::ZERO,
        heard_at: Stamp(0),
    };
}

/// The NPC that listens, its place, and the sounds it listens for.
#[derive(Clone, Copy, Debug)]
pub struct Listener {
    /// The NPC that listens: does not hear itself.
    pub me: EntityId,
    /// Position of its ears.
    pub position: Vec3,
    /// Factor on a person's range of hearing ([`Acuity::hearing`](super::Acuity::hearing)).
    pub keenness: f32,
    /// Kinds that matter to its behaviour ([`BehaviorSet::hearing`](crate::BehaviorSet::hearing)).
    pub interest: SoundSet,
}

/// Recent sounds of one world, at most [`SOUNDS_MAX`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sounds {
    list: Vec<(Stamp, Sound)>,
    /// Sounds for which there was no room.
    n_dropped: u64,
}

impl Sounds {
    /// Silence.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a sound. It replaces an earlier one of the same kind by the same entity: a runner makes one sound, not one for each step.
    pub fn add(&mut self, sound: Sound, now: WorldTime) {
        let now = now.stamp();
        self.list.retain(|(at, _)| now.since(*at) <= HEARABLE_MS);
        let same = |(_, other): &&mut (Stamp, Sound)| {
            sound.by.is_some() && (other.kind, other.by) == (sound.kind, sound.by)
        };
        if let Some(known) = self.list.iter_mut().find(same) {
            *known = (now, sound);
        } else if self.list.len() < SOUNDS_MAX {
            self.list.push((now, sound));
        } else {
            self.n_dropped += 1;
            let quietest = self.list.iter_mut().min_by(|(_, a), (_, b)| a.reach_m.total_cmp(&b.reach_m));
            if let Some(quietest) = quietest
                && quietest.1.reach_m < sound.reach_m
            {
                *quietest = (now, sound);
            }
        }
    }

    /// Sounds that found no room so far.
    #[must_use]
    pub const fn n_dropped(&self) -> u64 {
        self.n_dropped
    }

    /// All of it as one number, for comparing runs.
    #[must_use]
    pub fn state_hash(&self) -> u64 {
        let mut hasher = StateHasher::new();
        for (at, Sound { kind, place, reach_m, by, by_kind, about }) in &self.list {
            let small = u64::from(kind.0) << 40 | u64::from(by_kind.0) << 32;
            hasher.u64(small | u64::from(by.map_or(0, EntityId::get)));
            hasher.u64(u64::from(at.0) << 32 | u64::from(reach_m.to_bits()));
            hasher.vec3(*place);
            SoundSubject::hash(*about, &mut hasher);
        }
        hasher.u64(self.n_dropped);
        hasher.finish()
    }

    /// Validates a list out of a snapshot, which may be anything.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let is_finite = |(_, sound): &(Stamp, Sound)| {
            sound.place.is_finite() && sound.about.is_none_or(|about| about.place.is_finite())
        };
        self.list.len() <= SOUNDS_MAX && self.n_dropped < u64::MAX / 2 && self.list.iter().all(is_finite)
    }

    /// Renumbers all entities; sounds of entities without a new number are removed.
    pub fn rename(&mut self, name: impl Fn(EntityId) -> Option<EntityId>) {
        for (_, sound) in &mut self.list {
            sound.by = sound.by.and_then(&name);
            sound.about = SoundSubject::renamed(sound.about, &name);
        }
    }

    /// Sounds at or after `since` that reach these ears.
    pub(super) fn heard_from(&self, ears: Listener, since: Stamp, now: Stamp) -> impl Iterator<Item = Heard> {
        self.list.iter().filter_map(move |&(at, sound)| {
            let is_new = at.has_reached(since) && now.since(at) <= HEARABLE_MS;
            if !is_new || !ears.interest.has(sound.kind) || sound.by == Some(ears.me) {
                return None;
            }
            let reach_m = sound.reach_m * ears.keenness;
            let square = ears.position.distance_squared(sound.place);
            // NaN is not within reach either.
            let is_within = square < reach_m * reach_m;
            if !is_within {
                return None;
            }
            let strength = (255.0 * (1.0 - libm::sqrtf(square) / reach_m)).max(1.0) as u8;
            let Sound { kind, place, by, by_kind, about, .. } = sound;
            Some(Heard { sound: kind, strength, by_kind, by, about, place, heard_at: at })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u32) -> EntityId {
        EntityId::new(number).unwrap()
    }

    fn sound(kind: SoundKind, by: u32, x: f32, reach_m: f32) -> Sound {
        let place = Vec3::new(x, 0.0, 0.0);
        Sound { kind, place, reach_m, by: EntityId::new(by), by_kind: KindId(1), about: None }
    }

    fn heard(sounds: &Sounds, since: u64, now: u64) -> Vec<Heard> {
        let (since, now) = (WorldTime(since).stamp(), WorldTime(now).stamp());
        let ears = Listener { me: id(9), position: Vec3::ZERO, keenness: 1.0, interest: SoundSet(u32::MAX) };
        sounds.heard_from(ears, since, now).collect()
    }

    #[test]
    fn a_sound_falls_off_to_nothing_at_its_reach() {
        let mut sounds = Sounds::new();
        for (by, x) in [(1, 0.0), (2, 10.0), (3, 19.9), (4, 20.0), (9, 1.0)] {
            sounds.add(sound(SoundKind::CHAT, by, x, 20.0), WorldTime(100));
        }
        let strengths: Vec<u8> = heard(&sounds, 0, 100).iter().map(|heard| heard.strength).collect();
        assert_eq!(strengths, [255, 127, 1]);
    }

    #[test]
    fn a_continuous_run_makes_one_sound_and_others_wait_for_the_slowest_listener() {
        let mut sounds = Sounds::new();
        for step in 0..100 {
            sounds.add(sound(SoundKind::STEPS, 1, step as f32 * 0.1, 20.0), WorldTime(step * 50));
        }
        sounds.add(sound(SoundKind::CHAT, 1, 1.0, 20.0), WorldTime(5_000));
        assert_eq!(heard(&sounds, 0, 5_000).len(), 2);
        let last_ms = 5_000 + u64::from(HEARABLE_MS);
        assert_eq!(heard(&sounds, 4_990, last_ms).len(), 1);
        assert_eq!(heard(&sounds, 4_990, last_ms + 1).len(), 0);
    }

    #[test]
    fn a_full_list_gives_up_the_quietest() {
        let mut sounds = Sounds::new();
        for by in 0..SOUNDS_MAX as u32 {
            sounds.add(sound(SoundKind::CHAT, by + 100, 0.0, 20.0 + by as f32), WorldTime(1));
        }
        sounds.add(sound(SoundKind::STEPS, 1, 0.0, 5.0), WorldTime(2));
        sounds.add(sound(SoundKind::ALARM, 2, 0.0, 60.0), WorldTime(2));
        let all = heard(&sounds, 0, 2);
        assert_eq!((all.len(), sounds.n_dropped()), (SOUNDS_MAX, 2));
        let has = |kind| all.iter().any(|heard| heard.sound == kind);
        assert!(has(SoundKind::ALARM) && !has(SoundKind::STEPS));
        assert!(!all.iter().any(|heard| heard.by == EntityId::new(100)));
    }
}
