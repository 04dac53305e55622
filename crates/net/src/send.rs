//! Sending many datagrams with one system call, from one reused buffer.
//!
//! If the kernel supports UDP segmentation, equal datagrams to one client leave as one [`Burst`]: the path through the kernel is most
//! of a datagram's cost, and a burst takes it once.

#![expect(unsafe_code, reason = "the safe wrapper of sendmmsg allocates per call and hides partial success")]

mod burst;
#[cfg(test)]
mod tests;

use crate::BATCH_MAX;
use crate::control::{self, Aligned};
use crate::device::Device;
use crate::socket::{UdpSocket, last_errno, to_kernel};
use burst::Burst;
use rustix::io::Errno;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd};

/// Reason of an unsent datagram. Nothing is retried here: circuits resend reliable messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendDrop {
    /// The kernel had no buffer left, in the device's queue or altogether (ENOBUFS, ENOMEM).
    NoBuffers,
    /// The caller gave up on datagrams that waited for the socket ([`SendBatch::abandon`]).
    Abandoned,
    /// A firewall rule refused it (EPERM, EACCES).
    NotPermitted,
    /// No route, or the network is down (ENETUNREACH, EHOSTUNREACH, ENETDOWN).
    Unreachable,
    /// Larger than any datagram can be (EMSGSIZE).
    TooLong,
    /// The destination or the source address makes no sense (EINVAL, EADDRNOTAVAIL).
    BadAddress,
    /// Anything else.
    Other,
}

impl SendDrop {
    /// Every reason, in the order of the counters.
    pub const ALL: [Self; 7] = [
        Self::NoBuffers,
        Self::Abandoned,
        Self::NotPermitted,
        Self::Unreachable,
        Self::TooLong,
        Self::BadAddress,
        Self::Other,
    ];

    /// The reason as a metric label.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoBuffers => "no_buffers",
            Self::Abandoned => "abandoned",
            Self::NotPermitted => "not_permitted",
            Self::Unreachable => "unreachable",
            Self::TooLong => "too_long",
            Self::BadAddress => "bad_address",
            Self::Other => "other",
        }
    }

    const fn of(errno: Errno) -> Self {
        match errno {
            Errno::NOBUFS | Errno::NOMEM => Self::NoBuffers,
            Errno::PERM | Errno::ACCESS => Self::NotPermitted,
            Errno::NETUNREACH | Errno::HOSTUNREACH | Errno::NETDOWN => Self::Unreachable,
            Errno::MSGSIZE => Self::TooLong,
            Errno::INVAL | Errno::ADDRNOTAVAIL => Self::BadAddress,
            _ => Self::Other,
        }
    }
}

/// Totals of everything ever pushed into a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendCounters {
    /// Datagrams that the kernel took.
    pub sent: u64,
    /// Their bytes, without IP and UDP headers.
    pub sent_bytes: u64,
    /// Datagrams among them that left with others as one burst.
    pub segmented: u64,
    /// Bursts that the kernel did not take as such; their datagrams were tried one by one.
    pub bursts_refused: u64,
    dropped: [u64; SendDrop::ALL.len()],
}

impl SendCounters {
    /// Datagrams lost for this reason.
    #[must_use]
    pub const fn dropped(&self, reason: SendDrop) -> u64 {
        self.dropped[reason as usize]
    }
}

impl std::ops::Add for SendCounters {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            sent_bytes: self.sent_bytes + other.sent_bytes,
            segmented: self.segmented + other.segmented,
            bursts_refused: self.bursts_refused + other.bursts_refused,
            dropped: std::array::from_fn(|reason| self.dropped[reason] + other.dropped[reason]),
        }
    }
}

impl std::iter::Sum for SendCounters {
    fn sum<I: Iterator<Item = Self>>(counters: I) -> Self {
        counters.fold(Self::default(), std::ops::Add::add)
    }
}

/// Result of a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum FlushStatus {
    /// Every datagram was sent or dropped; the batch is empty.
    Done,
    /// The socket's send buffer is full. The unsent datagrams stay at the front of the batch: flush again when the
    /// [`Poller`](crate::Poller) reports the socket writable, or [`SendBatch::abandon`] them.
    Blocked,
}

/// A call for at most this many bursts prepares no more headers: those for [`BATCH_MAX`] are 10 KiB of stores, and a ping is answered
/// alone.
const FEW: usize = 4;
/// Bursts refused in a row after which a batch makes none any more: the way to the clients does not take them.
const REFUSALS_MAX: u32 = 16;

/// Datagrams for one socket, written one behind the other into a buffer that is reused, and sent together.
#[derive(Debug, Default)]
pub struct SendBatch {
    arena: Vec<u8>,
    pending: Vec<Burst>,
    n_datagrams: usize,
    /// True if equal datagrams are merged into bursts.
    segments: bool,
    /// Refusals since the last accepted burst.
    refusals: u32,
    counters: SendCounters,
}

impl SendBatch {
    /// Most datagrams that wait in one batch. A flush is due at the latest then.
    pub const DATAGRAMS_MAX: usize = 1024;

    /// An empty batch; its buffer grows in the first rounds and is then reused.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One for `socket` that sends equal datagrams to one client as one, if the kernel knows how.
    #[must_use]
    pub fn segmenting(socket: &UdpSocket) -> Self {
        Self { segments: socket.segments(), ..Self::default() }
    }

    /// Adds a copy of `bytes` for `remote`, to leave from our address `local`
    /// ([`ReceivedDatagram::local`](crate::ReceivedDatagram::local)); the unspecified address leaves the choice to the kernel.
    ///
    /// # Panics
    /// When the batch [is full](SendBatch::is_full): the caller forgot to flush.
    pub fn push(&mut self, remote: SocketAddrV4, local: Ipv4Addr, bytes: &[u8]) {
        self.push_with(remote, local, |out| out.extend_from_slice(bytes));
    }

    /// Adds the datagram that `write` appends to the buffer, saving the copy of [`SendBatch::push`]. `write` finds
    /// the earlier datagrams in front and must only append; if it appends nothing, nothing is added.
    ///
    /// # Panics
    /// When the batch is full, or when `write` shortened the buffer.
    pub fn push_with<R>(
        &mut self,
        remote: SocketAddrV4,
        local: Ipv4Addr,
        write: impl FnOnce(&mut Vec<u8>) -> R,
    ) -> R {
        assert!(!self.is_full(), "flush a send batch before it holds {} datagrams", Self::DATAGRAMS_MAX);
        let start = self.arena.len();
        let result = write(&mut self.arena);
        let end = self.arena.len();
        assert!(end >= start, "the writer of a datagram only appends");
        if end > start {
            self.n_datagrams += 1;
            match self.pending.last_mut() {
                Some(burst) if self.segments && burst.takes(remote, local, end - start) => burst.end = end,
                _ => self.pending.push(Burst { remote, local, start, end, segment: end - start }),
            }
        }
        result
    }

    /// Datagrams that wait to be sent.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.n_datagrams
    }

    /// True if no datagram waits.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.n_datagrams == 0
    }

    /// True if the next push needs a flush before it.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.len() >= Self::DATAGRAMS_MAX
    }

    /// Counters since the batch was made.
    #[must_use]
    pub const fn counters(&self) -> SendCounters {
        self.counters
    }

    /// Sends the waiting datagrams through `socket`, without blocking. A datagram that the kernel refuses is dropped and counted by
    /// reason, and the next one is tried, so a bad destination costs other clients nothing.
    pub fn flush(&mut self, socket: &UdpSocket) -> FlushStatus {
        self.flush_through(|arena, bursts| match bursts.len() {
            ..=FEW => send_some::<FEW>(socket, arena, bursts),
            _ => send_some::<BATCH_MAX>(socket, arena, bursts),
        })
    }

    /// [`Self::flush`] from a host behind a device, one by one. The datagrams' own source addresses are ignored.
    pub fn flush_into(&mut self, device: &Device, host: SocketAddrV4) -> FlushStatus {
        self.flush_through(|arena, bursts| {
            let burst = bursts[0];
            device.send(host, burst.remote, &arena[burst.start..burst.end]).map(|()| 1)
        })
    }

    /// Drops and counts the waiting datagrams.
    pub fn abandon(&mut self) {
        self.counters.dropped[SendDrop::Abandoned as usize] += self.n_datagrams as u64;
        self.clear();
    }

    /// Gives back the buffer, unless something waits in it.
    pub fn release(&mut self) {
        if self.is_empty() {
            self.arena = Vec::new();
            self.pending = Vec::new();
        }
    }

    fn clear(&mut self) {
        self.pending.clear();
        self.arena.clear();
        self.n_datagrams = 0;
    }

    /// `send` takes the arena and at most [`BATCH_MAX`] bursts and returns how many the kernel took (at least one), or
    /// why it refused the first.
    fn flush_through(
        &mut self,
        mut send: impl FnMut(&[u8], &[Burst]) -> Result<usize, Errno>,
    ) -> FlushStatus {
        let mut at = 0;
        while at < self.pending.len() {
            let chunk = &self.pending[at..self.pending.len().min(at + BATCH_MAX)];
            match send(&self.arena, chunk) {
                Ok(count) => {
                    for burst in &self.pending[at..at + count] {
                        let n = burst.count() as u64;
                        self.counters.sent += n;
                        self.counters.sent_bytes += burst.len() as u64;
                        if n > 1 {
                            self.counters.segmented += n;
                            self.refusals = 0;
                        }
                    }
                    at += count;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    self.pending.drain(..at);
                    self.compact();
                    return FlushStatus::Blocked;
                }
                Err(errno) => {
                    let (reason, n) = (SendDrop::of(errno), self.pending[at].count());
                    if n > 1 && reason != SendDrop::NoBuffers {
                        self.take_apart(at);
                        continue;
                    }
                    self.counters.dropped[reason as usize] += n as u64;
                    at += 1;
                }
            }
        }
        self.clear();
        FlushStatus::Done
    }

    /// A burst was refused: it may be the segmentation that is, or where it was to go.
    fn take_apart(&mut self, at: usize) {
        self.counters.bursts_refused += 1;
        self.refusals += 1;
        self.segments &= self.refusals < REFUSALS_MAX;
        let burst = self.pending[at];
        self.pending.splice(at..=at, burst.split());
    }

    /// Moves the unsent datagrams to the front of the arena, so that a socket which stays blocked cannot make it grow.
    fn compact(&mut self) {
        let sent_bytes = self.pending.first().map_or(self.arena.len(), |burst| burst.start);
        self.arena.drain(..sent_bytes);
        for burst in &mut self.pending {
            burst.start -= sent_bytes;
            burst.end -= sent_bytes;
        }
        self.n_datagrams = self.pending.iter().map(Burst::count).sum();
    }
}

/// One `sendmmsg` of the first `MOST` bursts. Returns how many were taken; an error concerns the first.
fn send_some<const MOST: usize>(socket: &UdpSocket, arena: &[u8], bursts: &[Burst]) -> Result<usize, Errno> {
    let mut names = [to_kernel(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0)); MOST];
    let mut controls = [Aligned([0; control::SEND_BYTES]); MOST];
    let mut slices = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; MOST];
    // SAFETY: `mmsghdr` is a plain C struct of integers and pointers, for which all zeroes is a value.
    let mut headers: [libc::mmsghdr; MOST] = unsafe { std::mem::zeroed() };
    for ((((header, slice), name), control), burst) in
        headers.iter_mut().zip(&mut slices).zip(&mut names).zip(&mut controls).zip(bursts)
    {
        let bytes = &arena[burst.start..burst.end];
        *name = to_kernel(burst.remote);
        // The kernel only reads through this pointer; the field's type is shared with receiving.
        slice.iov_base = bytes.as_ptr().cast_mut().cast();
        slice.iov_len = bytes.len();
        header.msg_hdr.msg_name = (&raw mut *name).cast();
        header.msg_hdr.msg_namelen = size_of_val(name) as libc::socklen_t;
        header.msg_hdr.msg_iov = slice;
        header.msg_hdr.msg_iovlen = 1;
        let source = (!burst.local.is_unspecified()).then_some(burst.local);
        let segment = (burst.count() > 1).then_some(burst.segment as u16);
        let control_len = control::write(source, segment, control);
        if control_len > 0 {
            header.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = control_len as _;
        }
    }
    let count = bursts.len().min(MOST) as libc::c_uint;
    // SAFETY: the first `count` headers point at one name, one iovec into the borrowed arena and at most one control
    // buffer each, with their true lengths; all outlive the call, which only reads them (it writes `msg_len`).
    let status = unsafe {
        libc::sendmmsg(socket.as_fd().as_raw_fd(), headers.as_mut_ptr(), count, libc::MSG_DONTWAIT as _)
    };
    usize::try_from(status).map_err(|_| last_errno())
}
