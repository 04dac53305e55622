//! Stops are displayed: viewers extrapolate an avatar without limit, so a stop must not get lost.
//!
//! Bound: period of the band of distance + 1 s. An immediate stop arrives well within it, and so does the last repetition, half a
//! second after the stop, which corrects stragglers. For the nearest 60 it holds under any loss, unless the path fades
//! ([`crate::fades`]). Beyond them a stop is sent twice; a lost datagram is rebuilt when its ack is overdue, which takes another half
//! second on the paths of [`crate::Faults`], so there the time counts from the last loss.

use super::Census;
use bots::observer::Observer;
use glam::Vec3;
use ids::{AgentId, Instant};
use replicate::selection::HOLD_SENDS;
use replicate::{NEAR_MAX, border_ranks};
use std::collections::BTreeMap;
use std::time::Duration;

/// Between two sends to a client.
const SEND_PERIOD: Duration = Duration::from_millis(100);
/// Near avatars have a turn in every send.
const NEAR_MAX_LAG: Duration = SEND_PERIOD.saturating_add(SLACK);
/// Far avatars wait for a full datagram, this number of sends at most.
const FAR_MAX_LAG: Duration = SEND_PERIOD.saturating_mul(HOLD_SENDS as u32 + 1).saturating_add(SLACK);
/// The second on top of a period.
const SLACK: Duration = Duration::from_secs(1);
/// Metres up to which the nearest are in the nearest band.
const NEAR_M: f32 = 64.0;
/// Metres between two runners until the server computes the near set again, every 0.8 s.
const LOOK_DRIFT_M: f32 = 9.0;
/// A more recent stop is not suspect: most stops have been sent by then.
const SUSPECT_FROM: Duration = Duration::from_millis(200);
/// A suspect found before this time was surely displayed when it stopped, as far as checks every [`SUSPECT_FROM`] show.
const SUSPECT_UNTIL: Duration = Duration::from_millis(400);
/// An avatar that leaves the visible set gets no more updates, and is displayed unchanged until its kill arrives.
const LEAVING_MAX_LAG: Duration = super::views::GHOST_MAX;

/// Resting avatars displayed as moving, by client.
#[derive(Debug, Default)]
pub(crate) struct Stops {
    suspects: BTreeMap<u32, BTreeMap<AgentId, Suspect>>,
    latest: Duration,
}

/// A client's view at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look<'a> {
    pub(crate) now: Instant,
    pub(crate) client: u32,
    pub(crate) own: AgentId,
    pub(crate) observer: &'a Observer,
    pub(crate) census: &'a Census,
    pub(crate) visible_max: usize,
    /// Since when the client is there and its path does not fade.
    pub(crate) calm_since: Instant,
    /// The latest loss of a datagram to the client.
    pub(crate) lost_at: Instant,
}

/// A resting avatar that is displayed as moving, and is surely in the visible set.
#[derive(Clone, Copy, Debug)]
struct Suspect {
    /// Since when.
    since: Instant,
    /// Among the nearest at every look since then.
    is_near: bool,
}

impl Stops {
    /// The longest time for which a stopped avatar among the nearest 60 was displayed moving; fades do not count.
    pub(crate) const fn latest(&self) -> Duration {
        self.latest
    }

    /// A stopped avatar that is displayed moving for too long, if any.
    pub(crate) fn check_client(&mut self, look: &Look<'_>) -> Option<String> {
        let Look { now, census, visible_max, calm_since, lost_at, .. } = *look;
        let eye = census.resident(look.own)?.motion.position;
        let mut suspects = BTreeMap::new();
        let former = self.suspects.remove(&look.client).unwrap_or_default();
        let mut found = None;
        for seen in look.observer.avatars().filter(|seen| seen.velocity != Vec3::ZERO) {
            let Some(resident) = census.resident(seen.agent) else { continue };
            let Some(wrong_since) = resident.rests_since.map(|since| since.max(calm_since)) else { continue };
            if now.since(wrong_since) < SUSPECT_FROM {
                continue;
            }
            let square = resident.square(eye);
            let rank = census.residents().filter(|other| other.square(eye) < square).count();
            let (lag, most) = if rank < border_ranks(visible_max).start {
                let is_near = is_surely_near(census, eye, square.sqrt());
                let suspect = former.get(&seen.agent).map_or(Suspect { since: now, is_near }, |former| {
                    Suspect { is_near: former.is_near && is_near, ..*former }
                });
                suspects.insert(seen.agent, suspect);
                if suspect.is_near {
                    let lag = lag_of(now, wrong_since, suspect.since);
                    self.latest = self.latest.max(lag);
                    (lag, NEAR_MAX_LAG)
                } else {
                    (lag_of(now, wrong_since.max(lost_at), suspect.since), FAR_MAX_LAG)
                }
            } else {
                (now.since(wrong_since.max(lost_at)), LEAVING_MAX_LAG)
            };
            if lag > most {
                found = Some(format!(
                    "{:?}, {} m away and with {rank} nearer, rests and has been shown moving for {lag:?}, last updated at {:?}",
                    seen.agent,
                    square.sqrt(),
                    seen.updated_at,
                ));
            }
        }
        if !suspects.is_empty() {
            self.suspects.insert(look.client, suspects);
        }
        found
    }
}

/// True if an avatar at this distance is among the nearest now, and was at the server's latest list.
fn is_surely_near(census: &Census, eye: Vec3, distance_m: f32) -> bool {
    let reach_m = distance_m + LOOK_DRIFT_M;
    // The client itself is nearer than all.
    let n_nearer = || census.residents().filter(|other| other.square(eye) < reach_m * reach_m).count();
    reach_m <= NEAR_M && n_nearer() <= NEAR_MAX
}

/// Time for which a suspect should have been displayed at rest: since it was surely displayed, if that was later.
fn lag_of(now: Instant, wrong_since: Instant, first_seen: Instant) -> Duration {
    let is_newcomer = first_seen.since(wrong_since) > SUSPECT_UNTIL;
    now.since(if is_newcomer { first_seen } else { wrong_since })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lag_counts_from_the_stop_or_from_a_newcomers_deadline() {
        let lag = |wrong_since: u64, first_seen: u64| {
            lag_of(
                Instant::from_millis(3_000),
                Instant::from_millis(wrong_since),
                Instant::from_millis(first_seen),
            )
        };
        assert_eq!(lag(1_000, 1_300), Duration::from_secs(2));
        assert_eq!(lag(1_000, 2_500), Duration::from_millis(500), "it was not in the visible set before");
    }

    #[test]
    fn a_stop_is_late_after_1_1_s_among_the_nearest_and_after_1_4_s_beyond() {
        assert_eq!(border_ranks(200), 143..280);
        assert_eq!((NEAR_MAX_LAG, FAR_MAX_LAG), (Duration::from_millis(1_100), Duration::from_millis(1_400)));
    }
}
