//! Sending many datagrams with one system call, from one reused buffer.

#![expect(unsafe_code, reason = "the safe wrapper of sendmmsg allocates per call and hides partial success")]

use crate::BATCH_MAX;
use crate::control::{self, Aligned};
use crate::socket::{UdpSocket, last_errno, to_kernel};
use rustix::io::Errno;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd};

/// Why a datagram was not sent. Nothing is retried here: what must arrive is resent by its circuit.
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

/// What became of everything that was ever pushed into a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendCounters {
    /// Datagrams that the kernel took.
    pub sent: u64,
    /// Their bytes, without IP and UDP headers.
    pub sent_bytes: u64,
    dropped: [u64; SendDrop::ALL.len()],
}

impl SendCounters {
    /// Datagrams lost for this reason.
    #[must_use]
    pub const fn dropped(&self, reason: SendDrop) -> u64 {
        self.dropped[reason as usize]
    }
}

/// How a flush ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum FlushStatus {
    /// Every datagram was sent or dropped; the batch is empty.
    Done,
    /// The socket's send buffer is full. The unsent datagrams stay at the front of the batch: flush again when the
    /// [`Poller`](crate::Poller) reports the socket writable, or [`SendBatch::abandon`] them.
    Blocked,
}

/// Datagrams for one socket, written one behind the other into a buffer that is reused, and sent together.
#[derive(Debug, Default)]
pub struct SendBatch {
    arena: Vec<u8>,
    pending: Vec<Outgoing>,
    counters: SendCounters,
}

/// A datagram in the arena.
#[derive(Clone, Copy, Debug)]
struct Outgoing {
    remote: SocketAddrV4,
    local: Ipv4Addr,
    start: usize,
    end: usize,
}

impl SendBatch {
    /// Most datagrams that wait in one batch. A flush is due at the latest then.
    pub const DATAGRAMS_MAX: usize = 1024;

    /// An empty batch; its buffer grows to what the first rounds need and is then reused.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a copy of `bytes` for `remote`, to leave from our address `local`
    /// ([`Datagram::local`](crate::Datagram::local)); the unspecified address leaves the choice to the kernel.
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
            self.pending.push(Outgoing { remote, local, start, end });
        }
        result
    }

    /// Datagrams that wait to be sent.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Whether the next push needs a flush before it.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.len() >= Self::DATAGRAMS_MAX
    }

    /// Counters since the batch was made.
    #[must_use]
    pub const fn counters(&self) -> SendCounters {
        self.counters
    }

    /// Sends what waits through `socket`, without blocking. A datagram that the kernel refuses is dropped and
    /// counted by reason, and the next one is tried, so one bad destination costs nobody else anything.
    pub fn flush(&mut self, socket: &UdpSocket) -> FlushStatus {
        self.flush_through(|arena, datagrams| send_some(socket, arena, datagrams))
    }

    /// Drops and counts what waits.
    pub fn abandon(&mut self) {
        self.counters.dropped[SendDrop::Abandoned as usize] += self.pending.len() as u64;
        self.pending.clear();
        self.arena.clear();
    }

    /// `send` takes the arena and at most [`BATCH_MAX`] datagrams and returns how many the kernel took (at least
    /// one), or why it refused the first.
    fn flush_through(
        &mut self,
        mut send: impl FnMut(&[u8], &[Outgoing]) -> Result<usize, Errno>,
    ) -> FlushStatus {
        let mut at = 0;
        while at < self.pending.len() {
            let chunk = &self.pending[at..self.pending.len().min(at + BATCH_MAX)];
            match send(&self.arena, chunk) {
                Ok(count) => {
                    let bytes: usize =
                        chunk[..count].iter().map(|datagram| datagram.end - datagram.start).sum();
                    self.counters.sent += count as u64;
                    self.counters.sent_bytes += bytes as u64;
                    at += count;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    self.pending.drain(..at);
                    self.compact();
                    return FlushStatus::Blocked;
                }
                Err(errno) => {
                    self.counters.dropped[SendDrop::of(errno) as usize] += 1;
                    at += 1;
                }
            }
        }
        self.pending.clear();
        self.arena.clear();
        FlushStatus::Done
    }

    /// Moves the unsent datagrams to the front of the arena, so that a socket which stays blocked cannot make it grow.
    fn compact(&mut self) {
        let sent_bytes = self.pending.first().map_or(self.arena.len(), |datagram| datagram.start);
        self.arena.drain(..sent_bytes);
        for datagram in &mut self.pending {
            datagram.start -= sent_bytes;
            datagram.end -= sent_bytes;
        }
    }
}

/// One `sendmmsg` of at most [`BATCH_MAX`] datagrams. Returns how many were taken; an error concerns the first.
fn send_some(socket: &UdpSocket, arena: &[u8], datagrams: &[Outgoing]) -> Result<usize, Errno> {
    let mut names = [to_kernel(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0)); BATCH_MAX];
    let mut controls = [Aligned([0; control::SEND_BYTES]); BATCH_MAX];
    let mut slices = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; BATCH_MAX];
    // SAFETY: `mmsghdr` is a plain C struct of integers and pointers, for which all zeroes is a value.
    let mut headers: [libc::mmsghdr; BATCH_MAX] = unsafe { std::mem::zeroed() };
    for ((((header, slice), name), control), datagram) in
        headers.iter_mut().zip(&mut slices).zip(&mut names).zip(&mut controls).zip(datagrams)
    {
        let bytes = &arena[datagram.start..datagram.end];
        *name = to_kernel(datagram.remote);
        // The kernel only reads through this pointer; the field's type is shared with receiving.
        slice.iov_base = bytes.as_ptr().cast_mut().cast();
        slice.iov_len = bytes.len();
        header.msg_hdr.msg_name = (&raw mut *name).cast();
        header.msg_hdr.msg_namelen = size_of_val(name) as libc::socklen_t;
        header.msg_hdr.msg_iov = slice;
        header.msg_hdr.msg_iovlen = 1;
        if !datagram.local.is_unspecified() {
            *control = control::write_source(datagram.local);
            header.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = control.0.len() as _;
        }
    }
    let count = datagrams.len().min(BATCH_MAX) as libc::c_uint;
    // SAFETY: the first `count` headers point at one name, one iovec into the borrowed arena and at most one control
    // buffer each, with their true lengths; all outlive the call, which only reads them (it writes `msg_len`).
    let status = unsafe {
        libc::sendmmsg(socket.as_fd().as_raw_fd(), headers.as_mut_ptr(), count, libc::MSG_DONTWAIT as _)
    };
    usize::try_from(status).map_err(|_| last_errno())
}

#[cfg(test)]
mod tests {
    use super::*;

    const REMOTE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9);

    fn batch_of(count: u8) -> SendBatch {
        let mut batch = SendBatch::new();
        for i in 0..count {
            batch.push(REMOTE, Ipv4Addr::UNSPECIFIED, &[i; 10]);
        }
        batch
    }

    /// Answers flushes from a script and records which datagrams (by their first byte) were taken.
    fn flush_by_script(batch: &mut SendBatch, script: &[Result<usize, Errno>]) -> (FlushStatus, Vec<u8>) {
        let mut script = script.iter();
        let mut taken = Vec::new();
        let status = batch.flush_through(|arena, datagrams| {
            let answer = *script.next().expect("no call after the end of the script");
            if let Ok(count) = answer {
                taken.extend(datagrams[..count].iter().map(|datagram| arena[datagram.start]));
            }
            answer
        });
        assert_eq!(script.next(), None, "the whole script was played");
        (status, taken)
    }

    #[test]
    fn partial_sends_go_on_where_they_stopped() {
        let mut batch = batch_of(5);
        let (status, taken) = flush_by_script(&mut batch, &[Ok(2), Err(Errno::INTR), Ok(3)]);
        assert_eq!((status, taken), (FlushStatus::Done, vec![0, 1, 2, 3, 4]));
        assert_eq!((batch.counters().sent, batch.counters().sent_bytes), (5, 50));
        assert!(batch.is_empty());
    }

    #[test]
    fn a_full_socket_keeps_the_rest_for_the_next_flush() {
        let mut batch = batch_of(5);
        let (status, _) = flush_by_script(&mut batch, &[Ok(2), Err(Errno::AGAIN)]);
        assert_eq!((status, batch.len(), batch.arena.len()), (FlushStatus::Blocked, 3, 30));
        batch.push(REMOTE, Ipv4Addr::UNSPECIFIED, &[9; 10]);
        let (status, taken) = flush_by_script(&mut batch, &[Ok(4)]);
        assert_eq!((status, taken), (FlushStatus::Done, vec![2, 3, 4, 9]));
    }

    #[test]
    fn refused_datagrams_are_counted_and_passed_over() {
        let mut batch = batch_of(4);
        let script = [Err(Errno::PERM), Ok(1), Err(Errno::NOBUFS), Ok(1)];
        let (status, taken) = flush_by_script(&mut batch, &script);
        assert_eq!((status, taken), (FlushStatus::Done, vec![1, 3]));
        let dropped: Vec<_> = SendDrop::ALL.iter().map(|&reason| batch.counters().dropped(reason)).collect();
        assert_eq!(dropped, [1, 0, 1, 0, 0, 0, 0]);
    }

    #[test]
    fn abandoned_datagrams_are_counted() {
        let mut batch = batch_of(3);
        let (status, _) = flush_by_script(&mut batch, &[Err(Errno::AGAIN)]);
        assert_eq!(status, FlushStatus::Blocked);
        batch.abandon();
        assert!(batch.is_empty());
        assert_eq!(batch.counters().dropped(SendDrop::Abandoned), 3);
    }

    #[test]
    fn no_call_carries_more_than_a_batch() {
        let mut batch = batch_of(200);
        let mut sizes = Vec::new();
        let status = batch.flush_through(|_, datagrams| {
            sizes.push(datagrams.len());
            Ok(datagrams.len())
        });
        assert_eq!((status, sizes), (FlushStatus::Done, vec![64, 64, 64, 8]));
    }

    #[test]
    fn a_writer_that_appends_nothing_adds_nothing() {
        let mut batch = SendBatch::new();
        assert_eq!(batch.push_with(REMOTE, Ipv4Addr::UNSPECIFIED, |_| 7), 7);
        assert!(batch.is_empty());
    }

    #[test]
    #[should_panic(expected = "flush a send batch before")]
    fn pushing_into_a_full_batch_is_a_mistake_of_the_caller() {
        let mut batch = SendBatch::new();
        for _ in 0..=SendBatch::DATAGRAMS_MAX {
            batch.push(REMOTE, Ipv4Addr::UNSPECIFIED, &[1]);
        }
    }
}
