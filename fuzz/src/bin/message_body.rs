//! A whole body as it comes out of a datagram, with the message number in front.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::messages::Message;

fuzz_target!(|bytes: &[u8]| {
    let _ = Message::decode(bytes);
});
