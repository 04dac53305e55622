//! Damaged images and journals, of every version: nothing panics, and an upgrade is final. (With `cfg(fuzzing)` checksums are not
//! compared.)
#![no_main]

use libfuzzer_sys::fuzz_target;
use world::{World, saved};

fuzz_target!(|bytes: &[u8]| {
    for upgrade in [saved::upgrade_image, saved::upgrade_journal, World::upgrade_snapshot] {
        if let Ok(Some(upgraded)) = upgrade(bytes) {
            assert!(matches!(upgrade(&upgraded), Ok(None)), "an upgrade is final");
        }
    }
});
