//! Captures: records of the seconds before something was slow, with the reason.
//!
//! The flight recorder ([`crate::recorder`]) holds the last seconds of every thread. When a scope exceeds its limit, a
//! [`Saver`] decides whether to keep those seconds, and a [`CaptureStore`] writes three files into a directory: the timeline for
//! Perfetto ([`perfetto`]), a [`CaptureSummary`] as text that names the culprit, and the same summary as JSON.
//!
//! Nothing here starts a thread, reads a clock or touches the recorder: the driver hands over overruns, times and captures.
//! `docs/operating/captures.md` explains the results; start there, then with [`CaptureSummary::of`].

mod cause;
mod cost;
mod culprit;
mod kernel;
mod missed;
mod nest;
pub mod perfetto;
mod saver;
mod store;
mod summary;
#[cfg(test)]
mod testing;
mod text;

pub use cause::{CaptureCause, NotATrigger, Trigger};
pub use cost::{CaptureCosts, CostRow, ThreadCost};
pub use culprit::Culprit;
pub use kernel::{KernelFigures, ThreadActivity};
pub use missed::{MISSES_MAX, MissedTick, MissedTicks, NumberedMiss};
pub use saver::{CaptureMetrics, OverrunFate, Saver};
pub use store::{CaptureEntry, CaptureLimits, CaptureStore, CaptureStoreError};
pub use summary::{CaptureSummary, OverrunReport};

use crate::recorder::{Arg, Capture};

/// A scope's name; "unknown" for a number that the capture does not list.
fn scope_name(capture: &Capture, scope: u16) -> &str {
    capture.scopes.get(usize::from(scope)).map_or("unknown", |scope| &scope.name)
}

/// The name of a recorded number. Clients and sessions share their numbers.
fn label(capture: &Capture, arg: Arg, value: u64) -> Option<&str> {
    let other = match arg {
        Arg::Client => Arg::Session,
        Arg::Session => Arg::Client,
        same => same,
    };
    let found = capture.labels.get(&(arg, value)).or_else(|| capture.labels.get(&(other, value)));
    found.map(String::as_str)
}

/// A recorded number in words: `world Harbour`, `client 17 (Ada Resident)`, `64 bytes`.
fn about(capture: &Capture, arg: Arg, value: u64) -> Option<String> {
    let name = label(capture, arg, value);
    match (arg, name) {
        (Arg::None, _) => None,
        (Arg::Bytes, _) => Some(format!("{value} bytes")),
        (Arg::Count, _) => Some(format!("{value} things")),
        (Arg::World, Some(name)) => Some(format!("world {name}")),
        (_, Some(name)) => Some(format!("{arg} {value} ({name})")),
        (_, None) => Some(format!("{arg} {value}")),
    }
}
