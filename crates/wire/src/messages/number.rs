//! The number at the head of every message.
//!
//! | frequency | bytes | form |
//! |---|---|---|
//! | High | 1 | `nn`, 0–254 |
//! | Medium | 2 | `FF nn`, 0–254 |
//! | Low | 4 | `FF FF hh ll`, big-endian, below `FF00` |
//! | Fixed | 4 | `FF FF FF nn` |

use crate::Malformed;
use std::fmt;

/// The number of a message. Ordered by frequency, then number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MessageNumber {
    /// One byte: the messages sent most.
    High(u8),
    /// Two bytes.
    Medium(u8),
    /// Four bytes, of which two count.
    Low(u16),
    /// Four bytes, of which the last counts: the messages of the circuit itself.
    Fixed(u8),
}

impl MessageNumber {
    /// Splits a body (already expanded if it was zero-coded) into its number and what follows it.
    ///
    /// # Errors
    /// [`Malformed::Truncated`] when the body ends inside the number.
    pub fn split(body: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        match *body {
            [0xFF, 0xFF, 0xFF, number, ref rest @ ..] => Ok((Self::Fixed(number), rest)),
            [0xFF, 0xFF, high, low, ref rest @ ..] => Ok((Self::Low(u16::from_be_bytes([high, low])), rest)),
            [0xFF, 0xFF, ..] | [0xFF] | [] => Err(Malformed::Truncated),
            [0xFF, number, ref rest @ ..] => Ok((Self::Medium(number), rest)),
            [number, ref rest @ ..] => Ok((Self::High(number), rest)),
        }
    }

    /// Appends the number.
    pub fn write(self, out: &mut Vec<u8>) {
        match self {
            Self::High(number) => out.push(number),
            Self::Medium(number) => out.extend_from_slice(&[0xFF, number]),
            Self::Low(number) => {
                let [high, low] = number.to_be_bytes();
                out.extend_from_slice(&[0xFF, 0xFF, high, low]);
            }
            Self::Fixed(number) => out.extend_from_slice(&[0xFF, 0xFF, 0xFF, number]),
        }
    }
}

/// As people write it: `Low 3`, `Fixed 0xFB`.
impl fmt::Display for MessageNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::High(number) => write!(f, "High {number}"),
            Self::Medium(number) => write!(f, "Medium {number}"),
            Self::Low(number) => write!(f, "Low {number}"),
            Self::Fixed(number) => write!(f, "Fixed 0x{number:02X}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frequency_has_its_own_length() {
        for (number, bytes) in [
            (MessageNumber::High(4), &[4][..]),
            (MessageNumber::Medium(6), &[0xFF, 6]),
            (MessageNumber::Low(0x0102), &[0xFF, 0xFF, 0x01, 0x02]),
            (MessageNumber::Fixed(0xFB), &[0xFF, 0xFF, 0xFF, 0xFB]),
        ] {
            let mut written = Vec::new();
            number.write(&mut written);
            assert_eq!(written, bytes, "{number}");
            written.extend_from_slice(b"rest");
            assert_eq!(MessageNumber::split(&written), Ok((number, &b"rest"[..])));
        }
    }

    #[test]
    fn a_number_cut_short_is_truncated() {
        for body in [&[][..], &[0xFF], &[0xFF, 0xFF], &[0xFF, 0xFF, 0], &[0xFF, 0xFF, 0xFF]] {
            assert_eq!(MessageNumber::split(body), Err(Malformed::Truncated), "{body:?}");
        }
    }
}
