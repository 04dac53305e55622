//! Reasons of dropped datagrams, refused messages and closed circuits. Each set is closed and small, so that every reason can be a
//! metric label.

use std::fmt;
use wire::Malformed;

/// Reason why [`crate::Circuit::handle_datagram`] dropped a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// The bytes are no datagram, or the message inside cannot be read.
    Malformed(Malformed),
    /// Received before. It was acked again if it asked for that.
    Duplicate,
    /// Its number lies out of the peer's order: further ahead than a burst of losses explains, or behind the duplicate filter's window. Not
    /// acked; the fourth of such numbers that follow closely on each other is accepted, and the three before it when they are sent again.
    SequenceJump,
    /// The circuit is closed.
    Closed,
}

impl DropReason {
    /// Every reason, for registering metrics.
    pub const ALL: [Self; Malformed::ALL.len() + 3] = {
        let mut all = [Self::Closed; Malformed::ALL.len() + 3];
        let mut n = 0;
        while n < Malformed::ALL.len() {
            all[n] = Self::Malformed(Malformed::ALL[n]);
            n += 1;
        }
        all[n] = Self::Duplicate;
        all[n + 1] = Self::SequenceJump;
        all
    };

    /// Metric label.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Malformed(reason) => reason.as_str(),
            Self::Duplicate => "duplicate",
            Self::SequenceJump => "sequence_jump",
            Self::Closed => "closed",
        }
    }
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::error::Error for DropReason {}

impl From<Malformed> for DropReason {
    fn from(reason: Malformed) -> Self {
        Self::Malformed(reason)
    }
}

/// Reason why a message was refused. Nothing of it was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum SendError {
    /// It does not fit a datagram, even zero-coded where that was allowed.
    #[error("a message of {len} bytes does not fit a datagram")]
    TooLong {
        /// Length of number and body, before zero-coding.
        len: usize,
    },
    /// As many reliable packets as allowed are unacked. Try again when some are, or give the peer up.
    #[error("too many reliable packets wait for their acks")]
    InFlightFull,
    /// The queue of the category, or of unpaced sends, holds as much as it may.
    #[error("the send queue is full")]
    QueueFull,
    /// The circuit is closed.
    #[error("the circuit is closed")]
    Closed,
}

impl SendError {
    /// Metric label.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TooLong { .. } => "too_long",
            Self::InFlightFull => "in_flight_full",
            Self::QueueFull => "queue_full",
            Self::Closed => "closed",
        }
    }
}

/// Reason of a closed circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CloseReason {
    /// Our side called [`crate::Circuit::close`].
    Local,
    /// The peer was silent for the idle timeout.
    Idle,
    /// The peer still talks, but never acked one reliable packet.
    NotAcking,
}

impl CloseReason {
    /// Metric label.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Idle => "idle",
            Self::NotAcking => "not_acking",
        }
    }
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
