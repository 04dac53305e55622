//! Runs many bots against a server: real sockets, real clocks, HTTP. The bots themselves are [`crate::agent`].
//!
//! Two threads. The one that calls [`run`] owns all circuits and their UDP sockets (`circuits`, timed by `timers`);
//! another one does HTTP for all bots (`session`, over `http`): logins at the ramp's rate, seeds, event queues. They
//! talk through one bounded channel, HTTP to circuits. Every bot has a socket of its own, as every client has; or an address
//! of its own behind a TUN device that all share, which costs less (`port`).

mod circuits;
mod clock;
mod control;
mod control_echo;
mod findings;
mod http;
mod port;
mod rates;
mod session;
mod timers;
mod usage;
mod wires;

#[cfg(test)]
mod tests;

use crate::agent::AgentConfig;
use crate::link::Conditions;
use crate::report::Report;
use crate::views::ViewsError;
use circuits::Circuits;
use clock::Clock;
use net::network::Network;
use session::HttpThread;
use std::io::{self, BufRead, Write};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;
use std::time::Duration;

/// Files that the process needs besides two for each bot (its UDP socket, and the connection of its event queue or its
/// login): standard streams, poller, runtime, idle connections.
const FILES_EXTRA: u64 = 256;

/// What to run.
#[derive(Clone, Debug, PartialEq)]
pub struct BotsConfig {
    /// Login address of the server, such as `http://127.0.0.1:9000/`. Plain HTTP only.
    pub login_uri: String,
    /// How many bots.
    pub count: u32,
    /// Last name of all of them; the first names are `Bot0001` and so on. Two runs at once need different ones, since a
    /// second login ends the first session.
    pub last_name: String,
    /// Password of all of them. Accounts are created at their first login, if the server has open registration.
    pub password: String,
    /// What each bot is like; whether it observes is decided by [`Self::observers`].
    pub agent: AgentConfig,
    /// How many of them, the first ones, decode and measure everything.
    pub observers: u32,
    /// Logins begun per second.
    pub ramp_per_s: f64,
    /// How long to stay after the last login.
    pub duration: Duration,
    /// What the network between bots and server does to each datagram, in either direction.
    pub conditions: Conditions,
    /// File for what the observers are shown, see [`crate::views`].
    pub views: Option<PathBuf>,
    /// Process whose CPU time and memory are reported: the server, on this machine.
    pub server_pid: Option<u32>,
    /// A network of 16 bits whose hosts the bots are, behind a TUN device in the network namespace of [`Self::server_pid`]; they
    /// have no sockets then. Needs root.
    pub device: Option<Ipv4Addr>,
    /// Who echoes datagrams beside the server, to tell what the machine adds.
    pub control_echo: Option<SocketAddrV4>,
    /// Bots of equal seeds do equal things, as far as the server does.
    pub seed: u64,
}

impl Default for BotsConfig {
    fn default() -> Self {
        Self {
            login_uri: "http://127.0.0.1:9000/".to_owned(),
            count: 1,
            last_name: "Load".to_owned(),
            password: "load-bot".to_owned(),
            agent: AgentConfig::default(),
            observers: 0,
            ramp_per_s: 30.0,
            duration: Duration::from_secs(60),
            conditions: Conditions::default(),
            views: None,
            server_pid: None,
            device: None,
            control_echo: None,
            seed: 1,
        }
    }
}

/// Why bots could not be run at all. What goes wrong with single bots is in the [`Report`].
#[derive(Debug, thiserror::Error)]
pub enum BotsError {
    /// The login address is no address.
    #[error("{uri:?} is no http:// address: {reason}")]
    LoginUri {
        /// What was given.
        uri: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The system allows fewer open files than the bots need.
    #[error("{count} bots need {needed} open files, the limit is {limit} (ulimit -n)")]
    Files {
        /// How many bots were asked for.
        count: u32,
        /// Files that they need.
        needed: u64,
        /// The hard limit of this process.
        limit: u64,
    },
    /// The server's process cannot be read.
    #[error("cannot read the usage of process {pid}")]
    ServerPid {
        /// The process that was named.
        pid: u32,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// What the observers are shown cannot be written.
    #[error(transparent)]
    Views(#[from] ViewsError),
    /// The bots' network is not to be had.
    #[error("no device for the bots: {0}")]
    DeviceConfig(&'static str),
    /// The device could not be made.
    #[error(transparent)]
    Device(net::tun::TunError),
    /// A UDP socket could not be opened.
    #[error(transparent)]
    Socket(#[from] net::BindError),
    /// The system refused something else: a poller, a thread.
    #[error("cannot {what}")]
    System {
        /// What was to be done.
        what: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Logs the bots in, lets them do their thing for [`BotsConfig::duration`], logs them out. Takes as long as that takes:
/// logins may wait for minutes while a server hashes passwords. Blocks; call it from no async task.
///
/// # Errors
/// Only what keeps all bots from running.
pub fn run(config: &BotsConfig) -> Result<Report, BotsError> {
    let (circuits, http) = start(config, config.count)?;
    circuits.run(http)
}

/// As [`run`], but nobody logs in and nothing ends before `input` says so: the bots do what its lines command, and
/// answer each on `output` (see `control`). [`BotsConfig::count`] is the most that there may be, and
/// [`BotsConfig::duration`] means nothing. The report's window begins when the last `enter` was done.
///
/// # Errors
/// Only what keeps all bots from running.
pub fn run_controlled(
    config: &BotsConfig,
    input: impl BufRead + Send + 'static,
    output: &mut dyn Write,
) -> Result<Report, BotsError> {
    let (circuits, http) = start(config, 0)?;
    control::listen(input, circuits.mailbox())
        .map_err(|source| BotsError::System { what: "start the control thread", source })?;
    circuits.run_controlled(http, output)
}

/// The two halves, with the first logins begun.
fn start(config: &BotsConfig, first: u32) -> Result<(Circuits, HttpThread), BotsError> {
    let clock = Clock::start();
    let uri = http::parse_uri(&config.login_uri)
        .map_err(|reason| BotsError::LoginUri { uri: config.login_uri.clone(), reason })?;
    raise_file_limit(config.count)?;
    if config.device.is_some() && config.server_pid.is_none() {
        return Err(BotsError::DeviceConfig("it lies where the server is, whose process has to be named"));
    }
    if config.device.is_some() && config.count >= Network::HOSTS_MAX {
        return Err(BotsError::DeviceConfig("its network has fewer hosts than there are bots"));
    }
    if let Some(pid) = config.server_pid {
        usage::of_process(pid).map_err(|source| BotsError::ServerPid { pid, source })?;
    }
    let circuits = Circuits::new(config, clock)?;
    let http = session::start(config, clock, uri, circuits.mailbox(), first)
        .map_err(|source| BotsError::System { what: "start the HTTP thread", source })?;
    Ok((circuits, http))
}

/// Makes room for the sockets of this many bots.
fn raise_file_limit(count: u32) -> Result<(), BotsError> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let needed = 2 * u64::from(count) + FILES_EXTRA;
    let limits = getrlimit(Resource::Nofile);
    if limits.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let limit = limits.maximum.unwrap_or(u64::MAX);
    if limit < needed {
        return Err(BotsError::Files { count, needed, limit });
    }
    setrlimit(Resource::Nofile, Rlimit { current: Some(needed), ..limits })
        .map_err(|errno| BotsError::System { what: "raise the limit of open files", source: errno.into() })
}
