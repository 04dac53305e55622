//! Cost of recording, measured in a process of the build in question.
//!
//! [`cost()`] compares scopes with the bare timestamps that they need; [`stall()`] observes a thread that records while
//! captures are saved. Both measure CPU time of the recording thread (CLOCK_THREAD_CPUTIME_ID), which advances only while
//! the thread runs: other load on the machine is excluded as far as the kernel separates it.
//!
//! This is a measuring program and no part of recording. `throng measure-recorder` runs it for the experiment `recorder`, and
//! the bench `scope` prints the first half. It asserts no limits; the experiment does.

mod cost;
mod stall;

pub use cost::{RecordingCost, cost};
pub use stall::{SaverStall, StallError, StallPlan, stall};

use rustix::time::{ClockId, clock_gettime};

/// CPU time of the calling thread, nanoseconds.
fn thread_cpu_ns() -> u64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    // Both fields are non-negative.
    used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64
}
