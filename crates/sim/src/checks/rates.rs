//! Rates of updates of moving avatars by distance, before and during a shortage of CPU time: they have to fall evenly.
//!
//! Avatars are grouped by their rank among a client's neighbours, [`GROUP`] to a group. The share that a group keeps is its rate of updates
//! during the shortage over its rate before. Evenly means, with g counting groups from the nearest on:
//!
//! - share(0) ≥ [`NEAREST_SHARE_MIN`];
//! - share(g + 1) ≤ share(g) + [`RISE_MAX`]: no group is served better than a nearer one;
//! - share(g + 1) ≥ share(g) × [`STEP_MIN`]: there is no distance beyond which everything stops;
//! - the tenth of the clients that hear the least of their nearest [`NEAR_MAX`] hear at least [`CLIENT_SHARE_MIN`] of what the median
//!   client hears.

use super::Census;
use bots::observer::Observer;
use glam::Vec3;
use ids::{AgentId, Instant};
use replicate::{NEAR_MAX, border_ranks};
use std::collections::BTreeMap;

/// Avatars of a group.
const GROUP: usize = 20;
/// Least share of the nearest group.
const NEAREST_SHARE_MIN: f64 = 0.85;
/// A share above that of a nearer group counts as equal up to this difference: groups differ by chance.
const RISE_MAX: f64 = 0.1;
/// Least share as a part of that of the next nearer group.
const STEP_MIN: f64 = 0.5;
/// Least rate of the worst-served tenth of the clients as a part of the median.
const CLIENT_SHARE_MIN: f64 = 0.6;

/// State of the node while updates are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CpuSupply {
    /// All CPU time that is needed.
    Full,
    /// Less than that.
    Scarce,
}

/// Updates of moving avatars and the seconds in which they came.
#[derive(Clone, Copy, Debug, Default)]
struct RateSum {
    updates: f64,
    seconds: f64,
}

impl RateSum {
    fn add(&mut self, updates: u64, seconds: f64) {
        self.updates += updates as f64;
        self.seconds += seconds;
    }

    fn rate_hz(&self) -> f64 {
        self.updates / self.seconds.max(f64::MIN_POSITIVE)
    }
}

/// A client's neighbours at its latest look: the updates counted of each, and its group.
type RankedNeighbours = BTreeMap<AgentId, (u64, usize)>;

/// Rates of updates, by group of neighbours and by client.
#[derive(Debug, Default)]
pub(crate) struct UpdateRates {
    latest: BTreeMap<u32, (Instant, RankedNeighbours)>,
    full: BTreeMap<usize, RateSum>,
    scarce: BTreeMap<usize, RateSum>,
    /// By client, of its nearest [`NEAR_MAX`], during the shortage.
    near: BTreeMap<u32, RateSum>,
}

impl UpdateRates {
    /// Counts what a client has heard since its last look.
    pub(crate) fn count_updates(
        &mut self,
        now: Instant,
        supply: CpuSupply,
        client: u32,
        (own, observer): (AgentId, &Observer),
        census: &Census,
    ) {
        let neighbours = neighbours(own, observer, census);
        let Some((at, former)) = self.latest.insert(client, (now, neighbours)) else { return };
        let seconds = now.since(at).as_secs_f64();
        let (_, neighbours) = &self.latest[&client];
        for (agent, &(updates, group)) in neighbours {
            let Some(&(before, group_before)) = former.get(agent) else { continue };
            // Shown anew it is counted anew.
            if group != group_before || updates < before {
                continue;
            }
            match supply {
                CpuSupply::Full => self.full.entry(group).or_default().add(updates - before, seconds),
                CpuSupply::Scarce => {
                    self.scarce.entry(group).or_default().add(updates - before, seconds);
                    if group < NEAR_MAX / GROUP {
                        self.near.entry(client).or_default().add(updates - before, seconds);
                    }
                }
            }
        }
    }

    /// Forgets the latest looks: what comes next is not counted from them.
    pub(crate) fn pause(&mut self) {
        self.latest.clear();
    }

    /// The share of its rate that each group kept, the nearest first.
    pub(crate) fn shares(&self) -> Vec<f64> {
        let share = |(group, heard): (&usize, &RateSum)| {
            Some(heard.rate_hz() / self.full.get(group).filter(|full| full.updates > 0.0)?.rate_hz())
        };
        self.scarce.iter().filter_map(share).collect()
    }

    /// A description of the first violated rule.
    pub(crate) fn unevenness(&self) -> Option<String> {
        let shares = self.shares();
        let Some(&nearest) = shares.first() else { return Some("nothing was heard".to_owned()) };
        let about = |what: &str| Some(format!("{what}; shares by distance: {shares:.2?}"));
        if nearest < NEAREST_SHARE_MIN {
            return about("the nearest are not served first");
        }
        if shares.windows(2).any(|pair| pair[1] > pair[0] + RISE_MAX) {
            return about("some are served better than others that are nearer");
        }
        if shares.windows(2).any(|pair| pair[1] < pair[0] * STEP_MIN) {
            return about("the rate falls by a step");
        }
        let mut rates: Vec<f64> = self.near.values().map(RateSum::rate_hz).collect();
        rates.sort_unstable_by(f64::total_cmp);
        let (tenth, median) = (rates[rates.len() / 10], rates[rates.len() / 2]);
        (tenth < median * CLIENT_SHARE_MIN).then(|| {
            format!("a tenth of the clients hear of their nearest at {tenth:.2} Hz or less, the median at {median:.2} Hz")
        })
    }
}

/// Moving avatars that a client surely is to be shown.
fn neighbours(own: AgentId, observer: &Observer, census: &Census) -> RankedNeighbours {
    let Some(eye) = census.resident(own).map(|own| own.motion.position) else {
        return RankedNeighbours::new();
    };
    let mut squares: Vec<f32> = census.residents().map(|resident| resident.square(eye)).collect();
    squares.sort_unstable_by(f32::total_cmp);
    let shown = border_ranks(crate::node::VISIBLE_MAX).start / GROUP * GROUP;
    let moving = observer.avatars().filter(|seen| seen.agent != own);
    let ranked = moving.filter_map(|seen| {
        let resident =
            census.resident(seen.agent).filter(|resident| resident.motion.velocity != Vec3::ZERO)?;
        // The client itself is nearer than all.
        let rank = squares.partition_point(|&square| square < resident.square(eye)).saturating_sub(1);
        (rank < shown).then_some((seen.agent, (seen.updates, rank / GROUP)))
    });
    ranked.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rates of groups that heard ten updates a second before, and these shares of it during the shortage.
    fn rates(shares: &[f64]) -> UpdateRates {
        let mut rates = UpdateRates::default();
        for (group, share) in shares.iter().enumerate() {
            rates.full.insert(group, RateSum { updates: 1_000.0, seconds: 100.0 });
            rates.scarce.insert(group, RateSum { updates: 1_000.0 * share, seconds: 100.0 });
        }
        for client in 0..20 {
            rates.near.insert(client, RateSum { updates: 100.0, seconds: 10.0 });
        }
        rates
    }

    #[test]
    fn rates_that_fall_with_distance_are_even() {
        assert_eq!(rates(&[1.0, 0.95, 1.0, 0.7, 0.5, 0.4, 0.3]).unevenness(), None);
    }

    #[test]
    fn a_step_a_rise_and_a_bad_start_are_not() {
        for (shares, complaint) in [
            (&[1.0, 1.0, 1.0, 0.3, 0.3], "by a step"),
            (&[1.0, 0.6, 0.9, 0.8, 0.7], "served better"),
            (&[0.7, 0.6, 0.5, 0.5, 0.4], "not served first"),
        ] {
            let found = rates(shares).unevenness().expect("uneven");
            assert!(found.contains(complaint), "{found}");
        }
    }

    #[test]
    fn clients_that_hear_far_less_than_others_are_found() {
        let mut rates = rates(&[1.0, 0.9]);
        rates.near.values_mut().take(3).for_each(|heard| heard.updates /= 4.0);
        assert!(rates.unevenness().expect("uneven").contains("a tenth of the clients"));
    }
}
