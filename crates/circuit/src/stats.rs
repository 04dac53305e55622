//! Totals of a circuit since its start. Plain numbers: the owner turns differences into metrics.

/// Counters of one circuit; each only rises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Datagrams received, dropped ones included.
    pub datagrams_in: u64,
    /// Bytes received, UDP payload only.
    pub bytes_in: u64,
    /// Datagrams sent, the fan-out path included.
    pub datagrams_out: u64,
    /// Bytes sent, UDP payload only.
    pub bytes_out: u64,
    /// Received datagrams that were no datagram or held no readable message.
    pub malformed: u64,
    /// Received datagrams that had been received before.
    pub duplicates: u64,
    /// Reliable packets of ours that the peer acked.
    pub acks_in: u64,
    /// Acks sent to the peer, including those of duplicates.
    pub acks_out: u64,
    /// Acks not owed because too many were waiting; the peer resends and is acked then.
    pub acks_dropped: u64,
    /// Packets sent again.
    pub resends: u64,
    /// Perishable packets that were not acked in time.
    pub perished: u64,
    /// Perishable packets that were acked later than that.
    pub acks_late: u64,
    /// Pings sent.
    pub pings_out: u64,
    /// Pings answered by the peer before the next one left.
    pub pings_answered: u64,
    /// Pings given up because the next one left.
    pub pings_unanswered: u64,
    /// Pings of the peer that were received.
    pub pings_in: u64,
}
