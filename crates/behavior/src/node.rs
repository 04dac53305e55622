//! A behaviour as minds follow it: small nodes in one array, depth first.
//!
//! A node's children stand directly behind it, each followed by its own, and `end` says where the next one begins behind all
//! of them. So a running leaf's index says everything about the way to it: a node is on that way if the leaf lies
//! between the node and its end. No parent, no pointer and no state of its own is needed for most nodes.
//!
//! Several nodes under one that applies to a single thing are meant in sequence.

use serde::{Deserialize, Serialize};

/// A behaviour of a set, by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BehaviorId(pub u16);

/// An animation, by its place in [`Vocabulary::animations`](super::Vocabulary::animations).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AnimationId(pub u16);

/// Something to say: [`BehaviorSet::line`](super::BehaviorSet::line) has the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LineId(pub u16);

/// A resource, by its place in [`Vocabulary::resources`](super::Vocabulary::resources).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ResourceId(pub u8);

/// A place, by its number in [`Vocabulary::places`](super::Vocabulary::places).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NamedPlaceId(pub u16);

/// One node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TreeNode {
    /// Index behind the last node under this one.
    pub(crate) end: u16,
    pub(crate) op: Op,
}

// Four to a line of cache, and a whole behaviour in a few of them.
const _: () = assert!(size_of::<TreeNode>() == 14);

/// A node's operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    /// One after the other, until one fails.
    Sequence,
    /// The first child that does not fail, evaluated in each thought.
    Select,
    /// All but the last at once, then the last, whose outcome counts.
    Parallel,
    /// One of the `Weight`s under it.
    Random { total: u16 },
    /// The weight of this one.
    Weight(u16),
    /// The `From` under it whose time it is.
    Schedule,
    /// From this minute of the day to the next one's.
    From { minute: u16 },
    /// Runs the nodes behind its first `conditions` ones while those hold: all or any of them.
    When { conditions: u8, any: bool },
    /// Failure for success, and the other way round.
    Invert,
    /// Success for failure.
    Try,
    /// Repeats after each success; 0 times is without end. `timer` counts.
    Repeat { times: u16, timer: u8 },
    /// Minimum time between two starts.
    Cooldown { span: Tenths, timer: u8 },
    /// Fails when it takes longer.
    Timeout { span: Tenths, timer: u8 },
    /// Begun so likely, and tried so often.
    Chance { percent: u8, every: Tenths, timer: u8 },
    /// Holds or does not.
    Check { not: bool, condition: Predicate },
    /// Something to do.
    Do(LeafAction),
}

/// Conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Predicate {
    /// An entity in view within a distance; or one that was, at most `last` ago.
    Sees {
        whom: People,
        within: Dm,
        last: Tenths,
    },
    /// A sound from within so far, not longer ago than `last`.
    Hears {
        sound: u8,
        from: People,
        within: Dm,
        last: Tenths,
    },
    /// A blow.
    Hurt {
        last: Tenths,
    },
    HealthBelow {
        percent: u8,
    },
    HealthAbove {
        percent: u8,
    },
    /// Minutes of the day; the second may be the smaller, across midnight.
    Time {
        from: u16,
        to: u16,
    },
    Within {
        spot: PlaceRef,
        far: Dm,
    },
    Beyond {
        spot: PlaceRef,
        far: Dm,
    },
    HasTarget,
    TargetIs {
        whom: People,
    },
    Carries {
        resource: u8,
        at_least: u8,
    },
    CarriesNothing,
}

/// Actions. Zero stands for "no end" and "not said" throughout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LeafAction {
    Wander { pace: Gait, around: PlaceRef, within: Dm, pause: (Tenths, Tenths), lasting: Tenths },
    Patrol { pace: Gait, once: bool, route: u16, pause: (Tenths, Tenths), lasting: Tenths },
    Guard { pace: Gait, post: PlaceRef, lasting: Tenths },
    Flee { pace: Gait, from: People, until: Dm },
    Chase { pace: Gait, within: Dm, leash: Dm, lost: Tenths },
    Follow { pace: Gait, within: Dm, lost: Tenths },
    Attack { timer: u8, range: Dm, every: Tenths, damage: u16, play: AnimationIndex },
    Gather { pace: Gait, resource: u8, amount: u8, taking: Tenths, play: AnimationIndex },
    Deliver { pace: Gait, to: PlaceRef },
    Talk { n: u8, first: u16, pause: Tenths },
    Sit { pace: Gait, at: PlaceRef, lasting: Tenths },
    Work { pace: Gait, at: PlaceRef, play: AnimationIndex, lasting: Tenths },
    Go { pace: Gait, to: PlaceRef, within: Dm },
    Wait { span: (Tenths, Tenths) },
    Say { n: u8, first: u16 },
    Play { animation: AnimationIndex, lasting: Tenths },
    Face { spot: PlaceRef },
    Sound { sound: u8, reach: Dm },
    Forget,
}

/// Decimetres.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Dm(pub(crate) u16);

impl Dm {
    pub(crate) fn metres(self) -> f32 {
        f32::from(self.0) * 0.1
    }
}

/// Tenths of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Tenths(pub(crate) u16);

impl Tenths {
    pub(crate) const fn ms(self) -> u32 {
        self.0 as u32 * 100
    }
}

/// A pace: one of the gaits, or decimetres a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Gait(pub(crate) u8);

impl Gait {
    pub(crate) const CREEP: Self = Self(253);
    pub(crate) const WALK: Self = Self(254);
    pub(crate) const RUN: Self = Self(255);
    /// The largest speed.
    pub(crate) const SPEED_MAX: u8 = 250;
}

/// The people that a word means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum People {
    Anyone,
    /// Enemies of the NPC's kind, by the template.
    Enemy,
    Friend,
    Target,
    /// One of the set's masks.
    Kinds(u8),
}

/// A place of the template, or one remembered by an NPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PlaceRef(pub(crate) u16);

impl PlaceRef {
    pub(crate) const HOME: Self = Self(u16::MAX);
    /// The NPC's own position.
    pub(crate) const HERE: Self = Self(u16::MAX - 1);
    /// The place at which the target was noticed last, or from which a sound came.
    pub(crate) const LAST_SEEN: Self = Self(u16::MAX - 2);
    /// The same, and only while there is a target.
    pub(crate) const TARGET: Self = Self(u16::MAX - 3);
}

/// An animation, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AnimationIndex(pub(crate) u16);

impl AnimationIndex {
    pub(crate) const NONE: Self = Self(u16::MAX);

    pub(crate) const fn id(self) -> Option<AnimationId> {
        match self {
            Self::NONE => None,
            Self(number) => Some(AnimationId(number)),
        }
    }
}

impl Op {
    /// The word that makes it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Sequence => "sequence",
            Self::Select => "select",
            Self::Parallel => "parallel",
            Self::Random { .. } => "random",
            Self::Weight(_) => "weight",
            Self::Schedule => "schedule",
            Self::From { .. } => "from",
            Self::When { .. } => "when",
            Self::Invert => "invert",
            Self::Try => "try",
            Self::Repeat { .. } => "repeat",
            Self::Cooldown { .. } => "cooldown",
            Self::Timeout { .. } => "timeout",
            Self::Chance { .. } => "chance",
            Self::Check { condition, .. } => condition.word(),
            Self::Do(action) => action.word(),
        }
    }
}

impl Predicate {
    const fn word(self) -> &'static str {
        match self {
            Self::Sees { .. } => "sees",
            Self::Hears { .. } => "hears",
            Self::Hurt { .. } => "hurt",
            Self::HealthBelow { .. } | Self::HealthAbove { .. } => "health",
            Self::Time { .. } => "time",
            Self::Within { .. } => "within",
            Self::Beyond { .. } => "beyond",
            Self::HasTarget => "has target",
            Self::TargetIs { .. } => "target is",
            Self::Carries { .. } | Self::CarriesNothing => "carries",
        }
    }
}

impl LeafAction {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Wander { .. } => "wander",
            Self::Patrol { .. } => "patrol",
            Self::Guard { .. } => "guard",
            Self::Flee { .. } => "flee",
            Self::Chase { .. } => "chase",
            Self::Follow { .. } => "follow",
            Self::Attack { .. } => "attack",
            Self::Gather { .. } => "gather",
            Self::Deliver { .. } => "deliver",
            Self::Talk { .. } => "talk",
            Self::Sit { .. } => "sit",
            Self::Work { .. } => "work",
            Self::Go { .. } => "go",
            Self::Wait { .. } => "wait",
            Self::Say { .. } => "say",
            Self::Play { .. } => "play",
            Self::Face { .. } => "face",
            Self::Sound { .. } => "sound",
            Self::Forget => "forget",
        }
    }
}
