//! Blocks as they repeat: once, twice, or as often as a count says.

use super::reader::BodyReader;
use super::schema::Field;
use crate::Malformed;

/// The fields of one block, read and written in the order of the wire.
pub(crate) trait BlockCodec: Default {
    /// Fewest bytes that one takes.
    const LEN_MIN: usize;
    const FIELDS: &'static [Field];

    fn read(reader: &mut BodyReader<'_>) -> Result<Self, Malformed>;
    fn write(&self, out: &mut Vec<u8>);

    /// A value for property tests, made of random words.
    #[cfg(test)]
    fn arbitrary(next: &mut dyn FnMut() -> u64) -> Self;
}

pub(crate) fn read_one<B: BlockCodec>(reader: &mut BodyReader<'_>) -> Result<B, Malformed> {
    if reader.block_is_missing() { Ok(B::default()) } else { B::read(reader) }
}

pub(crate) fn read_twice<B: BlockCodec>(reader: &mut BodyReader<'_>) -> Result<[B; 2], Malformed> {
    if reader.block_is_missing() { Ok(Default::default()) } else { Ok([B::read(reader)?, B::read(reader)?]) }
}

pub(crate) fn read_many<B: BlockCodec>(reader: &mut BodyReader<'_>) -> Result<Vec<B>, Malformed> {
    if reader.block_is_missing() {
        return Ok(Vec::new());
    }
    let count = usize::from(reader.take_u8()?);
    // Checked before the allocation, so that its size follows the datagram's and not the sender's claim.
    if reader.len() < count * B::LEN_MIN {
        return Err(Malformed::Truncated);
    }
    let mut blocks = Vec::with_capacity(count);
    for _ in 0..count {
        blocks.push(B::read(reader)?);
    }
    Ok(blocks)
}

pub(crate) fn write_twice<B: BlockCodec>(blocks: &[B; 2], out: &mut Vec<u8>) {
    blocks.iter().for_each(|block| block.write(out));
}

pub(crate) fn write_many<B: BlockCodec>(blocks: &[B], out: &mut Vec<u8>) {
    out.push(u8::try_from(blocks.len()).expect("a block stands at most 255 times in a message"));
    blocks.iter().for_each(|block| block.write(out));
}

/// Writes nothing at all for no blocks: only ever the last thing of a message.
pub(crate) fn write_extra<B: BlockCodec>(blocks: &[B], out: &mut Vec<u8>) {
    if !blocks.is_empty() {
        write_many(blocks, out);
    }
}

#[cfg(test)]
pub(crate) fn arbitrary_twice<B: BlockCodec>(next: &mut dyn FnMut() -> u64) -> [B; 2] {
    std::array::from_fn(|_| B::arbitrary(next))
}

#[cfg(test)]
pub(crate) fn arbitrary_many<B: BlockCodec>(next: &mut dyn FnMut() -> u64) -> Vec<B> {
    // Mostly a few, sometimes as many as there can be.
    let count = match next() % 16 {
        0 => 255,
        small => small % 4,
    };
    (0..count).map(|_| B::arbitrary(next)).collect()
}
