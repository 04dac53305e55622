//! Restart of a world that panicked, or that an operator has ordered: the pause before its next life, dismissal of avatars without a session, and the return of its
//! visitors.
//!
//! Sans-IO. [`Restart`] records each panic and each begin, and [`Restart::poll`] returns the due actions. Its driver makes the next
//! life, has it stepped, and takes the census of the gateways' sessions ([`link::WorldCensus`]) that dismissals and returns are decided
//! by.

mod backoff;

pub use backoff::Backoff;

use ids::{Epoch, Instant};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Period in which the inbox of a world that is down is emptied: shorter than even a crowd needs to fill it.
pub const DRAIN_PERIOD: Duration = Duration::from_millis(20);
/// Period in which a restarted world is searched for avatars without a session: a departure may not have reached the hub yet.
pub const SWEEP_PERIOD: Duration = Duration::from_secs(1);
/// Searches after each restart.
pub const SWEEPS: u32 = 10;
/// Period in which the return of all visitors is checked.
const RETURN_PERIOD: Duration = Duration::from_millis(10);
/// Time after a restart for which a visitor may still return.
pub const RETURN_MAX: Duration = Duration::from_secs(60);

/// Work that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartTask {
    /// Begin the next life, then [`Restart::note_begun`].
    Begin,
    /// Dismiss avatars without a session.
    Sweep,
    /// Compare the replica with the census, then [`Restart::note_return`].
    CheckReturn,
}

/// Restarts of one world: plain data, which travels with it between hosts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Restart {
    backoff: Backoff,
    /// For a world that is down: times of its panic and of its next begin.
    down: Option<(Instant, Instant)>,
    /// Time of the next search, and the remaining number.
    sweeps: Option<(Instant, u32)>,
    returning: Option<ReturnWatch>,
    begun_at: Option<Instant>,
    n_restarts: u64,
}

/// A world that runs again and lacks avatars of its former life.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct ReturnWatch {
    panicked_at: Instant,
    begun_at: Instant,
    epoch: Epoch,
    next_at: Instant,
}

impl Restart {
    /// For a world that runs since `now`.
    #[must_use]
    pub const fn new(now: Instant) -> Self {
        Self {
            backoff: Backoff::new(now),
            down: None,
            sweeps: None,
            returning: None,
            begun_at: None,
            n_restarts: 0,
        }
    }

    /// The world has panicked; the time of its next begin.
    ///
    /// # Panics
    /// If it is down already.
    pub fn note_panic(&mut self, now: Instant) -> Instant {
        assert!(self.down.is_none(), "a world that is down is not stepped");
        let begins_at = self.backoff.panicked(now);
        self.down = Some((now, begins_at));
        begins_at
    }

    /// An operator has ordered a restart, and the world is not stepped any more. Its next life begins at once; backoffs do not count it.
    ///
    /// # Panics
    /// If it is down already.
    pub fn note_order(&mut self, now: Instant) {
        assert!(self.down.is_none(), "a world that is down is restarted without an order");
        self.down = Some((now, now));
    }

    /// True from a panic until the next life is stepped.
    #[must_use]
    pub const fn is_down(&self) -> bool {
        self.down.is_some()
    }

    /// Time of the last restart.
    #[must_use]
    pub const fn begun_at(&self) -> Option<Instant> {
        self.begun_at
    }

    /// Panics without a good while between them, see [`Backoff::GOOD_WHILE`].
    #[must_use]
    pub const fn in_a_row(&self) -> u32 {
        self.backoff.in_a_row()
    }

    /// Times that the world has begun again.
    #[must_use]
    pub const fn n_restarts(&self) -> u64 {
        self.n_restarts
    }

    /// The next life is stepped; the time since the panic.
    ///
    /// # Panics
    /// If the world is not down.
    pub fn note_begun(&mut self, now: Instant, epoch: Epoch) -> Duration {
        let (panicked_at, _) = self.down.take().expect("only a world that is down begins again");
        self.backoff.began(now);
        self.n_restarts += 1;
        self.begun_at = Some(now);
        self.sweeps = Some((now + SWEEP_PERIOD, SWEEPS));
        self.returning = Some(ReturnWatch { panicked_at, begun_at: now, epoch, next_at: now });
        now - panicked_at
    }

    /// Result of [`RestartTask::CheckReturn`]: the epoch of the replica that clients are shown, and the number of sessions without an avatar in
    /// it. The time since the panic, once all are back.
    pub fn note_return(&mut self, now: Instant, epoch: Epoch, n_missing: usize) -> Option<Duration> {
        let watch = self.returning?;
        let is_whole = watch.epoch == epoch && n_missing == 0;
        if is_whole || now - watch.begun_at >= RETURN_MAX {
            self.returning = None;
        }
        is_whole.then(|| now - watch.panicked_at)
    }

    /// Work that is due, one after the other until none is. While the world is down, nothing but its begin.
    pub fn poll(&mut self, now: Instant) -> Option<RestartTask> {
        if let Some((_, begins_at)) = self.down {
            return (begins_at <= now).then_some(RestartTask::Begin);
        }
        if let Some((next_at, left)) = self.sweeps.filter(|(next_at, _)| *next_at <= now) {
            self.sweeps = (left > 1).then_some((next_at + SWEEP_PERIOD, left - 1));
            return Some(RestartTask::Sweep);
        }
        let watch = self.returning.as_mut().filter(|watch| watch.next_at <= now)?;
        watch.next_at = now + RETURN_PERIOD;
        Some(RestartTask::CheckReturn)
    }

    /// Time of the next work, the next emptying of the inbox included.
    #[must_use]
    pub fn next_at(&self, now: Instant) -> Option<Instant> {
        if let Some((_, begins_at)) = self.down {
            return Some(begins_at.min(now + DRAIN_PERIOD));
        }
        let sweeps_at = self.sweeps.map(|(next_at, _)| next_at);
        let checks_at = self.returning.map(|watch| watch.next_at);
        sweeps_at.into_iter().chain(checks_at).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// A world that panicked at 1 s and began again at 1.1 s.
    fn restarted() -> Restart {
        let mut restart = Restart::new(at(0));
        assert_eq!(restart.note_panic(at(1_000)), at(1_000));
        assert_eq!(restart.poll(at(1_000)), Some(RestartTask::Begin));
        assert_eq!(restart.note_begun(at(1_100), Epoch(1)), Duration::from_millis(100));
        restart
    }

    #[test]
    fn a_world_that_panics_again_waits_and_is_drained_meanwhile() {
        let mut restart = restarted();
        assert_eq!(restart.note_panic(at(1_200)), at(1_700));
        assert_eq!((restart.in_a_row(), restart.n_restarts(), restart.is_down()), (2, 1, true));
        let mut now = at(1_200);
        while restart.poll(now).is_none() {
            let next = restart.next_at(now).expect("it is down");
            assert!(next > now && next - now <= DRAIN_PERIOD, "{next:?} after {now:?}");
            now = next;
        }
        assert_eq!((now, restart.poll(now)), (at(1_700), Some(RestartTask::Begin)));
        restart.note_begun(now, Epoch(2));
        assert_eq!((restart.n_restarts(), restart.begun_at(), restart.is_down()), (2, Some(now), false));
    }

    #[test]
    fn an_ordered_restart_is_due_at_once_and_counts_as_no_panic() {
        let mut restart = restarted();
        restart.note_order(at(2_000));
        assert!(restart.is_down());
        assert_eq!(restart.poll(at(2_000)), Some(RestartTask::Begin));
        restart.note_begun(at(2_001), Epoch(2));
        assert_eq!((restart.in_a_row(), restart.n_restarts()), (1, 2));
        // The second panic in a row, although the last life began by an order.
        assert_eq!(restart.note_panic(at(2_100)), at(2_600));
    }

    #[test]
    fn avatars_without_a_session_are_searched_ten_times_in_ten_seconds() {
        let mut restart = restarted();
        restart.note_return(at(1_100), Epoch(1), 0);
        let mut sweeps = Vec::new();
        let mut now = at(1_100);
        while let Some(next) = restart.next_at(now) {
            now = next;
            while let Some(task) = restart.poll(now) {
                assert_eq!(task, RestartTask::Sweep);
                sweeps.push(now);
            }
        }
        let expected: Vec<Instant> = (1..=u64::from(SWEEPS)).map(|n| at(1_100 + 1_000 * n)).collect();
        assert_eq!(sweeps, expected);
    }

    #[test]
    fn the_return_counts_from_the_panic_until_clients_are_shown_all_sessions_in_the_new_life() {
        let mut restart = restarted();
        assert_eq!(restart.poll(at(1_100)), Some(RestartTask::CheckReturn));
        assert_eq!(restart.note_return(at(1_100), Epoch(0), 0), None, "that is the former life");
        assert_eq!(restart.poll(at(1_105)), None);
        assert_eq!(restart.poll(at(1_110)), Some(RestartTask::CheckReturn));
        assert_eq!(restart.note_return(at(1_110), Epoch(1), 2), None, "two are on their way");
        assert_eq!(restart.note_return(at(1_120), Epoch(1), 0), Some(Duration::from_millis(120)));
        assert_eq!(restart.poll(at(1_130)), None, "it is over");
    }

    #[test]
    fn a_session_that_never_returns_is_given_up() {
        let mut restart = restarted();
        let end = at(1_100) + RETURN_MAX;
        assert_eq!(restart.note_return(at(1_099) + RETURN_MAX, Epoch(1), 1), None);
        assert!(restart.returning.is_some());
        assert_eq!(restart.note_return(end, Epoch(1), 1), None);
        assert!(restart.returning.is_none());
    }
}
