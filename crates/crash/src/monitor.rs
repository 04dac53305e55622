//! `throng crash-monitor`: the child of the server that writes its dumps.
//!
//! It blocks in `read` until the server reports a crash or ends, and ends with the server. A summary takes memory, so
//! another process makes it (`throng crash show`) and the monitor stays small. When a dump takes longer than [`DEADLINE`]
//! the monitor ends itself, so that the server does not stay stopped because of it; the server then starts another one.
//! Files beside a dump are written by another thread (`attachments`), so that this one can receive the next crash.

use crate::attachments::{AttachmentWriter, SavedDump, summarise};
use crate::capture::capture;
use crate::directory::{CrashCause, Directory, Quota};
use crate::limiter::Limiter;
use crate::note::CrashNote;
use crate::recording;
use crate::symbols::{OWN_EXECUTABLE, Symbols};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use telemetry::crash::{CrashKind, CrashMessage, read_message, write_done};
use telemetry::recorder::Capture;

/// Maximum time that one dump may stop the server. Less than its handler waits (`telemetry::crash::PATIENCE_SLICES`).
pub const DEADLINE: Duration = Duration::from_secs(4);

/// Arguments of the monitor.
#[derive(Clone, Debug)]
pub struct MonitorConfig {
    /// The server's data directory.
    pub data: PathBuf,
    /// The server's process id.
    pub server: u32,
    /// The server's version.
    pub version: String,
    /// Ids and names of its shared worlds.
    pub worlds: Vec<(u64, String)>,
    /// Quota of fatal crashes. Survived panics have another quota of the same size.
    pub quota: Quota,
}

/// Serves one server until it ends.
///
/// # Errors
/// When the socket fails, or a message on it is malformed.
pub fn run(config: MonitorConfig, socket: UnixStream) -> io::Result<()> {
    let mut monitor = CrashMonitor::new(config);
    let served = monitor.serve_connection(&Arc::new(socket));
    // Traces and summaries of the last crash are still being written when the server has ended.
    if let Some(attachments) = monitor.attachments {
        attachments.finish();
    }
    served
}

struct CrashMonitor {
    config: MonitorConfig,
    directory: Directory,
    build_id: Option<String>,
    panics: Limiter,
    started_at: Instant,
    recorder: Option<PathBuf>,
    /// Highest numbers received: of signals, of panics.
    heard: [u32; 2],
    attachments: Option<AttachmentWriter>,
}

#[expect(clippy::disallowed_methods, reason = "a driver: it puts times into names and limits its own work")]
impl CrashMonitor {
    fn new(config: MonitorConfig) -> Self {
        let directory = Directory::of(&config.data);
        let build_id = keep_symbols(&config.data, &directory);
        Self {
            directory,
            build_id,
            panics: Limiter::default(),
            started_at: Instant::now(),
            recorder: None,
            heard: [0; 2],
            attachments: None,
            config,
        }
    }

    fn serve_connection(&mut self, socket: &Arc<UnixStream>) -> io::Result<()> {
        while let Some(message) = read_message(&mut &**socket)? {
            match message {
                CrashMessage::Recorder(path) => self.recorder = Some(path),
                CrashMessage::Crash { kind, number, context, text } => {
                    if !self.is_new(kind, number) {
                        continue;
                    }
                    let written = if self.is_wanted(kind, &text) {
                        let late = give_up(self.config.server, socket, kind, number);
                        self.dump(kind, *context, text, Watchdog::start(DEADLINE, late))
                    } else {
                        None
                    };
                    // An error means that the process has ended. The dump is complete all the same.
                    let _ = write_done(&mut &**socket, kind, number);
                    if let Some(written) = written {
                        self.write_attachments(written);
                    }
                }
            }
        }
        Ok(())
    }

    /// False for a crash that the previous monitor received already: a server repeats its report to a new monitor.
    fn is_new(&mut self, kind: CrashKind, number: u32) -> bool {
        let last = &mut self.heard[usize::from(kind.is_panic())];
        let is_new = number > *last;
        *last = number.max(*last);
        is_new
    }

    /// True for each fatal crash. Survived panics are rate-limited by place.
    fn is_wanted(&mut self, kind: CrashKind, text: &str) -> bool {
        let wanted = kind != CrashKind::Panic || self.panics.admit(self.started_at.elapsed(), text);
        if !wanted {
            tracing::warn!(text, "no dump: this place had one within the last minute");
        }
        wanted
    }

    fn crash_note(&self, kind: CrashKind, text: String) -> CrashNote {
        CrashNote {
            version: self.config.version.clone(),
            unix_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64),
            pid: self.config.server,
            build_id: self.build_id.clone(),
            panic: kind.is_panic().then_some(text),
            ..CrashNote::default()
        }
    }

    fn dump(
        &self,
        kind: CrashKind,
        context: minidump_writer::crash_context::CrashContext,
        text: String,
        watchdog: Watchdog,
    ) -> Option<SavedDump> {
        let crashed = context.tid as u32;
        let cause = if kind == CrashKind::Panic { CrashCause::Panic } else { CrashCause::Fatal };
        let mut note = self.crash_note(kind, text);
        let mut dump = match capture(context, &mut note) {
            Ok(dump) => dump,
            Err(error) => {
                tracing::error!(%error, cause = error_chain(&error), "no crash dump");
                return None;
            }
        };
        drop(watchdog);
        let recording = self.recording();
        note.doing = recording.as_ref().map(recording::doing).unwrap_or_default();
        note.append_to(&mut dump);
        match self.directory.save(cause, self.config.quota, note.unix_s, note.pid, &dump) {
            Ok(path) => {
                tracing::error!(path = %path.display(), "crash dump written");
                Some(SavedDump { dump: path, cause, note, crashed, recording })
            }
            Err(error) => {
                tracing::error!(%error, cause = error_chain(&error), "no crash dump");
                None
            }
        }
    }

    /// A copy of the recorder's memory, made while the server is stopped, so that scopes of the crashed thread are open.
    fn recording(&self) -> Option<Capture> {
        let path = self.recorder.as_ref()?;
        match recording::read_capture(path, &self.config.worlds) {
            Ok(recording) => Some(recording),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "cannot read the flight recorder's memory");
                None
            }
        }
    }

    /// Leaves the trace and the summary to the other thread, so that the server does not wait for them.
    fn write_attachments(&mut self, written: SavedDump) {
        let start = || {
            let data = self.config.data.clone();
            AttachmentWriter::start(self.directory.clone(), self.config.quota, move |dump| {
                summarise(&data, dump)
            })
        };
        self.attachments.get_or_insert_with(start).enqueue(written);
    }
}

/// Keeps the own executable, which is also the server's, for later reports. Returns its build id.
fn keep_symbols(data: &Path, directory: &Directory) -> Option<String> {
    let dumps = directory.list().unwrap_or_default();
    let notes =
        dumps.iter().filter_map(|entry| CrashNote::of(&minidump::Minidump::read_path(&entry.dump).ok()?));
    let needed: BTreeSet<String> = notes.filter_map(|note| note.build_id).collect();
    let link_from = std::env::current_exe().unwrap_or_else(|_| OWN_EXECUTABLE.into());
    match Symbols::of(data).keep_executable(&link_from, &needed) {
        Ok(id) => Some(id),
        Err(error) => {
            tracing::warn!(%error, cause = error_chain(&error), "symbols are not kept: dumps of this build may lose their lines");
            crate::symbols::build_id(Path::new(OWN_EXECUTABLE))
        }
    }
}

/// The watchdog's action: continue the server, and end this process, which hangs.
fn give_up(
    server: u32,
    socket: &Arc<UnixStream>,
    kind: CrashKind,
    number: u32,
) -> impl FnOnce() + Send + 'static {
    let socket = Arc::clone(socket);
    move || {
        tracing::error!("no crash dump: it took too long");
        release(server, &socket, kind, number);
        std::process::exit(1);
    }
}

/// Continues the server without a dump. Closing our socket is no signal to it: it holds a copy of our end.
fn release(server: u32, mut socket: &UnixStream, kind: CrashKind, number: u32) {
    let _ = write_done(&mut socket, kind, number);
    if let Some(server) = Pid::from_raw(server as i32) {
        let _ = kill_process(server, Signal::CONT);
    }
}

/// Calls a function after a deadline unless dropped before.
struct Watchdog {
    _in_time: SyncSender<()>,
}

impl Watchdog {
    fn start(deadline: Duration, late: impl FnOnce() + Send + 'static) -> Self {
        let (in_time, ended) = sync_channel(0);
        std::thread::spawn(move || {
            if ended.recv_timeout(deadline) == Err(RecvTimeoutError::Timeout) {
                late();
            }
        });
        Self { _in_time: in_time }
    }
}

fn error_chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    fn monitor(data: &Path) -> CrashMonitor {
        CrashMonitor::new(MonitorConfig {
            data: data.into(),
            server: 1,
            version: String::new(),
            worlds: Vec::new(),
            quota: Quota { dumps: 1, bytes: 1 },
        })
    }

    #[test]
    fn a_panic_that_ends_the_server_is_dumped_wherever_others_panicked_before() {
        let data = tempfile::tempdir().unwrap();
        let mut monitor = monitor(data.path());
        assert!(monitor.is_wanted(CrashKind::Panic, "world-0 panicked at a.rs:1:2: no"));
        assert!(!monitor.is_wanted(CrashKind::Panic, "world-1 panicked at a.rs:1:2: no"));
        assert!(monitor.is_wanted(CrashKind::FatalPanic, "hub panicked at a.rs:1:2: no"));
        assert!(monitor.is_wanted(CrashKind::Signal, ""));
    }

    #[test]
    fn a_crash_reported_twice_is_dumped_once() {
        let data = tempfile::tempdir().unwrap();
        let mut monitor = monitor(data.path());
        // An earlier monitor received panics 1 and 2.
        for (kind, number, is_new) in [
            (CrashKind::Panic, 3, true),
            (CrashKind::Panic, 3, false),
            (CrashKind::Signal, 1, true),
            (CrashKind::FatalPanic, 4, true),
            (CrashKind::FatalPanic, 4, false),
            (CrashKind::Signal, 1, false),
        ] {
            assert_eq!(monitor.is_new(kind, number), is_new, "{kind:?} {number}");
        }
    }

    #[test]
    fn a_server_whose_dump_takes_too_long_is_answered() {
        let (mut server, socket) = UnixStream::pair().unwrap();
        let _late = Watchdog::start(Duration::ZERO, move || {
            release(std::process::id(), &socket, CrashKind::FatalPanic, 7);
        });
        let mut answer = Vec::new();
        server.read_to_end(&mut answer).unwrap();
        let mut expected = Vec::new();
        write_done(&mut expected, CrashKind::FatalPanic, 7).unwrap();
        assert_eq!(answer, expected);
    }
}
