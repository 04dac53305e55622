//! The directory of captures, with a quota for each trigger.
//!
//! A capture is three files with one name, `UTC-TRIGGER-N`: `.perfetto-trace`, `.txt` and `.json`. They are written under
//! temporary names and renamed when complete, the trace last: a capture with a trace is complete. Eviction: when a
//! trigger's quota, or the disk, has no room for the next capture, the oldest of the same trigger are removed; never those
//! of another one.

use super::perfetto::{self, Origin};
use super::{CaptureCause, CaptureSummary, Trigger};
use crate::recorder::Capture;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, DirBuilder, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Disk quota and rate limit of a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureLimits {
    /// Bytes of all captures of the trigger together.
    pub quota_bytes: u64,
    /// Time between two captures of the trigger, at least.
    pub interval: Duration,
}

impl CaptureLimits {
    /// Default limits. Overruns come in swarms and one capture represents them, so they have an interval; a request of the
    /// operator is always served.
    #[must_use]
    pub const fn of(trigger: Trigger) -> Self {
        let in_swarms = matches!(trigger, Trigger::Frame | Trigger::System | Trigger::Scope);
        let interval = if in_swarms { Duration::from_secs(10) } else { Duration::ZERO };
        Self { quota_bytes: 128 << 20, interval }
    }
}

/// A capture could not be written.
#[derive(Debug, thiserror::Error)]
pub enum CaptureStoreError {
    /// The operating system refused an operation.
    #[error("cannot {step} {path}")]
    Io {
        /// Operation, as a verb.
        step: &'static str,
        /// File or directory.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The capture alone exceeds the quota of its trigger.
    #[error("a {trigger} capture of {bytes} bytes does not fit into the quota of {quota_bytes}")]
    TooLarge {
        /// Trigger of the capture.
        trigger: Trigger,
        /// Size of the capture.
        bytes: u64,
        /// Quota of the trigger.
        quota_bytes: u64,
    },
}

impl CaptureStoreError {
    /// True if the disk, or our quota on it, is full.
    fn is_full(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        matches!(self, Self::Io { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded))
    }
}

/// A capture in the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureEntry {
    /// Time of the capture: `20261121T214512Z`.
    pub utc: String,
    /// Its trigger.
    pub trigger: Trigger,
    /// Sequence number in the directory.
    pub n: u64,
    /// Bytes of its files together.
    pub bytes: u64,
}

/// Extensions of a capture's files. The trace is written last and removed first.
const ENDINGS: [&str; 3] = ["json", "txt", TRACE];
const TRACE: &str = "perfetto-trace";
/// Format of the time in a name.
const UTC: &str = "%Y%m%dT%H%M%SZ";
/// Temporary name of a capture that is being written.
const UNFINISHED: &str = "unfinished";
/// Captures name users, so only the owner may read them.
const PRIVATE_DIR: u32 = 0o700;

impl CaptureEntry {
    /// Name of its files without extension.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}-{}-{}", self.utc, self.trigger, self.n)
    }

    /// Time of the capture in milliseconds since 1970, in steps of a second; `None` if the name has no valid time.
    #[must_use]
    pub fn unix_ms(&self) -> Option<i64> {
        let taken = DateTime::strptime(UTC, &self.utc).ok()?;
        Some(taken.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond())
    }

    /// Parses a name. Rejects everything but names of captures, so that a name cannot lead elsewhere in the file system.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let mut parts = name.split('-');
        let (utc, trigger, n) = (parts.next()?, parts.next()?, parts.next()?);
        let plain = utc.len() == 16 && utc.bytes().all(|byte| byte.is_ascii_alphanumeric());
        (plain && parts.next().is_none()).then_some(())?;
        Some(Self { utc: utc.into(), trigger: trigger.parse().ok()?, n: n.parse().ok()?, bytes: 0 })
    }
}

/// The directory of captures. Created with the first capture, so that a full or read-only disk does not prevent the start
/// of the server.
#[derive(Debug)]
pub struct CaptureStore {
    dir: PathBuf,
}

impl CaptureStore {
    /// The captures in this directory, which need not exist.
    #[must_use]
    pub const fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Path of the directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The complete captures, the oldest first.
    ///
    /// # Errors
    /// When the directory exists but cannot be read.
    pub fn list(&self) -> Result<Vec<CaptureEntry>, CaptureStoreError> {
        Ok(self.scan()?.into_iter().filter(|found| found.is_complete).map(|found| found.entry).collect())
    }

    /// The complete captures within `within` of a time, the nearest first.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub fn near(&self, unix_ms: u64, within: Duration) -> Result<Vec<CaptureEntry>, CaptureStoreError> {
        let within = i128::try_from(within.as_millis()).unwrap_or(i128::MAX);
        let distance =
            |entry: &CaptureEntry| Some((i128::from(entry.unix_ms()?) - i128::from(unix_ms)).abs());
        let mut near: Vec<(i128, CaptureEntry)> = self
            .list()?
            .into_iter()
            .filter_map(|entry| Some((distance(&entry).filter(|&far| far <= within)?, entry)))
            .collect();
        near.sort_by_key(|(far, entry)| (*far, std::cmp::Reverse(entry.n)));
        Ok(near.into_iter().map(|(_, entry)| entry).collect())
    }

    /// The path of a capture's file; `None` for a name that no capture's file can have. The file need not exist.
    #[must_use]
    pub fn path_of(&self, file_name: &str) -> Option<PathBuf> {
        let (name, ending) = file_name.split_once('.')?;
        let entry = CaptureEntry::parse(name)?;
        ENDINGS.contains(&ending).then(|| self.path(&entry.name(), ending))
    }

    /// Writes a capture after evicting the trigger's oldest ones as far as `quota_bytes` and a full disk require.
    ///
    /// # Errors
    /// When the system refuses, or the capture alone exceeds the quota. Leaves no files of the capture then.
    pub fn save(
        &mut self,
        capture: &Capture,
        cause: &CaptureCause,
        origin: &Origin,
        quota_bytes: u64,
    ) -> Result<(CaptureEntry, CaptureSummary), CaptureStoreError> {
        let result = self.try_save(capture, cause, origin, quota_bytes);
        if result.is_err() {
            self.clear_unfinished();
        }
        result
    }

    fn try_save(
        &mut self,
        capture: &Capture,
        cause: &CaptureCause,
        origin: &Origin,
        quota_bytes: u64,
    ) -> Result<(CaptureEntry, CaptureSummary), CaptureStoreError> {
        let trigger = cause.trigger();
        let create = DirBuilder::new().recursive(true).mode(PRIVATE_DIR).create(&self.dir);
        create.map_err(io_error("create", &self.dir))?;
        let found = self.scan()?;
        let n = found.last().map_or(1, |last| last.entry.n + 1);
        let entries = found.into_iter().map(|found| found.entry);
        let mut same: VecDeque<CaptureEntry> = entries.filter(|entry| entry.trigger == trigger).collect();

        let at = Timestamp::from_nanosecond(origin.unix_ns.into()).unwrap_or(Timestamp::MAX);
        let summary = CaptureSummary::of(capture, cause, format!("{at:.3}"));
        let json = serde_json::to_vec_pretty(&summary).expect("a summary becomes JSON");
        let content = CaptureContent { json, summary: &summary, capture, cause, origin };
        let bytes = loop {
            match self.write(&content) {
                Err(error) if error.is_full() => self.make_room(&content, &mut same, quota_bytes, error)?,
                written => break written?,
            }
        };
        if bytes > quota_bytes {
            return Err(CaptureStoreError::TooLarge { trigger, bytes, quota_bytes });
        }

        let mut used = sum(&same) + bytes;
        for old in same {
            if used <= quota_bytes {
                break;
            }
            self.remove(&old)?;
            used -= old.bytes;
        }
        let utc = at.strftime(UTC).to_string();
        let entry = CaptureEntry { utc, trigger, n, bytes };
        for ending in ENDINGS {
            let path = self.path(&entry.name(), ending);
            fs::rename(self.path(UNFINISHED, ending), &path).map_err(io_error("rename to", &path))?;
        }
        Ok((entry, summary))
    }

    /// Writes the temporary files and returns their size.
    fn write(&self, content: &CaptureContent<'_>) -> Result<u64, CaptureStoreError> {
        let mut bytes = 0;
        for ending in ENDINGS {
            let path = self.path(UNFINISHED, ending);
            let written = File::create(&path).and_then(|file| {
                let mut out = BufWriter::new(file);
                content.write(ending, &mut out)?;
                Ok(out.into_inner().map_err(io::IntoInnerError::into_error)?.metadata()?.len())
            });
            bytes += written.map_err(io_error("write", &path))?;
        }
        Ok(bytes)
    }

    /// Removes the oldest captures of the same trigger for a capture that the disk had no room for: at least one, so that
    /// repeated attempts terminate. Removes none if all of them would not make enough room: then others fill the disk, and
    /// removing captures would not help.
    fn make_room(
        &self,
        content: &CaptureContent<'_>,
        same: &mut VecDeque<CaptureEntry>,
        quota_bytes: u64,
        error: CaptureStoreError,
    ) -> Result<(), CaptureStoreError> {
        let mut room = self.clear_unfinished();
        let needed = content.bytes();
        if needed > quota_bytes.min(room + sum(same)) {
            return Err(error);
        }
        loop {
            let Some(old) = same.pop_front() else { return Err(error) };
            self.remove(&old)?;
            room += old.bytes;
            if room >= needed {
                return Ok(());
            }
        }
    }

    /// Removes the temporary files and returns the bytes that they occupied.
    fn clear_unfinished(&self) -> u64 {
        let mut bytes = 0;
        for ending in ENDINGS {
            let path = self.path(UNFINISHED, ending);
            bytes += fs::metadata(&path).map_or(0, |metadata| metadata.len());
            // Writing may have failed before this file was created.
            let _ = fs::remove_file(path);
        }
        bytes
    }

    fn remove(&self, entry: &CaptureEntry) -> Result<(), CaptureStoreError> {
        for ending in ENDINGS.iter().rev() {
            let path = self.path(&entry.name(), ending);
            match fs::remove_file(&path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(CaptureStoreError::Io { step: "remove", path, source });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// All files with a capture's name, grouped by capture, in order of its number.
    fn scan(&self) -> Result<Vec<ScannedCapture>, CaptureStoreError> {
        let mut found: BTreeMap<(u64, String), ScannedCapture> = BTreeMap::new();
        let files = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(io_error("read", &self.dir))?,
        };
        for file in files {
            let file = file.map_err(io_error("read", &self.dir))?;
            let file_name = file.file_name();
            let parts = file_name.to_str().and_then(|name| name.split_once('.'));
            let Some((entry, ending)) =
                parts.and_then(|(name, ending)| Some((CaptureEntry::parse(name)?, ending)))
            else {
                continue;
            };
            // A file removed meanwhile occupies nothing.
            let bytes = file.metadata().map_or(0, |metadata| metadata.len());
            let one = found
                .entry((entry.n, entry.name()))
                .or_insert_with(|| ScannedCapture { entry, is_complete: false });
            one.entry.bytes += bytes;
            one.is_complete |= ending == TRACE;
        }
        Ok(found.into_values().collect())
    }

    fn path(&self, name: &str, ending: &str) -> PathBuf {
        self.dir.join(format!("{name}.{ending}"))
    }
}

struct ScannedCapture {
    entry: CaptureEntry,
    is_complete: bool,
}

fn sum(entries: &VecDeque<CaptureEntry>) -> u64 {
    entries.iter().map(|entry| entry.bytes).sum()
}

/// Content of a capture's files.
struct CaptureContent<'a> {
    json: Vec<u8>,
    summary: &'a CaptureSummary,
    capture: &'a Capture,
    cause: &'a CaptureCause,
    origin: &'a Origin,
}

impl CaptureContent<'_> {
    fn write(&self, ending: &str, out: &mut impl Write) -> io::Result<()> {
        match ending {
            TRACE => perfetto::write(self.capture, self.cause, self.origin, out),
            "txt" => write!(out, "{}", self.summary),
            _ => out.write_all(&self.json),
        }
    }

    /// Size of the files, found by writing them to a counter.
    fn bytes(&self) -> u64 {
        let mut counter = ByteCounter(0);
        for ending in ENDINGS {
            self.write(ending, &mut counter).expect("counting does not fail");
        }
        counter.0
    }
}

/// Counts written bytes.
struct ByteCounter(u64);

impl Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn io_error(step: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CaptureStoreError {
    let path = path.to_owned();
    move |source| CaptureStoreError::Io { step, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captures::testing;

    const PLENTY: u64 = 1 << 30;

    fn origin(unix_s: u64) -> Origin {
        Origin { pid: 1, process: "throng".into(), unix_ns: unix_s * 1_000_000_000 }
    }

    fn save(
        store: &mut CaptureStore,
        cause: &CaptureCause,
        unix_s: u64,
        quota_bytes: u64,
    ) -> Result<CaptureEntry, CaptureStoreError> {
        store.save(&testing::slow_movement(), cause, &origin(unix_s), quota_bytes).map(|(entry, _)| entry)
    }

    fn names(store: &CaptureStore) -> Vec<String> {
        store.list().unwrap().iter().map(CaptureEntry::name).collect()
    }

    #[test]
    fn a_capture_is_three_files_with_one_name() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = CaptureStore::new(dir.path().join("captures"));
        assert_eq!(store.list().unwrap(), []);
        let entry = save(&mut store, &testing::overrun_of_slow_movement(), 1_795_297_512, PLENTY).unwrap();
        assert_eq!(entry.name(), "20261121T214512Z-system-1");
        assert_eq!(store.list().unwrap(), std::slice::from_ref(&entry));
        let read =
            |ending: &str| fs::read(store.path_of(&format!("{}.{ending}", entry.name())).unwrap()).unwrap();
        let summary: CaptureSummary = serde_json::from_slice(&read("json")).unwrap();
        assert_eq!(summary.at, "2026-11-21T21:45:12.000Z");
        assert_eq!(String::from_utf8(read("txt")).unwrap(), summary.to_string());
        let sizes = ["json", "txt", "perfetto-trace"].map(|ending| read(ending).len() as u64);
        assert_eq!(entry.bytes, sizes.iter().sum::<u64>());
        let all: Vec<_> = fs::read_dir(store.dir()).unwrap().collect();
        assert_eq!(all.len(), 3, "nothing unfinished is left: {all:?}");
    }

    #[test]
    fn the_noisy_evict_their_own_oldest_and_never_the_rare() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = CaptureStore::new(dir.path().into());
        let noisy = testing::overrun_of_slow_movement();
        save(&mut store, &CaptureCause::Operator, 1, PLENTY).unwrap();
        let one = save(&mut store, &noisy, 2, PLENTY).unwrap().bytes;
        for unix_s in 3..20 {
            save(&mut store, &noisy, unix_s, 3 * one + one / 2).unwrap();
        }
        assert_eq!(
            names(&store),
            [
                "19700101T000001Z-operator-1",
                "19700101T000017Z-system-17",
                "19700101T000018Z-system-18",
                "19700101T000019Z-system-19"
            ]
        );
    }

    #[test]
    fn a_capture_larger_than_the_quota_is_refused_and_evicts_none() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = CaptureStore::new(dir.path().into());
        save(&mut store, &CaptureCause::Operator, 1, PLENTY).unwrap();
        let error = save(&mut store, &CaptureCause::Operator, 2, 100).unwrap_err();
        assert!(matches!(error, CaptureStoreError::TooLarge { quota_bytes: 100, .. }), "{error}");
        assert_eq!(names(&store).len(), 1);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_full_disk_is_an_error_that_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = CaptureStore::new(dir.path().into());
        let unfinished = dir.path().join(format!("{UNFINISHED}.{TRACE}"));
        std::os::unix::fs::symlink("/dev/full", &unfinished).unwrap();
        let error = save(&mut store, &CaptureCause::Operator, 1, PLENTY).unwrap_err();
        let CaptureStoreError::Io { path, source, .. } = error else { panic!("{error}") };
        assert_eq!((path, source.kind()), (unfinished, io::ErrorKind::StorageFull));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        save(&mut store, &CaptureCause::Operator, 2, PLENTY).unwrap();
    }

    /// Makes writing the next capture's trace fail with a full disk, until its temporary file is removed.
    fn fill_disk(store: &CaptureStore) {
        std::os::unix::fs::symlink("/dev/full", store.path(UNFINISHED, TRACE)).unwrap();
    }

    #[test]
    fn on_a_full_disk_the_oldest_of_its_trigger_make_room_for_the_newest() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = CaptureStore::new(dir.path().into());
        let noisy = testing::overrun_of_slow_movement();
        save(&mut store, &CaptureCause::Operator, 1, PLENTY).unwrap();
        for unix_s in 2..5 {
            save(&mut store, &noisy, unix_s, PLENTY).unwrap();
        }
        fill_disk(&store);
        save(&mut store, &noisy, 5, PLENTY).unwrap();
        let kept = names(&store);
        assert_eq!(kept.first().unwrap(), "19700101T000001Z-operator-1");
        assert_eq!(
            kept[1..],
            ["19700101T000003Z-system-3", "19700101T000004Z-system-4", "19700101T000005Z-system-5"]
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 4 * ENDINGS.len());
    }

    #[test]
    fn on_a_disk_that_others_fill_nothing_goes_for_a_capture_that_has_no_room_then_either() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = CaptureStore::new(dir.path().into());
        let small = dir.path().join(format!("19700101T000001Z-operator-1.{TRACE}"));
        fs::write(&small, "small").unwrap();
        fill_disk(&store);
        let error = save(&mut store, &CaptureCause::Operator, 2, PLENTY).unwrap_err();
        assert!(error.is_full(), "{error}");
        assert_eq!(names(&store), ["19700101T000001Z-operator-1"]);

        // A capture above its quota evicts nothing either.
        save(&mut store, &CaptureCause::Operator, 3, PLENTY).unwrap();
        fill_disk(&store);
        save(&mut store, &CaptureCause::Operator, 4, 100).unwrap_err();
        assert_eq!(names(&store).len(), 2);
    }

    #[test]
    fn a_directory_that_cannot_be_written_is_an_error_with_its_path() {
        // Files cannot be created in /proc, not even by root.
        let mut store = CaptureStore::new("/proc/self".into());
        let error = save(&mut store, &CaptureCause::Operator, 1, PLENTY).unwrap_err();
        assert!(error.to_string().starts_with("cannot write /proc/self/unfinished."), "{error}");
    }

    #[test]
    fn an_interrupted_file_counts_against_the_quota_but_is_no_capture() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = CaptureStore::new(dir.path().into());
        let orphan = dir.path().join("19700101T000001Z-operator-5.json");
        fs::write(&orphan, vec![b' '; 50_000]).unwrap();
        assert_eq!(store.list().unwrap(), []);
        let entry = save(&mut store, &CaptureCause::Operator, 2, 50_000).unwrap();
        assert_eq!(entry.n, 6);
        assert!(!orphan.exists());
    }

    #[test]
    fn those_near_a_moment_come_the_nearest_first() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = CaptureStore::new(dir.path().into());
        for unix_s in [1_000, 1_060, 1_100, 2_000] {
            save(&mut store, &CaptureCause::Operator, unix_s, PLENTY).unwrap();
        }
        let near = |unix_s: u64, within_s: u64| {
            let near = store.near(unix_s * 1_000, Duration::from_secs(within_s)).unwrap();
            near.iter().map(|entry| entry.n).collect::<Vec<_>>()
        };
        assert_eq!(near(1_070, 60), [2, 3]);
        assert_eq!(near(1_070, 70), [2, 3, 1]);
        assert_eq!(near(1_080, 20), [3, 2], "of two as near, the newer");
        assert!(near(5_000, 60).is_empty());
        assert!(near(u64::MAX / 1_000, 60).is_empty());
    }

    #[test]
    fn only_names_of_captures_lead_to_files() {
        let store = CaptureStore::new("/d".into());
        let path = store.path_of("20261121T214512Z-frame-7.txt");
        assert_eq!(path.unwrap(), Path::new("/d/20261121T214512Z-frame-7.txt"));
        for wrong in [
            "../admin.token",
            "20261121T214512Z-frame-7",
            "20261121T214512Z-frame-7.sqlite",
            "20261121T214512Z-noise-7.txt",
            "../1121T214512Z-frame-7.txt",
            "20261121T214512Z-frame-7-8.txt",
            "",
        ] {
            assert_eq!(store.path_of(wrong), None, "{wrong}");
        }
    }
}
