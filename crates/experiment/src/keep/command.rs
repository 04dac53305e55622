//! Subcommands of the executable, as an operator runs them beside the server: their output, their exit status, and the resources that they took.

use super::memory::private_bytes;
use crate::Run;
use crate::child::{self, Running};
use crate::clock;
use crate::error::ExperimentError;
use serde_json::Value;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

/// Period of reading a process's memory and its state; the time of a subcommand is known to that.
const LOOK_PERIOD: Duration = Duration::from_millis(10);
/// State of a process that has ended and was not waited for, in `/proc` (proc(5)).
const ENDED: &str = "Z";
/// Places of the state and of the ticks in user and kernel mode, behind the name of a process.
const STATE: usize = 0;
const USER_TICKS: usize = 11;
const KERNEL_TICKS: usize = 12;
/// Characters of a complaint that an error shows.
const SHOWN_MAX: usize = 300;

/// A subcommand that has ended.
#[derive(Debug)]
pub(super) struct Finished {
    what: String,
    log: PathBuf,
    status: ExitStatus,
    /// Standard output.
    output: String,
    /// Standard error.
    pub(super) complaint: String,
    /// From its start to its end.
    pub(super) took: Duration,
    /// Seconds of CPU of all of its threads, kernel calls included, in ticks of the system (10 ms for the most part).
    pub(super) cpu_s: f64,
    /// The most private memory that was resident at a look.
    pub(super) peak_bytes: u64,
}

impl Finished {
    /// Exit status; none if a signal has ended it.
    pub(super) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Its output as JSON; null if that is none, as of a subcommand that has failed.
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.output).unwrap_or_default()
    }

    /// Its output as JSON, unless its exit status is another one than these.
    pub(super) fn expect(&self, statuses: &[i32]) -> Result<Value, ExperimentError> {
        match self.json() {
            answer if !answer.is_null() && self.code().is_some_and(|code| statuses.contains(&code)) => {
                Ok(answer)
            }
            _ => Err(self.error(format!("ended with {}: {}", self.status, self.shown()))),
        }
    }

    /// An error about it.
    pub(super) fn error(&self, how: String) -> ExperimentError {
        ExperimentError::Process { what: self.what.clone(), how, log: self.log.clone() }
    }

    /// The end of its complaint, or else of its output.
    fn shown(&self) -> String {
        let text = if self.complaint.trim().is_empty() { self.output.trim() } else { self.complaint.trim() };
        let n_left = text.chars().count().saturating_sub(SHOWN_MAX);
        text.chars().skip(n_left).collect()
    }
}

/// Runs a subcommand to its end, in the network of the server. `name` is that of its files in the folder of the run.
pub(super) fn run(run: &Run, name: &str, arguments: &[&str]) -> Result<Finished, ExperimentError> {
    let (out, log) = (run.out.join(format!("{name}.out")), run.out.join(format!("{name}.log")));
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| ExperimentError::File { path, source }
    };
    let mut command = child::command(&run.executable, run.executable.as_os_str(), &log)?;
    command.args(arguments).stdout(File::create(&out).map_err(failed(&out))?);
    let what = format!("throng {}", arguments.iter().take(2).copied().collect::<Vec<_>>().join(" "));
    let began = clock::now();
    let started = run.sink.server.run(move || command.spawn());
    let child = started.map_err(|source| ExperimentError::Start { what: what.clone(), source })?;
    let mut running = Running { what: what.clone(), child, log: log.clone() };
    let pid = running.pid();
    let (cpu_s, peak_bytes) = watch_to_end(pid).map_err(|source| ExperimentError::Usage { pid, source })?;
    let took = began.elapsed();
    let status = running.wait()?;
    let output = fs::read_to_string(&out).map_err(failed(&out))?;
    let complaint = fs::read_to_string(&log).map_err(failed(&log))?;
    Ok(Finished { what, log, status, output, complaint, took, cpu_s, peak_bytes })
}

/// Looks at a process until it has ended: its seconds of CPU, and the most private memory. It is there until it is waited for.
fn watch_to_end(pid: u32) -> io::Result<(f64, u64)> {
    let mut peak = 0;
    loop {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let (has_ended, ticks) = read_stat(&stat).ok_or_else(|| io::Error::other(stat.clone()))?;
        if has_ended {
            return Ok((ticks as f64 * tick_s(), peak));
        }
        peak = peak.max(private_bytes(pid)?);
        clock::wait(LOOK_PERIOD);
    }
}

/// Seconds of a tick of the system's counts of CPU time.
pub(super) fn tick_s() -> f64 {
    1.0 / rustix::param::clock_ticks_per_second() as f64
}

/// True if the process has ended, and its ticks of CPU. Its name may have blanks and brackets.
fn read_stat(stat: &str) -> Option<(bool, u64)> {
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some((*fields.get(STATE)? == ENDED, ticks(USER_TICKS)? + ticks(KERNEL_TICKS)?))
}

/// A path as an argument.
pub(super) fn text(path: &Path) -> String {
    path.display().to_string()
}

/// A count or another whole number of an answer; not a number without it.
pub(super) fn number(answer: &Value, key: &str) -> f64 {
    answer[key].as_f64().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_behind_its_name() {
        let line =
            |state: &str| format!("77 (a) b) {state} 1 2 3 4 -1 5 6 7 8 9 120 30 0 0 20 0 1 0 999 0 0\n");
        assert_eq!(read_stat(&line("R")), Some((false, 150)));
        assert_eq!(read_stat(&line("Z")), Some((true, 150)));
        assert_eq!(read_stat("77 (a) R 1"), None);
        assert_eq!(read_stat(""), None);
    }

    #[test]
    fn a_number_that_an_answer_lacks_is_none() {
        let answer = serde_json::json!({ "objects": 3, "missing": null });
        assert_eq!(number(&answer, "objects"), 3.0);
        assert!(number(&answer, "missing").is_nan() && number(&Value::Null, "objects").is_nan());
    }
}
