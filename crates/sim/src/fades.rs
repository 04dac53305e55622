//! Fades: times in which a client's path loses more than repetition can repair.
//!
//! A path fades while more than half of the datagrams sent to the client within [`WINDOW`] were lost. Checks of the latency of updates
//! treat it as a cut. Single losses, and shorter bursts, are the server's to repair in time.

use ids::Instant;
use std::collections::VecDeque;
use std::time::Duration;

/// Time over which losses are counted.
const WINDOW: Duration = Duration::from_millis(500);
/// A path fades above one loss per this number of datagrams.
const LOST_OF: usize = 2;
/// Minimum number of datagrams in the window for a judgement.
const SENT_MIN: usize = 6;

/// The latest datagrams to a client, delivered or lost.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fades {
    sent: VecDeque<(Instant, bool)>,
    n_lost: usize,
    latest: Option<Instant>,
}

impl Fades {
    /// A datagram was sent to the client.
    pub(crate) fn record_datagram(&mut self, now: Instant, is_lost: bool) {
        while let Some(&(at, was_lost)) = self.sent.front()
            && now.since(at) > WINDOW
        {
            self.sent.pop_front();
            self.n_lost -= usize::from(was_lost);
        }
        self.sent.push_back((now, is_lost));
        self.n_lost += usize::from(is_lost);
        if self.sent.len() >= SENT_MIN && self.n_lost * LOST_OF > self.sent.len() {
            self.latest = Some(now);
        }
    }

    /// The latest moment at which the path faded.
    pub(crate) const fn latest(&self) -> Option<Instant> {
        self.latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latest(losses: impl Fn(u64) -> bool) -> Option<Instant> {
        let mut fades = Fades::default();
        (0..100).for_each(|n| fades.record_datagram(Instant::from_millis(n * 20), losses(n)));
        fades.latest()
    }

    #[test]
    fn a_path_fades_while_more_than_half_is_lost() {
        assert_eq!(latest(|n| n % 3 == 0), None);
        assert_eq!(latest(|n| (40..48).contains(&n)), None, "a burst");
        let at = latest(|n| (40..60).contains(&n)).expect("all of 0.4 s");
        assert!(at > Instant::from_millis(1_000) && at < Instant::from_millis(1_600), "{at:?}");
    }
}
