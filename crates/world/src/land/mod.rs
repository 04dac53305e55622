//! Land of a world: edits of its ground, parcels, and the estate.
//!
//! Commands come through the inbox as [`LandOrder`]s and take effect in a phase of their own ([`carry_out_orders`]), each judged by its
//! author's rights (`rules`). Behind the movement, [`Land::put_out`] removes avatars from where they may not be. Other parts ask by the methods of
//! `queries`. A world that is not built on has no land.

mod estate_edits;
mod expulsion;
mod footing;
mod ground;
mod ground_edits;
mod land_use;
mod orders;
mod parcel_edits;
mod parcels;
mod part;
mod patches;
mod phase;
mod queries;
mod replacing;
mod restrictions;
mod rules;
mod strokes;
#[cfg(test)]
mod tests;
mod undo;

pub(crate) use land_use::{ChangedRoot, LandUse};
pub(crate) use orders::{LandAuthor, LandOrder};
pub use part::{Land, ObjectReturn};
pub(crate) use phase::{LandSurroundings, carry_out_orders};
pub use queries::{CLOSED_HEIGHT_M, LandArrival};
pub use rules::{LandDeed, LandRole, land_allows};
