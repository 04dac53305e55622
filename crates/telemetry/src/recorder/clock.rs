//! Nanoseconds of CLOCK_MONOTONIC, quicker than the kernel tells them (ADR 0011).
//!
//! A scope reads the clock twice, and that is most of what it costs. Where the kernel itself counts time by the processor's time
//! stamp counter, a thread reads the counter and adds what has passed since it last asked the kernel, which it does again
//! when [`ANCHOR_TICKS`] are over. It reads some microseconds more or less than the kernel's clock at most, and
//! never goes back within a thread. Elsewhere every reading asks the kernel.

use super::ticks::ticks;
use std::cell::Cell;
use std::sync::OnceLock;

/// For so many ticks a thread goes by what it asked last: a twentieth of a second at 2 to 4 GHz, in which even a clock that is being
/// put right gains or loses no more than 25 µs.
const ANCHOR_TICKS: u64 = 1 << 27;

/// Before so many nanoseconds have passed, nobody knows how long a tick is.
const LEARN_NS: u64 = 100_000_000;

/// Between two readings of the counter around the kernel's clock there may be so many ticks, a microsecond or two. A thread that lost
/// its core in between would be ahead by as long as it was away, and scopes would seem that much longer.
const PAIR_TICKS: u64 = 1 << 12;

/// As long as that a thread may be ahead of the kernel's clock; beyond it was asleep with the machine, and the kernel is right.
const AHEAD_NS: u64 = 1_000_000;

/// Nanoseconds of a tick, in 2^-32.
const FRACTION_BITS: u32 = 32;

thread_local! {
    static CLOCK: Clock = const {
        Clock { ticks: Cell::new(0), ns: Cell::new(0), tick_ns: Cell::new(0), ticks_max: Cell::new(0) }
    };
}

/// What a thread last asked the kernel.
struct Clock {
    /// The counter then.
    ticks: Cell<u64>,
    /// The kernel's time then.
    ns: Cell<u64>,
    /// How long a tick is.
    tick_ns: Cell<u64>,
    /// For how many ticks that holds: none before it asked at all.
    ticks_max: Cell<u64>,
}

/// Nanoseconds of CLOCK_MONOTONIC.
#[inline(always)]
pub(crate) fn now_ns() -> u64 {
    let (then, ns, tick_ns, ticks_max) =
        CLOCK.with(|clock| (clock.ticks.get(), clock.ns.get(), clock.tick_ns.get(), clock.ticks_max.get()));
    let passed = ticks().wrapping_sub(then);
    if passed >= ticks_max {
        return ask();
    }
    ns + passed_ns(passed, tick_ns)
}

#[inline(always)]
const fn passed_ns(ticks: u64, tick_ns: u64) -> u64 {
    ((ticks as u128 * tick_ns as u128) >> FRACTION_BITS) as u64
}

/// The kernel's time, to go by from now on.
#[cold]
#[inline(never)]
fn ask() -> u64 {
    // Where the process began to count: the longer ago, the better is known how long a tick is.
    static BEGIN: OnceLock<Option<(u64, u64)>> = OnceLock::new();
    let (before, now_ns) = (ticks(), kernel_ns());
    let between = ticks().wrapping_sub(before);
    let now_ns = CLOCK.with(|clock| clock.not_before(before, now_ns));
    if between >= PAIR_TICKS {
        return now_ns;
    }
    let begin = BEGIN.get_or_init(|| may_count().then_some((before, now_ns)));
    let Some((begin_ticks, begin_ns)) = *begin else { return now_ns };
    let (ticks, ns) = (before.wrapping_sub(begin_ticks), now_ns.saturating_sub(begin_ns));
    if ns < LEARN_NS || ticks == 0 {
        return now_ns;
    }
    let tick_ns = ((u128::from(ns) << FRACTION_BITS) / u128::from(ticks)) as u64;
    CLOCK.with(|clock| {
        clock.ticks.set(before);
        clock.ns.set(now_ns);
        clock.tick_ns.set(tick_ns);
        clock.ticks_max.set(ANCHOR_TICKS);
    });
    now_ns
}

impl Clock {
    /// The kernel's time, or what this thread has already told when that is a little later.
    fn not_before(&self, ticks: u64, kernel_ns: u64) -> u64 {
        if self.ticks_max.get() == 0 {
            return kernel_ns;
        }
        let passed_ns = passed_ns(ticks.wrapping_sub(self.ticks.get()), self.tick_ns.get());
        let told_ns = self.ns.get().saturating_add(passed_ns);
        if told_ns.saturating_sub(kernel_ns) < AHEAD_NS { told_ns.max(kernel_ns) } else { kernel_ns }
    }
}

/// Whether the kernel goes by the counter: then it has found that all cores count alike and at one pace.
fn may_count() -> bool {
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    cfg!(target_arch = "x86_64") && std::fs::read_to_string(source).is_ok_and(|name| name.trim() == "tsc")
}

fn kernel_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    // Neither is ever negative.
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Further from the kernel's clock than it may be while a machine is busy: a thread that waits for its core between the
    /// two readings is no fault of the clock's.
    const FAR_NS: u64 = 100_000;

    fn is_near_the_kernels() -> bool {
        let (before, now, after) = (kernel_ns(), now_ns(), kernel_ns());
        now + FAR_NS >= before && now <= after + FAR_NS
    }

    /// Through all its states: not knowing how long a tick is, going by the counter, and asking again.
    #[test]
    fn it_keeps_to_the_kernels_clock_and_never_goes_back() {
        let begin_ns = kernel_ns();
        let mut last_ns = now_ns();
        while kernel_ns() < begin_ns + 300_000_000 {
            let now = now_ns();
            assert!(now >= last_ns, "{now} after {last_ns}");
            last_ns = now;
            assert!(is_near_the_kernels() || is_near_the_kernels() || is_near_the_kernels());
        }
        let asked = CLOCK.with(|clock| clock.ticks_max.get() > 0);
        assert_eq!(asked, may_count(), "after {LEARN_NS} ns it goes by the counter, where it may");
    }

    #[test]
    fn time_is_that_of_the_ticks() {
        // 2.5 GHz: a tick is 0.4 ns.
        let tick_ns = (2 << FRACTION_BITS) / 5;
        assert_eq!(passed_ns(2_500_000_000, tick_ns), 999_999_999);
        assert_eq!(passed_ns(ANCHOR_TICKS, tick_ns), 53_687_091);
    }
}
