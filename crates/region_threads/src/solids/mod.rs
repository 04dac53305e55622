//! Solids of assets for the worlds: the `solids` thread reads the assets that worlds want, has long tasks decode them, and sends the worlds what prims collide as.
//!
//! ```text
//! frame: SolidsWanted ─► replica ─► SolidDesk ─► thread solids: asset ─► cache, or long task: decode ─► PutSolid ─► inbox
//! ```
//!
//! An asset that is there gets one answer: a solid, or, if it is damaged or of another kind, the box that fills a prim. A missing one is looked for again, after 10 s at first and
//! after 10 min at last: it may come with an upload, an archive or a repaired disk.

mod wants;

use asset_solids::{DecodedSolid, SolidSource};
use assets::{Asset, AssetHash, AssetKind};
use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded, select};
use grid::asset_sources::AssetSources;
use ids::{SessionKey, WorldId};
use link::{Action, Command, CommandSeries, KnownSolid};
use prim::{AssetSolid, SolidKey, SolidPart};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use schedule::long::{LongRefusal, LongTasks};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use telemetry::MetricTable;
use telemetry::recorder::{Recorder, Scope, frame_end};
use wants::{Delay, Want, Wants};
use workplace::inboxes::Inbox;
use workplace::long::{self, LongFailure};
use workplace::world_map::WorldMap;
use workplace::{Clock, ThreadError, opaque_debug};

/// Bytes of decoded solids that are kept: those of some thousand meshes.
const CACHE_BYTES: u64 = 32 << 20;
/// Bytes of a solid as expected, and of its entry beside it.
const SOLID_BYTES_EXPECTED: u64 = 4_096;
const ENTRY_BYTES: u64 = 192;
/// Time that a solid takes, and that of each byte of its asset.
const ESTIMATE: Duration = Duration::from_millis(1);
const ESTIMATE_OF_BYTE: Duration = Duration::from_nanos(20);
/// Without a solid to look for, the thread waits for one.
const IDLE: Duration = Duration::from_secs(3_600);

/// One solid: asset, decoding, delivery.
static FIND: Scope = Scope::new("solids.find").limit_us(5_000_000);

/// Wants of all worlds, and figures for the operator. Shared by the `replica` thread, which reports wants, and the `solids` thread.
pub struct SolidDesk {
    wants: Mutex<Wants>,
    wake: Sender<()>,
    clock: Clock,
    figures: SolidFigures,
}

/// Totals since the start.
#[derive(Debug, Default)]
struct SolidFigures {
    /// Answers, by the places of their origins in [`SolidSource::ALL`].
    by_source: [AtomicU64; SolidSource::ALL.len()],
    /// Assets that are not of such a kind, or damaged.
    damaged: AtomicU64,
    /// Looks for assets that were not there.
    missing: AtomicU64,
    /// Looks without an outcome: an error of disk or database, too many long tasks.
    failed: AtomicU64,
    /// Answers from memory, those of each outcome included.
    cached: AtomicU64,
}

impl SolidDesk {
    fn new(clock: &Clock) -> (Self, Receiver<()>) {
        let (wake, wakes) = bounded(1);
        let desk = Self {
            wants: Mutex::default(),
            wake,
            clock: Arc::clone(clock),
            figures: SolidFigures::default(),
        };
        (desk, wakes)
    }

    /// Takes note of solids that a world wants. Does not wait.
    pub(super) fn note(&self, world: WorldId, keys: &[SolidKey]) {
        let now = (self.clock)();
        self.wants().note(now, world, keys);
        // With a full queue the thread is about to look.
        let _ = self.wake.try_send(());
    }

    /// Exports all figures.
    pub fn export(&self, table: &mut MetricTable) {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let SolidFigures { by_source, damaged, missing, failed, cached } = &self.figures;
        let (n_wanted, n_dropped) = {
            let wants = self.wants();
            (wants.len(), wants.n_dropped())
        };
        let found = ("throng_asset_solids_total", "Looks for solids of assets, by outcome.");
        for (source, counter) in SolidSource::ALL.iter().zip(by_source) {
            table.count(found.0, found.1, source.label(), load(counter));
        }
        for (outcome, counter) in [("damaged", damaged), ("missing", missing), ("failed", failed)] {
            table.count(found.0, found.1, outcome, load(counter));
        }
        table.count(
            "throng_asset_solids_cached_total",
            "Solids of assets that were answered from memory.",
            "",
            load(cached),
        );
        table.count(
            "throng_asset_solids_dropped_total",
            "Wants for solids of assets that were beyond the bound.",
            "",
            n_dropped,
        );
        table.gauge(
            "throng_asset_solids_wanted",
            "Solids of assets that are looked for, those included whose assets are not there.",
            ("", ""),
            n_wanted as f64,
        );
    }

    fn wants(&self) -> MutexGuard<'_, Wants> {
        self.wants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

opaque_debug!(SolidDesk, SolidThread, SolidThreadConfig<'_>);

/// The thread.
pub struct SolidThread {
    thread: JoinHandle<()>,
    stop: Sender<()>,
    desk: Arc<SolidDesk>,
}

/// Arguments of the thread.
pub struct SolidThreadConfig<'a> {
    /// Inboxes of the worlds that can be built on.
    pub inboxes: WorldMap<Inbox>,
    /// The assets.
    pub assets: Arc<AssetSources>,
    /// Decodes them.
    pub long: LongTasks,
    /// The clock of the process.
    pub clock: &'a Clock,
    /// The flight recorder.
    pub recorder: Recorder,
}

/// Starts the thread.
///
/// # Errors
/// The system gives no thread.
pub fn start(config: SolidThreadConfig<'_>) -> Result<SolidThread, ThreadError> {
    let SolidThreadConfig { inboxes, assets, long, clock, recorder } = config;
    let (desk, wakes) = SolidDesk::new(clock);
    let desk = Arc::new(desk);
    let (stop, stopped) = bounded(0);
    let mut finder = Finder::new(Arc::clone(&desk), inboxes, assets, long);
    let thread = std::thread::Builder::new()
        .name("solids".into())
        .spawn(move || {
            recorder.thread("solids").install();
            finder.run(&wakes, &stopped);
        })
        .map_err(|source| ThreadError { name: "solids", source })?;
    Ok(SolidThread { thread, stop, desk })
}

impl SolidThread {
    /// Way of wants to the thread.
    pub fn desk(&self) -> Arc<SolidDesk> {
        Arc::clone(&self.desk)
    }

    /// Ends the thread behind the solid that it is looking for.
    pub fn stop(self) {
        drop(self.stop);
        if self.thread.join().is_err() {
            tracing::error!("the solids thread has panicked");
        }
    }
}

#[derive(Clone, Debug)]
struct ByBytes;

impl Weighter<(AssetHash, SolidPart), Decoded> for ByBytes {
    fn weight(&self, _: &(AssetHash, SolidPart), decoded: &Decoded) -> u64 {
        decoded.solid.bytes() as u64 + ENTRY_BYTES
    }
}

/// A solid, and its origin; none if the asset is damaged.
#[derive(Clone, Debug, PartialEq)]
struct Decoded {
    solid: AssetSolid,
    source: Option<SolidSource>,
}

/// Outcome of a look.
#[derive(Debug, PartialEq)]
enum Found {
    Solid(AssetSolid),
    /// There is no such asset.
    Missing,
    /// An error, or no room.
    Failed,
    /// The server ends.
    Stopping,
}

/// The work of the thread.
struct Finder {
    desk: Arc<SolidDesk>,
    inboxes: WorldMap<Inbox>,
    assets: Arc<AssetSources>,
    long: LongTasks,
    /// By the hash of the asset's bytes: ids with the same content share a solid.
    cache: Cache<(AssetHash, SolidPart), Decoded, ByBytes>,
    /// Number of the next command.
    next_command: u64,
}

impl Finder {
    fn new(
        desk: Arc<SolidDesk>,
        inboxes: WorldMap<Inbox>,
        assets: Arc<AssetSources>,
        long: LongTasks,
    ) -> Self {
        let expected = (CACHE_BYTES / SOLID_BYTES_EXPECTED) as usize;
        let cache = Cache::with_weighter(expected, CACHE_BYTES, ByBytes);
        Self { desk, inboxes, assets, long, cache, next_command: CommandSeries::Solids.first() }
    }

    fn run(&mut self, wakes: &Receiver<()>, stopped: &Receiver<()>) {
        loop {
            let Some(wait) = self.serve_due(stopped) else { return };
            select! {
                recv(stopped) -> _ => return,
                recv(wakes) -> _ => {}
                default(wait) => {}
            }
        }
    }

    /// Looks for all solids that are due. Returns the time until the next one, or `None` if the server ends.
    fn serve_due(&mut self, stopped: &Receiver<()>) -> Option<Duration> {
        loop {
            if stopped.try_recv() == Err(TryRecvError::Disconnected) {
                return None;
            }
            let now = (self.desk.clock)();
            let due = self.desk.wants().poll(now);
            let Some((key, want)) = due else {
                let next = self.desk.wants().poll_timeout();
                return Some(next.map_or(IDLE, |at| at.since(now)));
            };
            let scope = FIND.enter(0);
            let is_running = self.serve(key, want);
            drop(scope);
            frame_end();
            if !is_running {
                return None;
            }
        }
    }

    /// Looks for one solid, and sends it to its worlds. False if the server ends.
    fn serve(&mut self, key: SolidKey, want: Want) -> bool {
        let (left, delay) = match self.find(key) {
            Found::Solid(solid) => (self.deliver(&KnownSolid { key, solid }, want), Delay::Busy),
            Found::Missing => (Some(want), Delay::Missing),
            Found::Failed => (Some(want), Delay::Busy),
            Found::Stopping => return false,
        };
        if let Some(want) = left {
            let now = (self.desk.clock)();
            self.desk.wants().put_back(now, key, want, delay);
        }
        true
    }

    fn find(&self, key: SolidKey) -> Found {
        let figures = &self.desk.figures;
        let asset = match self.assets.read(key.asset) {
            Ok(Some(asset)) => asset,
            Ok(None) => {
                figures.missing.fetch_add(1, Ordering::Relaxed);
                return Found::Missing;
            }
            Err(error) => {
                tracing::warn!(asset = %key.asset, %error, "an asset cannot be read for collisions");
                figures.failed.fetch_add(1, Ordering::Relaxed);
                return Found::Failed;
            }
        };
        let known = self.cache.get(&(asset.hash, key.part));
        if known.is_some() {
            figures.cached.fetch_add(1, Ordering::Relaxed);
        }
        let decoded = match known.map_or_else(|| self.decode(key, &asset), Ok) {
            Ok(decoded) => decoded,
            Err(LongFailure::Stopping | LongFailure::Refused(LongRefusal::Stopping { .. })) => {
                return Found::Stopping;
            }
            Err(error) => {
                tracing::warn!(asset = %key.asset, %error, "an asset is not decoded for collisions");
                figures.failed.fetch_add(1, Ordering::Relaxed);
                return Found::Failed;
            }
        };
        let place = decoded.source.and_then(|source| SolidSource::ALL.iter().position(|of| *of == source));
        place.map_or(&figures.damaged, |place| &figures.by_source[place]).fetch_add(1, Ordering::Relaxed);
        self.cache.insert((asset.hash, key.part), decoded.clone());
        Found::Solid(decoded.solid)
    }

    /// Has a long task decode an asset. If the decoder panics, the asset counts as damaged.
    fn decode(&self, key: SolidKey, asset: &Asset) -> Result<Decoded, LongFailure> {
        let of_kind = match key.part {
            SolidPart::MeshSurface | SolidPart::MeshHull => AssetKind::Mesh,
            SolidPart::SculptHull { .. } => AssetKind::Texture,
        };
        let damaged = Decoded { solid: AssetSolid::FULL, source: None };
        if asset.kind != of_kind {
            return Ok(damaged);
        }
        let n_bytes = u32::try_from(asset.bytes.len()).unwrap_or(u32::MAX);
        let estimated = ESTIMATE + ESTIMATE_OF_BYTE * n_bytes;
        let (bytes, part) = (asset.bytes.clone(), key.part);
        let spec = (long::DECODE_SOLID, key.asset.to_string(), estimated);
        match long::run(&self.long, spec, move |_| asset_solids::decode(part, &bytes)) {
            Ok(Ok(DecodedSolid { solid, source })) => Ok(Decoded { solid, source: Some(source) }),
            Ok(Err(error)) => {
                tracing::debug!(asset = %key.asset, %error, "prims with this asset are boxes");
                Ok(damaged)
            }
            Err(LongFailure::Panicked(message)) => {
                tracing::error!(asset = %key.asset, message, "an asset cannot be decoded for collisions");
                Ok(damaged)
            }
            Err(failure) => Err(failure),
        }
    }

    /// Sends a solid to the worlds that want it. Returns the want of those without room.
    fn deliver(&mut self, known: &KnownSolid, mut want: Want) -> Option<Want> {
        let Self { inboxes, next_command, .. } = self;
        want.worlds.retain(|&world| {
            let Some(inbox) = inboxes.get(world) else { return false };
            let action = Action::PutSolid(Box::new(known.clone()));
            let has_room = inbox.push_command(Command::by_node(SessionKey::NODE, *next_command, action));
            *next_command += u64::from(has_room);
            !has_room
        });
        (!want.worlds.is_empty()).then_some(want)
    }
}

#[cfg(test)]
mod tests;
