//! UDP sockets in batches, and a poller for many of them.
//!
//! This crate moves datagrams between the kernel and reused buffers; it does not know their content, reads no clock and starts no
//! thread. It is the home of the project's `unsafe`: system calls without a safe wrapper. The login reply, UseCircuitCode and map
//! replies carry addresses as four bytes, so everything here is IPv4 and its types say so.
//!
//! Start with [`UdpSocket`]; a gateway shard owns one per port:
//!
//! 1. [`Poller::wait`] until a socket is ready, another thread wakes the poller, or the next deadline;
//! 2. [`UdpSocket::recv_batch`] into a [`RecvBatch`], until it returns 0;
//! 3. push answers into a [`SendBatch`] and [`SendBatch::flush`] it.
//!
//! [`namespace`], [`tun`] and [`device`] give a server and its clients a network of their own in experiments; a namespace is the one
//! part with a thread.
//!
//! Deliberately absent: reliability and pacing (`circuit`), blocking calls, TCP.

mod control;
pub mod device;
pub mod namespace;
pub mod network;
mod poll;
mod recv;
mod send;
mod socket;
pub mod tun;

pub use poll::{Events, Interest, PollEvent, PollWaker, Poller};
pub use recv::{ReceivedDatagram, RecvBatch};
pub use send::{FlushStatus, SendBatch, SendCounters, SendDrop};
pub use socket::{BindError, SocketOptions, UdpSocket};

/// Most datagrams that one system call receives or sends. Larger batches hardly save more of a call's fixed cost and
/// make the first datagram of a batch wait for the last to be copied.
pub const BATCH_MAX: usize = 64;

/// Bytes of one received datagram; the rest is cut and the datagram flagged. The protocol's limit is 1,200 bytes and no Ethernet path
/// carries more than 1,500 in one piece, so longer datagrams are never a client's.
pub const RECV_SLOT_BYTES: usize = 2048;
