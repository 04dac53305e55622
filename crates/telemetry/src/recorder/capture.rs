//! What a reading of the recorder yields: plain data, with nothing of its layout in memory.
//!
//! Whoever writes captures down, summarises or draws them begins here. All times are nanoseconds of the system's
//! CLOCK_MONOTONIC, the same clock in every process of the machine.

use std::collections::BTreeMap;
use std::fmt;

/// The last seconds of all threads that record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    /// The horizon: a slice that ended before it was left out. Slices may have begun earlier.
    pub begin_ns: u64,
    /// When it was read. In a process that has stopped: the last thing that any of its threads recorded.
    pub end_ns: u64,
    /// What was recorded, by the number that slices, open scopes and overruns bear.
    pub scopes: Vec<ScopeInfo>,
    /// In order of their names, then of their ids.
    pub threads: Vec<ThreadRecord>,
    /// Names of what arguments stand for: (World, 0) → "Harbour". The recorder knows none; who takes the capture
    /// fills them in.
    pub labels: BTreeMap<(Arg, u64), String>,
    /// Events that should be here and are not: their memory was used again while it was read.
    pub events_lost: u64,
}

/// What is known of a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeInfo {
    /// The part of the server and what it does: `shard.client`.
    pub name: String,
    /// What its numbers mean.
    pub arg: Arg,
    /// What it is to the tick.
    pub kind: ScopeKind,
    /// What it may take before it counts as an overrun. A frame's budget is not here: it is its world's own.
    pub limit_ns: Option<u64>,
}

/// What the number recorded with a slice means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Arg {
    /// Nothing.
    #[default]
    None = 0,
    /// A world, by its `WorldId`.
    World = 1,
    /// A client, by its session's number: whom a shard served.
    Client = 2,
    /// So many bytes.
    Bytes = 3,
    /// So many things: datagrams, messages, commands.
    Count = 4,
    /// A session, by its number: on whose behalf something was done.
    Session = 5,
    /// A UDP port, by its index.
    Port = 6,
}

/// What a scope is to the tick; decides which trigger its overrun pulls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ScopeKind {
    /// Any other piece of work.
    #[default]
    Scope = 0,
    /// One phase of a world's step.
    System = 1,
    /// A world's whole step.
    Frame = 2,
}

/// What one thread recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadRecord {
    /// As it calls itself: `shard-0`.
    pub name: String,
    /// The kernel's number of it.
    pub tid: u32,
    /// In order of their beginnings, parents before their children, which lie inside of them.
    pub slices: Vec<Slice>,
    /// In order of time.
    pub samples: Vec<Sample>,
    /// What it was in the middle of, the outermost first.
    pub open: Vec<Open>,
    /// Blocks whose events it gave up before the horizon since it began, because there was no free block. When this
    /// rises, the thread's record reaches less far back than the horizon.
    pub blocks_recycled: u64,
}

/// A scope from enter to exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Which, in [`Capture::scopes`].
    pub scope: u16,
    /// When it was entered.
    pub begin_ns: u64,
    /// When it was left.
    pub end_ns: u64,
    /// What [`ScopeInfo::arg`] says.
    pub arg: u64,
    /// How many scopes were open around it.
    pub depth: u8,
}

/// A scope that was entered and not left yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// Which, in [`Capture::scopes`].
    pub scope: u16,
    /// When it was entered.
    pub begin_ns: u64,
    /// What [`ScopeInfo::arg`] says.
    pub arg: u64,
}

/// One of the kernel's figures of a thread. All of them only rise while the thread lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When it was taken.
    pub at_ns: u64,
    /// Which figure.
    pub what: SampleKind,
    /// Its value: a sum since the thread began.
    pub value: u64,
}

/// The figures that tell working from waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum SampleKind {
    /// Nanoseconds on a core.
    RunNs = 0,
    /// Nanoseconds ready to run, but in the run queue, since somebody else had the core.
    WaitNs = 1,
    /// Page faults served from memory.
    MinorFaults = 2,
    /// Page faults that waited for a disk.
    MajorFaults = 3,
    /// Times it gave up the core to wait for something.
    VoluntarySwitches = 4,
    /// Times the core was taken away from it.
    InvoluntarySwitches = 5,
    /// Nanoseconds it waited for locks of ours that somebody else held.
    LockWaitNs = 6,
}

impl Arg {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 7] =
        [Self::None, Self::World, Self::Client, Self::Bytes, Self::Count, Self::Session, Self::Port];

    /// As it stands in captures and summaries: `client`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::World => "world",
            Self::Client => "client",
            Self::Bytes => "bytes",
            Self::Count => "count",
            Self::Session => "session",
            Self::Port => "port",
        }
    }
}

impl ScopeKind {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Scope, Self::System, Self::Frame];

    /// The name of the trigger: `system`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scope => "scope",
            Self::System => "system",
            Self::Frame => "frame",
        }
    }
}

impl SampleKind {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 7] = [
        Self::RunNs,
        Self::WaitNs,
        Self::MinorFaults,
        Self::MajorFaults,
        Self::VoluntarySwitches,
        Self::InvoluntarySwitches,
        Self::LockWaitNs,
    ];

    /// As it stands in captures, with its unit: `run_ns`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RunNs => "run_ns",
            Self::WaitNs => "wait_ns",
            Self::MinorFaults => "minor_faults",
            Self::MajorFaults => "major_faults",
            Self::VoluntarySwitches => "voluntary_switches",
            Self::InvoluntarySwitches => "involuntary_switches",
            Self::LockWaitNs => "lock_wait_ns",
        }
    }
}

impl fmt::Display for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for ScopeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for SampleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Slice {
    /// How long it took.
    #[must_use]
    pub const fn took_ns(&self) -> u64 {
        self.end_ns - self.begin_ns
    }
}

/// A scope took longer than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overrun {
    /// Which trigger it pulls.
    pub kind: ScopeKind,
    /// Which scope, in [`Capture::scopes`] of every capture of this recorder.
    pub scope: u16,
    /// What the scope's [`ScopeInfo::arg`] says.
    pub arg: u64,
    /// How long it took.
    pub took_ns: u64,
    /// How long it might have.
    pub limit_ns: u64,
    /// The thread, by [`ThreadRecord::tid`].
    pub thread: u32,
    /// When it ended.
    pub at_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_memory_stand_for_the_same_as_positions_in_the_lists() {
        assert!(Arg::ALL.iter().enumerate().all(|(n, &arg)| arg as usize == n));
        assert!(ScopeKind::ALL.iter().enumerate().all(|(n, &kind)| kind as usize == n));
        assert!(SampleKind::ALL.iter().enumerate().all(|(n, &what)| what as usize == n));
    }
}
