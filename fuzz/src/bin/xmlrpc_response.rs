//! An XML-RPC response, as bots receive it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::llsd::Limits;
use wire::xmlrpc::decode_response;

fuzz_target!(|bytes: &[u8]| {
    let _ = decode_response(bytes, Limits::REPLY);
});
