//! One NPC's position in its behaviour, and its memory.
//!
//! Plain data in one and a half lines of cache, without a pointer: a snapshot holds it as it is. Everything that the tree needs from
//! one thought to the next is the index of the leaf that is running, that leaf's few values, and a handful of timers.

use super::{
    TIMERS_MAX,
    node::{BehaviorId, ResourceId},
    set::BehaviorSet,
};
use crate::senses::{EntityId, KindId, SoundSubject, Stamp, WorldTime};
use glam::Vec3;
use serde::{Deserialize, Serialize};
use state_hash::StateHasher;

/// Minimum time between two lines of an NPC, milliseconds, so that no behaviour floods its hearers.
pub const SPEECH_GAP_MS: u32 = 3_000;

/// Milliseconds without a sign of it after which an NPC no longer has its target.
pub const TARGET_MEMORY_MS: u32 = 30_000;

/// Stands for no behaviour, no running leaf, no route.
pub(super) const NONE: u16 = u16::MAX;

/// One NPC's mind. Start with [`Mind::think`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mind {
    behavior: BehaviorId,
    /// The running leaf; a `repeat` that waits for its next round; or [`NONE`].
    pub(super) leaf: u16,
    pub(super) state: Leaf,
    /// Times until which something waits, and counts of rounds. Zero is long past.
    pub(super) timers: [u32; TIMERS_MAX],
    /// Until when it is silent. Zero is long past.
    pub(super) silent_until: u32,
    pub(super) home: Vec3,
    pub(super) target: Option<EntityId>,
    /// The place at which the target was noticed last, or from which a sound came.
    pub(super) last_seen: Vec3,
    pub(super) last_seen_at: Stamp,
    /// The route that was patrolled last …
    pub(super) route: u16,
    /// … and the point on it that is next.
    pub(super) waypoint: u16,
    pub(super) target_kind: KindId,
    pub(super) flags: u8,
    pub(super) carried: u8,
    pub(super) amount: u8,
}

// A line and a half of cache: three minds in four lines and a half.
const _: () = assert!(size_of::<Mind>() <= 96);

/// State of a running leaf. A leaf that does not run on leaves no trace of having been tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Leaf {
    pub(super) since: Stamp,
    /// Time of its next step.
    pub(super) due: Stamp,
    /// Its goal.
    pub(super) spot: Vec3,
    pub(super) count: u16,
    pub(super) phase: LeafProgress,
    /// Of the way to `spot`, for reports about it.
    pub(super) leg: u8,
}

/// Progress of a leaf that goes somewhere and then does something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum LeafProgress {
    #[default]
    New,
    Going,
    There,
}

/// It gave up a chase too far from home, and has not been back.
pub(super) const GAVE_UP: u8 = 1;
/// `last_seen` means something.
pub(super) const HAS_TRAIL: u8 = 2;

impl Mind {
    /// A mind that begins a behaviour, at home.
    #[must_use]
    pub const fn new(behavior: BehaviorId, home: Vec3) -> Self {
        Self {
            behavior,
            leaf: NONE,
            state: Leaf {
                since: Stamp(0),
                due: Stamp(0),
                spot: Vec3::ZERO,
                count: 0,
                phase: LeafProgress::New,
                leg: 0,
            },
            timers: [0; TIMERS_MAX],
            silent_until: 0,
            home,
            target: None,
            last_seen: Vec3::ZERO,
            last_seen_at: Stamp(0),
            route: NONE,
            waypoint: 0,
            target_kind: KindId(0),
            flags: 0,
            carried: 0,
            amount: 0,
        }
    }

    /// Its behaviour.
    #[must_use]
    pub const fn behavior(&self) -> BehaviorId {
        self.behavior
    }

    /// Its target.
    #[must_use]
    pub const fn target(&self) -> Option<EntityId> {
        self.target
    }

    /// The entity that its sounds report.
    #[must_use]
    pub fn about(&self) -> Option<SoundSubject> {
        Some(SoundSubject { who: self.target?, kind: self.target_kind, place: self.last_seen })
    }

    /// Its home.
    #[must_use]
    pub const fn home(&self) -> Vec3 {
        self.home
    }

    /// Moves its home.
    pub const fn set_home(&mut self, home: Vec3) {
        self.home = home;
    }

    /// Its load: a resource and the amount.
    #[must_use]
    pub fn load(&self) -> Option<(ResourceId, u8)> {
        (self.amount > 0).then_some((ResourceId(self.carried), self.amount))
    }

    /// Word of the running node, for observers.
    #[must_use]
    pub fn doing(&self, set: &BehaviorSet) -> Option<&'static str> {
        let (nodes, _) = set.nodes(self.behavior)?;
        Some(nodes.get(usize::from(self.leaf))?.op.word())
    }

    /// Begins another behaviour of the same set, with all that it remembers.
    pub const fn switch(&mut self, behavior: BehaviorId) {
        self.begin_anew(Some(behavior));
    }

    /// Makes an entity the target, as if it had been seen: the order of a mission or of an owner.
    pub const fn set_target(&mut self, who: EntityId, kind: KindId, place: Vec3, now: WorldTime) {
        self.target = Some(who);
        self.target_kind = kind;
        self.trail(place, now.stamp());
    }

    /// Gives its target another number; without one it has none any more.
    pub fn rename_target(&mut self, name: impl Fn(EntityId) -> Option<EntityId>) {
        self.target = self.target.and_then(name);
    }

    /// Validates a mind out of a snapshot, which may be anything, against these behaviours.
    #[must_use]
    pub fn is_sound(&self, set: &BehaviorSet) -> bool {
        let n_nodes = set.nodes(self.behavior).map(|(nodes, _)| nodes.len());
        n_nodes.is_some_and(|n| self.leaf == NONE || usize::from(self.leaf) < n)
            && [self.home, self.last_seen, self.state.spot].into_iter().all(Vec3::is_finite)
    }

    /// All of its state as one number, for comparing runs.
    #[must_use]
    pub fn state_hash(&self) -> u64 {
        let mut hasher = StateHasher::new();
        let Leaf { since, due, spot, count, phase, leg } = self.state;
        hasher.u64(u64::from(self.behavior.0) << 48 | u64::from(self.leaf) << 32 | u64::from(since.0));
        let leaf = u64::from(count) << 16 | (phase as u64) << 8 | u64::from(leg);
        hasher.u64(u64::from(due.0) << 32 | leaf);
        hasher.vec3(spot);
        for &timer in &self.timers {
            hasher.u32(timer);
        }
        hasher.u32(self.silent_until);
        hasher.vec3(self.home);
        hasher.u64(u64::from(self.target.map_or(0, EntityId::get)) << 32 | u64::from(self.last_seen_at.0));
        hasher.vec3(self.last_seen);
        hasher.u64(u64::from(self.route) << 48 | u64::from(self.waypoint) << 32);
        let small = [self.target_kind.0, self.flags, self.carried, self.amount];
        hasher.u32(u32::from_le_bytes(small));
        hasher.finish()
    }

    pub(super) const fn begin_anew(&mut self, behavior: Option<BehaviorId>) {
        self.behavior = match behavior {
            Some(behavior) => behavior,
            None => BehaviorId(NONE),
        };
        self.leaf = NONE;
        self.timers = [0; TIMERS_MAX];
    }

    /// Renumbers its memories.
    pub(super) fn rename(
        &mut self,
        route: impl FnOnce(u16) -> Option<u16>,
        resource: impl FnOnce(u8) -> Option<u8>,
    ) {
        self.route = route(self.route).unwrap_or(NONE);
        match resource(self.carried) {
            Some(resource) => self.carried = resource,
            None => (self.carried, self.amount) = (0, 0),
        }
    }

    /// Remembers a place where there was something.
    pub(super) const fn trail(&mut self, place: Vec3, at: Stamp) {
        self.last_seen = place;
        self.last_seen_at = at;
        self.flags |= HAS_TRAIL;
    }
}
