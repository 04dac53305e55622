//! Reasons to refuse a gift.

use super::GIFT_ROWS_MAX;
use store::InventoryRefusal;

/// Reason to refuse a gift. The text follows "Nothing was given: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GiftRefusal {
    /// Giver and receiver are one.
    #[error("you cannot give anything to yourself")]
    Oneself,
    /// The receiver has no account, or an account without folders.
    #[error("there is no such user on this server")]
    UnknownReceiver,
    /// The giver does not have the item or folder.
    #[error("there is no such item or folder in your inventory")]
    UnknownThing,
    /// A link, which belongs to its inventory.
    #[error("a link cannot be given away")]
    Link,
    /// The giver may not give the item away.
    #[error("you are not allowed to give that item away")]
    NoTransfer,
    /// A system folder: each inventory has its own.
    #[error("that folder is one that each inventory has")]
    SystemFolder,
    /// The folder has more content than a gift may have.
    #[error("a gift cannot have more than {GIFT_ROWS_MAX} items and folders")]
    TooLarge,
    /// An item was changed while it was given.
    #[error("the item was changed at the same moment; please try again")]
    Changed,
    /// The receiver has not been shown as many gifts as may wait.
    #[error("too many gifts wait for that user already")]
    TooManyOffers,
    /// The giver's inventory does not let an item go.
    #[error("your inventory refuses it: {0}")]
    OfGiver(InventoryRefusal),
    /// The receiver's inventory does not take it.
    #[error("the other inventory refuses it: {0}")]
    OfReceiver(InventoryRefusal),
}

impl GiftRefusal {
    /// Text of the alert.
    pub(super) fn alert_text(&self) -> String {
        format!("Nothing was given: {self}.")
    }
}
