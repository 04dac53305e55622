//! Entering and leaving a scope.

use super::scope::{Entered, NO_LIMIT, Scope};
use super::writer;
use std::marker::PhantomData;

impl Scope {
    /// Enters the scope, until the guard is dropped: in the same thread, and before scopes entered earlier end. A guard
    /// cannot be held across an `await`.
    #[inline(always)]
    pub fn enter(&'static self, arg: u64) -> ScopeGuard {
        self.enter_within(arg, NO_LIMIT)
    }

    /// Enters the scope with a budget in nanoseconds: for a world's frame, its tick. A declared or configured limit takes
    /// precedence over the budget.
    #[inline(always)]
    pub fn enter_within(&'static self, arg: u64, budget_ns: u64) -> ScopeGuard {
        let entered = writer::enter(self, arg);
        ScopeGuard { scope: self, budget_ns, entered, in_its_thread: PhantomData }
    }

    /// Checks a duration without a guard, such as a wait that began before this thread did, or work that another thread has
    /// not finished. Posts an overrun, and returns true, if `took_ns` > the limit (or `budget_ns` for a scope without limit).
    /// Records nothing else.
    pub fn check_duration(&'static self, arg: u64, took_ns: u64, budget_ns: u64) -> bool {
        let limit_ns = match self.limit_ns() {
            NO_LIMIT => budget_ns,
            declared_ns => declared_ns,
        };
        let is_over = took_ns > limit_ns;
        if is_over {
            writer::post_noted(self, arg, took_ns, limit_ns);
        }
        is_over
    }
}

/// An open scope; dropping the guard ends it.
#[derive(Debug)]
#[must_use = "a scope ends when its guard is dropped"]
pub struct ScopeGuard {
    scope: &'static Scope,
    budget_ns: u64,
    entered: Entered,
    /// Not `Send`: the begin is stored in its thread's memory.
    in_its_thread: PhantomData<*const ()>,
}

impl ScopeGuard {
    #[cfg(test)]
    pub(super) const fn is_recorded(&self) -> bool {
        self.entered.is_recorded()
    }

    /// Changes the recorded number, for counts that are known only during the work.
    pub fn set_arg(&mut self, arg: u64) {
        if self.entered.is_recorded() {
            writer::set_arg(self.entered, arg);
        }
    }
}

impl Drop for ScopeGuard {
    #[inline(always)]
    fn drop(&mut self) {
        if self.entered.is_recorded() {
            writer::exit(self.scope, self.budget_ns, self.entered);
        }
    }
}
