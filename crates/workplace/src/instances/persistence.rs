//! Persistence as the workplace of instances uses it. [`InstanceStore`](super::InstanceStore) is the database; the simulator has a model.

use host::registry::InstanceRow;
use ids::{Instant, Uuid};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use store::{InstanceState, State, StoreError};
use thiserror::Error;

/// Reasons for which something was not written or read.
#[derive(Debug, Error)]
pub enum InstanceStoreError {
    /// The store has failed.
    #[error("{source}: {}", cause_of(source))]
    Store {
        /// Its error.
        #[from]
        source: StoreError,
    },
    /// A fault on purpose.
    #[error("a fault that was ordered at instances")]
    Ordered,
}

fn cause_of(error: &StoreError) -> String {
    std::error::Error::source(error).map_or_else(String::new, ToString::to_string)
}

/// Rows and states of instances. Each call is one transaction, durable when it returns; of two states of an instance the one with the
/// higher sequence number is kept, and a state without a row is not written.
pub trait InstancePersistence: Send + Sync {
    /// Source of the sequence numbers of this node's states: the last one given out.
    fn sequences(&self) -> &Arc<AtomicU64>;

    /// A number that is higher than all before.
    fn next_sequence(&self) -> u64 {
        self.sequences().fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Writes the row of a new instance.
    ///
    /// # Errors
    /// [`InstanceStoreError`]; then nothing has changed. So it is with the other writes.
    fn create(&self, row: InstanceRow) -> Result<(), InstanceStoreError>;

    /// Deletes a row with its states.
    ///
    /// # Errors
    /// As [`Self::create`].
    fn remove(&self, id: Uuid) -> Result<(), InstanceStoreError>;

    /// Writes the last visits of instances that portals created: seconds since 1970.
    ///
    /// # Errors
    /// As [`Self::create`].
    fn note_visits(&self, visits: &[(Uuid, i64)]) -> Result<(), InstanceStoreError>;

    /// Saved state of an instance, without its damaged parts.
    ///
    /// # Errors
    /// [`InstanceStoreError`].
    fn read(&self, id: Uuid) -> Result<InstanceState, InstanceStoreError>;

    /// Writes whole states, all or none.
    ///
    /// # Errors
    /// As [`Self::create`].
    fn save(&self, images: &[State]) -> Result<(), InstanceStoreError>;

    /// Writes changes, all or none; the oldest of them was made at `changed_at`.
    ///
    /// # Errors
    /// As [`Self::create`].
    fn journal(&self, journals: &[State], changed_at: Instant) -> Result<(), InstanceStoreError>;

    /// Counts a state with the right checksum from which no world can be made.
    fn note_damage(&self);

    /// End of the pause after a write of states that has failed; `None` since one has succeeded.
    fn rests_until(&self) -> Option<Instant>;
}
