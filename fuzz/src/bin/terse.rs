//! Terse updates: blocks end after the first error, and every number that decodes is finite.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(blocks) = wire::terse::decode(bytes) else { return };
    let mut failed = false;
    for block in blocks {
        assert!(!failed, "nothing follows an error");
        match block {
            Ok(terse) => assert!(
                terse.position.is_finite() && terse.velocity.is_finite() && terse.rotation.is_finite()
            ),
            Err(_) => failed = true,
        }
    }
});
