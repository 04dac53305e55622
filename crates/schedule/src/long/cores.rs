//! CPU time of a thread, as the kernel accounts for it.
//!
//! A task without progress may lack a core or anything else (a disk, a reply, an end). Only in the first case does it help to take
//! workers away from worlds ([`crate::starvation`]).

use std::{fs::File, os::unix::fs::FileExt, time::Duration};

/// Since the thread began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CpuTimes {
    /// It ran.
    pub(super) ran: Duration,
    /// It was ready to run, and others had the cores.
    pub(super) delayed: Duration,
}

/// Handle to one thread's accounting, readable from any thread.
#[derive(Debug)]
pub(super) struct CpuAccount(File);

impl CpuAccount {
    /// The calling thread's; `None` where the kernel keeps none.
    pub(super) fn of_this_thread() -> Option<Self> {
        let account = Self(File::open("/proc/thread-self/schedstat").ok()?);
        account.read()?;
        Some(account)
    }

    /// The figures as of now. One system call and no allocation; `None` once the thread has ended.
    pub(super) fn read(&self) -> Option<CpuTimes> {
        let mut text = [0; 96];
        let n = self.0.read_at(&mut text, 0).ok()?;
        parse(str::from_utf8(&text[..n]).ok()?)
    }
}

/// Nanoseconds that it ran, nanoseconds that it waited, and how often it ran.
fn parse(text: &str) -> Option<CpuTimes> {
    let mut fields = text.split_ascii_whitespace().map(|field| field.parse().map(Duration::from_nanos));
    Some(CpuTimes { ran: fields.next()?.ok()?, delayed: fields.next()?.ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_line_is_read_and_anything_else_is_not() {
        let got = CpuTimes { ran: Duration::from_nanos(1_500), delayed: Duration::from_nanos(70) };
        assert_eq!(parse("1500 70 3\n"), Some(got));
        for odd in ["", "1500", "1500 x 3", "-1 0 0"] {
            assert_eq!(parse(odd), None, "{odd:?}");
        }
    }

    #[test]
    fn the_cpu_time_of_a_thread_grows_with_its_work() {
        // Not every kernel that tests run on keeps accounts.
        let Some(account) = CpuAccount::of_this_thread() else { return };
        let before = account.read().expect("it runs");
        let mut spun = 0_u64;
        while account.read().expect("it runs").ran < before.ran + Duration::from_millis(1) {
            spun = std::hint::black_box(spun + 1);
        }
    }
}
