//! Rates: a token bucket for each category of AgentThrottle, under one for the total.
//!
//! All traffic draws from the total, including traffic that is never held back (acks, pings, immediate sends, fan-out), which may run
//! it into debt by as much as it can save. Only queued messages and resends wait for tokens. Resends get half of the total at most:
//! after a network cut, lost packets took 19 kB/s on a path of 16 in all, and new ones waited for seconds (`sim --crowd --faults
//! split`).
//!
//! Tokens are billionths of a byte, so that rates are exact at any polling interval and equal on every machine.

use crate::Config;
use ids::Instant;
use std::time::Duration;
use wire::header::DATAGRAM_MAX;
use wire::throttle::{Category, Throttles};

/// Lowest rate of a category and of all traffic, bytes per second, whatever the client requests (as OpenSimulator). Resends may get
/// half of it, see above.
pub const FLOOR_BYTES_PER_S: u32 = 1000;
/// The same for wind and clouds.
const FLOOR_WEATHER_BYTES_PER_S: u32 = 50;
/// Highest rate of a category and of a client's total (as OpenSimulator).
const CAP_BYTES_PER_S: u32 = 640_000;

/// Rates before the client's first AgentThrottle, in bytes per second (OpenSimulator's defaults).
const DEFAULTS_BYTES_PER_S: [u32; Category::COUNT] = [6625, 9125, 1750, 1750, 18_500, 18_500, 10_500];

const TOKENS_PER_BYTE: i64 = 1_000_000_000;

/// The most that a rate may be, so that tokens stay far from overflow: a gigabyte per second.
const RATE_MAX: u32 = 1_000_000_000;

#[derive(Clone, Copy, Debug)]
struct Bucket {
    bytes_per_s: u32,
    tokens: i64,
}

impl Bucket {
    fn full(bytes_per_s: u32, burst: Duration) -> Self {
        let mut bucket = Self { bytes_per_s, tokens: 0 };
        bucket.tokens = bucket.capacity(burst);
        bucket
    }

    /// The most it saves up. A datagram at least, or the slowest categories could never send one.
    fn capacity(&self, burst: Duration) -> i64 {
        earned(self.bytes_per_s, burst).max(tokens_of(DATAGRAM_MAX))
    }

    fn refill(&mut self, elapsed: Duration, burst: Duration) {
        self.tokens = self.tokens.saturating_add(earned(self.bytes_per_s, elapsed)).min(self.capacity(burst));
    }

    fn set_rate(&mut self, bytes_per_s: u32, burst: Duration) {
        self.bytes_per_s = bytes_per_s;
        self.tokens = self.tokens.min(self.capacity(burst));
    }

    const fn has(&self, len: usize) -> bool {
        self.tokens >= tokens_of(len)
    }

    /// Time until it has tokens for `len` bytes, rounded up.
    fn wait(&self, len: usize) -> Duration {
        let missing = (tokens_of(len) - self.tokens).max(0).unsigned_abs();
        Duration::from_nanos(missing.div_ceil(u64::from(self.bytes_per_s)))
    }
}

/// Tokens of this many bytes.
const fn tokens_of(len: usize) -> i64 {
    len as i64 * TOKENS_PER_BYTE
}

/// Tokens that a rate earns over a time: one nanosecond at one byte per second earns one.
fn earned(bytes_per_s: u32, elapsed: Duration) -> i64 {
    let nanos = i64::try_from(elapsed.as_nanos()).unwrap_or(i64::MAX);
    i64::from(bytes_per_s).saturating_mul(nanos)
}

/// The buckets of a circuit.
#[derive(Clone, Debug)]
pub(crate) struct Throttle {
    categories: [Bucket; Category::COUNT],
    total: Bucket,
    /// Total requested by the client, bytes per second.
    wanted_total: u32,
    /// And for resends.
    wanted_resend: u32,
    /// Total allowed by the caller, bytes per second.
    allowed_total: u32,
    /// The part of both that the path carries.
    part: f32,
    refilled_at: Instant,
    burst: Duration,
}

impl Throttle {
    pub(crate) fn new(now: Instant, config: &Config) -> Self {
        let wanted_total = DEFAULTS_BYTES_PER_S.iter().sum();
        let allowed_total = config.total_bytes_per_s.clamp(FLOOR_BYTES_PER_S, RATE_MAX);
        let mut throttle = Self {
            categories: DEFAULTS_BYTES_PER_S.map(|rate| Bucket::full(rate, config.burst)),
            total: Bucket::full(allowed_total.min(wanted_total), config.burst),
            wanted_total,
            wanted_resend: DEFAULTS_BYTES_PER_S[Category::Resend.index()],
            allowed_total,
            part: 1.0,
            refilled_at: now,
            burst: config.burst,
        };
        throttle.set_total();
        throttle
    }

    /// Adds the tokens earned since the last call.
    pub(crate) fn refill(&mut self, now: Instant) {
        let elapsed = now.since(self.refilled_at);
        if !elapsed.is_zero() {
            self.refilled_at = now;
            for bucket in self.categories.iter_mut().chain([&mut self.total]) {
                bucket.refill(elapsed, self.burst);
            }
        }
    }

    /// Sets the client's request. The total becomes the sum of the granted rates, at most the caller's limit.
    pub(crate) fn set_wanted(&mut self, wanted: &Throttles) {
        let mut sum = 0;
        for category in Category::ALL {
            let floor = match category {
                Category::Wind | Category::Cloud => FLOOR_WEATHER_BYTES_PER_S,
                _ => FLOOR_BYTES_PER_S,
            };
            let rate = wanted.bytes_per_s(category).clamp(floor, CAP_BYTES_PER_S);
            if category == Category::Resend {
                self.wanted_resend = rate;
            } else {
                self.categories[category.index()].set_rate(rate, self.burst);
            }
            sum += rate;
        }
        self.wanted_total = sum.min(CAP_BYTES_PER_S);
        self.set_total();
    }

    /// Sets the caller's limit.
    pub(crate) fn set_allowed_total(&mut self, bytes_per_s: u32) {
        self.allowed_total = bytes_per_s.clamp(FLOOR_BYTES_PER_S, RATE_MAX);
        self.set_total();
    }

    /// The path carries this part of it, from 0 to 1.
    pub(crate) fn set_part(&mut self, part: f32) {
        self.part = part;
        self.set_total();
    }

    fn set_total(&mut self) {
        let whole = self.wanted_total.min(self.allowed_total);
        let total = ((f64::from(whole) * f64::from(self.part)) as u32).max(FLOOR_BYTES_PER_S);
        self.total.set_rate(total, self.burst);
        self.categories[Category::Resend.index()].set_rate(self.wanted_resend.min(total / 2), self.burst);
    }

    /// Bytes per second that all traffic may use.
    pub(crate) const fn total_bytes_per_s(&self) -> u32 {
        self.total.bytes_per_s
    }

    /// Bytes per second of one category.
    pub(crate) const fn bytes_per_s(&self, category: Category) -> u32 {
        self.categories[category.index()].bytes_per_s
    }

    /// Bytes of the total that may leave now; 0 in debt.
    pub(crate) fn available(&self) -> usize {
        usize::try_from(self.total.tokens / TOKENS_PER_BYTE).unwrap_or(0)
    }

    pub(crate) fn category_has(&self, category: Category, len: usize) -> bool {
        self.categories[category.index()].has(len)
    }

    pub(crate) fn total_has(&self, len: usize) -> bool {
        self.total.has(len)
    }

    /// Time at which the category alone has tokens for `len` bytes.
    pub(crate) fn category_ready_at(&self, category: Category, len: usize) -> Instant {
        self.refilled_at + self.categories[category.index()].wait(len)
    }

    /// Time at which the total has tokens for `len` bytes.
    pub(crate) fn total_ready_at(&self, len: usize) -> Instant {
        self.refilled_at + self.total.wait(len)
    }

    /// Takes from a category, which has enough.
    pub(crate) fn spend(&mut self, category: Category, len: usize) {
        let bucket = &mut self.categories[category.index()];
        assert!(bucket.has(len), "{len} bytes of {category:?} without tokens: only the total may be in debt");
        bucket.tokens -= tokens_of(len);
    }

    /// Takes sent bytes from the total, into limited debt if need be.
    pub(crate) fn spend_total(&mut self, len: usize) {
        let debt_max = self.total.capacity(self.burst);
        self.total.tokens = (self.total.tokens - tokens_of(len)).max(-debt_max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn throttle() -> Throttle {
        Throttle::new(Instant::ZERO, &Config { total_bytes_per_s: 1_000_000, ..Config::server() })
    }

    #[test]
    fn rates_stay_between_floor_and_cap() {
        let mut throttle = throttle();
        throttle.set_wanted(&Throttles::from_bits_per_s([0; 7]));
        assert_eq!(throttle.bytes_per_s(Category::Task), 1000);
        assert_eq!(throttle.bytes_per_s(Category::Wind), 50);
        assert_eq!(throttle.total_bytes_per_s(), 5 * 1000 + 2 * 50);
        throttle.set_wanted(&Throttles::from_bits_per_s([u32::MAX; 7]));
        assert_eq!(throttle.bytes_per_s(Category::Land), 640_000);
        assert_eq!(throttle.total_bytes_per_s(), 640_000);
    }

    #[test]
    fn the_total_is_the_lesser_of_wanted_and_allowed() {
        let mut throttle = throttle();
        throttle.set_wanted(&Throttles::from_bits_per_s([80_000; 7]));
        assert_eq!(throttle.total_bytes_per_s(), 70_000);
        throttle.set_allowed_total(65_536);
        assert_eq!(throttle.total_bytes_per_s(), 65_536);
        throttle.set_allowed_total(0);
        assert_eq!(throttle.total_bytes_per_s(), FLOOR_BYTES_PER_S);
    }

    #[test]
    fn resends_get_half_of_what_the_path_carries_at_most() {
        let mut throttle = throttle();
        throttle.set_wanted(&Throttles::from_bits_per_s([80_000; 7]));
        assert_eq!(throttle.bytes_per_s(Category::Resend), 10_000, "what the client wants");
        throttle.set_part(0.25);
        assert_eq!(throttle.bytes_per_s(Category::Resend), 70_000 / 8);
        throttle.set_part(1.0);
        assert_eq!(throttle.bytes_per_s(Category::Resend), 10_000);
        assert_eq!(throttle.bytes_per_s(Category::Task), 10_000);
    }

    #[test]
    #[should_panic(expected = "only the total may be in debt")]
    fn a_category_is_never_in_debt() {
        let mut throttle = throttle();
        throttle.set_wanted(&Throttles::from_bits_per_s([80_000; 7]));
        throttle.spend(Category::Task, 2500);
        throttle.spend(Category::Task, 1);
    }

    #[test]
    fn the_wait_is_exact() {
        let mut throttle = throttle();
        throttle.set_wanted(&Throttles::from_bits_per_s([80_000; 7]));
        throttle.spend(Category::Task, 2500);
        let ready_at = throttle.category_ready_at(Category::Task, 1000);
        assert_eq!(ready_at, Instant::from_millis(100));
        throttle.refill(Instant(ready_at.0 - 1));
        assert!(!throttle.category_has(Category::Task, 1000));
        throttle.refill(ready_at);
        assert!(throttle.category_has(Category::Task, 1000));
    }

    #[test]
    fn the_slowest_category_can_save_up_a_datagram() {
        let mut throttle = throttle();
        throttle.set_wanted(&Throttles::from_bits_per_s([0; 7]));
        throttle.spend(Category::Wind, 1200);
        throttle.refill(Instant::from_millis(24_000));
        assert!(throttle.category_has(Category::Wind, 1200));
        throttle.refill(Instant::from_millis(1_000_000));
        assert!(!throttle.category_has(Category::Wind, 1201));
    }

    #[test]
    fn debt_of_the_total_is_limited() {
        let mut throttle = throttle();
        throttle.set_wanted(&Throttles::from_bits_per_s([80_000; 7]));
        throttle.spend_total(10_000_000);
        assert_eq!(throttle.available(), 0);
        // Debt and savings are both 250 ms of 70,000 B/s.
        throttle.refill(Instant::from_millis(500));
        assert_eq!(throttle.available(), 17_500);
    }

    #[test]
    fn extreme_times_and_rates_do_not_overflow() {
        let mut throttle = throttle();
        throttle.set_allowed_total(u32::MAX);
        throttle.set_wanted(&Throttles::from_bits_per_s([u32::MAX; 7]));
        throttle.refill(Instant(u64::MAX));
        assert_eq!(throttle.available(), 160_000);
    }
}
