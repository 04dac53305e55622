//! LLSD as XML, as capabilities receive it: what decodes is within its limits and encodes to something that decodes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::llsd::{Limits, xml};

fuzz_target!(|bytes: &[u8]| {
    let Ok(value) = xml::decode(bytes, Limits::REQUEST) else { return };
    xml::decode(&xml::encode(&value).into_bytes(), Limits::REPLY).expect("what was encoded decodes");
});
