//! Fair shares of a shard's total bandwidth.
//!
//! Twice a second the shard sums the bytes sent to each client. Above the limit every client gets an equal maximum share such that the
//! sum fits: clients below it get all they need, the others divide the rest (max-min fairness). Free room goes to clients that use up
//! their share. A share bounds the client's whole budget, so nothing is queued here, and reliable messages precede movements.
//!
//! Answers to pings and acks are never held back. If they exceed the limit, the shares shrink, to half of an equal one at least: a
//! flooding client starves no other. No share is below a circuit's minimum ([`FLOOR_BYTES_PER_S`]); a limit below that for each client
//! is exceeded.

use circuit::FLOOR_BYTES_PER_S;
use ids::Instant;
use std::time::Duration;

/// Between two looks: as long as two bursts of a circuit.
const PERIOD: Duration = Duration::from_millis(500);
/// Headers of IPv4 and UDP, which a line carries, too.
pub(super) const HEADERS_BYTES: u64 = 28;
/// Share of its budget above which a client could use more.
const USED_UP: f64 = 0.9;
/// Part of the limit above which shares do not grow: traffic varies from second to second.
const FULL: f64 = 0.97;
/// Maximum growth of a share per period: clients with small shares may not need all the free room.
const GROWTH: f64 = 1.25;

/// Traffic of a client since the last sample.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SentSample {
    /// Bytes without headers.
    pub(super) bytes: u64,
    pub(super) datagrams: u64,
}

/// A shard's limit and the share of each client.
#[derive(Debug)]
pub(super) struct Egress {
    /// Bytes per second with headers.
    limit: Option<u64>,
    /// Maximum of a client without the limit, bytes per second.
    client_max: u32,
    /// Current share.
    share: u32,
    /// The limit was passed at the last look.
    was_passed: bool,
    looked_at: Instant,
    /// Bytes per second of each client; reused.
    used: Vec<f64>,
}

impl Egress {
    pub(super) const fn new(limit: Option<u64>, client_max: u32) -> Self {
        Self {
            limit,
            client_max,
            share: client_max,
            was_passed: false,
            looked_at: Instant::ZERO,
            used: Vec::new(),
        }
    }

    /// Bytes per second that a client may be sent at most, without headers.
    pub(super) const fn share(&self) -> u32 {
        self.share
    }

    /// True if [`Self::measure`] is due.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.limit.is_some() && now >= self.looked_at + PERIOD
    }

    /// Recomputes the shares from the traffic since the last call. True if a share has changed.
    pub(super) fn measure(&mut self, now: Instant, sent: impl Iterator<Item = SentSample>) -> bool {
        let Some(limit) = self.limit else { return false };
        let passed_s = now.since(self.looked_at).as_secs_f64();
        self.looked_at = now;
        let mut all = SentSample::default();
        self.used.clear();
        self.used.extend(sent.map(|sent| {
            all.bytes += sent.bytes;
            all.datagrams += sent.datagrams;
            sent.bytes as f64 / passed_s
        }));
        if all.bytes == 0 {
            return self.set_share(self.client_max);
        }
        // The part of the limit that is left for payloads at the present size of datagrams.
        let with_headers = all.bytes + all.datagrams * HEADERS_BYTES;
        let limit = limit as f64 * all.bytes as f64 / with_headers as f64;
        let share = self.next_share(limit, all.bytes as f64 / passed_s);
        self.set_share(share as u32)
    }

    /// The shard has no clients any more.
    pub(super) fn reset(&mut self) {
        self.set_share(self.client_max);
        self.was_passed = false;
    }

    /// True if it was another one.
    fn set_share(&mut self, share: u32) -> bool {
        let share = share.max(FLOOR_BYTES_PER_S).min(self.client_max);
        std::mem::replace(&mut self.share, share) != share
    }

    fn next_share(&mut self, limit: f64, used: f64) -> f64 {
        let share = f64::from(self.share);
        let was_passed = std::mem::replace(&mut self.was_passed, used > limit);
        if used > limit {
            let fits = level(&mut self.used, limit).min(share);
            let least = limit / self.used.len() as f64 / 2.0;
            return if was_passed { fits.min(share * limit / used).max(least.min(fits)) } else { fits };
        }
        let n_short = self.used.iter().filter(|&&used| used >= share * USED_UP).count();
        if n_short == 0 {
            // Clients that need more next find room.
            share * GROWTH
        } else if used > limit * FULL {
            share
        } else {
            (share + (limit - used) / n_short as f64).min(share * GROWTH)
        }
    }
}

/// The equal maximum share of `limit` for these demands: none gets more, none less unless it needs less.
fn level(demands: &mut [f64], limit: f64) -> f64 {
    demands.sort_unstable_by(f64::total_cmp);
    let mut rest = limit;
    for (n, &demand) in demands.iter().enumerate() {
        let fair = rest / (demands.len() - n) as f64;
        if demand > fair {
            return fair;
        }
        rest -= demand;
    }
    f64::INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT_MAX: u32 = 64_000;

    /// Clients that use all they need within their share, in datagrams of 972 bytes.
    struct Line {
        egress: Egress,
        now: Instant,
    }

    impl Line {
        fn new(limit: u64) -> Self {
            Self { egress: Egress::new(Some(limit), CLIENT_MAX), now: Instant::ZERO }
        }

        /// Bytes per second of each, after `looks` samples.
        fn run(&mut self, looks: u32, needs: &[u32]) -> Vec<u32> {
            let sent = |share: u32| needs.iter().map(move |&needed| needed.min(share)).collect::<Vec<_>>();
            for _ in 0..looks {
                self.now += PERIOD;
                assert!(self.egress.is_due(self.now));
                let datagrams = sent(self.egress.share()).into_iter().map(|per_s| {
                    let bytes = u64::from(per_s) / 2;
                    SentSample { bytes, datagrams: bytes / 972 }
                });
                self.egress.measure(self.now, datagrams);
                assert!(!self.egress.is_due(self.now));
            }
            sent(self.egress.share())
        }
    }

    fn sum(sent: &[u32]) -> u32 {
        sent.iter().sum()
    }

    #[test]
    fn without_a_limit_and_below_it_every_client_gets_its_need() {
        assert!(!Egress::new(None, CLIENT_MAX).is_due(Instant::from_millis(10_000)));
        let needs = [64_000; 10];
        assert_eq!(Line::new(1_000_000).run(20, &needs), needs);
    }

    #[test]
    fn a_shortage_is_shared_at_once_and_small_needs_are_met() {
        let needs = [64_000, 64_000, 64_000, 5_000, 20_000];
        let sent = Line::new(128_000).run(1, &needs);
        // Of 128,000 bytes with headers about 124,400 without.
        let rest = (124_400 - 25_000) / 3;
        assert!(sent[..3].iter().all(|&sent| sent.abs_diff(rest) < 200), "{sent:?}");
        assert_eq!(sent[3..], [5_000, 20_000]);
    }

    #[test]
    fn unused_capacity_goes_to_clients_that_use_up_their_share() {
        let mut line = Line::new(128_000);
        line.run(10, &[64_000; 10]);
        assert!((11_000..12_500).contains(&line.egress.share()), "{}", line.egress.share());
        // Seven need less now.
        let mut needs = [64_000; 10];
        needs[..7].fill(1_000);
        let sent = line.run(20, &needs);
        assert!((115_000..=124_500).contains(&sum(&sent)), "{sent:?}");
        // And all are content in the end.
        line.run(30, &[9_000; 10]);
        assert_eq!(line.egress.share(), CLIENT_MAX);
    }

    #[test]
    fn a_flood_is_compensated_and_starves_no_client() {
        for (flooded, expected) in [(150_000, 3_400..=3_540), (5_000_000, 2_500..=2_500)] {
            let mut egress = Egress::new(Some(500_000), CLIENT_MAX);
            let mut now = Instant::ZERO;
            for _ in 0..40 {
                now += PERIOD;
                // One whose acks and answers to pings are not held back, and 99 who could use more than there is.
                let per_s = std::iter::once(flooded).chain(std::iter::repeat_n(egress.share(), 99));
                let sent = per_s.map(|per_s| SentSample { bytes: u64::from(per_s / 2), datagrams: 0 });
                egress.measure(now, sent.collect::<Vec<_>>().into_iter());
            }
            assert!(expected.contains(&egress.share()), "{}", egress.share());
        }
    }

    #[test]
    fn no_share_is_less_than_a_circuit_has() {
        let mut line = Line::new(100_000);
        line.run(20, &[64_000; 1_000]);
        assert_eq!(line.egress.share(), FLOOR_BYTES_PER_S);
        line.egress.reset();
        assert_eq!(line.egress.share(), CLIENT_MAX);
    }

    #[test]
    fn the_limit_holds_from_the_next_check_on_for_any_need() {
        let mut random = 7_u32;
        let mut line = Line::new(500_000);
        for n in [3, 10, 200, 40, 1, 90] {
            let needs: Vec<u32> = (0..n)
                .map(|_| {
                    random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    random >> 16
                })
                .collect();
            line.run(1, &needs);
            for _ in 0..40 {
                let sent = line.run(1, &needs);
                assert!(sum(&sent) <= 487_000, "{n}: {}", sum(&sent));
            }
            let sent = line.run(1, &needs);
            let wanted = sum(&needs).min(486_000);
            assert!(sum(&sent) * 100 >= wanted * 94, "{n}: {} of {wanted}", sum(&sent));
        }
    }
}
