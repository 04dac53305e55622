//! Outcomes of requests for items of prims.

use crate::object_outcome::EditRefusal;
use ids::{LocalId, SessionKey, Uuid};
use prim::ContentItem;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Outcome of a request for an item of a prim, one for each: also of a request that was refused. A session that is not in the world has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContentsEvent {
    /// The session that asked for it, or for which the node did; [`SessionKey::NODE`] for the node alone.
    pub session: SessionKey,
    /// Number of the command.
    pub sequence: u64,
    /// The prim, as the request named it.
    pub id: LocalId,
    /// Its id; null for a prim that is not there.
    pub object: Uuid,
    /// The outcome.
    pub outcome: ContentsOutcome,
}

/// Outcomes of requests for items of prims.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ContentsOutcome {
    /// The item is in the prim, with this name, owner and masks.
    Put(Arc<ContentItem>),
    /// The item with this id has changed.
    Edited(Uuid),
    /// The item is out of the prim. An inventory may have it: no prim has it any more.
    Removed(Arc<ContentItem>),
    /// The item as it is in the prim. The acting user may put it into an inventory, without a copy of it being left in the prim if its owner must not copy it.
    Read(Arc<ContentItem>),
    /// Nothing has changed.
    Refused(EditRefusal),
    /// The item, as its new owner has it, is on its way into an inventory. It is out of the prim, unless its owner may copy it.
    Taken(Arc<ContentItem>),
}
