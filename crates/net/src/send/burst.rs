//! Datagrams to one client that leave as one, to be cut apart as late as possible: by the device, or by the kernel on its way
//! there (UDP_SEGMENT, udp(7)).

use std::net::{Ipv4Addr, SocketAddrV4};

/// Datagrams one behind the other in the arena of a batch, `segment` bytes each, the last perhaps shorter. A datagram alone
/// is a burst of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Burst {
    pub(super) remote: SocketAddrV4,
    pub(super) local: Ipv4Addr,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) segment: usize,
}

impl Burst {
    /// Datagrams that the kernel takes as one (`UDP_MAX_SEGMENTS`; later kernels take 128).
    pub(super) const SEGMENTS_MAX: usize = 64;
    /// And their bytes: a burst is an IPv4 packet until it is cut apart, 20 and 8 bytes of which are headers.
    const BYTES_MAX: usize = 65_535 - 20 - 8;

    pub(super) const fn len(&self) -> usize {
        self.end - self.start
    }

    /// Datagrams.
    pub(super) const fn count(&self) -> usize {
        self.len().div_ceil(self.segment)
    }

    /// True if a datagram of `len` bytes behind this burst may join it.
    pub(super) fn takes(&self, remote: SocketAddrV4, local: Ipv4Addr, len: usize) -> bool {
        self.remote == remote
            && self.local == local
            && len <= self.segment
            && self.len().is_multiple_of(self.segment)
            && self.count() < Self::SEGMENTS_MAX
            && self.len() + len <= Self::BYTES_MAX
    }

    /// Each datagram alone.
    pub(super) fn split(self) -> impl Iterator<Item = Self> {
        (self.start..self.end).step_by(self.segment).map(move |start| {
            let end = self.end.min(start + self.segment);
            Self { start, end, segment: end - start, ..self }
        })
    }
}
