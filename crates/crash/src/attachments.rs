//! Files written beside a dump: the flight recorder's last seconds as a trace, their costs, and the dump's summary.
//!
//! Writing them takes seconds. A thread of its own does it, so that the monitor is free for the next crash. The recorder's
//! memory is copied earlier, while the server is stopped: after a panic the server continues and overwrites it.

use crate::directory::{CrashCause, Directory, Quota, create_file};
use crate::note::CrashNote;
use crate::recording;
use crate::symbols::OWN_EXECUTABLE;
use rustix::process::{Pid, Signal, kill_process};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use telemetry::recorder::Capture;

/// Time limit of one summary; its process is killed after that.
const SUMMARY_PATIENCE: Duration = Duration::from_secs(60);
/// Dumps queued for the thread. A further dump gets no files beside it.
const DUMPS_MAX: usize = 8;
/// Recordings in memory at a time, each up to the size of the recorder's memory. A further dump loses its recording.
const RECORDINGS_MAX: usize = 2;

/// A dump on disk, and the data that were read while the server was stopped.
pub(crate) struct SavedDump {
    pub(crate) dump: PathBuf,
    pub(crate) cause: CrashCause,
    pub(crate) note: CrashNote,
    /// The thread that crashed.
    pub(crate) crashed: u32,
    pub(crate) recording: Option<Capture>,
}

/// Handle of the thread that writes the files beside dumps.
pub(crate) struct AttachmentWriter {
    queue: SyncSender<SavedDump>,
    n_recordings: Arc<AtomicUsize>,
    thread: JoinHandle<()>,
}

impl AttachmentWriter {
    /// Starts the thread. `explain` writes the `.txt` beside a dump ([`summarise`]).
    pub(crate) fn start(
        directory: Directory,
        quota: Quota,
        explain: impl Fn(&Path) + Send + 'static,
    ) -> Self {
        let (queue, dumps) = sync_channel::<SavedDump>(DUMPS_MAX);
        let n_recordings = Arc::new(AtomicUsize::new(0));
        let n_left = Arc::clone(&n_recordings);
        let work = move || {
            for written in dumps {
                let (dump, cause) = (written.dump.clone(), written.cause);
                if write_recording(written) {
                    n_left.fetch_sub(1, Ordering::Relaxed);
                }
                explain(&dump);
                if let Err(error) = directory.enforce_quota(cause, quota, &dump) {
                    tracing::warn!(%error, "the quota of crash dumps is not enforced");
                }
            }
        };
        Self { queue, n_recordings, thread: std::thread::spawn(work) }
    }

    /// Queues a dump for the thread without blocking. Over a bound it drops the recording, or all files beside the dump.
    pub(crate) fn enqueue(&self, mut written: SavedDump) {
        if written.recording.is_some() {
            if self.n_recordings.load(Ordering::Relaxed) < RECORDINGS_MAX {
                self.n_recordings.fetch_add(1, Ordering::Relaxed);
            } else {
                written.recording = None;
                tracing::warn!("no last seconds beside this dump: too many recordings are queued");
            }
        }
        let has_recording = written.recording.is_some();
        if self.queue.try_send(written).is_err() {
            if has_recording {
                self.n_recordings.fetch_sub(1, Ordering::Relaxed);
            }
            tracing::warn!("no summary beside this dump: too many dumps are queued; use throng crash show");
        }
    }

    /// Waits until every queued dump has its files.
    pub(crate) fn finish(self) {
        drop(self.queue);
        let _ = self.thread.join();
    }
}

/// Writes the trace and the costs. Returns true if there was a recording, whose memory is then released.
fn write_recording(written: SavedDump) -> bool {
    let SavedDump { dump, note, crashed, recording: Some(recording), .. } = written else { return false };
    let told = |path: &Path, result: io::Result<()>| {
        if let Err(error) = result {
            tracing::warn!(path = %path.display(), %error, "cannot write the flight recorder's last seconds");
        }
    };
    let path = dump.with_extension(recording::TRACE);
    told(&path, recording::write_trace(&recording, crashed, &note, &path));
    let path = dump.with_extension(recording::COSTS);
    told(&path, recording::write_costs(&recording, crashed, &note, &path));
    true
}

/// Runs `throng crash show` into the `.txt` beside the dump.
pub(crate) fn summarise(data: &Path, dump: &Path) {
    let path = dump.with_extension("txt");
    let run = || -> io::Result<()> {
        let mut reader = Command::new(OWN_EXECUTABLE)
            .args(["crash", "show"])
            .arg(dump)
            .arg("--data")
            .arg(data)
            .stdin(Stdio::null())
            .stdout(create_file(&path)?)
            .spawn()?;
        let pid = Pid::from_child(&reader);
        let (done, ended) = sync_channel::<()>(0);
        std::thread::spawn(move || {
            if ended.recv_timeout(SUMMARY_PATIENCE) == Err(RecvTimeoutError::Timeout) {
                let _ = kill_process(pid, Signal::KILL);
            }
        });
        let status = reader.wait()?;
        drop(done);
        if status.success() { Ok(()) } else { Err(io::Error::other(status.to_string())) }
    };
    if let Err(error) = run() {
        tracing::warn!(path = %path.display(), %error, "no summary");
        let _ = std::fs::remove_file(&path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::fs;

    const QUOTA: Quota = Quota { dumps: 20, bytes: 1_000 };

    /// A file of `bytes` zeros saved as a dump.
    fn written(directory: &Directory, unix_s: i64, bytes: usize) -> SavedDump {
        let cause = CrashCause::Panic;
        let dump = directory.save(cause, QUOTA, unix_s, 1, &vec![0; bytes]).unwrap();
        SavedDump { dump, cause, note: CrashNote::default(), crashed: 1, recording: Some(Capture::default()) }
    }

    #[test]
    fn an_endless_trace_keeps_no_thread_waiting() {
        let data = tempfile::tempdir().unwrap();
        let directory = Directory::of(data.path());
        let attachments = AttachmentWriter::start(directory.clone(), QUOTA, |_| {});
        let (first, second) = (written(&directory, 1, 1), written(&directory, 2, 1));
        // Opening a FIFO for writing blocks until it has a reader.
        let slow = first.dump.with_extension(recording::TRACE);
        mknodat(CWD, &slow, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let fast = second.dump.with_extension(recording::TRACE);
        attachments.enqueue(first);
        attachments.enqueue(second);
        assert!(!fast.exists(), "they are written in turn");
        assert!(!fs::read(slow).unwrap().is_empty());
        attachments.finish();
        assert!(fast.exists(), "an unfinished trace is waited for at the end");
    }

    #[test]
    fn recordings_in_memory_are_few() {
        let data = tempfile::tempdir().unwrap();
        let directory = Directory::of(data.path());
        let attachments = AttachmentWriter::start(directory.clone(), QUOTA, |_| {});
        let all: Vec<SavedDump> = (0..4).map(|n| written(&directory, n, 1)).collect();
        let traces: Vec<PathBuf> = all.iter().map(|one| one.dump.with_extension(recording::TRACE)).collect();
        mknodat(CWD, &traces[0], FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        all.into_iter().for_each(|one| attachments.enqueue(one));
        fs::read(&traces[0]).unwrap();
        attachments.finish();
        let kept: Vec<bool> = traces.iter().map(|path| path.exists()).collect();
        assert_eq!(kept, [true, true, false, false]);
    }

    #[test]
    fn files_beside_dumps_count_too() {
        let data = tempfile::tempdir().unwrap();
        let directory = Directory::of(data.path());
        let attachments = AttachmentWriter::start(directory.clone(), QUOTA, |_| {});
        // Both dumps fit the quota without traces, and exceed it with any trace.
        let (first, second) = (written(&directory, 1, 500), written(&directory, 2, 500));
        let newest = second.dump.clone();
        attachments.enqueue(first);
        attachments.enqueue(second);
        attachments.finish();
        let left = directory.list().unwrap();
        assert_eq!(left.iter().map(|entry| &entry.dump).collect::<Vec<_>>(), [&newest]);
        assert!(newest.with_extension(recording::TRACE).exists());
        assert!(left[0].bytes <= QUOTA.bytes);
    }
}
