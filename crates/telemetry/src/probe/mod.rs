//! What recording costs, measured in a process of the build that is asked about.
//!
//! [`cost()`] compares scopes with the bare timestamps that they cannot do without; [`stall()`] looks at a thread that records
//! while captures are being saved. Both are measured in CPU time of the recording thread (CLOCK_THREAD_CPUTIME_ID), which
//! goes on only while the thread runs: what others do on the machine is not in it, as far as the kernel can tell it apart.
//!
//! This is a measuring program and no part of recording; `throng measure-recorder` runs it for the experiment `recorder`, and
//! the bench `scope` prints the first half. It promises nothing: limits are the experiment's to judge.

mod cost;
mod stall;

pub use cost::{Cost, cost};
pub use stall::{Stall, StallError, StallPlan, stall};

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of CPU that the calling thread has used.
fn thread_cpu_ns() -> u64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    // Neither is ever negative.
    used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64
}
