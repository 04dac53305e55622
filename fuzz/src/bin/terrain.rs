//! Terrain patches: every height that decodes is finite.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::terrain::decode_patches;

fuzz_target!(|bytes: &[u8]| {
    let Ok((_, patches)) = decode_patches(bytes) else { return };
    assert!(patches.iter().flat_map(|patch| &patch.heights).all(|height| height.is_finite()));
});
