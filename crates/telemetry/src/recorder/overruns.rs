//! Queue of overruns, from the threads that were late to the thread that saves captures.

use super::capture::{Overrun, ScopeKind};
use super::clock::now_ns;
use crossbeam_queue::ArrayQueue;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::Thread;
use std::time::Duration;

/// Maximum overruns in the queue, as many as a second of a few threads that are late at every turn. When it is full, an
/// overrun is dropped and counted: the saver has enough reasons by then.
const OVERRUNS_MAX: usize = 1_024;

#[derive(Debug)]
pub(super) struct Overruns {
    waiting: ArrayQueue<Overrun>,
    /// Dropped overruns, by [`ScopeKind`].
    lost: [AtomicU64; ScopeKind::ALL.len()],
    /// The first thread that called [`Overruns::next`]; it is unparked.
    reader: OnceLock<Thread>,
}

impl Overruns {
    pub(super) fn new() -> Self {
        Self { waiting: ArrayQueue::new(OVERRUNS_MAX), lost: Default::default(), reader: OnceLock::new() }
    }

    /// Never waits: the queue is lock-free, and waking the reader is one swap while it is awake, else a system call.
    pub(super) fn post(&self, overrun: Overrun) {
        if self.waiting.push(overrun).is_err() {
            self.lost[overrun.kind as usize].fetch_add(1, Ordering::Relaxed);
        }
        if let Some(reader) = self.reader.get() {
            reader.unpark();
        }
    }

    pub(super) fn next(&self, timeout: Duration) -> Option<Overrun> {
        self.reader.get_or_init(std::thread::current);
        let timeout_ns = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        let until_ns = now_ns().saturating_add(timeout_ns);
        loop {
            if let Some(overrun) = self.waiting.pop() {
                return Some(overrun);
            }
            let left_ns = until_ns.saturating_sub(now_ns());
            if left_ns == 0 {
                return None;
            }
            // Returns early when the reader is unparked, or spuriously.
            std::thread::park_timeout(Duration::from_nanos(left_ns));
        }
    }

    /// Dropped overruns, by [`ScopeKind`].
    pub(super) fn n_lost(&self) -> [u64; ScopeKind::ALL.len()] {
        self.lost.each_ref().map(|lost| lost.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATE: Overrun =
        Overrun { kind: ScopeKind::Scope, scope: 3, arg: 4, took_ns: 9, limit_ns: 5, thread: 6, at_ns: 7 };

    #[test]
    fn an_overrun_wakes_its_waiter() {
        let overruns = Overruns::new();
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| overruns.next(Duration::MAX));
            overruns.post(LATE);
            assert_eq!(reader.join().unwrap(), Some(LATE));
        });
    }

    #[test]
    fn nothing_comes_of_waiting_for_none() {
        assert_eq!(Overruns::new().next(Duration::ZERO), None);
    }

    #[test]
    fn a_storm_keeps_its_beginning_and_counts_the_rest() {
        let overruns = Overruns::new();
        for n in 0..OVERRUNS_MAX as u64 + 5 {
            overruns.post(Overrun { at_ns: n, ..LATE });
        }
        assert_eq!(overruns.n_lost(), [5, 0, 0]);
        let kept: Vec<u64> =
            std::iter::from_fn(|| overruns.next(Duration::ZERO)).map(|overrun| overrun.at_ns).collect();
        assert_eq!(kept, (0..OVERRUNS_MAX as u64).collect::<Vec<_>>());
    }
}
