//! Answers of a world to commands on its land.

use super::parcel::ParcelNumber;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// An event of a world's land, for one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LandEvent {
    /// A command was refused, and nothing changed. Accepted ones show in the land.
    Refused {
        /// Number of the command.
        sequence: u64,
        /// The reason.
        reason: LandRefusal,
    },
    /// A command of the node itself ([`ids::SessionKey::NODE`]) was carried out: it has no client that would see it in the land.
    Done {
        /// Number of the command.
        sequence: u64,
    },
    /// The session's avatar was moved out of a parcel that it may not be on.
    PutOut(ParcelNumber),
}

/// Reasons to refuse a command on land.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Error, Serialize, Deserialize)]
pub enum LandRefusal {
    /// The world is not built on.
    #[error("The land of this world cannot be changed.")]
    NoLand,
    /// The ground is that of NPCs, who know its paths.
    #[error("The ground of a world with NPCs cannot be changed.")]
    FixedGround,
    /// The author lacks the right.
    #[error("You have no right to do this here.")]
    NotPermitted,
    /// No parcel has this number.
    #[error("There is no such parcel.")]
    UnknownParcel,
    /// The area lies outside the region, or is none.
    #[error("The selection is outside the region or empty.")]
    NoArea,
    /// The area of a division is on several parcels.
    #[error("The selection is on more than one parcel.")]
    SeveralParcels,
    /// The area of a division is a whole parcel.
    #[error("The selection is a whole parcel.")]
    WholeParcel,
    /// The area of a union is on one parcel only.
    #[error("The selection is on one parcel only.")]
    OneParcel,
    /// Parcels of several owners are not joined.
    #[error("The parcels have different owners.")]
    SeveralOwners,
    /// The region has [`ParcelNumber::COUNT_MAX`] parcels.
    #[error("The region has too many parcels.")]
    TooManyParcels,
    /// A parcel has this id, or it is null.
    #[error("A parcel has this id.")]
    IdTaken,
    /// A number is none, or a text or list is too long.
    #[error("A value is impossible.")]
    Malformed,
    /// A landing point must be on its parcel.
    #[error("The landing point is on another parcel.")]
    LandingElsewhere,
    /// It is not offered to this user.
    #[error("The parcel is not for sale to you.")]
    NotForSale,
    /// Price or area differ from those that the buyer saw.
    #[error("The offer has changed.")]
    OfferChanged,
    /// There is no currency.
    #[error("This grid has no currency: only a price of 0 can be paid.")]
    NoCurrency,
    /// Only the estate sells land in this region.
    #[error("The estate does not allow resale.")]
    ResaleBlocked,
    /// Only the estate decides about access in this region.
    #[error("The estate does not allow access lists of parcels.")]
    AccessBlocked,
    /// The list has no room.
    #[error("The list is full.")]
    ListFull,
    /// The estate's owner and managers cannot be banned from it.
    #[error("The estate's owner and managers cannot be banned.")]
    Protected,
    /// There is no recent edit of this session, or its ground was edited again.
    #[error("There is no edit to undo.")]
    NothingToUndo,
    /// The ground edited in this tick, or the orders to return objects that wait, are as much as a step has time for.
    #[error("Too much of this land is being changed at once.")]
    Busy,
    /// The store has been out of reach for too long; the node's edits go on.
    #[error("Changes of the land cannot be saved at present. Try again later.")]
    NotSaved,
    /// A parcel, or the telehub of the region, has no place for a teleport of this user.
    #[error("That parcel allows no teleports to it.")]
    NoLanding,
}
