//! Bytes ↔ typed messages of the Second Life / OpenSimulator protocol: pure functions over byte slices.
//!
//! It owns no socket, clock or circuit state. Every decoder is total: any input yields a value or a
//! [`Malformed`] reason, in bounded memory. Start with [`header`] for a datagram and [`messages`] for its body.

mod malformed;
mod markup;

pub mod fanout;
pub mod header;
pub mod llsd;
pub mod messages;
pub mod object_compressed;
pub mod object_update;
pub mod terrain;
pub mod terse;
pub mod text;
pub mod texture_entry;
pub mod throttle;
pub mod xmlrpc;
pub mod zero_code;

pub use malformed::Malformed;
