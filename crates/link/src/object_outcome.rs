//! Reasons for which requests to change objects are refused, and objects that physics has stopped.

use glam::Vec3;
use ids::{AgentId, SessionKey, Uuid};
use serde::{Deserialize, Serialize};

/// Reasons to refuse a change of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum EditRefusal {
    /// The world has no objects that can be changed: an instance.
    NotBuiltOn,
    /// No object has this id: it is gone, it is an avatar's or another region's.
    Unknown,
    /// The acting user lacks the right.
    Rights,
    /// A number that is infinite or none.
    BadNumber,
    /// An unknown code, or bytes of another form than they have to be.
    BadValue,
    /// More objects than a message names.
    TooManyObjects,
    /// The region has its number of prims, or no local id left.
    Full,
    /// More prims within a second than a session may make or change.
    TooFast,
    /// A linkset would have too many prims.
    TooManyParts,
    /// A linkset would be linked to itself.
    Itself,
    /// Objects of two owners would be linked.
    OtherOwner,
    /// A part would be too far from its root.
    TooFar,
    /// Outside of the region.
    Outside,
    /// Not for sale, for money, or under another offer than the client shows.
    NotForSale,
    /// The session has no change of it to take back or to repeat, or it was linked otherwise since.
    NoHistory,
    /// A part of a linkset, in a request that concerns roots.
    Part,
    /// It is worn.
    Attached,
    /// The author has no avatar that could own the object.
    NoOwner,
    /// An id that another object has.
    Twice,
    /// Not possible on this grid: groups as owners, the sale of contents.
    Unsupported,
    /// The land there is not for the user to build on.
    NoBuilding,
    /// Objects of that owner may not come onto that land.
    NoEntry,
    /// The parcel has as many prims as it has room for.
    ParcelFull,
    /// The store holds as many objects for the user as it may, or cannot take more at the moment.
    HeldFull,
    /// The region has its number of physical prims.
    TooManyPhysical,
    /// Earlier edits are not on the disk, for longer than the operator allows.
    NotSaved,
    /// The prim has no item with this id.
    NoItem,
    /// The prim has as many items as it may have, or the region as many in all of its prims.
    ContentsFull,
    /// A prim that physics would move is thinner or larger than physical ones are.
    PhysicalSize,
}

impl EditRefusal {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 29] = [
        Self::NotBuiltOn,
        Self::Unknown,
        Self::Rights,
        Self::BadNumber,
        Self::BadValue,
        Self::TooManyObjects,
        Self::Full,
        Self::TooFast,
        Self::TooManyParts,
        Self::Itself,
        Self::OtherOwner,
        Self::TooFar,
        Self::Outside,
        Self::NotForSale,
        Self::NoHistory,
        Self::Part,
        Self::Attached,
        Self::NoOwner,
        Self::Twice,
        Self::Unsupported,
        Self::NoBuilding,
        Self::NoEntry,
        Self::ParcelFull,
        Self::HeldFull,
        Self::TooManyPhysical,
        Self::NotSaved,
        Self::NoItem,
        Self::ContentsFull,
        Self::PhysicalSize,
    ];

    /// A sentence for the acting user.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::NotBuiltOn => "Objects cannot be built or changed here.",
            Self::Unknown => "That object is not there any more.",
            Self::Rights => "You are not allowed to change that object in this way.",
            Self::BadNumber | Self::BadValue => "Your viewer has sent a value that no object can have.",
            Self::TooManyObjects => "Your viewer has named more objects than a request can have.",
            Self::Full => "This region has as many objects as it can hold.",
            Self::TooFast => "You are building too fast. Try again in a moment.",
            Self::TooManyParts => "An object cannot have that many parts.",
            Self::Itself => "An object cannot be linked to itself.",
            Self::OtherOwner => "Objects of different owners cannot be linked.",
            Self::TooFar => "The parts of an object cannot be that far from each other.",
            Self::Outside => "That place is outside of the region.",
            Self::NotForSale => "That object is not for sale under these terms.",
            Self::NoHistory => "There is nothing to undo or redo.",
            Self::Part => "That is possible for whole objects only, not for their parts.",
            Self::Attached => "That object is worn.",
            Self::NoOwner => "You have no avatar here that could own the object.",
            Self::Twice => "There is an object with that id already.",
            Self::Unsupported => "This server does not have what your viewer has just asked for.",
            Self::NoBuilding => "The owner of this land does not let you build here.",
            Self::NoEntry => "The owner of that land does not let objects of others enter it.",
            Self::ParcelFull => "That parcel has as many objects as it can hold.",
            Self::TooManyPhysical => "This region has as many physical objects as it can hold.",
            Self::NotSaved => {
                "The server cannot save changes of objects at the moment. Please try again later."
            }
            Self::NoItem => "That item is not in the object any more.",
            Self::ContentsFull => "There is no room for more items in objects.",
            Self::PhysicalSize => "Each part of a physical object has to be 0.01 to 64 metres wide.",
            Self::HeldFull => "The server holds as many objects for their owner as it can. They stay here.",
        }
    }

    /// Name in metrics.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::NotBuiltOn => "not_built_on",
            Self::Unknown => "unknown",
            Self::Rights => "rights",
            Self::BadNumber => "bad_number",
            Self::BadValue => "bad_value",
            Self::TooManyObjects => "too_many_objects",
            Self::Full => "full",
            Self::TooFast => "too_fast",
            Self::TooManyParts => "too_many_parts",
            Self::Itself => "itself",
            Self::OtherOwner => "other_owner",
            Self::TooFar => "too_far",
            Self::Outside => "outside",
            Self::NotForSale => "not_for_sale",
            Self::NoHistory => "no_history",
            Self::Part => "part",
            Self::Attached => "attached",
            Self::NoOwner => "no_owner",
            Self::Twice => "twice",
            Self::Unsupported => "unsupported",
            Self::NoBuilding => "no_building",
            Self::NoEntry => "no_entry",
            Self::ParcelFull => "parcel_full",
            Self::TooManyPhysical => "too_many_physical",
            Self::NotSaved => "not_saved",
            Self::HeldFull => "held_full",
            Self::NoItem => "no_item",
            Self::ContentsFull => "contents_full",
            Self::PhysicalSize => "physical_size",
        }
    }
}

/// A linkset that physics has stopped: a number of its motion was none. It is at rest, and no longer physical.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoppedObject {
    /// Its owner.
    pub owner: AgentId,
    /// The owner's session in this world, if there is one.
    pub session: Option<SessionKey>,
    /// Id of its root.
    pub object: Uuid,
    /// Name of its root.
    pub name: String,
    /// Its place, metres from the region's corner.
    pub position: Vec3,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn reasons_are_numbered_in_their_order_and_have_names_of_their_own() {
        assert!(EditRefusal::ALL.into_iter().enumerate().all(|(number, reason)| reason as usize == number));
        let names: BTreeSet<&str> = EditRefusal::ALL.map(EditRefusal::label).into();
        assert_eq!(names.len(), EditRefusal::ALL.len());
    }

    #[test]
    fn the_sizes_of_physical_prims_are_named() {
        let (least, most) = prim::body::PHYSICAL_SIZE_RANGE_M;
        let sizes = format!("{least} to {most} metres");
        assert!(EditRefusal::PhysicalSize.text().contains(&sizes), "{sizes}");
    }
}
