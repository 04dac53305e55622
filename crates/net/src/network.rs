//! Addresses of the hosts behind a device.

use std::net::{Ipv4Addr, SocketAddrV4};

/// A network of 16 bits: its first host is the server's end, the others exist only behind a [`Device`](crate::device::Device), all with one
/// port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network(Ipv4Addr);

/// Addresses that are no host's: the network itself, the server's end; and the last is for all of them.
const BEFORE: u32 = 2;

impl Network {
    /// Length of its prefix.
    pub const PREFIX_BITS: u8 = 16;
    /// Hosts that it has room for.
    pub const HOSTS_MAX: u32 = (1 << (32 - Self::PREFIX_BITS)) - BEFORE - 1;
    /// Port of all hosts.
    pub const PORT: u16 = 12_035;

    /// The network that `address` lies in.
    #[must_use]
    pub const fn of(address: Ipv4Addr) -> Self {
        let hosts = (1 << (32 - Self::PREFIX_BITS)) - 1;
        Self(Ipv4Addr::from_bits(address.to_bits() & !hosts))
    }

    /// The network's own address.
    #[must_use]
    pub const fn address(self) -> Ipv4Addr {
        self.0
    }

    /// The server's end.
    #[must_use]
    pub const fn server(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.0.to_bits() + 1)
    }

    /// The `n`th host.
    ///
    /// # Panics
    /// When there are no more than `n`, see [`Self::HOSTS_MAX`].
    #[must_use]
    pub const fn host(self, n: u32) -> SocketAddrV4 {
        assert!(n < Self::HOSTS_MAX, "the network has fewer hosts");
        SocketAddrV4::new(Ipv4Addr::from_bits(self.0.to_bits() + BEFORE + n), Self::PORT)
    }

    /// Host with this address.
    #[must_use]
    pub fn host_at(self, address: Ipv4Addr) -> Option<u32> {
        address.to_bits().checked_sub(self.0.to_bits() + BEFORE).filter(|&n| n < Self::HOSTS_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_has_an_address_in_the_network_and_is_found_by_it() {
        let network = Network::of(Ipv4Addr::new(10, 3, 7, 9));
        assert_eq!(network.address(), Ipv4Addr::new(10, 3, 0, 0));
        assert_eq!(network.server(), Ipv4Addr::new(10, 3, 0, 1));
        assert_eq!(*network.host(0).ip(), Ipv4Addr::new(10, 3, 0, 2));
        assert_eq!(*network.host(Network::HOSTS_MAX - 1).ip(), Ipv4Addr::new(10, 3, 255, 254));
        for n in [0, 1, 300, Network::HOSTS_MAX - 1] {
            assert_eq!(network.host_at(*network.host(n).ip()), Some(n));
        }
        for stranger in [[10, 3, 0, 1], [10, 3, 255, 255], [10, 4, 0, 2], [10, 2, 0, 9], [255; 4]] {
            assert_eq!(network.host_at(Ipv4Addr::from(stranger)), None, "{stranger:?}");
        }
    }
}
