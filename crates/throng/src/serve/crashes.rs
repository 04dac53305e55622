//! The server's side of crash dumps: the monitor process and the signals that wake it.

use super::ServeError;
use crate::config::Config;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use telemetry::crash::{CrashCapture, Options};

/// Keep it as long as the server runs.
pub(super) struct Crashes {
    capture: CrashCapture,
    monitor: Mutex<Monitor>,
}

/// Arguments for the next monitor, should this one die.
struct Monitor {
    child: Child,
    end: UnixStream,
    args: Vec<String>,
    recorder: Option<std::path::PathBuf>,
}

/// Threads that survive a panic: the pool removes a panicked world, the submitter of a long task gets its panic, and a panicked request
/// ends alone.
fn survives(thread: &str) -> bool {
    thread.starts_with("world-") || thread.starts_with("long-") || thread == "http"
}

/// Starts the monitor, unless no dumps are wanted, and handles crashes from now on. A panic that no thread survives ends the process in both cases.
pub(super) fn start(config: &Config) -> Result<Option<Crashes>, ServeError> {
    if config.diagnose.crash_dumps_max == 0 {
        telemetry::crash::abort_on_panic(Options { survives });
        return Ok(None);
    }
    let failed = |source| ServeError::Monitor { source };
    let (ours, end) = UnixStream::pair().map_err(failed)?;
    let args = monitor_args(config);
    let child = spawn(&args, &end).map_err(failed)?;
    let capture = telemetry::crash::start(ours, Options { survives })?;
    capture.allow_tracer(child.id());
    let monitor = Mutex::new(Monitor { child, end, args, recorder: None });
    Ok(Some(Crashes { capture, monitor }))
}

fn monitor_args(config: &Config) -> Vec<String> {
    let diagnose = &config.diagnose;
    let value = |name: &str, value: String| std::iter::once(format!("{name}={value}"));
    let data = config.server.data.display().to_string();
    let worlds =
        config.region.iter().enumerate().map(|(n, region)| format!("{}={}", region.world(n).0, region.name));
    std::iter::once("crash-monitor".to_owned())
        .chain(value("--data", data))
        .chain(value("--server", std::process::id().to_string()))
        .chain(worlds.flat_map(|label| value("--world", label)))
        .chain(value("--dumps-max", diagnose.crash_dumps_max.to_string()))
        .chain(value("--mib-max", diagnose.crash_mib_max.to_string()))
        .chain(value("--log-format", config.server.log_format.clone()))
        .chain(value("--log-filter", config.server.log_filter.clone()))
        .collect()
}

/// In a process group of its own, so that Ctrl-C does not take it away before the server has drained. It ends when the
/// last copy of the server's end of the socket closes, which is at the server's end.
fn spawn(args: &[String], end: &UnixStream) -> io::Result<Child> {
    Command::new(crash::symbols::OWN_EXECUTABLE)
        .arg0("throng")
        .args(args)
        .stdin(OwnedFd::from(end.try_clone()?))
        .stdout(Stdio::null())
        .process_group(0)
        .spawn()
}

impl Crashes {
    /// Sends the monitor the path of the flight recorder.
    pub(super) fn send_recorder_path(&self, path: &Path) {
        self.monitor.lock().unwrap_or_else(PoisonError::into_inner).recorder = Some(path.to_owned());
        self.send_recorder(path);
    }

    fn send_recorder(&self, path: &Path) {
        if let Err(error) = self.capture.send_recorder_path(path) {
            tracing::warn!(%error, "crash dumps will be without the flight recorder");
        }
    }

    /// True if the monitor runs. A dead one is restarted.
    pub(super) fn tend(&self) -> bool {
        let mut monitor = self.monitor.lock().unwrap_or_else(PoisonError::into_inner);
        let status = match monitor.child.try_wait() {
            Ok(None) => return true,
            Ok(Some(status)) => status.to_string(),
            Err(error) => error.to_string(),
        };
        tracing::error!(status, "the crash monitor has ended");
        let spawned = spawn(&monitor.args, &monitor.end);
        match &spawned {
            Ok(child) => {
                tracing::info!(pid = child.id(), "the crash monitor is started again");
                if let Some(path) = &monitor.recorder {
                    self.send_recorder(path);
                }
            }
            Err(error) => tracing::error!(%error, "cannot start the crash monitor"),
        }
        // Threads that wait for the dead monitor get its successor, which knows the recorder by now. Before the tracer: that call waits
        // while a signal is being handled.
        self.capture.monitor_ended();
        if let Ok(child) = spawned {
            self.capture.allow_tracer(child.id());
            monitor.child = child;
        }
        false
    }
}
