//! Open uploads of all users: their addresses, their memory, and counts of their outcomes.

use grid::uploads::{UploadRoom, UploadTickets};
use ids::AgentId;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;

/// Bytes of uploads that are arriving or waiting to be on the disk. One user has as many as are left ([`UploadRoom`]): half of them when no other uploads.
pub const UPLOADS_BYTES_MAX: usize = 128 * 1024 * 1024;

/// Models that are read at a time; others wait. Each takes some three times its bytes meanwhile.
const MODELS_MAX: usize = 2;

/// Outcomes of uploads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum UploadOutcome {
    /// On the disk.
    Stored,
    /// Refused with a reason.
    Refused,
    /// The bytes did not come as a whole.
    BrokenOff,
}

impl UploadOutcome {
    /// Metric label.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Refused => "refused",
            Self::BrokenOff => "broken_off",
        }
    }
}

/// Open uploads of all users.
#[derive(Debug)]
pub struct Uploads {
    tickets: Mutex<UploadTickets>,
    ledger: Arc<UploadLedger>,
    models: Semaphore,
}

/// Memory and counts, which the bodies of uploads know, too.
#[derive(Debug)]
pub(super) struct UploadLedger {
    room: Mutex<UploadRoom>,
    /// By the name of the kind: as many as there are purposes of uploads.
    counts: Mutex<BTreeMap<(&'static str, UploadOutcome), u64>>,
}

impl Default for Uploads {
    fn default() -> Self {
        Self::with_room(UPLOADS_BYTES_MAX)
    }
}

impl Uploads {
    pub(super) fn with_room(bytes_max: usize) -> Self {
        let ledger = UploadLedger { room: Mutex::new(UploadRoom::new(bytes_max)), counts: Mutex::default() };
        Self { tickets: Mutex::default(), ledger: Arc::new(ledger), models: Semaphore::new(MODELS_MAX) }
    }

    /// Runs `work` on the open addresses, which must not wait.
    pub(super) fn with_tickets<T>(&self, work: impl FnOnce(&mut UploadTickets) -> T) -> T {
        work(&mut lock(&self.tickets))
    }

    pub(super) const fn ledger(&self) -> &Arc<UploadLedger> {
        &self.ledger
    }

    /// Awaits work on a model once few others are read.
    pub(super) async fn with_model<T>(&self, work: impl Future<Output = T>) -> T {
        let _turn = self.models.acquire().await.expect("the semaphore is never closed");
        work.await
    }

    pub(super) fn count(&self, name: &'static str, outcome: UploadOutcome) {
        self.ledger.count(name, outcome);
    }

    /// Bytes of uploads in memory.
    pub fn bytes_held(&self) -> usize {
        lock(&self.ledger.room).held()
    }

    /// Uploads since the start: kind in words, outcome, and their number.
    pub fn counts(&self) -> Vec<(&'static str, &'static str, u64)> {
        let counts = lock(&self.ledger.counts);
        counts.iter().map(|(&(name, outcome), &n)| (name, outcome.as_str(), n)).collect()
    }
}

impl UploadLedger {
    pub(super) fn take(&self, agent: AgentId, bytes: usize) -> bool {
        lock(&self.room).take(agent, bytes)
    }

    pub(super) fn release(&self, agent: AgentId, bytes: usize) {
        lock(&self.room).release(agent, bytes);
    }

    pub(super) fn count(&self, name: &'static str, outcome: UploadOutcome) {
        *lock(&self.counts).entry((name, outcome)).or_default() += 1;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
