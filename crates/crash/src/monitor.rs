//! `throng crash-monitor`: the child of the server that writes its dumps.
//!
//! It sits in a `read` until the server tells of a crash or has ended; then it ends too. Explaining a dump takes memory, so
//! that is left to another process (`throng crash show`), and the monitor stays small. It ends itself when a dump
//! takes longer than [`DEADLINE`]: the server must not stay stopped because of its monitor. The server starts another one.

use crate::capture::capture;
use crate::directory::{Cause, Directory, PRIVATE_FILE, Quota};
use crate::limiter::Limiter;
use crate::note::Note;
use crate::recording;
use crate::symbols::{OWN_EXECUTABLE, Symbols};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use telemetry::crash::{Kind, Message, read_message, write_done};
use telemetry::recorder::Capture;

/// How long the server may be stopped for one dump. Less than what its handler waits (`telemetry::crash::PATIENCE_SLICES`).
pub const DEADLINE: Duration = Duration::from_secs(4);
/// How long explaining one dump may take.
const SUMMARY_PATIENCE: Duration = Duration::from_secs(60);
/// Dumps that wait to be explained; the `.txt` of further ones is left out.
const SUMMARIES_MAX: usize = 8;

/// What the monitor is told at its start.
#[derive(Clone, Debug)]
pub struct Config {
    /// The server's data directory.
    pub data: PathBuf,
    /// The server's process id.
    pub server: u32,
    /// The server's version.
    pub version: String,
    /// Names of its worlds, by their number.
    pub worlds: Vec<String>,
    /// Of signals' dumps; panics have another one of the same size.
    pub quota: Quota,
}

/// Serves one server until it ends.
///
/// # Errors
/// When the socket fails, or what comes is nothing that a server tells.
pub fn run(config: Config, mut socket: UnixStream) -> io::Result<()> {
    let mut monitor = Monitor::new(config);
    while let Some(message) = read_message(&mut socket)? {
        match message {
            Message::Recorder(path) => monitor.recorder = Some(path),
            Message::Crash { kind, number, context, text } => {
                if kind == Kind::Panic && !monitor.panics.admit(monitor.started_at.elapsed(), &text) {
                    tracing::warn!(text, "no dump: this place had one within the last minute");
                    write_done(&mut socket, kind, number)?;
                    continue;
                }
                let note = monitor.note(kind, text);
                let crashed = context.tid as u32;
                let written = monitor.dump(kind, *context, note);
                // When nobody waits any more the process has ended, and the dump is as good.
                let _ = write_done(&mut socket, kind, number);
                if let Some(written) = written {
                    monitor.keep_beside(crashed, written);
                }
            }
        }
    }
    monitor.end();
    Ok(())
}

struct Monitor {
    config: Config,
    directory: Directory,
    build_id: Option<String>,
    panics: Limiter,
    started_at: Instant,
    recorder: Option<PathBuf>,
    summaries: Option<(SyncSender<PathBuf>, JoinHandle<()>)>,
}

/// A dump on disk, and what else was read while the server waited.
struct Written {
    dump: PathBuf,
    note: Note,
    recording: Option<Capture>,
}

#[expect(clippy::disallowed_methods, reason = "a driver: it puts times into names and limits its own work")]
impl Monitor {
    fn new(config: Config) -> Self {
        let directory = Directory::of(&config.data);
        let build_id = keep_symbols(&config.data, &directory);
        Self {
            directory,
            build_id,
            panics: Limiter::default(),
            started_at: Instant::now(),
            recorder: None,
            summaries: None,
            config,
        }
    }

    fn note(&self, kind: Kind, text: String) -> Note {
        Note {
            version: self.config.version.clone(),
            unix_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64),
            pid: self.config.server,
            build_id: self.build_id.clone(),
            panic: (kind == Kind::Panic).then_some(text),
            ..Note::default()
        }
    }

    fn dump(
        &self,
        kind: Kind,
        context: minidump_writer::crash_context::CrashContext,
        mut note: Note,
    ) -> Option<Written> {
        let watchdog = Watchdog::start(self.config.server);
        let cause = if kind == Kind::Panic { Cause::Panic } else { Cause::Signal };
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
                Some(Written { dump: path, note, recording })
            }
            Err(error) => {
                tracing::error!(%error, cause = error_chain(&error), "no crash dump");
                None
            }
        }
    }

    /// The recorder's last seconds. The server waits meanwhile, and what crashed is still open.
    fn recording(&self) -> Option<Capture> {
        let path = self.recorder.as_ref()?;
        match recording::read(path, &self.config.worlds) {
            Ok(recording) => Some(recording),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "a crash without the flight recorder");
                None
            }
        }
    }

    /// What need not keep the server waiting: the trace and the summary.
    fn keep_beside(&mut self, crashed: u32, written: Written) {
        if let Some(recording) = written.recording {
            let path = written.dump.with_extension("perfetto-trace");
            if let Err(error) = recording::write_trace(&recording, crashed, &written.note, &path) {
                tracing::warn!(path = %path.display(), %error, "the flight recorder's last seconds are not kept");
            }
        }
        let data = self.config.data.clone();
        let (queue, _) = self.summaries.get_or_insert_with(|| {
            let (queue, dumps) = sync_channel::<PathBuf>(SUMMARIES_MAX);
            let explain = move || dumps.iter().for_each(|dump| summarise(&data, &dump));
            (queue, std::thread::spawn(explain))
        });
        if queue.try_send(written.dump).is_err() {
            tracing::warn!("too many dumps wait to be explained; throng crash show does it");
        }
    }

    /// The last summaries are written after the server's end.
    fn end(self) {
        if let Some((queue, thread)) = self.summaries {
            drop(queue);
            let _ = thread.join();
        }
    }
}

/// Keeps our executable, which is the server's too, and returns its build id.
fn keep_symbols(data: &Path, directory: &Directory) -> Option<String> {
    let dumps = directory.list().unwrap_or_default();
    let notes = dumps.iter().filter_map(|entry| Note::of(&minidump::Minidump::read_path(&entry.dump).ok()?));
    let needed: BTreeSet<String> = notes.filter_map(|note| note.build_id).collect();
    let link_from = std::env::current_exe().unwrap_or_else(|_| OWN_EXECUTABLE.into());
    match Symbols::of(data).keep(&link_from, &needed) {
        Ok(id) => Some(id),
        Err(error) => {
            tracing::warn!(%error, cause = error_chain(&error), "symbols are not kept: dumps of this build may lose their lines");
            crate::symbols::build_id(Path::new(OWN_EXECUTABLE))
        }
    }
}

/// Runs `throng crash show` into the `.txt` beside the dump.
fn summarise(data: &Path, dump: &Path) {
    let path = dump.with_extension("txt");
    let run = || -> io::Result<()> {
        let file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(PRIVATE_FILE).open(&path)?;
        let mut reader = Command::new(OWN_EXECUTABLE)
            .args(["crash", "show"])
            .arg(dump)
            .arg("--data")
            .arg(data)
            .stdin(Stdio::null())
            .stdout(file)
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

/// Ends this process, and lets the server go on, unless dropped in time.
struct Watchdog {
    _in_time: SyncSender<()>,
}

impl Watchdog {
    fn start(server: u32) -> Self {
        let (in_time, ended) = sync_channel(0);
        std::thread::spawn(move || {
            if ended.recv_timeout(DEADLINE) == Err(RecvTimeoutError::Timeout) {
                tracing::error!("no crash dump: it took too long");
                if let Some(server) = Pid::from_raw(server as i32) {
                    let _ = kill_process(server, Signal::CONT);
                }
                std::process::exit(1);
            }
        });
        Self { _in_time: in_time }
    }
}

fn error_chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
