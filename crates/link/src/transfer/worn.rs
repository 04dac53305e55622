//! Linksets that avatars wear as items of their owners' inventories.
//!
//! A row of the store has each of them for as long as it is worn, in its last state, and the item stays. The linkset in a world is made of the row: by
//! [`WearOrder`] when the avatar arrives or its user puts the item on. A world reports with a ticket what becomes of it ([`WornTransfer`]), since the row changes with
//! it; what changes while it is worn is in its frames.

use super::HeldObject;
use ids::{AgentId, SessionKey, Uuid};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Linksets that one avatar wears at most, whatever an operator allows.
pub const WORN_MAX: usize = 255;
/// The last attachment point: 1 is the chest, 55 the hind right foot. 31 to 38 are on the screen of the wearer.
pub const ATTACHMENT_POINT_MAX: u8 = 55;
/// The point of an object that names none: the right hand.
pub const ATTACHMENT_POINT_DEFAULT: u8 = 6;
/// Bit of a point in messages by which a client adds to the objects there, in place of exchanging them.
pub const ATTACHMENT_POINT_ADDS: u8 = 0x80;

/// A worn linkset changes hands. The effect of a ticket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WornTransfer {
    /// The item of the owner's inventory. Chosen by the world for a linkset from the ground, which had none.
    pub item: Uuid,
    /// The change.
    pub change: WornChange,
    /// The linkset as it is worn, with its owner. Its root is placed against the attachment point, and has item and point in its body.
    pub object: HeldObject,
}

/// The way in which a worn linkset changes hands. Variants are appended, never moved: snapshots have their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WornChange {
    /// An avatar wears a linkset that lay on the ground. It becomes an item.
    PutOn,
    /// The avatar has left the world. It wears the linkset still, elsewhere or later.
    Left,
    /// The avatar wears it no more. The item has its last state.
    TakenOff,
    /// It lies on the ground, and is no item any more.
    PutDown,
}

/// Order to let an avatar wear an item. Answered by the linkset in a frame, or by [`crate::Event::WearRefused`]. Without effect if the avatar wears that item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WearOrder {
    /// The user's session, which has to be in the world.
    pub session: SessionKey,
    /// The item.
    pub item: Uuid,
    /// The attachment point, 1 to [`ATTACHMENT_POINT_MAX`].
    pub point: u8,
    /// The avatar takes everything else off that it wears at the point.
    pub replaces: bool,
    /// One linkset, with its owner, the root placed against the attachment point.
    pub object: Arc<HeldObject>,
    /// Id of its first prim, chosen at random, from which those of the others are derived; they count if objects of the world have those that it has. No two
    /// orders have the same: an order that comes again has no effect, also if the avatar has taken the item off since.
    pub ids: Uuid,
}

/// Order to take items off an avatar. A transfer of each linkset that is there follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakeOffOrder {
    /// The user.
    pub owner: AgentId,
    /// Items of the user.
    pub items: WornItems,
}

/// Some of the items that a user wears.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WornItems {
    /// These.
    These(Vec<Uuid>),
    /// All but these.
    AllBut(Vec<Uuid>),
}

impl WornItems {
    /// True for one of them.
    #[must_use]
    pub fn contains(&self, item: Uuid) -> bool {
        match self {
            Self::These(items) => items.contains(&item),
            Self::AllBut(items) => !items.contains(&item),
        }
    }
}
