//! An LLUDP circuit, either end, as a state machine without IO: sequence numbers, duplicate filter, acks, resends, pings, throttles,
//! pacing and timeouts.
//!
//! It knows no avatars, regions or sessions, owns no socket and reads no clock: the caller passes [`ids::Instant`]s and received
//! datagrams, and sends the datagrams that it gets. [`Circuit`] is the place to start; [`Config`] lists every number that can be set. Messages come
//! and go as bytes that `wire::messages` encodes and decodes.
//!
//! | subject | module |
//! |---|---|
//! | input | `receive` |
//! | output, and its order | `send`, `transmit` |
//! | received packets | `duplicates` |
//! | acks owed to the peer | `acks` |
//! | acks owed by the peer | `resend`, timed by `rtt`, observed by `loss` and `losses` |
//! | part of its rate that the path carries | `adapt` |
//! | pacing of queued messages | `lanes` (order), `throttle` (rates) |
//! | traffic by message, for the driver | `traffic` |
//! | liveness of the peer | `ping`, `idle`, in the time of `clock` |

mod acks;
mod adapt;
mod circuit;
mod clock;
mod config;
mod control;
mod duplicates;
mod expired;
mod idle;
mod lanes;
mod loss;
mod losses;
mod ping;
mod reasons;
mod receive;
mod resend;
mod rtt;
mod send;
mod sequence;
mod spare;
mod stats;
mod throttle;
mod traffic;
mod transmit;

#[cfg(test)]
mod tests;

pub use circuit::Circuit;
pub use config::{AppendAcks, Config, Role};
pub use control::START_PING_CHECK;
pub use lanes::QUEUE_MESSAGES_MAX;
pub use reasons::{CloseReason, DropReason, SendError};
pub use receive::Received;
pub use send::Reliability;
pub use sequence::is_newer;
pub use stats::Stats;
pub use throttle::FLOOR_BYTES_PER_S;
pub use traffic::{Tally, Traffic, message_number};
pub use transmit::{Transmit, TransmitKind};
pub use wire::throttle::{Category, Throttles};
