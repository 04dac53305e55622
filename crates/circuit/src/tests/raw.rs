//! One circuit and bytes made by hand.

use crate::{Circuit, Config, DropReason, Received};
use ids::Instant;
use wire::header::{self, Flags};

/// A datagram of these parts.
pub(crate) fn datagram(flags: Flags, sequence: u32, message: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    header::write_header(&mut bytes, flags, sequence);
    bytes.extend_from_slice(message);
    bytes
}

/// Everything that a circuit sends now, each datagram by itself.
pub(crate) fn sent(circuit: &mut Circuit, now: Instant) -> Vec<Vec<u8>> {
    let mut datagrams = Vec::new();
    let mut out = Vec::new();
    while circuit.poll_transmit(now, &mut out).is_some() {
        datagrams.push(std::mem::take(&mut out));
    }
    datagrams
}

/// Result of a datagram: the sequence number of the message for the application, if any.
pub(crate) fn handle(circuit: &mut Circuit, now: Instant, bytes: &[u8]) -> Result<Option<u32>, DropReason> {
    let mut scratch = Vec::new();
    let received = circuit.handle_datagram(now, bytes, &mut scratch)?;
    Ok(received.map(|Received { sequence, .. }| sequence))
}

/// A server's circuit at time zero.
pub(crate) fn server() -> Circuit {
    Circuit::new(Instant::ZERO, &Config::server(), 1)
}
