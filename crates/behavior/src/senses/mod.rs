//! NPCs' senses: sight, hearing, and the periods of looks and thoughts.
//!
//! [`Perception`] is the memory of one NPC: entities seen ([`Perception::list_targets`], with lines of sight answered by the world),
//! sounds heard ([`Perception::listen`] among a world's [`Sounds`]), attackers. [`Attention`] schedules looks and thoughts by the players
//! around. [`Senses`] is the input of a thought.
//!
//! Nothing here knows walls, players or the time: all are arguments.

mod attention;
mod hearing;
mod perception;
mod sight;
mod time;

pub use attention::{
    Attention, DWELL_MS, Detail, DetailPolicy, LEVELS, MARGIN, PERIOD_MAX_MS, PERIOD_MIN_MS,
};
pub use hearing::{
    HEARABLE_MS, Heard, Listener, SOUNDS_MAX, Sound, SoundKind, SoundSet, SoundSubject, Sounds,
};
pub use perception::{HEARD_MAX, HURT_MS, Hurt, Perception, PerceptionCounts, SEEN_MAX, Sighting};
pub use sight::{Acuity, Candidate, Onlooker};
pub use time::{Stamp, WorldTime};

use glam::Vec3;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// Number of a player or NPC, given by the world; not used again while an NPC may remember it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EntityId(pub NonZeroU32);

impl EntityId {
    /// `None` for zero, which names no entity.
    #[must_use]
    pub const fn new(number: u32) -> Option<Self> {
        match NonZeroU32::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0.get()
    }
}

/// Kind of an entity: a player, or one of the kinds of NPC that a world's template lists
/// ([`Vocabulary::kinds`](crate::Vocabulary::kinds)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KindId(pub u8);

impl KindId {
    /// An avatar with a client.
    pub const PLAYER: Self = Self(0);

    /// Kinds that there can be, players among them: one bit each in a [`KindSet`].
    pub const COUNT_MAX: usize = 64;
}

/// Some of the kinds, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KindSet(pub u64);

impl KindSet {
    /// All kinds.
    pub const ALL: Self = Self(u64::MAX);
    /// No kind.
    pub const NONE: Self = Self(0);

    /// Only this kind.
    #[must_use]
    pub const fn only(kind: KindId) -> Self {
        Self(1 << (kind.0 % 64))
    }

    /// True if a kind is in the set.
    #[must_use]
    pub const fn has(self, kind: KindId) -> bool {
        self.0 & Self::only(kind).0 != 0
    }

    /// Both.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Report on a move that an NPC intended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journey {
    /// Of the intent that began it ([`Intent::leg`](crate::Intent::leg)). A report on an earlier leg is ignored.
    pub leg: u8,
    /// Its progress.
    pub progress: MoveProgress,
}

/// Progress of a move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MoveProgress {
    /// Under way, or not begun.
    #[default]
    Going,
    /// At the goal, or as near as the ground allows.
    Arrived,
    /// There is no way, or it is blocked and nothing else can be found.
    Unreachable,
}

/// Input of a thought. The world fills it from its own tables and the NPC's [`Perception`].
#[derive(Clone, Copy, Debug)]
pub struct Senses<'a> {
    /// The NPC's position.
    pub position: Vec3,
    /// Its kind.
    pub kind: KindId,
    /// 0 to 1.
    pub health: f32,
    /// Time of day, minutes since midnight: 0 to 1,439.
    pub minute: u16,
    /// Report on the last intended move.
    pub journey: Journey,
    /// The target ([`Mind::target`](crate::Mind::target)) is no longer in this world.
    pub target_is_gone: bool,
    /// The last [`Deed`](crate::Deed) was impossible: nothing left to gather, or no taker for a delivery.
    pub is_refused: bool,
    /// Sightings ([`Perception::seen`]).
    pub seen: &'a [Sighting],
    /// Sounds ([`Perception::heard`]).
    pub heard: &'a [Heard],
    /// The last blow ([`Perception::hurt`]).
    pub hurt: Option<Hurt>,
}
