//! Receiving many datagrams with one system call, into memory that is reused.

#![expect(
    unsafe_code,
    reason = "recvmmsg has no safe wrapper, and it is what makes one system call serve a batch"
)]

use crate::control::{self, Aligned};
use crate::socket::{UdpSocket, from_kernel, last_errno, to_kernel};
use crate::{BATCH_MAX, RECV_SLOT_BYTES};
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// One received datagram, borrowed from its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedDatagram<'a> {
    /// Sender.
    pub remote: SocketAddrV4,
    /// Local destination address; to be passed to [`SendBatch::push`](crate::SendBatch::push) with the answer.
    pub local: Ipv4Addr,
    /// The content, at most [`RECV_SLOT_BYTES`].
    pub bytes: &'a [u8],
    /// True if the datagram was longer than its slot and `bytes` is only its beginning.
    pub truncated: bool,
    /// Arrival at the device by the kernel's wall clock, since 1970. `None` unless the socket was opened with
    /// [`SocketOptions::arrival_times`](crate::SocketOptions::arrival_times) and the kernel has a stamp.
    pub arrived_unix: Option<Duration>,
}

impl ReceivedDatagram<'_> {
    /// Time since its arrival, if known. `now_unix` is the wall clock, since 1970; a clock set back meanwhile gives zero.
    #[must_use]
    pub fn age(&self, now_unix: Duration) -> Option<Duration> {
        self.arrived_unix.map(|arrived| now_unix.saturating_sub(arrived))
    }
}

/// Reused memory for received datagrams. One serves all sockets of a thread; it is never shared while in use.
pub struct RecvBatch {
    /// `capacity` slots of `RECV_SLOT_BYTES`.
    arena: Box<[u8]>,
    received: Vec<RecvSlot>,
    capacity: usize,
}

/// After a call with fewer results than this, the next one first asks for no more: each requested datagram costs 184 bytes of
/// preparation, and a thread with few clients usually wakes up for one.
const FEW: usize = 4;

#[derive(Clone, Copy)]
struct RecvSlot {
    remote: SocketAddrV4,
    local: Ipv4Addr,
    length: usize,
    truncated: bool,
    arrived_unix: Option<Duration>,
}

impl RecvBatch {
    /// A batch of [`BATCH_MAX`] datagrams: 128 KiB.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(BATCH_MAX)
    }

    /// A batch of 1 to [`BATCH_MAX`] datagrams, for a thread that expects few at a time.
    ///
    /// # Panics
    /// When `datagrams` is outside that range.
    #[must_use]
    pub fn with_capacity(datagrams: usize) -> Self {
        assert!(
            (1..=BATCH_MAX).contains(&datagrams),
            "a batch holds 1 to {BATCH_MAX} datagrams, not {datagrams}"
        );
        Self {
            arena: vec![0; datagrams * RECV_SLOT_BYTES].into_boxed_slice(),
            received: Vec::with_capacity(datagrams),
            capacity: datagrams,
        }
    }

    /// Datagrams of the last receive call, in the order in which they arrived.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = ReceivedDatagram<'_>> {
        self.received.iter().zip(self.arena.chunks_exact(RECV_SLOT_BYTES)).map(|(slot, bytes)| {
            ReceivedDatagram {
                remote: slot.remote,
                local: slot.local,
                bytes: &bytes[..slot.length],
                truncated: slot.truncated,
                arrived_unix: slot.arrived_unix,
            }
        })
    }

    /// Number of datagrams of the last receive call.
    #[must_use]
    pub fn len(&self) -> usize {
        self.received.len()
    }

    /// True if the last receive call found nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.received.is_empty()
    }

    /// True if the last receive call filled the batch, so that more datagrams probably wait.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.len() == self.capacity
    }
}

impl Default for RecvBatch {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for RecvBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecvBatch").field("len", &self.len()).field("capacity", &self.capacity).finish()
    }
}

impl UdpSocket {
    /// Replaces the content of `batch` with waiting datagrams, as many as fit, and returns their number; 0 if none waits. Never blocks.
    ///
    /// # Errors
    /// Only a kernel without memory; the socket stays usable.
    pub fn recv_batch(&mut self, batch: &mut RecvBatch) -> io::Result<usize> {
        let found_few = batch.len() < FEW;
        batch.received.clear();
        if found_few {
            self.recv_some::<FEW>(batch)?;
            if batch.len() < FEW || batch.is_full() {
                return Ok(batch.len());
            }
            // The datagrams received so far are not lost to an error here. A lasting error is returned by the next call.
            let _ = self.recv_some::<BATCH_MAX>(batch);
        } else {
            self.recv_some::<BATCH_MAX>(batch)?;
        }
        Ok(batch.len())
    }

    /// Adds `MOST` datagrams at most, and no more than fit.
    fn recv_some<const MOST: usize>(&mut self, batch: &mut RecvBatch) -> io::Result<()> {
        let n_before = batch.len();
        let asked = MOST.min(batch.capacity - n_before);
        // The headers live on the stack and are pointed at the arena for every call, so that no pointer outlives its borrow.
        let mut names = [to_kernel(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0)); MOST];
        let mut controls = [Aligned([0; control::RECV_BYTES]); MOST];
        let mut slices = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; MOST];
        // SAFETY: `mmsghdr` is a plain C struct of integers and pointers, for which all zeroes is a value.
        let mut headers: [libc::mmsghdr; MOST] = unsafe { std::mem::zeroed() };
        let slots = batch.arena.chunks_exact_mut(RECV_SLOT_BYTES).skip(n_before);
        for ((((header, slice), name), control), slot) in
            headers.iter_mut().zip(&mut slices).zip(&mut names).zip(&mut controls).zip(slots)
        {
            slice.iov_base = slot.as_mut_ptr().cast();
            slice.iov_len = slot.len();
            header.msg_hdr.msg_name = (&raw mut *name).cast();
            header.msg_hdr.msg_namelen = size_of_val(name) as libc::socklen_t;
            header.msg_hdr.msg_iov = slice;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = control.0.len() as _;
        }
        let count = loop {
            // SAFETY: the first `asked` headers point at one name, one control buffer, one iovec and one arena
            // slot each, all with their true lengths, distinct, and alive and otherwise untouched during the call.
            let status = unsafe {
                libc::recvmmsg(
                    self.as_fd().as_raw_fd(),
                    headers.as_mut_ptr(),
                    asked as libc::c_uint,
                    libc::MSG_DONTWAIT as _,
                    std::ptr::null_mut(),
                )
            };
            match usize::try_from(status) {
                Ok(count) => break count,
                Err(_) => match last_errno() {
                    Errno::INTR => {}
                    Errno::AGAIN => return Ok(()),
                    errno => return Err(errno.into()),
                },
            }
        };
        for ((header, name), control) in headers.iter().zip(&names).zip(&controls).take(count) {
            let written = header.msg_hdr.msg_controllen.min(control::RECV_BYTES);
            let info = control::read(&control.0[..written]);
            if let Some(dropped) = info.dropped {
                self.note_receive_drops(dropped);
            }
            batch.received.push(RecvSlot {
                remote: from_kernel(name),
                local: info.local.unwrap_or_else(|| *self.local_addr().ip()),
                length: (header.msg_len as usize).min(RECV_SLOT_BYTES),
                truncated: header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
                arrived_unix: info.arrived_unix,
            });
        }
        Ok(())
    }
}
