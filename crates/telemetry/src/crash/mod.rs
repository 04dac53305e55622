//! The half of crash capture inside of the process that may crash: it reports to a monitor process.
//!
//! A crashing process cannot be trusted to write its own dump: its heap may be corrupt, its stack full, its locks held. So
//! a child (`throng crash-monitor`, crate `crash`) holds the other end of a socket pair, and this half only writes the
//! registers and waits, bounded, for the answer. Meanwhile the monitor stops the process, reads its memory from outside and
//! writes the dump.
//!
//! ```text
//!  SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT ──► signals.rs ─┐
//!                                                                    ├─► link.rs ══ socket pair ══► monitor
//!  panic ──────────────────────────────────────────────► panics.rs ──┘            ◄══ done ══
//! ```
//!
//! After a signal the process dies of that signal, independent of the monitor. After a panic the thread unwinds where the
//! panic is caught ([`Options::survives`]); elsewhere the process aborts, because a server that has lost a thread looks alive
//! but serves no client.
//!
//! **Alternate stacks.** A handler for stack overflow needs another stack. `std` gives each of its threads one of 8 KiB
//! (`SIGSTKSZ`, or the kernel's minimum if that is larger), of which the kernel's own frame takes 3.3 KiB with AVX-512.
//! `crash-handler` interposes `pthread_create` and gives every thread 16 KiB before `std` looks, in debug and thin-LTO builds
//! alike; [`start`] does the same for the calling thread. Unused stacks are never touched.
//!
//! **No hang.** The handler runs with all these signals masked, so a crash inside of it is fatal at once. Waiting ends after
//! [`PATIENCE_SLICES`] slices of [`SLICE`], and earlier when the end of the monitor is noticed
//! ([`CrashCapture::monitor_ended`]). A second thread that crashes meanwhile waits for the first, which ends the process.
//!
//! Start with [`start`]. The socket's protocol is in [`CrashMessage`].

mod link;
mod message;
mod panics;
mod signals;

pub use link::{PATIENCE_SLICES, SLICE};
pub use message::{CrashKind, CrashMessage, read_message, write_done};
pub use panics::{PANIC_TEXT_BYTES_MAX, abort_on_panic};
pub use signals::segfault;

use link::MonitorLink;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

/// Crash capture could not be started.
#[derive(Debug, thiserror::Error)]
pub enum CrashError {
    /// The socket to the monitor failed.
    #[error("cannot use the socket to the crash monitor")]
    Socket(#[from] io::Error),
    /// Signal handlers could not be installed.
    #[error("cannot handle the signals of crashes")]
    Signals(#[from] crash_handler::Error),
}

/// Options of crash capture.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// True for the name of a thread whose panics are caught, so that the process continues. A panic of any other aborts.
    pub survives: fn(thread: &str) -> bool,
}

/// Crash capture of this process. Dropping it removes the signal handlers; the panic hook stays.
pub struct CrashCapture {
    signals: crash_handler::CrashHandler,
    link: Arc<MonitorLink>,
}

impl std::fmt::Debug for CrashCapture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CrashCapture").finish_non_exhaustive()
    }
}

/// Installs handlers for crash signals and panics, which report to the reader of this socket's other end. Call it once, on
/// the main thread and before other threads start.
///
/// # Errors
/// When time limits cannot be set on the socket, or the signals have other handlers already.
pub fn start(socket: UnixStream, options: Options) -> Result<CrashCapture, CrashError> {
    let link = Arc::new(MonitorLink::new(socket)?);
    let for_signals = Arc::clone(&link);
    let signals = signals::attach(move |context| for_signals.report_signal(context))?;
    panics::hook(Arc::clone(&link), options);
    Ok(CrashCapture { signals, link })
}

impl CrashCapture {
    /// Permits this process to trace the calling one during a crash, where the kernel restricts tracing to parents (Yama).
    /// Without this call any process may for that moment. Waits while a signal is being handled.
    pub fn allow_tracer(&self, pid: u32) {
        self.signals.set_ptracer(Some(pid));
    }

    /// Reports that the monitor has ended. Waiting threads repeat their message once, for the next monitor on the same
    /// socket; after another call they give up.
    pub fn monitor_ended(&self) {
        self.link.monitor_ended();
    }

    /// Sends the path of the flight recorder's memory to the monitor. The path must outlive a crash: `/proc/PID/fd/N`.
    ///
    /// # Errors
    /// When the socket has no reader.
    pub fn send_recorder_path(&self, path: &Path) -> io::Result<()> {
        self.link.send_recorder_path(path)
    }
}

#[cfg(test)]
mod tests;
