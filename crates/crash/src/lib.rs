//! Crash dumps, from outside of the process that crashes: the monitor that writes them and the reader that explains them.
//!
//! The process that may crash holds only the half in `telemetry::crash`. Here is the rest, which runs elsewhere and may
//! take memory and time:
//!
//! - [`monitor::run`]: the child process at the other end of the socket. [`capture`] stops the server, copies threads,
//!   stacks and registers with `minidump-writer`, and adds a [`note::Note`] of our own; `recording` reads the flight
//!   recorder; `beside` writes what lies beside a dump; [`directory`] keeps the files within their quota.
//! - [`report::read`]: a dump as people want it. `unwind` finds the callers of each thread from its saved stack,
//!   [`symbols`] finds the executable of the same build id, and functions and lines in it; [`report`] puts it in words.
//!
//! Dumps are minidumps, so other tools (`minidump-stackwalk`, lldb) read them too.
//!
//! It knows nothing of worlds, configuration or the command line.

mod beside;
pub mod capture;
pub mod directory;
mod limiter;
pub mod monitor;
pub mod note;
mod recording;
pub mod report;
pub mod symbols;
mod unwind;
