//! World frames → updates of each client.
//!
//! On a node there is one [`Replica`] and one encoding pass per world: [`Encoder`] turns frames into wire blocks once, [`Publisher`]
//! applies them to a double-buffered replica that gateway shards read without locks, and [`selection`] spends one viewer's bytes. The
//! crate knows no sockets and no circuits: the shard writes the chosen blocks.
//!
//! Start with [`Replica`]; the choice of the nearest is in [`selection`].

mod cells;
mod created;
mod dead_reckoning;
mod encoder;
pub mod land;
mod motion;
pub mod objects;
mod publisher;
mod replica;
pub mod scenery;
pub mod selection;
mod viewer;

#[cfg(test)]
mod tests;

pub use cells::{Cells, SlotIndex};
pub use dead_reckoning::{BANDS, PLACE_M, ROTATION_RAD};
pub use encoder::{AnimationMessage, EncodedChange, EncodedFrame, Encoder, Intake};
pub use publisher::Publisher;
pub use replica::{Hot, Replica, Slot};
pub use viewer::{EntityHistory, Lister, NEAR_MAX, Place, Shown, Viewer, band_of, border_ranks};
