//! Packets and bytes by message, from the first bytes of each datagram; the rest is not parsed.

use serde::Serialize;
use std::collections::BTreeMap;
use wire::header::{Datagram, Flags};
use wire::messages::{MessageName, MessageNumber};

/// Low numbers below this are counted each; the highest of the protocol is about 430.
const LOW_MAX: usize = 1024;

/// Places in the table: High, Medium and Fixed numbers are one byte each, and one place is for all else.
const PLACES: usize = 3 * 256 + LOW_MAX + 1;
const OTHER: usize = PLACES - 1;

/// Packets and UDP payload bytes of one message, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Datagrams received, duplicates included.
    pub packets_in: u64,
    /// Their bytes.
    pub bytes_in: u64,
    /// Datagrams sent, resends included.
    pub packets_out: u64,
    /// Their bytes.
    pub bytes_out: u64,
}

impl Tally {
    /// Adds another one's counts.
    pub const fn add(&mut self, other: &Self) {
        self.packets_in += other.packets_in;
        self.bytes_in += other.bytes_in;
        self.packets_out += other.packets_out;
        self.bytes_out += other.bytes_out;
    }

    /// Difference from an earlier reading.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            packets_in: self.packets_in - earlier.packets_in,
            bytes_in: self.bytes_in - earlier.bytes_in,
            packets_out: self.packets_out - earlier.packets_out,
            bytes_out: self.bytes_out - earlier.bytes_out,
        }
    }
}

/// Counts of all messages. About 57 KiB: one for a thread that drives circuits, not one for each.
#[derive(Clone, Debug)]
pub struct Traffic {
    by_message: Box<[Tally]>,
    total: Tally,
}

impl Default for Traffic {
    fn default() -> Self {
        Self { by_message: vec![Tally::default(); PLACES].into_boxed_slice(), total: Tally::default() }
    }
}

impl Traffic {
    /// A datagram came in. Gives its message, if that can be read.
    pub fn count_in(&mut self, datagram: &[u8]) -> Option<MessageNumber> {
        let number = message_number(datagram);
        for tally in [&mut self.by_message[place(number)], &mut self.total] {
            tally.packets_in += 1;
            tally.bytes_in += datagram.len() as u64;
        }
        number
    }

    /// A datagram went out.
    pub fn count_out(&mut self, datagram: &[u8]) {
        for tally in [&mut self.by_message[place(message_number(datagram))], &mut self.total] {
            tally.packets_out += 1;
            tally.bytes_out += datagram.len() as u64;
        }
    }

    /// Takes over another one's counts without allocating.
    pub fn copy_from(&mut self, other: &Self) {
        self.by_message.copy_from_slice(&other.by_message);
        self.total = other.total;
    }

    /// Adds another one's counts.
    pub fn add(&mut self, other: &Self) {
        let tallies = self.by_message.iter_mut().zip(&other.by_message);
        for (mine, theirs) in tallies.chain([(&mut self.total, &other.total)]) {
            mine.add(theirs);
        }
    }

    /// All messages together.
    #[must_use]
    pub const fn total(&self) -> &Tally {
        &self.total
    }

    /// Messages that occurred, by name. Malformed datagrams, and numbers that the protocol does not have, are `other`: a peer cannot
    /// invent names.
    #[must_use]
    pub fn by_name(&self) -> BTreeMap<&'static str, Tally> {
        let mut names: BTreeMap<&'static str, Tally> = BTreeMap::new();
        for (place, tally) in self.by_message.iter().enumerate() {
            if *tally != Tally::default() {
                names.entry(name(place)).or_default().add(tally);
            }
        }
        names
    }
}

/// The message number of a datagram, if it can be read. A zero-coded number is expanded only as far as needed.
#[must_use]
pub fn message_number(datagram: &[u8]) -> Option<MessageNumber> {
    let datagram = Datagram::parse(datagram).ok()?;
    if !datagram.flags.contains(Flags::ZERO_CODED) {
        return MessageNumber::split(datagram.body).ok().map(|(number, _)| number);
    }
    let mut head = [0; 4];
    let len = expand_head(datagram.body, &mut head);
    MessageNumber::split(&head[..len]).ok().map(|(number, _)| number)
}

/// Expands the beginning of a zero-coded body; gives how many bytes there are.
fn expand_head(body: &[u8], head: &mut [u8; 4]) -> usize {
    let mut bytes = body.iter();
    let mut len = 0;
    while let Some(&byte) = bytes.next()
        && len < head.len()
    {
        if byte == 0 {
            // The head is zeroes already.
            len += bytes.next().map_or(1, |&run| usize::from(run));
        } else {
            head[len] = byte;
            len += 1;
        }
    }
    len.min(head.len())
}

fn place(number: Option<MessageNumber>) -> usize {
    match number {
        Some(MessageNumber::High(number)) => usize::from(number),
        Some(MessageNumber::Medium(number)) => 256 + usize::from(number),
        Some(MessageNumber::Fixed(number)) => 512 + usize::from(number),
        Some(MessageNumber::Low(number)) if usize::from(number) < LOW_MAX => 768 + usize::from(number),
        _ => OTHER,
    }
}

fn name(place: usize) -> &'static str {
    // The casts undo `place`.
    let number = match place {
        0..256 => MessageNumber::High(place as u8),
        256..512 => MessageNumber::Medium((place - 256) as u8),
        512..768 => MessageNumber::Fixed((place - 512) as u8),
        OTHER => return "other",
        _ => MessageNumber::Low((place - 768) as u16),
    };
    MessageName::of(number).map_or("other", MessageName::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::header::write_header;
    use wire::messages::{AgentUpdate, SCHEMA};
    use wire::zero_code;

    fn datagram(message: &[u8], zero_coded: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        if zero_coded {
            write_header(&mut bytes, Flags::ZERO_CODED, 9);
            zero_code::compress(message, &mut bytes);
        } else {
            write_header(&mut bytes, Flags::NONE, 9);
            bytes.extend_from_slice(message);
        }
        bytes
    }

    #[test]
    fn every_message_has_a_place_of_its_own_zero_coded_or_not() {
        for schema in SCHEMA {
            let mut message = Vec::new();
            schema.number.write(&mut message);
            message.extend_from_slice(&[0; 20]);
            for zero_coded in [false, true] {
                let bytes = datagram(&message, zero_coded);
                assert_eq!(message_number(&bytes), Some(schema.number), "{}", schema.name);
                assert_eq!(name(place(message_number(&bytes))), schema.name);
            }
        }
    }

    #[test]
    fn packets_and_bytes_are_counted_by_name_and_in_all() {
        let mut traffic = Traffic::default();
        let mut message = Vec::new();
        AgentUpdate::default().encode(&mut message);
        let update = datagram(&message, true);
        traffic.count_out(&update);
        traffic.count_out(&update);
        assert_eq!(traffic.count_in(&update), Some(AgentUpdate::NUMBER));
        assert_eq!(traffic.count_in(&[1, 2]), None);
        let by_name = traffic.by_name();
        assert_eq!(by_name.keys().copied().collect::<Vec<_>>(), ["AgentUpdate", "other"]);
        let length = update.len() as u64;
        let updates = Tally { packets_in: 1, bytes_in: length, packets_out: 2, bytes_out: 2 * length };
        assert_eq!(by_name["AgentUpdate"], updates);
        assert_eq!(*traffic.total(), Tally { packets_in: 2, bytes_in: length + 2, ..updates });
        assert_eq!(traffic.total().since(&updates), Tally { packets_in: 1, bytes_in: 2, ..Tally::default() });
    }

    #[test]
    fn numbers_cut_short_are_other() {
        for body in [&[0xFF][..], &[0xFF, 0xFF, 0xFF]] {
            assert_eq!(name(place(message_number(&datagram(body, false)))), "other");
        }
        assert_eq!(name(place(message_number(&[]))), "other");
    }

    #[test]
    fn numbers_that_the_protocol_does_not_have_share_one_name() {
        let mut traffic = Traffic::default();
        for number in [432_u16, 999] {
            let [high, low] = number.to_be_bytes();
            traffic.count_in(&datagram(&[0xFF, 0xFF, high, low, 1], false));
        }
        assert_eq!(traffic.by_name()["other"].packets_in, 2);
    }

    #[test]
    fn counts_of_several_threads_add_up() {
        let mut one = Traffic::default();
        one.count_in(&[1]);
        let mut both = Traffic::default();
        both.copy_from(&one);
        both.add(&one);
        assert_eq!((both.total().packets_in, both.by_name()["other"].bytes_in), (2, 2));
    }
}
