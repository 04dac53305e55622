//! Private memory of a process: now, and at most in a while.
//!
//! Private memory is the resident memory less shared and shareable pages: the program, and the ring of the flight recorder, which has its configured size in any case.

use crate::clock;
use crate::error::ExperimentError;
use std::fs;
use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Period of looks at a process.
const LOOK_PERIOD: Duration = Duration::from_millis(10);
/// Time between two looks for the least of some.
const REST_PERIOD: Duration = Duration::from_millis(200);

/// Bytes of private memory that are resident; 0 of a process that has ended and was not waited for.
pub(super) fn private_bytes(pid: u32) -> io::Result<u64> {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm"))?;
    let pages = private_pages(&statm).ok_or_else(|| io::Error::other(statm.clone()))?;
    Ok(pages * rustix::param::page_size() as u64)
}

/// Resident pages less shared ones.
fn private_pages(statm: &str) -> Option<u64> {
    let mut pages = statm.split_ascii_whitespace().skip(1).map(str::parse::<u64>);
    let (resident, shared) = (pages.next()?.ok()?, pages.next()?.ok()?);
    Some(resident.saturating_sub(shared))
}

/// The least private memory of a process within a time: that of its content, without work that is under way.
pub(super) fn least_bytes(pid: u32, within: Duration) -> Result<u64, ExperimentError> {
    let look = || private_bytes(pid).map_err(|source| ExperimentError::Usage { pid, source });
    let (ends_at, mut least) = (clock::now() + within, look()?);
    while clock::now() < ends_at {
        clock::wait(REST_PERIOD);
        least = least.min(look()?);
    }
    Ok(least)
}

/// Looks at a process on a thread of its own, for as long as it exists.
#[derive(Debug)]
pub(super) struct PeakWatch {
    stop: Sender<()>,
    thread: JoinHandle<u64>,
}

impl PeakWatch {
    pub(super) fn start(pid: u32) -> Result<Self, ExperimentError> {
        let (stop, stopped) = channel();
        let watch = move || {
            let mut peak = 0;
            while let Ok(bytes) = private_bytes(pid) {
                peak = peak.max(bytes);
                if stopped.recv_timeout(LOOK_PERIOD) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
            peak
        };
        let thread = std::thread::Builder::new()
            .name("peak-watch".to_owned())
            .spawn(watch)
            .map_err(|source| ExperimentError::Start { what: "the watch of memory".to_owned(), source })?;
        Ok(Self { stop, thread })
    }

    /// Ends it; the most bytes that it has seen.
    pub(super) fn finish(self) -> u64 {
        // It may have ended with the process.
        let _ = self.stop.send(());
        self.thread.join().expect("reading files does not panic")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_pages_do_not_count() {
        assert_eq!(private_pages("9000 700 200 30 0 600 0\n"), Some(500));
        assert_eq!(private_pages("0 0 0 0 0 0 0\n"), Some(0));
        assert_eq!(private_pages("9000"), None);
    }

    #[test]
    fn the_peak_of_this_process_is_at_least_its_present_memory_or_that_of_a_moment_ago() {
        let own = std::process::id();
        let watch = PeakWatch::start(own).expect("a thread");
        let least = least_bytes(own, Duration::ZERO).expect("our own");
        assert!(least > 0 && watch.finish() > 0);
    }
}
