//! Two circuits back to back, on virtual time, over a network that delays, reorders, duplicates and loses.
//!
//! Everything comes from one seed, and [`Pair::trace`] condenses every datagram with its time and direction,
//! so that two runs can be compared. The harness itself checks what must always hold: datagrams of at most
//! 1,200 bytes, and circuits that want to be served again only later than they just were.

use crate::{Circuit, Config, DropReason, Received, Reliability, Transmit};
use ids::Instant;
use std::collections::BTreeMap;
use std::time::Duration;
use wire::header::DATAGRAM_MAX;
use wire::messages::MessageNumber;

/// The message that tests send: a number that means nothing to a circuit.
pub(crate) const TEST_MESSAGE: MessageNumber = MessageNumber::Low(300);

/// Datagrams that wait for a stopped process, like a socket buffer; later ones are lost.
const BACKLOG_MAX: usize = 200;

/// SplitMix64: small, and the same everywhere.
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Evenly from [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with this probability.
    fn percent(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }

    fn up_to(&mut self, max: Duration) -> Duration {
        Duration::from_nanos(self.next() % (max.as_nanos() as u64 + 1))
    }
}

/// Faults of the network for each datagram, both ways alike.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Network {
    /// Delay of every datagram.
    pub(crate) latency: Duration,
    /// Further delay, evenly up to this; more than the gap between datagrams swaps them.
    pub(crate) jitter: Duration,
    /// Lost, in percent.
    pub(crate) loss: u64,
    /// Delivered twice, in percent.
    pub(crate) duplicated: u64,
    /// Held back for another second, in percent, so that much overtakes them.
    pub(crate) late: u64,
    /// Bytes per second that the server's direction carries; what exceeds them in a quarter of a second is lost. `None`: all.
    pub(crate) carried: Option<u32>,
}

impl Network {
    pub(crate) const PERFECT: Self = Self {
        latency: Duration::from_millis(40),
        jitter: Duration::ZERO,
        loss: 0,
        duplicated: 0,
        late: 0,
        carried: None,
    };
    pub(crate) const BAD: Self = Self {
        latency: Duration::from_millis(60),
        jitter: Duration::from_millis(80),
        loss: 30,
        duplicated: 10,
        late: 5,
        carried: None,
    };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Server,
    Client,
}

/// One end and what it got.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) circuit: Circuit,
    /// The numbers that test messages carry, as delivered.
    pub(crate) received: Vec<u32>,
    pub(crate) drops: BTreeMap<DropReason, usize>,
    pub(crate) sent: Vec<Transmit>,
    /// Until when the process is stopped.
    stopped_until: Instant,
    backlog: Vec<Vec<u8>>,
}

impl End {
    fn new(config: &Config, first_sequence: u32) -> Self {
        Self {
            circuit: Circuit::new(Instant::ZERO, config, first_sequence),
            received: Vec::new(),
            drops: BTreeMap::new(),
            sent: Vec::new(),
            stopped_until: Instant::ZERO,
            backlog: Vec::new(),
        }
    }

    /// Time of its next own action.
    fn wakes_at(&self) -> Option<Instant> {
        let at = self.circuit.poll_timeout().map(|at| at.max(self.stopped_until));
        if self.backlog.is_empty() { at } else { Some(self.stopped_until) }
    }

    fn receive(&mut self, now: Instant, bytes: &[u8]) {
        match self.circuit.handle_datagram(now, bytes, &mut Vec::new()) {
            Ok(Some(Received { number: TEST_MESSAGE, body, .. })) => {
                let index = body.first_chunk().expect("test messages begin with their number");
                self.received.push(u32::from_le_bytes(*index));
            }
            Ok(_) => {}
            Err(reason) => *self.drops.entry(reason).or_default() += 1,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) now: Instant,
    pub(crate) network: Network,
    pub(crate) server: End,
    pub(crate) client: End,
    rng: Rng,
    /// On the way, by arrival and then by departure.
    wire: BTreeMap<(Instant, u64), (Side, Vec<u8>)>,
    departures: u64,
    /// Bytes of [`Network::carried`] that may leave, and when they were counted.
    room: (f64, Instant),
    trace: u64,
}

impl Pair {
    pub(crate) fn new(seed: u64, network: Network) -> Self {
        Self::with_configs(seed, network, (&Config::server(), 1), (&Config::client(), 0))
    }

    /// Each end with its configuration and first sequence number.
    pub(crate) fn with_configs(
        seed: u64,
        network: Network,
        server: (&Config, u32),
        client: (&Config, u32),
    ) -> Self {
        Self {
            now: Instant::ZERO,
            network,
            server: End::new(server.0, server.1),
            client: End::new(client.0, client.1),
            rng: Rng::new(seed),
            wire: BTreeMap::new(),
            departures: 0,
            room: (0.0, Instant::ZERO),
            trace: 0xCBF2_9CE4_8422_2325,
        }
    }

    pub(crate) fn end(&mut self, side: Side) -> &mut End {
        match side {
            Side::Server => &mut self.server,
            Side::Client => &mut self.client,
        }
    }

    /// Sends test messages that carry these numbers, padded to `len` bytes.
    pub(crate) fn send(&mut self, from: Side, indexes: std::ops::Range<u32>, len: usize) {
        for index in indexes {
            let sent = self.end(from).circuit.send(Reliability::Reliable, &test_message(index, len), false);
            assert_eq!(sent, Ok(()), "message {index}");
        }
        self.drain(from);
    }

    /// Stops a process: it sees nothing and does nothing for a while.
    pub(crate) fn stop(&mut self, side: Side, duration: Duration) {
        self.end(side).stopped_until = self.now + duration;
    }

    /// Lets time pass, event by event.
    pub(crate) fn run_for(&mut self, duration: Duration) {
        let end = self.now + duration;
        self.drain(Side::Server);
        self.drain(Side::Client);
        while let Some(at) = self.next_event().filter(|&at| at <= end) {
            self.now = self.now.max(at);
            self.turn();
        }
        self.now = end;
    }

    /// A number that depends on every datagram, its time and its direction.
    pub(crate) const fn trace(&self) -> u64 {
        self.trace
    }

    fn next_event(&self) -> Option<Instant> {
        let arrival = self.wire.first_key_value().map(|(&(at, _), _)| at);
        [arrival, self.server.wakes_at(), self.client.wakes_at()].into_iter().flatten().min()
    }

    /// Everything that happens at this moment.
    fn turn(&mut self) {
        let now = self.now;
        while let Some(entry) = self.wire.first_entry().filter(|entry| entry.key().0 <= now) {
            let (to, bytes) = entry.remove();
            let end = self.end(to);
            if end.stopped_until <= now {
                end.receive(now, &bytes);
            } else if end.backlog.len() < BACKLOG_MAX {
                end.backlog.push(bytes);
            }
        }
        for side in [Side::Server, Side::Client] {
            let end = self.end(side);
            if end.stopped_until > now {
                continue;
            }
            for bytes in std::mem::take(&mut end.backlog) {
                end.receive(now, &bytes);
            }
            end.circuit.handle_timeout(now);
            self.drain(side);
            let next = self.end(side).circuit.poll_timeout();
            assert!(next.is_none_or(|next| next > now), "{side:?} wants to be served again at once");
        }
    }

    /// Puts what a circuit wants to send on the wire.
    fn drain(&mut self, from: Side) {
        let now = self.now;
        if self.end(from).stopped_until > now {
            return;
        }
        let mut datagram = Vec::new();
        while let Some(transmit) = self.end(from).circuit.poll_transmit(now, &mut datagram) {
            assert_eq!(transmit.len, datagram.len());
            assert!(datagram.len() <= DATAGRAM_MAX);
            self.end(from).sent.push(transmit);
            self.carry(from, &datagram);
            datagram.clear();
        }
    }

    fn carry(&mut self, from: Side, datagram: &[u8]) {
        self.record(from, datagram);
        let to = if from == Side::Server { Side::Client } else { Side::Server };
        if self.rng.percent(self.network.loss) || from == Side::Server && !self.fits(datagram.len()) {
            return;
        }
        let copies = 1 + u32::from(self.rng.percent(self.network.duplicated));
        for _ in 0..copies {
            let mut delay = self.network.latency + self.rng.up_to(self.network.jitter);
            if self.rng.percent(self.network.late) {
                delay += Duration::from_secs(1);
            }
            self.departures += 1;
            self.wire.insert((self.now + delay, self.departures), (to, datagram.to_vec()));
        }
    }

    /// Takes room for `len` bytes from the server's direction; false if there is not enough.
    fn fits(&mut self, len: usize) -> bool {
        let Some(carried) = self.network.carried.map(f64::from) else { return true };
        let (room, counted_at) = self.room;
        let room = (room + carried * self.now.since(counted_at).as_secs_f64()).min(carried / 4.0);
        let fits = room >= len as f64;
        self.room = (if fits { room - len as f64 } else { room }, self.now);
        fits
    }

    /// FNV-1a over the datagram and its circumstances.
    fn record(&mut self, from: Side, datagram: &[u8]) {
        let circumstances = self.now.0.to_le_bytes().into_iter().chain([from as u8]);
        for byte in circumstances.chain(datagram.iter().copied()) {
            self.trace = (self.trace ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }
}

/// A test message that carries a number, padded with non-zeros to `len` bytes.
pub(crate) fn test_message(index: u32, len: usize) -> Vec<u8> {
    let mut message = Vec::new();
    TEST_MESSAGE.write(&mut message);
    message.extend_from_slice(&index.to_le_bytes());
    message.resize(len.max(message.len()), 0xA5);
    message
}
