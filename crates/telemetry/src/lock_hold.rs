//! Debug check of the lock order: a thread that holds one of the node's shared locks takes no other one.
//!
//! The hub, the table of instances and the store's connection are locked by many threads and for as long as a request takes. Each of
//! them is taken alone, so that no order between them can be wrong. Locks inside one module, whose methods call nothing while they hold it,
//! are not registered here.

use std::cell::Cell;
use std::marker::PhantomData;

thread_local! {
    static HELD: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// A registered lock in the hands of this thread, until it is dropped. Without cost in a release build.
#[derive(Debug)]
#[must_use]
pub struct LockHold {
    /// It belongs to the thread.
    _thread: PhantomData<*const ()>,
}

impl LockHold {
    /// Registers the lock that is taken next. To be dropped after the lock's guard.
    ///
    /// # Panics
    /// In a debug build, if this thread holds a registered lock.
    pub fn begin(name: &'static str) -> Self {
        Self::assert_none(name);
        if cfg!(debug_assertions) {
            HELD.set(Some(name));
        }
        Self { _thread: PhantomData }
    }

    /// Checks that this thread may take the lock, which takes no other one and is not registered.
    ///
    /// # Panics
    /// In a debug build, if this thread holds a registered lock.
    pub fn assert_none(name: &'static str) {
        if cfg!(debug_assertions)
            && let Some(held) = HELD.get()
        {
            panic!("{name} is locked by a thread that holds {held}");
        }
    }
}

impl Drop for LockHold {
    fn drop(&mut self) {
        if cfg!(debug_assertions) {
            HELD.set(None);
        }
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    #[test]
    fn one_lock_after_the_other_is_taken() {
        drop(LockHold::begin("the hub"));
        let _table = LockHold::begin("the table");
        std::thread::scope(|scope| {
            scope.spawn(|| drop(LockHold::begin("the hub"))).join().expect("another thread may");
        });
    }

    #[test]
    fn a_second_lock_is_refused_and_the_first_is_still_held() {
        let table = LockHold::begin("the table");
        for attempt in [|| drop(LockHold::begin("the hub")), || LockHold::assert_none("the hub")] {
            let why = catch_unwind(attempt).expect_err("the table is held");
            let why = why.downcast_ref::<String>().map(String::as_str);
            assert_eq!(why, Some("the hub is locked by a thread that holds the table"));
        }
        drop(table);
        LockHold::assert_none("the hub");
    }
}
