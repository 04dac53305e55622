//! `throng serve --supervise`: a parent that starts the server again after a crash.
//!
//! It does nothing else, so that it has no reason to crash itself. SIGTERM, SIGINT and SIGHUP are passed on, and
//! after that the server's status becomes its own. When the supervisor itself is killed, the server drains.

mod backoff;

use crate::hangup::Hangup;
use backoff::CrashBackoff;
use rustix::process::{Pid, Signal, getppid, kill_process, set_parent_process_death_signal};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

/// Added to the number of the signal that a process died of, as shells do.
const DIED_OF_SIGNAL: u8 = 128;
/// Exit status of a server without a needed resource (docs/operating/running.md); 2 is that of a wrong configuration.
const COULD_NOT_START: i32 = 1;

/// Runs the server with the command line of this process, until it ends by itself or is asked to. Gives the status to
/// exit with.
///
/// # Errors
/// When signals cannot be waited for, or no process can be started.
pub fn run() -> io::Result<u8> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(supervise())
}

/// Lets this process drain and end when the supervisor of this process id has ended.
pub(crate) fn end_with(supervisor: u32) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::TERM))?;
    // It may have ended before we asked.
    let parent = getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
    if parent == Some(supervisor) { Ok(()) } else { Err(io::Error::other("the supervisor has ended")) }
}

/// The signals that concern us.
struct Waits {
    child: Signals,
    terminate: Signals,
    interrupt: Signals,
    hangup: Hangup,
}

enum SupervisorEvent {
    /// A child may have ended.
    Child,
    /// The service is asked to end.
    Asked(Signal),
}

impl Waits {
    fn new() -> io::Result<Self> {
        Ok(Self {
            child: signal(SignalKind::child())?,
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: Hangup::listen()?,
        })
    }

    async fn next(&mut self) -> SupervisorEvent {
        tokio::select! {
            _ = self.child.recv() => SupervisorEvent::Child,
            _ = self.terminate.recv() => SupervisorEvent::Asked(Signal::TERM),
            _ = self.interrupt.recv() => SupervisorEvent::Asked(Signal::INT),
            () = self.hangup.recv() => SupervisorEvent::Asked(Signal::HUP),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a driver: the server's run time decides when it restarts")]
async fn supervise() -> io::Result<u8> {
    let mut waits = Waits::new()?;
    let mut backoff = CrashBackoff::default();
    loop {
        let began_at = Instant::now();
        let mut server = start()?;
        let (status, asked) = wait(&mut server, &mut waits).await?;
        let ran_for = began_at.elapsed();
        let Some(pause) = next_start(status, asked, ran_for, &mut backoff) else {
            return Ok(exit_status(status));
        };
        log_line(&format!("the server has crashed ({status}); it starts again in {} s", pause.as_secs_f32()));
        if stopped_within(pause, &mut waits).await {
            return Ok(0);
        }
    }
}

/// Our own executable, even if the file has been replaced: the crashed build restarts.
fn start() -> io::Result<Child> {
    let args: Vec<OsString> = std::env::args_os().skip(1).filter(|arg| arg != "--supervise").collect();
    let me = std::process::id().to_string();
    let name = std::env::args_os().next().unwrap_or_else(|| "throng".into());
    Command::new(crash::symbols::OWN_EXECUTABLE).arg0(name).args(args).args(["--supervised-by", &me]).spawn()
}

/// Until the server has ended: how, and whether it was asked to.
async fn wait(server: &mut Child, waits: &mut Waits) -> io::Result<(ExitStatus, bool)> {
    let pid = Pid::from_child(server);
    let mut asked = false;
    loop {
        if let Some(status) = server.try_wait()? {
            return Ok((status, asked));
        }
        match waits.next().await {
            SupervisorEvent::Child => {}
            SupervisorEvent::Asked(signal) => {
                asked = true;
                // It may have ended meanwhile; we learn of that next.
                let _ = kill_process(pid, signal);
            }
        }
    }
}

/// Pause before the next start; `None` ends the supervisor with the server's status. Only a death by a signal is a crash: a server that
/// exits has stated its reason, and would fail again. But a start that fails soon after a crash may have found its predecessor's port
/// still in use.
fn next_start(
    status: ExitStatus,
    asked: bool,
    ran_for: Duration,
    backoff: &mut CrashBackoff,
) -> Option<Duration> {
    let crashed = status.signal().is_some();
    let could_not_start = status.code() == Some(COULD_NOT_START) && backoff.has_crashed_before(ran_for);
    (!asked && (crashed || could_not_start)).then(|| backoff.after_crash(ran_for))
}

/// Waits for `pause`; true if a stop was requested meanwhile.
async fn stopped_within(pause: Duration, waits: &mut Waits) -> bool {
    let passed = tokio::time::sleep(pause);
    tokio::pin!(passed);
    loop {
        tokio::select! {
            () = &mut passed => return false,
            event = waits.next() => if matches!(event, SupervisorEvent::Asked(_)) {
                return true;
            },
        }
    }
}

fn exit_status(status: ExitStatus) -> u8 {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    let signal = status.signal().and_then(|signal| u8::try_from(signal).ok());
    code.or_else(|| signal.map(|signal| DIED_OF_SIGNAL.saturating_add(signal))).unwrap_or(1)
}

/// On standard error, where the server's log goes; which form that has, only the server's configuration knows.
fn log_line(text: &str) {
    let _ = io::Write::write_all(&mut io::stderr(), format!("throng: {text}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn died_of(signal: i32) -> ExitStatus {
        ExitStatus::from_raw(signal)
    }

    fn exited(code: i32) -> ExitStatus {
        ExitStatus::from_raw(code << 8)
    }

    const SHORT: Duration = Duration::from_millis(10);
    const LONG: Duration = Duration::from_secs(3_600);

    #[test]
    fn only_deaths_by_signals_start_it_again() {
        for (status, asked, again) in [
            (died_of(11), false, true),
            (died_of(9), false, true),
            (died_of(11), true, false),
            (exited(0), false, false),
            (exited(1), false, false),
            (exited(2), false, false),
        ] {
            let pause = next_start(status, asked, SHORT, &mut CrashBackoff::default());
            assert_eq!(pause.is_some(), again, "{status}, asked: {asked}");
        }
    }

    #[test]
    fn a_start_that_fails_after_a_crash_is_tried_again() {
        let mut backoff = CrashBackoff::default();
        assert!(next_start(died_of(6), false, SHORT, &mut backoff).is_some());
        assert!(next_start(exited(1), false, SHORT, &mut backoff).is_some(), "the port may not be free yet");
        assert!(next_start(exited(1), true, SHORT, &mut backoff).is_none());
        assert!(next_start(exited(0), false, SHORT, &mut backoff).is_none());
    }

    #[test]
    fn a_configuration_broken_before_a_crash_is_reported_and_not_tried_again() {
        let mut backoff = CrashBackoff::default();
        assert!(next_start(died_of(11), false, LONG, &mut backoff).is_some());
        assert_eq!(next_start(exited(2), false, SHORT, &mut backoff), None);
    }

    #[test]
    fn a_server_that_was_well_since_its_crash_and_exits_is_not_started_again() {
        let mut backoff = CrashBackoff::default();
        assert!(next_start(died_of(11), false, LONG, &mut backoff).is_some());
        assert_eq!(next_start(exited(1), false, LONG, &mut backoff), None);
    }

    #[test]
    fn the_servers_status_becomes_ours() {
        assert_eq!(exit_status(exited(0)), 0);
        assert_eq!(exit_status(exited(2)), 2);
        assert_eq!(exit_status(died_of(15)), 143);
    }
}
