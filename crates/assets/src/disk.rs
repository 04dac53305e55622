//! Assets on a disk: rows in the [`Store`], bytes in files, verified bytes in a cache, and a thread that writes.
//!
//! ```text
//! add ─► WriteQueue ─► thread assets: commit ─► files, syncfs, rows ─► done
//! read ─► cache ─► row ─► file ─► hash ─► cache
//! ```

use crate::files::AssetFiles;
use crate::scrub::Scrubber;
use crate::writer::{
    Write, WriteQueue, WriteTasks, WriterBatch, commit, in_full, remove_expired, write_queue,
};
use crate::{Asset, AssetKind, AssetStore, AssetsDone, FilesError, NewAsset, NewAssets, ReadAssetError};
use ids::Uuid;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use store::{AssetHash, Store, StoreError};

/// Temporary assets with a use that is not recorded yet; further ones are recorded with their next read.
const USED_MAX: usize = 65_536;

/// Temporary assets that one removal takes at most; the next one goes on.
const EXPIRED_MAX: u32 = 1_000;

/// Time for which bytes stay that a transaction was about to name, in seconds: longer than any transaction and its repetition take.
const NAMED_S: i64 = 600;

/// Memory of a cached asset beside its bytes: key, value, and entry of the cache.
const ENTRY_BYTES: u64 = 192;

/// An asset of this size is expected in the cache.
const ASSET_BYTES_EXPECTED: u64 = 16 * 1_024;

/// Limits and the clock of [`DiskAssets`].
#[derive(Clone)]
pub struct DiskAssetsConfig {
    /// Bytes of the cache.
    pub cache_bytes: u64,
    /// Time without use after which a temporary asset is removed, in seconds.
    pub temporary_s: i64,
    /// Seconds since 1970.
    pub unix_s: Arc<dyn Fn() -> i64 + Send + Sync>,
}

impl std::fmt::Debug for DiskAssetsConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { cache_bytes, temporary_s, .. } = self;
        f.debug_struct("DiskAssetsConfig")
            .field("cache_bytes", cache_bytes)
            .field("temporary_s", temporary_s)
            .finish_non_exhaustive()
    }
}

/// Totals since the start.
#[derive(Debug, Default)]
pub struct AssetCounters {
    /// Reads answered from memory.
    pub hits: AtomicU64,
    /// Reads answered from the disk.
    pub misses: AtomicU64,
    /// Reads of unknown assets.
    pub unknown: AtomicU64,
    /// Reads of assets in quarantine, newly found ones included.
    pub damaged: AtomicU64,
    /// Reads that failed.
    pub failed: AtomicU64,
    /// Assets stored.
    pub added: AtomicU64,
    /// Assets refused.
    pub refused: AtomicU64,
    /// Contents whose bytes were written.
    pub written: AtomicU64,
    /// Syncs of the files.
    pub syncs: AtomicU64,
    /// Contents put into quarantine.
    pub quarantined: AtomicU64,
    /// Contents removed with their last temporary asset.
    pub removed: AtomicU64,
}

#[derive(Clone, Debug)]
struct ByBytes;

impl Weighter<Uuid, Asset> for ByBytes {
    fn weight(&self, _: &Uuid, asset: &Asset) -> u64 {
        asset.bytes.len() as u64 + ENTRY_BYTES
    }
}

/// Assets of a grid, for its readers and writers.
#[derive(Debug)]
pub struct DiskAssets {
    shared: Arc<Shared>,
    queue: WriteQueue,
}

/// The end of the queue of writes: work for one thread.
#[derive(Debug)]
pub struct AssetWriter {
    shared: Arc<Shared>,
    tasks: WriteTasks,
}

#[derive(Debug)]
struct Shared {
    store: Arc<Store>,
    files: AssetFiles,
    /// Two ids with the same bytes have an entry each.
    cache: Cache<Uuid, Asset, ByBytes>,
    counters: AssetCounters,
    /// Temporary assets in use since the last record.
    used: Mutex<BTreeSet<Uuid>>,
    /// Contents that were there when a transaction was about to name them, with the time of that. An expiry takes the rows of their temporary assets, and
    /// leaves the bytes. Locked while bytes are removed, and while they are looked for and written.
    named: Mutex<BTreeMap<AssetHash, i64>>,
    config: DiskAssetsConfig,
}

impl DiskAssets {
    /// Opens the assets of a store whose bytes lie in `folder`.
    ///
    /// # Errors
    /// [`FilesError::Open`].
    pub fn open(
        store: Arc<Store>,
        folder: &Path,
        config: DiskAssetsConfig,
    ) -> Result<(Self, AssetWriter), FilesError> {
        Ok(Self::with_files(store, AssetFiles::open(folder)?, config))
    }

    pub(crate) fn with_files(
        store: Arc<Store>,
        files: AssetFiles,
        config: DiskAssetsConfig,
    ) -> (Self, AssetWriter) {
        let expected = usize::try_from(config.cache_bytes / ASSET_BYTES_EXPECTED).unwrap_or(usize::MAX);
        let cache = Cache::with_weighter(expected.max(1), config.cache_bytes, ByBytes);
        let shared = Arc::new(Shared {
            store,
            files,
            cache,
            counters: AssetCounters::default(),
            used: Mutex::default(),
            named: Mutex::default(),
            config,
        });
        let (queue, tasks) = write_queue();
        (Self { shared: Arc::clone(&shared), queue }, AssetWriter { shared, tasks })
    }

    /// Lets the writer end behind all that is queued. Later writes are refused.
    pub fn end(&self) {
        self.queue.end();
    }

    /// Totals since the start.
    pub fn counters(&self) -> &AssetCounters {
        &self.shared.counters
    }

    /// Bytes of assets that wait to be written.
    pub fn bytes_queued(&self) -> usize {
        self.queue.bytes_queued()
    }

    /// Bytes in the cache, its entries included.
    pub fn cache_bytes(&self) -> u64 {
        self.shared.cache.weight()
    }

    /// Brings bytes to the disk, by their hashes, for assets that a transaction is about to add to the store. They stay for ten minutes, also if no row names them
    /// meanwhile. Waits for the disk.
    ///
    /// # Errors
    /// [`ReadAssetError`]; some of the bytes may be there.
    pub fn keep_contents(&self, contents: Vec<(AssetHash, Vec<u8>)>) -> Result<(), ReadAssetError> {
        let Shared { store, files, counters, named, config, .. } = &*self.shared;
        let contents: BTreeMap<AssetHash, Vec<u8>> = contents.into_iter().collect();
        let hashes: Vec<AssetHash> = contents.keys().copied().collect();
        let mut named = named.lock().unwrap_or_else(PoisonError::into_inner);
        let are_sound = store.are_contents_sound(&hashes)?;
        // New bytes have no row yet that could expire.
        let sound = hashes.iter().zip(&are_sound).filter(|(_, is_sound)| **is_sound);
        let now_s = (config.unix_s)();
        named.extend(sound.map(|(hash, _)| (*hash, now_s)));
        let mut n_written = 0;
        for ((hash, bytes), is_sound) in contents.into_iter().zip(are_sound) {
            if !is_sound {
                files.write(hash, bytes.into())?;
                n_written += 1;
            }
        }
        if n_written > 0 {
            files.sync()?;
            counters.written.fetch_add(n_written, Ordering::Relaxed);
            counters.syncs.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Records which temporary assets were in use since the last call, and has those removed that were not for the configured time. Waits for the disk; to be called
    /// every few minutes.
    ///
    /// # Errors
    /// [`ReadAssetError::Store`]; the next call repeats it.
    pub fn keep_temporary(&self) -> Result<(), ReadAssetError> {
        let now_s = (self.shared.config.unix_s)();
        self.shared.record_use(now_s)?;
        self.queue.remove_expired(now_s - self.shared.config.temporary_s);
        Ok(())
    }

    /// Verifies a content now, whatever is known of it: bytes that match end its quarantine, others begin it and are the evidence. Waits for the disk.
    ///
    /// # Errors
    /// [`ReadAssetError`]; nothing has changed then.
    pub fn verify_again(&self, hash: AssetHash) -> Result<Result<(), String>, ReadAssetError> {
        let shared = &self.shared;
        match shared.files.read_verified(hash)? {
            Ok(_) => {
                // An operator has copied the file there a moment ago.
                shared.files.sync()?;
                if shared.store.end_content_quarantine(hash)? {
                    tracing::info!(%hash, "the quarantine of an asset's content has ended: its bytes match");
                }
                Ok(Ok(()))
            }
            Err(evidence) => {
                shared.quarantine(hash, &evidence)?;
                Ok(Err(evidence))
            }
        }
    }

    /// Verifies the next contents of a scrubber's way, at most `max`. Waits for the disk.
    ///
    /// # Errors
    /// [`ReadAssetError`]; the scrubber stays where it is.
    pub fn scrub(&self, scrubber: &mut Scrubber, max: u32) -> Result<u64, ReadAssetError> {
        let shared = &self.shared;
        scrubber.pass(&shared.store, &shared.files, max, |hash, evidence| shared.quarantine(hash, evidence))
    }
}

impl AssetWriter {
    /// Writes until [`DiskAssets::end`]. `pause` is called after each batch.
    pub fn run(&self, mut pause: impl FnMut()) {
        loop {
            let batch = self.tasks.next_batch();
            let is_last = batch.is_last;
            self.shared.work_on(batch);
            pause();
            if is_last {
                break;
            }
        }
        if let Err(why) = self.shared.record_use((self.shared.config.unix_s)()) {
            tracing::warn!("the last use of temporary assets is not recorded: {}", in_full(&why));
        }
    }
}

impl AssetStore for DiskAssets {
    fn cached(&self, id: Uuid) -> Option<Asset> {
        let asset = self.shared.cache.get(&id)?;
        self.shared.counters.hits.fetch_add(1, Ordering::Relaxed);
        self.shared.note_use(id, &asset);
        Some(asset)
    }

    fn read(&self, id: Uuid) -> Result<Option<Asset>, ReadAssetError> {
        let shared = &self.shared;
        let mut is_miss = false;
        // Readers of one asset that is not in memory wait for the first of them.
        let found = shared.cache.get_or_insert_with(&id, || {
            is_miss = true;
            shared.load(id)
        });
        let counters = &shared.counters;
        let (counter, outcome) = match found {
            Ok(asset) => {
                shared.note_use(id, &asset);
                (if is_miss { &counters.misses } else { &counters.hits }, Ok(Some(asset)))
            }
            Err(Absence::Unknown) => (&counters.unknown, Ok(None)),
            Err(Absence::Damaged) => (&counters.damaged, Ok(None)),
            Err(Absence::Failure(why)) => (&counters.failed, Err(why)),
        };
        counter.fetch_add(1, Ordering::Relaxed);
        outcome
    }

    fn add_all(&self, new: NewAssets, done: AssetsDone) {
        self.queue.push(Write { new, done });
    }
}

/// Reason for which a read has no asset.
enum Absence {
    Unknown,
    Damaged,
    Failure(ReadAssetError),
}

impl From<ReadAssetError> for Absence {
    fn from(why: ReadAssetError) -> Self {
        Self::Failure(why)
    }
}

impl From<StoreError> for Absence {
    fn from(why: StoreError) -> Self {
        Self::Failure(why.into())
    }
}

impl From<FilesError> for Absence {
    fn from(why: FilesError) -> Self {
        Self::Failure(why.into())
    }
}

impl Shared {
    fn load(&self, id: Uuid) -> Result<Asset, Absence> {
        let Some(stored) = self.store.asset(id)? else { return Err(Absence::Unknown) };
        if stored.damage.is_some() {
            return Err(Absence::Damaged);
        }
        let hash = stored.row.hash;
        let bytes = match self.files.read_verified(hash)? {
            Ok(bytes) => bytes,
            Err(evidence) => {
                self.quarantine(hash, &evidence)?;
                return Err(Absence::Damaged);
            }
        };
        let Some(kind) = AssetKind::from_number(stored.row.kind) else {
            // A later version's; its bytes are sound.
            return Err(Absence::Unknown);
        };
        Ok(Asset { kind, hash, bytes, is_temporary: stored.row.used_s.is_some() })
    }

    /// Puts a content into quarantine, and reports it with the assets that name it.
    fn quarantine(&self, hash: AssetHash, evidence: &str) -> Result<(), ReadAssetError> {
        const NAMED: u32 = 8;
        if self.store.quarantine_content(hash, evidence)? {
            self.counters.quarantined.fetch_add(1, Ordering::Relaxed);
            let ids = self.store.assets_of_content(hash, NAMED)?;
            tracing::error!(%hash, ?ids, "damaged content of assets is in quarantine: {evidence}");
        }
        Ok(())
    }

    fn note_use(&self, id: Uuid, asset: &Asset) {
        if asset.is_temporary {
            let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            if used.len() < USED_MAX {
                used.insert(id);
            }
        }
    }

    fn record_use(&self, now_s: i64) -> Result<(), ReadAssetError> {
        let used = std::mem::take(&mut *self.used.lock().unwrap_or_else(PoisonError::into_inner));
        let ids: Vec<Uuid> = used.into_iter().collect();
        let recorded = self.store.use_temporary_assets(&ids, now_s);
        if recorded.is_err() {
            self.used.lock().unwrap_or_else(PoisonError::into_inner).extend(ids);
        }
        Ok(recorded?)
    }

    /// Work of the thread that writes.
    fn work_on(&self, batch: WriterBatch) {
        let now_s = (self.config.unix_s)();
        // Before the writes, one of which may bring an expired asset back.
        if let Some(before_s) = batch.expire_before_s {
            let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
            named.retain(|_, at_s| now_s - *at_s < NAMED_S);
            let is_named = |hash: &AssetHash| named.contains_key(hash);
            match remove_expired(&self.store, &self.files, before_s, EXPIRED_MAX, is_named) {
                Ok(n) => drop(self.counters.removed.fetch_add(n as u64, Ordering::Relaxed)),
                Err(why) => tracing::warn!("temporary assets are not removed: {}", in_full(&why)),
            }
        }
        if batch.writes.is_empty() {
            return;
        }
        let (writes, done): (Vec<NewAssets>, Vec<AssetsDone>) =
            batch.writes.into_iter().map(|write| (write.new, write.done)).unzip();
        let (outcomes, cost) = commit(&self.store, &self.files, &writes, now_s);
        self.counters.written.fetch_add(cost.written as u64, Ordering::Relaxed);
        self.counters.syncs.fetch_add(cost.syncs as u64, Ordering::Relaxed);
        for ((new, done), outcome) in writes.into_iter().zip(done).zip(outcomes) {
            let n = new.assets.len() as u64;
            match outcome {
                Ok(hashes) => {
                    self.counters.added.fetch_add(n, Ordering::Relaxed);
                    for (asset, hash) in new.assets.into_iter().zip(hashes) {
                        self.put_into_cache(asset, hash);
                    }
                    done(Ok(()));
                }
                Err(why) => {
                    self.counters.refused.fetch_add(n, Ordering::Relaxed);
                    let id = new.assets.first().map(|asset| asset.id);
                    tracing::debug!(?id, "assets are not stored: {why}");
                    done(Err(why));
                }
            }
        }
    }

    /// The asset's readers are about to ask for it. A lasting asset is not made temporary by a repeated upload.
    fn put_into_cache(&self, asset: NewAsset, hash: AssetHash) {
        let NewAsset { id, kind, bytes, is_temporary, .. } = asset;
        if !is_temporary || self.cache.peek(&id).is_none() {
            self.cache.insert(id, Asset { kind, hash, bytes, is_temporary });
        }
    }
}

#[cfg(test)]
mod tests;
