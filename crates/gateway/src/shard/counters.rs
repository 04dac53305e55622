//! Counters of a shard. Plain numbers that only it writes; the host exports them.

use circuit::DropReason;

/// Reasons for which a shard drops a datagram or a message, beyond the circuit's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refused {
    /// From an address without a circuit, and no UseCircuitCode: no answer.
    UnknownAddress,
    /// A UseCircuitCode that no ticket matches: no answer.
    NoTicket,
    /// The message carries another session's id.
    WrongSession,
    /// A message that only servers send.
    NotForClients,
    /// An agent update older than the newest applied.
    OutOfOrder,
    /// A value that no honest client sends.
    BadValue,
    /// More than the world's inbox holds; the next update counts again.
    WorldBusy,
    /// More chat or requests than a client may send.
    Flood,
    /// A datagram longer than any of the protocol's.
    Oversized,
}

impl Refused {
    /// Every reason.
    pub const ALL: [Self; 9] = [
        Self::UnknownAddress,
        Self::NoTicket,
        Self::WrongSession,
        Self::NotForClients,
        Self::OutOfOrder,
        Self::BadValue,
        Self::WorldBusy,
        Self::Flood,
        Self::Oversized,
    ];

    /// Metric label.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnknownAddress => "unknown_address",
            Self::NoTicket => "no_ticket",
            Self::WrongSession => "wrong_session",
            Self::NotForClients => "not_for_clients",
            Self::OutOfOrder => "out_of_order",
            Self::BadValue => "bad_value",
            Self::WorldBusy => "world_busy",
            Self::Flood => "flood",
            Self::Oversized => "oversized",
        }
    }
}

/// Counters of one shard since its start.
#[derive(Clone, Debug, Default)]
pub struct ShardCounters {
    /// Datagrams received.
    pub datagrams_in: u64,
    /// Bytes received.
    pub bytes_in: u64,
    /// Agent updates that reached the world.
    pub updates_control: u64,
    /// Agent updates that changed only the view.
    pub updates_view: u64,
    /// Agent updates dropped as insignificant.
    pub updates_dropped: u64,
    /// Turns that clients had.
    pub client_turns: u64,
    /// Avatars of visible sets that those turns looked at to choose what to send.
    pub avatars_looked_at: u64,
    /// Terse blocks sent.
    pub terse_sent: u64,
    /// Datagrams that they were in.
    pub terse_datagrams: u64,
    /// Clients' turns that examined the nearest avatars only, for lack of CPU time.
    pub far_left_out: u64,
    /// Shortage of CPU time now: 1 none, up to [`super::PRESSURE_MAX`].
    pub pressure: f32,
    /// Spans of half a second that ended with a shortage of CPU time.
    pub pressed_spans: u64,
    /// CPU time needed over CPU time available, lately; 0 when not known.
    pub cpu_need_ratio: f32,
    /// Clients whose arrival waits for CPU time now, at most [`super::WAITING_MAX`] and one.
    pub arrivals_waiting: usize,
    /// Bytes per second that a client may be sent at most, now: less than configured while all together may not have that.
    pub client_bytes_per_s: u32,
    /// Full blocks sent.
    pub full_sent: u64,
    /// Patches of edited ground sent, and of the ground of worlds that are built on.
    pub patches_sent: u64,
    /// Full blocks of static objects sent.
    pub static_objects_sent: u64,
    /// Objects sent as ObjectUpdate, ObjectUpdateCompressed and ObjectUpdateCached.
    pub objects_sent: [u64; 3],
    /// Terse blocks of prims sent.
    pub movers_sent: u64,
    /// Objects that viewers asked for because their cache lacked them or had another state.
    pub cache_misses: u64,
    /// Circuits that were sent everything near them for the first time.
    pub sceneries_filled: u64,
    /// Kills of avatars sent.
    pub kills_sent: u64,
    /// Animation messages sent.
    pub animations_sent: u64,
    /// Appearance messages sent.
    pub appearances_sent: u64,
    /// Chat messages heard, counted per hearer.
    pub chat_sent: u64,
    /// Chat that a hearer's budget did not hold.
    pub chat_dropped: u64,
    /// Commands given to worlds.
    pub commands: u64,
    /// Circuits opened.
    pub circuits_opened: u64,
    /// Circuits lost: timed out, or taking nothing any more.
    pub circuits_lost: u64,
    /// Of these, circuits whose client acked nothing any more.
    pub circuits_unresponsive: u64,
    /// Avatars that came in again after their world began again without them.
    pub reentered: u64,
    /// Reliable messages that a full circuit did not take.
    pub messages_refused: u64,
    /// Perishable datagrams whose ack was overdue: their contents were sent again.
    pub perished: u64,
    /// Of these, datagrams that had arrived: their ack came later.
    pub acked_late: u64,
    /// Files of clients in messages that are on the disk.
    pub files_stored: u64,
    /// Files that were refused.
    pub files_refused: u64,
    /// Files that did not come as a whole.
    pub files_broken_off: u64,
    refused: [u64; Refused::ALL.len()],
    dropped: [u64; DropReason::ALL.len()],
}

impl ShardCounters {
    /// Zero counters, with this rate of a client.
    pub(super) fn new(client_bytes_per_s: u32) -> Self {
        Self { client_bytes_per_s, pressure: 1.0, ..Self::default() }
    }

    /// Counts a refused message.
    pub const fn refuse(&mut self, why: Refused) {
        self.refused[why as usize] += 1;
    }

    /// Counts a datagram that the circuit refused.
    pub fn drop(&mut self, why: DropReason) {
        let index = DropReason::ALL.iter().position(|&reason| reason == why);
        self.dropped[index.expect("every reason is in ALL")] += 1;
    }

    /// Refused and dropped so far, by metric label.
    pub fn drops(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let refused = Refused::ALL.iter().zip(self.refused).map(|(why, n)| (why.as_str(), n));
        let dropped = DropReason::ALL.iter().zip(self.dropped).map(|(why, n)| (why.as_str(), n));
        refused.chain(dropped)
    }
}
