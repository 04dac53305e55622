//! Files of backups: a manifest that is read is the same after it was written again, and so is an entry of a list of contents. (With `cfg(fuzzing)` the hash of a
//! manifest is not compared.)
#![no_main]

use backup::fuzzing::{decode_manifest, encode_manifest, entry_again};
use libfuzzer_sys::fuzz_target;

/// Bytes of an entry without its flags.
const CONTENT: usize = 36;

fuzz_target!(|bytes: &[u8]| {
    match decode_manifest(bytes) {
        Ok(manifest) => {
            let again = decode_manifest(&encode_manifest(&manifest)).expect("its own manifest");
            assert_eq!(again, manifest);
            let _ = manifest.is_sound();
        }
        Err(why) => assert!(!why.to_string().is_empty()),
    }
    for entry in bytes.chunks_exact(40) {
        let entry = entry.first_chunk().expect("an entry has 40 bytes");
        let again = entry_again(entry);
        assert_eq!((&again[..CONTENT], entry_again(&again)), (&entry[..CONTENT], again));
    }
});
