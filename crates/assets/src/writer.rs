//! Durable writes of assets, a batch at a time: bytes that are new, one sync for all of them, one transaction for all rows, then the acknowledgements.
//!
//! While a batch is on its way to the disk the next one gathers, so that the number of syncs falls with the load. [`commit`] is the work on one batch;
//! [`WriteQueue`] is the way to the thread that does it.

use crate::files::AssetFiles;
use crate::{AddAssetError, AssetsDone, NewAsset, NewAssets};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use store::{AssetHash, AssetRow, Store, StoreError, UploadAdded, UploadRows};

/// Writes that wait; another one is refused.
pub const WRITES_MAX: usize = 1_024;

/// Bytes of the writes that wait; a write that exceeds them is refused.
pub const WRITES_BYTES_MAX: usize = 64 * 1_024 * 1_024;

/// Writes of one batch.
const BATCH_MAX: usize = 256;

/// A write with the receiver of its outcome.
pub(crate) struct Write {
    pub(crate) new: NewAssets,
    pub(crate) done: AssetsDone,
}

/// Work for the thread that writes.
#[expect(clippy::large_enum_variant, reason = "nearly all tasks are writes")]
pub(crate) enum WriterTask {
    /// Assets to be stored.
    Add(Write),
    /// Temporary assets last used before this time, in seconds since 1970, are to be removed.
    RemoveExpired { before_s: i64 },
    /// The end.
    End,
}

/// Queue to the thread that writes, bounded in writes and bytes.
#[derive(Debug)]
pub(crate) struct WriteQueue {
    tasks: SyncSender<WriterTask>,
    bytes: Arc<AtomicUsize>,
}

/// The other end of a [`WriteQueue`].
#[derive(Debug)]
pub(crate) struct WriteTasks {
    tasks: Receiver<WriterTask>,
    bytes: Arc<AtomicUsize>,
}

pub(crate) fn write_queue() -> (WriteQueue, WriteTasks) {
    let (sender, receiver) = sync_channel(WRITES_MAX);
    let bytes = Arc::new(AtomicUsize::new(0));
    (WriteQueue { tasks: sender, bytes: Arc::clone(&bytes) }, WriteTasks { tasks: receiver, bytes })
}

impl WriteQueue {
    /// Queues a write, or refuses it at once.
    pub(crate) fn push(&self, write: Write) {
        let length = write.new.n_bytes();
        let before = self.bytes.fetch_add(length, Ordering::Relaxed);
        let refused = if before + length > WRITES_BYTES_MAX {
            Some((write, AddAssetError::Busy))
        } else {
            match self.tasks.try_send(WriterTask::Add(write)) {
                Ok(()) => None,
                Err(TrySendError::Full(WriterTask::Add(write))) => Some((write, AddAssetError::Busy)),
                Err(TrySendError::Disconnected(WriterTask::Add(write))) => {
                    Some((write, AddAssetError::Ended))
                }
                Err(_) => unreachable!("a refused task is the one that was sent"),
            }
        };
        if let Some((write, why)) = refused {
            self.bytes.fetch_sub(length, Ordering::Relaxed);
            (write.done)(Err(why));
        }
    }

    /// Asks for the removal of temporary assets; it is left out when the queue is full.
    pub(crate) fn remove_expired(&self, before_s: i64) {
        drop(self.tasks.try_send(WriterTask::RemoveExpired { before_s }));
    }

    /// Asks for the end, behind all that waits.
    pub(crate) fn end(&self) {
        drop(self.tasks.send(WriterTask::End));
    }

    /// Bytes that wait.
    pub(crate) fn bytes_queued(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// A batch of work.
#[derive(Default)]
pub(crate) struct WriterBatch {
    pub(crate) writes: Vec<Write>,
    /// The latest time, if a removal was asked for.
    pub(crate) expire_before_s: Option<i64>,
    pub(crate) is_last: bool,
}

impl WriteTasks {
    /// Waits for work, and takes what has gathered.
    pub(crate) fn next_batch(&self) -> WriterBatch {
        let mut batch = WriterBatch::default();
        let mut next = self.tasks.recv().unwrap_or(WriterTask::End);
        loop {
            match next {
                WriterTask::Add(write) => batch.writes.push(write),
                WriterTask::RemoveExpired { before_s } => {
                    batch.expire_before_s = batch.expire_before_s.max(Some(before_s));
                }
                WriterTask::End => batch.is_last = true,
            }
            if batch.is_last || batch.writes.len() >= BATCH_MAX {
                break;
            }
            match self.tasks.try_recv() {
                Ok(task) => next = task,
                Err(_) => break,
            }
        }
        let length: usize = batch.writes.iter().map(|write| write.new.n_bytes()).sum();
        self.bytes.fetch_sub(length, Ordering::Relaxed);
        batch
    }
}

/// Cost of the work on a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommitCost {
    /// Contents whose bytes were written.
    pub(crate) written: usize,
    /// Syncs of the files.
    pub(crate) syncs: usize,
}

/// Hashes of a write's assets, in their order, or the reason for which they are not stored.
pub(crate) type CommitOutcome = Result<Vec<AssetHash>, AddAssetError>;

/// Brings writes to the disk; the outcome of each, in their order. Bytes of a sound content are not written again.
pub(crate) fn commit(
    store: &Store,
    files: &AssetFiles,
    writes: &[NewAssets],
    now_s: i64,
) -> (Vec<CommitOutcome>, CommitCost) {
    let hashes: Vec<Vec<AssetHash>> = writes.iter().map(hashes_of).collect();
    let mut cost = CommitCost::default();
    let unsound = match unsound_contents(store, &hashes.concat()) {
        Ok(unsound) => unsound,
        Err(why) => return (refuse_all(writes, &AddAssetError::Database(in_full(&why))), cost),
    };
    let assets = writes.iter().flat_map(|new| &new.assets).zip(hashes.iter().flatten().copied());
    let failed = write_contents(files, assets, &unsound, &mut cost);
    let failure = |hashes: &[AssetHash]| hashes.iter().find_map(|hash| failed.get(hash));
    let rows: Vec<UploadRows> = writes
        .iter()
        .zip(&hashes)
        .filter(|(_, hashes)| failure(hashes).is_none())
        .map(|(new, hashes)| rows_of(new, hashes, now_s))
        .collect();
    let added = match store.add_uploads(&rows) {
        Ok(added) => added,
        Err(why) => return (refuse_all(writes, &AddAssetError::Database(in_full(&why))), cost),
    };
    let mut added = added.into_iter();
    let mut outcomes = Vec::with_capacity(writes.len());
    for hashes in hashes {
        let outcome = match failure(&hashes) {
            Some(why) => Err(AddAssetError::Files(why.clone())),
            None => outcome_of(added.next().expect("each write has an outcome")).map(|()| hashes),
        };
        outcomes.push(outcome);
    }
    (outcomes, cost)
}

/// Hashes of a write's assets.
pub(crate) fn hashes_of(new: &NewAssets) -> Vec<AssetHash> {
    new.assets.iter().map(|asset| AssetHash::of(&asset.bytes)).collect()
}

/// The store's outcome, for the writer's caller.
pub(crate) fn outcome_of(added: UploadAdded) -> Result<(), AddAssetError> {
    match added {
        UploadAdded::Whole => Ok(()),
        UploadAdded::Taken(id) => Err(AddAssetError::Taken(id)),
        UploadAdded::Refused(refusal) => Err(refusal.into()),
        UploadAdded::UnknownOwner => Err(AddAssetError::UnknownOwner),
    }
}

fn unsound_contents(store: &Store, hashes: &[AssetHash]) -> Result<BTreeSet<AssetHash>, StoreError> {
    let are_sound = store.are_contents_sound(hashes)?;
    Ok(hashes.iter().zip(are_sound).filter(|(_, is_sound)| !is_sound).map(|(hash, _)| *hash).collect())
}

/// Writes the contents that are not sound, and syncs them. Returns those that failed, with the reason.
fn write_contents<'a>(
    files: &AssetFiles,
    assets: impl Iterator<Item = (&'a NewAsset, AssetHash)>,
    unsound: &BTreeSet<AssetHash>,
    cost: &mut CommitCost,
) -> BTreeMap<AssetHash, String> {
    let mut failed = BTreeMap::new();
    let mut written = BTreeSet::new();
    for (asset, hash) in assets {
        if !unsound.contains(&hash) || written.contains(&hash) || failed.contains_key(&hash) {
            continue;
        }
        match files.write(hash, asset.bytes.clone()) {
            Ok(()) => drop(written.insert(hash)),
            Err(why) => drop(failed.insert(hash, in_full(&why))),
        }
    }
    if !written.is_empty() {
        cost.written = written.len();
        cost.syncs = 1;
        if let Err(why) = files.sync() {
            let why = in_full(&why);
            failed.extend(written.into_iter().map(|hash| (hash, why.clone())));
        }
    }
    failed
}

/// Removes temporary assets, and the bytes that no asset names any more, but for those that `is_named` of a transaction under way. Returns the number of contents
/// removed.
pub(crate) fn remove_expired(
    store: &Store,
    files: &AssetFiles,
    before_s: i64,
    max: u32,
    is_named: impl Fn(&AssetHash) -> bool,
) -> Result<usize, crate::ReadAssetError> {
    let mut unnamed = store.remove_expired_assets(before_s, max)?;
    unnamed.retain(|hash| !is_named(hash));
    // The rows are gone: a failure here leaves bytes without a name, which cost their place and nothing else.
    for &hash in &unnamed {
        files.delete(hash)?;
    }
    Ok(unnamed.len())
}

/// A write for the store.
pub(crate) fn rows_of(new: &NewAssets, hashes: &[AssetHash], now_s: i64) -> UploadRows {
    let assets = new.assets.iter().zip(hashes).map(|(asset, &hash)| row_of(asset, hash, now_s)).collect();
    UploadRows { assets, item: new.item.clone() }
}

fn row_of(asset: &NewAsset, hash: AssetHash, now_s: i64) -> AssetRow {
    AssetRow {
        id: asset.id,
        hash,
        kind: asset.kind.number(),
        length: u32::try_from(asset.bytes.len()).expect("limits of all kinds fit"),
        creator: asset.creator,
        created_s: now_s,
        origin: asset.origin.to_string(),
        used_s: asset.is_temporary.then_some(now_s),
    }
}

fn refuse_all(writes: &[NewAssets], why: &AddAssetError) -> Vec<CommitOutcome> {
    writes.iter().map(|_| Err(why.clone())).collect()
}

/// An error with its sources.
pub(crate) fn in_full(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests;
