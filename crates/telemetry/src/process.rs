//! The kernel's figures of this process: memory, and the times during which each thread ran or waited for a core.
//!
//! A thread that is slow without running was waiting: for a core (`waited`), or for something else (neither). That is the first
//! question about a slow server, and only the kernel can answer it.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// Time of one thread, or of all of one name, since its start, with its kernel counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadUse {
    /// On a core.
    pub ran: Duration,
    /// Ready to run while other threads had the cores.
    pub waited: Duration,
    /// Page faults: memory that was touched for the first time, or was not in RAM.
    pub faults: u64,
}

/// Resident memory in bytes, shared pages included; `None` where there is no `/proc`.
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    let statm = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// Use of every thread by name; threads that share a name are summed up. A thread that ends between listing and reading is left out.
#[must_use]
pub fn thread_uses() -> BTreeMap<String, ThreadUse> {
    let mut uses: BTreeMap<String, ThreadUse> = BTreeMap::new();
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return uses };
    for task in tasks.flatten() {
        let read = |file: &str| fs::read_to_string(task.path().join(file)).ok();
        let times = read("schedstat").as_deref().and_then(parse_schedstat);
        let Some((name, (ran, waited))) = read("comm").zip(times) else { continue };
        let sum = uses.entry(name.trim_end().to_owned()).or_default();
        sum.ran += ran;
        sum.waited += waited;
        sum.faults += read("stat").as_deref().and_then(parse_faults).unwrap_or(0);
    }
    uses
}

/// `schedstat` is "ran waited timeslices", the first two in nanoseconds (kernel: Documentation/scheduler/sched-stats).
fn parse_schedstat(text: &str) -> Option<(Duration, Duration)> {
    let mut numbers =
        text.split_ascii_whitespace().map(|number| number.parse().ok().map(Duration::from_nanos));
    Some((numbers.next()??, numbers.next()??))
}

/// Faults of a thread without and with reading from a disk: fields 10 and 12 of `stat`, whose second is the name in brackets, with
/// anything in it (proc(5)).
fn parse_faults(stat: &str) -> Option<u64> {
    let (_, behind_name) = stat.rsplit_once(')')?;
    let mut fields = behind_name.split_ascii_whitespace().skip(7);
    let minor: u64 = fields.next()?.parse().ok()?;
    let major: u64 = fields.nth(1)?.parse().ok()?;
    Some(minor + major)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedstat_line_is_running_then_waiting() {
        let expected = (Duration::from_nanos(1_500), Duration::from_nanos(20));
        assert_eq!(parse_schedstat("1500 20 3\n"), Some(expected));
        assert_eq!(parse_schedstat("1500"), None);
        assert_eq!(parse_schedstat("a b c"), None);
    }

    #[test]
    fn a_busy_thread_of_this_process_is_found_by_its_name() {
        let busy = std::thread::Builder::new().name("busy-thread".into());
        let times = busy
            .spawn(|| {
                // Until the kernel has charged something: it counts at its own ticks.
                loop {
                    let times = thread_uses();
                    if times.get("busy-thread").is_some_and(|time| time.ran > Duration::ZERO) {
                        return times;
                    }
                }
            })
            .expect("a thread")
            .join()
            .expect("it ends");
        assert!(times.len() > 1, "the test's own threads are there, too: {times:?}");
    }

    #[test]
    fn resident_memory_is_at_least_a_megabyte() {
        assert!(resident_bytes().expect("this is Linux") > 1 << 20);
    }

    #[test]
    fn faults_are_found_behind_any_name() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 4194304 100 5 3 0 150 50 0 0 20 0 9 0 5 1000000 2500 184467";
        assert_eq!(parse_faults(stat), Some(103));
        assert_eq!(parse_faults("7 (a) S 1"), None);
    }
}
