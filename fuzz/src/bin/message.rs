//! Every UDP message: the first byte chooses one, the rest is its body. What decodes encodes to something that decodes
//! to the same again. (The first round may tidy up: booleans of 7, rotations that are not unit.)
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::messages::{Message, MessageNumber, SCHEMA};

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, rest)) = bytes.split_first() else { return };
    let schema = &SCHEMA[usize::from(choice) % SCHEMA.len()];
    let Ok(message) = Message::decode_numbered(schema.number, rest) else { return };
    assert_eq!(message.schema().name, schema.name);
    let mut body = Vec::new();
    message.encode(&mut body);
    assert_eq!(MessageNumber::split(&body).expect("an encoded message has a number").0, schema.number);
    let again = Message::decode(&body).expect("what was encoded decodes");
    let mut body_again = Vec::new();
    again.encode(&mut body_again);
    assert_eq!(body_again.len(), body.len());
});
