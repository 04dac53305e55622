//! Recordings of running worlds (`throng record`): the world plays a tape, a thread of its own writes the file.

use super::Clock;
use super::inboxes::Inbox;
use super::worlds::Worlds;
use crossbeam_channel::Sender;
use data_dir::path_below;
use gateway::http::record::{RecordingOrder, RecordingReply};
use gateway::places::{Place, Places};
use recording::{About, End, Tape, WriteError};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, BufWriter};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::oneshot;
use world::WorldConfig;

/// The longest recording, seconds: an hour of a busy world is a gigabyte.
const SECONDS_MAX: u32 = 3_600;
/// Recordings contain chat.
const PRIVATE_FILE: u32 = 0o600;
const PRIVATE_DIR: u32 = 0o700;

/// Takes orders for all worlds of the node.
pub(super) struct Recordings {
    worlds: Vec<RecordableWorld>,
    clock: Clock,
    unix_start_s: u64,
    /// The only folder written to.
    folder: PathBuf,
}

struct RecordableWorld {
    place: Arc<Place>,
    tapes: Sender<Tape>,
    inbox: Inbox,
    /// One recording of a world at a time.
    is_busy: Arc<AtomicBool>,
}

impl Recordings {
    pub(super) fn new(
        places: &Places,
        worlds: &Worlds,
        clock: &Clock,
        unix_start_s: u64,
        folder: PathBuf,
    ) -> Self {
        let recordable = places.iter().map(|place| {
            let tapes = worlds.tapes(place.world()).expect("a shared world takes recordings").clone();
            let inbox = worlds.inboxes.of(place.world()).expect("a shared world has an inbox");
            RecordableWorld { place: Arc::clone(place), tapes, inbox, is_busy: Arc::default() }
        });
        Self { worlds: recordable.collect(), clock: Arc::clone(clock), unix_start_s, folder }
    }

    /// Begins a recording.
    ///
    /// # Errors
    /// A sentence for the operator: no such world, a file that cannot be made, a recording that is under way.
    pub(super) fn begin(&self, order: RecordingOrder) -> Result<RecordingReply, String> {
        let RecordingOrder { world, seconds, out } = order;
        let found = self.worlds.iter().find(|one| one.place.name().eq_ignore_ascii_case(&world));
        let recordable = found.ok_or_else(|| {
            let names: Vec<&str> = self.worlds.iter().map(|one| one.place.name()).collect();
            format!("There is no region {world:?}; there are: {}.", names.join(", "))
        })?;
        if !(1..=SECONDS_MAX).contains(&seconds) {
            return Err(format!("A recording lasts from 1 to {SECONDS_MAX} seconds."));
        }
        let out = path_below(&self.folder, &out)?;
        if recordable.is_busy.swap(true, Ordering::AcqRel) {
            return Err(format!("{} is being recorded already.", recordable.place.name()));
        }
        let is_busy = Busy(Arc::clone(&recordable.is_busy));
        let made = DirBuilder::new().recursive(true).mode(PRIVATE_DIR).create(&self.folder);
        made.map_err(|error| format!("Cannot make {}: {error}.", self.folder.display()))?;
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(PRIVATE_FILE)
            .open(&out)
            .map_err(|error| format!("Cannot make {}: {error}.", out.display()))?;

        let now = (self.clock)();
        let (tape, reel) = Tape::new(now + Duration::from_secs(seconds.into()));
        let build = format!("throng {}", env!("CARGO_PKG_VERSION"));
        let recorded_at_s = self.unix_start_s + now.0 / 1_000_000_000;
        let about = About {
            clock_zero_ns: monotonic_ns().saturating_sub((self.clock)().0),
            ..About::new(
                recordable.place.name(),
                &build,
                recorded_at_s,
                &WorldConfig::new(recordable.place.scene.spec(), None),
            )
        };
        let place = Arc::clone(&recordable.place);
        let (outcome, answer) = oneshot::channel();
        let path = out.clone();
        let thread = std::thread::Builder::new().name("recording".into());
        let spawned = thread.spawn(move || {
            let result = recording::write(
                &reel,
                &about,
                &place.ground().terrain,
                &place.ground().scenery,
                BufWriter::new(file),
            );
            // The world notices at its next step that the reader is gone.
            drop(reel);
            let result = conclude(
                &path,
                result.and_then(|(out, end, bytes)| {
                    // The recording must survive a crash of the machine right after.
                    out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
                    Ok((end, bytes))
                }),
            );
            // An operator who has the answer may begin the next one.
            drop(is_busy);
            // Only fails when the operator did not wait.
            let _ = outcome.send(result);
        });
        if let Err(error) = spawned {
            remove(&out);
            return Err(format!("Cannot start a thread: {error}."));
        }
        // There is room: a world takes its tape before the recording that it belongs to can end.
        if recordable.tapes.try_send(tape).is_err() {
            return Err(format!("{} does not take a recording.", recordable.place.name()));
        }
        recordable.inbox.waker.wake();
        Ok(answer)
    }
}

/// Reports the result. An incomplete file is useless and takes a full disk's room.
fn conclude(path: &Path, result: Result<(End, u64), WriteError>) -> Result<String, String> {
    match result {
        Ok((end, bytes)) => {
            let End { steps, commands, ending } = end;
            tracing::info!(path = %path.display(), steps, commands, bytes, %ending, "recorded");
            Ok(format!("{steps} ticks, {commands} commands, {bytes} bytes: {ending}"))
        }
        Err(error) => {
            tracing::error!(path = %path.display(), %error, "recording failed");
            remove(path);
            Err(format!("{error}. {} was removed.", path.display()))
        }
    }
}

fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path) {
        tracing::warn!(path = %path.display(), %error, "cannot remove");
    }
}

/// Until it is dropped, a world is being recorded.
struct Busy(Arc<AtomicBool>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// The machine's monotonic clock, in nanoseconds. Bots read the same one, so that their views can be compared with a recording.
fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
