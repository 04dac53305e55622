//! Allocation of local ids for instances: blocks are dealt to hosts, ranges of a block to the worlds of a host.
//!
//! A client remembers a local id while it displays the world, and longer if the message that removes the object is lost. Hence an id has one
//! world at a time, and is reused after [`REST`] at the earliest. [`BlockDealer`] enforces this between hosts, [`LocalIdPool`] between the
//! worlds of one host. Both are plain state machines with the time as an argument.

mod dealer;
mod pool;
#[cfg(test)]
mod tests;

pub use dealer::BlockDealer;
pub use pool::LocalIdPool;

use link::{INSTANCE_LOCAL_IDS, LOCAL_ID_BLOCK};
use std::time::Duration;

/// Time between the return of local ids and their reuse: 60 s, as for the ports of a session.
pub const REST: Duration = Duration::from_secs(60);

/// A range of local ids that is dealt in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalIdSpace {
    /// First local id.
    pub first: u32,
    /// End of the range, exclusive. Ids behind the last whole block are unused.
    pub end: u32,
    /// Number of ids of a block.
    pub block: u32,
}

impl LocalIdSpace {
    /// Local ids of a grid's instances: 2,047 blocks of 2^20.
    pub const INSTANCES: Self =
        Self { first: INSTANCE_LOCAL_IDS.start, end: INSTANCE_LOCAL_IDS.end, block: LOCAL_ID_BLOCK };
}
