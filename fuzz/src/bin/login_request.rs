//! A login from a stranger: from the bytes of the HTTP body to the fields, which are short enough for a log.
#![no_main]

use grid::login::LoginRequest;
use libfuzzer_sys::fuzz_target;
use wire::llsd::Limits;
use wire::xmlrpc::decode_call;

fuzz_target!(|bytes: &[u8]| {
    let Ok(call) = decode_call(bytes, Limits::STRANGER) else { return };
    let Some(fields) = call.params.first() else { return };
    if let Ok(request) = LoginRequest::from_llsd(fields) {
        assert!(request.channel.chars().count() <= 128 && request.first.chars().count() <= 128);
    }
});
