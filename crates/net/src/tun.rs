//! TUN devices: network interfaces whose packets a process reads and writes.
//!
//! Experiments join a server's and its clients' network namespaces with two of them, so that the clients' cost of receiving is not
//! charged to the server, as it is on loopback. A device belongs to the namespace of the thread that creates it; its descriptor works
//! from everywhere. Not for serving: real servers have real interfaces.
//!
//! Every packet has a header in front (`IFF_VNET_HDR`, virtio's `virtio_net_hdr` of ten bytes) that names the work left undone by the
//! sender: the checksum, and with USO the cutting of one large datagram into many. A carrier between two devices passes header and
//! packet on unchanged.

#![expect(unsafe_code, reason = "neither the standard library nor rustix knows these ioctls")]

use crate::socket::{last_errno, to_kernel};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Bytes of one packet with its header: IPv4's maximum, since USO hands over whole bursts.
pub const TUN_PACKET_MAX: usize = VNET_HEADER + 65_535;

/// Packets that wait in the device for their reader. The kernel's own default, 500, is less than a tick's burst to a
/// thousand clients.
pub const TUN_QUEUE_PACKETS: i32 = 20_000;

/// `struct virtio_net_hdr`: flags, kind of segmentation, three lengths and offsets.
const VNET_HEADER: usize = 10;

/// A device that was created; it vanishes with its last descriptor.
#[derive(Debug)]
pub struct Tun {
    fd: OwnedFd,
    uso: bool,
}

/// Failure to create a device.
#[derive(Debug, thiserror::Error)]
#[error("cannot {step} the TUN device {name}")]
pub struct TunError {
    /// Its name.
    pub name: String,
    /// Failed step.
    pub step: &'static str,
    /// The system's error.
    #[source]
    pub source: io::Error,
}

impl Tun {
    /// Creates a device in the network namespace of the calling thread, asks for USO, gives it an address and turns it
    /// on. Everything in the address's network is routed to it; `prefix_bits` is that network's length.
    ///
    /// # Errors
    /// Without the right to administer the namespace, without `/dev/net/tun`, or when the name is taken.
    pub fn create(name: &str, address: Ipv4Addr, prefix_bits: u8) -> Result<Self, TunError> {
        let failed =
            |step| move |errno: Errno| TunError { name: name.to_owned(), step, source: errno.into() };
        let fd = rustix::fs::open("/dev/net/tun", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
            .map_err(failed("open /dev/net/tun for"))?;
        let mut request = request(name).map_err(failed("name"))?;
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
        configure(fd.as_fd(), libc::TUNSETIFF, &request).map_err(failed("create"))?;
        let uso = ask_for_uso(fd.as_fd()).map_err(failed("set the offloads of"))?;
        bring_up(name, address, prefix_bits).map_err(|(step, errno)| failed(step)(errno))?;
        Ok(Self { fd, uso })
    }

    /// True if the kernel grants UDP segmentation offload (Linux 6.2 and later): a burst of equal datagrams then passes the device in
    /// one piece.
    #[must_use]
    pub const fn has_uso(&self) -> bool {
        self.uso
    }

    /// The descriptor: each read gives one packet, each write takes one.
    #[must_use]
    pub fn into_fd(self) -> OwnedFd {
        self.fd
    }
}

/// Turns the calling namespace's loopback on; in a new one it is down.
///
/// # Errors
/// Without the right to administer the namespace.
pub fn bring_loopback_up() -> io::Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    Ok(raise(socket.as_fd(), "lo")?)
}

/// Carries packets from one device to another until reading fails, as it does once the device is gone. Packets that the other side
/// refuses are dropped, as in any network.
///
/// # Errors
/// The error that ended it.
pub fn carry(from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> io::Error {
    let mut packet = vec![0; TUN_PACKET_MAX];
    loop {
        match rustix::io::read(from, &mut packet[..]) {
            Ok(length) => {
                let _dropped = rustix::io::write(to, &packet[..length]);
            }
            Err(Errno::INTR) => {}
            Err(errno) => return errno.into(),
        }
    }
}

/// Asks for USO, else for checksums only. The kernel knows USO for both families or not at all.
fn ask_for_uso(fd: BorrowedFd<'_>) -> Result<bool, Errno> {
    if set_offload(fd, libc::TUN_F_CSUM | libc::TUN_F_USO4 | libc::TUN_F_USO6).is_ok() {
        return Ok(true);
    }
    set_offload(fd, libc::TUN_F_CSUM).map(|()| false)
}

fn bring_up(name: &str, address: Ipv4Addr, prefix_bits: u8) -> Result<(), (&'static str, Errno)> {
    let at = |step| move |errno| (step, errno);
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))
        .map_err(|error| ("open a socket for", Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
    let mut request = request(name).map_err(at("name"))?;
    request.ifr_ifru.ifru_addr = to_sockaddr(address);
    configure(socket.as_fd(), libc::SIOCSIFADDR, &request).map_err(at("address"))?;
    let mask = u32::MAX.checked_shl(32 - u32::from(prefix_bits)).unwrap_or(0);
    request.ifr_ifru.ifru_netmask = to_sockaddr(Ipv4Addr::from(mask));
    configure(socket.as_fd(), libc::SIOCSIFNETMASK, &request).map_err(at("address"))?;
    request.ifr_ifru.ifru_metric = TUN_QUEUE_PACKETS;
    configure(socket.as_fd(), libc::SIOCSIFTXQLEN, &request).map_err(at("set the queue of"))?;
    raise(socket.as_fd(), name).map_err(at("turn on"))
}

fn raise(socket: BorrowedFd<'_>, name: &str) -> Result<(), Errno> {
    let mut request = request(name)?;
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    configure(socket, libc::SIOCSIFFLAGS, &request)
}

fn request(name: &str) -> Result<libc::ifreq, Errno> {
    let mut request = libc::ifreq {
        ifr_name: [0; libc::IFNAMSIZ],
        // The longest member, so that all of the union is set.
        ifr_ifru: libc::__c_anonymous_ifr_ifru {
            ifru_map: libc::__c_anonymous_ifru_map {
                mem_start: 0,
                mem_end: 0,
                base_addr: 0,
                irq: 0,
                dma: 0,
                port: 0,
            },
        },
    };
    // The last byte stays 0: names end with it.
    if name.is_empty() || name.len() >= libc::IFNAMSIZ {
        return Err(Errno::INVAL);
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

fn to_sockaddr(address: Ipv4Addr) -> libc::sockaddr {
    let inet = to_kernel(SocketAddrV4::new(address, 0));
    let mut any = libc::sockaddr { sa_family: inet.sin_family, sa_data: [0; 14] };
    // sockaddr_in behind its family: the port, which is 0, then the address.
    for (to, from) in any.sa_data[2..6].iter_mut().zip(address.octets()) {
        *to = from as libc::c_char;
    }
    any
}

/// An ioctl that reads an interface request.
fn configure(fd: BorrowedFd<'_>, what: libc::Ioctl, request: &libc::ifreq) -> Result<(), Errno> {
    // The kernel may write its answer back, so it gets a copy of our own.
    let mut copy = *request;
    // SAFETY: `fd` is open for as long as it is borrowed, and `copy` is a live, fully initialised `ifreq`, which all requests used here
    // read and write.
    let status = unsafe { libc::ioctl(fd.as_raw_fd(), what, &raw mut copy) };
    if status == 0 { Ok(()) } else { Err(last_errno()) }
}

fn set_offload(fd: BorrowedFd<'_>, offloads: libc::c_uint) -> Result<(), Errno> {
    // SAFETY: `fd` is open for as long as it is borrowed; TUNSETOFFLOAD takes its argument as a number, not as an address.
    let status = unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETOFFLOAD, libc::c_ulong::from(offloads)) };
    if status == 0 { Ok(()) } else { Err(last_errno()) }
}
