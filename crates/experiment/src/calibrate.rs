//! The calibrator L: the cost of one datagram on this machine and sink, independent of the server. Figures of other machines become
//! comparable when they are divided by it.
//!
//! L is the CPU time of `sendmmsg` per unsegmented datagram of 1,400 bytes to 1,000 destinations in turn, through the sink of the run,
//! while a reader drains it: from a device as bots do with TUN, from a socket each on loopback. CPU time is the sending thread's own:
//! the kernel's work for the receiver within the call is part of it on loopback, as for the server, and not with TUN.

use crate::error::ExperimentError;
use crate::median::median;
use crate::sink::Sink;
use net::device::Device;
use net::network::Network;
use net::tun::Tun;
use net::{Events, FlushStatus, Interest, PollWaker, Poller, RecvBatch, SendBatch, SocketOptions, UdpSocket};
use rustix::time::{ClockId, clock_gettime};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use std::{fmt, io};

/// Destinations, each with a socket of its own as clients have.
pub const DESTINATIONS: usize = 1_000;

/// Bytes of each datagram, without headers.
pub const DATAGRAM_BYTES: usize = 1_400;

/// Rounds of a whole run, each a datagram to every destination.
pub const ROUNDS: usize = 300;

/// Rounds of a quick run.
pub const ROUNDS_QUICK: usize = 30;

/// Rounds before those that count: caches, neighbours and buffers are cold.
const WARM_UP: usize = 10;

/// The reader's deadline for a round; datagrams that arrive later count as lost.
const PATIENCE: Duration = Duration::from_millis(300);

/// Fraction of lost datagrams above which a run has no L: a datagram dropped at a full queue costs less than one that arrives.
pub(crate) const LOST_MAX: f64 = 0.05;

/// Descriptors that the process needs beside the destinations' sockets.
const FILES_EXTRA: u64 = 200;

/// The result of a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// L: CPU time per datagram in microseconds, the median of the rounds.
    pub l_us: f64,
    /// Rounds that count.
    pub rounds: usize,
    /// Fraction of all datagrams that did not arrive. Much of it makes L too small: a datagram that a full queue drops
    /// costs less.
    pub lost: f64,
}

/// A sender and a reader in a sink, with which L is measured again and again.
pub struct Calibrator {
    reader: DrainThread,
    socket: UdpSocket,
    batch: SendBatch,
    sent: u64,
    lost: u64,
}

impl Calibrator {
    /// Opens its sockets or its device.
    ///
    /// # Errors
    /// When they cannot be had.
    pub fn open(sink: &Sink) -> Result<Self, ExperimentError> {
        raise_file_limit().map_err(failed("raise the limit of open files"))?;
        let reader = DrainThread::start(sink)?;
        let sender_ip = sink.server.ip;
        let socket = sink
            .server
            .run(move || {
                let options = SocketOptions { send_buffer_bytes: 8 << 20, ..SocketOptions::default() };
                UdpSocket::bind(SocketAddrV4::new(sender_ip, 0), &options)
            })
            .map_err(|error| failed("open the sender")(error.source))?;
        Ok(Self { reader, socket, batch: SendBatch::new(), sent: 0, lost: 0 })
    }

    /// Measures L over `rounds` rounds. The reported loss covers all rounds so far.
    pub fn measure(&mut self, rounds: usize) -> Calibration {
        let payload = [0x5A; DATAGRAM_BYTES];
        let mut times_us = Vec::with_capacity(rounds);
        for round in 0..WARM_UP + rounds {
            for &destination in &self.reader.destinations {
                self.batch.push(destination, Ipv4Addr::UNSPECIFIED, &payload);
            }
            let began = thread_cpu();
            let status = self.batch.flush(&self.socket);
            let took = thread_cpu() - began;
            if status == FlushStatus::Blocked {
                // The socket's buffer holds eight rounds and each is awaited, so this takes a reader that has stopped.
                self.batch.abandon();
            }
            self.sent += DESTINATIONS as u64;
            let arrived = self.reader.wait_for(self.sent - self.lost);
            // Strays of others on this machine are no proof that all of ours came, and no reason to fail.
            self.lost = self.sent.saturating_sub(arrived);
            if round >= WARM_UP {
                times_us.push(took.as_secs_f64() * 1e6 / DESTINATIONS as f64);
            }
        }
        let lost = self.lost as f64 / self.sent as f64;
        Calibration { l_us: median(&mut times_us), rounds, lost }
    }
}

impl fmt::Debug for Calibrator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sent, lost, .. } = self;
        f.debug_struct("Calibrator").field("sent", sent).field("lost", lost).finish_non_exhaustive()
    }
}

/// Source of the drained datagrams.
enum Drain {
    Sockets(Vec<UdpSocket>),
    Device(Device),
}

impl Drain {
    /// It, and its destinations.
    fn open(sink: &Sink) -> Result<(Self, Vec<SocketAddrV4>), ExperimentError> {
        if let Some(network) = sink.next_network() {
            let create = move || Tun::create("calibrator", network.server(), Network::PREFIX_BITS);
            let tun = sink.server.run(create).map_err(|error| failed("open the device")(error.source))?;
            let device = Device::new(tun).map_err(failed("open the device"))?;
            let hosts = (0..DESTINATIONS as u32).map(|n| network.host(n));
            return Ok((Self::Device(device), hosts.collect()));
        }
        let ip = sink.clients.ip;
        let open = move || {
            let options = SocketOptions { receive_buffer_bytes: 256 << 10, ..SocketOptions::default() };
            let bind = |_| UdpSocket::bind(SocketAddrV4::new(ip, 0), &options);
            (0..DESTINATIONS).map(bind).collect::<Result<Vec<_>, _>>()
        };
        let sockets =
            sink.clients.run(open).map_err(|error| failed("open the destinations")(error.source))?;
        let destinations = sockets.iter().map(UdpSocket::local_addr).collect();
        Ok((Self::Sockets(sockets), destinations))
    }

    fn watch(&self, poller: &Poller) -> io::Result<()> {
        match self {
            Self::Sockets(sockets) => (0..)
                .zip(sockets)
                .try_for_each(|(token, socket)| poller.add(socket, token, Interest::Readable)),
            Self::Device(device) => poller.add(device, 0, Interest::Readable),
        }
    }

    /// Discards received datagrams, and returns their number.
    fn drain(&mut self, events: &Events, memory: &mut DrainBuffers) -> u64 {
        match self {
            Self::Sockets(sockets) => events
                .iter()
                .map(|event| sockets[event.token as usize].recv_batch(&mut memory.batch).unwrap_or(0) as u64)
                .sum(),
            Self::Device(device) => {
                let mut came = 0;
                while let Ok(Some(packet)) = device.recv(&mut memory.packet) {
                    came += packet.datagrams().count() as u64;
                }
                came
            }
        }
    }
}

/// Buffers that draining reuses.
struct DrainBuffers {
    batch: RecvBatch,
    packet: Box<[u8]>,
}

/// A thread that discards the datagrams of all destinations.
struct DrainThread {
    destinations: Vec<SocketAddrV4>,
    arrived: Arc<Arrived>,
    stopping: Arc<AtomicBool>,
    waker: PollWaker,
    thread: Option<std::thread::JoinHandle<()>>,
}

#[derive(Default)]
struct Arrived {
    count: Mutex<u64>,
    rose: Condvar,
}

impl DrainThread {
    fn start(sink: &Sink) -> Result<Self, ExperimentError> {
        let (mut drain, destinations) = Drain::open(sink)?;
        let poller = Poller::new().map_err(failed("wait for the destinations"))?;
        drain.watch(&poller).map_err(failed("wait for the destinations"))?;
        let (arrived, stopping) = (Arc::new(Arrived::default()), Arc::new(AtomicBool::new(false)));
        let waker = poller.waker();
        let read = {
            let (arrived, stopping) = (Arc::clone(&arrived), Arc::clone(&stopping));
            move || {
                let mut events = Events::with_capacity(DESTINATIONS);
                let mut memory = DrainBuffers { batch: RecvBatch::new(), packet: Device::buffer() };
                while !stopping.load(Ordering::Acquire) && poller.wait(&mut events, None).is_ok() {
                    let came = drain.drain(&events, &mut memory);
                    *arrived.count.lock().unwrap_or_else(PoisonError::into_inner) += came;
                    arrived.rose.notify_one();
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("drain".to_owned())
            .spawn(read)
            .map_err(failed("start the reader"))?;
        Ok(Self { destinations, arrived, stopping, waker, thread: Some(thread) })
    }

    /// Waits until `wanted` datagrams have arrived in all, or none arrived for a while; returns the number that arrived.
    fn wait_for(&self, wanted: u64) -> u64 {
        let count = self.arrived.count.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, _) = self
            .arrived
            .rose
            .wait_timeout_while(count, PATIENCE, |count| *count < wanted)
            .unwrap_or_else(PoisonError::into_inner);
        *count
    }
}

impl Drop for DrainThread {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Release);
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            // Its panic was printed when it happened.
            let _ = thread.join();
        }
    }
}

/// CPU time of this thread since its start.
pub(crate) fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs().try_into().expect("below a second"))
}

fn raise_file_limit() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let needed = DESTINATIONS as u64 + FILES_EXTRA;
    let limits = getrlimit(Resource::Nofile);
    if limits.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    Ok(setrlimit(Resource::Nofile, Rlimit { current: Some(needed), ..limits })?)
}

fn failed(step: &'static str) -> impl Fn(io::Error) -> ExperimentError {
    move |source| ExperimentError::Calibrate { step, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::SinkKind;
    use std::path::Path;

    #[test]
    fn every_datagram_is_drained_and_costs_something() {
        let sink = Sink::open(SinkKind::Lo, Path::new("unused on loopback")).expect("loopback");
        let mut calibrator = Calibrator::open(&sink).expect("sockets");
        for rounds in [3, 2] {
            let calibration = calibrator.measure(rounds);
            assert_eq!(calibration.rounds, rounds);
            assert!(calibration.l_us > 0.0 && calibration.lost < 0.5, "{calibration:?}");
        }
    }
}
