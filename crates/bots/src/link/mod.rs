//! One direction of a bad network: loses, delays and reorders items, repeatably.
//!
//! Used between the bots and their sockets ([`crate::driver`]) and by the simulator. It knows neither datagrams nor addresses.
//! [`Narrow`] is a line slower than its traffic.

mod narrow;

pub use narrow::{Capacity, Narrow};

use crate::rng::Rng;
use ids::Instant;
use std::collections::BTreeMap;
use std::time::Duration;

/// Things under way on one link. Beyond it the newest is lost, as in a router's full queue: 5,000 bots that receive 60
/// datagrams a second each with a delay of 800 ms come close.
pub const UNDER_WAY_MAX: usize = 1 << 18;

/// Effects of a link on every item, in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Conditions {
    /// Share that is lost, 0 to 1.
    pub loss: f64,
    /// Mean delay.
    pub delay: Duration,
    /// Deviation of the delay from its mean, uniform in both directions but not below zero. Items sent close together are reordered.
    pub jitter: Duration,
}

impl Conditions {
    /// True without any effect, so that no link is needed.
    #[must_use]
    pub fn is_clear(&self) -> bool {
        *self == Self::default()
    }
}

/// Fate of an item given to [`ImpairedLink::push`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkFate {
    /// [`ImpairedLink::poll`] will give it.
    UnderWay,
    /// It is lost.
    Lost,
}

/// One direction of a bad network.
#[derive(Clone, Debug)]
pub struct ImpairedLink<T> {
    conditions: Conditions,
    rng: Rng,
    /// By arrival, then by departure.
    under_way: BTreeMap<(Instant, u64), T>,
    departures: u64,
}

impl<T> ImpairedLink<T> {
    /// A link that does the same to the same things whenever the seed is the same.
    #[must_use]
    pub const fn new(conditions: Conditions, rng: Rng) -> Self {
        Self { conditions, rng, under_way: BTreeMap::new(), departures: 0 }
    }

    /// Sends a thing on its way.
    pub fn push(&mut self, now: Instant, thing: T) -> LinkFate {
        // Both numbers are drawn in any case, so that another loss rate changes no delays.
        let (luck, place) = (self.rng.unit(), self.rng.unit());
        if luck < self.conditions.loss || self.under_way.len() >= UNDER_WAY_MAX {
            return LinkFate::Lost;
        }
        let earliest = self.conditions.delay.saturating_sub(self.conditions.jitter);
        let latest = self.conditions.delay + self.conditions.jitter;
        let arrives_at = now + earliest + (latest - earliest).mul_f64(place);
        self.departures += 1;
        self.under_way.insert((arrives_at, self.departures), thing);
        LinkFate::UnderWay
    }

    /// The next thing that has arrived by now.
    pub fn poll(&mut self, now: Instant) -> Option<T> {
        let entry = self.under_way.first_entry()?;
        (entry.key().0 <= now).then(|| entry.remove())
    }

    /// Time of the next arrival.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.under_way.first_key_value().map(|((arrives_at, _), _)| *arrives_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUGH: Conditions =
        Conditions { loss: 0.2, delay: Duration::from_millis(50), jitter: Duration::from_millis(20) };

    /// Sends a number each millisecond; returns the arrivals and their delays.
    fn carry(conditions: Conditions, seed: u64, count: u32) -> Vec<(u32, Duration)> {
        let mut link = ImpairedLink::new(conditions, Rng::new(seed, 0));
        let mut arrived = Vec::new();
        for ms in 0..u64::from(count) + 1000 {
            let now = Instant::from_millis(ms);
            if ms < u64::from(count) {
                link.push(now, ms as u32);
            }
            while let Some(number) = link.poll(now) {
                arrived.push((number, now - Instant::from_millis(u64::from(number))));
            }
        }
        assert_eq!(link.poll_timeout(), None);
        arrived
    }

    #[test]
    fn equal_seeds_treat_things_alike_and_others_do_not() {
        assert_eq!(carry(ROUGH, 1, 500), carry(ROUGH, 1, 500));
        assert_ne!(carry(ROUGH, 1, 500), carry(ROUGH, 2, 500));
    }

    #[test]
    fn as_much_is_lost_and_as_late_as_the_conditions_say() {
        let arrived = carry(ROUGH, 3, 10_000);
        assert!((7_800..8_200).contains(&arrived.len()), "{} arrived", arrived.len());
        // Looked at once a millisecond, so up to one later.
        let (min, max) = (Duration::from_millis(30), Duration::from_millis(71));
        assert!(arrived.iter().all(|(_, delay)| (min..=max).contains(delay)));
        assert!(!arrived.is_sorted_by_key(|(number, _)| *number), "jitter changes places");
    }

    #[test]
    fn a_steady_link_keeps_order() {
        let steady = Conditions { loss: 0.0, jitter: Duration::ZERO, ..ROUGH };
        let arrived = carry(steady, 3, 100);
        assert_eq!(arrived.len(), 100);
        assert!(arrived.is_sorted());
    }

    #[test]
    fn a_full_link_loses_the_newest() {
        let mut link = ImpairedLink::new(Conditions::default(), Rng::new(1, 0));
        for number in 0..UNDER_WAY_MAX {
            assert_eq!(link.push(Instant::ZERO, number), LinkFate::UnderWay);
        }
        assert_eq!(link.push(Instant::ZERO, usize::MAX), LinkFate::Lost);
        assert_eq!(link.poll(Instant::ZERO), Some(0));
        assert_eq!(link.push(Instant::ZERO, 0), LinkFate::UnderWay);
    }
}
