//! The `keeper` thread: carries batches out, one transaction each, and saves the regions' last states behind the last frame.

use super::holds::SaveHolds;
use super::items::{KeepContents, TellOwners, keep_items};
use super::restores::RestoreOrders;
use super::saves::{KeeperStatus, SaveOrders};
use super::{EMPTIED, Keepers};
use crate::full_users::FullUsers;
use crate::transfer_figures::TransferFigures;
use assets::ReadAssetError;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use ids::{Instant, WorldId};
use keeper::{Batch, Keeper};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use store::{ItemEffect, RebuiltTable, RegionChanges, Store, StoreError};
use telemetry::recorder::{Arg, Scope, frame_end};
use telemetry::{Metrics, Timing};
use workplace::Clock;
use workplace::faults::Fuse;

/// One transaction. An operator should know of a disk that takes longer than an edit may be lost.
static SAVE: Scope = Scope::new("keeper.save").arg(Arg::World).limit_us(1_000_000);

/// Without a batch and without users to count, the thread waits for a batch.
const IDLE: Duration = Duration::from_secs(3_600);
/// Attempts to save a region at the end of the server.
const LAST_ATTEMPTS: u32 = 3;

/// Outcome of a batch.
pub(crate) struct SaveOutcome {
    pub(super) world: WorldId,
    pub(super) id: u64,
    /// The reason for which it is not saved.
    pub(super) why: Option<String>,
    /// Tables were built anew without rows on damaged pages. The rows of other regions may be among these.
    pub(super) is_row_lost: bool,
    /// Effects on inventories of a batch that is saved.
    pub(super) items: Vec<ItemEffect>,
    /// Changes of the batch, for their memory.
    pub(super) spent: RegionChanges,
}

/// The `keeper` thread.
pub struct KeeperThread {
    pub(super) thread: JoinHandle<()>,
    pub(super) status: Arc<KeeperStatus>,
    pub(super) orders: SaveOrders,
    pub(super) holds: SaveHolds,
    pub(super) restores: RestoreOrders,
    pub(super) disk: KeeperDisk,
}

/// Destinations of saved batches.
#[derive(Clone)]
pub(super) struct KeeperDisk {
    pub(super) store: Arc<Store>,
    pub(super) keep_contents: KeepContents,
}

/// Figures of saves.
pub(super) struct SaveTimings {
    /// A transaction.
    save: Timing,
    /// From a change until it is on the disk.
    lag: Timing,
}

impl SaveTimings {
    pub(super) fn new(metrics: &Metrics) -> Self {
        Self {
            save: metrics.timing(
                "throng_save_seconds",
                "Time of a transaction with changes of a region's objects and land.",
                &[],
            ),
            lag: metrics.timing(
                "throng_save_lag_seconds",
                "Age of the oldest change in a transaction when it was on the disk, without movements.",
                &[],
            ),
        }
    }
}

/// Reports of the thread.
pub(super) struct Reports {
    pub(super) outcomes: Sender<SaveOutcome>,
    pub(super) full: FullUsers,
    pub(super) tell_owners: TellOwners,
    pub(super) figures: Arc<TransferFigures>,
}

/// Saves batches until there are no more senders of them.
pub(super) fn save_all(
    disk: &KeeperDisk,
    batches: &Receiver<Batch>,
    Reports { outcomes, mut full, tell_owners, figures }: Reports,
    timings: &SaveTimings,
    clock: &Clock,
    fuse: &Fuse,
) {
    loop {
        let mut batch = match batches.recv_timeout(full.wait().unwrap_or(IDLE)) {
            Ok(batch) => batch,
            Err(RecvTimeoutError::Timeout) => {
                full.recount(clock(), &disk.store);
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return,
        };
        fuse.strike();
        let began_at = clock();
        let mut is_row_lost = false;
        let result = {
            let _scope = SAVE.enter(batch.region.0.into());
            save(disk, &mut batch, fuse, &mut is_row_lost)
        };
        let why = result.as_ref().err().map(with_causes);
        if let Some(why) = &why {
            tracing::warn!(region = batch.region.0, why, "changes could not be saved and stay in memory");
        }
        let ended_at = clock();
        timings.save.record(ended_at - began_at);
        if let Some(since) = batch.since.filter(|_| why.is_none()) {
            timings.lag.record(ended_at.since(since));
        }
        let is_saved = why.is_none();
        let items = result.unwrap_or_default();
        if !items.is_empty() {
            tell_owners(&items);
        }
        let Batch { region: world, id, changes: mut spent, held_at, .. } = batch;
        let held = std::mem::take(&mut spent.held);
        if is_saved {
            for ((_, change), shown_at) in held.iter().zip(held_at) {
                figures.note_saved(change, shown_at, ended_at);
            }
        }
        // The other end is gone when the server ends; it reads the last state again then.
        if outcomes.send(SaveOutcome { world, id, why, is_row_lost, items, spent }).is_err() {
            return;
        }
        if is_saved {
            full.note_saved(ended_at, &disk.store, &held);
        }
        frame_end();
    }
}

/// Reasons for which a batch was not saved.
#[derive(Debug, thiserror::Error)]
enum SaveError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Assets(#[from] ReadAssetError),
    #[error("a fault that was ordered at keeper")]
    Ordered,
}

/// An error as one sentence, with its causes.
fn with_causes(error: &SaveError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text + "."
}

/// One transaction, unless a fault was ordered. Returns its effects on inventories.
fn save(
    disk: &KeeperDisk,
    batch: &mut Batch,
    fuse: &Fuse,
    is_row_lost: &mut bool,
) -> Result<Vec<ItemEffect>, SaveError> {
    if fuse.fails() { Err(SaveError::Ordered) } else { save_mending(disk, batch, is_row_lost) }
}

/// One transaction behind the assets that it names, and another one if the first came upon damaged pages. Then tables are built anew, of which rows may be lost.
fn save_mending(
    disk: &KeeperDisk,
    batch: &mut Batch,
    is_row_lost: &mut bool,
) -> Result<Vec<ItemEffect>, SaveError> {
    let KeeperDisk { store, keep_contents } = disk;
    keep_items(batch, &**keep_contents)?;
    let report = |table: RebuiltTable| {
        tracing::error!(region = batch.region.0, %table, "pages of the database were damaged");
        *is_row_lost |= !table.is_whole;
    };
    Ok(store.with_rebuild(|| store.save_region(batch.region, &batch.changes), report)?)
}

impl KeeperThread {
    /// State of the saves.
    pub fn status(&self) -> Arc<KeeperStatus> {
        Arc::clone(&self.status)
    }

    /// Way of orders to save a region.
    pub fn orders(&self) -> SaveOrders {
        self.orders.clone()
    }

    /// Way of orders to hold the saves of a region back.
    pub fn holds(&self) -> SaveHolds {
        self.holds.clone()
    }

    /// Way of orders to put objects and items into a region.
    pub fn restores(&self) -> RestoreOrders {
        self.restores.clone()
    }

    /// Saves all regions as of their last frames. The number of those of which something could not be saved.
    pub fn finish(self, keepers: Keepers, clock: &Clock) -> usize {
        let (mut keepers, outcomes) = keepers.into_worlds();
        // The thread has ended with its last batch, since nothing is left that could send another.
        if self.thread.join().is_err() {
            tracing::error!("the keeper thread has panicked");
        }
        let outcomes: Vec<SaveOutcome> = outcomes.try_iter().collect();
        let mut n_unsaved = 0;
        let mut is_row_lost = outcomes.iter().any(|outcome| outcome.is_row_lost);
        for (keeper, is_held) in &mut keepers {
            let now = clock();
            if let Some(id) = keeper.under_way() {
                let region = keeper.region();
                let outcome = outcomes.iter().find(|outcome| (outcome.world, outcome.id) == (region, id));
                if outcome.is_none() {
                    tracing::error!(
                        region = region.0,
                        "a save has ended without an outcome, and is repeated"
                    );
                }
                keeper.handle_saved(now, id, outcome.is_some_and(|outcome| outcome.why.is_none()));
                if let Some(outcome) = outcome {
                    keeper.note_items(&outcome.items);
                }
            }
            if *is_held {
                let region = keeper.region().0;
                tracing::error!(
                    region,
                    "a load has not ended: the region stays on the disk as it was before"
                );
                n_unsaved += 1;
            } else {
                n_unsaved += usize::from(!save_last(&self.disk, keeper, now, &mut is_row_lost));
            }
        }
        // The worlds have ended, and show no objects any more that could be written again.
        if is_row_lost { keepers.len() } else { n_unsaved }
    }
}

/// Saves a region's last state, as far as its keeper has it; false if something could not be saved.
fn save_last(disk: &KeeperDisk, keeper: &mut Keeper, now: Instant, is_row_lost: &mut bool) -> bool {
    let is_saved = (0..LAST_ATTEMPTS).any(|_| {
        keeper.order_save();
        // Pauses after failures are over by then. Without a batch, no frame has ever come.
        let Some(mut batch) = keeper.poll_batch(now + Duration::from_secs(3_600)) else { return true };
        let saved = save_mending(disk, &mut batch, is_row_lost);
        keeper.handle_saved(now, batch.id, saved.is_ok());
        match &saved {
            Ok(items) => keeper.note_items(items),
            Err(error) => {
                tracing::error!(region = batch.region.0, %error, "changes could not be saved at the end");
            }
        }
        saved.is_ok()
    });
    if keeper.is_behind() {
        let region = keeper.region().0;
        let why = if keeper.is_emptied() { EMPTIED } else { "Frames of its world are missing." };
        tracing::error!(region, why, "a region is saved in part only");
    }
    is_saved && !keeper.is_behind()
}
