//! The processor's time stamp counter: besides `memory` the recorder's one place with `unsafe`.
#![cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "reading the counter has no safe wrapper"))]

/// Ticks since the machine was started. Not in order with what is around it: it may be read some nanoseconds earlier or later.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn ticks() -> u64 {
    // SAFETY: the instruction is part of every x86-64 processor, and reads nothing but a register. A process may have forbidden
    // itself to use it (PR_SET_TSC); this one has not.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// None on this processor.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn ticks() -> u64 {
    0
}
