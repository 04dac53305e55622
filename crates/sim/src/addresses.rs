//! Addresses of a run: the ports of the node, the sockets of its clients, and pairs of both.

use gateway::shard::CircuitAddress;
use std::net::{Ipv4Addr, SocketAddrV4};

/// The server's address, as all its clients know it.
pub(crate) const SERVER_IP: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// Ports of the pool.
pub(crate) const PORTS: u8 = 4;
/// The first of them.
pub(crate) const FIRST_PORT: u16 = 9_000;
/// Source ports of clients begin here.
const FIRST_CLIENT_PORT: u16 = 40_000;

/// One socket of a client and one port of the server: the key of the choice of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pair {
    pub(crate) client: u32,
    /// Number of the client's socket, in order.
    pub(crate) generation: u16,
    pub(crate) port: u8,
}

impl Pair {
    /// The pair of a circuit, unless its remote address is outside the clients'.
    pub(crate) fn of_circuit(address: CircuitAddress) -> Option<Self> {
        let [a, b, c, d] = address.remote.ip().octets();
        let generation = address.remote.port().checked_sub(FIRST_CLIENT_PORT)?;
        (a == 10).then_some(Self { client: u32::from_be_bytes([0, b, c, d]), generation, port: address.port })
    }

    /// The address of the client's socket.
    pub(crate) fn client_socket(self) -> SocketAddrV4 {
        let [_, b, c, d] = self.client.to_be_bytes();
        SocketAddrV4::new(Ipv4Addr::new(10, b, c, d), FIRST_CLIENT_PORT + self.generation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circuit_with_the_socket_of_a_client_is_that_of_its_pair() {
        let circuit = |remote| CircuitAddress { port: 3, remote, local: SERVER_IP };
        let pair = Pair { client: 70_000, generation: 9, port: 3 };
        assert_eq!(Pair::of_circuit(circuit(pair.client_socket())), Some(pair));
        let elsewhere = [Ipv4Addr::new(203, 0, 113, 1), SERVER_IP];
        for remote in elsewhere.map(|ip| SocketAddrV4::new(ip, FIRST_CLIENT_PORT)) {
            assert_eq!(Pair::of_circuit(circuit(remote)), None, "{remote} is no client's");
        }
        let below = SocketAddrV4::new(*pair.client_socket().ip(), FIRST_CLIENT_PORT - 1);
        assert_eq!(Pair::of_circuit(circuit(below)), None, "clients have no such port");
    }
}
