//! Transfers of linksets between a world and the store, which holds those that users have returned, deleted and taken.
//!
//! Each has a ticket, by which no step of it takes effect twice. A world reports it in the frame that has its effect on the objects
//! ([`crate::Event::Transfer`]), and in every snapshot ([`crate::SnapshotChunk::transfers`]) until the node says that it is on the disk
//! ([`crate::Action::Settle`]). `docs/adr/0029` has the states of a ticket.

use crate::object::{PrimMotion, VersionedBody};
use crate::object_command::DerezKind;
use crate::object_outcome::EditRefusal;
use glam::Vec3;
use ids::{AgentId, HeldKey, SessionKey, Ticket, Uuid};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A linkset that left the world for an inventory, whole. Until there are inventories, a table holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldLinkset {
    /// The user who has it now; also the owner in its prims.
    pub owner: AgentId,
    /// Session that ordered it, [`SessionKey::NODE`] for the node.
    pub by: SessionKey,
    /// Destination.
    pub kind: DerezKind,
    /// Folder of an inventory, as the client named it; null without one.
    pub folder: Uuid,
    /// The client's number of the request; null without one.
    pub transaction: Uuid,
    /// Prims, the root first, with their places: the root's in the region, the others' relative to it. Parents are those that they had.
    pub prims: Vec<(PrimMotion, VersionedBody)>,
}

/// The effect of a ticket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Transfer {
    /// A linkset left the world, or a copy of it did. The store holds it from now on, under the ticket.
    Held(Arc<HeldLinkset>),
    /// A linkset that the store held is in the world. The store has it no more.
    Restored(HeldKey),
    /// A linkset that the store holds did not come into the world. The store keeps it.
    Refused(HeldKey, EditRefusal),
    /// The world has gone back to the state before these tickets: none of them has any effect.
    Undone {
        /// The first of them.
        first: Ticket,
        /// The last one, at least `first`.
        last: Ticket,
    },
}

/// Transfers of a world as they are stored with its objects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredTransfers {
    /// The ticket that was given last.
    pub last: Ticket,
    /// Transfers whose effects may not be on the disk, in ascending order.
    pub unsettled: Vec<(Ticket, Transfer)>,
    /// Users for whom the store holds as many linksets as it may, in ascending order.
    pub full: Vec<AgentId>,
}

/// Order to put a linkset that the store holds into the world. The store has marked it, so that it is given to one world only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Restoration {
    /// Its key in the store. A world that has answered an order for it gives no second answer before the first one is settled.
    pub key: HeldKey,
    /// The linkset.
    pub linkset: Arc<HeldLinkset>,
    /// New place of its root, metres from the region's corner; where it was without one.
    pub position: Option<Vec3>,
    /// Id of the root of a copy ([`DerezKind::TakeCopy`]), chosen at random: the original may have kept its own. Ids of the others are derived from it.
    pub ids: Uuid,
}
