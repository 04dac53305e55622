//! Objects that avatars wear: items of their owners, each with a row of its own for as long as it is worn.
//!
//! ```text
//! row ─► Wardrobe ─► Keeper of the region ─► world ─► frames ─► Keeper ─► row, and the item's asset
//! ```
//!
//! The [`Wardrobe`](crate::Wardrobe) knows what each user of the node wears, and has it put on where the avatar is. The keeper of a region follows the worn
//! linksets there (`tracked`, their prims `shown`), saves what changes ([`store::WornSave`]), and reports what leaves ([`WornNews`]). A region's batch has these rows beside those of
//! its own objects.

mod object;
mod renewal;
mod shown;
mod tracked;

pub use object::{WearItemError, WornObject, worn_of_item};
pub(crate) use renewal::arrival;
pub use renewal::{RenewedWorn, renew_worn};
pub(crate) use tracked::{FlownWorn, TrackedWorn, WornEffect};
pub use tracked::{WearTask, WornNews};
