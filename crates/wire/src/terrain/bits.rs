//! The bit stream inside LayerData: bits fill bytes from the top, and numbers of several bytes begin with the
//! low one.
//!
//! A number of, say, 10 bits is its low byte, top bit first, and then the two bits that are left.

use crate::Malformed;

/// Appends bit fields to bytes.
#[derive(Default)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    /// Bits used of the last byte; 0 when the next bit begins a new one.
    used: u32,
}

impl BitWriter {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), used: 0 }
    }

    /// Bits written so far.
    pub(super) fn bit_len(&self) -> usize {
        let unused = if self.used == 0 { 0 } else { 8 - self.used as usize };
        self.bytes.len() * 8 - unused
    }

    /// Appends the low `count` bits of `value`; `count` is at most 32.
    pub(super) fn write(&mut self, value: u32, count: u32) {
        let mut left = count;
        for byte in value.to_le_bytes() {
            if left == 0 {
                return;
            }
            let width = left.min(8);
            self.write_high_first(byte, width);
            left -= width;
        }
    }

    /// Appends the low `width` bits of a byte, the highest of them first; `width` is 1 to 8.
    pub(super) fn write_high_first(&mut self, byte: u8, width: u32) {
        // The bits at the top of a 16-bit window, moved to the free bits of the open byte.
        let window = (u16::from(byte) << (16 - width)) >> self.used;
        let [first, second] = window.to_be_bytes();
        if self.used == 0 {
            self.bytes.push(first);
        } else {
            *self.bytes.last_mut().expect("a byte is open when some of its bits are used") |= first;
        }
        self.used += width;
        if self.used > 8 {
            self.bytes.push(second);
        }
        self.used %= 8;
    }

    /// Appends the first `count` bits of bytes as they are.
    pub(super) fn append(&mut self, bytes: &[u8], count: usize) {
        let (whole, rest) = bytes.split_at(count / 8);
        whole.iter().for_each(|&byte| self.write_high_first(byte, 8));
        let left = (count % 8) as u32;
        if left > 0 {
            self.write_high_first(rest[0] >> (8 - left), left);
        }
    }

    /// The bytes; bits unused in the last one are zero.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Takes bit fields from bytes.
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> BitReader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// The next `count` bits, at most 32.
    pub(super) fn read(&mut self, count: u32) -> Result<u32, Malformed> {
        let mut value = 0;
        for low in (0..count).step_by(8) {
            let width = (count - low).min(8);
            let mut byte = 0;
            for _ in 0..width {
                byte = byte << 1 | u32::from(self.bit()?);
            }
            value |= byte << low;
        }
        Ok(value)
    }

    pub(super) fn bit(&mut self) -> Result<bool, Malformed> {
        let byte = self.bytes.get(self.position / 8).ok_or(Malformed::Truncated)?;
        let bit = byte & (0x80 >> (self.position % 8)) != 0;
        self.position += 1;
        Ok(bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn low_byte_comes_first_and_high_bits_within_it() {
        let mut writer = BitWriter::default();
        writer.write(0x108, 16);
        writer.write(0b01_0110_0101, 10);
        writer.write(0b10, 2);
        assert_eq!(writer.bit_len(), 28);
        assert_eq!(writer.into_bytes(), [0x08, 0x01, 0x65, 0b0110_0000]);
    }

    #[test]
    fn appended_bits_stand_behind_those_before() {
        let mut writer = BitWriter::default();
        writer.write(0b101, 3);
        writer.append(&[0xF0, 0b1100_1111], 11);
        writer.append(&[0xFF], 0);
        assert_eq!(writer.bit_len(), 14);
        assert_eq!(writer.into_bytes(), [0b1011_1110, 0b0001_1000]);
    }

    #[test]
    fn reading_past_the_end_is_truncation() {
        let mut reader = BitReader::new(&[0xFF]);
        assert_eq!(reader.read(7), Ok(0x7F));
        assert_eq!(reader.read(2), Err(Malformed::Truncated));
    }

    proptest! {
        #[test]
        fn fields_read_back(fields in proptest::collection::vec((any::<u32>(), 1_u32..=32), 0..50)) {
            let mut writer = BitWriter::default();
            for &(value, count) in &fields {
                writer.write(value, count);
            }
            let total: u32 = fields.iter().map(|&(_, count)| count).sum();
            prop_assert_eq!(writer.bit_len(), total as usize);
            let bytes = writer.into_bytes();
            let mut reader = BitReader::new(&bytes);
            for (value, count) in fields {
                prop_assert_eq!(reader.read(count), Ok(value & (u32::MAX >> (32 - count))));
            }
        }
    }
}
