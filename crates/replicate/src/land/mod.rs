//! Land of a world as clients are sent it: patches of the ground, parcels, estate.
//!
//! ```text
//! Frame.ground, Frame.land ─► EncodedLand ─► LandReplica (both copies) ─► cursors of each client
//!                             bits, once      patches, parcels, logs of changes
//! ```
//!
//! A client has a cursor on each [`ChangeLog`]: it is sent the parts that changed behind it, each in its newest state.

mod changes;
mod replica;
#[cfg(test)]
mod tests;

pub use changes::ChangeLog;
pub use replica::{KnownParcel, LandPatch, LandReplica, OVERLAY_SQUARES};

pub(crate) use replica::EncodedLand;
