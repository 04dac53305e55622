//! Time that threads wait for locks held by others.

use crate::recorder::{add_lock_wait, now_ns};
use crate::{Metrics, Timing};
use std::sync::{LockResult, Mutex, MutexGuard, TryLockError};
use std::time::Duration;

/// Takes the locks of one system, and measures the time of those that are contended.
///
/// A free lock costs no more than without this type: no clock is read. So it may be used in code that the simulator runs,
/// whose only thread never finds a lock taken. Waits go to the metric `throng_lock_wait_seconds` and, as
/// [`SampleKind::LockWaitNs`](crate::recorder::SampleKind::LockWaitNs), to the record of the waiting thread.
#[derive(Clone, Debug, Default)]
pub struct LockWait {
    timing: Option<Timing>,
}

impl LockWait {
    /// For the locks of this system. The default value records into the thread's record only.
    #[must_use]
    pub fn new(metrics: &Metrics, system: &str) -> Self {
        let help = "Time that threads waited for a lock that another one held.";
        Self { timing: Some(metrics.timing("throng_lock_wait_seconds", help, &[("system", system)])) }
    }

    /// Takes the lock, as [`Mutex::lock`] does.
    ///
    /// # Errors
    /// When it is poisoned.
    pub fn lock<'a, T>(&self, mutex: &'a Mutex<T>) -> LockResult<MutexGuard<'a, T>> {
        match mutex.try_lock() {
            Ok(guard) => Ok(guard),
            Err(TryLockError::Poisoned(poisoned)) => Err(poisoned),
            Err(TryLockError::WouldBlock) => self.wait_for(mutex),
        }
    }

    #[cold]
    fn wait_for<'a, T>(&self, mutex: &'a Mutex<T>) -> LockResult<MutexGuard<'a, T>> {
        let began_ns = now_ns();
        let guard = mutex.lock();
        // CLOCK_MONOTONIC, as read here, may go back when the machine has been asleep.
        self.record_wait(Duration::from_nanos(now_ns().saturating_sub(began_ns)));
        guard
    }

    /// Records a wait for another shared resource, such as a connection of a pool.
    pub fn record_wait(&self, waited: Duration) {
        add_lock_wait(u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX));
        if let Some(timing) = &self.timing {
            timing.record(waited);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::{Recorder, RecorderConfig, SampleKind, frame_end};
    use std::sync::mpsc::channel;
    use std::thread;

    fn waits(metrics: &Metrics) -> String {
        let text = metrics.render();
        let count = "throng_lock_wait_seconds_count{system=\"hub\"} ";
        text.lines().find_map(|line| line.strip_prefix(count)).unwrap_or("0").to_owned()
    }

    #[test]
    fn only_a_contended_lock_counts_a_wait() {
        let metrics = Metrics::new();
        let wait = LockWait::new(&metrics, "hub");
        let mutex = Mutex::new(0);
        *wait.lock(&mutex).unwrap() += 1;
        assert_eq!(waits(&metrics), "0");

        let recorder = Recorder::start(RecorderConfig::default()).unwrap();
        let (about_to, is_about_to) = channel();
        thread::scope(|scope| {
            let guard = wait.lock(&mutex).unwrap();
            let waiter = scope.spawn(|| {
                recorder.thread("waiter").install();
                about_to.send(()).unwrap();
                // The contended path of `lock`; the lock may still be held here, or free.
                *wait.wait_for(&mutex).unwrap() += 1;
                frame_end();
                recorder.capture(Duration::MAX)
            });
            is_about_to.recv().unwrap();
            drop(guard);
            let capture = waiter.join().unwrap();
            let samples = capture.threads.iter().flat_map(|thread| &thread.samples);
            let waited =
                samples.filter(|sample| sample.what == SampleKind::LockWaitNs).map(|sample| sample.value);
            assert!(waited.max().is_some_and(|ns| ns > 0), "the thread's own record tells of it");
        });
        assert_eq!(waits(&metrics), "1");
        assert_eq!(*mutex.lock().unwrap(), 2);
    }

    #[test]
    fn a_poisoned_lock_says_so_and_can_still_be_had() {
        let mutex = Mutex::new(7);
        thread::scope(|scope| {
            let poisoner = scope.spawn(|| {
                let _guard = mutex.lock().unwrap();
                std::panic::resume_unwind(Box::new("poison"));
            });
            assert!(poisoner.join().is_err());
        });
        let poisoned = LockWait::default().lock(&mutex).unwrap_err();
        assert_eq!(*poisoned.into_inner(), 7);
    }
}
