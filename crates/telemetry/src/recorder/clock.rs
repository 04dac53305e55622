//! Nanoseconds of CLOCK_MONOTONIC, quicker than the kernel tells them (ADR 0011).
//!
//! A scope reads the clock twice, and that is most of what it costs. Where the kernel itself counts time by the processor's time
//! stamp counter, a thread reads the counter and adds what has passed since it last asked the kernel, which it does again
//! when [`ANCHOR_TICKS`] are over. It reads some microseconds more or less than the kernel's clock at most: a thread that is
//! ahead goes a little slower until the kernel has caught up. Within a thread it never goes back, unless the machine has been
//! asleep. Elsewhere every reading asks the kernel.

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
    static CLOCK: Clock = const { Clock::new() };
}

/// What a thread last asked the kernel.
struct Clock {
    /// The counter then.
    ticks: Cell<u64>,
    /// The time then: the kernel's, or later if a later one had been told.
    ns: Cell<u64>,
    /// How much time a tick adds.
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
    static BEGIN: OnceLock<Option<Reading>> = OnceLock::new();
    let now = Reading { ticks: ticks(), ns: kernel_ns() };
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

/// The counter, and the kernel's clock at the same time.
#[derive(Clone, Copy)]
struct Reading {
    ticks: u64,
    ns: u64,
}

impl Reading {
    /// How long a tick has been since then, once that can be told.
    fn tick_ns_until(self, now: Self) -> Option<u64> {
        let (ticks, ns) = (now.ticks.wrapping_sub(self.ticks), now.ns.saturating_sub(self.ns));
        let tick_ns = (u128::from(ns) << FRACTION_BITS).checked_div(ticks.into())?;
        (ns >= LEARN_NS).then_some(tick_ns as u64)
    }
}

impl Clock {
    const fn new() -> Self {
        Self { ticks: Cell::new(0), ns: Cell::new(0), tick_ns: Cell::new(0), ticks_max: Cell::new(0) }
    }

    /// Goes by this reading from now on, if it is known how long a tick is, and tells the time.
    fn go_by(&self, begin: Reading, now: Reading) -> u64 {
        let now_ns = self.not_before(now);
        // By the kernel's own times: by those told, a thread that is ahead would find that the same fast pace was right.
        let Some(tick_ns) = begin.tick_ns_until(now) else { return now_ns };
        // What it is ahead, it loses until it asks again.
        let lost_ns = ((now_ns - now.ns) << FRACTION_BITS) / ANCHOR_TICKS;
        self.ticks.set(now.ticks);
        self.ns.set(now_ns);
        self.tick_ns.set(tick_ns.saturating_sub(lost_ns));
        self.ticks_max.set(ANCHOR_TICKS);
        now_ns
    }

    /// The kernel's time, or what this thread may have told already when that is a little later.
    fn not_before(&self, now: Reading) -> u64 {
        // Beyond that it has told nothing, however long it slept: a clock that is a trifle fast must not add up over hours.
        let ticks = now.ticks.wrapping_sub(self.ticks.get()).min(self.ticks_max.get());
        let told_ns = self.ns.get() + passed_ns(ticks, self.tick_ns.get());
        if told_ns.saturating_sub(now.ns) < AHEAD_NS { told_ns.max(now.ns) } else { now.ns }
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

    /// A thread's clock beside a kernel's whose pace is made up: a counter of 2.5 GHz, and so many nanoseconds in 1024 ticks.
    struct Pair {
        clock: Clock,
        begin: Reading,
        kernel: Reading,
    }

    impl Pair {
        fn new() -> Self {
            let begin = Reading { ticks: 7_000, ns: 9_000_000_000 };
            Self { clock: Clock::new(), begin, kernel: begin }
        }

        fn pass(&mut self, ticks: u64, ns_in_1024: u64) {
            self.kernel.ticks += ticks;
            self.kernel.ns += (u128::from(ticks) * u128::from(ns_in_1024) / 1024) as u64;
        }

        /// What [`now_ns`] does.
        fn now_ns(&self) -> u64 {
            let passed = self.kernel.ticks - self.clock.ticks.get();
            if passed >= self.clock.ticks_max.get() {
                return self.clock.go_by(self.begin, self.kernel);
            }
            self.clock.ns.get() + passed_ns(passed, self.clock.tick_ns.get())
        }
    }

    /// The kernel's clock is put right: it goes 0.2 % slower than it did until now, which is four times what NTP does.
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
    fn a_thread_that_slept_has_told_nothing_meanwhile() {
        let mut pair = Pair::new();
        pair.pass(1 << 33, 411);
        assert_eq!(pair.now_ns(), pair.kernel.ns);
        // It would be 600 µs ahead.
        pair.pass(1 << 33, 411);
        pair.kernel.ns -= 600_000;
        assert_eq!(pair.now_ns(), pair.kernel.ns);
    }

    /// The counter has gone on, the clock has not.
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
