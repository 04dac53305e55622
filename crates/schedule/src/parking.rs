//! Where threads wait, and how one of them is called without a lock.
//!
//! Whoever has something for a thread puts it where threads look, and calls; a thread that finds nothing announces that it
//! waits, looks once more, and waits. One of the two always sees the other. Nobody holds anything meanwhile, so a caller of low
//! priority that loses its core in the middle keeps nobody waiting.

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
    spots: Box<[Spot]>,
}

#[derive(Debug, Default)]
struct Spot {
    waits: AtomicBool,
    /// Who waits here. Written when a thread begins, and otherwise only read: one reader that loses its core keeps no other waiting.
    thread: RwLock<Option<Thread>>,
}

impl Parking {
    pub(crate) fn new(n_spots: usize) -> Self {
        Self { spots: (0..n_spots).map(|_| Spot::default()).collect() }
    }

    /// The calling thread waits here from now on, in place of a former one.
    pub(crate) fn sit_down(&self, spot: usize) {
        self.spots[spot].set_thread(std::thread::current());
    }

    /// Waits until called, at most for so long, unless `found` finds something to do. May also return for nothing.
    pub(crate) fn wait(&self, spot: usize, at_most: Option<Duration>, found: impl FnOnce() -> bool) {
        let waits = &self.spots[spot].waits;
        waits.store(true, Relaxed);
        // Pairs with the fence of who calls: either we find what it has put there, or it sees that we wait.
        fence(SeqCst);
        if !found() {
            match at_most {
                Some(at_most) => std::thread::park_timeout(at_most),
                None => std::thread::park(),
            }
        }
        waits.store(false, Relaxed);
    }

    /// Pauses for so long, or until this spot or everybody is called, unless `is_over`. Meanwhile nobody counts on the calling thread: who
    /// calls one of those who wait gets another. May also return for nothing.
    pub(crate) fn rest(&self, at_most: Duration, is_over: impl FnOnce() -> bool) {
        fence(SeqCst);
        if !is_over() {
            std::thread::park_timeout(at_most);
        }
    }

    /// Calls one of those who wait. False when none does.
    pub(crate) fn call(&self) -> bool {
        fence(SeqCst);
        let waits = |spot: &&Spot| spot.waits.load(Relaxed) && spot.waits.swap(false, Relaxed);
        let Some(spot) = self.spots.iter().find(waits) else { return false };
        spot.unpark();
        true
    }

    /// Calls whoever waits in this spot.
    pub(crate) fn call_to(&self, spot: usize) {
        fence(SeqCst);
        self.spots[spot].unpark();
    }

    /// Calls everybody.
    pub(crate) fn call_all(&self) {
        fence(SeqCst);
        self.spots.iter().for_each(Spot::unpark);
    }
}

impl Spot {
    fn set_thread(&self, thread: Thread) {
        *self.thread.write().unwrap_or_else(PoisonError::into_inner) = Some(thread);
    }

    fn unpark(&self) {
        let thread = self.thread.read().unwrap_or_else(PoisonError::into_inner).clone();
        // Not with the lock in hand: a caller of low priority often loses its core to the very thread that it wakes.
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

    /// Longer than any test machine stalls: whoever waits so long waits for nothing.
    const PATIENCE: Duration = Duration::from_secs(20);

    #[test]
    fn nothing_is_overlooked_by_those_who_wait() {
        const THINGS: usize = 20_000;
        let parking = Parking::new(2);
        let (put, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (taken, takes) = unbounded();
        let take = |spot| {
            parking.sit_down(spot);
            while !is_over.load(SeqCst) {
                match put.load(SeqCst) {
                    0 => parking.wait(spot, None, || put.load(Relaxed) > 0 || is_over.load(Relaxed)),
                    n if put.compare_exchange(n, n - 1, SeqCst, SeqCst).is_ok() => taken.send(()).unwrap(),
                    _ => {}
                }
            }
        };
        // Each is taken before the next is put there, so that none of those makes up for a call that was not heard.
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
        assert_eq!(overlooked, None, "nobody came to take it");
    }

    #[test]
    fn who_waits_is_called_once_and_who_rests_is_not() {
        let parking = Parking::new(3);
        parking.rest(PATIENCE, || {
            assert!(!parking.call(), "nobody waits");
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
