//! Runs many bots against a server: real sockets, real clocks, HTTP. The bots themselves are [`crate::agent`].
//!
//! Two threads. The caller of [`run`] owns all circuits and their UDP sockets (`circuits`, timed by `timers`); another one does HTTP
//! for all bots (`session`, over `http`): logins at the ramp's rate, seeds, event queues. They communicate through one bounded channel,
//! HTTP to circuits (`notices`); calls of bots that carry go the other way (`calls`). Every bot has a socket of its own, as every client has; or an address of
//! its own behind a shared TUN device, which costs less (`port`).

mod audits;
mod calls;
mod carrying;
mod circuits;
mod clock;
mod control;
mod control_echo;
mod edits;
mod findings;
mod http;
mod notices;
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
use crate::record_file::RecordFileError;
use crate::report::RunReport;
use calls::Grants;
use circuits::Circuits;
use clock::RunClock;
use net::network::Network;
use notices::Notice;
use session::HttpThread;
use std::io::{self, BufRead, Write};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;
use std::time::Duration;

/// Files that the process needs besides two for each bot (its UDP socket, and the connection of its event queue or its login): standard
/// streams, poller, runtime, idle connections.
const FILES_EXTRA: u64 = 256;

/// Parameters of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct BotsConfig {
    /// Login address of the server, such as `http://127.0.0.1:9000/`. Plain HTTP only.
    pub login_uri: String,
    /// Number of bots.
    pub count: u32,
    /// Last name of all of them; the first names are `Bot0001` and so on. Two runs at once need different ones, since a
    /// second login ends the first session.
    pub last_name: String,
    /// Password of all of them. Accounts are created at their first login, if the server has open registration.
    pub password: String,
    /// Properties of each bot; [`Self::observers`] decides on observation.
    pub agent: AgentConfig,
    /// Number of bots, the first ones, that decode and measure everything. Where the others build, these stand and watch.
    pub observers: u32,
    /// Logins begun per second.
    pub ramp_per_s: f64,
    /// Duration of the stay after the last login.
    pub duration: Duration,
    /// Effects of the network between bots and server on each datagram, in both directions.
    pub conditions: Conditions,
    /// File for the observers' views, see [`crate::views`].
    pub views: Option<PathBuf>,
    /// File for the observers' scenes at the end, see [`crate::scenes`].
    pub scenes: Option<PathBuf>,
    /// File for the edits of bots that build, see [`crate::builder::EditRecord`].
    pub edits: Option<PathBuf>,
    /// File for the record of bots that carry, see [`crate::carry::CarryRecord`]. It is continued if it exists; at the end of the run the server's state is compared
    /// with it, if the run is not controlled.
    pub audit: Option<PathBuf>,
    /// File of the observers' caches of objects: read at the beginning if it exists, written at the end. Without it they keep none.
    pub cache: Option<PathBuf>,
    /// Process whose CPU time and memory are reported: the server, on this machine.
    pub server_pid: Option<u32>,
    /// A /16 network of the bots' addresses, behind a TUN device in the network namespace of [`Self::server_pid`], instead of sockets.
    /// Needs root.
    pub device: Option<Ipv4Addr>,
    /// Echo server beside the server, for the machine's share of latency.
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
            scenes: None,
            edits: None,
            audit: None,
            cache: None,
            server_pid: None,
            device: None,
            control_echo: None,
            seed: 1,
        }
    }
}

/// Failure of a whole run. Failures of single bots are in the [`RunReport`].
#[derive(Debug, thiserror::Error)]
pub enum BotsError {
    /// The login address is no address.
    #[error("{uri:?} is no http:// address: {reason}")]
    LoginUri {
        /// Given address.
        uri: String,
        /// Fault of the address.
        reason: String,
    },
    /// The system allows fewer open files than the bots need.
    #[error("{count} bots need {needed} open files, the limit is {limit} (ulimit -n)")]
    Files {
        /// Requested number of bots.
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
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// A file of findings, or of caches.
    #[error(transparent)]
    File(#[from] RecordFileError),
    /// The bots' network is not available.
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
        /// Failed action.
        what: &'static str,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

/// Logs the bots in, runs them for [`BotsConfig::duration`], logs them out. Logins may wait for minutes while a server hashes
/// passwords. Blocks; not for async tasks.
///
/// # Errors
/// Failures of the whole run only.
pub fn run(config: &BotsConfig) -> Result<RunReport, BotsError> {
    let (circuits, http) = start(config, config.count)?;
    circuits.run(http)
}

/// [`run`], controlled by the lines of `input`: logins, behaviours and the end follow commands, each answered on `output` (see
/// `control`). [`BotsConfig::count`] is the most bots there may be, and [`BotsConfig::duration`] is ignored. The report's window begins
/// at the end of the last `enter`.
///
/// # Errors
/// Failures of the whole run only.
pub fn run_controlled(
    config: &BotsConfig,
    input: impl BufRead + Send + 'static,
    output: &mut dyn Write,
) -> Result<RunReport, BotsError> {
    let (circuits, http) = start(config, 0)?;
    let mailbox = circuits.mailbox();
    control::listen(input, move |text, command| mailbox.post(Notice::Command { text, command }))
        .map_err(|source| BotsError::System { what: "start the control thread", source })?;
    circuits.run_controlled(http, output)
}

/// The two halves, with the first logins begun.
fn start(config: &BotsConfig, first: u32) -> Result<(Circuits, HttpThread), BotsError> {
    let clock = RunClock::start();
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
    let ((calls, queue), grants) = (calls::channel(), Grants::default());
    let circuits = Circuits::new(config, clock, calls, grants.clone())?;
    let http = session::start(config, clock, uri, circuits.mailbox(), (grants, queue), first)
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
