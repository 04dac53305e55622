//! Gifts between users: instant messages with the dialogs 4 (offer), 5 (accept) and 6 (decline), and calling cards.
//!
//! A gift is in the receiver's inventory as soon as it is offered, as on OpenSimulator ([`offer`], [`card`]), in one transaction over both inventories. The receiver's
//! client is shown the offer, and answers it ([`answer`]): the thing moves to the folder that the client names, or into the trash. Offers to users that are absent
//! wait, and are shown at the next arrival ([`announce`]). Ids of gifts follow from the giver's transaction, so that a request which a client
//! repeats is known.

mod announce;
mod answer;
mod card;
mod folder;
mod messages;
mod offer;
mod ready_gift;
mod refusal;

pub(super) use messages::removed;
pub use refusal::GiftRefusal;

use super::{ChangeInventoryError, InventoryReplies};
use assets::AssetKind;
use ids::AgentId;
use store::{Folder, Item, Store, StoreError};
use uuid::Uuid;
use wire::messages::Message;

/// Folders and items of a gift together, at most. Each is sent to the receiver, too.
pub const GIFT_ROWS_MAX: u32 = 512;

/// Bytes of an entry of an offer's bucket: kind and id.
const ENTRY_BYTES: usize = 17;
/// Kind of an entry that is a folder.
const ENTRY_FOLDER: u8 = 8;

/// A request of a user about gifts, or of the server for one.
#[derive(Clone, Debug, PartialEq)]
pub enum GiftRequest {
    /// Gives an item, or a folder with its content.
    Offer(GiftOffer),
    /// Gives a calling card of the user's own.
    OfferCard {
        /// The receiver.
        to: AgentId,
        /// Transaction of the user's client.
        transaction: Uuid,
    },
    /// Answers an offer.
    Answer(GiftAnswer),
    /// Shows the user the offers that wait.
    Announce,
    /// The user has been shown these offers.
    Shown(Vec<Uuid>),
}

/// A gift as the giver's client states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GiftOffer {
    /// The receiver.
    pub to: AgentId,
    /// Transaction of the giver's client; nil for none, which makes a repetition a second gift.
    pub transaction: Uuid,
    /// The item or folder of the giver.
    pub id: Uuid,
    /// True for a folder.
    pub is_folder: bool,
    /// Content of the folder that the client lists. If it lists any, items directly in the folder that are not listed stay.
    pub listed: Vec<Uuid>,
}

impl GiftOffer {
    /// A gift by the bucket of an instant message: kind and id of the item or folder; for a folder also those of its content. None for a bucket of another form.
    #[must_use]
    pub fn of_bucket(to: AgentId, transaction: Uuid, bucket: &[u8]) -> Option<Self> {
        let (&kind, rest) = bucket.split_first()?;
        let (id, rest) = rest.split_first_chunk()?;
        let is_folder = kind == ENTRY_FOLDER;
        let listed = rest.chunks_exact(ENTRY_BYTES).filter_map(|entry| Uuid::from_slice(&entry[1..]).ok());
        let listed = if is_folder { listed.collect() } else { Vec::new() };
        Some(Self { to, transaction, id: Uuid::from_bytes(*id), is_folder, listed })
    }
}

/// A receiver's answer to an offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GiftAnswer {
    /// Id of the offer, which is also the id of the offered item or folder.
    pub offer: Uuid,
    /// Accepted or declined.
    pub accepts: bool,
    /// Folder for an accepted item or folder; none leaves it in its place.
    pub folder: Option<Uuid>,
}

impl GiftAnswer {
    /// An answer by id and bucket of an instant message: the bucket is the id of a folder.
    #[must_use]
    pub fn of_bucket(offer: Uuid, accepts: bool, bucket: &[u8]) -> Self {
        let folder = Uuid::from_slice(bucket).ok().filter(|folder| !folder.is_nil());
        Self { offer, accepts, folder }
    }
}

/// Messages to a user that has not asked for them.
#[derive(Clone, Debug, PartialEq)]
pub struct InventoryNotice {
    /// The user.
    pub to: AgentId,
    /// Messages in the order of sending.
    pub messages: Vec<Message>,
    /// The offer that the last of them shows; the others are rows of the inventory. It waits in the store until that one is on its way to the user.
    pub offer: Option<Uuid>,
}

/// Carries out a request.
pub(super) fn carry_out(
    store: &Store,
    agent: AgentId,
    request: &GiftRequest,
    unix_s: i64,
) -> Result<InventoryReplies, ChangeInventoryError> {
    match request {
        GiftRequest::Offer(gift) => offer::give(store, agent, gift, unix_s),
        GiftRequest::OfferCard { to, transaction } => card::give(store, agent, *to, *transaction, unix_s),
        GiftRequest::Answer(given) => Ok(answer::answer(store, agent, given)?),
        GiftRequest::Announce => Ok(announce::announce(store, agent)?),
        GiftRequest::Shown(offers) => {
            store.open_offers(agent, offers)?;
            Ok(InventoryReplies::default())
        }
    }
}

/// Id of a given item or folder in the receiver's inventory, by giver, receiver and the giver's transaction.
fn gift_id(giver: AgentId, receiver: AgentId, transaction: Uuid) -> Uuid {
    derived_id(&[giver.0, receiver.0, transaction])
}

/// Id of an entry of a given folder, by the folder's gift and the giver's entry.
fn id_within(gift: Uuid, original: Uuid) -> Uuid {
    derived_id(&[gift, original])
}

/// A hash of ids as an id.
fn derived_id(ids: &[Uuid]) -> Uuid {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"throng gift");
    for id in ids {
        hasher.update(id.as_bytes());
    }
    let hash = hasher.finalize();
    let (id, _) = hash.as_bytes().split_first_chunk().expect("a hash has 32 bytes");
    uuid::Builder::from_random_bytes(*id).into_uuid()
}

/// "First Last" of an account.
fn account_name(store: &Store, agent: AgentId) -> Result<Option<String>, StoreError> {
    Ok(store.account(agent)?.map(|account| format!("{} {}", account.first, account.last)))
}

/// Folder of an inventory for new items of a kind: the one of this kind, else the root. None without either.
pub(super) fn folder_for(store: &Store, owner: AgentId, asset_type: i8) -> Result<Option<Uuid>, StoreError> {
    // Folders have the types of assets, and some others.
    let folder = match AssetKind::from_number(asset_type) {
        Some(kind) => store.folder_of_type(owner, kind.number())?.map(|folder| folder.id),
        None => None,
    };
    if folder.is_some() { Ok(folder) } else { root(store, owner) }
}

/// The root folder of an inventory.
fn root(store: &Store, owner: AgentId) -> Result<Option<Uuid>, StoreError> {
    Ok(store.folders_in(owner, Uuid::nil(), 1)?.first().map(|folder| folder.id))
}

/// An offered item or folder, as the receiver has it.
enum Thing {
    Item(Item),
    Folder(Folder),
}
