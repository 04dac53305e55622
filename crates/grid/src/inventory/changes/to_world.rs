//! Transfers of inventory items into the region of their owner's avatar: objects to be rezzed, and items to be put into prims.
//!
//! ```text
//! WorldRequest ─► judged here ─► WorldOrder ─► keeper of the region ─► world ─► save ─► WorldAnswer ─► end_world_order
//!                    └─ an item that does not stay is marked ──────────────────────┴─ and goes, or is free again
//! ```
//!
//! Sources are the user's own inventory, the library, notecards that the user may read, and prims of the region. An item that its
//! owner may not copy, or gives up, is marked before the order: nothing changes it and no other region gets it, until the save that has its object in the region removes
//! it. Of other items the region gets a copy. An item in a prim needs no mark: the world has both, and judges.

mod judging;
#[cfg(test)]
mod tests;

use super::notecard::NotecardPlace;
use super::replies::{self, ReplyRows};
use super::{ChangeInventoryError, InventoryParts, InventoryReplies};
use ids::{AgentId, Instant, SessionKey, Uuid, WorldId};
use judging::Judge;
use keeper::Order;
use link::{EditRefusal, RestorePlace};
use prim::ContentItem;
use std::sync::Arc;
use store::Store;

/// Objects that a request brings into a region, at most.
pub const REZ_MAX: usize = 16;

/// A request of a user to bring objects or items into a region.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldRequest {
    /// A region with objects of users.
    pub region: WorldId,
    /// The user's session there.
    pub session: SessionKey,
    /// Time at which it was made.
    pub at: Instant,
    /// Its subject.
    pub deed: WorldDeed,
}

/// Subject of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum WorldDeed {
    /// Objects come into the region.
    Rez(RezRequest),
    /// An item goes into a prim.
    Put(PutRequest),
    /// A new script goes into a prim.
    NewScript(NewScript),
    /// The object of an item in a prim comes into the region.
    RezContent(ContentRez),
}

/// A request for objects.
#[derive(Clone, Debug, PartialEq)]
pub struct RezRequest {
    /// Items, and for each an id that no object has ([`link::Restoration::ids`]); at most [`REZ_MAX`].
    pub items: Vec<(Uuid, Uuid)>,
    /// Notecard that the items are embedded in; `None` for items of the inventory or the library.
    pub notecard: Option<NotecardPlace>,
    /// Their place.
    pub place: RestorePlace,
    /// Their group; null for none.
    pub group: Uuid,
    /// The items leave the inventory, also those that may be copied.
    pub leaves: bool,
}

/// A request for the object of an item in a prim.
#[derive(Clone, Debug, PartialEq)]
pub struct ContentRez {
    /// Id of the prim.
    pub object: Uuid,
    /// The item as it is there. The world compares, and judges whether it may be taken out.
    pub item: Arc<ContentItem>,
    /// An id that no object has ([`link::Restoration::ids`]).
    pub ids: Uuid,
    /// Its place.
    pub place: RestorePlace,
    /// Its group; null for none.
    pub group: Uuid,
}

/// A request for an item of the inventory, or of the library, in a prim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutRequest {
    /// Id of the prim.
    pub object: Uuid,
    /// The item.
    pub item: Uuid,
    /// Its id in the prim, which no item has.
    pub id: Uuid,
    /// Only a script is put into it.
    pub is_script: bool,
}

/// A request for a script in a prim, with the content with which scripts begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewScript {
    /// Id of the prim.
    pub object: Uuid,
    /// Its id in the prim, which no item has.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Masks of group, all others and next owner.
    pub masks: [u32; 3],
}

/// An order for the keeper of a region.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldOrder {
    /// The region.
    pub region: WorldId,
    /// The order.
    pub order: Order,
    /// Facts for [`end_world_order`].
    pub end: WorldOrderEnd,
}

/// Facts about an order that its end needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorldOrderEnd {
    /// The user.
    pub owner: AgentId,
    /// The item, if it is one of the user's inventory.
    pub item: Option<Uuid>,
    /// The item is marked for the region.
    pub is_marked: bool,
    /// The prim that it goes into, or comes out of.
    pub prim: Option<Uuid>,
    /// Subject of the order.
    pub kind: WorldOrderKind,
    /// Time of the request.
    pub at: Instant,
}

/// Subjects of orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorldOrderKind {
    /// An object.
    Rez,
    /// An item of a prim.
    PutItem,
}

impl WorldRequest {
    /// Id of the prim that an item goes into, or that the item of an object is in; none for other objects.
    #[must_use]
    pub const fn prim(&self) -> Option<Uuid> {
        match &self.deed {
            WorldDeed::Rez(_) => None,
            WorldDeed::Put(PutRequest { object, .. })
            | WorldDeed::NewScript(NewScript { object, .. })
            | WorldDeed::RezContent(ContentRez { object, .. }) => Some(*object),
        }
    }
}

impl WorldOrderKind {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::Rez, Self::PutItem];

    /// Name in metrics.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Rez => "rez",
            Self::PutItem => "put_item",
        }
    }
}

/// Outcome of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorldAnswer {
    /// The object or item is in the region: on the disk, but for the copy of an item that stays, and the object of an item in a prim.
    Done,
    /// The world has refused it. The item is as before, on the disk.
    Refused(EditRefusal),
    /// Another order for the item has no outcome yet, and the mark is that one's.
    UnderWay,
    /// The order has not reached the world, for this reason, a sentence. The mark is still there.
    NotSent(String),
}

/// Reasons to give no order. The text follows "The item stays where it is: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum WorldRefusal {
    #[error(transparent)]
    Inventory(#[from] super::ChangeRefusal),
    #[error("it is not in your inventory")]
    Unknown,
    #[error("it is no object")]
    NotObject,
    #[error("it is no script")]
    NotScript,
    #[error("links and calling cards cannot be put into objects")]
    NotPuttable,
    #[error("its content is not on this server")]
    NoContent,
    #[error("its content cannot be read: {0}")]
    Unreadable(String),
    #[error("it is on its way into a region")]
    OnItsWay,
    #[error("your avatar wears it")]
    Worn,
    #[error("it has just changed; try again")]
    Changed,
    #[error("only {REZ_MAX} objects can be put into the world at once")]
    TooMany,
    #[error("the server cannot read your inventory at the moment")]
    Failed,
}

/// Judges a request. Its orders are in the replies, and the alert names the refused ones; viewers that have removed their items already are shown them again.
pub(super) fn order(
    parts: InventoryParts<'_>,
    agent: AgentId,
    request: &WorldRequest,
    unix_s: i64,
) -> Result<InventoryReplies, ChangeInventoryError> {
    let judge = Judge { parts, agent, request, unix_s };
    let (mut orders, mut refused) = (Vec::new(), Vec::new());
    match &request.deed {
        WorldDeed::Rez(rez) => {
            let n_taken = rez.items.len().min(REZ_MAX);
            for (item, ids) in &rez.items[..n_taken] {
                match judge.rez(rez, *item, *ids) {
                    Ok(Ok(order)) => orders.push(order),
                    Ok(Err(why)) => refused.push((*item, why)),
                    // The others are on their way: their items are marked.
                    Err(error) if !orders.is_empty() => {
                        tracing::error!(%error, agent = %agent.0, "cannot read an item that is to be rezzed");
                        refused.push((*item, WorldRefusal::Failed));
                    }
                    Err(error) => return Err(error),
                }
            }
            refused.extend(rez.items[n_taken..].iter().map(|(item, _)| (*item, WorldRefusal::TooMany)));
        }
        WorldDeed::Put(put) => match judge.put(put)? {
            Ok(order) => orders.push(order),
            Err(why) => refused.push((put.item, why)),
        },
        WorldDeed::NewScript(new) => orders.push(judge.new_script(new)),
        WorldDeed::RezContent(rez) => match judge.rez_content(rez)? {
            Ok(order) => orders.push(order),
            Err(why) => refused.push((rez.item.id, why)),
        },
    }
    let refusal = refused.first().map(|(_, why)| {
        let n = refused.len();
        let count = if n == 1 { String::new() } else { format!(" Items refused: {n}.") };
        format!("The item stays where it is: {why}.{count}")
    });
    let named: Vec<Uuid> = match &request.deed {
        WorldDeed::Rez(rez) => rez.items.iter().map(|(item, _)| *item).collect(),
        WorldDeed::Put(put) => vec![put.item],
        WorldDeed::NewScript(_) | WorldDeed::RezContent(_) => Vec::new(),
    };
    let worn = judge.all_worn(named, &orders, &refused)?;
    let items: Vec<Uuid> = refused.iter().map(|(item, _)| *item).collect();
    let messages = shown_again(parts.store, agent, &items);
    Ok(InventoryReplies { messages, refusal, orders, worn, ..InventoryReplies::default() })
}

/// Ends an order: the replies to its user. A mark that no order needs any more is taken back.
#[must_use]
pub fn end_world_order(store: &Store, end: WorldOrderEnd, answer: &WorldAnswer) -> InventoryReplies {
    let text = match answer {
        // The save informs about an item that is gone.
        WorldAnswer::Done => return InventoryReplies::default(),
        WorldAnswer::Refused(reason) => reason.text().to_owned(),
        WorldAnswer::UnderWay => format!("The item stays where it is: {}.", WorldRefusal::OnItsWay),
        WorldAnswer::NotSent(why) => why.clone(),
    };
    let WorldOrderEnd { owner, item, is_marked, .. } = end;
    if let Some(item) = item.filter(|_| is_marked && matches!(answer, WorldAnswer::NotSent(_)))
        && let Err(error) = store.release_item(owner, item)
    {
        tracing::error!(%error, %item, "an item stays marked for a region until the next start");
    }
    let messages = shown_again(store, owner, item.as_slice());
    InventoryReplies { messages, refusal: Some(text), ..InventoryReplies::default() }
}

/// Items of the user as they are, for clients that show them no more.
fn shown_again(store: &Store, owner: AgentId, items: &[Uuid]) -> Vec<wire::messages::Message> {
    let mut rows = ReplyRows::default();
    for &item in items {
        match replies::as_stored(store, owner, replies::Answer::StoredItem(item)) {
            Ok(answer) => rows.push(answer),
            Err(error) => tracing::warn!(%error, "cannot show a client its inventory as it is"),
        }
    }
    rows.into_messages(owner, Uuid::nil())
}
