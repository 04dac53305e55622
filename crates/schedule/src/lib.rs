//! Scheduler of thousands of worlds at fixed rates on a few threads, with long tasks beside them.
//!
//! # A frame
//!
//! Worlds of one rate share a beat: 20, 30 or 45 times a second, or at the `dt` with which they were added. At a beat, the worker that
//! keeps the time forms a *batch*: a flat list of all awake worlds of that rate, first those that missed the last beat, then the others
//! by descending expected cost, learned from recent frames. That is the serial head, some 30 ns a world. The worker calls two others,
//! each of which calls two more, and all pull worlds off the list by incrementing one index. The worker that hands back the last step
//! records the results of all: the serial tail.
//!
//! ```text
//! due       head        batch                                          tail   idle            due
//!  │ world-0 ▐▐▐ [ most expensive     ][ 9th ][13th][ … ][ ][ ]▕▕        ▐▐    │················│
//!  │ world-1   ╲ [ 2nd          ][ 5th     ][ 11th ][ … ][ ][ ][ ]▕            │················│
//!  │ world-2    ╲ [ 3rd       ][ 6th    ][10th  ][ … ][ ][ ][ ]▕               │················│
//!  │ long-0                                     ░░░ save ░░░░░░░░░░░░░░ navmesh ░░░░░░░░░░
//! ```
//!
//! Longest first: a frame waits for its last step, so with cheap worlds at the end all workers finish at about the same time.
//!
//! Exceptions:
//!
//! - **A world that takes longer than a beat** misses it, and is due again at its end, alone, off the beat. It delays itself and no
//!   other world.
//! - **Overload**: the beats of all rates come later by the same factor, and a rate's next beat waits until every world of its last one
//!   has begun. All worlds are dilated alike, and no world has two frames while another has none.
//! - **Several rates**: each has its batches; workers take the one with the earliest deadline (`schedule/flight.rs`).
//! - **A sleeping world** is on no list that is traversed. A [`Waker`] makes it due at once, off the beat; from the first beat at least
//!   `dt / 2` later it is with the others.
//! - **A world that panics** is taken out and handed back ([`Panicked`]); its owner decides on a successor.
//! - **Saves, loads, navmeshes, destruction** are [`long`] tasks on threads of low priority. If they starve, workers make room
//!   ([`starvation`]).
//!
//! World time never runs faster than wall time: frames of one world are at least `dt / 2` apart, and missed frames are not made up for.
//! Ticks have no gaps, and each stands for the same `dt`.
//!
//! # Entry points
//!
//! [`Pool`] owns the threads and runs [`Task`]s. It drives [`Schedule`], [`LongQueue`](long::LongQueue) and
//! [`Starvation`](starvation::Starvation), which decide without threads and clocks. [`model`] drives the same three on virtual time,
//! for figures that need more cores than a test machine has.
//!
//! The crate does not know worlds: a task is anything that can be stepped.

mod batch;
mod clock;
mod cost;
mod flags;
mod frames;
pub mod long;
mod mailbox;
pub mod model;
mod panics;
mod parking;
mod pool;
mod schedule;
pub mod starvation;
mod step_stats;

pub use batch::{Stay, StepJob, WORKERS_MAX};
pub use flags::WorkerFlags;
pub use frames::{
    FRAMES_MAX, FrameRecord, FrameSummary, FrameTrace, TRACE_FRAMES_MAX, TRACE_STEPS_MAX, TracedStep,
};
pub use pool::{Panicked, Pool, PoolBalance, Task, Threads, Waker};
pub use schedule::{Schedule, StepStart, TaskId};
pub use step_stats::StepStats;
