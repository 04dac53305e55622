//! An instance: a script that runs a program, with all of its state.
//!
//! It is plain data. A world passes events in ([`Instance::push`]), and has it run by slices ([`Instance::run`]), each of them at most one handler with
//! at most so much fuel. A waiting instance costs its globals and its objects; cells of handlers belong to the [`Scratch`] of the thread that runs it, and
//! to the instance only while a handler is interrupted.
//!
//! # States
//!
//! A change of state ends the handler. If the state has a `state_exit`, that is the next handler; a change of state in it is a return. Then the queue is cleared, the host
//! ends listens, sensors and targets, and `state_entry` of the new state is queued. The timer continues. A reset ends these and the timer, and begins anew in the
//! first state; random numbers and digest continue.

mod slice;

use crate::call::CallScript;
use crate::clock::Clock;
use crate::dialect::Dialect;
use crate::error::RunError;
use crate::event::{Event, EventKind};
use crate::heap::Heap;
use crate::host::Host;
use crate::program::{Place, Program};
use crate::queue::EventQueue;
use crate::random::Random;
use crate::vm::{Frame, Stack};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Logical memory of a script at most: the highest limit. It also bounds the bytes of a state, and with them the memory that damaged ones can take.
pub const MEMORY_MAX: usize = 4 << 20;

/// A script.
#[derive(Clone, Debug)]
pub struct Instance {
    pub(crate) program: Arc<Program>,
    pub(crate) script: CallScript,
    pub(crate) globals: Vec<u64>,
    /// The handler that was interrupted.
    pub(crate) handler: Option<Box<Handler>>,
    pub(crate) state: u16,
    /// The state that begins when `state_exit` has ended.
    pub(crate) next_state: Option<u16>,
    pub(crate) queue: EventQueue,
    pub(crate) failure: Option<Failure>,
    pub(crate) digest: u64,
}

/// A handler between two slices.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Handler {
    pub(crate) stack: Stack,
    pub(crate) event: EventKind,
    pub(crate) context: Arc<[u8]>,
}

/// The event of a handler that runs, and the world's knowledge of it.
type Begun = (EventKind, Arc<[u8]>);

/// Error of a script that has stopped, with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The error.
    pub error: RunError,
    /// The event whose handler has failed.
    pub event: EventKind,
    /// The number of the function.
    pub function: u16,
    /// The place in the source, if the program knows it.
    pub place: Option<Place>,
}

/// Result of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Fuel that it has used.
    pub fuel: u64,
    /// The reason of its end.
    pub end: SliceEnd,
}

/// Reason of a slice's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceEnd {
    /// There was nothing to do: no event, or none that may begin at this tick, or the script sleeps or has failed.
    Idle,
    /// A handler has ended. There may be further events.
    Done,
    /// The fuel is used up. The handler continues in the next slice.
    Spent,
    /// The handler continues at a tick.
    Sleeps(u64),
    /// The script has stopped until its reset.
    Failed(Failure),
}

/// Memory for handlers that run, used again and again.
#[derive(Debug, Default)]
pub struct Scratch {
    /// That of handlers from their beginning to their end or their first interruption.
    stack: Stack,
    /// A handler that was interrupted before. It keeps its frames where they are: a copy at each slice would cost the depth of its calls.
    resumed: Option<Box<Handler>>,
}

impl Scratch {
    /// Forgets what a panic in the middle of a slice has left behind.
    fn clear(&mut self) {
        self.stack.clear();
        self.resumed = None;
    }

    fn stack(&mut self) -> &mut Stack {
        match &mut self.resumed {
            Some(handler) => &mut handler.stack,
            None => &mut self.stack,
        }
    }
}

impl Instance {
    /// A script that begins with `state_entry` of the first state. `memory` is the limit of logical memory, up to [`MEMORY_MAX`]. A program that does not fit into it fails at
    /// once.
    #[must_use]
    pub fn new(program: Arc<Program>, memory: usize, seed: u64) -> Self {
        let memory = memory.min(MEMORY_MAX);
        let script = CallScript {
            heap: Heap::new(memory),
            random: Random::new(seed),
            clock: Clock::default(),
            memory_max: memory,
        };
        let mut instance = Self {
            program,
            script,
            globals: Vec::new(),
            handler: None,
            state: 0,
            next_state: None,
            queue: EventQueue::default(),
            failure: None,
            digest: 0,
        };
        instance.begin();
        instance
    }

    /// Its program.
    #[must_use]
    pub const fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The number of its state.
    #[must_use]
    pub const fn state(&self) -> u16 {
        self.state
    }

    /// The error with which it has stopped.
    #[must_use]
    pub const fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// Events that wait.
    #[must_use]
    pub const fn queue(&self) -> &EventQueue {
        &self.queue
    }

    /// True between two slices of one handler.
    #[must_use]
    pub const fn is_interrupted(&self) -> bool {
        self.handler.is_some()
    }

    /// Timer and waits.
    #[must_use]
    pub const fn clock(&self) -> &Clock {
        &self.script.clock
    }

    /// Digest of all slices: their events, fuel, calls to the host and draws.
    #[must_use]
    pub const fn digest(&self) -> u64 {
        self.digest
    }

    /// Logical memory in use.
    #[must_use]
    pub const fn memory_used(&self) -> usize {
        self.script.heap.used()
    }

    /// Number of strings, keys and lists.
    #[must_use]
    pub const fn n_objects(&self) -> usize {
        self.script.heap.n_objects()
    }

    /// Physical memory of heap, globals and the interrupted handler, without the program, which scripts share, and without the queue, which has a bound of its
    /// own. It follows from logical memory as that of a heap: cells and frames take at most four times what they count.
    #[must_use]
    pub fn footprint(&self) -> usize {
        let handler = self.handler.as_ref().map_or(0, |handler| {
            let Stack { frames, cells } = &handler.stack;
            size_of::<Handler>()
                + frames.capacity() * size_of::<Frame>()
                + cells.capacity() * size_of::<u64>()
        });
        self.script.heap.footprint() + self.globals.capacity() * size_of::<u64>() + handler
    }

    /// True if a slice at this tick would do something.
    #[must_use]
    pub fn is_ready(&self, tick: u64) -> bool {
        if self.failure.is_some() {
            return false;
        }
        if self.handler.is_some() {
            return self.script.clock.wake().is_none_or(|wake| wake <= tick);
        }
        let has_event = !self.queue.is_empty() && self.script.clock.next_event() <= tick;
        self.next_state.is_some() || has_event
    }

    /// The next tick at which time alone makes something due. None if only events do, or it is ready now and needs no time.
    #[must_use]
    pub fn next_due(&self) -> Option<u64> {
        if self.failure.is_some() {
            return None;
        }
        let waits = !self.queue.is_empty() && self.handler.is_none();
        let next_event = waits.then(|| self.script.clock.next_event());
        [self.script.clock.next_due(), next_event].into_iter().flatten().min()
    }

    /// Queues an event. False if it was not: the state has no handler for it, the script has failed, or the queue is full, which is counted.
    ///
    /// # Panics
    ///
    /// If the arguments are not those of the event: a fault of the world.
    pub fn push(&mut self, event: Event) -> bool {
        assert!(event.is_valid(), "arguments of {}", event.kind.name());
        let state = &self.program.source.states[usize::from(self.state)];
        self.failure.is_none()
            && state.handler(event.kind).is_some()
            && self.queue.push(event, self.program.source.dialect)
    }

    /// Queues the timer event if it is due at this tick.
    pub fn poll_timer(&mut self, tick: u64) {
        if self.failure.is_none() && self.script.clock.poll_timer(tick) {
            self.push(Event::new(EventKind::TIMER, Vec::new()));
        }
    }

    /// Ends the handler and all that waits, and begins anew in the first state.
    pub fn reset(&mut self, host: &mut dyn Host) {
        host.reset();
        self.begin();
    }

    /// State of a new script.
    fn begin(&mut self) {
        let Self { program, script, .. } = self;
        script.heap = Heap::new(script.memory_max);
        script.clock = Clock::default();
        self.globals.clone_from(&program.globals);
        (self.handler, self.state, self.next_state, self.failure) = (None, 0, None, None);
        self.queue.clear();
        if let Err(error) = script.heap.reserve(program.bytes()) {
            self.failure = Some(Failure { error, event: EventKind::STATE_ENTRY, function: 0, place: None });
            return;
        }
        self.push(Event::new(EventKind::STATE_ENTRY, Vec::new()));
    }

    /// The rules of its values.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.program.source.dialect
    }
}

#[cfg(test)]
mod tests;
