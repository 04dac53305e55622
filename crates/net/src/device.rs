//! UDP without sockets: clients of a server on the other side of a TUN device.
//!
//! The owner of a device acts as a network of any number of hosts. For thousands of clients in one process that is cheaper than a
//! socket each: a burst sent as one (USO) is read as one, no socket is looked up or notified, and every client has an address of its
//! own. For experiments, like all of [`tun`](crate::tun).

use crate::tun::{TUN_PACKET_MAX, Tun};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use std::fmt;
use std::io::{self, IoSlice};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// `struct virtio_net_hdr` in front of each packet: flags u8, kind of segmentation u8, header length u16, segment u16, …
const VNET: usize = 10;
const VNET_KIND_AT: usize = 1;
const VNET_SEGMENT_AT: usize = 4;
/// The packet is a burst of UDP datagrams (`VIRTIO_NET_HDR_GSO_UDP_L4`).
const VNET_UDP_BURST: u8 = 5;

/// Headers without options (RFC 791, RFC 768).
const IP: usize = 20;
const UDP: usize = 8;
const PROTOCOL_UDP: u8 = 17;
/// "More fragments" and the fragment's offset; a whole packet has neither.
const FRAGMENT: u16 = 0x3FFF;
const DONT_FRAGMENT: u16 = 0x4000;
const HOPS: u8 = 64;

/// A device with virtual hosts on its other side.
#[derive(Debug)]
pub struct Device {
    fd: OwnedFd,
}

/// Result of one read: a datagram, or a burst sent as one.
#[derive(Clone, Copy)]
pub struct DeviceRead<'a> {
    /// Sender.
    pub remote: SocketAddrV4,
    /// To which of the hosts here.
    pub local: SocketAddrV4,
    payload: &'a [u8],
    segment: usize,
}

impl<'a> DeviceRead<'a> {
    /// The datagrams, in the order in which they were sent.
    pub fn datagrams(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.payload.chunks(self.segment)
    }
}

impl fmt::Debug for DeviceRead<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("DeviceRead");
        f.field("remote", &self.remote).field("local", &self.local);
        f.field("bytes", &self.payload.len()).field("segment", &self.segment).finish_non_exhaustive()
    }
}

impl Device {
    /// Takes ownership of a device.
    ///
    /// # Errors
    /// Only refusals of the system.
    pub fn new(tun: Tun) -> io::Result<Self> {
        let fd = tun.into_fd();
        fcntl_setfl(&fd, fcntl_getfl(&fd)? | OFlags::NONBLOCK)?;
        Ok(Self { fd })
    }

    /// Memory for [`Self::recv`].
    #[must_use]
    pub fn buffer() -> Box<[u8]> {
        vec![0; TUN_PACKET_MAX].into_boxed_slice()
    }

    /// The next UDP packet that waits, if any. Others, such as the kernel's own announcements of its addresses, are passed
    /// over. Never blocks.
    ///
    /// # Errors
    /// When the device is gone.
    pub fn recv<'a>(&self, buffer: &'a mut [u8]) -> io::Result<Option<DeviceRead<'a>>> {
        loop {
            match rustix::io::read(&self.fd, &mut *buffer) {
                Ok(length) => {
                    if let Some(Udp { remote, local, payload, segment }) = parse(&buffer[..length]) {
                        return Ok(Some(DeviceRead { remote, local, payload: &buffer[payload], segment }));
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(None),
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Sends a datagram from one of the hosts here.
    pub(crate) fn send(
        &self,
        local: SocketAddrV4,
        remote: SocketAddrV4,
        payload: &[u8],
    ) -> Result<(), Errno> {
        let headers = headers(local, remote, payload.len()).ok_or(Errno::MSGSIZE)?;
        rustix::io::writev(&self.fd, &[IoSlice::new(&headers), IoSlice::new(payload)]).map(drop)
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Parsed headers of a packet. It borrows nothing, so that the next packet may be read into the same buffer.
#[derive(Debug)]
struct Udp {
    remote: SocketAddrV4,
    local: SocketAddrV4,
    /// Position in the packet.
    payload: Range<usize>,
    segment: usize,
}

/// Parses a UDP packet over IPv4 with its virtio header. Checksums, which the kernel leaves undone here, are not verified: the packet
/// has crossed no network.
fn parse(packet: &[u8]) -> Option<Udp> {
    let (vnet, ip) = packet.split_at_checked(VNET)?;
    let header_len = usize::from(ip.first()? & 0x0F) * 4;
    let is_whole = u16_at(ip, 6)? & FRAGMENT == 0;
    if ip[0] >> 4 != 4 || header_len < IP || *ip.get(9)? != PROTOCOL_UDP || !is_whole {
        return None;
    }
    let end = usize::from(u16_at(ip, 2)?);
    let udp = ip.get(header_len..end)?;
    let payload = VNET + header_len + UDP..VNET + end;
    if udp.len() < UDP {
        return None;
    }
    let address = |at: usize, port| {
        let octets: [u8; 4] = ip.get(at..at + 4)?.try_into().ok()?;
        Some(SocketAddrV4::new(Ipv4Addr::from(octets), port))
    };
    let segment = match vnet[VNET_KIND_AT] {
        VNET_UDP_BURST => usize::from(u16::from_ne_bytes([vnet[VNET_SEGMENT_AT], vnet[VNET_SEGMENT_AT + 1]])),
        _ => payload.len(),
    };
    Some(Udp {
        remote: address(12, u16_at(udp, 0)?)?,
        local: address(16, u16_at(udp, 2)?)?,
        payload,
        // An empty datagram has no chunks, so it is none; and chunks of nothing are a panic.
        segment: segment.max(1),
    })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// All headers before a payload; `None` if it is too long for a packet.
fn headers(local: SocketAddrV4, remote: SocketAddrV4, payload: usize) -> Option<[u8; VNET + IP + UDP]> {
    let ip_len = u16::try_from(IP + UDP + payload).ok()?;
    let mut all = [0; VNET + IP + UDP];
    let (ip, udp) = all[VNET..].split_at_mut(IP);
    ip[0] = 0x45;
    ip[2..4].copy_from_slice(&ip_len.to_be_bytes());
    ip[6..8].copy_from_slice(&DONT_FRAGMENT.to_be_bytes());
    ip[8] = HOPS;
    ip[9] = PROTOCOL_UDP;
    ip[12..16].copy_from_slice(&local.ip().octets());
    ip[16..20].copy_from_slice(&remote.ip().octets());
    let sum: u32 = ip.chunks(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]]))).sum();
    // One's complement: the carry is added back, twice at most.
    let folded = (sum & 0xFFFF) + (sum >> 16);
    let folded = (folded & 0xFFFF) + (folded >> 16);
    ip[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    udp[0..2].copy_from_slice(&local.port().to_be_bytes());
    udp[2..4].copy_from_slice(&remote.port().to_be_bytes());
    udp[4..6].copy_from_slice(&(ip_len - IP as u16).to_be_bytes());
    // A checksum of 0 says that there is none.
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 1, 0, 2), 12_035);
    const SERVER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(198, 18, 0, 1), 9_000);

    fn packet(payload: &[u8]) -> Vec<u8> {
        let mut packet = headers(SERVER, HERE, payload.len()).expect("short enough").to_vec();
        packet.extend_from_slice(payload);
        packet
    }

    fn datagrams(packet: &[u8]) -> Vec<&[u8]> {
        let Udp { payload, segment, .. } = parse(packet).expect("UDP over IPv4");
        packet[payload].chunks(segment).collect()
    }

    #[test]
    fn written_packets_are_read() {
        let packet = packet(b"hello");
        let arrived = parse(&packet).expect("UDP over IPv4");
        assert_eq!((arrived.remote, arrived.local), (SERVER, HERE));
        assert_eq!(datagrams(&packet), [b"hello"]);
        let header = &packet[VNET..VNET + IP];
        let sum: u32 = header.chunks(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]]))).sum();
        assert_eq!((sum & 0xFFFF) + (sum >> 16), 0xFFFF, "RFC 791: the sum of a header is all ones");
    }

    #[test]
    fn a_burst_is_cut_where_the_sender_would_have_cut_it() {
        let mut packet = packet(b"aaabbbc");
        packet[VNET_KIND_AT] = VNET_UDP_BURST;
        packet[VNET_SEGMENT_AT..VNET_SEGMENT_AT + 2].copy_from_slice(&3_u16.to_ne_bytes());
        assert_eq!(datagrams(&packet), [&b"aaa"[..], b"bbb", b"c"]);
    }

    #[test]
    fn incomplete_udp_packets_are_passed_over_without_a_panic() {
        let whole = packet(b"hello");
        for length in 0..whole.len() {
            assert!(parse(&whole[..length]).is_none(), "cut to {length}");
        }
        for at in VNET..VNET + IP + UDP {
            for value in 0..=u8::MAX {
                let mut packet = whole.clone();
                packet[at] = value;
                let _ = parse(&packet).map(|udp| packet[udp.payload].chunks(udp.segment).count());
            }
        }
        let mut fragment = whole.clone();
        fragment[VNET + 7] = 1;
        let mut tcp = whole.clone();
        tcp[VNET + 9] = 6;
        let mut v6 = whole;
        v6[VNET] = 0x65;
        assert!([fragment, tcp, v6].iter().all(|packet| parse(packet).is_none()));
        assert!(headers(HERE, SERVER, 65_535 - IP - UDP).is_some());
        assert!(headers(HERE, SERVER, 65_536 - IP - UDP).is_none());
    }
}
