//! Captures composed by hand, for tests.

use super::CaptureCause;
use crate::recorder::{
    Arg, Capture, KernelSample, Overrun, SampleKind, ScopeInfo, ScopeKind, Slice, ThreadRecord,
};

pub(crate) const MS: u64 = 1_000_000;

pub(crate) const FRAME: u16 = 0;
pub(crate) const MOVEMENT: u16 = 1;
pub(crate) const TELL: u16 = 2;
pub(crate) const TURN: u16 = 3;
pub(crate) const CLIENT: u16 = 4;
pub(crate) const SEND: u16 = 5;

/// Begin of a capture; not 0, as on a real machine.
pub(crate) const BEGIN: u64 = 1_000_000 * MS;

/// A capture of five seconds with nothing in it but the scopes above and two labels.
pub(crate) fn empty() -> Capture {
    let scope = |name: &str, arg, kind, limit_ms: Option<u64>| ScopeInfo {
        name: name.into(),
        arg,
        kind,
        limit_ns: limit_ms.map(|ms| ms * MS),
    };
    Capture {
        begin_ns: BEGIN,
        end_ns: BEGIN + 5_000 * MS,
        scopes: vec![
            scope("world.frame", Arg::World, ScopeKind::Frame, None),
            scope("world.movement", Arg::None, ScopeKind::System, Some(20)),
            scope("world.frame.tell", Arg::None, ScopeKind::System, Some(20)),
            scope("shard.turn", Arg::None, ScopeKind::Scope, Some(50)),
            scope("shard.client", Arg::Client, ScopeKind::Scope, Some(5)),
            scope("shard.send", Arg::Count, ScopeKind::Scope, Some(5)),
        ],
        labels: [((Arg::World, 0), "Harbour".into()), ((Arg::Client, 17), "Ada Resident".into())].into(),
        ..Capture::default()
    }
}

/// Builds a thread's record. Slices may be added in any order.
pub(crate) struct ThreadBuilder(pub(crate) ThreadRecord);

impl ThreadBuilder {
    pub(crate) fn new(name: &str, tid: u32) -> Self {
        Self(ThreadRecord { name: name.into(), tid, ..ThreadRecord::default() })
    }

    /// Adds a slice; times are microseconds after [`BEGIN`].
    pub(crate) fn slice(&mut self, scope: u16, begin_us: u64, took_us: u64, arg: u64, depth: u8) -> Slice {
        let begin_ns = BEGIN + begin_us * 1_000;
        let slice = Slice { scope, begin_ns, end_ns: begin_ns + took_us * 1_000, arg, depth };
        self.0.slices.push(slice);
        slice
    }

    /// Adds the kernel's figures at a time in microseconds after [`BEGIN`].
    pub(crate) fn sample(&mut self, at_us: u64, figures: &[(SampleKind, u64)]) {
        let at_ns = BEGIN + at_us * 1_000;
        self.0.samples.extend(figures.iter().map(|&(what, value)| KernelSample { at_ns, what, value }));
    }

    /// Adds a frame of world 0: movement, tell phase, and 0.5 ms of its own.
    pub(crate) fn frame(&mut self, begin_us: u64, movement_us: u64, tell_us: u64) -> Slice {
        let frame = self.slice(FRAME, begin_us, movement_us + tell_us + 500, 0, 0);
        self.slice(MOVEMENT, begin_us, movement_us, 0, 1);
        self.slice(TELL, begin_us + movement_us, tell_us, 0, 1);
        frame
    }

    pub(crate) fn done(mut self) -> ThreadRecord {
        self.0.slices.sort_by_key(|slice| (slice.begin_ns, slice.depth));
        self.0
    }
}

/// The overrun of a slice.
pub(crate) fn overrun(capture: &Capture, thread: u32, slice: Slice, limit_ms: u64) -> CaptureCause {
    CaptureCause::Overrun(Overrun {
        kind: capture.scopes[usize::from(slice.scope)].kind,
        scope: slice.scope,
        arg: slice.arg,
        took_ns: slice.took_ns(),
        limit_ns: limit_ms * MS,
        thread,
        at_ns: slice.end_ns,
    })
}

/// Twenty frames of a world, a twentieth of a second apart, and a shard's turns; in the last frame movement takes 40 ms
/// rather than 2 ms.
pub(crate) fn slow_movement() -> Capture {
    let mut capture = empty();
    let mut world = ThreadBuilder::new("world-0", 11);
    let mut shard = ThreadBuilder::new("shard-0", 12);
    for n in 0..20 {
        let begin_us = n * 50_000;
        world.frame(begin_us, if n == 19 { 40_000 } else { 2_000 }, 1_000);
        shard.slice(TURN, begin_us + 10_000, 900, 0, 0);
        shard.slice(CLIENT, begin_us + 10_100, 200, 17, 1);
        shard.slice(CLIENT, begin_us + 10_300, 100, 18, 1);
        shard.slice(SEND, begin_us + 10_150, 50, 3, 2);
    }
    capture.threads = vec![shard.done(), world.done()];
    capture
}

/// The overrun of [`slow_movement`].
pub(crate) fn overrun_of_slow_movement() -> CaptureCause {
    let capture = slow_movement();
    let slice = *capture.threads[1].slices.iter().rfind(|slice| slice.scope == MOVEMENT).unwrap();
    overrun(&capture, 11, slice, 20)
}
