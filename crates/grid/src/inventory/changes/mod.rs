//! Changes of inventories, as clients ask for them over UDP; a capability makes folders (`category`).
//!
//! [`carry_out_task`] carries out one order after the other: changes of the user's own inventory, gifts to other users (`gifts`), landmarks (`landmark`),
//! copies out of notecards (`notecard`), transfers of items into a region (`to_world`), and worn items (`wearing`). [`change_inventory`] leads from a
//! request to the messages that answer it. Each row of the request becomes a [`Step`]: a change for the store, or a refusal by the rules here. Rules about
//! folders and ids are the store's; those about kinds, permissions and sales are in `folders`, `items` and `copies`. The owner is the session's agent: owners,
//! creators and groups that a request names are not read.

mod category;
mod copies;
mod folders;
mod gestures;
mod gifts;
mod given;
mod items;
mod landmark;
mod new_item;
mod next_owner;
mod notecard;
mod permissions;
mod refusal;
mod replies;
mod task;
#[cfg(test)]
mod tests;
mod text;
mod to_world;
mod transaction;
mod transfers;
mod upload;
mod wearing;

pub use category::create_category;
pub use gifts::{GIFT_ROWS_MAX, GiftAnswer, GiftOffer, GiftRefusal, GiftRequest, InventoryNotice};
pub use given::{GiveError, GivenThing, give_thing};
pub use landmark::Standing;
pub(crate) use new_item::{StatedItem, uploaded_item};
pub use notecard::{EmbeddedCopy, NotecardCopy, NotecardPlace};
pub(crate) use permissions::may_modify;
pub use refusal::{ChangeInventoryError, ChangeRefusal};
pub use task::{InventoryParts, InventoryTask, carry_out_task, copy_from_notecard};
pub use to_world::{
    ContentRez, NewScript, PutRequest, REZ_MAX, RezRequest, WorldAnswer, WorldDeed, WorldOrder,
    WorldOrderEnd, WorldOrderKind, WorldRequest, end_world_order,
};
pub use transaction::uploaded_asset_id;
pub use transfers::transfer_notices;
pub use upload::UploadedFile;
pub use wearing::{PutOnRequest, WEAR_MAX, WearItem, WearRequest};

use ids::AgentId;
use keeper::WardrobeOrder;
use replies::{Answer, ReplyRows};
use store::{InventoryChange, Store};
use uuid::Uuid;
use wire::messages::*;

macro_rules! requests {
    ($($(#[$doc:meta])* $Variant:ident($Message:ident),)*) => {
        /// A request to change the user's inventory, as its message has it.
        #[derive(Clone, Debug, PartialEq)]
        pub enum InventoryRequest {
            $($(#[$doc])* $Variant($Message),)*
        }

        $(
            impl From<$Message> for InventoryRequest {
                fn from(message: $Message) -> Self {
                    Self::$Variant(message)
                }
            }

            impl From<$Message> for InventoryTask {
                fn from(message: $Message) -> Self {
                    Self::Change(message.into())
                }
            }
        )*
    };
}

requests! {
    /// Makes a folder.
    CreateFolder(CreateInventoryFolder),
    /// Gives folders names and types.
    UpdateFolders(UpdateInventoryFolder),
    /// Moves folders.
    MoveFolders(MoveInventoryFolder),
    /// Removes folders with everything in them.
    RemoveFolders(RemoveInventoryFolder),
    /// Removes everything in a folder.
    PurgeFolder(PurgeInventoryDescendents),
    /// Removes folders and items.
    RemoveObjects(RemoveInventoryObjects),
    /// Makes an item.
    CreateItem(CreateInventoryItem),
    /// Gives items other properties.
    UpdateItems(UpdateInventoryItem),
    /// Gives items other flags.
    ChangeFlags(ChangeInventoryItemFlags),
    /// Moves items.
    MoveItems(MoveInventoryItem),
    /// Copies items.
    CopyItems(CopyInventoryItem),
    /// Makes a link to an item or a folder.
    LinkItem(LinkInventoryItem),
    /// Removes items.
    RemoveItems(RemoveInventoryItem),
    /// Switches gestures on.
    ActivateGestures(ActivateGestures),
    /// Switches gestures off.
    DeactivateGestures(DeactivateGestures),
}

impl InventoryRequest {
    /// Negative replies that clients wait for: null items for the callbacks of new items, links and copies. For a request that was not carried out.
    #[must_use]
    pub fn refusal_messages(&self, agent: AgentId) -> Vec<Message> {
        let mut rows = ReplyRows::default();
        match self {
            Self::CreateItem(m) => rows.push(replies::unmade_item(&m.inventory_block)),
            Self::LinkItem(m) => rows.push(replies::unmade_link(&m.inventory_block)),
            Self::CopyItems(m) => {
                m.inventory_data.iter().for_each(|row| rows.push(replies::unmade_copy(row)))
            }
            Self::UpdateItems(m) => {
                let awaited = m.inventory_data.iter().filter(|row| row.callback_id != 0);
                awaited.for_each(|row| rows.push(replies::unchanged_item(row)));
            }
            _ => {}
        }
        rows.into_messages(agent, self.transaction_id())
    }

    /// Echoed in replies.
    const fn transaction_id(&self) -> Uuid {
        match self {
            Self::CreateItem(m) => m.inventory_block.transaction_id,
            Self::LinkItem(m) => m.inventory_block.transaction_id,
            Self::UpdateItems(m) => m.agent_data.transaction_id,
            _ => Uuid::nil(),
        }
    }
}

/// Messages to a client whose request has been carried out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InventoryReplies {
    /// Messages to the client, in the order of sending.
    pub messages: Vec<Message>,
    /// Text of the alert, if any change was refused.
    pub refusal: Option<String>,
    /// Messages to other users.
    pub notices: Vec<InventoryNotice>,
    /// Orders for regions. The caller of [`carry_out_task`] takes them out, and ends each with [`end_world_order`].
    pub orders: Vec<WorldOrder>,
    /// Orders for the wardrobe, in their order. The caller of [`carry_out_task`] takes them out.
    pub wardrobe: Vec<WardrobeOrder>,
    /// Items that the request is for, if nothing is done yet and the avatar wears all of them according to the store; otherwise none. An object that is taken off leaves
    /// the world at once, while its item is free, and has its last content, with the next save of the region: the caller of [`carry_out_task`] passes these replies
    /// to [`WornWaits::judge`](crate::inventory::WornWaits::judge), and may drop them and repeat the request.
    pub worn: Vec<Uuid>,
}

impl InventoryReplies {
    /// The same replies with a refusal instead of everything that the request would have led to.
    pub(crate) fn refused(self, text: &str) -> Self {
        let Self { messages, .. } = self;
        Self { messages, refusal: Some(text.to_owned()), ..Self::default() }
    }
}

/// One row of a request.
struct Step {
    change: Result<InventoryChange, ChangeRefusal>,
    /// Answer once the change is made.
    made: Answer,
    /// Answer to a refused change.
    refused: Answer,
}

impl Step {
    /// A change that no client waits for.
    fn silent(change: Result<InventoryChange, ChangeRefusal>) -> Self {
        Self { change, made: Answer::Nothing, refused: Answer::Nothing }
    }

    /// A change that clients show before it is made: a refusal shows them the stored state.
    fn shown(change: Result<InventoryChange, ChangeRefusal>, refused: Answer) -> Self {
        Self { change, made: Answer::Nothing, refused }
    }
}

/// A user that changes the inventory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InventoryUser {
    /// The account, which owns the inventory.
    pub agent: AgentId,
    /// Secret of the session: ids of its uploads follow from it.
    pub secure_session: Uuid,
}

/// Facts by which requests are judged.
#[derive(Clone, Copy)]
struct Planner<'a> {
    store: &'a Store,
    agent: AgentId,
    secure_session: Uuid,
    /// Now, in seconds since 1970.
    unix_s: i64,
}

/// Carries out a request of a user. All its changes are one transaction, and on the disk when this returns; a refused one has no effect, and does not keep
/// the others of the request from theirs. Callers keep the order of a user's requests.
///
/// # Errors
/// [`ChangeInventoryError`]; then nothing is changed, unless the outcome of the transaction is unknown.
pub fn change_inventory(
    store: &Store,
    user: InventoryUser,
    request: &InventoryRequest,
    unix_s: i64,
) -> Result<InventoryReplies, ChangeInventoryError> {
    let InventoryUser { agent, secure_session } = user;
    let steps = Planner { store, agent, secure_session, unix_s }.steps(request)?;
    apply_steps(store, agent, steps, request.transaction_id())
}

/// Makes the changes of all steps in one transaction, and answers each step. `transaction_id` is echoed.
fn apply_steps(
    store: &Store,
    agent: AgentId,
    steps: Vec<Step>,
    transaction_id: Uuid,
) -> Result<InventoryReplies, ChangeInventoryError> {
    let changes: Vec<InventoryChange> =
        steps.iter().filter_map(|step| step.change.as_ref().ok().cloned()).collect();
    let mut outcomes = Vec::new();
    if !changes.is_empty() {
        outcomes = store.change_inventory(agent, &changes, &store.inventory_limits())?;
    }
    let (mut outcomes, n_steps) = (outcomes.into_iter(), steps.len());
    let (mut rows, mut refusals) = (ReplyRows::default(), Vec::new());
    for Step { change, made, refused } in steps {
        let outcome = match change {
            Ok(_) => outcomes
                .next()
                .expect("the store has an outcome for each change")
                .map_err(ChangeRefusal::from),
            Err(refusal) => Err(refusal),
        };
        match outcome {
            Ok(_) => rows.push(made),
            Err(refusal) => {
                refusals.push(refusal);
                // The changes are made: a failure to read a row back only leaves its client without it.
                let answer = replies::as_stored(store, agent, refused).unwrap_or_else(|error| {
                    tracing::warn!(%error, "cannot show a client its inventory as it is");
                    Answer::Nothing
                });
                rows.push(answer);
            }
        }
    }
    let messages = rows.into_messages(agent, transaction_id);
    // None after any other outcome.
    let worn: Option<Vec<Uuid>> = refusals.iter().map(ChangeRefusal::worn_item).collect();
    let worn = worn.filter(|worn| worn.len() == n_steps).unwrap_or_default();
    let refusal = refusal::alert_text(&refusals);
    Ok(InventoryReplies { messages, refusal, worn, ..InventoryReplies::default() })
}

impl Planner<'_> {
    fn steps(&self, request: &InventoryRequest) -> Result<Vec<Step>, ChangeInventoryError> {
        Ok(match request {
            InventoryRequest::CreateFolder(m) => vec![folders::create(&m.folder_data)],
            InventoryRequest::UpdateFolders(m) => m.folder_data.iter().map(folders::update).collect(),
            InventoryRequest::MoveFolders(m) => m.inventory_data.iter().map(folders::relocate).collect(),
            InventoryRequest::RemoveFolders(m) => {
                m.folder_data.iter().map(|row| folders::remove(row.folder_id)).collect()
            }
            InventoryRequest::PurgeFolder(m) => vec![folders::purge(m.inventory_data.folder_id)],
            InventoryRequest::RemoveObjects(m) => {
                let folders = m.folder_data.iter().map(|row| folders::remove(row.folder_id));
                // Items first: one in a folder that goes too would not be found any more.
                m.item_data.iter().map(|row| items::remove(row.item_id)).chain(folders).collect()
            }
            InventoryRequest::CreateItem(m) => vec![self.create_item(&m.inventory_block)?],
            InventoryRequest::UpdateItems(m) => {
                m.inventory_data.iter().map(|row| self.update_item(row)).collect::<Result<Vec<_>, _>>()?
            }
            InventoryRequest::ChangeFlags(m) => {
                m.inventory_data.iter().map(|row| self.change_flags(row)).collect::<Result<Vec<_>, _>>()?
            }
            InventoryRequest::MoveItems(m) => m.inventory_data.iter().map(items::relocate).collect(),
            InventoryRequest::CopyItems(m) => {
                m.inventory_data.iter().map(|row| self.copy_item(row)).collect::<Result<Vec<_>, _>>()?
            }
            InventoryRequest::LinkItem(m) => vec![self.link_item(&m.inventory_block)?],
            InventoryRequest::RemoveItems(m) => {
                m.inventory_data.iter().map(|row| items::remove(row.item_id)).collect()
            }
            InventoryRequest::ActivateGestures(m) => {
                self.switch_gestures(m.data.iter().map(|row| row.item_id), true)?
            }
            InventoryRequest::DeactivateGestures(m) => {
                self.switch_gestures(m.data.iter().map(|row| row.item_id), false)?
            }
        })
    }
}
