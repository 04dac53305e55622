//! One thought: the tree from the root to the leaf that runs next.
//!
//! A thought begins at the root each time. Nodes with a choice choose again, so that a higher branch of a `select` interrupts a lower
//! one and a `when` ends its guarded nodes; sequences resume at the running leaf. At most one leaf runs after a thought, and only its
//! values are kept.
//!
//! Nothing is allocated. Each node is visited at most once, and once more if the running leaf ends and its ancestors continue in the
//! same thought: at most 2 × [`NODES_MAX`](super::NODES_MAX) visits.

use super::{
    intent::Intent,
    mind::{HAS_TRAIL, Mind, TARGET_MEMORY_MS},
    node::{Gait, PlaceRef, Tenths, TreeNode},
    set::BehaviorSet,
};
use crate::senses::{EntityId, KindId, Senses, Sighting, Stamp, WorldTime};
use glam::Vec3;

/// Outcome of a node in this thought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeOutcome {
    Success,
    Failure,
    Running,
}

/// An entity or a sound that a condition found.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConditionMatch {
    pub(super) who: Option<EntityId>,
    pub(super) kind: KindId,
    pub(super) place: Vec3,
    pub(super) at: Stamp,
}

/// Everything that a thought has at hand.
pub(super) struct Thought<'a, R> {
    pub(super) mind: &'a mut Mind,
    pub(super) set: &'a BehaviorSet,
    pub(super) senses: &'a Senses<'a>,
    pub(super) now: Stamp,
    pub(super) out: &'a mut Intent,
    pub(super) nodes: &'a [TreeNode],
    random: &'a mut R,
    /// The leaf that was running when this thought began, until it ends or another takes over.
    pub(super) resumed: u16,
    /// The leaf has ended, and no other has begun for it.
    pub(super) may_go_on: bool,
    pub(super) visits: u32,
}

impl Mind {
    /// Thinks once: from its senses to its intent until the next thought. Time between thoughts may be of any length.
    ///
    /// `set` is the one that it began its behaviour in, or was adopted by. Equal arguments have equal outcomes; `random` is asked as
    /// often as the behaviour needs it.
    ///
    /// Returns how many nodes it visited.
    pub fn think(
        &mut self,
        set: &BehaviorSet,
        senses: &Senses<'_>,
        now: WorldTime,
        random: &mut impl FnMut() -> u32,
        out: &mut Intent,
    ) -> u32 {
        *out = Intent::default();
        let mut visits = 0;
        if let Some((nodes, n_timers)) = set.nodes(self.behavior()) {
            self.refresh(senses, now.stamp(), n_timers);
            let resumed = self.leaf;
            let mut thought = Thought {
                mind: self,
                set,
                senses,
                now: now.stamp(),
                out,
                nodes,
                random,
                resumed,
                may_go_on: false,
                visits: 0,
            };
            thought.run();
            visits = thought.visits;
            self.let_the_fallen_lie(senses);
        }
        out.leg = self.state.leg;
        visits
    }

    /// An NPC whose target fell knows that by now.
    fn let_the_fallen_lie(&mut self, senses: &Senses<'_>) {
        let has_fallen = |sighting: &Sighting| self.target == Some(sighting.who) && sighting.has_fallen;
        if senses.seen.iter().any(has_fallen) {
            self.target = None;
        }
    }

    /// Drops expired entries, and notes the target's position.
    fn refresh(&mut self, senses: &Senses<'_>, now: Stamp, n_timers: u8) {
        let own = &mut self.timers[..usize::from(n_timers)];
        for timer in own.iter_mut().chain([&mut self.silent_until]) {
            if now.has_reached(Stamp(*timer)) {
                *timer = 0;
            }
        }
        let Some(target) = self.target else { return };
        let sighting = senses.seen.iter().find(|sighting| sighting.who == target);
        if let Some(sighting) = sighting
            && sighting.seen_at.has_reached(self.last_seen_at)
        {
            self.target_kind = sighting.kind;
            self.trail(sighting.place, sighting.seen_at);
        }
        if senses.target_is_gone || now.since(self.last_seen_at) > TARGET_MEMORY_MS {
            self.target = None;
        }
    }
}

impl<R: FnMut() -> u32> Thought<'_, R> {
    /// Handles the match of a condition.
    pub(super) fn apply_match(&mut self, found: Option<ConditionMatch>) {
        let Some(ConditionMatch { who, kind, place, at }) = found else { return };
        // Older news of the same target, or a noise without a source, lead away from it.
        let is_new = if who.is_none() {
            self.mind.target.is_none()
        } else {
            who != self.mind.target || at.has_reached(self.mind.last_seen_at)
        };
        if who.is_some() {
            (self.mind.target, self.mind.target_kind) = (who, kind);
        }
        if is_new {
            self.mind.trail(place, at);
        }
    }

    pub(super) fn timer(&mut self, timer: u8) -> &mut u32 {
        &mut self.mind.timers[usize::from(timer)]
    }

    /// A time to come, as timers hold it: never zero, for which a millisecond is given away.
    pub(super) const fn due_in(&self, ms: u32) -> u32 {
        let due = self.now.after(ms).0;
        if due == 0 { 1 } else { due }
    }

    /// A number below `n`; 0 when that is 0.
    pub(super) fn below(&mut self, n: u32) -> u32 {
        ((u64::from((self.random)()) * u64::from(n)) >> 32) as u32
    }

    /// A number from 0 to just below 1.
    pub(super) fn share(&mut self) -> f32 {
        ((self.random)() >> 8) as f32 / (1u32 << 24) as f32
    }

    /// Milliseconds between two durations.
    pub(super) fn between(&mut self, (shortest, longest): (Tenths, Tenths)) -> u32 {
        if shortest == longest {
            return shortest.ms();
        }
        shortest.ms() + self.below(longest.ms() - shortest.ms() + 1)
    }

    /// The last sighting of the target, if it is remembered.
    pub(super) fn target_sighting(&self) -> Option<Sighting> {
        let target = self.mind.target?;
        self.senses.seen.iter().copied().find(|sighting| sighting.who == target)
    }

    /// A place's middle. None where there is none: no target, nothing seen or heard.
    pub(super) fn place(&self, spot: PlaceRef) -> Option<Vec3> {
        match spot {
            PlaceRef::HOME => Some(self.mind.home),
            PlaceRef::HERE => Some(self.senses.position),
            PlaceRef::LAST_SEEN => (self.mind.flags & HAS_TRAIL != 0).then_some(self.mind.last_seen),
            PlaceRef::TARGET => self.mind.target.map(|_| self.mind.last_seen),
            place => self.set.place(place).map(|(middle, _)| middle),
        }
    }
}

impl From<Gait> for super::intent::Pace {
    fn from(gait: Gait) -> Self {
        match gait {
            Gait::CREEP => Self::Creep,
            Gait::WALK => Self::Walk,
            Gait::RUN => Self::Run,
            Gait(speed) => Self::Speed(speed),
        }
    }
}
