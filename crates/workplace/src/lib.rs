//! The workplace of a host: worlds on their pool with inboxes and frames, their restarts after panics, and instances with the driver of their
//! registry.
//!
//! It has threads and a store. Clocks, metrics and limits are given to it, and so is the serving side ([`serving`]), of which it knows no more than
//! traits; it opens no socket and reads no configuration.
//! The existence of instances and the restarts of worlds are decisions of [`host`]. Start with [`worlds`] and [`instances`].

/// `Debug` for types that hold threads, channels and closures: their names.
#[macro_export]
macro_rules! opaque_debug {
    ($($type:ty),+ $(,)?) => {$(
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($type)).finish_non_exhaustive()
            }
        }
    )+};
}

pub mod faults;
pub mod inboxes;
pub mod instances;
mod journal_buffer;
mod lock_order;
pub mod long;
pub mod restarts;
pub mod serving;
pub mod world_map;
pub mod worlds;

pub use journal_buffer::JournalBuffer;

use ids::Instant;
use std::io;
use std::sync::Arc;
use thiserror::Error;

/// The clock of the process: the time since it began.
pub type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;

/// A thread cannot be started.
#[derive(Debug, Error)]
#[error("cannot start the {name} thread")]
pub struct ThreadError {
    /// Its name.
    pub name: &'static str,
    /// The system's reason.
    #[source]
    pub source: io::Error,
}
