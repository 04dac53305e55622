//! Worn objects: inventory items that have an additional row for as long as they are worn.
//!
//! ```text
//! row ─► Wardrobe ─► Keeper of the region ─► world ─► frames ─► Keeper ─► row, and the item's asset
//! ```
//!
//! The [`Wardrobe`](crate::Wardrobe) knows the worn objects of each user of the node, and has them attached in the region of the avatar. The keeper of a region follows
//! the worn linksets in it (`tracked`, their prims `shown`), saves their changes ([`store::WornSave`]), and reports their departures ([`WornNews`]). A region's batch
//! contains these rows together with those of its own objects.

mod object;
mod renewal;
mod shown;
mod tracked;

pub use object::{WearItemError, WornObject, worn_of_item};
pub(crate) use renewal::arrival;
pub use renewal::{RenewedWorn, renew_worn};
pub(crate) use tracked::{FlownWorn, TrackedWorn, WornEffect, has_end_of};
pub use tracked::{WearTask, WornNews};
