//! What the kernel knows of this process: memory, and how long each thread ran or waited for a core.
//!
//! A thread that is slow without running was waiting: for a core (`waited`), or for something else (neither). That is
//! the first question about a slow server, and only the kernel can answer it.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// Time of one thread, or of all of one name, since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ThreadTime {
    /// On a core.
    pub(super) ran: Duration,
    /// Ready to run while other threads had the cores.
    pub(super) waited: Duration,
}

/// Resident memory in bytes, shared pages included; `None` where there is no `/proc`.
pub(super) fn resident_bytes() -> Option<u64> {
    let statm = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// Every thread's time by its name; threads that share a name are summed up. A thread that ends between listing and
/// reading is left out.
pub(super) fn thread_times() -> BTreeMap<String, ThreadTime> {
    let mut times: BTreeMap<String, ThreadTime> = BTreeMap::new();
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return times };
    for task in tasks.flatten() {
        let read = |file: &str| fs::read_to_string(task.path().join(file)).ok();
        let Some((name, time)) = read("comm").zip(read("schedstat").as_deref().and_then(parse_schedstat))
        else {
            continue;
        };
        let sum = times.entry(name.trim_end().to_owned()).or_default();
        sum.ran += time.ran;
        sum.waited += time.waited;
    }
    times
}

/// `schedstat` is "ran waited timeslices", the first two in nanoseconds (kernel: Documentation/scheduler/sched-stats).
fn parse_schedstat(text: &str) -> Option<ThreadTime> {
    let mut numbers =
        text.split_ascii_whitespace().map(|number| number.parse().ok().map(Duration::from_nanos));
    Some(ThreadTime { ran: numbers.next()??, waited: numbers.next()?? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedstat_line_is_running_then_waiting() {
        let expected = ThreadTime { ran: Duration::from_nanos(1_500), waited: Duration::from_nanos(20) };
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
                    let times = thread_times();
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
}
