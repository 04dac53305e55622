//! Transfers of objects and items between a world and the store, which holds those that users have returned, deleted and taken: in their inventories, or in rows of
//! its own.
//!
//! Each has a ticket, by which no step of it takes effect twice. A world reports it in the frame that has its effect on the objects
//! ([`crate::Event::Transfer`]), and in every snapshot ([`crate::SnapshotChunk::transfers`]) until the node says that it is on the disk
//! ([`crate::Action::Settle`]). `docs/adr/0029` has the states of a ticket, `docs/adr/0032` the ends in inventories.

mod encoding;
mod worn;

pub use worn::{
    ATTACHMENT_POINT_ADDS, ATTACHMENT_POINT_DEFAULT, ATTACHMENT_POINT_MAX, TakeOffOrder, WORN_MAX, WearOrder,
    WornChange, WornItems, WornTransfer,
};

use crate::motion::Motion;
use crate::object::{PrimMotion, VersionedBody};
use crate::object_command::{DerezKind, Ray};
use crate::object_outcome::EditRefusal;
use encoding::{EncodedHeld, key_or_none};
use glam::Vec3;
use ids::{AgentId, HeldKey, SessionKey, Ticket, Uuid};
use prim::ContentItem;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Prims of a linkset, the root first, with their places: the root's in the region, the others' relative to it. Parents are those that they had.
pub type PlacedLinkset = Vec<(PrimMotion, VersionedBody)>;

/// An object that left the world for an inventory, whole: one linkset, or several that were taken together (a *coalesced* object).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "EncodedHeld", into = "EncodedHeld")]
pub struct HeldObject {
    /// The user who has it now; also the owner in its prims.
    pub owner: AgentId,
    /// Session that ordered it, [`SessionKey::NODE`] for the node.
    pub by: SessionKey,
    /// Destination.
    pub kind: DerezKind,
    /// Folder of an inventory, as the client named it; null without one. For [`DerezKind::Save`] the item whose content it becomes.
    pub folder: Uuid,
    /// The client's number of the request; null without one.
    pub transaction: Uuid,
    /// Its owner wore it when it left, as no item in builds before [`WornTransfer`].
    pub is_worn: bool,
    /// At least one, each with at least its root.
    pub linksets: Vec<PlacedLinkset>,
}

impl HeldObject {
    /// Prims of one object at most: 14 MB in the form of an asset. What a user takes beyond that with one request becomes another object.
    pub const PRIMS_MAX: usize = 2_048;

    /// All prims, linkset by linkset.
    pub fn prims(&self) -> impl Iterator<Item = &(PrimMotion, VersionedBody)> {
        self.linksets.iter().flatten()
    }

    /// Number of its prims.
    #[must_use]
    pub fn n_prims(&self) -> usize {
        self.linksets.iter().map(Vec::len).sum()
    }

    /// The root of the first linkset, by which it is named. `None` for an object that no world has given.
    #[must_use]
    pub fn root(&self) -> Option<&(PrimMotion, VersionedBody)> {
        self.linksets.first().and_then(|prims| prims.first())
    }

    /// Least and greatest coordinates of the boxes around its prims, metres from the region's corner as it left; `None` without prims, or if one of these numbers is
    /// not finite.
    #[must_use]
    pub fn extent(&self) -> Option<(Vec3, Vec3)> {
        let (mut low, mut high) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
        for prims in &self.linksets {
            let root = prims.first()?.0.motion;
            for (number, (place, versioned)) in prims.iter().enumerate() {
                let Motion { position, rotation, .. } = place.motion;
                let (position, rotation) = match number {
                    0 => (position, rotation),
                    _ => (root.position + root.rotation * position, root.rotation * rotation),
                };
                let axes = [Vec3::X, Vec3::Y, Vec3::Z].map(|axis| rotation * (axis * versioned.body.scale));
                let half = (axes[0].abs() + axes[1].abs() + axes[2].abs()) / 2.0;
                if !position.is_finite() || !half.is_finite() {
                    return None;
                }
                (low, high) = (low.min(position - half), high.max(position + half));
            }
        }
        Some((low, high)).filter(|(low, high)| low.is_finite() && high.is_finite())
    }

    /// True if no linkset of it is empty, and there is one.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        !self.linksets.is_empty() && self.linksets.iter().all(|prims| !prims.is_empty())
    }
}

/// An item that left the contents of a prim for an inventory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldItem {
    /// The user who has it now; also its owner.
    pub owner: AgentId,
    /// Session that ordered it.
    pub by: SessionKey,
    /// Folder of the inventory, as the client named it; null without one.
    pub folder: Uuid,
    /// Name of that folder, if it is a new one for items that leave together: the first of them brings it.
    pub new_folder: Option<Arc<str>>,
    /// The item. Its id in the inventory is another one.
    pub item: Arc<ContentItem>,
}

/// The effect of a ticket. Variants are appended, never moved: snapshots have their numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Transfer {
    /// An object left the world, or a copy of it did. The store holds it from now on, under the ticket.
    Held(Arc<HeldObject>),
    /// An object that the store held is in the world. The store has it no more.
    Restored(HeldKey),
    /// An object that the store holds did not come into the world. The store keeps it.
    Refused(HeldKey, EditRefusal),
    /// The world has gone back to the state before these tickets: none of them has any effect.
    Undone {
        /// The first of them.
        first: Ticket,
        /// The last one, at least `first`.
        last: Ticket,
    },
    /// An item left a prim. The store holds it from now on, under the ticket.
    HeldItem(Arc<HeldItem>),
    /// A linkset that an avatar wears, or wore, changes hands.
    Worn(Arc<WornTransfer>),
}

/// Transfers of a world as they are stored with its objects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredTransfers {
    /// The ticket that was given last.
    pub last: Ticket,
    /// Transfers whose effects may not be on the disk, in ascending order.
    pub unsettled: Vec<(Ticket, Transfer)>,
    /// Users for whom the store holds as many objects as it may, in ascending order.
    pub full: Vec<AgentId>,
}

/// An order of the node that a world has answered without a ticket: [`Restoration`] and [`ItemRestoration`] without a key, [`ContentReplacement`], [`WearOrder`]. A world
/// that gets the order again gives the same answer, and does nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnsweredOrder {
    /// [`Restoration::ids`], [`WearOrder::ids`], the id of the item, or of the asset.
    pub id: Uuid,
    /// The reason for which it was refused; `None` if it was carried out.
    pub refusal: Option<EditRefusal>,
}

/// Order to put an object into the world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Restoration {
    /// Its key in the store, which has marked it, so that it is given to one world only: the answer is a transfer. A world that has answered an order for it gives
    /// no second answer before the first one is settled.
    ///
    /// `None` for a copy of an item that stays, which has no effect in the store: the answer is [`crate::Event::Rezzed`], the same one for each time that the order comes.
    #[serde(with = "key_or_none")]
    pub key: Option<HeldKey>,
    /// The object.
    pub object: Arc<HeldObject>,
    /// Its new place.
    pub place: RestorePlace,
    /// Id of its first prim, chosen at random, from which those of the others are derived. An object that left the world itself and was in a row of the store
    /// keeps its own ids instead; the original of a copy ([`DerezKind::is_copy`]) may have kept them, and so may one of an item.
    pub ids: Uuid,
}

impl Restoration {
    /// True if its prims get other ids than they had.
    #[must_use]
    pub fn has_fresh_ids(&self) -> bool {
        self.key.is_none_or(HeldKey::is_of_item) || self.object.kind.is_copy()
    }
}

/// Order to put the object of an item that lies in a prim into the world, for a user. The item leaves the prim in the same tick if its owner must not copy it, and it
/// stays if the object is refused. The answer is [`crate::Event::Rezzed`] with [`Restoration::ids`], for each time that the order comes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContentRezzing {
    /// The object, as the user would have it, and its place. Without a key: world and store change in one batch of the region.
    pub restoration: Restoration,
    /// Id of the prim.
    pub holder: Uuid,
    /// The item as it was when the object was made of it. The order is refused if it is another one by now.
    pub item: Arc<ContentItem>,
}

/// Order to put an item of an inventory into a prim, for a user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemRestoration {
    /// Key of its mark in the store, as in [`Restoration::key`]: the answer is a transfer. `None` for a copy of an item that stays, or one that no inventory has:
    /// the answer is [`crate::Event::Rezzed`] with the item's id.
    #[serde(with = "key_or_none")]
    pub key: Option<HeldKey>,
    /// The user's session, which has to be in the world.
    pub session: SessionKey,
    /// Id of the prim.
    pub object: Uuid,
    /// The item, with the id that it gets there.
    pub item: Arc<ContentItem>,
}

/// Order to give an item of a prim other content, for a user. The answer is [`crate::Event::Rezzed`] with the id of the asset, the same one for each time that the order
/// comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentReplacement {
    /// The user's session, which has to be in the world.
    pub session: SessionKey,
    /// Id of the prim.
    pub object: Uuid,
    /// The item.
    pub item: Uuid,
    /// Its kind, as in [`ContentItem::asset_type`].
    pub asset_type: i8,
    /// Its asset from now on, which is on the disk. No two orders have the same.
    pub asset: Uuid,
}

/// Place for an object that comes into a world. Variants are appended, never moved: recordings have their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum RestorePlace {
    /// Its former place.
    Former,
    /// The root of its first linkset is here, metres from the region's corner; the others keep their distances.
    At(Vec3),
    /// A user rezzes it.
    Rezzed(Rezzing),
    /// A user puts it back where it was, if the land permits it.
    Back {
        /// The user's session, which has to be in the world.
        session: SessionKey,
        /// True if the user's client selects it.
        is_selected: bool,
    },
}

impl RestorePlace {
    /// True if the user's client selects the object.
    #[must_use]
    pub const fn is_selected(&self) -> bool {
        match self {
            Self::Former | Self::At(_) => false,
            Self::Rezzed(Rezzing { is_selected, .. }) | Self::Back { is_selected, .. } => *is_selected,
        }
    }
}

/// The way in which a user puts an object into a world. The land has to permit it to that user.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rezzing {
    /// The user's session, which has to be in the world.
    pub session: SessionKey,
    /// Place of the root of its first linkset, metres from the region's corner: where the client's ray ended. Counts if `ray` meets nothing.
    pub position: Vec3,
    /// The object stands on the surface that this ray meets.
    pub ray: Option<Ray>,
    /// True if the user's client selects it.
    pub is_selected: bool,
}

#[cfg(test)]
mod tests;
