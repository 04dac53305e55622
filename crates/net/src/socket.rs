//! Opening a UDP socket with the options that a server for many clients needs.

#![expect(unsafe_code, reason = "two socket options have no safe wrapper; see `set`")]

use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Kernel options of one socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketOptions {
    /// Bytes of unread datagrams that the kernel keeps. A shard that is busy for 50 ms while 1,000 clients send ten
    /// updates a second finds 500 datagrams, each charged at about 1 KiB; more memory survives longer pauses.
    pub receive_buffer_bytes: usize,
    /// Bytes of unsent datagrams that the kernel keeps before a flush reports [`FlushStatus::Blocked`].
    ///
    /// [`FlushStatus::Blocked`]: crate::FlushStatus::Blocked
    pub send_buffer_bytes: usize,
    /// True if other sockets of this user may bind the same address; the kernel then spreads clients over them by address and port.
    /// Prefer [`UdpSocket::bind_group`], which also detects a second server.
    pub reuse_port: bool,
    /// True if datagrams carry their arrival time ([`ReceivedDatagram::arrived_unix`]). The kernel then reads its clock for every packet
    /// received by any process of the machine, so only measuring servers should ask. Stamps begin a moment after the first request;
    /// until then the time is that of reading.
    ///
    /// [`ReceivedDatagram::arrived_unix`]: crate::ReceivedDatagram::arrived_unix
    pub arrival_times: bool,
}

impl Default for SocketOptions {
    /// A gateway shard's buffers: 8 MiB to receive, 4 MiB to send. Not shared, and no times of arrival.
    fn default() -> Self {
        Self {
            receive_buffer_bytes: 8 << 20,
            send_buffer_bytes: 4 << 20,
            reuse_port: false,
            arrival_times: false,
        }
    }
}

/// A socket could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot {step} UDP socket on {addr}")]
pub struct BindError {
    /// The address that was asked for.
    pub addr: SocketAddrV4,
    /// Failed step: open, configure or bind.
    pub step: &'static str,
    /// The system's error.
    #[source]
    pub source: io::Error,
}

/// A non-blocking IPv4 UDP socket that reports the local address of each datagram, so that a socket bound to the
/// wildcard answers from the address that was asked. Closed on drop.
#[derive(Debug)]
pub struct UdpSocket {
    fd: OwnedFd,
    local_addr: SocketAddrV4,
    segments: bool,
    receive_drops: ReceiveDrops,
}

/// The kernel's drop count is 32 bits and wraps; this one does not.
#[derive(Debug, Default)]
struct ReceiveDrops {
    last_seen: u32,
    total: u64,
}

impl UdpSocket {
    /// Opens a socket on `addr`; port 0 lets the kernel choose ([`UdpSocket::local_addr`]).
    ///
    /// Buffer sizes are requested first beyond the system's limit (which needs `CAP_NET_ADMIN`) and then within it
    /// (`net.core.rmem_max`), so less may be granted: see [`UdpSocket::receive_buffer_bytes`].
    ///
    /// # Errors
    /// If the address is in use or not local, or the process is out of descriptors.
    pub fn bind(addr: SocketAddrV4, options: &SocketOptions) -> Result<Self, BindError> {
        let failed = |step| move |errno: rustix::io::Errno| BindError { addr, step, source: errno.into() };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let fd =
            net::socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None).map_err(failed("open"))?;
        if options.reuse_port {
            sockopt::set_socket_reuseport(&fd, true).map_err(failed("configure"))?;
        }
        enable(fd.as_fd(), libc::IPPROTO_IP, libc::IP_PKTINFO).map_err(failed("configure"))?;
        enable(fd.as_fd(), libc::SOL_SOCKET, libc::SO_RXQ_OVFL).map_err(failed("configure"))?;
        if options.arrival_times {
            // Without it datagrams have no times; nothing else depends on them.
            let _ = enable(fd.as_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS);
        }
        sockopt::set_socket_recv_buffer_size_force(&fd, options.receive_buffer_bytes)
            .or_else(|_| sockopt::set_socket_recv_buffer_size(&fd, options.receive_buffer_bytes))
            .map_err(failed("configure"))?;
        sockopt::set_socket_send_buffer_size_force(&fd, options.send_buffer_bytes)
            .or_else(|_| sockopt::set_socket_send_buffer_size(&fd, options.send_buffer_bytes))
            .map_err(failed("configure"))?;
        // Linux 4.18 and later know the option; 0 leaves it to each message.
        let segments = set(fd.as_fd(), libc::SOL_UDP, libc::UDP_SEGMENT, 0).is_ok();
        net::bind(&fd, &addr).map_err(failed("bind"))?;
        let local_addr =
            net::getsockname(&fd).and_then(SocketAddrV4::try_from).map_err(failed("read the address of"))?;
        Ok(Self { fd, local_addr, segments, receive_drops: ReceiveDrops::default() })
    }

    /// Opens `count` sockets on one address, one for each shard; the kernel gives every client to one of them. With
    /// port 0 all share the port that was found. Overrides `options.reuse_port`.
    ///
    /// A shared address would also let a second server in and lose half the clients to it, so the address is first
    /// bound alone for a moment.
    ///
    /// # Errors
    /// As [`UdpSocket::bind`]; also when any other socket holds the address, shared or not.
    pub fn bind_group(
        addr: SocketAddrV4,
        options: &SocketOptions,
        count: usize,
    ) -> Result<Vec<Self>, BindError> {
        let alone = Self::bind(addr, &SocketOptions { reuse_port: false, ..*options })?;
        let addr = alone.local_addr();
        drop(alone);
        let shared = SocketOptions { reuse_port: true, ..*options };
        (0..count).map(|_| Self::bind(addr, &shared)).collect()
    }

    /// The address that the socket is bound to; the address part is the wildcard if that was asked for.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddrV4 {
        self.local_addr
    }

    /// True if the kernel supports UDP segmentation.
    #[must_use]
    pub const fn segments(&self) -> bool {
        self.segments
    }

    /// Datagrams that the kernel has thrown away because this socket's receive buffer was full, as of the last
    /// datagram received: the kernel attaches the count to datagrams, so the newest losses show with the next one.
    #[must_use]
    pub const fn receive_drops(&self) -> u64 {
        self.receive_drops.total
    }

    /// Bytes granted for unread datagrams, in the kernel's accounting (twice the request).
    ///
    /// # Errors
    /// Only if the kernel refuses the query.
    pub fn receive_buffer_bytes(&self) -> io::Result<usize> {
        Ok(sockopt::socket_recv_buffer_size(&self.fd)?)
    }

    /// The kernel's count of drops as it came with a datagram.
    pub(crate) const fn note_receive_drops(&mut self, count: u32) {
        self.receive_drops.total += count.wrapping_sub(self.receive_drops.last_seen) as u64;
        self.receive_drops.last_seen = count;
    }
}

impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Turns a boolean socket option on.
fn enable(fd: BorrowedFd<'_>, level: i32, option: i32) -> rustix::io::Result<()> {
    set(fd, level, option, 1)
}

/// Sets a socket option that is an integer.
fn set(fd: BorrowedFd<'_>, level: i32, option: i32, value: libc::c_int) -> rustix::io::Result<()> {
    // SAFETY: `fd` is open for as long as it is borrowed; the value is a live c_int and its exact size is passed.
    let status = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of_val(&value) as libc::socklen_t,
        )
    };
    if status == 0 { Ok(()) } else { Err(last_errno()) }
}

/// The error of the system call that just failed.
pub(crate) fn last_errno() -> rustix::io::Errno {
    rustix::io::Errno::from_io_error(&io::Error::last_os_error()).expect("a failed system call sets errno")
}

/// An address in the kernel's form.
pub(crate) fn to_kernel(addr: SocketAddrV4) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: addr.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(addr.ip().octets()) },
        sin_zero: [0; 8],
    }
}

/// An address from the kernel's form.
pub(crate) fn from_kernel(addr: &libc::sockaddr_in) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::from(addr.sin_addr.s_addr.to_ne_bytes()), u16::from_be(addr.sin_port))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY_PORT: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);

    #[test]
    fn a_group_shares_one_free_port() {
        let group = UdpSocket::bind_group(ANY_PORT, &SocketOptions::default(), 3).unwrap();
        assert_ne!(group[0].local_addr().port(), 0);
        assert!(group.iter().all(|socket| socket.local_addr() == group[0].local_addr()));
    }

    #[test]
    fn a_second_server_on_the_same_port_is_refused() {
        let first = UdpSocket::bind_group(ANY_PORT, &SocketOptions::default(), 2).unwrap();
        let error = UdpSocket::bind_group(first[0].local_addr(), &SocketOptions::default(), 2).unwrap_err();
        assert_eq!(error.step, "bind");
        assert_eq!(error.source.kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn a_receive_buffer_is_granted_as_far_as_the_system_allows() {
        let small = SocketOptions { receive_buffer_bytes: 64 << 10, ..SocketOptions::default() };
        let large = SocketOptions { receive_buffer_bytes: 128 << 10, ..SocketOptions::default() };
        let granted = |options| UdpSocket::bind(ANY_PORT, &options).unwrap().receive_buffer_bytes().unwrap();
        assert!(granted(large) > granted(small));
    }

    #[test]
    fn the_drop_count_survives_the_wrap_of_the_kernels() {
        let mut socket = UdpSocket::bind(ANY_PORT, &SocketOptions::default()).unwrap();
        socket.note_receive_drops(u32::MAX - 1);
        socket.note_receive_drops(3);
        assert_eq!(socket.receive_drops(), u64::from(u32::MAX) + 4);
    }
}
