//! The LLUDP datagram around a message: flags, sequence number, extra header and appended acks.
//!
//! ```text
//! 0      1                5    6      6+E                 end-4n-1         end-1
//! ┌───────┬────────────────┬────┬──────┬───────────────────┬────────────────┬───┐
//! │ flags │ sequence (BE)  │ E  │ E    │ message number,   │ n acks,        │ n │
//! │ u8    │ u32            │ u8 │ bytes│ body (zero-coded) │ u32 BE each    │ u8│
//! └───────┴────────────────┴────┴──────┴───────────────────┴────────────────┴───┘
//!                                                           only with Flags::ACKS
//! ```
//!
//! It does not expand zero-coding ([`crate::zero_code`]) and does not look at the message number
//! ([`crate::messages`]). Start with [`Datagram::parse`] for what comes in and [`write_header`] for what goes
//! out.

use crate::Malformed;
use std::ops::{BitOr, BitOrAssign};

/// Longest datagram we send, in bytes: what the viewer calls its MTU. Longer ones are fragmented on real
/// paths, and one client's receive buffer ends at 1,500.
pub const DATAGRAM_MAX: usize = 1200;

/// Longest message that any peer may make us hold, in bytes: the viewer's own buffer. Also
/// the longest datagram we parse, since a longer one can only hold a longer message.
pub const EXPANDED_MAX: usize = 8192;

/// Bytes before the message number when there is no extra header, as in everything that we write.
pub const HEADER_LEN: usize = 6;

/// Most acks that one datagram can carry behind its message: their count is one byte.
pub const APPENDED_ACKS_MAX: usize = 255;

/// The flag bits of a datagram's first byte. The low nibble means nothing, and is kept as it came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u8);

impl Flags {
    /// No flag: an unreliable, plain message.
    pub const NONE: Self = Self(0);
    /// Everything between header and appended acks is zero-coded.
    pub const ZERO_CODED: Self = Self(0x80);
    /// The receiver has to ack it, duplicates included.
    pub const RELIABLE: Self = Self(0x40);
    /// Sent before under the same sequence number.
    pub const RESENT: Self = Self(0x20);
    /// Acks follow the message.
    pub const ACKS: Self = Self(0x10);

    /// True if every bit of `other` is set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// A datagram taken apart, borrowing its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// The flags as they came.
    pub flags: Flags,
    /// The sender's number for this packet. Clients begin at 0 or 1, and some wrap at `0x0100_0000`.
    pub sequence: u32,
    /// Message number and body, at least one byte; still zero-coded if [`Flags::ZERO_CODED`] is set.
    pub body: &'a [u8],
    acks: &'a [u8],
}

impl<'a> Datagram<'a> {
    /// Takes a received datagram apart without copying.
    ///
    /// # Errors
    /// [`Malformed::Oversized`] above [`EXPANDED_MAX`]; [`Malformed::Truncated`] when header, extra header or
    /// appended acks reach past the end, or when no byte of a message is left between them.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        if bytes.len() > EXPANDED_MAX {
            return Err(Malformed::Oversized);
        }
        let Some((&[flags, s0, s1, s2, s3, extra_len], rest)) = bytes.split_first_chunk::<HEADER_LEN>()
        else {
            return Err(Malformed::Truncated);
        };
        let flags = Flags(flags);
        let rest = rest.get(usize::from(extra_len)..).ok_or(Malformed::Truncated)?;
        let (body, acks) = if flags.contains(Flags::ACKS) { split_acks(rest)? } else { (rest, &[][..]) };
        if body.is_empty() {
            return Err(Malformed::Truncated);
        }
        Ok(Self { flags, sequence: u32::from_be_bytes([s0, s1, s2, s3]), body, acks })
    }

    /// The sequence numbers acked behind the message, as the sender ordered them.
    pub fn acks(&self) -> impl ExactSizeIterator<Item = u32> + Clone + use<'a> {
        self.acks.as_chunks().0.iter().map(|&id| u32::from_be_bytes(id))
    }
}

/// Splits what follows the header into message and acks, from the count in the last byte.
fn split_acks(rest: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    let (&count, rest) = rest.split_last().ok_or(Malformed::Truncated)?;
    let body_len = rest.len().checked_sub(4 * usize::from(count)).ok_or(Malformed::Truncated)?;
    Ok(rest.split_at(body_len))
}

/// Appends the six header bytes of a datagram without extra header.
pub fn write_header(out: &mut Vec<u8>, flags: Flags, sequence: u32) {
    let [s0, s1, s2, s3] = sequence.to_be_bytes();
    out.extend_from_slice(&[flags.0, s0, s1, s2, s3, 0]);
}

/// Appends acks behind a finished message, whose header must carry [`Flags::ACKS`].
///
/// # Panics
/// With more than [`APPENDED_ACKS_MAX`] of them: the count is one byte.
pub fn write_acks(out: &mut Vec<u8>, acks: &[u32]) {
    let count = u8::try_from(acks.len()).expect("a datagram carries at most 255 appended acks");
    for id in acks {
        out.extend_from_slice(&id.to_be_bytes());
    }
    out.push(count);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_plain_datagram_comes_apart() {
        let bytes = [0x40, 0, 0, 1, 2, 0, 0xAA, 0xBB];
        let datagram = Datagram::parse(&bytes).expect("well-formed");
        assert_eq!(datagram.flags, Flags::RELIABLE);
        assert_eq!(datagram.sequence, 0x0102);
        assert_eq!(datagram.body, [0xAA, 0xBB]);
        assert_eq!(datagram.acks().len(), 0);
    }

    #[test]
    fn the_extra_header_is_skipped() {
        let bytes = [0, 0, 0, 0, 7, 2, 0xEE, 0xEE, 0x01];
        assert_eq!(Datagram::parse(&bytes).expect("well-formed").body, [0x01]);
    }

    #[test]
    fn acks_are_big_endian_and_stripped_from_the_body() {
        let bytes = [0x10, 0, 0, 0, 1, 0, 0x05, 0, 0, 0, 9, 0, 0, 1, 0, 2];
        let datagram = Datagram::parse(&bytes).expect("well-formed");
        assert_eq!(datagram.body, [0x05]);
        assert_eq!(datagram.acks().collect::<Vec<_>>(), [9, 256]);
    }

    #[test]
    fn too_short_or_too_long_datagrams_are_refused() {
        let check =
            |bytes: &[u8], expected| assert_eq!(Datagram::parse(bytes), Err(expected), "{bytes:02x?}");
        check(&[], Malformed::Truncated);
        check(&[0x40, 0, 0, 0, 1], Malformed::Truncated);
        check(&[0x40, 0, 0, 0, 1, 0], Malformed::Truncated); // no message
        check(&[0x40, 0, 0, 0, 1, 3, 0, 0], Malformed::Truncated); // extra header past the end
        check(&[0x10, 0, 0, 0, 1, 0], Malformed::Truncated); // no ack count
        check(&[0x10, 0, 0, 0, 1, 0, 9, 9, 9, 1], Malformed::Truncated); // acks before the message
        check(&[0x10, 0, 0, 0, 1, 0, 0, 0, 0, 9, 1], Malformed::Truncated); // acks, but no message
        check(&[0; EXPANDED_MAX + 1], Malformed::Oversized);
        assert!(Datagram::parse(&[0; EXPANDED_MAX]).is_ok());
    }

    proptest! {
        #[test]
        fn a_written_header_parses_to_the_same(
            flags in any::<u8>(), sequence in any::<u32>(),
            body in proptest::collection::vec(any::<u8>(), 1..600),
            acks in proptest::collection::vec(any::<u32>(), 0..=APPENDED_ACKS_MAX),
        ) {
            let flags = Flags(flags & !Flags::ACKS.0) | Flags::ACKS;
            let mut bytes = Vec::new();
            write_header(&mut bytes, flags, sequence);
            bytes.extend_from_slice(&body);
            write_acks(&mut bytes, &acks);
            let datagram = Datagram::parse(&bytes).expect("what we write is well-formed");
            prop_assert_eq!(datagram.flags, flags);
            prop_assert_eq!(datagram.sequence, sequence);
            prop_assert_eq!(datagram.body, &body[..]);
            prop_assert_eq!(datagram.acks().collect::<Vec<_>>(), acks);
        }

        #[test]
        fn any_bytes_parse_or_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(datagram) = Datagram::parse(&bytes) {
                prop_assert!(!datagram.body.is_empty());
                prop_assert!(HEADER_LEN + datagram.body.len() + 4 * datagram.acks().len() <= bytes.len());
            }
        }
    }
}
