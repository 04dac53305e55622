//! The bytes of the circuit's own messages: PacketAck, StartPingCheck, CompletePingCheck.
//!
//! Read and written here by hand, since they are most of an idle circuit's traffic and the general codec
//! allocates for a list of acks. A test holds them against `wire::messages`.
//!
//! ```text
//! PacketAck          FF FF FF FB | count u8 | count × sequence u32 LE
//! StartPingCheck     01 | id u8 | oldest unacked u32 LE
//! CompletePingCheck  02 | id u8
//! ```

use wire::Malformed;
use wire::messages::MessageNumber;

pub(crate) const PACKET_ACK: MessageNumber = MessageNumber::Fixed(0xFB);
/// The message that asks whether we are there, to be answered at once.
pub const START_PING_CHECK: MessageNumber = MessageNumber::High(1);
pub(crate) const COMPLETE_PING_CHECK: MessageNumber = MessageNumber::High(2);
pub(crate) const USE_CIRCUIT_CODE: MessageNumber = MessageNumber::Low(3);

/// The ids of a PacketAck's body. Bytes behind the last are ignored.
pub(crate) fn acked_ids(body: &[u8]) -> Result<impl Iterator<Item = u32> + '_, Malformed> {
    let (&count, ids) = body.split_first().ok_or(Malformed::Truncated)?;
    let ids = ids.as_chunks().0.get(..usize::from(count)).ok_or(Malformed::Truncated)?;
    Ok(ids.iter().map(|&id| u32::from_le_bytes(id)))
}

/// The id that opens the body of either ping message. OldestUnacked is not used: our duplicate filter is
/// bounded without it.
pub(crate) fn ping_id(body: &[u8]) -> Result<u8, Malformed> {
    body.first().copied().ok_or(Malformed::Truncated)
}

/// # Panics
/// With more than 255 ids.
pub(crate) fn write_packet_ack(out: &mut Vec<u8>, ids: &[u32]) {
    PACKET_ACK.write(out);
    out.push(u8::try_from(ids.len()).expect("a PacketAck carries at most 255 ids"));
    for id in ids {
        out.extend_from_slice(&id.to_le_bytes());
    }
}

pub(crate) fn write_start_ping_check(out: &mut Vec<u8>, id: u8, oldest_unacked: u32) {
    START_PING_CHECK.write(out);
    out.push(id);
    out.extend_from_slice(&oldest_unacked.to_le_bytes());
}

pub(crate) fn write_complete_ping_check(out: &mut Vec<u8>, id: u8) {
    COMPLETE_PING_CHECK.write(out);
    out.push(id);
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::messages::{
        CompletePingCheck, CompletePingCheckPingID, PacketAck, PacketAckPackets, StartPingCheck,
        StartPingCheckPingID, UseCircuitCode,
    };

    fn encoded(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out);
        out
    }

    #[test]
    fn the_numbers_and_bytes_are_those_of_the_message_set() {
        assert_eq!(PACKET_ACK, PacketAck::NUMBER);
        assert_eq!(START_PING_CHECK, StartPingCheck::NUMBER);
        assert_eq!(COMPLETE_PING_CHECK, CompletePingCheck::NUMBER);
        assert_eq!(USE_CIRCUIT_CODE, UseCircuitCode::NUMBER);

        let packets = [1, 0x0203_0405].map(|id| PacketAckPackets { id }).to_vec();
        assert_eq!(
            encoded(|out| write_packet_ack(out, &[1, 0x0203_0405])),
            encoded(|out| PacketAck { packets }.encode(out))
        );
        let ping_id = StartPingCheckPingID { ping_id: 7, oldest_unacked: 0x0102_0304 };
        assert_eq!(
            encoded(|out| write_start_ping_check(out, 7, 0x0102_0304)),
            encoded(|out| StartPingCheck { ping_id }.encode(out))
        );
        let ping_id = CompletePingCheckPingID { ping_id: 7 };
        assert_eq!(
            encoded(|out| write_complete_ping_check(out, 7)),
            encoded(|out| CompletePingCheck { ping_id }.encode(out))
        );
    }

    #[test]
    fn acked_ids_are_little_endian_and_must_all_be_there() {
        let ids: Vec<u32> = acked_ids(&[2, 1, 0, 0, 0, 5, 4, 3, 2]).expect("two ids").collect();
        assert_eq!(ids, [1, 0x0203_0405]);
        for body in [&[][..], &[1], &[2, 1, 0, 0, 0]] {
            assert_eq!(acked_ids(body).err(), Some(Malformed::Truncated), "{body:?}");
        }
    }
}
