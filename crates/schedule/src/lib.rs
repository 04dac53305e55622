//! Runs thousands of worlds at their fixed rates on a few threads, and what takes longer beside them.
//!
//! # A frame
//!
//! Worlds of one rate share a beat: 20, 30, 45 times a second, or whatever `dt` they were added with. When it comes, the worker that
//! keeps the time forms a *batch*: one flat list of all awake worlds of that rate, those first that missed the last beat, then
//! those that are expected to take longest, as learned from their recent frames. That is the serial head, some 30 ns a world. The worker
//! calls two others, who call two others, and all of them pull worlds off the list by counting one index up, until there are none. Whoever
//! hands back the last step takes down what all of them took: the serial tail. Then everybody waits for the next beat.
//!
//! ```text
//! due       head        batch                                          tail   idle            due
//!  │ world-0 ▐▐▐ [ dearest world      ][ 9th ][13th][ … ][ ][ ]▕▕        ▐▐    │················│
//!  │ world-1   ╲ [ 2nd          ][ 5th     ][ 11th ][ … ][ ][ ][ ]▕            │················│
//!  │ world-2    ╲ [ 3rd       ][ 6th    ][10th  ][ … ][ ][ ][ ]▕               │················│
//!  │ long-0                                     ░░░ save ░░░░░░░░░░░░░░ navmesh ░░░░░░░░░░
//! ```
//!
//! The longest first, because what is begun last is what the whole frame waits for: with cheap worlds at the end all workers are done
//! at about the same time.
//!
//! What does not fit into this picture:
//!
//! - **A world that takes longer than a beat** misses it and is due again when it is done, alone, off the beat. It slows itself
//!   down and nobody else.
//! - **More work than the workers can do**: the beats of all rates come later by the same factor, and the next one of a rate waits
//!   until every world of its last one has begun. So all worlds are dilated alike, and none has two frames where another has none.
//! - **Several rates**: each has its batches; workers take the one whose deadline comes first (`schedule/flight.rs`).
//! - **A world that sleeps** is on no list that anybody goes through. A [`Waker`] brings it back at once, off the beat, and from the
//!   first beat at least half a `dt` later it is with the others.
//! - **A world that panics** is taken out and handed back ([`Panicked`]); when its successor may begin is its owner's.
//! - **Saves, loads, navmeshes, destruction** are [`long`] tasks on threads of low priority. When they are not getting on,
//!   workers make room ([`starvation`]).
//!
//! World time never runs faster than the wall's: frames of one world are half a `dt` apart at least, and what was missed is not made
//! up for. Its ticks have no gaps, and all are worth the same `dt`.
//!
//! # Where to read on
//!
//! [`Pool`] has the threads: give it [`Task`]s. It drives [`Schedule`], [`LongQueue`](long::LongQueue) and
//! [`Starvation`](starvation::Starvation), which decide, know no threads and read no clock. [`model`] drives the same three on virtual time, for
//! figures that a test machine has too few cores for.
//!
//! It does not know what a world is.

mod batch;
mod clock;
mod cost;
mod frames;
mod inbox;
mod laps;
pub mod long;
pub mod model;
mod panics;
mod parking;
mod pool;
mod schedule;
mod signs;
pub mod starvation;

pub use batch::{Job, Stay, WORKERS_MAX};
pub use frames::{
    FRAMES_MAX, FrameRecord, FrameSummary, TRACE_FRAMES_MAX, TRACE_STEPS_MAX, Trace, TracedStep,
};
pub use laps::Laps;
pub use pool::{Panicked, Pool, Standing, Task, Threads, Waker};
pub use schedule::{Schedule, Start, TaskId};
pub use signs::Signs;
