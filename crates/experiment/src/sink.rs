//! The network between server and clients.
//!
//! `tun`: server and clients each in a network namespace of their own, joined by two TUN devices and a process that carries packets
//! between them: their HTTP, and all of other people's clients. The datagrams of our bots pass a device in the server's namespace that
//! the bots read and write themselves, one for each of their processes. Clients pay for their receiving, while on loopback (`lo`) the
//! kernel does most of it inside of the server's own send call. Figures of the two cannot be compared, so those of loopback are named
//! with a suffix, and the lack of TUN is an error not a reason to use loopback.

use crate::child::{RELAY_COMMAND, Running, die_with_parent};
use crate::error::ExperimentError;
use net::namespace::Namespace;
use net::network::Network;
use net::tun::{Tun, carry};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Addresses of server and clients in their common network. RFC 2544 sets it aside for measurements.
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const CLIENTS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
const PREFIX_BITS: u8 = 24;

/// Networks of hosts: those of 10.0.0.0/8 but for the first and the last. The first ones of a run are its own to the end, such as the calibrator's; the others are
/// given away again.
const NETWORKS: u32 = 254;
const NETWORKS_KEPT: u32 = 16;

/// Kind of network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SinkKind {
    /// Two namespaces and TUN devices; needs root.
    Tun,
    /// Loopback.
    Lo,
}

impl SinkKind {
    /// `tun` for root, else `lo`.
    #[must_use]
    pub fn usual() -> Self {
        if rustix::process::geteuid().is_root() { Self::Tun } else { Self::Lo }
    }

    /// As in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tun => "tun",
            Self::Lo => "lo",
        }
    }

    /// Suffix of the names of figures measured in it.
    #[must_use]
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Tun => "",
            Self::Lo => "_lo",
        }
    }
}

/// Network namespace for processes and sockets.
#[derive(Debug)]
pub struct ProcessNamespace {
    /// None: where we are.
    namespace: Option<Namespace>,
    /// Its address.
    pub(crate) ip: Ipv4Addr,
}

impl ProcessNamespace {
    /// Runs something there and waits for it.
    pub(crate) fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        match &self.namespace {
            Some(namespace) => namespace.run(job),
            None => job(),
        }
    }
}

/// The network of a run. The kernel removes all of it with the processes that are in it.
#[derive(Debug)]
pub struct Sink {
    /// Kind of the network.
    pub kind: SinkKind,
    /// True if the kernel granted segmentation offload on both devices; never on loopback.
    pub uso: bool,
    pub(crate) server: ProcessNamespace,
    pub(crate) clients: ProcessNamespace,
    /// Networks of bots that were given away.
    networks: AtomicU32,
    /// Carries packets for as long as this exists.
    _relay: Option<Running>,
}

impl Sink {
    /// Makes the network. `executable` is ours: it carries the packets.
    ///
    /// # Errors
    /// [`ExperimentError::NoTun`], or that the carrier did not start.
    pub fn open(kind: SinkKind, executable: &Path) -> Result<Self, ExperimentError> {
        match kind {
            SinkKind::Lo => {
                let here = || ProcessNamespace { namespace: None, ip: Ipv4Addr::LOCALHOST };
                Ok(Self {
                    kind,
                    uso: false,
                    server: here(),
                    clients: here(),
                    networks: AtomicU32::new(0),
                    _relay: None,
                })
            }
            SinkKind::Tun => Self::open_tun(executable),
        }
    }

    /// A network for hosts behind a device in the server's namespace; none on loopback. It is free, or that of a process of bots behind which two hundred others were
    /// started: of a crash long ago.
    pub(crate) fn next_network(&self) -> Option<Network> {
        (self.kind == SinkKind::Tun).then(|| {
            let number = network_number(self.networks.fetch_add(1, Ordering::Relaxed));
            Network::of(Ipv4Addr::new(10, number, 0, 0))
        })
    }

    fn open_tun(executable: &Path) -> Result<Self, ExperimentError> {
        let place = |ip| {
            let namespace = Namespace::create().map_err(|source| ExperimentError::NoTun {
                step: "make a namespace",
                source: source.into(),
            })?;
            let device = namespace
                .run(move || Tun::create("throng0", ip, PREFIX_BITS))
                .map_err(|source| ExperimentError::NoTun { step: "make a device", source: source.into() })?;
            Ok::<_, ExperimentError>((ProcessNamespace { namespace: Some(namespace), ip }, device))
        };
        let (server, near) = place(SERVER)?;
        let (clients, far) = place(CLIENTS)?;
        let uso = near.has_uso() && far.has_uso();
        // The two descriptors are the carrier's standard input and output: nothing else has to be handed over.
        let child = Command::new(executable)
            .arg(RELAY_COMMAND)
            .stdin(Stdio::from(near.into_fd()))
            .stdout(Stdio::from(far.into_fd()))
            .spawn()
            .map_err(|source| ExperimentError::Start { what: "the carrier".to_owned(), source })?;
        let relay = Running { what: "the carrier of packets".to_owned(), child, log: "/dev/stderr".into() };
        Ok(Self {
            kind: SinkKind::Tun,
            uso,
            server,
            clients,
            networks: AtomicU32::new(0),
            _relay: Some(relay),
        })
    }
}

/// Number of the network that is given away after `n` others.
const fn network_number(n: u32) -> u8 {
    let in_turn =
        if n < NETWORKS_KEPT { n } else { NETWORKS_KEPT + (n - NETWORKS_KEPT) % (NETWORKS - NETWORKS_KEPT) };
    in_turn as u8 + 1
}

/// Carries packets between the devices that are standard input and standard output, until it is killed: the work of [`RELAY_COMMAND`].
///
/// # Errors
/// If one of them is no device, or is gone.
pub fn relay() -> io::Error {
    if let Err(error) = die_with_parent() {
        return error;
    }
    let there = std::thread::Builder::new()
        .name("to-clients".to_owned())
        .spawn(|| carry(io::stdin().as_fd(), io::stdout().as_fd()));
    if let Err(error) = there {
        return error;
    }
    carry(io::stdout().as_fd(), io::stdin().as_fd())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_come_in_turn_behind_those_of_the_whole_run() {
        assert_eq!([0, 1, 253].map(network_number), [1, 2, 254]);
        let again = (254..2_000).map(network_number);
        assert!(again.clone().all(|number| number > NETWORKS_KEPT as u8));
        assert_eq!(again.take(2).collect::<Vec<_>>(), [17, 18]);
    }
}
