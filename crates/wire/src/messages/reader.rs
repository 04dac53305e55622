//! A cursor over the body of a message.

use crate::Malformed;

/// The rest of a body. Every read takes from the front, or fails without a panic.
#[derive(Debug)]
pub(crate) struct BodyReader<'a> {
    rest: &'a [u8],
    full_len: usize,
}

impl<'a> BodyReader<'a> {
    pub(crate) const fn new(body: &'a [u8]) -> Self {
        Self { rest: body, full_len: body.len() }
    }

    /// Bytes not yet read.
    pub(crate) const fn len(&self) -> usize {
        self.rest.len()
    }

    /// True if the sender left out the next block: senders older than a block end the datagram before it. The first block of a message
    /// is never left out.
    pub(crate) const fn block_is_missing(&self) -> bool {
        self.rest.is_empty() && self.full_len != 0
    }

    /// The next `N` bytes.
    pub(crate) fn take<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(*head)
    }

    /// The next `len` bytes.
    pub(crate) fn take_slice(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (head, rest) = self.rest.split_at_checked(len).ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(head)
    }

    /// The next byte.
    pub(crate) fn take_u8(&mut self) -> Result<u8, Malformed> {
        self.take::<1>().map(|[byte]| byte)
    }

    /// The next little-endian U16.
    pub(crate) fn take_u16(&mut self) -> Result<u16, Malformed> {
        self.take().map(u16::from_le_bytes)
    }

    /// The next little-endian U32.
    pub(crate) fn take_u32(&mut self) -> Result<u32, Malformed> {
        self.take().map(u32::from_le_bytes)
    }

    /// The next little-endian F32, which must be finite: no field of the protocol has a meaning for NaN or
    /// infinity, and one of either would spread through whatever computes with it.
    pub(crate) fn take_f32(&mut self) -> Result<f32, Malformed> {
        self.take_f32s().map(|[value]| value)
    }

    /// The next `N` little-endian F32, each finite.
    pub(crate) fn take_f32s<const N: usize>(&mut self) -> Result<[f32; N], Malformed> {
        let (chunks, _) = self.take_slice(4 * N)?.as_chunks::<4>();
        let mut values = [0.0; N];
        for (value, bytes) in values.iter_mut().zip(chunks) {
            *value = f32::from_le_bytes(*bytes);
        }
        if values.iter().all(|value| value.is_finite()) { Ok(values) } else { Err(Malformed::Value) }
    }

    /// The next little-endian F64, finite for the same reason.
    pub(crate) fn take_f64(&mut self) -> Result<f64, Malformed> {
        let value = self.take().map(f64::from_le_bytes)?;
        if value.is_finite() { Ok(value) } else { Err(Malformed::Value) }
    }
}
