//! A process of our bots, under command.

use crate::Run;
use crate::child::{self, Running};
use crate::error::ExperimentError;
use crate::server::Server;
use ids::Uuid;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Stdio};

/// Logins begun each second: as fast as a server hashes passwords that is at work.
pub(crate) const RAMP: &str = "40/s";

/// A running process of bots.
#[derive(Debug)]
pub(crate) struct Bots {
    process: Running,
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// The fields of the bots' final report that experiments use.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct BotsReport {
    pub(crate) logins_ok: u32,
    pub(crate) logins_failed: u32,
    pub(crate) circuits_lost: u32,
    pub(crate) pings_unanswered: u64,
    pub(crate) ping_ms_p50: Option<f64>,
    pub(crate) ping_ms_p99: Option<f64>,
    pub(crate) avatars_seen_min: Option<usize>,
    pub(crate) login_s_p50: Option<f64>,
    pub(crate) login_s_p99: Option<f64>,
    pub(crate) http_errors: u64,
    pub(crate) datagrams_lost_locally: u64,
    pub(crate) datagrams_overflowed: u64,
    pub(crate) second_bytes_p99: Option<f64>,
    pub(crate) bots_cpu_s: f64,
    pub(crate) window_s: f64,
    pub(crate) failures: BTreeMap<String, u32>,
    /// By the names of messages.
    pub(crate) messages: BTreeMap<String, MessageTally>,
    pub(crate) edits_wrong: u64,
    pub(crate) edits_observed: u64,
    pub(crate) edits_unobserved: u64,
    pub(crate) edit_observed_ms_p50: Option<f64>,
    pub(crate) edit_observed_ms_p99: Option<f64>,
}

/// Packets of a message, as far as experiments use them.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(crate) struct MessageTally {
    pub(crate) bytes_in: u64,
}

/// The bots' answer after a command is done.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct CommandReply {
    done: String,
    /// Logins that have succeeded so far.
    pub(crate) logins_ok: u32,
    /// To `gap`: for how long at most any observer was shown nothing new, in seconds.
    pub(crate) gap_s: Option<f64>,
    /// To `pings`: those since the last time.
    pub(crate) pings: Option<TimeSummary>,
    /// To `probes`.
    pub(crate) probes: Option<ProbeFigures>,
    /// To `edits`: those since the beginning.
    pub(crate) edits: Option<EditSums>,
    /// To `prims`: how many any observer displays at least.
    pub(crate) prims: Option<u64>,
    /// To `carry`: requests of this process.
    pub(crate) carry: Option<CarrySums>,
    /// To `audit`: differences between the record and the server's state.
    pub(crate) audit: Option<AuditFindings>,
    /// To `audit`: the reason for which no comparison was possible.
    pub(crate) trouble: Option<String>,
    /// To `capabilities`: those of all bots.
    pub(crate) capabilities: Option<Vec<BotCapabilities>>,
}

/// Requests of bots that carry.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(crate) struct CarrySums {
    pub(crate) acknowledged: u64,
    pub(crate) pending: u64,
    pub(crate) transfers: u64,
    /// Of transfers since the command before.
    pub(crate) times: TimeSummary,
}

/// Differences that an audit has found.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(crate) struct AuditFindings {
    pub(crate) audited: u64,
    pub(crate) lost: u64,
    pub(crate) doubled: u64,
    pub(crate) vanished: u64,
    /// The first of them, in words.
    pub(crate) texts: Vec<String>,
}

/// Capabilities of a bot.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct BotCapabilities {
    /// Its account.
    pub(crate) agent: Uuid,
    /// Root folder of its inventory.
    pub(crate) root: Uuid,
    /// By name.
    pub(crate) addresses: BTreeMap<String, String>,
}

/// Edits of bots that build.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(crate) struct EditSums {
    pub(crate) objects_failed: u64,
    pub(crate) objects_observed: u64,
    pub(crate) edits_sent: u64,
}

/// Measurements of bots that probe a server.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(crate) struct ProbeFigures {
    pub(crate) pings: TimeSummary,
    pub(crate) pings_unanswered: u64,
    pub(crate) echoes: TimeSummary,
    pub(crate) words_lost: u64,
    pub(crate) control: TimeSummary,
    pub(crate) reordered: u64,
}

/// Times in a few numbers, milliseconds.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(crate) struct TimeSummary {
    pub(crate) count: u64,
    pub(crate) min_ms: Option<f64>,
    pub(crate) mean_ms: Option<f64>,
    pub(crate) max_ms: Option<f64>,
    pub(crate) sd_ms: Option<f64>,
    pub(crate) p50_ms: Option<f64>,
    pub(crate) p99_ms: Option<f64>,
    pub(crate) p999_ms: Option<f64>,
}

impl Bots {
    /// Starts up to `count` bots, of which none logs in yet. `options` are those of `throng bots`.
    pub(crate) fn start(
        run: &Run,
        server: &Server,
        name: &str,
        count: u32,
        options: &[&str],
    ) -> Result<Self, ExperimentError> {
        Self::start_at(run, server, name, count, RAMP, options)
    }

    /// As [`Self::start`], with this many logins begun each second.
    pub(crate) fn start_at(
        run: &Run,
        server: &Server,
        name: &str,
        count: u32,
        ramp: &str,
        options: &[&str],
    ) -> Result<Self, ExperimentError> {
        let mut options = options.to_vec();
        let network = run.sink.next_network().map(|network| network.address().to_string());
        let pid = server.pid().to_string();
        if let Some(network) = &network {
            options.extend(["--device", network, "--server-pid", &pid]);
        }
        Self::start_with(run, server, name, count, ramp, &options)
    }

    /// As [`Self::start`], with a socket for each bot in any sink, as other people's clients have.
    pub(crate) fn start_with_sockets(
        run: &Run,
        server: &Server,
        name: &str,
        count: u32,
        options: &[&str],
    ) -> Result<Self, ExperimentError> {
        Self::start_with(run, server, name, count, RAMP, options)
    }

    fn start_with(
        run: &Run,
        server: &Server,
        name: &str,
        count: u32,
        ramp: &str,
        options: &[&str],
    ) -> Result<Self, ExperimentError> {
        let log = run.out.join(format!("{name}.log"));
        let mut command = child::command(&run.executable, run.executable.as_os_str(), &log)?;
        command.args(["bots", "--control", "--json", "--login", &server.login_uri, "--ramp", ramp]);
        command.arg("--count").arg(count.to_string()).args(options);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = run
            .sink
            .clients
            .run(move || command.spawn())
            .map_err(|source| ExperimentError::Start { what: name.to_owned(), source })?;
        let commands = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().expect("it is piped"));
        Ok(Self { process: Running { what: format!("the bots {name}"), child, log }, commands, answers })
    }

    /// Sends them a command and waits until it is done.
    pub(crate) fn command(&mut self, text: &str) -> Result<CommandReply, ExperimentError> {
        let commands = self.commands.as_mut().expect("there is an input until they leave");
        let sent = writeln!(commands, "{text}").and_then(|()| commands.flush());
        let mut line = String::new();
        if sent.is_err() || self.answers.read_line(&mut line).unwrap_or(0) == 0 {
            return Err(self.process.error(format!("ended at {text:?}")));
        }
        let answer: CommandReply = serde_json::from_str(&line).unwrap_or_default();
        if answer.done == text { Ok(answer) } else { Err(self.process.error(format!("answered {line}"))) }
    }

    /// Lets them log out; gives their report.
    pub(crate) fn leave(mut self) -> Result<BotsReport, ExperimentError> {
        // The end of their input.
        self.commands = None;
        let mut line = String::new();
        if self.answers.read_line(&mut line).unwrap_or(0) == 0 {
            return Err(self.process.error("ended without a report"));
        }
        let report = serde_json::from_str(&line)
            .map_err(|error| self.process.error(format!("reported {line}: {error}")))?;
        // Their exit status repeats the report's verdict.
        self.process.wait()?;
        Ok(report)
    }
}
