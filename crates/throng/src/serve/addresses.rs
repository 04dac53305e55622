//! The sockets that the server listens on.

use super::ServeError;
use crate::config::Config;
use net::{SocketOptions, UdpSocket};
use std::net::{SocketAddr, SocketAddrV4};
use tokio::net::TcpListener;

/// Everything bound, before any thread runs: a taken address ends the start with one clear error.
pub(super) struct Bound {
    pub(super) http: TcpListener,
    pub(super) http_addr: SocketAddr,
    pub(super) admin: TcpListener,
    pub(super) admin_addr: SocketAddr,
    /// One address for each port of the pool.
    pub(super) udp_addrs: Vec<SocketAddrV4>,
    /// By shard, then by port.
    pub(super) sockets: Vec<Vec<UdpSocket>>,
}

impl Bound {
    pub(super) async fn bind(config: &Config, n_shards: usize) -> Result<Self, ServeError> {
        let server = &config.server;
        let (http, http_addr) = listen(server.http, "HTTP").await?;
        let (admin, admin_addr) = listen(server.admin, "the operator").await?;
        let options = SocketOptions {
            receive_buffer_bytes: config.gateway.receive_buffer_bytes as usize,
            send_buffer_bytes: config.gateway.send_buffer_bytes as usize,
            reuse_port: true,
            arrival_times: true,
        };
        let mut udp_addrs = Vec::new();
        let mut sockets: Vec<Vec<UdpSocket>> = (0..n_shards).map(|_| Vec::new()).collect();
        for n in 0..server.udp_ports {
            let addr = nth_port(server.udp, n, server.udp_ports)?;
            let group = UdpSocket::bind_group(addr, &options, n_shards)?;
            udp_addrs.push(group[0].local_addr());
            for (shard, socket) in sockets.iter_mut().zip(group) {
                shard.push(socket);
            }
        }
        Ok(Self { http, http_addr, admin, admin_addr, udp_addrs, sockets })
    }
}

/// Port 0 stays 0: the kernel picks each.
fn nth_port(first: SocketAddrV4, n: u16, wanted: u16) -> Result<SocketAddrV4, ServeError> {
    let port = match first.port() {
        0 => 0,
        port => port.checked_add(n).ok_or(ServeError::TooFewPorts { first: port, wanted })?,
    };
    Ok(SocketAddrV4::new(*first.ip(), port))
}

async fn listen(addr: SocketAddr, purpose: &'static str) -> Result<(TcpListener, SocketAddr), ServeError> {
    let failed = |source| ServeError::Listen { addr, purpose, source };
    let listener = TcpListener::bind(addr).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}
