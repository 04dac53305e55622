//! The CPU time of a shard's thread, as its shard gets it ([`gateway::shard::Shard::handle_cpu_time`]).

use gateway::shard::CpuTime;
use ids::Instant;
use std::time::Duration;

/// Least time between two reports. Reading the thread's CPU time is a system call of 0.4 µs (2-core VM), and a turn of the loop may take
/// 10 µs; the shard judges spans of ten such periods.
const REPORT_PERIOD: Duration = Duration::from_millis(50);

/// Meter of the calling thread, between two reports to its shard.
pub(super) struct CpuMeter {
    /// CPU time of the thread at the last report.
    reported: Duration,
    /// Time without work since then.
    idle: Duration,
    due_at: Instant,
}

impl CpuMeter {
    pub(super) fn new(now: Instant) -> Self {
        Self { reported: thread_cpu_time(), idle: Duration::ZERO, due_at: now + REPORT_PERIOD }
    }

    /// A turn of the loop is done, after `idle` without work. A report, once a period.
    pub(super) fn note_loop(&mut self, now: Instant, idle: Duration) -> Option<CpuTime> {
        self.idle += idle;
        if now < self.due_at {
            return None;
        }
        self.due_at = now + REPORT_PERIOD;
        let used = thread_cpu_time();
        let used_before = std::mem::replace(&mut self.reported, used);
        Some(CpuTime { used: used.saturating_sub(used_before), idle: std::mem::take(&mut self.idle) })
    }
}

/// CPU time of this thread since its start.
fn thread_cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_the_idle_time_of_its_period_and_comes_once_in_it() {
        let start = Instant::from_millis(1_000);
        let mut meter = CpuMeter::new(start);
        let idle = Duration::from_millis(7);
        for period in 0..3 {
            let begin = start + REPORT_PERIOD * period;
            assert_eq!(meter.note_loop(begin + REPORT_PERIOD / 2, idle), None);
            let report = meter.note_loop(begin + REPORT_PERIOD, idle).expect("the period is over");
            assert_eq!(report.idle, idle * 2);
        }
    }
}
