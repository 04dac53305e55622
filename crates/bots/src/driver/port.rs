//! Entry of a bot's datagrams into the network: a socket of its own, or an address behind a shared device.

use super::BotsError;
use net::device::Device;
use net::namespace::Namespace;
use net::network::Network;
use net::tun::Tun;
use net::{FlushStatus, SendBatch, SocketOptions, UdpSocket};
use std::net::{Ipv4Addr, SocketAddrV4};

/// One client's socket: a second of traffic either way.
const SOCKET: SocketOptions = SocketOptions {
    receive_buffer_bytes: 512 << 10,
    send_buffer_bytes: 128 << 10,
    reuse_port: false,
    arrival_times: false,
};

/// A bot's place in the network.
#[derive(Debug)]
pub(super) enum BotSocket {
    Socket(UdpSocket),
    Host(SocketAddrV4),
}

impl BotSocket {
    pub(super) fn open_socket() -> Result<UdpSocket, BotsError> {
        Ok(UdpSocket::bind(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0), &SOCKET)?)
    }

    pub(super) fn flush(&self, batch: &mut SendBatch, device: Option<&Device>) -> FlushStatus {
        match (self, device) {
            (Self::Socket(socket), _) => batch.flush(socket),
            (Self::Host(address), Some(device)) => batch.flush_into(device, *address),
            (Self::Host(_), None) => unreachable!("hosts are behind a device"),
        }
    }

    /// Datagrams that came and could not be kept.
    pub(super) const fn receive_drops(&self) -> u64 {
        match self {
            Self::Socket(socket) => socket.receive_drops(),
            Self::Host(_) => 0,
        }
    }
}

/// A device of ours in the network namespace of `server_pid`, with the server's end of `network` there.
pub(super) fn open_device(network: Network, server_pid: u32) -> Result<Device, BotsError> {
    let failed = |what| move |source| BotsError::System { what, source };
    let namespace =
        Namespace::of_process(server_pid).map_err(failed("enter the server's network namespace"))?;
    let tun = namespace
        .run(move || Tun::create(&name_of(network), network.server(), Network::PREFIX_BITS))
        .map_err(BotsError::Device)?;
    Device::new(tun).map_err(failed("read the TUN device"))
}

fn name_of(network: Network) -> String {
    let [a, b, ..] = network.address().octets();
    format!("bots-{a}-{b}")
}
