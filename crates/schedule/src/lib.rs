//! Steps all worlds of a node at their fixed rates on a small pool of threads.
//!
//! [`Pool`] is the part with threads: give it [`Task`]s. It drives [`Schedule`], which decides who runs next and sleeps on
//! nothing, and each task has a [`FrameClock`], which decides when its next frame is due and what its dilation is. Both of
//! these are sans-IO, so that the simulator runs them on virtual time.
//!
//! A task that panics is taken out and handed back ([`Panicked`]); [`Backoff`] says when its successor may begin.
//!
//! It does not know what a world is, and it does not run long tasks (saves, navmeshes); a task's step must be short.

mod backoff;
mod clock;
mod laps;
mod pool;
mod queue;

pub use backoff::Backoff;
pub use clock::{Beat, FrameClock};
pub use laps::Laps;
pub use pool::{Panicked, Pool, Task, Waker};
pub use queue::{Schedule, Start, TaskId};
