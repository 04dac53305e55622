//! Restarts of regions that managers of their estates have ordered: each counts down, with notices to the visitors.

use super::Hub;
use ids::{Instant, SessionKey, WorldId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Seconds before a restart at which visitors get a notice, beside the one at the order.
const NOTICES_S: [u64; 9] = [5, 15, 30, 60, 120, 300, 600, 1_800, 3_600];

/// Orders that wait: one for each region at most.
#[derive(Debug, Default)]
pub(super) struct Countdowns {
    waiting: BTreeMap<WorldId, Countdown>,
    /// Worlds to be restarted.
    due: BTreeSet<WorldId>,
}

#[derive(Debug)]
struct Countdown {
    at: Instant,
    /// Seconds in the newest notice to the visitors.
    noticed_s: u64,
}

impl Hub {
    /// The next world of a region that is to be restarted, from its present state. Drain after [`Self::handle_timeout`].
    pub fn poll_restart(&mut self) -> Option<WorldId> {
        self.restarts.due.pop_first()
    }

    /// Takes an order, which replaces an earlier one, or takes it back.
    pub(super) fn order_restart(
        &mut self,
        now: Instant,
        by: SessionKey,
        world: WorldId,
        delay: Option<Duration>,
    ) {
        let Some(delay) = delay else {
            if self.restarts.waiting.remove(&world).is_some() {
                self.alert_in(world, "The restart of this region is cancelled.");
            } else {
                self.notify(by, "No restart of this region is ordered.");
            }
            return;
        };
        let noticed_s = delay.as_secs();
        self.restarts.waiting.insert(world, Countdown { at: now + delay, noticed_s });
        if noticed_s > 0 {
            self.alert_in(world, &notice(noticed_s));
        }
    }

    /// Sends the notices that are due, and passes on the restarts that are due.
    pub(super) fn count_down(&mut self, now: Instant) {
        let mut notices = Vec::new();
        let Countdowns { waiting, due } = &mut self.restarts;
        waiting.retain(|world, countdown| {
            if countdown.at <= now {
                due.insert(*world);
                notices.push((*world, "This region restarts now.".to_owned()));
                return false;
            }
            let left = countdown.at - now;
            let next = NOTICES_S.into_iter().find(|&time| left <= Duration::from_secs(time));
            if let Some(next) = next.filter(|next| *next < countdown.noticed_s) {
                countdown.noticed_s = next;
                notices.push((*world, notice(next)));
            }
            true
        });
        for (world, text) in notices {
            self.alert_in(world, &text);
        }
    }
}

fn notice(seconds: u64) -> String {
    let time = match (seconds / 60, seconds % 60) {
        (0, 1) => "1 second".to_owned(),
        (1, 0) => "1 minute".to_owned(),
        (minutes, 0) if minutes > 0 => format!("{minutes} minutes"),
        _ => format!("{seconds} seconds"),
    };
    format!("This region restarts in {time}. You stay, and see a short pause.")
}

#[cfg(test)]
mod tests {
    use super::notice;

    #[test]
    fn times_are_in_whole_minutes_or_in_seconds() {
        let of = |seconds| notice(seconds).split_once(". ").map(|(first, _)| first.to_owned());
        for (seconds, time) in
            [(1, "1 second"), (59, "59 seconds"), (60, "1 minute"), (90, "90 seconds"), (3_600, "60 minutes")]
        {
            assert_eq!(of(seconds), Some(format!("This region restarts in {time}")));
        }
    }
}
