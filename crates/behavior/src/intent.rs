//! An NPC's intent until its next thought.
//!
//! A thought rewrites all of it. Movement, pose, animation and where to look last until then; words, sounds, gestures, blows and deeds
//! happen once.

use super::node::{AnimationId, LineId, NamedPlaceId, ResourceId};
use crate::senses::{EntityId, SoundKind};
use glam::Vec3;

/// Plain data, to be carried out by the world.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Intent {
    /// The goal of the move.
    pub go: Go,
    /// Changes with the destination of `go`: the way that [`Journey::leg`](crate::senses::Journey::leg) must report on.
    pub leg: u8,
    /// The pace of the move.
    pub pace: Pace,
    /// The direction to face once the move is over.
    pub face: Facing,
    /// Upright or seated.
    pub pose: Pose,
    /// Plays as long as intents say so.
    pub animation: Option<AnimationId>,
    /// Plays once.
    pub gesture: Option<AnimationId>,
    /// Said once, as chat.
    pub say: Option<LineId>,
    /// Sounds once.
    pub sound: Option<SoundMade>,
    /// Struck since the last thought.
    pub attack: Option<Attack>,
    /// Done once.
    pub deed: Option<Deed>,
}

// One for each NPC; two cache lines with room for the world's own data.
const _: () = assert!(size_of::<Intent>() <= 88);

/// The goal of a move.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Go {
    /// Nowhere.
    #[default]
    Stay,
    /// To a place.
    To(Vec3),
    /// To an entity in view, up to a distance.
    Toward {
        /// Entity.
        who: EntityId,
        /// Metres.
        within_m: f32,
    },
    /// Wherever it is farther from here.
    Away {
        /// From where.
        from: Vec3,
    },
}

/// The pace of a move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// Crouching.
    Creep,
    /// At the world's walking speed.
    #[default]
    Walk,
    /// At its running speed.
    Run,
    /// Decimetres a second, 1 to 250.
    Speed(u8),
}

/// The direction to face.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Facing {
    /// As it stands.
    #[default]
    Ahead,
    /// At an entity.
    Toward(EntityId),
    /// At a place.
    At(Vec3),
    /// Radians from east, against the clock.
    Heading(f32),
}

/// The posture of the body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pose {
    /// Upright.
    #[default]
    Stand,
    /// On the ground.
    Sit,
}

/// A sound that others may hear. It is about the target ([`Mind::about`](super::Mind::about)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoundMade {
    /// Its kind.
    pub kind: SoundKind,
    /// Decimetres to where a person just no longer hears it.
    pub reach_dm: u16,
}

/// Blows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attack {
    /// The entity that they hit.
    pub who: EntityId,
    /// Damage of each blow.
    pub damage: u16,
    /// Blows since the last thought, 1 to 8: more than one if the NPC strikes more often than it thinks.
    pub blows: u8,
}

/// An action that changes something in the world besides the NPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Took some.
    Gathered {
        /// The resource.
        resource: ResourceId,
        /// The amount.
        amount: u8,
    },
    /// Put down its load.
    Delivered {
        /// Its kind.
        resource: ResourceId,
        /// The amount.
        amount: u8,
        /// The place; none at its home.
        place: Option<NamedPlaceId>,
    },
}
