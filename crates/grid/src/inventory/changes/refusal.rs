//! Reasons to refuse a change of an inventory, and the text of the alert about them.

use assets::{AddAssetError, ReadAssetError};
use store::{InventoryRefusal, StoreError};
use uuid::Uuid;

/// Reason to refuse a change, which has no effect then. The text follows "Your inventory refuses the change: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeRefusal {
    /// Refusal by the rules of the store.
    #[error(transparent)]
    Store(#[from] InventoryRefusal),
    /// No client gives this type to folders.
    #[error("there are no folders of type {0}")]
    FolderType(i32),
    /// An item of this kind begins with the upload of its content.
    #[error("an item of type {0} cannot be made without its content")]
    NoContent(i8),
    /// The request names an upload that the server does not have.
    #[error("the server does not have the content that was uploaded for it")]
    UnknownUpload,
    /// The owner may not change the content of the item.
    #[error("you are not allowed to change that item")]
    NoModify,
    /// The owner may not copy the item.
    #[error("you are not allowed to copy that item")]
    NoCopy,
    /// The type belongs neither to links to items nor to links to folders.
    #[error("a link cannot be of type {0}")]
    LinkType(i8),
    /// The link would lead to another link.
    #[error("a link cannot lead to another link")]
    LinkToLink,
    /// The link would lead into the library.
    #[error("a link cannot lead into the library; copy it first")]
    LinkToLibrary,
    /// The protocol has no such kind of sale.
    #[error("there are no sales of kind {0}")]
    SaleKind(u8),
    /// The item would be sold at a price.
    #[error("there is no money on this server, so that an item can be offered only for nothing")]
    Price,
    /// A landmark of a world that may end.
    #[error("no landmark can lead to this place, which may end")]
    NoPlace,
    /// The content that the server makes for an item could not be stored.
    #[error(transparent)]
    NotStored(AddAssetError),
    /// There is no such item in the notecard, or no notecard.
    #[error("the notecard does not have that item in it")]
    NotEmbedded,
    /// The notecard claims more than its writer may give.
    #[error("the writer of the notecard may not give that item away")]
    NotGiven,
    /// The notecard is not in the object that it is named with, or the user may not read it there.
    #[error("the notecard is not in that object, or you are not allowed to read it there")]
    NotReadable,
}

impl ChangeRefusal {
    /// The item, if the reason is that the avatar wears it.
    pub(super) const fn worn_item(&self) -> Option<Uuid> {
        match self {
            Self::Store(InventoryRefusal::Worn(item)) => Some(*item),
            _ => None,
        }
    }
}

/// Reason for which a request was not carried out at all.
#[derive(Debug, thiserror::Error)]
pub enum ChangeInventoryError {
    /// The database failed, or has no such account.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Content could not be read.
    #[error(transparent)]
    Assets(#[from] ReadAssetError),
    /// A new item has no id.
    #[error("the system has no random numbers")]
    Random(#[from] getrandom::Error),
}

/// Text of the alert about all refused changes of a request; none without any.
pub(super) fn alert_text(refusals: &[ChangeRefusal]) -> Option<String> {
    let first = refusals.first()?;
    let n = refusals.len();
    let count = if n == 1 { String::new() } else { format!(" Changes refused: {n}.") };
    Some(format!("Your inventory refuses the change: {first}.{count}"))
}
