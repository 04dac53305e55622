//! Functions of the script's own memory.

use super::{PureFunction, Work, pure};
use crate::kind::Kind::Integer;

const FAST: Work = Work::Flat(5);

pub(super) static FUNCTIONS: &[PureFunction] = &[
    pure("llGetUsedMemory", &[], Integer, FAST, |c| Ok(bytes(c.memory_used()).into())),
    pure("llGetFreeMemory", &[], Integer, FAST, |c| Ok(bytes(c.room()).into())),
    pure("llGetMemoryLimit", &[], Integer, FAST, |c| Ok(bytes(c.memory_limit()).into())),
    pure("llSetMemoryLimit", &[Integer], Integer, FAST, |c| {
        let limit = c.integer();
        Ok(c.set_memory_limit(limit).into())
    }),
];

fn bytes(bytes: usize) -> i32 {
    i32::try_from(bytes).unwrap_or(i32::MAX)
}
