//! The path of a world's replica from the thread that writes it to all readers.

use arc_swap::{ArcSwap, Guard};
use replicate::Replica;
use std::sync::Arc;

/// The newest published state of one world. Readers never wait, and never make the writer wait.
#[derive(Debug)]
pub struct Feed {
    current: ArcSwap<Replica>,
}

impl Feed {
    /// Begins with an empty replica.
    #[must_use]
    pub fn new(empty: Replica) -> Self {
        Self { current: ArcSwap::from_pointee(empty) }
    }

    /// The newest state. Hold it for one pass, not for longer than a tick: its buffer is needed for the next one.
    pub fn current(&self) -> Guard<Arc<Replica>> {
        self.current.load()
    }

    /// Makes a state the newest.
    pub fn publish(&self, replica: Arc<Replica>) {
        self.current.store(replica);
    }
}
