//! The crashing process's end of the socket: report the crash, then wait for the answer, for a bounded time.
//!
//! Everything on a signal's path is async-signal-safe: system calls and atomics, no allocation, no lock, no clock.

use super::message::{CrashKind, DONE_BYTES, HEADER_BYTES, KIND_RECORDER, header};
use crash_handler::CrashContext;
use rustix::thread::gettid;
use std::io::{self, IoSlice, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::time::Duration;

/// Duration of one wait for the monitor's answer. The total wait is several of these, so that a thread also notices an
/// answer that another thread has read, and reads no clock.
pub const SLICE: Duration = Duration::from_millis(100);
/// Waits for one answer: 60 × 100 ms = 6 s, longer than the monitor's own time limit for a dump.
pub const PATIENCE_SLICES: u32 = 60;

pub(super) struct MonitorLink {
    socket: UnixStream,
    signals: Count,
    panics: Count,
    /// Thread that has its dump and is about to abort; 0 for none.
    dumped: AtomicI32,
    /// Number of monitors whose end was noticed. The socket shows no end: this process keeps the monitor's end open too,
    /// for the next monitor.
    ended: AtomicU32,
}

/// Result of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReportOutcome {
    /// The monitor has answered.
    Answered,
    /// There is no monitor to answer.
    Gone,
    /// The time limit has passed.
    Late,
}

/// Numbers of one kind of report. One thread at a time waits for each kind: signals under the lock of `crash-handler`,
/// panics under that of the hook.
#[derive(Default)]
struct Count {
    sent: AtomicU32,
    done: AtomicU32,
}

impl MonitorLink {
    pub(super) fn new(socket: UnixStream) -> io::Result<Self> {
        socket.set_read_timeout(Some(SLICE))?;
        socket.set_write_timeout(Some(SLICE))?;
        Ok(Self {
            socket,
            signals: Count::default(),
            panics: Count::default(),
            dumped: AtomicI32::new(0),
            ended: AtomicU32::new(0),
        })
    }

    /// Reports a signal, from its handler. Returns when the dump is written, the monitor is gone or the time limit has passed.
    pub(super) fn report_signal(&self, context: &CrashContext) {
        if self.dumped.load(Ordering::Relaxed) == context.tid {
            return;
        }
        self.report(CrashKind::Signal, context, "");
    }

    /// As [`report_signal`](Self::report_signal), for the panic hook. `survives`: the panic is caught and the process continues.
    pub(super) fn report_panic(&self, context: &CrashContext, text: &str, survives: bool) {
        self.report(if survives { CrashKind::Panic } else { CrashKind::FatalPanic }, context, text);
    }

    /// Suppresses the dump of the abort that follows on this thread.
    pub(super) fn expect_abort(&self) {
        self.dumped.store(gettid().as_raw_nonzero().get(), Ordering::Relaxed);
    }

    /// Notifies waiting threads that their monitor has ended and will not answer.
    pub(super) fn monitor_ended(&self) {
        self.ended.fetch_add(1, Ordering::Release);
    }

    pub(super) fn send_recorder_path(&self, path: &Path) -> io::Result<()> {
        let path = path.as_os_str().as_bytes();
        self.send(&header(KIND_RECORDER, 0, path.len()), path, &[])
    }

    /// A monitor that ends may have consumed the message, so it is sent once more, to the next monitor. If that one ends
    /// too, or none could be started, the report fails.
    pub(super) fn report(&self, kind: CrashKind, context: &CrashContext, text: &str) -> ReportOutcome {
        let count = self.count(kind);
        let number = count.sent.fetch_add(1, Ordering::Relaxed) + 1;
        let registers = context.as_bytes();
        let header = header(kind as u32, number, registers.len() + text.len());
        let send = || self.send(&header, registers, text.as_bytes()).is_ok();
        let mut ended = self.ended.load(Ordering::Acquire);
        if !send() {
            return ReportOutcome::Gone;
        }
        let mut is_repeated = false;
        for _ in 0..PATIENCE_SLICES {
            if count.done.load(Ordering::Acquire) >= number {
                return ReportOutcome::Answered;
            }
            let ended_by_now = self.ended.load(Ordering::Acquire);
            if ended_by_now != ended {
                if is_repeated || !send() {
                    return ReportOutcome::Gone;
                }
                (ended, is_repeated) = (ended_by_now, true);
            }
            if !self.poll_answer() {
                return ReportOutcome::Gone;
            }
        }
        ReportOutcome::Late
    }

    /// One system call, repeated only if a signal interrupted it: after a partial write the message is lost.
    fn send(&self, header: &[u8; HEADER_BYTES], first: &[u8], second: &[u8]) -> io::Result<()> {
        let slices = [IoSlice::new(header), IoSlice::new(first), IoSlice::new(second)];
        let wanted = header.len() + first.len() + second.len();
        let sent = match (&self.socket).write_vectored(&slices) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                (&self.socket).write_vectored(&slices)?
            }
            sent => sent?,
        };
        if sent == wanted { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    /// Waits one slice for an answer to any report. False when the monitor is gone.
    fn poll_answer(&self) -> bool {
        let mut done = [0; DONE_BYTES];
        match (&self.socket).read(&mut done) {
            Ok(DONE_BYTES) => {
                let number = u32::from_ne_bytes([done[4], done[5], done[6], done[7]]);
                let kind = u32::from_ne_bytes([done[0], done[1], done[2], done[3]]);
                let count = if kind == CrashKind::Signal as u32 { &self.signals } else { &self.panics };
                count.done.fetch_max(number, Ordering::Release);
                true
            }
            Ok(_) => false,
            // A timeout, or an interruption: the monitor stops and continues this process.
            Err(error) => matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted),
        }
    }

    /// Highest numbers answered: of signals, of panics.
    #[cfg(test)]
    pub(super) fn answered(&self) -> (u32, u32) {
        (self.signals.done.load(Ordering::Acquire), self.panics.done.load(Ordering::Acquire))
    }

    const fn count(&self, kind: CrashKind) -> &Count {
        if kind.is_panic() { &self.panics } else { &self.signals }
    }
}
