//! One dump of another process: stop it, copy threads, stacks, registers, modules and maps, continue it.
//!
//! `minidump-writer` does it with ptrace and `process_vm_readv`; the process executes nothing meanwhile. A dump excludes the
//! heap but includes stacks and the environment, so it can contain secrets: dumps are for the operator only.

use crate::note::CrashNote;
use minidump_writer::CrashContextExt;
use minidump_writer::crash_context::CrashContext;
use minidump_writer::minidump_writer::MinidumpWriterConfig;
use std::io::Cursor;

/// Soft limit of a dump's size. When it would be exceeded, all threads after the first twenty contribute only the top of
/// their stacks.
const DUMP_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The dump could not be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the memory of process {pid}")]
pub struct CaptureError {
    pid: i32,
    #[source]
    source: Box<dyn std::error::Error + Send + Sync>,
}

/// Dumps the process of `context` into memory, so that a slow disk does not keep it stopped, and records in `note` the
/// process that sent the signal. The note is appended later ([`CrashNote::append_to`]).
///
/// # Errors
/// When the process has ended or may not be traced.
pub fn capture(mut context: CrashContext, note: &mut CrashNote) -> Result<Vec<u8>, CaptureError> {
    let pid = context.pid;
    note.sent_by = sender(&context);
    context.siginfo.ssi_addr = address(&context);
    let mut config = MinidumpWriterConfig::new(pid, context.tid);
    config.set_crash_context(CrashContextExt { inner: context });
    config.set_minidump_size_limit(DUMP_BYTES_MAX);
    config
        .write(&mut Cursor::new(Vec::new()))
        .map_err(|source| CaptureError { pid, source: source.to_string().into() })
}

/// Reads the word that follows the common head of `siginfo_t`. `crash-handler` copies the kernel's `siginfo_t` into a
/// `signalfd_siginfo`; the first 12 bytes of both agree. In `siginfo_t` there follow 4 bytes of padding, then either the
/// fault's address (8 bytes) or the sender's process id (4 bytes). In `signalfd_siginfo` these are `ssi_uid` and `ssi_fd`
/// (sigaction(2), `asm-generic/siginfo.h`).
const fn fault_word(context: &CrashContext) -> u64 {
    context.siginfo.ssi_uid as u64 | (context.siginfo.ssi_fd as u32 as u64) << 32
}

/// True if a process sent the signal: the kernel's own codes are positive.
const fn is_sent(context: &CrashContext) -> bool {
    context.siginfo.ssi_code <= 0
}

fn sender(context: &CrashContext) -> Option<u32> {
    let pid = context.siginfo.ssi_uid;
    (is_sent(context) && pid != 0 && pid != context.pid as u32).then_some(pid)
}

fn address(context: &CrashContext) -> u64 {
    if is_sent(context) { 0 } else { fault_word(context) }
}
