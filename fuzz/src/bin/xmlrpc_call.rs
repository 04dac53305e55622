//! An XML-RPC call from a stranger: what decodes encodes to something that decodes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::llsd::Limits;
use wire::xmlrpc::{decode_call, encode_call};

fuzz_target!(|bytes: &[u8]| {
    let Ok(call) = decode_call(bytes, Limits::STRANGER) else { return };
    decode_call(encode_call(&call).as_bytes(), Limits::REPLY).expect("what was encoded decodes");
});
