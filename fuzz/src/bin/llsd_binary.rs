//! LLSD in binary form: what decodes is within its limits and encodes to something that decodes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::llsd::{Limits, binary};

fuzz_target!(|bytes: &[u8]| {
    let Ok(value) = binary::decode(bytes, Limits::REQUEST) else { return };
    binary::decode(&binary::encode(&value), Limits::REPLY).expect("what was encoded decodes");
});
