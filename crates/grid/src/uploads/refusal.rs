//! Reasons for which an upload is not taken.

use super::model::BadModel;
use assets::{AssetKind, Unfit};
use store::StoreError;
use uuid::Uuid;
use wire::Malformed;

/// Reason to refuse an upload. The text follows "The upload is refused: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UploadRefusal {
    /// A new file is to be in an object.
    #[error("new files come into the inventory, and not into objects")]
    TaskInventory,
    /// The user's world has no such item, as far as the user may see.
    #[error("there is no item {item} in the object {object}")]
    UnknownTaskItem {
        /// The object.
        object: Uuid,
        /// The item.
        item: Uuid,
    },
    /// The type that the request names is none of the protocol's.
    #[error("assets of that type do not exist")]
    UnknownType,
    /// Objects are made in the world; one that was written elsewhere could claim any creator and permission.
    #[error("objects are made in the world and cannot be uploaded")]
    Object,
    /// The user has no such folder.
    #[error("there is no folder {0} in the inventory")]
    UnknownFolder(Uuid),
    /// The user has no such item.
    #[error("there is no item {0} in the inventory")]
    UnknownItem(Uuid),
    /// The item is of another kind, or a link.
    #[error("the item is no {0}")]
    OtherKind(AssetKind),
    /// The owner may not change the content of the item, or the user not the object with it.
    #[error("you are not allowed to change that item")]
    NoModify,
    /// The bytes are no asset of their kind.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// A request or a model that is no LLSD.
    #[error("it is no LLSD ({0})")]
    Markup(Malformed),
    /// A model that no object can be made of.
    #[error("the model cannot be taken: {0}")]
    Model(#[from] BadModel),
    /// New ids cannot be made.
    #[error("the system has no random numbers")]
    Random(#[from] getrandom::Error),
}

/// Reason for which an upload does not begin.
#[derive(Debug, thiserror::Error)]
pub enum BeginUploadError {
    /// The request.
    #[error(transparent)]
    Refused(#[from] UploadRefusal),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<getrandom::Error> for BeginUploadError {
    fn from(why: getrandom::Error) -> Self {
        Self::Refused(why.into())
    }
}
