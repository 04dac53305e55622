//! Resource usage of a process, from `/proc` (proc(5)): CPU time by thread in nanoseconds, and memory.

use std::collections::BTreeMap;
use std::fs;
use std::io;

/// A thread's share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadCpu {
    pub(crate) name: String,
    /// Nanoseconds on a core, since its start.
    pub(crate) ran_ns: u64,
    /// Nanoseconds ready to run while others had the cores.
    pub(crate) waited_ns: u64,
}

/// A process at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessUsage {
    /// By thread id.
    pub(crate) threads: BTreeMap<u32, ThreadCpu>,
    /// Resident memory.
    pub(crate) rss_bytes: u64,
    /// Of these, shared or shareable: files, and the ring of the flight recorder, which has its configured size in any case.
    pub(crate) shared_bytes: u64,
}

impl ProcessUsage {
    /// Reads a process of this machine, in any namespace.
    pub(crate) fn of(pid: u32) -> io::Result<Self> {
        let mut threads = BTreeMap::new();
        for task in fs::read_dir(format!("/proc/{pid}/task"))? {
            let task = task?;
            let read = |file: &str| fs::read_to_string(task.path().join(file));
            let Some(tid) = task.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            // A thread may end between being listed and being read.
            let (Ok(name), Ok(schedstat)) = (read("comm"), read("schedstat")) else { continue };
            let mut numbers = schedstat.split_ascii_whitespace().filter_map(|number| number.parse().ok());
            let (Some(ran_ns), Some(waited_ns)) = (numbers.next(), numbers.next()) else { continue };
            threads.insert(tid, ThreadCpu { name: name.trim_end().to_owned(), ran_ns, waited_ns });
        }
        let statm = fs::read_to_string(format!("/proc/{pid}/statm"))?;
        let bytes = |nth| {
            let pages = statm.split_ascii_whitespace().nth(nth).and_then(|pages| pages.parse::<u64>().ok());
            let pages = pages.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, statm.clone()))?;
            Ok::<_, io::Error>(pages * rustix::param::page_size() as u64)
        };
        Ok(Self { threads, rss_bytes: bytes(1)?, shared_bytes: bytes(2)? })
    }

    /// Nanoseconds on a core since an earlier reading, by thread name; threads of one name are added up. Times of threads that ended
    /// meanwhile are lost: servers and bots keep theirs.
    pub(crate) fn ran_ns_since(&self, earlier: &Self) -> BTreeMap<&str, u64> {
        let mut by_name = BTreeMap::new();
        for (tid, thread) in &self.threads {
            let before = earlier.threads.get(tid).map_or(0, |thread| thread.ran_ns);
            *by_name.entry(thread.name.as_str()).or_default() += thread.ran_ns.saturating_sub(before);
        }
        by_name
    }

    /// Seconds of CPU of the threads of one name since an earlier reading.
    pub(crate) fn cpu_s_of_since(&self, thread: &str, earlier: &Self) -> f64 {
        self.ran_ns_since(earlier).get(thread).copied().unwrap_or(0) as f64 / 1e9
    }

    /// Seconds of CPU in all since an earlier reading.
    pub(crate) fn cpu_s_since(&self, earlier: &Self) -> f64 {
        self.ran_ns_since(earlier).values().sum::<u64>() as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(threads: &[(u32, &str, u64)]) -> ProcessUsage {
        let threads = threads
            .iter()
            .map(|&(tid, name, ran_ns)| (tid, ThreadCpu { name: name.to_owned(), ran_ns, waited_ns: 0 }));
        ProcessUsage { threads: threads.collect(), ..ProcessUsage::default() }
    }

    #[test]
    fn time_is_counted_by_thread_from_where_it_was_and_added_by_name() {
        let before = usage(&[(1, "main", 100), (2, "http", 50), (9, "gone", 1_000)]);
        let after = usage(&[(1, "main", 100), (2, "http", 80), (3, "http", 20)]);
        assert_eq!(after.ran_ns_since(&before), BTreeMap::from([("main", 0), ("http", 50)]));
        assert!((after.cpu_s_since(&before) - 50e-9).abs() < 1e-15);
    }

    #[test]
    fn this_process_can_be_read_and_others_that_are_not_there_cannot() {
        let own = ProcessUsage::of(std::process::id()).expect("our own");
        assert!(own.rss_bytes > own.shared_bytes && own.shared_bytes > 0 && !own.threads.is_empty());
        assert!(ProcessUsage::of(u32::MAX).is_err());
    }
}
