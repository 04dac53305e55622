//! The half of crash capture that lives in the process which may crash: it tells a monitor process.
//!
//! A crashing process cannot be trusted to write its own dump: its heap may be broken, its stack full, its locks held.
//! So a child (`throng crash-monitor`, crate `crash`) sits at the other end of a socket pair, and all that happens here is
//! one write of the registers and a bounded wait for the answer. The monitor stops the process meanwhile, reads its
//! memory from outside and writes the dump.
//!
//! ```text
//!  SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT ──► signals.rs ─┐
//!                                                                    ├─► link.rs ══ socket pair ══► monitor
//!  panic ──────────────────────────────────────────────► panics.rs ──┘            ◄══ done ══
//! ```
//!
//! After a signal the process dies of that signal, whatever the monitor did. After a panic the thread goes on unwinding
//! where somebody catches it ([`Options::survives`]); elsewhere the process aborts, because a server that has lost a
//! thread serves nobody and only looks alive.
//!
//! **Alternate stacks.** A handler for stack overflow needs another stack. `std` gives each of its threads one of 8 KiB
//! (`SIGSTKSZ`, or the kernel's minimum if that is larger), of which the kernel's own frame takes 3.3 KiB with AVX-512.
//! `crash-handler` puts itself in front of `pthread_create` and gives every thread 16 KiB before `std` looks, in debug and
//! thin-LTO builds alike; [`start`] does the same for the calling thread. The stacks are touched only when used.
//!
//! **What cannot hang.** The handler runs with all these signals masked, so a crash inside of it is fatal at once. Waiting
//! ends after [`PATIENCE_SLICES`] slices of [`SLICE`], and sooner when somebody notices that the monitor has ended
//! ([`CrashCapture::monitor_ended`]). A second thread that crashes meanwhile waits for the first, which ends the process.
//!
//! Start with [`start`]. What goes over the socket is in [`Message`].

mod link;
mod message;
mod panics;
mod signals;

pub use link::{PATIENCE_SLICES, SLICE};
pub use message::{Kind, Message, read_message, write_done};
pub use panics::PANIC_TEXT_BYTES_MAX;
pub use signals::segfault;

use link::Link;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

/// Crash capture could not be started.
#[derive(Debug, thiserror::Error)]
pub enum CrashError {
    /// The socket to the monitor.
    #[error("cannot use the socket to the crash monitor")]
    Socket(#[from] io::Error),
    /// The handlers of signals.
    #[error("cannot handle the signals of crashes")]
    Signals(#[from] crash_handler::Error),
}

/// What is told apart in a crash.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether a panic of the thread of this name is caught by somebody, so that the process goes on. All others abort.
    pub survives: fn(thread: &str) -> bool,
}

/// Crash capture of this process. Dropping it gives the signals back; the panic hook stays.
pub struct CrashCapture {
    signals: crash_handler::CrashHandler,
    link: Arc<Link>,
}

impl std::fmt::Debug for CrashCapture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CrashCapture").finish_non_exhaustive()
    }
}

/// Handles the signals of crashes and panics from now on, by telling whoever reads the other end of this socket. Call it
/// once, on the main thread and before others start.
///
/// # Errors
/// When the socket takes no time limits, or the signals are handled by somebody else already.
pub fn start(socket: UnixStream, options: Options) -> Result<CrashCapture, CrashError> {
    let link = Arc::new(Link::new(socket)?);
    let for_signals = Arc::clone(&link);
    let signals = signals::attach(move |context| for_signals.report_signal(context))?;
    panics::hook(Arc::clone(&link), options);
    Ok(CrashCapture { signals, link })
}

impl CrashCapture {
    /// Names the process that may trace this one while it crashes; it matters where the kernel restricts tracing to
    /// parents (Yama). Without it, any process may for that moment. It waits while a signal is being handled.
    pub fn allow_tracer(&self, pid: u32) {
        self.signals.set_ptracer(Some(pid));
    }

    /// The monitor has ended. Threads that wait for it tell its successor once, on the same socket, and at the next call of
    /// this they go on.
    pub fn monitor_ended(&self) {
        self.link.monitor_ended();
    }

    /// Tells the monitor where it can read the flight recorder's memory: a path that outlives the process, such as
    /// `/proc/PID/fd/N`.
    ///
    /// # Errors
    /// When nobody reads the socket.
    pub fn tell_recorder(&self, path: &Path) -> io::Result<()> {
        self.link.tell_recorder(path)
    }
}

#[cfg(test)]
mod tests;
