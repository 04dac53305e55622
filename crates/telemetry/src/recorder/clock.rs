//! Nanoseconds of CLOCK_MONOTONIC, faster than by a call of the kernel's clock (ADR 0011).
//!
//! A scope reads the clock twice, which is most of its cost. Where the kernel itself keeps time by the processor's time stamp
//! counter, a thread reads the counter and adds the time since its last reading of the kernel's clock, which it repeats
//! every [`ANCHOR_TICKS`]. The error is some microseconds at most: a thread that is ahead runs slower until the kernel has
//! caught up. Within a thread time never goes back, unless the machine has been asleep. On other machines every reading asks
//! the kernel.

use super::ticks::ticks;
use std::cell::Cell;
use std::sync::OnceLock;

/// Maximum distance of two readings of the kernel's clock, in ticks: 34 to 67 ms at 2 to 4 GHz. Even while NTP slews the
/// clock, it gains or loses at most 25 µs in that time.
const ANCHOR_TICKS: u64 = 1 << 27;

/// Minimum time since the first reading before the length of a tick is known well enough.
const LEARN_NS: u64 = 100_000_000;

/// Maximum ticks between two readings of the counter around a reading of the kernel's clock, one to two microseconds. A
/// thread preempted in between would be ahead by that time, and its scopes would seem that much longer.
const PAIR_TICKS: u64 = 1 << 12;

/// Maximum lead of a thread over the kernel's clock. A larger difference means that the machine has slept; the kernel's time
/// is used then.
const AHEAD_NS: u64 = 1_000_000;

/// Fixed-point precision of the length of a tick: units of 2^-32 ns.
const FRACTION_BITS: u32 = 32;

thread_local! {
    static CLOCK: ThreadClock = const { ThreadClock::new() };
}

/// Anchor of a thread's time: its last reading of the kernel's clock.
struct ThreadClock {
    /// The counter at that reading.
    ticks: Cell<u64>,
    /// The time at that reading: the kernel's, or the thread's own if that was ahead.
    ns: Cell<u64>,
    /// Length of a tick, in units of 2^-32 ns.
    tick_ns: Cell<u64>,
    /// Validity of this anchor in ticks; 0 before the first reading.
    ticks_max: Cell<u64>,
}

/// Nanoseconds of CLOCK_MONOTONIC, as the recorder reads it: the time of [`Overrun::at_ns`](super::Overrun::at_ns).
#[inline(always)]
#[must_use]
pub fn now_ns() -> u64 {
    let (then, ns, tick_ns, ticks_max) =
        CLOCK.with(|clock| (clock.ticks.get(), clock.ns.get(), clock.tick_ns.get(), clock.ticks_max.get()));
    let passed = ticks().wrapping_sub(then);
    if passed >= ticks_max {
        return read_kernel_clock();
    }
    ns + passed_ns(passed, tick_ns)
}

#[inline(always)]
const fn passed_ns(ticks: u64, tick_ns: u64) -> u64 {
    ((ticks as u128 * tick_ns as u128) >> FRACTION_BITS) as u64
}

/// Reads the kernel's clock and moves the anchor there.
#[cold]
#[inline(never)]
fn read_kernel_clock() -> u64 {
    // First reading of the process: the longer ago it is, the better is the estimate of a tick's length.
    static BEGIN: OnceLock<Option<ClockReading>> = OnceLock::new();
    let now = ClockReading { ticks: ticks(), ns: kernel_ns() };
    let between = ticks().wrapping_sub(now.ticks);
    CLOCK.with(|clock| {
        if between >= PAIR_TICKS {
            return clock.not_before(now);
        }
        match BEGIN.get_or_init(|| may_count().then_some(now)) {
            Some(begin) => clock.go_by(*begin, now),
            None => now.ns,
        }
    })
}

/// The counter and the kernel's clock at one time.
#[derive(Clone, Copy)]
struct ClockReading {
    ticks: u64,
    ns: u64,
}

impl ClockReading {
    /// Average length of a tick since `self`, or `None` before [`LEARN_NS`] have passed.
    fn tick_ns_until(self, now: Self) -> Option<u64> {
        let (ticks, ns) = (now.ticks.wrapping_sub(self.ticks), now.ns.saturating_sub(self.ns));
        let tick_ns = (u128::from(ns) << FRACTION_BITS).checked_div(ticks.into())?;
        (ns >= LEARN_NS).then_some(tick_ns as u64)
    }
}

impl ThreadClock {
    const fn new() -> Self {
        Self { ticks: Cell::new(0), ns: Cell::new(0), tick_ns: Cell::new(0), ticks_max: Cell::new(0) }
    }

    /// Moves the anchor to `now` if the length of a tick is known, and returns the time.
    fn go_by(&self, begin: ClockReading, now: ClockReading) -> u64 {
        let now_ns = self.not_before(now);
        // From kernel times only: with the thread's own times a thread that is ahead would confirm its own pace.
        let Some(tick_ns) = begin.tick_ns_until(now) else { return now_ns };
        // A lead is lost evenly until the next reading.
        let lost_ns = ((now_ns - now.ns) << FRACTION_BITS) / ANCHOR_TICKS;
        self.ticks.set(now.ticks);
        self.ns.set(now_ns);
        self.tick_ns.set(tick_ns.saturating_sub(lost_ns));
        self.ticks_max.set(ANCHOR_TICKS);
        now_ns
    }

    /// The kernel's time, or the thread's own time if that is a little later, so that time does not go back.
    fn not_before(&self, now: ClockReading) -> u64 {
        // The anchor is valid for `ticks_max` only, so the thread has returned no later time, however long it slept. Else the
        // error of a clock that is slightly fast would add up over hours.
        let ticks = now.ticks.wrapping_sub(self.ticks.get()).min(self.ticks_max.get());
        let told_ns = self.ns.get() + passed_ns(ticks, self.tick_ns.get());
        if told_ns.saturating_sub(now.ns) < AHEAD_NS { told_ns.max(now.ns) } else { now.ns }
    }
}

/// True if the kernel keeps time by the counter: then it has verified that all cores count alike and at a constant rate.
fn may_count() -> bool {
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    cfg!(target_arch = "x86_64") && std::fs::read_to_string(source).is_ok_and(|name| name.trim() == "tsc")
}

fn kernel_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    // Both fields are non-negative.
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tolerance above the error on a busy machine: a thread may be preempted between the two readings.
    const FAR_NS: u64 = 100_000;

    fn is_near_the_kernels() -> bool {
        let (before, now, after) = (kernel_ns(), now_ns(), kernel_ns());
        now + FAR_NS >= before && now <= after + FAR_NS
    }

    /// Passes through all states: unknown tick length, reading the counter, moving the anchor.
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

    /// A thread's clock and a simulated kernel clock: a counter of 2.5 GHz, and `ns_in_1024` nanoseconds in 1,024 ticks.
    struct Pair {
        clock: ThreadClock,
        begin: ClockReading,
        kernel: ClockReading,
    }

    impl Pair {
        fn new() -> Self {
            let begin = ClockReading { ticks: 7_000, ns: 9_000_000_000 };
            Self { clock: ThreadClock::new(), begin, kernel: begin }
        }

        fn pass(&mut self, ticks: u64, ns_in_1024: u64) {
            self.kernel.ticks += ticks;
            self.kernel.ns += (u128::from(ticks) * u128::from(ns_in_1024) / 1024) as u64;
        }

        /// The logic of [`now_ns`].
        fn now_ns(&self) -> u64 {
            let passed = self.kernel.ticks - self.clock.ticks.get();
            if passed >= self.clock.ticks_max.get() {
                return self.clock.go_by(self.begin, self.kernel);
            }
            self.clock.ns.get() + passed_ns(passed, self.clock.tick_ns.get())
        }
    }

    /// The kernel's clock is slewed: 0.2 % slower than before, four times the maximum of NTP.
    #[test]
    fn a_thread_that_is_ahead_loses_it_and_never_goes_back() {
        let mut pair = Pair::new();
        pair.pass(1 << 33, 412);
        let (mut last_ns, mut ahead_ns_max) = (pair.now_ns(), 0);
        for _ in 0..20_000 {
            pair.pass(ANCHOR_TICKS / 100, 411);
            let now_ns = pair.now_ns();
            assert!(now_ns > last_ns, "{now_ns} after {last_ns}");
            last_ns = now_ns;
            ahead_ns_max = ahead_ns_max.max(now_ns - pair.kernel.ns);
        }
        let once_ns = passed_ns(ANCHOR_TICKS, 1 << FRACTION_BITS) / 1024;
        assert!((1..once_ns * 11 / 10).contains(&ahead_ns_max), "{ahead_ns_max}");
    }

    #[test]
    fn a_thread_that_slept_has_recorded_nothing_meanwhile() {
        let mut pair = Pair::new();
        pair.pass(1 << 33, 411);
        assert_eq!(pair.now_ns(), pair.kernel.ns);
        // Its own time would be 600 µs ahead.
        pair.pass(1 << 33, 411);
        pair.kernel.ns -= 600_000;
        assert_eq!(pair.now_ns(), pair.kernel.ns);
    }

    /// The counter advanced during the sleep, the clock did not.
    #[test]
    fn after_the_machine_slept_the_kernel_is_right() {
        let mut pair = Pair::new();
        pair.pass(1 << 33, 411);
        pair.now_ns();
        pair.kernel.ticks += 1 << 40;
        assert_eq!(pair.now_ns(), pair.kernel.ns);
    }

    #[test]
    fn time_is_that_of_the_ticks() {
        // 2.5 GHz: a tick is 0.4 ns.
        let tick_ns = (2 << FRACTION_BITS) / 5;
        assert_eq!(passed_ns(2_500_000_000, tick_ns), 999_999_999);
        assert_eq!(passed_ns(ANCHOR_TICKS, tick_ns), 53_687_091);
    }
}
