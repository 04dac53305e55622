//! A tracer of the server's synchronisations, `strace`: it delays each of them, or counts them. Other calls of the system run at full speed, and the server does not
//! know of it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Calls by which a server makes data durable.
const CALLS: &str = "fsync,fdatasync,syncfs";
/// Mark of the second line about a call that another one has interrupted.
const RESUMED: &str = "resumed>";

/// A tracer for one server.
#[derive(Clone, Debug)]
pub(crate) struct Tracer {
    delay: Duration,
    log: PathBuf,
}

impl Tracer {
    /// Its program.
    pub(crate) const PROGRAM: &str = "strace";

    /// A tracer that adds this time to each synchronisation, and writes a line about each into a file.
    pub(crate) fn new(delay: Duration, log: PathBuf) -> Self {
        Self { delay, log }
    }

    /// True if one works on this machine: it may be absent, and a container may keep programs from each other's calls.
    pub(crate) fn is_available() -> bool {
        let mut command = Command::new(Self::PROGRAM);
        command.args(["-f", "-qq", "--seccomp-bpf", "-e"]).arg(format!("trace={CALLS}"));
        command.args(["-o", "/dev/null", "true"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    /// Its arguments, before the program that it runs. It is no parent of that program (`-D`), which therefore can be killed and measured as without it.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let mut arguments: Vec<String> = ["-D", "-f", "-qq", "--seccomp-bpf", "-e"].map(str::to_owned).into();
        arguments.push(format!("trace={CALLS}"));
        if !self.delay.is_zero() {
            arguments.push("-e".to_owned());
            arguments.push(format!("inject={CALLS}:delay_enter={}", self.delay.as_micros()));
        }
        arguments.push("-o".to_owned());
        arguments.push(self.log.display().to_string());
        arguments
    }

    /// Synchronisations so far.
    pub(crate) fn count(&self) -> io::Result<usize> {
        count_of(&self.log)
    }
}

fn count_of(log: &Path) -> io::Result<usize> {
    Ok(calls_in(&fs::read_to_string(log)?))
}

fn calls_in(text: &str) -> usize {
    text.lines().filter(|line| line.contains("sync") && !line.contains(RESUMED)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_counts_once() {
        let log = "12 fdatasync(5)              = 0\n\
                   13 fsync(6 <unfinished ...>\n\
                   12 fdatasync(5)              = 0\n\
                   13 <... fsync resumed>)      = 0 (DELAYED)\n\
                   12 +++ exited with 0 +++\n";
        assert_eq!(calls_in(log), 3);
    }

    #[test]
    fn only_a_delay_is_injected() {
        let arguments = |delay_ms| Tracer::new(Duration::from_millis(delay_ms), "log".into()).arguments();
        assert!(!arguments(0).iter().any(|argument| argument.starts_with("inject=")));
        let slow = arguments(5);
        assert!(slow.contains(&format!("inject={CALLS}:delay_enter=5000")), "{slow:?}");
        assert_eq!(slow[slow.len() - 2..], ["-o", "log"]);
    }
}
