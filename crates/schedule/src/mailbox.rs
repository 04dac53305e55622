//! A lock-free multi-producer, single-consumer mailbox.
//!
//! Producers are threads of any priority, each of which may be preempted in the middle of a push. The consumer holds the schedule or
//! the queue of long tasks, so other threads wait for it. A classic lock-free queue does not fit: between reservation and write of a
//! slot its readers spin until the preempted writer runs again.
//!
//! A [`MpscMailbox`] has several trays, each behind a lock that is only tried, never waited for. A producer that finds its tray locked
//! takes the next; the consumer skips locked trays. A preempted producer thus delays only the items of its own tray. Items of one
//! thread come out mostly in order, items of several threads in any order, so the meaning of items must not depend on their order.

use std::{
    cell::Cell,
    sync::{
        Mutex, MutexGuard, PoisonError, TryLockError,
        atomic::{
            AtomicU32, AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
    },
};

/// Trays. A producer waits only if this many others are preempted within their pushes, of some 20 ns each.
const TRAYS: usize = 16;

/// Mailbox without a bound of its own: each user states the bound on its items.
#[derive(Debug)]
pub(crate) struct MpscMailbox<T> {
    trays: [Tray<T>; TRAYS],
    /// Trays that may hold items, as bits.
    filled: AtomicU32,
}

/// A cache line of its own, since each thread mostly uses the same.
#[derive(Debug)]
#[repr(align(64))]
struct Tray<T>(Mutex<Vec<T>>);

impl<T> Default for MpscMailbox<T> {
    fn default() -> Self {
        let trays = std::array::from_fn(|_| Tray(Mutex::default()));
        Self { trays, filled: AtomicU32::new(0) }
    }
}

impl<T> MpscMailbox<T> {
    /// Pushes an item. The caller notifies the consumer afterwards.
    pub(crate) fn push(&self, item: T) {
        let home = home();
        let places = (home..home + TRAYS).map(|place| place % TRAYS);
        let free = places.into_iter().find_map(|place| Some((place, self.trays[place].try_open()?)));
        let (place, mut tray) = free.unwrap_or_else(|| (home, self.trays[home].open()));
        tray.push(item);
        drop(tray);
        // After the unlock: a consumer notified of a locked tray would poll it again and again.
        self.filled.fetch_or(1 << place, SeqCst);
    }

    /// True if there are items to drain. Unfinished pushes do not count: their producers notify afterwards.
    pub(crate) fn has_some(&self) -> bool {
        self.filled.load(SeqCst) != 0
    }

    /// Appends all items of unlocked trays to `items`. Locked trays are marked as filled by their producers and drained next time.
    pub(crate) fn drain_into(&self, items: &mut Vec<T>) {
        if !self.has_some() {
            return;
        }
        // Before the locks are tried: the producer of a locked tray sets its bit again after its push.
        let filled = self.filled.swap(0, SeqCst);
        for place in (0..TRAYS).filter(|place| filled & 1 << place != 0) {
            if let Some(tray) = self.trays[place].try_open() {
                empty(tray, items);
            }
        }
    }

    /// Drains every tray, and waits for locked ones. For callers without a deadline.
    pub(crate) fn take_all(&self, items: &mut Vec<T>) {
        self.filled.store(0, SeqCst);
        self.trays.iter().for_each(|tray| empty(tray.open(), items));
    }
}

/// An empty target swaps its allocation with the tray's, and no item is moved.
fn empty<T>(mut tray: MutexGuard<'_, Vec<T>>, items: &mut Vec<T>) {
    if items.is_empty() {
        std::mem::swap(&mut *tray, items);
    } else {
        items.append(&mut tray);
    }
}

impl<T> Tray<T> {
    fn try_open(&self) -> Option<MutexGuard<'_, Vec<T>>> {
        match self.0.try_lock() {
            Ok(tray) => Some(tray),
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Poisoned(tray)) => Some(tray.into_inner()),
        }
    }

    fn open(&self) -> MutexGuard<'_, Vec<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The tray that the calling thread tries first.
fn home() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static HOME: Cell<Option<usize>> = const { Cell::new(None) });
    HOME.with(|home| {
        let place = home.get().unwrap_or_else(|| THREADS.fetch_add(1, Relaxed) % TRAYS);
        home.set(Some(place));
        place
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take<T>(mailbox: &MpscMailbox<T>) -> Vec<T> {
        let mut items = Vec::new();
        mailbox.drain_into(&mut items);
        items
    }

    #[test]
    fn items_of_one_thread_come_out_once_and_in_order() {
        let mailbox = MpscMailbox::default();
        assert!(!mailbox.has_some());
        (0..100).for_each(|n| mailbox.push(n));
        assert!(mailbox.has_some());
        assert_eq!(take(&mailbox), (0..100).collect::<Vec<_>>());
        assert!(!mailbox.has_some() && take(&mailbox).is_empty());
    }

    #[test]
    fn a_preempted_producer_keeps_no_other_waiting() {
        let mailbox = MpscMailbox::default();
        mailbox.push(1);
        // The tray of this thread stays locked, as by a preempted producer.
        let held = mailbox.trays[home()].try_open().unwrap();
        mailbox.push(2);
        assert_eq!(take(&mailbox), [2], "from another tray");
        assert!(!mailbox.has_some(), "or the consumer would spin");
        drop(held);
        mailbox.filled.fetch_or(1 << home(), SeqCst);
        assert_eq!(take(&mailbox), [1]);
    }

    #[test]
    fn nothing_is_lost_between_many() {
        const THINGS: usize = 20_000;
        let mailbox = MpscMailbox::default();
        let mut taken = Vec::new();
        std::thread::scope(|scope| {
            let put = |from: usize| {
                let mailbox = &mailbox;
                scope.spawn(move || (0..THINGS).for_each(|n| mailbox.push(from + n)))
            };
            let putting = [put(0), put(THINGS), put(2 * THINGS)];
            // Drains when notified, as workers do, until all producers have ended.
            while !putting.iter().all(std::thread::ScopedJoinHandle::is_finished) {
                if mailbox.has_some() {
                    mailbox.drain_into(&mut taken);
                }
            }
        });
        if mailbox.has_some() {
            mailbox.drain_into(&mut taken);
        }
        assert!(!mailbox.has_some(), "the consumer would spin without end");
        taken.sort_unstable();
        assert_eq!(taken, (0..3 * THINGS).collect::<Vec<_>>());
    }
}
