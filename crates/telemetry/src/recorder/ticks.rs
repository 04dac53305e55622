//! The processor's time stamp counter: `unsafe` of the recorder, besides `memory`.
#![cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "reading the counter has no safe wrapper"))]

/// Ticks since the start of the machine. Not ordered with the instructions around it: may be read some nanoseconds off.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and it only reads a register. A process can forbid it to itself
    // (PR_SET_TSC); this one does not.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// No counter on this processor.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn ticks() -> u64 {
    0
}
