//! Thread parking: idle threads wait, and a caller unparks one of them without a lock.
//!
//! The protocol: a caller publishes work, then calls. An idle thread announces its wait, checks for work once more, and parks. By the
//! fences at least one of the two sees the other. No lock is held in between, so a preempted caller of low priority blocks no other
//! thread.

use std::{
    sync::{
        PoisonError, RwLock,
        atomic::{
            AtomicBool,
            Ordering::{Relaxed, SeqCst},
            fence,
        },
    },
    thread::Thread,
    time::Duration,
};

#[derive(Debug)]
pub(crate) struct Parking {
    spots: Box<[ParkingSpot]>,
}

#[derive(Debug, Default)]
struct ParkingSpot {
    waits: AtomicBool,
    /// Waiting thread. Written at a thread's start and only read later, so a preempted reader blocks no other.
    thread: RwLock<Option<Thread>>,
}

impl Parking {
    pub(crate) fn new(n_spots: usize) -> Self {
        Self { spots: (0..n_spots).map(|_| ParkingSpot::default()).collect() }
    }

    /// The calling thread waits here from now on, in place of a former one.
    pub(crate) fn occupy(&self, spot: usize) {
        self.spots[spot].set_thread(std::thread::current());
    }

    /// Waits for a call, at most for `at_most`, unless `found` finds work. May also return without reason.
    pub(crate) fn wait(&self, spot: usize, at_most: Option<Duration>, found: impl FnOnce() -> bool) {
        let waits = &self.spots[spot].waits;
        waits.store(true, Relaxed);
        // Pairs with the caller's fence: either this thread finds the published work, or the caller sees `waits`.
        fence(SeqCst);
        if !found() {
            match at_most {
                Some(at_most) => std::thread::park_timeout(at_most),
                None => std::thread::park(),
            }
        }
        waits.store(false, Relaxed);
    }

    /// Pauses for at most `at_most`, or until a call to this spot or to all, unless `is_over`. Calls to one waiting thread do not
    /// choose a resting one. May return early.
    pub(crate) fn rest(&self, at_most: Duration, is_over: impl FnOnce() -> bool) {
        fence(SeqCst);
        if !is_over() {
            std::thread::park_timeout(at_most);
        }
    }

    /// Unparks one waiting thread. False if none waits.
    pub(crate) fn call(&self) -> bool {
        fence(SeqCst);
        let waits = |spot: &&ParkingSpot| spot.waits.load(Relaxed) && spot.waits.swap(false, Relaxed);
        let Some(spot) = self.spots.iter().find(waits) else { return false };
        spot.unpark();
        true
    }

    /// Unparks the thread of this spot.
    pub(crate) fn call_to(&self, spot: usize) {
        fence(SeqCst);
        self.spots[spot].unpark();
    }

    /// Unparks all threads.
    pub(crate) fn call_all(&self) {
        fence(SeqCst);
        self.spots.iter().for_each(ParkingSpot::unpark);
    }
}

impl ParkingSpot {
    fn set_thread(&self, thread: Thread) {
        *self.thread.write().unwrap_or_else(PoisonError::into_inner) = Some(thread);
    }

    fn unpark(&self) {
        let thread = self.thread.read().unwrap_or_else(PoisonError::into_inner).clone();
        // After the unlock: a caller of low priority is often preempted by the very thread that it unparks.
        if let Some(thread) = thread {
            thread.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossbeam_channel::unbounded;
    use std::sync::atomic::{AtomicBool, AtomicUsize};

    /// Longer than any stall of a test machine: a wait of this length fails the test.
    const PATIENCE: Duration = Duration::from_secs(20);

    #[test]
    fn no_waiting_thread_overlooks_an_item() {
        const THINGS: usize = 20_000;
        let parking = Parking::new(2);
        let (put, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (taken, takes) = unbounded();
        let take = |spot| {
            parking.occupy(spot);
            while !is_over.load(SeqCst) {
                match put.load(SeqCst) {
                    0 => parking.wait(spot, None, || put.load(Relaxed) > 0 || is_over.load(Relaxed)),
                    n if put.compare_exchange(n, n - 1, SeqCst, SeqCst).is_ok() => taken.send(()).unwrap(),
                    _ => {}
                }
            }
        };
        // Each item is taken before the next is published, so that no later call makes up for a lost one.
        let overlooked = std::thread::scope(|scope| {
            scope.spawn(|| take(0));
            scope.spawn(|| take(1));
            let overlooked = (0..THINGS).find(|_| {
                put.fetch_add(1, SeqCst);
                parking.call();
                takes.recv_timeout(PATIENCE).is_err()
            });
            is_over.store(true, SeqCst);
            parking.call_all();
            overlooked
        });
        assert_eq!(overlooked, None, "no thread took it");
    }

    #[test]
    fn a_waiting_thread_is_called_once_and_a_resting_one_is_not() {
        let parking = Parking::new(3);
        parking.rest(PATIENCE, || {
            assert!(!parking.call(), "no thread waits");
            true
        });
        parking.wait(2, Some(PATIENCE), || {
            assert!(parking.call());
            assert!(!parking.call(), "once");
            true
        });
        assert!(!parking.call(), "it has gone");
    }
}
