//! A client's path to the server: each direction of each circuit with its own luck, and the times at which all are cut.
//!
//! It decides when a datagram arrives, or that it never does; the event queue carries it.

use crate::faults::{Faults, LinkFaults, Partitions};
use crate::streams::{Purpose, chance, duration, stream};
use bots::rng::Rng;
use ids::Instant;
use std::time::Duration;

/// Arrival times of the copies of one datagram; none if it is lost.
pub(crate) type Arrivals = [Option<Instant>; 2];

/// One direction between a client and one port of the server.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    rng: Rng,
    is_bad: bool,
}

impl Link {
    /// A direction that begins in the good state.
    pub(crate) const fn new(rng: Rng) -> Self {
        Self { rng, is_bad: false }
    }

    /// Fate of a datagram sent now. The number of draws is constant, so that one knob does not change the luck of the others.
    pub(crate) fn send(&mut self, now: Instant, faults: &LinkFaults) -> Arrivals {
        let [turn, luck, late, twice, twice_late, straggles, straggles_late] =
            std::array::from_fn(|_| self.rng.unit());
        let turns = if self.is_bad { faults.bad_to_good } else { faults.good_to_bad };
        self.is_bad ^= turn < turns;
        let loss = if self.is_bad { faults.loss_bad } else { faults.loss_good };
        if luck < loss {
            return [None, None];
        }
        let mut arrives_at = now + faults.delay + faults.jitter.mul_f64(late);
        if straggles < faults.reorder {
            arrives_at += faults.straggle.mul_f64(straggles_late);
        }
        let again = (twice < faults.duplicate).then(|| arrives_at + faults.straggle.mul_f64(twice_late));
        [Some(arrives_at), again]
    }
}

/// The times at which one client is cut off, in order and apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cuts(Vec<(Instant, Instant)>);

impl Cuts {
    /// Draws a client's cuts; none lasts beyond `storm_ends_at`.
    pub(crate) fn draw(seed: u64, client: u32, faults: &Faults, storm_ends_at: Instant) -> Self {
        let mut cuts = Vec::new();
        if let Some(partitions) = &faults.partitions {
            draw_partitions(seed, client, partitions, storm_ends_at, &mut cuts);
        }
        if let Some(split) = &faults.split
            && chance(&mut stream(seed, Purpose::Split, client.into()), split.share)
        {
            let begins_at = Instant::ZERO + split.at;
            cuts.push((begins_at.min(storm_ends_at), (begins_at + split.lasts).min(storm_ends_at)));
        }
        Self::joined(cuts)
    }

    /// Cuts that overlap are one.
    fn joined(mut cuts: Vec<(Instant, Instant)>) -> Self {
        cuts.sort_unstable();
        let mut joined: Vec<(Instant, Instant)> = Vec::with_capacity(cuts.len());
        for (begins_at, ends_at) in cuts {
            match joined.last_mut() {
                Some((_, until)) if begins_at <= *until => *until = ends_at.max(*until),
                _ => joined.push((begins_at, ends_at)),
            }
        }
        Self(joined)
    }

    /// One cut, or none.
    pub(crate) fn of(cut: Option<(Instant, Instant)>) -> Self {
        Self(cut.into_iter().collect())
    }

    /// End of the current cut.
    pub(crate) fn cut_until(&self, now: Instant) -> Option<Instant> {
        self.0.iter().find(|&&(from, until)| from <= now && now < until).map(|&(_, until)| until)
    }

    /// The latest moment up to now at which the path was cut.
    pub(crate) fn latest(&self, now: Instant) -> Option<Instant> {
        self.0.iter().rev().find(|&&(from, _)| from <= now).map(|&(_, until)| until.min(now))
    }

    /// Total time of cuts between two moments.
    pub(crate) fn cut_between(&self, from: Instant, until: Instant) -> Duration {
        self.0.iter().map(|&(begins, ends)| ends.min(until).since(begins.max(from))).sum()
    }
}

/// Draws the times at which a client is cut off by itself.
fn draw_partitions(
    seed: u64,
    client: u32,
    partitions: &Partitions,
    storm_ends_at: Instant,
    cuts: &mut Vec<(Instant, Instant)>,
) {
    let mut rng = stream(seed, Purpose::Cuts, client.into());
    let mut at = Instant::ZERO;
    loop {
        let begins_at = at + duration(&mut rng, Duration::ZERO, 2 * partitions.every);
        let ends_at = begins_at + duration(&mut rng, partitions.lasts_min, partitions.lasts_max);
        if begins_at >= storm_ends_at {
            return;
        }
        cuts.push((begins_at, ends_at.min(storm_ends_at)));
        at = ends_at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link() -> Link {
        Link::new(stream(3, Purpose::LinkUp, 0))
    }

    #[test]
    fn a_calm_link_delivers_everything_once_and_in_order() {
        let mut link = link();
        for ms in 0..100 {
            let now = Instant::from_millis(ms);
            assert_eq!(link.send(now, &LinkFaults::CALM), [Some(Instant::from_millis(ms + 1)), None]);
        }
    }

    #[test]
    fn losses_of_a_rough_link_come_in_bursts() {
        let mut link = link();
        let lost: Vec<bool> =
            (0..50_000).map(|_| link.send(Instant::ZERO, &LinkFaults::ROUGH)[0].is_none()).collect();
        let share = lost.iter().filter(|&&lost| lost).count() as f64 / lost.len() as f64;
        let pairs = lost.windows(2).filter(|pair| pair[0]).count() as f64;
        let repeated = lost.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64 / pairs;
        assert!((0.04..0.09).contains(&share), "{share} lost");
        assert!(repeated > 3.0 * share, "after a loss {repeated} of the next are lost, of all {share}");
    }

    #[test]
    fn one_knob_does_not_change_the_luck_of_the_others() {
        let arrivals = |faults: LinkFaults| {
            let mut link = link();
            (0..1_000).map(|_| link.send(Instant::ZERO, &faults)[0]).collect::<Vec<_>>()
        };
        let rough = arrivals(LinkFaults::ROUGH);
        let worse = arrivals(LinkFaults { loss_good: 0.2, ..LinkFaults::ROUGH });
        let mut n_lost = 0;
        for (rough, worse) in rough.iter().zip(&worse) {
            n_lost += u32::from(worse.is_none() && rough.is_some());
            assert!(worse.is_none() || worse == rough);
        }
        assert!(n_lost > 100);
    }

    #[test]
    fn a_split_cuts_its_share_off_together_and_cuts_that_overlap_are_one() {
        let at = Instant::from_millis;
        let cuts = (0..1_000).map(|client| Cuts::draw(1, client, &Faults::SPLIT, at(25_000)));
        let cut: Vec<Cuts> = cuts.filter(|cuts| !cuts.0.is_empty()).collect();
        assert!((350..450).contains(&cut.len()), "{} of 1,000", cut.len());
        assert!(cut.iter().all(|cuts| cuts.0 == [(at(12_000), at(20_000))]));
        let joined = Cuts::joined(vec![(at(5), at(8)), (at(1), at(3)), (at(2), at(4))]);
        assert_eq!(joined.0, [(at(1), at(4)), (at(5), at(8))]);
        let latest = [0, 2, 4, 6, 9].map(|now| joined.latest(at(now)));
        assert_eq!(latest, [None, Some(at(2)), Some(at(4)), Some(at(6)), Some(at(8))]);
    }

    #[test]
    fn cuts_end_with_the_storm_and_are_measured() {
        let partitions = Partitions {
            every: Duration::from_secs(5),
            lasts_min: Duration::from_secs(1),
            lasts_max: Duration::from_secs(4),
        };
        let end = Instant::from_millis(60_000);
        let faults = Faults { partitions: Some(partitions), ..Faults::NONE };
        let cuts = Cuts::draw(1, 0, &faults, end);
        assert!(cuts.0.len() > 3, "{cuts:?}");
        assert!(cuts.0.iter().all(|&(from, until)| from < until && until <= end));
        let (from, until) = cuts.0[0];
        assert_eq!(cuts.cut_until(from), Some(until));
        assert_eq!(cuts.cut_until(until), None);
        assert_eq!(cuts.cut_between(Instant::ZERO, until), until - from);
        assert_eq!(cuts.cut_between(until, until), Duration::ZERO);
    }
}
