//! Working or waiting: the kernel's figures of a thread around a piece of work.
//!
//! The figures are sampled between pieces of work, not at the borders of every scope. So they describe the interval from
//! the last sample before a scope to the first one after it, and reports say so.

use crate::recorder::{SampleKind, ThreadRecord};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The kernel's figures of a thread between two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelFigures {
    /// Time of the first sample.
    pub begin_ns: u64,
    /// Time of the last sample.
    pub end_ns: u64,
    /// Time on a core.
    pub run_ns: u64,
    /// Time in the run queue: ready, while other threads had the cores.
    pub wait_ns: u64,
    /// Time waiting for locks of the server.
    pub lock_wait_ns: u64,
    /// Page faults served from memory.
    pub minor_faults: u64,
    /// Page faults that waited for a disk.
    pub major_faults: u64,
    /// Times that the thread gave up its core to wait.
    pub voluntary_switches: u64,
    /// Times that the kernel took its core away.
    pub involuntary_switches: u64,
}

/// Main activity of a thread during a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadActivity {
    /// It had a core and computed.
    Working,
    /// It was ready to run, but other threads had the cores.
    WaitingForACore,
    /// It waited for a lock of the server.
    WaitingForALock,
    /// It waited for something else: a disk, a page, a system call, a timer.
    Blocked,
    /// Unknown: no samples around it, or too far apart.
    Unknown,
}

impl KernelFigures {
    /// Figures between the narrowest pair of samples around a time. Beyond the samples' range: the first or the last one.
    #[must_use]
    pub fn around(thread: &ThreadRecord, begin_ns: u64, end_ns: u64) -> Option<Self> {
        let times = || thread.samples.iter().map(|sample| sample.at_ns);
        let begin_ns = times().take_while(|&at_ns| at_ns <= begin_ns).last().or_else(|| times().next())?;
        let end_ns = times().find(|&at_ns| at_ns >= end_ns).or_else(|| times().next_back())?;
        if begin_ns >= end_ns {
            return None;
        }
        let rose = |what| {
            let value = |at_ns| {
                let found = thread.samples.iter().find(|sample| sample.at_ns == at_ns && sample.what == what);
                found.map_or(0, |sample| sample.value)
            };
            u64::saturating_sub(value(end_ns), value(begin_ns))
        };
        Some(Self {
            begin_ns,
            end_ns,
            run_ns: rose(SampleKind::RunNs),
            wait_ns: rose(SampleKind::WaitNs),
            lock_wait_ns: rose(SampleKind::LockWaitNs),
            minor_faults: rose(SampleKind::MinorFaults),
            major_faults: rose(SampleKind::MajorFaults),
            voluntary_switches: rose(SampleKind::VoluntarySwitches),
            involuntary_switches: rose(SampleKind::InvoluntarySwitches),
        })
    }

    /// From the first sample to the last one.
    #[must_use]
    pub const fn span_ns(&self) -> u64 {
        self.end_ns - self.begin_ns
    }

    /// Neither on a core nor ready for one.
    #[must_use]
    pub const fn blocked_ns(&self) -> u64 {
        self.span_ns().saturating_sub(self.run_ns).saturating_sub(self.wait_ns)
    }

    /// Main activity of the thread from `begin_ns` to `end_ns`. `busy_ns` of the time between the samples was spent in
    /// scopes; in the rest the thread waited for its next work, which is not counted as blocked.
    #[must_use]
    pub fn doing(&self, begin_ns: u64, end_ns: u64, busy_ns: u64) -> ThreadActivity {
        let took_ns = end_ns - begin_ns;
        let covered = self.begin_ns <= begin_ns && self.end_ns >= end_ns;
        // A scope that is a small part of the sampled interval says nothing about it.
        if !covered || took_ns < busy_ns / 2 {
            return ThreadActivity::Unknown;
        }
        let idle_ns = self.span_ns().saturating_sub(busy_ns);
        let blocked_ns = self.blocked_ns().saturating_sub(idle_ns);
        let lock_ns = self.lock_wait_ns.min(blocked_ns);
        let candidates = [
            (self.run_ns, ThreadActivity::Working),
            (self.wait_ns, ThreadActivity::WaitingForACore),
            (lock_ns, ThreadActivity::WaitingForALock),
            (blocked_ns - lock_ns, ThreadActivity::Blocked),
        ];
        let (most_ns, doing) = candidates.into_iter().max_by_key(|&(ns, _)| ns).expect("there are four");
        if most_ns == 0 { ThreadActivity::Unknown } else { doing }
    }
}

impl fmt::Display for ThreadActivity {
    /// Completes the sentence "meanwhile the thread …".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Working => "was working",
            Self::WaitingForACore => "was waiting for a core",
            Self::WaitingForALock => "was waiting for a lock",
            Self::Blocked => "was blocked, in a system call or by a page fault",
            Self::Unknown => "did something that the kernel's figures do not show",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captures::testing::{BEGIN, MS, ThreadBuilder};
    use SampleKind::{LockWaitNs, MajorFaults, RunNs, WaitNs};

    /// Activity of a thread in a scope from 10 to 60 ms, with samples at 0 and 100 ms.
    fn doing(figures: &[(SampleKind, u64)]) -> ThreadActivity {
        let mut thread = ThreadBuilder::new("world-0", 1);
        let before: Vec<_> = figures.iter().map(|&(what, _)| (what, 7 * MS)).collect();
        let after: Vec<_> = figures.iter().map(|&(what, ms)| (what, (7 + ms) * MS)).collect();
        thread.sample(0, &before);
        thread.sample(100_000, &after);
        let (begin_ns, end_ns) = (BEGIN + 10 * MS, BEGIN + 60 * MS);
        KernelFigures::around(&thread.done(), begin_ns, end_ns).unwrap().doing(begin_ns, end_ns, 50 * MS)
    }

    #[test]
    fn the_main_activity_of_a_thread_is_classified() {
        assert_eq!(doing(&[(RunNs, 48), (WaitNs, 1)]), ThreadActivity::Working);
        assert_eq!(doing(&[(RunNs, 5), (WaitNs, 44)]), ThreadActivity::WaitingForACore);
        assert_eq!(doing(&[(RunNs, 5), (WaitNs, 1), (LockWaitNs, 40)]), ThreadActivity::WaitingForALock);
        assert_eq!(doing(&[(RunNs, 5), (WaitNs, 1), (MajorFaults, 9)]), ThreadActivity::Blocked);
    }

    #[test]
    fn the_wait_for_work_is_not_held_against_the_scope() {
        // Half of the time between the samples lies outside of scopes.
        assert_eq!(doing(&[(RunNs, 30), (WaitNs, 0)]), ThreadActivity::Working);
    }

    #[test]
    fn figures_that_do_not_cover_the_scope_are_ignored() {
        let mut thread = ThreadBuilder::new("world-0", 1);
        thread.sample(20_000, &[(RunNs, 0)]);
        thread.sample(30_000, &[(RunNs, 10 * MS)]);
        let figures = KernelFigures::around(&thread.done(), BEGIN, BEGIN + 60 * MS).unwrap();
        assert_eq!(figures.doing(BEGIN, BEGIN + 60 * MS, 60 * MS), ThreadActivity::Unknown);
        assert!(KernelFigures::around(&ThreadRecord::default(), 0, 1).is_none());
    }

    #[test]
    fn figures_of_much_longer_than_the_scope_are_ignored() {
        let mut thread = ThreadBuilder::new("shard-0", 1);
        thread.sample(0, &[(RunNs, 0)]);
        thread.sample(100_000, &[(RunNs, 90 * MS)]);
        let (begin_ns, end_ns) = (BEGIN + 10 * MS, BEGIN + 13 * MS);
        let figures = KernelFigures::around(&thread.done(), begin_ns, end_ns).unwrap();
        assert_eq!(figures.doing(begin_ns, end_ns, 90 * MS), ThreadActivity::Unknown);
    }
}
