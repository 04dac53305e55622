//! Objects of a world as clients are sent them: blocks, interest by size and distance, and the objects that each client has.
//!
//! ```text
//! Frame.objects ─► ObjectEncoder ─► EncodedObject ─► ObjectReplica (both copies) ─► SentSet of each client
//!                  blocks, rights    once per change   pages, grids, ring of changes   bits per prim, a cursor
//!                  movers: terse blocks                movers                          SeenMovers: tick of the last update of each
//! ```
//!
//! An object is sent when a client comes within its reach, which grows with its size, and again when it changes. It is removed from a client only
//! when it is gone: viewers cull by themselves, and a KillObject would evict it from their cache.

mod block;
mod contents_rights;
mod counts;
mod encoder;
mod grid;
mod movers;
mod replica;
mod seen_movers;
mod sent;
#[cfg(test)]
mod tests;

pub use block::ObjectBlock;
pub(crate) use block::static_block;
pub use counts::{CountRow, PrimCounts};
pub use encoder::{EncodedObject, EncodedPage, ObjectEncoder, ObjectEntry, ReceiverFlags};
pub use grid::reach_m;
pub use movers::{FrameTime, MovedPrim, Mover};
pub use replica::ObjectReplica;
pub use seen_movers::{DueMover, MoverSend, SeenMovers};
pub use sent::{DueObject, Onlooker, SentSet};
