//! CPU time and memory of processes.

use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::time::Duration;

/// CPU time and memory of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Usage {
    /// Since its start, in all threads, user and system.
    pub(super) cpu: Duration,
    /// Resident now.
    pub(super) rss_bytes: u64,
}

/// CPU time of this process so far.
pub(super) fn own_cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs().try_into().expect("below a second"))
}

/// Usage of another process of this machine, from `/proc` (proc(5)). CPU time comes in steps of 10 ms.
pub(super) fn of_process(pid: u32) -> io::Result<Usage> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    read_stat(&stat, rustix::param::clock_ticks_per_second(), rustix::param::page_size() as u64)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("unknown form of stat: {stat}")))
}

/// Fields are separated by blanks; the second is the command in brackets and may hold blanks and brackets itself.
fn read_stat(stat: &str, ticks_per_s: u64, page_bytes: u64) -> Option<Usage> {
    let (_, behind_command) = stat.rsplit_once(')')?;
    // The first of these is field 3.
    let fields: Vec<&str> = behind_command.split_ascii_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let ticks = number(14)? + number(15)?;
    let cpu = Duration::from_secs_f64(ticks as f64 / ticks_per_s as f64);
    Some(Usage { cpu, rss_bytes: number(24)? * page_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_with_brackets_and_blanks_does_not_shift_the_fields() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 9 0 5 1000000 2500 184467";
        let usage = read_stat(stat, 100, 4096).expect("the form of the kernel");
        assert_eq!(usage, Usage { cpu: Duration::from_secs(2), rss_bytes: 2500 * 4096 });
        assert_eq!(read_stat("7 (a) S 1", 100, 4096), None);
    }

    #[test]
    fn this_process_has_used_something() {
        let usage = of_process(std::process::id()).expect("our own");
        assert!(usage.rss_bytes > 0);
        assert!(own_cpu() > Duration::ZERO);
        assert!(of_process(u32::MAX).is_err());
    }
}
