//! What a thread got of the cores, as the kernel counts it.
//!
//! A task that does not get on may lack a core, or anything else: a disk, an answer, an end. Only in the first case does it help to
//! take workers away from worlds ([`crate::starvation`]).

use std::{fs::File, os::unix::fs::FileExt, time::Duration};

/// Since the thread began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Got {
    /// It ran.
    pub(super) ran: Duration,
    /// It was ready to run, and others had the cores.
    pub(super) delayed: Duration,
}

/// Where one thread's figures are read, from any thread.
#[derive(Debug)]
pub(super) struct Account(File);

impl Account {
    /// The calling thread's; `None` where the kernel keeps none.
    pub(super) fn of_this_thread() -> Option<Self> {
        let account = Self(File::open("/proc/thread-self/schedstat").ok()?);
        account.read()?;
        Some(account)
    }

    /// What it comes to now. One system call, and no memory asked for; `None` once the thread has ended.
    pub(super) fn read(&self) -> Option<Got> {
        let mut text = [0; 96];
        let n = self.0.read_at(&mut text, 0).ok()?;
        parse(str::from_utf8(&text[..n]).ok()?)
    }
}

/// Nanoseconds that it ran, nanoseconds that it waited, and how often it ran.
fn parse(text: &str) -> Option<Got> {
    let mut fields = text.split_ascii_whitespace().map(|field| field.parse().map(Duration::from_nanos));
    Some(Got { ran: fields.next()?.ok()?, delayed: fields.next()?.ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_line_is_read_and_anything_else_is_not() {
        let got = Got { ran: Duration::from_nanos(1_500), delayed: Duration::from_nanos(70) };
        assert_eq!(parse("1500 70 3\n"), Some(got));
        for odd in ["", "1500", "1500 x 3", "-1 0 0"] {
            assert_eq!(parse(odd), None, "{odd:?}");
        }
    }

    #[test]
    fn what_a_thread_ran_grows_with_what_it_does() {
        // Not every kernel that tests run on keeps accounts.
        let Some(account) = Account::of_this_thread() else { return };
        let before = account.read().expect("it runs");
        let mut spun = 0_u64;
        while account.read().expect("it runs").ran < before.ran + Duration::from_millis(1) {
            spun = std::hint::black_box(spun + 1);
        }
    }
}
