//! Objects of a world: linksets of prims in pages.
//!
//! A tick costs what it changes. Prims are found by local id through a table of pages, and by id through one map; each change marks its
//! prim in a list that the frame walks once. Pages are shared with checkpoints and frames, and copied at the first write after that.

mod counts;
mod edits;
mod escrow;
mod ids;
mod orders;
mod pages;
pub(crate) mod store;
#[cfg(test)]
mod tests;

pub use counts::ObjectCounts;
pub(crate) use edits::{ActingAvatar, ActingUser, EditedLand, EditedWorld, Edits, Pull, RestoreAuthor};
pub use edits::{REGION_CARRIED_MAX, REGION_ITEMS_MAX, RecentEdit, RecentEdits};
pub(crate) use orders::AnsweredOrders;
pub(crate) use store::{LINK_MAX, ObjectError, ObjectStore, relative_to, with_emptiness};
