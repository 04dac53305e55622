//! Parameters of a circuit, with the cost of raising each.

use std::time::Duration;

/// End of the circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The simulator's end. It acks UseCircuitCode alone and before anything else.
    Server,
    /// The viewer's end, as the bots use it.
    Client,
}

/// Timeouts and bounds of a circuit. The defaults of [`Config::server`] and [`Config::client`] follow the resend and timeout values of
/// viewers and OpenSimulator; each field states its trade-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// End of the circuit.
    pub role: Role,
    /// Longest time that an ack waits for company in a PacketAck. Default 20 ms. Raising it makes fewer
    /// datagrams, but lengthens every round trip that the peer measures; peers resend after 1 s at the
    /// earliest, so stay well below.
    pub ack_delay: Duration,
    /// Packets to which waiting acks are appended. Default none: one client (benthic) takes appended acks for trailing bytes and would
    /// resend without end. Acks that are due leave as PacketAck in either case. The other values save datagrams with all other peers.
    pub append_acks: AppendAcks,
    /// Time until the first resend before anything was measured. Default 1 s. Lower values recover sooner from
    /// loss during arrival, and resend in vain to clients further away than that.
    pub resend_timeout_initial: Duration,
    /// Shortest time until a resend. Default 250 ms. Lower values resend sooner on fast paths, and in vain to
    /// peers that collect their acks.
    pub resend_timeout_min: Duration,
    /// Longest time until a resend, also after backing off. Default 3 s. Raising it spares a dead peer
    /// packets and delays recovery on bad paths. Viewers hold acks for up to 2 s, so it must stay above that.
    pub resend_timeout_max: Duration,
    /// Time after which a packet that was never acked closes the circuit, if [`Self::give_up_tries`] were
    /// made too. Default 60 s. A peer that is silent altogether is left to [`Self::idle_timeout`]. Raising it
    /// keeps a packet's number in use for longer than the peer's duplicate filter may remember it (viewers:
    /// 60 s).
    pub give_up_after: Duration,
    /// Transmissions of one packet that the peer must have answered with other things before it may close the
    /// circuit. Default 10; with [`Self::give_up_after`] it becomes about 20, which a live peer misses once
    /// in a million packets with 30 % loss each way. Lower values lose clients on bad paths.
    pub give_up_tries: u32,
    /// Most reliable packets sent and not yet acked. Default 512; beyond it reliable sends are refused and
    /// queued ones wait. Raising it costs 64 bytes and the packet's length each, held for a peer that may
    /// have gone.
    pub in_flight_max: usize,
    /// Bytes of unacked reliable packets at most. Default 256 KiB: the memory that a silent peer can occupy.
    pub in_flight_bytes_max: usize,
    /// Sequence numbers that the duplicate filter remembers behind the newest. Default 8,192: 60 s of a peer
    /// that sends 136 datagrams a second, more than the busiest client (125 agent updates a second). Rounded
    /// up to a power of two of at least 64; costs an eighth of a byte each.
    pub duplicate_window: u32,
    /// Time between pings. Default 5 s, as viewers do. Peers call a circuit dead after 100–120 s without
    /// answers.
    pub ping_interval: Duration,
    /// True if our pings are resent until acked, as node-metaverse does. Default false. True distinguishes a lost ping from a dead
    /// peer, for one more datagram each.
    pub reliable_pings: bool,
    /// Silence of the peer that closes the circuit. Default 60 s of processed time.
    pub idle_timeout: Duration,
    /// The same while the peer has said AgentPause: viewers stop their main loop for file dialogs. Default
    /// 300 s.
    pub idle_timeout_paused: Duration,
    /// Delay of service beyond which the rest is left out of all the circuit's clocks. Default 1 s. A stopped process thereby loses no
    /// client; on a server that is later than this on every turn timers run slow.
    pub stall_max: Duration,
    /// Most bytes waiting in each category's queue. Default 512 KiB, the terrain of a 512 m region. A full
    /// queue refuses; the caller keeps or drops the message.
    pub queue_bytes_max: usize,
    /// Unused rate that each token bucket saves, at least one datagram. Default 250 ms. Raising it gives a quiet client bigger bursts,
    /// which its path may drop.
    pub burst: Duration,
    /// Bytes per second of all traffic, whatever the client requests. Default 65,536. See [`crate::Circuit::set_total_bytes_per_s`].
    pub total_bytes_per_s: u32,
}

/// Datagrams that carry acks beside their message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendAcks {
    /// No packet.
    Never,
    /// Plain reliable ones, as OpenSim does.
    ToReliable,
    /// All with a message, as viewers do.
    ToAll,
}

impl Config {
    /// The simulator's end.
    #[must_use]
    pub const fn server() -> Self {
        Self {
            role: Role::Server,
            ack_delay: Duration::from_millis(20),
            append_acks: AppendAcks::Never,
            resend_timeout_initial: Duration::from_secs(1),
            resend_timeout_min: Duration::from_millis(250),
            resend_timeout_max: Duration::from_secs(3),
            give_up_after: Duration::from_secs(60),
            give_up_tries: 10,
            in_flight_max: 512,
            in_flight_bytes_max: 256 * 1024,
            duplicate_window: 8192,
            ping_interval: Duration::from_secs(5),
            reliable_pings: false,
            idle_timeout: Duration::from_secs(60),
            idle_timeout_paused: Duration::from_secs(300),
            stall_max: Duration::from_secs(1),
            queue_bytes_max: 512 * 1024,
            burst: Duration::from_millis(250),
            total_bytes_per_s: 64 * 1024,
        }
    }

    /// The viewer's end: waits 1 s at least before it resends, as viewers do, and tolerates 100 s of silence.
    #[must_use]
    pub const fn client() -> Self {
        Self {
            role: Role::Client,
            resend_timeout_min: Duration::from_secs(1),
            idle_timeout: Duration::from_secs(100),
            ..Self::server()
        }
    }
}
