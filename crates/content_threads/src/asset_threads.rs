//! Assets of the server: the `assets` thread, which writes them, and the `scrub` thread, which verifies them at rest and removes bakes that are not used.

use assets::{
    AssetCounters, AssetHash, AssetWriter, DiskAssets, DiskAssetsConfig, FilesError, ReadAssetError,
    ScrubPace, Scrubber,
};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use store::{AssetCount, Store, StoreError};
use telemetry::MetricTable;
use telemetry::recorder::{Arg, Recorder, Scope, frame_end};
use workplace::{Clock, ThreadError, opaque_debug};

/// Period of the scrub thread.
const SCRUB_PERIOD: Duration = Duration::from_secs(60);
/// Periods between two looks at temporary assets, and two counts of all.
const SLOW_PERIODS: u64 = 5;
/// Contents that are verified between two looks at the clock.
const SCRUB_BATCH: u32 = 16;

/// Contents that the scrub thread verifies; the number is theirs.
static SCRUB: Scope = Scope::new("assets.scrub").arg(Arg::Count).limit_us(10_000_000);

/// The threads of assets, and figures for the operator.
pub struct AssetThreads {
    assets: Arc<DiskAssets>,
    writer: JoinHandle<()>,
    scrub: JoinHandle<()>,
    stop: SyncSender<()>,
    figures: Arc<AssetFigures>,
}

opaque_debug!(AssetThreads);

/// Figures of assets for metrics and the page.
#[derive(Debug)]
pub struct AssetFigures {
    assets: Arc<DiskAssets>,
    counts: Mutex<Vec<AssetCount>>,
    /// Place of the scrubber in millionths.
    scrub_position: AtomicU64,
    scrub_verified: AtomicU64,
    scrub_damaged: AtomicU64,
}

/// Settings of assets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetSettings {
    /// Folder of the files. Made when missing.
    pub folder: PathBuf,
    /// Bytes of assets in memory.
    pub cache_bytes: u64,
    /// Time after which a temporary asset that is not used is removed, seconds.
    pub temporary_s: i64,
    /// Days of a pass of the scrubber.
    pub scrub_days: u32,
}

/// Reasons for which the threads do not start.
#[derive(Debug, thiserror::Error)]
pub enum AssetThreadsError {
    /// The files of assets.
    #[error("cannot use the files of assets")]
    Files(#[from] FilesError),
    /// The database.
    #[error("cannot read the rows of assets")]
    Store(#[from] StoreError),
    /// A thread.
    #[error(transparent)]
    Thread(#[from] ThreadError),
}

/// Opens the files, and starts both threads.
///
/// # Errors
/// [`AssetThreadsError`].
pub fn start(
    settings: &AssetSettings,
    store: &Arc<Store>,
    clock: &Clock,
    unix_start_s: u64,
    recorder: Recorder,
) -> Result<(Arc<DiskAssets>, AssetThreads), AssetThreadsError> {
    let unix_clock = Arc::clone(clock);
    let disk_config = DiskAssetsConfig {
        cache_bytes: settings.cache_bytes,
        temporary_s: settings.temporary_s,
        unix_s: Arc::new(move || unix_start_s.saturating_add(unix_clock().0 / 1_000_000_000).cast_signed()),
    };
    let (assets, writer) = DiskAssets::open(Arc::clone(store), &settings.folder, disk_config)?;
    let assets = Arc::new(assets);
    let figures = Arc::new(AssetFigures {
        assets: Arc::clone(&assets),
        counts: Mutex::new(store.asset_counts()?),
        scrub_position: AtomicU64::new(0),
        scrub_verified: AtomicU64::new(0),
        scrub_damaged: AtomicU64::new(0),
    });
    let (stop, stopped) = sync_channel(1);
    let writer = spawn("assets", recorder, move |()| write(&writer))?;
    let scrub = {
        let (store, figures, clock) = (Arc::clone(store), Arc::clone(&figures), Arc::clone(clock));
        let pace = ScrubPace::new(Duration::from_secs(u64::from(settings.scrub_days) * 86_400));
        let scrubber = Scrubber::at(store.scrub_position()?);
        spawn("scrub", recorder, move |()| {
            let wait = |period| stopped.recv_timeout(period) == Err(RecvTimeoutError::Timeout);
            keep_watch(&store, &figures, &clock, pace, scrubber, wait);
        })?
    };
    Ok((Arc::clone(&assets), AssetThreads { assets, writer, scrub, stop, figures }))
}

impl AssetThreads {
    /// Figures for metrics and the operator.
    pub fn figures(&self) -> Arc<AssetFigures> {
        Arc::clone(&self.figures)
    }

    /// Writes the queue, and ends both threads.
    pub fn stop(self) {
        let Self { assets, writer, scrub, stop, .. } = self;
        // The thread may have ended.
        let _ = stop.try_send(());
        assets.end();
        for (name, thread) in [("assets", writer), ("scrub", scrub)] {
            if thread.join().is_err() {
                tracing::error!("the {name} thread has panicked");
            }
        }
    }
}

fn spawn(
    name: &'static str,
    recorder: Recorder,
    run: impl FnOnce(()) + Send + 'static,
) -> Result<JoinHandle<()>, ThreadError> {
    let recorded = move || {
        recorder.thread(name).install();
        run(());
    };
    std::thread::Builder::new()
        .name(name.into())
        .spawn(recorded)
        .map_err(|source| ThreadError { name, source })
}

fn write(writer: &AssetWriter) {
    writer.run(frame_end);
}

/// Verifies contents at their pace until `wait` says that the server ends.
fn keep_watch(
    store: &Store,
    figures: &AssetFigures,
    clock: &Clock,
    mut pace: ScrubPace,
    mut scrubber: Scrubber,
    wait: impl Fn(Duration) -> bool,
) {
    let mut last = clock();
    let mut n_periods = 0;
    while wait(SCRUB_PERIOD) {
        let now = clock();
        let passed = now - last;
        last = now;
        n_periods += 1;
        if let Err(error) = watch_once(store, figures, &mut pace, &mut scrubber, passed, n_periods) {
            tracing::error!(%error, "assets cannot be verified");
        }
        figures.show(&scrubber);
        frame_end();
    }
    if let Err(error) = store.keep_scrub_position(scrubber.position()) {
        tracing::warn!(%error, "the scrubber's place is not kept");
    }
}

fn watch_once(
    store: &Store,
    figures: &AssetFigures,
    pace: &mut ScrubPace,
    scrubber: &mut Scrubber,
    passed: Duration,
    n_periods: u64,
) -> Result<(), ReadAssetError> {
    let mut due = pace.due(store.n_asset_contents()?, passed);
    while due > 0 {
        let n = due.min(SCRUB_BATCH);
        let scope = SCRUB.enter(n.into());
        figures.assets.scrub(scrubber, n)?;
        drop(scope);
        due -= n;
    }
    if n_periods.is_multiple_of(SLOW_PERIODS) {
        figures.assets.keep_temporary()?;
        *figures.counts.lock().unwrap_or_else(PoisonError::into_inner) = store.asset_counts()?;
        store.keep_scrub_position(scrubber.position())?;
    }
    Ok(())
}

/// Progress of the scrubber.
#[derive(Clone, Copy, Debug)]
pub struct ScrubProgress {
    /// Share of the present pass that is done, 0 to 1.
    pub position: f64,
    /// Contents verified since the start.
    pub verified: u64,
    /// Those of them that were found damaged.
    pub damaged: u64,
}

impl AssetFigures {
    /// Assets by kind, as they were counted last.
    pub fn counts(&self) -> Vec<AssetCount> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Progress of the scrubber.
    pub fn scrub(&self) -> ScrubProgress {
        ScrubProgress {
            position: self.scrub_position.load(Ordering::Relaxed) as f64 / 1e6,
            verified: self.scrub_verified.load(Ordering::Relaxed),
            damaged: self.scrub_damaged.load(Ordering::Relaxed),
        }
    }

    /// Verifies the bytes of a content again; otherwise the evidence of their damage. Waits for the disk.
    ///
    /// # Errors
    /// [`ReadAssetError`].
    pub fn verify_again(&self, hash: AssetHash) -> Result<Result<(), String>, ReadAssetError> {
        self.assets.verify_again(hash)
    }

    fn show(&self, scrubber: &Scrubber) {
        let findings = scrubber.findings();
        self.scrub_position.store((scrubber.position() * 1e6) as u64, Ordering::Relaxed);
        self.scrub_verified.store(findings.verified, Ordering::Relaxed);
        self.scrub_damaged.store(findings.damaged, Ordering::Relaxed);
    }

    /// Exports all figures of assets.
    pub fn export(&self, table: &mut MetricTable) {
        let (mut lasting, mut temporary, mut damaged, mut bytes) = (0, 0, 0, 0);
        for count in self.counts() {
            lasting += count.assets - count.temporary;
            temporary += count.temporary;
            damaged += count.damaged;
            bytes += count.bytes;
        }
        let states = ("throng_assets", "Assets by state, counted every five minutes.");
        for (state, n) in [("lasting", lasting), ("temporary", temporary), ("damaged", damaged)] {
            table.gauge(states.0, states.1, ("state", state), n as f64);
        }
        table.gauge(
            "throng_asset_bytes",
            "Bytes of all assets, counted every five minutes.",
            ("", ""),
            bytes as f64,
        );
        let counters = self.assets.counters();
        let load = |counter: fn(&AssetCounters) -> &AtomicU64| counter(counters).load(Ordering::Relaxed);
        let gets = ("throng_asset_gets_total", "Reads of stored assets by outcome.");
        table.count(gets.0, gets.1, "memory", load(|c| &c.hits));
        table.count(gets.0, gets.1, "disk", load(|c| &c.misses));
        table.count(gets.0, gets.1, "unknown", load(|c| &c.unknown));
        table.count(gets.0, gets.1, "damaged", load(|c| &c.damaged));
        table.count(gets.0, gets.1, "failed", load(|c| &c.failed));
        let writes = ("throng_asset_writes_total", "Writes of assets by outcome.");
        table.count(writes.0, writes.1, "stored", load(|c| &c.added));
        table.count(writes.0, writes.1, "refused", load(|c| &c.refused));
        table.count("throng_asset_syncs_total", "Syncs of the files of assets.", "", load(|c| &c.syncs));
        table.count(
            "throng_assets_removed_total",
            "Contents of temporary assets removed.",
            "",
            load(|c| &c.removed),
        );
        let quarantined = ("throng_assets_quarantined_total", "Contents of assets found damaged.");
        table.count(quarantined.0, quarantined.1, "", load(|c| &c.quarantined));
        let gauges = [
            ("throng_asset_cache_bytes", "Bytes of assets in memory.", self.assets.cache_bytes() as f64),
            (
                "throng_asset_queue_bytes",
                "Bytes of assets that wait to be written.",
                self.assets.bytes_queued() as f64,
            ),
            (
                "throng_scrub_position",
                "Share of the present pass of the scrubber that is done.",
                self.scrub_position.load(Ordering::Relaxed) as f64 / 1e6,
            ),
        ];
        for (name, help, value) in gauges {
            table.gauge(name, help, ("", ""), value);
        }
        let scrubbed = ("throng_scrub_contents_total", "Contents of assets verified at rest by outcome.");
        table.count(scrubbed.0, scrubbed.1, "sound", self.scrub_verified.load(Ordering::Relaxed));
        table.count(scrubbed.0, scrubbed.1, "damaged", self.scrub_damaged.load(Ordering::Relaxed));
    }
}
