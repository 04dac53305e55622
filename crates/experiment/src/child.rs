//! Processes of an experiment. They end with it, however it ends: each asks the kernel to be killed with its parent.
//!
//! The kernel means the parent's *thread* by that. Processes are started by the main thread or by the thread of a
//! [`net::namespace::Namespace`], and both stay until the end.

use crate::error::ExperimentError;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

/// The hidden command that turns into another program: [`become_program`].
pub const CHILD_COMMAND: &str = "experiment-child";

/// The hidden command that carries packets: [`crate::sink::relay`].
pub const RELAY_COMMAND: &str = "experiment-relay";

/// The hidden command that takes a share of a core: [`crate::burner::burn`].
pub const BURN_COMMAND: &str = "experiment-burn";

/// Turns this process into another program that dies with its parent. Returns only when that fails.
#[must_use]
pub fn become_program(program: &OsStr, arguments: &[OsString]) -> io::Error {
    if let Err(error) = die_with_parent() {
        return error;
    }
    Command::new(program).args(arguments).exec()
}

/// Has this process killed when the thread that started it ends.
pub(crate) fn die_with_parent() -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have ended just before; the adopter is process 1 or a subreaper, and neither runs experiments.
    if getppid().is_none_or(|parent| parent.is_init()) {
        return Err(io::Error::other("the experiment is over"));
    }
    Ok(())
}

/// A command that starts a program which dies with us. Its standard error goes to a file.
pub(crate) fn command(executable: &Path, program: &OsStr, log: &Path) -> Result<Command, ExperimentError> {
    let file = File::create(log).map_err(|source| ExperimentError::File { path: log.to_owned(), source })?;
    let mut command = Command::new(executable);
    command.arg(CHILD_COMMAND).arg("--").arg(program);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
    Ok(command)
}

/// A process under way, killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    /// Name for messages.
    pub(crate) what: String,
    pub(crate) child: Child,
    pub(crate) log: PathBuf,
}

impl Running {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// An error about this process.
    pub(crate) fn error(&self, how: impl Into<String>) -> ExperimentError {
        ExperimentError::Process { what: self.what.clone(), how: how.into(), log: self.log.clone() }
    }

    /// Asks it to end and waits for that.
    pub(crate) fn terminate(&mut self) -> Result<ExitStatus, ExperimentError> {
        let pid = i32::try_from(self.pid()).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            // If it has ended already, waiting returns its status.
            let _ = rustix::process::kill_process(pid, Signal::TERM);
        }
        self.wait()
    }

    /// Waits until it ends by itself.
    pub(crate) fn wait(&mut self) -> Result<ExitStatus, ExperimentError> {
        self.child.wait().map_err(|error| self.error(format!("cannot be waited for: {error}")))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail when it has ended and was waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
