//! Crash dumps, from outside of the process that crashes: the monitor that writes them and the reader that explains them.
//!
//! The server itself contains only the half in `telemetry::crash`. This half runs in other processes and may allocate and
//! take time:
//!
//! - [`monitor::run`]: the child process at the other end of the socket. [`capture`] stops the server and copies threads,
//!   stacks and registers with `minidump-writer`; a [`note::CrashNote`] is added to the dump; `recording` reads the flight
//!   recorder; `attachments` writes the files beside a dump; [`directory`] keeps the files within their quota.
//! - [`report::read_report`]: a dump, explained. `unwind` finds the callers of each thread from its saved stack, [`symbols`] finds
//!   the executable of the same build id, and functions and lines in it; [`report`] formats the result as text.
//!
//! Dumps are minidumps, so other tools (`minidump-stackwalk`, lldb) read them too.
//!
//! This crate knows nothing of worlds, configuration or the command line. Start at [`monitor::run`] or [`report::read_report`].

mod attachments;
pub mod capture;
pub mod directory;
mod limiter;
pub mod monitor;
pub mod note;
mod recording;
pub mod report;
pub mod symbols;
mod unwind;
