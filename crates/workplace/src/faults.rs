//! Damage on purpose (`diagnose.allow_faults`): each kind of thread has a [`Fuse`], which it strikes once a turn. Without an
//! order that is one load of a flag.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Effects of faults. Orders at the operator's address have a type of their own, since hosts know no HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultEffect {
    /// The thread panics.
    Panic,
    /// The process aborts.
    Abort,
    /// The thread reads an address that is not mapped.
    Segfault,
    /// The thread calls itself until its stack is full.
    StackOverflow,
    /// The thread sleeps.
    Slow,
    /// The operation fails, as with a full disk.
    Fail,
}

/// An order to inject a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InjectedFault {
    /// Its effect.
    pub effect: FaultEffect,
    /// Name of the thread, as in [`Fuses::at`].
    pub place: String,
    /// Length of each [`FaultEffect::Slow`], milliseconds.
    pub ms: u32,
    /// Turns of the thread with the fault, one after the other.
    pub repeat: u32,
}

/// A fault to inject into one thread.
#[derive(Debug, Default)]
pub struct Fuse {
    armed: AtomicBool,
    fault: Mutex<Option<InjectedFault>>,
}

impl Fuse {
    /// Does the damage that was ordered, if any: once a turn.
    pub fn strike(&self) {
        if self.armed.load(Ordering::Relaxed) {
            self.burn();
        }
    }

    /// The same for an operation that can fail; true if it must fail.
    pub fn fails(&self) -> bool {
        self.armed.load(Ordering::Relaxed) && self.burn()
    }

    /// True if the operation must fail.
    #[cold]
    fn burn(&self) -> bool {
        let Some(fault) = self.next_turn() else { return false };
        match fault.effect {
            FaultEffect::Panic => panic!("a fault that was ordered at {}", fault.place),
            FaultEffect::Abort => std::process::abort(),
            FaultEffect::Segfault => telemetry::crash::segfault(),
            FaultEffect::StackOverflow => {
                overflow(0);
            }
            FaultEffect::Slow => sleep(Duration::from_millis(fault.ms.into())),
            FaultEffect::Fail => return true,
        }
        false
    }

    /// The order, with one turn less to go.
    fn next_turn(&self) -> Option<InjectedFault> {
        let mut slot = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        let fault = slot.as_mut()?;
        fault.repeat = fault.repeat.saturating_sub(1);
        let now = fault.clone();
        if fault.repeat == 0 {
            *slot = None;
            self.armed.store(false, Ordering::Relaxed);
        }
        Some(now)
    }

    fn arm(&self, fault: InjectedFault) {
        if fault.repeat == 0 {
            return;
        }
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
        self.armed.store(true, Ordering::Relaxed);
    }
}

#[expect(clippy::disallowed_methods, reason = "to be slow is the order")]
fn sleep(time: Duration) {
    std::thread::sleep(time);
}

/// Calls itself until the stack is full. The ballast is used after the call, so that it is no tail call.
#[inline(never)]
fn overflow(depth: u64) -> u64 {
    let ballast = std::hint::black_box([depth; 32]);
    if depth == u64::MAX { 0 } else { overflow(depth + 1) + ballast[(depth % 32) as usize] }
}

/// All fuses, by the names that orders use.
#[derive(Debug, Default)]
pub struct Fuses {
    by_place: BTreeMap<String, Arc<Fuse>>,
}

impl Fuses {
    /// The fuse for the thread that is called so in orders; made when it is asked for.
    pub fn at(&mut self, place: &str) -> Arc<Fuse> {
        Arc::clone(self.by_place.entry(place.to_owned()).or_default())
    }

    /// Carries an order out. `wake` makes threads turn that wait for work.
    pub fn order(&self, fault: InjectedFault, wake: &dyn Fn()) -> Result<(), String> {
        if fault.place == "http" {
            // The thread that reads the order.
            let fuse = Fuse::default();
            fuse.arm(fault);
            fuse.strike();
            return Ok(());
        }
        let Some(fuse) = self.by_place.get(&fault.place) else {
            let places: Vec<&str> = self.by_place.keys().map(String::as_str).chain(["http"]).collect();
            return Err(format!("There is no {:?}; there are: {}.", fault.place, places.join(", ")));
        };
        fuse.arm(fault);
        wake();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn panic_at(place: &str, repeat: u32) -> InjectedFault {
        InjectedFault { effect: FaultEffect::Panic, place: place.into(), ms: 0, repeat }
    }

    #[test]
    fn an_order_strikes_as_often_as_it_says_and_only_where_it_says() {
        let mut fuses = Fuses::default();
        let (hub, replica) = (fuses.at("hub"), fuses.at("replica"));
        let woken = AtomicBool::new(false);
        fuses.order(panic_at("hub", 2), &|| woken.store(true, Ordering::Relaxed)).unwrap();
        assert!(woken.into_inner());
        replica.strike();
        let struck = (0..4).filter(|_| catch_unwind(AssertUnwindSafe(|| hub.strike())).is_err()).count();
        assert_eq!(struck, 2);
    }

    #[test]
    fn an_attempt_fails_as_often_as_was_ordered() {
        let mut fuses = Fuses::default();
        let fuse = fuses.at("instances");
        assert!(!fuse.fails());
        fuses.order(InjectedFault { effect: FaultEffect::Fail, ..panic_at("instances", 2) }, &|| {}).unwrap();
        assert_eq!([(); 4].map(|()| fuse.fails()), [true, true, false, false]);
    }

    #[test]
    fn an_order_for_an_unknown_place_is_refused_with_the_known_ones() {
        let mut fuses = Fuses::default();
        fuses.at("world:Harbour");
        let error = fuses.order(panic_at("world:Nowhere", 1), &|| {}).unwrap_err();
        assert!(error.contains("world:Harbour, http"), "{error}");
    }
}
