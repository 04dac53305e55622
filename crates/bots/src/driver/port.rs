//! Where a bot's datagrams enter and leave the network: a socket of its own, or an address behind a device that all share.

use super::BotsError;
use net::device::Device;
use net::namespace::Namespace;
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

/// All behind a device have this port, and an address each.
const PORT: u16 = 12_035;

/// Length of a device's network.
const PREFIX_BITS: u8 = 16;

/// Hosts of a network that are no bots: the network itself, the server's end; and the last is for all of them.
const HOSTS_BEFORE: u32 = 2;
pub(super) const HOSTS_MAX: u32 = (1 << (32 - PREFIX_BITS)) - HOSTS_BEFORE - 1;

/// A bot's place in the network.
#[derive(Debug)]
pub(super) enum Port {
    Socket(UdpSocket),
    Host(SocketAddrV4),
}

impl Port {
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

/// A device of ours in the network namespace of `server_pid`, with the first host of `network` as the server's end.
pub(super) fn open_device(network: Ipv4Addr, server_pid: u32) -> Result<Device, BotsError> {
    let failed = |what| move |source| BotsError::System { what, source };
    let namespace =
        Namespace::of_process(server_pid).map_err(failed("enter the server's network namespace"))?;
    let tun = namespace
        .run(move || Tun::create(&name_of(network), Ipv4Addr::from_bits(network.to_bits() + 1), PREFIX_BITS))
        .map_err(BotsError::Device)?;
    Device::new(tun).map_err(failed("read the TUN device"))
}

fn name_of(network: Ipv4Addr) -> String {
    let [a, b, ..] = network.octets();
    format!("bots-{a}-{b}")
}

/// The address of a bot.
pub(super) fn host(network: Ipv4Addr, bot: u32) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::from_bits(network.to_bits() + HOSTS_BEFORE + bot), PORT)
}

/// Whose address this is, if it is one of a bot.
pub(super) fn bot_at(network: Ipv4Addr, host: Ipv4Addr) -> Option<u32> {
    host.to_bits().checked_sub(network.to_bits() + HOSTS_BEFORE).filter(|&bot| bot < HOSTS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bot_has_an_address_in_the_network_and_is_found_by_it() {
        let network = Ipv4Addr::new(10, 3, 0, 0);
        assert_eq!(*host(network, 0).ip(), Ipv4Addr::new(10, 3, 0, 2));
        assert_eq!(*host(network, HOSTS_MAX - 1).ip(), Ipv4Addr::new(10, 3, 255, 254));
        for bot in [0, 1, 300, HOSTS_MAX - 1] {
            assert_eq!(bot_at(network, *host(network, bot).ip()), Some(bot));
        }
        for stranger in [[10, 3, 0, 1], [10, 3, 255, 255], [10, 4, 0, 2], [10, 2, 0, 9], [255; 4]] {
            assert_eq!(bot_at(network, Ipv4Addr::from(stranger)), None, "{stranger:?}");
        }
    }
}
