//! LLSD in notation form: what decodes is within its limits and encodes to something that decodes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::llsd::{Limits, notation};

fuzz_target!(|bytes: &[u8]| {
    let Ok(value) = notation::decode(bytes, Limits::REQUEST) else { return };
    notation::decode(notation::encode(&value).as_bytes(), Limits::REPLY).expect("what was encoded decodes");
});
