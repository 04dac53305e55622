//! Randomness of a run: one stream of numbers for each purpose and each subject, all from one seed.
//!
//! A stream is named by its purpose and never shared. So the draws of one client change nothing for another, and a run on four shards
//! draws the same numbers as a run on one.

use bots::rng::Rng;
use std::time::Duration;

/// Use of a stream of random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Intents of a client.
    Will = 1,
    /// Randomness of a client's bot.
    Bot,
    /// Fate of datagrams on their way to one port of the server.
    LinkUp,
    /// Fate of datagrams on their way from one port of the server.
    LinkDown,
    /// Times at which a client is cut off.
    Cuts,
    /// Latencies of a client's HTTP requests, and lost replies.
    Http,
    /// Frames that a replica misses.
    Frames,
    /// Ids and secrets that the hub gives out.
    Entropy,
    /// The kernel's choice of a shard for an address.
    Shard,
    /// Datagrams of strangers.
    Strangers,
    /// The ground and the randomness of a world.
    World,
    /// Times at which worlds are restored from their snapshots.
    Restores,
    /// Times at which worlds panic.
    Panics,
    /// Start position of an avatar.
    Spot,
    /// Clients that a split cuts off.
    Split,
    /// Ticks at which worlds move between hosts.
    Moves,
    /// Ticks at which a template's behaviours are reloaded.
    Reloads,
    /// Acts of users, programs and accidents in a run of instances.
    Instances,
    /// Acts in a run of a world of prims, and the ticks at which it moves.
    Yard,
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
