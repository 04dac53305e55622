//! Randomness of a run: one stream of numbers for each purpose and each subject, all from one seed.
//!
//! A stream is named by what it is for and never shared. So what one client draws changes nothing for another, and a
//! run on four shards draws the same numbers as a run on one.

use bots::rng::Rng;
use std::time::Duration;

/// What a stream of numbers decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// What a client wants.
    Will = 1,
    /// What a client's bot leaves to chance.
    Bot,
    /// What happens to datagrams on their way to one port of the server.
    LinkUp,
    /// What happens to datagrams on their way from one port of the server.
    LinkDown,
    /// When a client is cut off.
    Cuts,
    /// How long a client's HTTP requests take, and which answers get lost.
    Http,
    /// Which frames a replica misses.
    Frames,
    /// Ids and secrets that the hub gives out.
    Entropy,
    /// Which shard the kernel chooses for an address.
    Shard,
    /// What strangers send.
    Strangers,
    /// The ground of a world, and what the world leaves to chance.
    World,
    /// When worlds are taken down and put up again.
    Restores,
    /// When worlds panic.
    Panics,
    /// Where somebody begins.
    Spot,
    /// Whom a split cuts off.
    Split,
    /// Ticks at which worlds move between hosts.
    Moves,
    /// Ticks at which a template's behaviours are reloaded.
    Reloads,
}

/// The stream of one purpose for one subject, of which there are fewer than 2⁵⁶.
pub(crate) const fn stream(seed: u64, purpose: Purpose, subject: u64) -> Rng {
    Rng::new(seed, (purpose as u64) << 56 | subject)
}

/// True with this probability.
pub(crate) fn chance(rng: &mut Rng, probability: f64) -> bool {
    rng.unit() < probability
}

/// Evenly between two durations.
pub(crate) fn duration(rng: &mut Rng, low: Duration, high: Duration) -> Duration {
    low + high.saturating_sub(low).mul_f64(rng.unit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_differ_by_seed_purpose_and_subject() {
        let first = |seed, purpose, subject| stream(seed, purpose, subject).next();
        let same = first(1, Purpose::Will, 0);
        assert_eq!(same, first(1, Purpose::Will, 0));
        assert_ne!(same, first(2, Purpose::Will, 0));
        assert_ne!(same, first(1, Purpose::Http, 0));
        assert_ne!(same, first(1, Purpose::Will, 1));
    }
}
