//! Shares of the delivery of assets: requests under way and bytes a second of each user.
//!
//! A user has a bucket of bytes that fills at the configured rate up to [`BURST_S`] seconds of it. An answer takes its length, and waits until the bucket is no longer
//! empty, so that the mean keeps the rate whatever the lengths are. A user's buckets are forgotten when full and without requests.

use ids::{AgentId, Instant};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Requests of a user that may be under way: twice those of a viewer at most. A further one is refused.
pub const REQUESTS_MAX: u32 = 64;

/// Seconds of its rate that a user may take at once.
const BURST_S: i64 = 4;

/// Users at which those without a request and with all of their burst are forgotten for the first time; later, at twice those that stayed.
const SWEEP_AT: usize = 1_024;

/// Shares of all users.
#[derive(Debug)]
pub struct AssetShares {
    bytes_per_s: i64,
    shares: Mutex<SharesByAgent>,
}

#[derive(Debug)]
struct SharesByAgent {
    by_agent: BTreeMap<AgentId, Share>,
    /// Users at which the next search for full shares begins.
    sweep_at: usize,
}

#[derive(Clone, Copy, Debug)]
struct Share {
    n_requests: u32,
    /// Bytes that may be sent; negative while answers wait.
    bytes: i64,
    filled_at: Instant,
}

/// A request under way. Dropping it ends the request.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    shares: &'a AssetShares,
    agent: AgentId,
}

impl AssetShares {
    /// Shares of `bytes_per_s` each.
    ///
    /// # Panics
    /// If the rate is 0.
    #[must_use]
    pub fn new(bytes_per_s: u32) -> Self {
        assert!(bytes_per_s > 0, "a rate of 0 would hold answers back for ever");
        let shares = SharesByAgent { by_agent: BTreeMap::new(), sweep_at: SWEEP_AT };
        Self { bytes_per_s: bytes_per_s.into(), shares: Mutex::new(shares) }
    }

    /// Begins a request; none if the user has too many under way.
    pub(super) fn begin(&self, agent: AgentId, now: Instant) -> Option<Turn<'_>> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        let SharesByAgent { by_agent, sweep_at } = &mut *shares;
        if by_agent.len() >= *sweep_at {
            by_agent.retain(|_, share| {
                self.fill(share, now);
                share.n_requests > 0 || share.bytes < self.bytes_max()
            });
            *sweep_at = SWEEP_AT.max(2 * by_agent.len());
        }
        let full = Share { n_requests: 0, bytes: self.bytes_max(), filled_at: now };
        let share = by_agent.entry(agent).or_insert(full);
        if share.n_requests >= REQUESTS_MAX {
            return None;
        }
        share.n_requests += 1;
        Some(Turn { shares: self, agent })
    }

    const fn bytes_max(&self) -> i64 {
        self.bytes_per_s * BURST_S
    }

    fn fill(&self, share: &mut Share, now: Instant) {
        let passed_ns = i128::from(now.0.saturating_sub(share.filled_at.0));
        let filled = i128::from(self.bytes_per_s) * passed_ns / 1_000_000_000;
        if filled > 0 {
            let bytes = i128::from(share.bytes) + filled;
            share.bytes = i64::try_from(bytes).unwrap_or(i64::MAX).min(self.bytes_max());
            share.filled_at = now;
        }
    }
}

impl Turn<'_> {
    /// Takes an answer's bytes. Returns the time to wait before it is sent, if there is one.
    pub(super) fn spend(&self, bytes: u64, now: Instant) -> Option<Duration> {
        let mut shares = self.shares.shares.lock().unwrap_or_else(PoisonError::into_inner);
        let share = shares.by_agent.get_mut(&self.agent)?;
        self.shares.fill(share, now);
        share.bytes = share.bytes.saturating_sub(i64::try_from(bytes).unwrap_or(i64::MAX));
        let missing = u64::try_from(-share.bytes).ok().filter(|&missing| missing > 0)?;
        Some(Duration::from_secs_f64(missing as f64 / self.shares.bytes_per_s as f64))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut shares = self.shares.shares.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = shares.by_agent.get_mut(&self.agent) {
            share.n_requests -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::Uuid;

    const RATE: u32 = 1_000;
    const ADA: AgentId = AgentId(Uuid::from_u128(1));
    const BOB: AgentId = AgentId(Uuid::from_u128(2));

    fn at_ms(ms: u64) -> Instant {
        Instant(ms * 1_000_000)
    }

    fn spend(shares: &AssetShares, agent: AgentId, bytes: u64, ms: u64) -> Option<Duration> {
        shares.begin(agent, at_ms(ms)).unwrap().spend(bytes, at_ms(ms))
    }

    #[test]
    fn answers_wait_once_the_burst_is_used_up_and_for_their_own_user_only() {
        let shares = AssetShares::new(RATE);
        assert_eq!(spend(&shares, ADA, 4_000, 0), None);
        assert_eq!(spend(&shares, ADA, 500, 0), Some(Duration::from_millis(500)));
        assert_eq!(spend(&shares, BOB, 500, 0), None);
        assert_eq!(spend(&shares, ADA, 1_000, 500), Some(Duration::from_secs(1)), "behind the former one");
        assert_eq!(spend(&shares, ADA, 1, 2_000), None);
    }

    #[test]
    fn the_mean_rate_is_kept_with_answers_of_any_length() {
        let shares = AssetShares::new(RATE);
        let (mut ms, mut sent) = (0, 0);
        while ms < 100_000 {
            let bytes = 1 + (ms * 7) % 30_000;
            sent += bytes;
            ms += spend(&shares, ADA, bytes, ms).map_or(0, |wait| wait.as_millis() as u64);
        }
        let most = u64::from(RATE) * (ms / 1_000 + BURST_S as u64 + 1);
        assert!(sent <= most && sent > most / 2, "{sent} of {most}");
    }

    #[test]
    fn requests_under_way_are_bounded_for_each_user() {
        let shares = AssetShares::new(RATE);
        let mut turns: Vec<_> = (0..REQUESTS_MAX).map(|_| shares.begin(ADA, at_ms(0)).unwrap()).collect();
        assert!(shares.begin(ADA, at_ms(0)).is_none() && shares.begin(BOB, at_ms(0)).is_some());
        turns.pop();
        assert!(shares.begin(ADA, at_ms(0)).is_some());
    }

    #[test]
    fn users_without_requests_are_forgotten() {
        let shares = AssetShares::new(RATE);
        for id in 0..3 * SWEEP_AT as u128 {
            assert_eq!(spend(&shares, AgentId(Uuid::from_u128(id)), 1, id as u64 * 10), None);
        }
        assert!(shares.shares.lock().unwrap().by_agent.len() <= SWEEP_AT);
    }

    #[test]
    fn a_crowd_is_not_searched_with_each_request() {
        let shares = AssetShares::new(RATE);
        let agent = |id| AgentId(Uuid::from_u128(id));
        let crowd = SWEEP_AT as u128 + 1;
        let turns: Vec<_> = (0..crowd).map(|id| shares.begin(agent(id), at_ms(0)).unwrap()).collect();
        assert_eq!(shares.shares.lock().unwrap().sweep_at, 2 * SWEEP_AT);
        drop(turns);
        // All are full again, and go at the next search.
        let _turns: Vec<_> =
            (0..crowd).map(|id| shares.begin(agent(crowd + id), at_ms(9)).unwrap()).collect();
        let after = shares.shares.lock().unwrap();
        assert!(after.by_agent.len() <= SWEEP_AT + 2 && after.sweep_at < 3 * SWEEP_AT, "{after:?}");
    }
}
