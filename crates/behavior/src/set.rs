//! Behaviours that were loaded: immutable, shared by all worlds of a template, and nothing in them points anywhere.

use super::node::{BehaviorId, LineId, PlaceRef, TreeNode};
use crate::senses::{KindId, KindSet, SoundSet};
use glam::Vec3;
use serde::{Deserialize, Serialize};

/// All behaviours of a template. Start with [`BehaviorSet::load`].
#[derive(Debug)]
pub struct BehaviorSet {
    /// Nodes of all behaviours, one after the other; indexes within nodes count from the beginning of their behaviour.
    pub(super) nodes: Box<[TreeNode]>,
    pub(super) behaviors: Box<[CompiledBehavior]>,
    pub(super) masks: Box<[KindSet]>,
    /// Enemies and friends of each kind.
    pub(super) relations: Box<[(KindSet, KindSet)]>,
    pub(super) places: Box<[(Vec3, f32)]>,
    /// Positions of routes and resources.
    pub(super) points: Box<[Vec3]>,
    /// The range of each one's points.
    pub(super) routes: Box<[IndexRange]>,
    pub(super) resources: Box<[IndexRange]>,
    pub(super) lines: Box<[Box<str>]>,
    pub(super) names: Names,
    pub(super) fingerprint: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct IndexRange {
    pub(super) first: u32,
    pub(super) len: u32,
}

#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct CompiledBehavior {
    pub(super) nodes: IndexRange,
    pub(super) n_timers: u8,
    pub(super) interest: NoticedKinds,
}

/// The kinds and sounds that a behaviour has to notice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct NoticedKinds {
    pub(super) kinds: KindSet,
    pub(super) enemies: bool,
    pub(super) friends: bool,
    pub(super) sounds: SoundSet,
}

/// The names of a set that minds hold numbers of ([`BehaviorSet::names`]), as a world's snapshot keeps them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Names {
    /// Names of behaviours.
    pub behaviors: Vec<String>,
    /// Of the template's routes.
    pub routes: Vec<String>,
    /// Of the template's resources.
    pub resources: Vec<String>,
}

impl BehaviorSet {
    /// The behaviour with this name.
    #[must_use]
    pub fn behavior(&self, name: &str) -> Option<BehaviorId> {
        let index = self.names.behaviors.iter().position(|known| known == name)?;
        Some(BehaviorId(index as u16))
    }

    /// A behaviour's name.
    #[must_use]
    pub fn name(&self, behavior: BehaviorId) -> Option<&str> {
        self.names.behaviors.get(usize::from(behavior.0)).map(String::as_str)
    }

    /// Names behind the numbers in minds: a snapshot of a world stores them with its minds, for [`Adoption`](super::Adoption).
    #[must_use]
    pub const fn names(&self) -> &Names {
        &self.names
    }

    /// Lines of speech.
    #[must_use]
    pub fn line(&self, line: LineId) -> Option<&str> {
        self.lines.get(usize::from(line.0)).map(|line| &**line)
    }

    /// The kinds that matter to an NPC of this kind with this behaviour: for others it needs no line of sight.
    #[must_use]
    pub fn interest(&self, behavior: BehaviorId, kind: KindId) -> KindSet {
        let Some(CompiledBehavior { interest, .. }) = self.behaviors.get(usize::from(behavior.0)) else {
            return KindSet::NONE;
        };
        let mut kinds = interest.kinds;
        if interest.enemies {
            kinds = kinds.or(self.enemies(kind));
        }
        if interest.friends {
            kinds = kinds.or(self.friends(kind));
        }
        kinds
    }

    /// The sounds that matter to an NPC with this behaviour.
    #[must_use]
    pub fn hearing(&self, behavior: BehaviorId) -> SoundSet {
        self.behaviors
            .get(usize::from(behavior.0))
            .map_or_else(SoundSet::default, |known| known.interest.sounds)
    }

    /// Enemies of a kind.
    #[must_use]
    pub fn enemies(&self, kind: KindId) -> KindSet {
        self.relations.get(usize::from(kind.0)).map_or(KindSet::NONE, |relation| relation.0)
    }

    /// Friends of a kind.
    #[must_use]
    pub fn friends(&self, kind: KindId) -> KindSet {
        self.relations.get(usize::from(kind.0)).map_or(KindSet::NONE, |relation| relation.1)
    }

    /// A fingerprint of all that minds follow: nodes, words, names, positions. Equal for equal content in processes of one build.
    #[must_use]
    pub const fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Nodes of all behaviours, the size of a set: 14 bytes each.
    #[must_use]
    pub fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// A behaviour's nodes, and how many timers of its own it has.
    pub(super) fn nodes(&self, behavior: BehaviorId) -> Option<(&[TreeNode], u8)> {
        let behavior = self.behaviors.get(usize::from(behavior.0))?;
        let IndexRange { first, len } = behavior.nodes;
        Some((&self.nodes[first as usize..(first + len) as usize], behavior.n_timers))
    }

    pub(super) fn mask(&self, number: u8) -> KindSet {
        self.masks[usize::from(number)]
    }

    /// Middle and radius of a place. None for an unknown place.
    pub(super) fn place(&self, spot: PlaceRef) -> Option<(Vec3, f32)> {
        self.places.get(usize::from(spot.0)).copied()
    }

    /// Never empty.
    pub(super) fn route(&self, number: u16) -> &[Vec3] {
        self.range(self.routes[usize::from(number)])
    }

    /// Never empty.
    pub(super) fn spots(&self, resource: u8) -> &[Vec3] {
        self.range(self.resources[usize::from(resource)])
    }

    fn range(&self, IndexRange { first, len }: IndexRange) -> &[Vec3] {
        &self.points[first as usize..(first + len) as usize]
    }
}
