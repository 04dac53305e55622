//! Where anybody puts things, and whoever goes through them takes them out, without either waiting for the other.
//!
//! Things are put in by threads of any priority, and any of them may lose its core in the middle of that. They are taken out by whoever
//! holds the schedule or the long tasks, for whom others wait. A queue "without a lock" does not do here: between the reservation of a
//! place and what is written there its readers spin, for as long as the writer is without a core.
//!
//! An [`Inbox`] has several trays, each behind a lock that is only ever tried. Who finds a tray in use puts its thing into another one; who
//! takes things out passes over it. So nothing is kept from anybody but what lies in the tray of one who lost its core, for as long as
//! that is so. Things of one thread mostly come out in their order, things of several in any: notes have to be such that this is the same.

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

/// So many threads have to lose their cores within some twenty nanoseconds each before another one waits for one of them.
const TRAYS: usize = 16;

/// Its bound is whoever puts things in: each says how many that may be.
#[derive(Debug)]
pub(crate) struct Inbox<T> {
    trays: [Tray<T>; TRAYS],
    /// Those in which there may be something, by bits.
    filled: AtomicU32,
}

/// A cache line of its own, since each thread mostly uses the same.
#[derive(Debug)]
#[repr(align(64))]
struct Tray<T>(Mutex<Vec<T>>);

impl<T> Default for Inbox<T> {
    fn default() -> Self {
        let trays = std::array::from_fn(|_| Tray(Mutex::default()));
        Self { trays, filled: AtomicU32::new(0) }
    }
}

impl<T> Inbox<T> {
    /// Puts something in. Whoever is to take it out is called after that.
    pub(crate) fn put(&self, thing: T) {
        let home = home();
        let places = (home..home + TRAYS).map(|place| place % TRAYS);
        let free = places.into_iter().find_map(|place| Some((place, self.trays[place].try_open()?)));
        let (place, mut tray) = free.unwrap_or_else(|| (home, self.trays[home].open()));
        tray.push(thing);
        drop(tray);
        // Only now: who is told of a tray that is still in use would come again and again.
        self.filled.fetch_or(1 << place, SeqCst);
    }

    /// Whether there is something to take out. What is just being put in does not count: whoever does that calls afterwards.
    pub(crate) fn has_some(&self) -> bool {
        self.filled.load(SeqCst) != 0
    }

    /// Takes out what is there, appended to `things`, and leaves trays that are in use to the next time: they are found filled again.
    pub(crate) fn take(&self, things: &mut Vec<T>) {
        if !self.has_some() {
            return;
        }
        // Before the trays are tried: one that is found in use is marked once more when that is over.
        let filled = self.filled.swap(0, SeqCst);
        for place in (0..TRAYS).filter(|place| filled & 1 << place != 0) {
            if let Some(tray) = self.trays[place].try_open() {
                empty(tray, things);
            }
        }
    }

    /// Takes out all that was put in before, and waits for trays that are in use: for those who are in no hurry.
    pub(crate) fn take_all(&self, things: &mut Vec<T>) {
        self.filled.store(0, SeqCst);
        self.trays.iter().for_each(|tray| empty(tray.open(), things));
    }
}

/// Where nothing is to be added to, the room changes places, and nothing is moved.
fn empty<T>(mut tray: MutexGuard<'_, Vec<T>>, things: &mut Vec<T>) {
    if things.is_empty() {
        std::mem::swap(&mut *tray, things);
    } else {
        things.append(&mut tray);
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

    fn take<T>(inbox: &Inbox<T>) -> Vec<T> {
        let mut things = Vec::new();
        inbox.take(&mut things);
        things
    }

    #[test]
    fn what_one_thread_puts_in_comes_out_once_and_in_order() {
        let inbox = Inbox::default();
        assert!(!inbox.has_some());
        (0..100).for_each(|n| inbox.put(n));
        assert!(inbox.has_some());
        assert_eq!(take(&inbox), (0..100).collect::<Vec<_>>());
        assert!(!inbox.has_some() && take(&inbox).is_empty());
    }

    #[test]
    fn one_who_loses_its_core_in_the_middle_keeps_nobody_waiting() {
        let inbox = Inbox::default();
        inbox.put(1);
        // Somebody is in the tray of this thread, and does not go on.
        let held = inbox.trays[home()].try_open().unwrap();
        inbox.put(2);
        assert_eq!(take(&inbox), [2], "from another tray");
        assert!(!inbox.has_some(), "or whoever looks would spin");
        drop(held);
        inbox.filled.fetch_or(1 << home(), SeqCst);
        assert_eq!(take(&inbox), [1]);
    }

    #[test]
    fn nothing_is_lost_between_many() {
        const THINGS: usize = 20_000;
        let inbox = Inbox::default();
        let mut taken = Vec::new();
        std::thread::scope(|scope| {
            let put = |from: usize| {
                let inbox = &inbox;
                scope.spawn(move || (0..THINGS).for_each(|n| inbox.put(from + n)))
            };
            let putting = [put(0), put(THINGS), put(2 * THINGS)];
            // Looks only when it is told to, as workers do, until nobody can put in any more.
            while !putting.iter().all(std::thread::ScopedJoinHandle::is_finished) {
                if inbox.has_some() {
                    inbox.take(&mut taken);
                }
            }
        });
        if inbox.has_some() {
            inbox.take(&mut taken);
        }
        assert!(!inbox.has_some(), "whoever looks would look for ever");
        taken.sort_unstable();
        assert_eq!(taken, (0..3 * THINGS).collect::<Vec<_>>());
    }
}
