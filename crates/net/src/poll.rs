//! Waiting for many sockets, for other threads and for a deadline, all in one call.

use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Interest to wait for. Level-triggered: reported by every wait until it is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// A datagram waits.
    Readable,
    /// A datagram waits, or the send buffer has room again. Only for as long as a flush is blocked, since a socket
    /// is otherwise always writable and the wait would never sleep.
    ReadableOrWritable,
}

impl Interest {
    fn flags(self) -> epoll::EventFlags {
        match self {
            Self::Readable => epoll::EventFlags::IN,
            Self::ReadableOrWritable => epoll::EventFlags::IN | epoll::EventFlags::OUT,
        }
    }
}

/// A socket is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollEvent {
    /// Caller's name of the socket in [`Poller::add`].
    pub token: u64,
    /// A datagram waits, or receiving will report an error.
    pub readable: bool,
    /// The send buffer has room.
    pub writable: bool,
}

/// Reused memory for the events of a wait.
pub struct Events {
    raw: Vec<epoll::Event>,
    was_woken: bool,
}

impl Events {
    /// Room for `capacity` events; if more sockets are ready, the next wait reports the others first.
    ///
    /// # Panics
    /// If `capacity` is 0.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        assert!(capacity > 0, "a wait needs room for an event");
        // One more for the waker's own.
        Self { raw: Vec::with_capacity(capacity + 1), was_woken: false }
    }

    /// The sockets that are ready.
    pub fn iter(&self) -> impl Iterator<Item = PollEvent> {
        self.raw.iter().filter(|event| event.data.u64() != WAKER_TOKEN).map(|event| {
            let flags = event.flags;
            PollEvent {
                token: event.data.u64(),
                readable: flags.intersects(epoll::EventFlags::IN | epoll::EventFlags::ERR),
                writable: flags.contains(epoll::EventFlags::OUT),
            }
        })
    }

    /// True if [`PollWaker::wake`] was called since the last wait that reported it. Everything that the waking thread did before is
    /// visible to the reader.
    #[must_use]
    pub const fn was_woken(&self) -> bool {
        self.was_woken
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events")
            .field("len", &self.iter().count())
            .field("was_woken", &self.was_woken)
            .finish()
    }
}

/// The waker's place among the tokens; not available to sockets.
const WAKER_TOKEN: u64 = u64::MAX;

/// A set of sockets that one thread waits for, and a [`PollWaker`] for the other threads.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    waker: PollWaker,
}

impl Poller {
    /// An empty set.
    ///
    /// # Errors
    /// When the process or the system is out of descriptors.
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &fd, epoll::EventData::new_u64(WAKER_TOKEN), epoll::EventFlags::IN)?;
        Ok(Self {
            epoll,
            waker: PollWaker { shared: Arc::new(WakeState { fd, pending: AtomicBool::new(false) }) },
        })
    }

    /// Adds a socket under a name of the caller's choice, reported back in [`PollEvent::token`]. Closing the socket
    /// removes it.
    ///
    /// # Errors
    /// When the socket is already in the set or the system's limit of watches is reached.
    ///
    /// # Panics
    /// When `token` is `u64::MAX`, which is taken.
    pub fn add(&self, socket: &impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        assert_ne!(token, WAKER_TOKEN, "this token belongs to the waker");
        Ok(epoll::add(&self.epoll, socket, epoll::EventData::new_u64(token), interest.flags())?)
    }

    /// Replaces the token and the interest of a socket that was added.
    ///
    /// # Errors
    /// When the socket is not in the set.
    ///
    /// # Panics
    /// As [`Poller::add`].
    pub fn modify(&self, socket: &impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        assert_ne!(token, WAKER_TOKEN, "this token belongs to the waker");
        Ok(epoll::modify(&self.epoll, socket, epoll::EventData::new_u64(token), interest.flags())?)
    }

    /// Removes a socket that stays open.
    ///
    /// # Errors
    /// When the socket is not in the set.
    pub fn remove(&self, socket: &impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, socket)?)
    }

    /// A handle by which other threads end this poller's wait.
    #[must_use]
    pub fn waker(&self) -> PollWaker {
        self.waker.clone()
    }

    /// Replaces `events` with the ready sockets, after at most `timeout` (`None`: unlimited). The wait may exceed it by a millisecond,
    /// since the kernel's call counts milliseconds and an early return would spin.
    ///
    /// # Errors
    /// Only if the kernel is out of memory.
    pub fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        // The kernel counts in a c_int: 24 days. A longer wait is as good as that one.
        let timeout = timeout.map(|timeout| timeout.min(Duration::from_secs(24 * 24 * 3600)));
        let timeout = timeout.map(|timeout| Timespec::try_from(timeout).expect("24 days fit a timespec"));
        events.raw.clear();
        events.was_woken = false;
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events.raw), timeout.as_ref()) {
            // A signal came; the caller looks at its deadlines and waits again.
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        if events.raw.iter().any(|event| event.data.u64() == WAKER_TOKEN) {
            events.was_woken = true;
            self.waker.clear();
        }
        Ok(())
    }
}

/// Ends the wait of a [`Poller`] from any thread. Cheap to clone and, while the poller has not yet looked, to call.
#[derive(Clone, Debug)]
pub struct PollWaker {
    shared: Arc<WakeState>,
}

#[derive(Debug)]
struct WakeState {
    fd: OwnedFd,
    /// Set from the first wake until the poller has seen it; further wakes in between need no system call.
    pending: AtomicBool,
}

impl PollWaker {
    /// Ends the current wait, or the next one at once. Do it after putting work into a queue.
    pub fn wake(&self) {
        if !self.shared.pending.swap(true, Ordering::AcqRel) {
            // Fails only if the counter is full: then the poller has been notified already.
            let _ = rustix::io::write(&self.shared.fd, &1u64.to_ne_bytes());
        }
    }

    /// Empties the descriptor first and then permits the next wake: in the other order a wake in between would be swallowed with its
    /// `pending` still set, and no later one would ever write.
    fn clear(&self) {
        let _ = rustix::io::read(&self.shared.fd, &mut [0; 8]);
        self.shared.pending.swap(false, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FlushStatus, SendBatch, SocketOptions, UdpSocket};
    use std::net::{Ipv4Addr, SocketAddrV4};

    const SOON: Option<Duration> = Some(Duration::from_secs(60));
    const NOW: Option<Duration> = Some(Duration::ZERO);

    fn loopback() -> UdpSocket {
        UdpSocket::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0), &SocketOptions::default()).unwrap()
    }

    fn send(from: &UdpSocket, to: &UdpSocket) {
        let mut batch = SendBatch::new();
        batch.push(to.local_addr(), Ipv4Addr::UNSPECIFIED, b"x");
        assert_eq!(batch.flush(from), FlushStatus::Done);
    }

    fn readable(events: &Events) -> Vec<u64> {
        let mut tokens: Vec<u64> =
            events.iter().filter(|event| event.readable).map(|event| event.token).collect();
        tokens.sort_unstable();
        tokens
    }

    #[test]
    fn only_the_sockets_with_datagrams_are_reported() {
        let (poller, mut events) = (Poller::new().unwrap(), Events::with_capacity(8));
        let sockets: Vec<_> = (0..5).map(|_| loopback()).collect();
        for (token, socket) in (0..).zip(&sockets) {
            poller.add(socket, token, Interest::Readable).unwrap();
        }
        send(&sockets[0], &sockets[1]);
        send(&sockets[0], &sockets[4]);
        poller.wait(&mut events, SOON).unwrap();
        assert_eq!((readable(&events), events.was_woken()), (vec![1, 4], false));
        poller.remove(&sockets[1]).unwrap();
        poller.wait(&mut events, SOON).unwrap();
        assert_eq!(readable(&events), [4]);
    }

    #[test]
    fn writability_is_reported_only_when_asked_for() {
        let (poller, mut events) = (Poller::new().unwrap(), Events::with_capacity(1));
        let socket = loopback();
        poller.add(&socket, 3, Interest::Readable).unwrap();
        poller.wait(&mut events, NOW).unwrap();
        assert_eq!(events.iter().next(), None);
        poller.modify(&socket, 4, Interest::ReadableOrWritable).unwrap();
        poller.wait(&mut events, SOON).unwrap();
        let event = PollEvent { token: 4, readable: false, writable: true };
        assert_eq!(events.iter().collect::<Vec<_>>(), [event]);
    }

    #[test]
    fn a_wake_from_another_thread_ends_the_wait_once() {
        let (poller, mut events) = (Poller::new().unwrap(), Events::with_capacity(1));
        let waker = poller.waker();
        let thread = std::thread::spawn(move || {
            waker.wake();
            waker.wake();
        });
        poller.wait(&mut events, SOON).unwrap();
        assert!(events.was_woken());
        thread.join().unwrap();
        // The second wake either merged with the first or is still pending; no third follows.
        poller.wait(&mut events, NOW).unwrap();
        poller.wait(&mut events, NOW).unwrap();
        assert!(!events.was_woken());
        poller.waker().wake();
        poller.wait(&mut events, SOON).unwrap();
        assert!(events.was_woken());
    }

    #[test]
    fn more_ready_sockets_than_events_are_reported_in_turns() {
        let (poller, mut events) = (Poller::new().unwrap(), Events::with_capacity(1));
        let mut sockets: Vec<_> = (0..6).map(|_| loopback()).collect();
        for (token, socket) in (0..).zip(&sockets) {
            poller.add(socket, token, Interest::Readable).unwrap();
            send(socket, socket);
        }
        let mut seen = Vec::new();
        let mut batch = crate::RecvBatch::with_capacity(1);
        while seen.len() < sockets.len() {
            poller.wait(&mut events, SOON).unwrap();
            for token in readable(&events) {
                assert_eq!(sockets[token as usize].recv_batch(&mut batch).unwrap(), 1);
                seen.push(token);
            }
        }
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 2, 3, 4, 5]);
    }
}
