//! SIGHUP: the terminal has gone. It ends a server as SIGTERM does, except under `nohup`, which ignores the signal; a listener would
//! undo that.

use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens to SIGHUP, unless that is ignored.
pub(crate) struct Hangup(Option<Signal>);

impl Hangup {
    pub(crate) fn listen() -> io::Result<Self> {
        // Without /proc the state is unknown, and most servers run without `nohup`.
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let signals = if is_ignored(&status) { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Self(signals))
    }

    /// Waits for the next one; without end if it is ignored.
    pub(crate) async fn recv(&mut self) {
        match &mut self.0 {
            Some(signals) => {
                signals.recv().await;
            }
            None => std::future::pending().await,
        }
    }
}

/// By `SigIgn`, in which the lowest bit is signal 1, SIGHUP (proc_pid_status(5)).
fn is_ignored(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ignored_signal_is_in_the_status() {
        let status = |mask: &str| format!("Name:\tthrong\nSigBlk:\t0000000000000001\nSigIgn:\t{mask}\n");
        assert!(is_ignored(&status("0000000000001001")));
        assert!(!is_ignored(&status("0000000000001000")));
        assert!(!is_ignored(""));
    }
}
