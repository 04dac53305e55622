//! Texture entries: what decodes encodes to something that decodes to the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::texture_entry::TextureEntry;

fuzz_target!(|bytes: &[u8]| {
    let Ok(entry) = TextureEntry::decode(bytes) else { return };
    let encoded = entry.encode();
    let again = TextureEntry::decode(&encoded).expect("what was encoded decodes");
    assert_eq!(again.encode(), encoded);
});
