//! Messages on the socket between a process and its crash monitor. Both are the same executable, so there is no version,
//! and numbers are in native byte order.
//!
//! ```text
//!  to the monitor                                  back
//!   0  u32  kind: 1 signal, 2 panic, 3 recorder,    0  u32  kind: 1, 2 or 4
//!           4 panic that ends the process           4  u32  number of the message that is done
//!   4  u32  number; signals and panics are counted
//!           apart, panics of both kinds together
//!   8  u32  bytes that follow
//!  12  …    registers (CrashContext), for a panic followed by its text; or a path
//! ```
//!
//! A message is one `writev`, so messages of two threads do not interleave. It is repeated with the same number when a
//! monitor has ended: that one may or may not have read it.

use crash_handler::CrashContext;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// Maximum bytes after the header. Registers are 1.5 KiB, texts and paths at most 4 KiB.
const BODY_BYTES_MAX: usize = 64 * 1024;
pub(super) const HEADER_BYTES: usize = 12;
pub(super) const DONE_BYTES: usize = 8;

/// Kind of a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum CrashKind {
    /// A signal that ends the process.
    Signal = 1,
    /// A panic on a thread whose panics are caught: the process continues.
    Panic = 2,
    /// A panic on a thread that the process cannot do without: the process aborts.
    FatalPanic = 4,
}

impl CrashKind {
    /// True for both kinds of panics, which share one sequence of numbers.
    #[must_use]
    pub const fn is_panic(self) -> bool {
        matches!(self, Self::Panic | Self::FatalPanic)
    }
}

/// `CrashMessage::Recorder` on the wire.
pub(super) const KIND_RECORDER: u32 = 3;

/// Message from a process to its monitor.
#[derive(Clone)]
pub enum CrashMessage {
    /// A crash. The process waits until a dump has been written ([`write_done`]).
    Crash {
        /// Kind of the crash.
        kind: CrashKind,
        /// Number, repeated in the answer.
        number: u32,
        /// Registers, signal and thread.
        context: Box<CrashContext>,
        /// Thread, place and message of a panic. Empty for a signal.
        text: String,
    },
    /// Path of the flight recorder's memory.
    Recorder(PathBuf),
}

impl std::fmt::Debug for CrashMessage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Crash { kind, number, context, text } => f
                .debug_struct("Crash")
                .field("kind", kind)
                .field("number", number)
                .field("tid", &context.tid)
                .field("text", text)
                .finish(),
            Self::Recorder(path) => f.debug_tuple("Recorder").field(path).finish(),
        }
    }
}

/// The header, as bytes.
pub(super) fn header(kind: u32, number: u32, body_bytes: usize) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..4].copy_from_slice(&kind.to_ne_bytes());
    bytes[4..8].copy_from_slice(&number.to_ne_bytes());
    bytes[8..].copy_from_slice(&(body_bytes as u32).to_ne_bytes());
    bytes
}

/// Blocks until the next message; `None` when the process has ended.
///
/// # Errors
/// When the socket fails, or the bytes are no message.
pub fn read_message(socket: &mut impl Read) -> io::Result<Option<CrashMessage>> {
    let mut header = [0; HEADER_BYTES];
    match socket.read_exact(&mut header) {
        Ok(()) => {}
        // A reset: the process ended with an answer unread.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    }
    let word = |at: usize| u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let (kind, number, body_bytes) = (word(0), word(4), word(8) as usize);
    if body_bytes > BODY_BYTES_MAX {
        return Err(invalid("a message is too long"));
    }
    let mut body = vec![0; body_bytes];
    socket.read_exact(&mut body)?;
    let kind = match kind {
        KIND_RECORDER => return Ok(Some(CrashMessage::Recorder(PathBuf::from(OsString::from_vec(body))))),
        1 => CrashKind::Signal,
        2 => CrashKind::Panic,
        4 => CrashKind::FatalPanic,
        _ => return Err(invalid("a message is of no known kind")),
    };
    let (registers, text) = body
        .split_at_checked(size_of::<CrashContext>())
        .ok_or_else(|| invalid("a crash has too few registers"))?;
    let context = CrashContext::from_bytes(registers).expect("it is exactly that long");
    let text = String::from_utf8_lossy(text).into_owned();
    Ok(Some(CrashMessage::Crash { kind, number, context: Box::new(context), text }))
}

/// Answers a crash, which lets its process continue.
///
/// # Errors
/// When the socket fails: the process has ended.
pub fn write_done(socket: &mut impl Write, kind: CrashKind, number: u32) -> io::Result<()> {
    let mut bytes = [0; DONE_BYTES];
    bytes[..4].copy_from_slice(&(kind as u32).to_ne_bytes());
    bytes[4..].copy_from_slice(&number.to_ne_bytes());
    socket.write_all(&bytes)
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
