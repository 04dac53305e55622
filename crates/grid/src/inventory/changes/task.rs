//! Orders about inventories, as the thread that changes them gets them: one after the other, so that a gift finds what the request before it has made.

use super::gifts::{self, GiftAnswer, GiftRequest};
use super::landmark::{self, Standing};
use super::notecard::{self, NotecardCopy};
use super::to_world::{self, WorldRequest};
use super::upload::{self, UploadedFile};
use super::wearing::{self, WearRequest};
use super::{
    ChangeInventoryError, InventoryReplies, InventoryRequest, InventoryUser, Planner, change_inventory,
};
use crate::asset_sources::AssetSources;
use ids::AgentId;
use store::Store;
use uuid::Uuid;
use wire::messages::*;

/// An order of a user, or of the server for one.
#[derive(Clone, Debug, PartialEq)]
pub enum InventoryTask {
    /// A change of the user's own inventory.
    Change(InventoryRequest),
    /// A gift to another user, or the answer to one.
    Gift(GiftRequest),
    /// Copies of items that are embedded in a notecard.
    FromNotecard(NotecardCopy),
    /// A file, which a later item names.
    Upload(UploadedFile),
    /// Objects and items for a region.
    ToWorld(WorldRequest),
    /// Objects that the user's avatar wears.
    Wear(WearRequest),
}

/// Parts of the server that orders need.
#[derive(Clone, Copy, Debug)]
pub struct InventoryParts<'a> {
    /// Inventories.
    pub store: &'a Store,
    /// Content.
    pub assets: &'a AssetSources,
}

impl InventoryTask {
    /// Negative replies to a client that waits for one. For an order that was not carried out.
    #[must_use]
    pub fn refusal_messages(&self, agent: AgentId) -> Vec<Message> {
        match self {
            Self::Change(request) => request.refusal_messages(agent),
            Self::Gift(_) | Self::FromNotecard(_) | Self::Upload(_) | Self::ToWorld(_) | Self::Wear(_) => {
                Vec::new()
            }
        }
    }

    /// True if the place of the user's avatar belongs to the order.
    #[must_use]
    pub fn needs_standing(&self) -> bool {
        matches!(self, Self::Change(request) if landmark::of_here(request).is_some())
    }

    /// Id of the prim that the order is to put an item into, or to rez the object of an item out of.
    #[must_use]
    pub const fn prim(&self) -> Option<Uuid> {
        match self {
            Self::ToWorld(request) => request.prim(),
            Self::Change(_) | Self::Gift(_) | Self::FromNotecard(_) | Self::Upload(_) | Self::Wear(_) => None,
        }
    }

    /// True for an order of the server, which is unknown to the user's client.
    #[must_use]
    pub const fn is_of_server(&self) -> bool {
        matches!(
            self,
            Self::Gift(GiftRequest::Announce | GiftRequest::Shown(_))
                | Self::Wear(WearRequest::Arrived { .. } | WearRequest::Gone(_) | WearRequest::Outfit(_))
        )
    }
}

/// Carries out an order. `standing` is the place of the user's avatar, if the order [needs](InventoryTask::needs_standing) it and that place lasts.
///
/// # Errors
/// [`ChangeInventoryError`]; then nothing is changed, unless the outcome of the transaction is unknown.
pub fn carry_out_task(
    parts: InventoryParts<'_>,
    user: InventoryUser,
    standing: Option<Standing>,
    task: &InventoryTask,
    unix_s: i64,
) -> Result<InventoryReplies, ChangeInventoryError> {
    match task {
        InventoryTask::Change(request) => match landmark::of_here(request) {
            Some(m) => landmark::make(parts, user.agent, m, standing, unix_s),
            None => change_inventory(parts.store, user, request, unix_s),
        },
        InventoryTask::Gift(request) => gifts::carry_out(parts.store, user.agent, request, unix_s),
        InventoryTask::FromNotecard(request) => copy_from_notecard(parts, user.agent, request, unix_s),
        InventoryTask::Upload(file) => Ok(upload::store(parts, user.agent, file)),
        InventoryTask::ToWorld(request) => to_world::order(parts, user.agent, request, unix_s),
        InventoryTask::Wear(request) => wearing::carry_out(parts, user.agent, request),
    }
}

/// Copies items that are embedded in a notecard; for the capability, which is called beside the orders.
///
/// # Errors
/// Errors of [`carry_out_task`].
pub fn copy_from_notecard(
    parts: InventoryParts<'_>,
    agent: AgentId,
    request: &NotecardCopy,
    unix_s: i64,
) -> Result<InventoryReplies, ChangeInventoryError> {
    // Copies name no upload, so that no secret is needed.
    let planner = Planner { store: parts.store, agent, secure_session: Uuid::nil(), unix_s };
    notecard::copy(parts, planner, request)
}

impl From<WorldRequest> for InventoryTask {
    fn from(request: WorldRequest) -> Self {
        Self::ToWorld(request)
    }
}

impl From<WearRequest> for InventoryTask {
    fn from(request: WearRequest) -> Self {
        Self::Wear(request)
    }
}

impl From<GiftRequest> for InventoryTask {
    fn from(request: GiftRequest) -> Self {
        Self::Gift(request)
    }
}

impl From<OfferCallingCard> for InventoryTask {
    fn from(m: OfferCallingCard) -> Self {
        let OfferCallingCardAgentBlock { dest_id, transaction_id } = m.agent_block;
        Self::Gift(GiftRequest::OfferCard { to: AgentId(dest_id), transaction: transaction_id })
    }
}

impl From<AcceptCallingCard> for InventoryTask {
    fn from(m: AcceptCallingCard) -> Self {
        let folder = m.folder_data.first().map(|row| row.folder_id).filter(|folder| !folder.is_nil());
        let offer = m.transaction_block.transaction_id;
        Self::Gift(GiftRequest::Answer(GiftAnswer { offer, accepts: true, folder }))
    }
}

impl From<DeclineCallingCard> for InventoryTask {
    fn from(m: DeclineCallingCard) -> Self {
        let offer = m.transaction_block.transaction_id;
        Self::Gift(GiftRequest::Answer(GiftAnswer { offer, accepts: false, folder: None }))
    }
}
