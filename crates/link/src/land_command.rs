//! Requests to a world that change its land. The world judges each by its author's rights, and refuses with a
//! [`LandRefusal`](crate::LandRefusal).
//!
//! Commands of the node ([`crate::Author::Node`]) have an operator's rights, also those that it gives in the name of a session.

use crate::land::{
    AccessEntry, Environment, Estate, EstateList, GroundPatch, GroundTextures, Parcel, ParcelNumber,
    ParcelSettings, RegionOptions, Sun, Telehub, WaterAndLimits,
};
use glam::{Vec2, Vec3};
use ids::{AgentId, Uuid};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A request, with the time of the gateway: worlds read no clock, and lists have times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LandCommand {
    /// Seconds since 1970.
    pub at_s: u64,
    /// The request itself.
    pub edit: LandEdit,
}

/// Changes of the land.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum LandEdit {
    /// None: the world learns the time. For a world that has slept.
    Clock,
    /// The ground.
    Ground(GroundEdit),
    /// One parcel.
    Parcel(ParcelNumber, ParcelEdit),
    /// A part of a parcel becomes a parcel.
    Divide {
        /// The part, rounded to squares.
        area: LandRect,
        /// Id of the new parcel.
        id: Uuid,
    },
    /// All parcels that an area touches become one, with the settings of the largest.
    Join(LandRect),
    /// The estate.
    Estate(EstateEdit),
    /// Other land as a whole, such as that of an archive; by an operator.
    Replace(Box<LandReplacement>),
}

impl LandEdit {
    /// True if it may change heights of the ground.
    #[must_use]
    pub const fn is_of_ground(&self) -> bool {
        match self {
            Self::Ground(_) => true,
            Self::Replace(new) => new.ground.is_some(),
            Self::Clock | Self::Parcel(..) | Self::Divide { .. } | Self::Join(_) | Self::Estate(_) => false,
        }
    }
}

/// Land in place of the present one. Parts that it lacks stay as they are; all others change in one step, or none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LandReplacement {
    /// All parcels.
    pub parcels: Option<ReplacedParcels>,
    /// The estate.
    pub estate: Option<Arc<Estate>>,
    /// The ground.
    pub ground: Option<ReplacedGround>,
}

impl LandReplacement {
    /// True without any part.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        let Self { parcels, estate, ground } = self;
        parcels.is_none() && estate.is_none() && ground.is_none()
    }
}

/// Parcels in place of all present ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplacedParcels {
    /// By ascending number.
    pub parcels: Vec<Arc<Parcel>>,
    /// The parcel of each square, row by row from the south-west.
    pub squares: Arc<[ParcelNumber]>,
}

/// A ground in place of the present one, as far as it differs from that of the world's description.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplacedGround {
    /// The ground itself.
    pub patches: Vec<GroundPatch>,
    /// The baked one, from which edits are limited and to which they revert.
    pub baked: Vec<GroundPatch>,
}

/// A rectangle in metres from the region's corner.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LandRect {
    /// Western border.
    pub west: f32,
    /// Southern border.
    pub south: f32,
    /// Eastern border.
    pub east: f32,
    /// Northern border.
    pub north: f32,
}

/// Changes of the ground.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum GroundEdit {
    /// A stroke with a brush.
    Stroke(Stroke),
    /// Takes the session's last edit back, where the ground was not edited again since. Strokes that follow each other within a second are one
    /// edit.
    Undo,
    /// Other heights, without limits. For the estate.
    Load(Vec<GroundPatch>),
    /// Makes the present ground the baked one: limits are relative to it, and edits revert to it. For the estate.
    Bake,
}

/// A stroke with a brush.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stroke {
    /// Effect.
    pub brush: Brush,
    /// Ground that it touches.
    pub area: StrokeArea,
    /// Strength: seconds for which a user holds the brush, clamped to 0 to 1,000.
    pub seconds: f32,
    /// Height to which [`Brush::Flatten`] leads, metres.
    pub height_m: f32,
}

/// Effects of a stroke, with their codes in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Brush {
    /// Leads to one height.
    Flatten = 0,
    /// Upward.
    Raise = 1,
    /// Downward.
    Lower = 2,
    /// Leads to the mean of the surroundings.
    Smooth = 3,
    /// Adds random heights.
    Noise = 4,
    /// Leads to the baked ground.
    Revert = 5,
}

impl Brush {
    /// All of them, by code.
    pub const ALL: [Self; 6] =
        [Self::Flatten, Self::Raise, Self::Lower, Self::Smooth, Self::Noise, Self::Revert];

    /// The effect with this code.
    #[must_use]
    pub fn of_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

/// Ground that a stroke touches, as far as its author may edit it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum StrokeArea {
    /// A disc, weaker toward its rim.
    Disc {
        /// Middle, metres from the region's corner.
        at: Vec2,
        /// Clamped to 0.5 m to 64 m.
        radius_m: f32,
    },
    /// A rectangle, even.
    Rect(LandRect),
    /// A whole parcel, even.
    Parcel(ParcelNumber),
}

/// Changes of one parcel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ParcelEdit {
    /// Other settings.
    Settings(Box<ParcelSettings>),
    /// Entries of a list.
    Access {
        /// The list.
        list: AccessList,
        /// True if the former entries are dropped: clients send a list in sections.
        is_first: bool,
        /// Added; they replace those of the same users.
        entries: Vec<AccessEntry>,
    },
    /// Time after which objects of other owners are returned.
    AutoReturn {
        /// 0 for never.
        minutes: u32,
    },
    /// The owner gives it to the estate's owner.
    Release,
    /// The estate's owner takes it.
    Reclaim,
    /// A buyer takes it. Only a price of 0 can be paid.
    Buy {
        /// Price that the buyer saw.
        price: u32,
        /// Area that the buyer saw.
        area_m2: u32,
    },
    /// Another owner, by an operator.
    ForceOwner(Option<AgentId>),
    /// Other sky and water, or those of the region.
    Environment(Option<Environment>),
    /// Objects on it go back to their owners.
    ReturnObjects {
        /// Objects of these kinds.
        kinds: ReturnKinds,
        /// Of these owners, with [`ReturnKinds::LISTED`].
        owners: Vec<AgentId>,
    },
}

/// A list of a parcel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AccessList {
    /// Users who may enter.
    Allowed,
    /// Users who may not.
    Banned,
}

/// Kinds of objects on a parcel as a set of bits, those of the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ReturnKinds(pub u32);

impl ReturnKinds {
    /// Of the parcel's owner.
    pub const OWNER: Self = Self(1 << 1);
    /// Of the parcel's group, and not of its owner.
    pub const GROUP: Self = Self(1 << 2);
    /// All others.
    pub const OTHER: Self = Self(1 << 3);
    /// Of listed owners.
    pub const LISTED: Self = Self(1 << 4);
    /// For sale.
    pub const FOR_SALE: Self = Self(1 << 5);

    /// True if any bit of `other` is set.
    #[must_use]
    pub const fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// Changes of the estate. Those of [`EstateList::Managers`] are for its owner, others for its managers, too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum EstateEdit {
    /// Another name.
    Name(Arc<str>),
    /// Another owner, by an operator.
    Owner(Option<AgentId>),
    /// Other settings of the region.
    Region(RegionOptions),
    /// Another height of the water, other limits.
    Levels(WaterAndLimits),
    /// Another sun.
    Sun(Sun),
    /// Other textures of the ground.
    Textures(GroundTextures),
    /// Another covenant.
    Covenant(Uuid),
    /// Other sky and water, or the viewer's own.
    Environment(Option<Environment>),
    /// An entry of a list.
    List {
        /// The list.
        list: EstateList,
        /// The user or group.
        id: Uuid,
        /// Added, or removed.
        is_added: bool,
    },
    /// Another telehub.
    Telehub(TelehubEdit),
}

/// Changes of a telehub.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum TelehubEdit {
    /// There is this one now.
    Connect(Box<Telehub>),
    /// There is none any more.
    Disconnect,
    /// Another point of arrival, metres from the region's corner.
    AddPoint(Vec3),
    /// One point less, by its place in the list.
    RemovePoint(u8),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brushes_have_the_codes_of_messages() {
        assert!((0..6).all(|code| Brush::of_code(code).map(|brush| brush as u8) == Some(code)));
        assert_eq!(Brush::of_code(6), None);
    }
}
