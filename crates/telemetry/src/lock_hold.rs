//! Debug check of the lock order: while a thread holds one of the node's shared locks, it takes only those that are declared to be inner ones.
//!
//! A [`LockClass`] names the classes directly under which it may be taken; it is always taken alone or directly under one of these. A class
//! can only name constants that exist without it, so the declared order has no cycle, and threads that keep to it cannot wait for
//! each other in a circle. Two locks of one class are never held at once. Locks of a module whose methods call nothing while they hold
//! them need no class.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// Registered locks that a thread can hold at once.
const DEPTH_MAX: usize = 8;

/// Names of the locks of this thread, the newest last. Without a heap, since steps of worlds count their allocations.
#[derive(Clone, Copy)]
struct HeldLocks {
    names: [&'static str; DEPTH_MAX],
    n: usize,
}

thread_local! {
    static HELD: Cell<HeldLocks> = const { Cell::new(HeldLocks { names: [""; DEPTH_MAX], n: 0 }) };
}

/// All locks with one place in the lock order.
#[derive(Clone, Copy, Debug)]
pub struct LockClass {
    name: &'static str,
    /// Classes directly under which it may be taken.
    outer: &'static [Self],
}

/// A registered lock in the hands of this thread, until it is dropped. Without cost in a release build.
#[derive(Debug)]
#[must_use]
pub struct LockHold {
    name: &'static str,
    /// It belongs to the thread.
    _thread: PhantomData<*const ()>,
}

/// A guard with the registration of its lock, which ends after the guard.
#[derive(Debug)]
#[must_use]
pub struct Held<G> {
    guard: G,
    _hold: LockHold,
}

impl LockClass {
    /// Locks that are taken alone, under the name that a failed check states.
    #[must_use]
    pub const fn outermost(name: &'static str) -> Self {
        Self { name, outer: &[] }
    }

    /// Locks that are taken alone, or directly under one of `outer`.
    #[must_use]
    pub const fn inner(name: &'static str, outer: &'static [Self]) -> Self {
        Self { name, outer }
    }

    /// Takes a lock of this class.
    ///
    /// # Panics
    /// As [`LockHold::begin`].
    pub fn hold<G>(self, take: impl FnOnce() -> G) -> Held<G> {
        let hold = LockHold::begin(self);
        Held { guard: take(), _hold: hold }
    }
}

impl LockHold {
    /// Registers the lock that is taken next. To be dropped after the lock's guard.
    ///
    /// # Panics
    /// In a debug build, if the newest registered lock of this thread is of no class under which this one may be taken.
    pub fn begin(class: LockClass) -> Self {
        if cfg!(debug_assertions) {
            let mut held = HELD.get();
            if let Some(newest) = held.newest() {
                let is_inner = class.outer.iter().any(|outer| outer.name == newest);
                assert!(is_inner, "{} is locked by a thread that holds {newest}", class.name);
            }
            held.names[held.n] = class.name;
            held.n += 1;
            HELD.set(held);
        }
        Self { name: class.name, _thread: PhantomData }
    }

    /// Checks that this thread may take an outermost lock, which takes no other one and is not registered.
    ///
    /// # Panics
    /// In a debug build, if this thread holds a registered lock.
    pub fn assert_none(name: &'static str) {
        if cfg!(debug_assertions)
            && let Some(held) = HELD.get().newest()
        {
            panic!("{name} is locked by a thread that holds {held}");
        }
    }
}

impl HeldLocks {
    fn newest(&self) -> Option<&'static str> {
        self.names[..self.n].last().copied()
    }
}

impl Drop for LockHold {
    fn drop(&mut self) {
        if cfg!(debug_assertions) {
            let mut held = HELD.get();
            // An outer lock may be released before an inner one.
            if let Some(at) = held.names[..held.n].iter().rposition(|name| *name == self.name) {
                held.names.copy_within(at + 1..held.n, at);
                held.n -= 1;
                HELD.set(held);
            }
        }
    }
}

impl<G: Deref> Deref for Held<G> {
    type Target = G::Target;

    fn deref(&self) -> &G::Target {
        &self.guard
    }
}

impl<G: DerefMut> DerefMut for Held<G> {
    fn deref_mut(&mut self) -> &mut G::Target {
        &mut self.guard
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;
    use std::panic::catch_unwind;
    use std::sync::Mutex;

    const HUB: LockClass = LockClass::outermost("the hub");
    const TABLE: LockClass = LockClass::outermost("the table");
    const LIST: LockClass = LockClass::inner("the list", &[TABLE]);
    const INBOX: LockClass = LockClass::inner("an inbox", &[TABLE, LIST]);

    /// Message of the check that refuses a lock.
    fn refusal(class: LockClass) -> String {
        let refused = catch_unwind(|| drop(LockHold::begin(class))).expect_err("it is refused");
        *refused.downcast::<String>().expect("a message")
    }

    #[test]
    fn one_lock_after_the_other_is_taken() {
        drop(LockHold::begin(HUB));
        let _table = LockHold::begin(TABLE);
        std::thread::scope(|scope| {
            scope.spawn(|| drop(LockHold::begin(HUB))).join().expect("another thread may");
        });
    }

    #[test]
    fn a_second_lock_is_refused_and_the_first_is_still_held() {
        let table = LockHold::begin(TABLE);
        assert_eq!(refusal(HUB), "the hub is locked by a thread that holds the table");
        assert_eq!(refusal(TABLE), "the table is locked by a thread that holds the table");
        assert!(catch_unwind(|| LockHold::assert_none("the store")).is_err());
        drop(table);
        LockHold::assert_none("the store");
    }

    #[test]
    fn inner_locks_are_taken_alone_and_in_the_declared_order() {
        drop(LockHold::begin(INBOX));
        let _table = LockHold::begin(TABLE);
        drop(LockHold::begin(INBOX));
        let list = LockHold::begin(LIST);
        let inbox = LockHold::begin(INBOX);
        assert_eq!(refusal(INBOX), "an inbox is locked by a thread that holds an inbox");
        assert_eq!(refusal(LIST), "the list is locked by a thread that holds an inbox");
        drop(list);
        assert_eq!(refusal(LIST), "the list is locked by a thread that holds an inbox");
        drop(inbox);
        drop(LockHold::begin(LIST));
    }

    #[test]
    #[should_panic(expected = "the list is locked by a thread that holds the hub")]
    fn an_inner_lock_is_refused_under_a_lock_that_it_does_not_name() {
        let _hub = LockHold::begin(HUB);
        let _list = LockHold::begin(LIST);
    }

    #[test]
    fn a_guard_is_registered_until_it_is_dropped() {
        let list = Mutex::new(1);
        let mut held = LIST.hold(|| list.lock().expect("nothing panics with it"));
        *held += 1;
        assert_eq!(refusal(HUB), "the hub is locked by a thread that holds the list");
        drop(held);
        assert_eq!(*HUB.hold(|| list.lock().expect("nothing panics with it")), 2);
    }
}
