//! Entities, movement and terrain of one region: authoritative, single-threaded, deterministic.
//!
//! It knows no packets, sockets or bandwidth and owns no thread: see `World::step`.

mod command;
mod frame;

pub use command::*;
pub use frame::*;
