//! glTF documents: overrides that are read are in their ranges, and fit the message to viewers.
#![no_main]

use grid::capability::{overrides_text, read_override};
use ids::LocalId;
use libfuzzer_sys::fuzz_target;
use prim::MaterialOverrides;
use wire::llsd::{Limits, notation};

/// Bytes of data that clients take in one message.
const MESSAGE_MAX: usize = 7 << 10;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(changes) = read_override(text) else { return };
    let mut overrides = MaterialOverrides::default();
    for face in 0..prim::OVERRIDE_FACES {
        overrides.set(face, changes).expect("numbers, on a face that there is");
    }
    assert_eq!(overrides.check(), Ok(()));
    let message = overrides_text(LocalId(1), &overrides);
    assert!(message.len() <= MESSAGE_MAX, "{} bytes", message.len());
    notation::decode(message.as_bytes(), Limits::REQUEST).expect("its own text");
});
