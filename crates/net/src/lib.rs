//! UDP sockets in batches, and waiting for many of them at once.
//!
//! This crate moves datagrams between the kernel and reused buffers; it knows nothing of their content, reads no
//! clock and starts no thread. It is the home of the project's `unsafe`: system calls that have no safe wrapper.
//! The protocol carries addresses as four bytes (PROTOCOL §2.2), so everything here is IPv4 and says so in its types.
//!
//! Start with [`UdpSocket`]; a gateway shard owns one per port:
//!
//! 1. [`Poller::wait`] until a socket has something, another thread woke us, or the next deadline;
//! 2. [`UdpSocket::recv_batch`] into a [`RecvBatch`], until it returns 0;
//! 3. put answers into a [`SendBatch`] and [`SendBatch::flush`] it.
//!
//! Beside that stand [`namespace`], [`tun`] and [`device`], which experiments use to give a server and its clients a network
//! of their own; a namespace is the one thing here that has a thread.
//!
//! Not here, deliberately: reliability and pacing (`circuit`), blocking calls, TCP.

mod control;
pub mod device;
pub mod namespace;
pub mod network;
mod poll;
mod recv;
mod send;
mod socket;
pub mod tun;

pub use poll::{Event, Events, Interest, Poller, Waker};
pub use recv::{Datagram, RecvBatch};
pub use send::{FlushStatus, SendBatch, SendCounters, SendDrop};
pub use socket::{BindError, SocketOptions, UdpSocket};

/// Most datagrams that one system call receives or sends. Larger batches hardly save more of a call's fixed cost and
/// make the first datagram of a batch wait for the last to be copied.
pub const BATCH_MAX: usize = 64;

/// Bytes that one received datagram may fill; the rest is cut and the datagram flagged. The protocol's own limit is
/// 1,200 and no Ethernet path carries more than 1,500 in one piece, so what does not fit here is never a client's.
pub const RECV_SLOT_BYTES: usize = 2048;
