//! Functions of the script's own memory, and ids of its own random numbers.

use super::{Binding, bind};
use crate::key::Key;

pub(super) static BINDINGS: &[Binding] = &[
    bind("llGetUsedMemory", |c| Ok(bytes(c.memory_used()).into())),
    bind("llGetFreeMemory", |c| Ok(bytes(c.room()).into())),
    bind("llGetMemoryLimit", |c| Ok(bytes(c.memory_limit()).into())),
    bind("llSetMemoryLimit", |c| {
        let limit = c.integer();
        Ok(c.set_memory_limit(limit).into())
    }),
    bind("llGenerateKey", |c| {
        let (high, low) = (c.draw_bits(), c.draw_bits());
        Ok(random_key(high, low).into())
    }),
];

/// An id of random bits: version 4, the variant of RFC 9562.
fn random_key(high: u64, low: u64) -> Key {
    let mut id = (u128::from(high) << 64 | u128::from(low)).to_be_bytes();
    id[6] = (id[6] & 0x0F) | 0x40;
    id[8] = (id[8] & 0x3F) | 0x80;
    Key::from_id(id)
}

fn bytes(bytes: usize) -> i32 {
    i32::try_from(bytes).unwrap_or(i32::MAX)
}
