//! Zero-coding: expanding is bounded, and what was compressed expands to itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::header::EXPANDED_MAX;
use wire::zero_code::{compress, expand};

fuzz_target!(|bytes: &[u8]| {
    let mut expanded = Vec::new();
    if expand(bytes, &mut expanded).is_ok() {
        assert!(expanded.len() <= EXPANDED_MAX);
    }
    let mut compressed = Vec::new();
    compress(bytes, &mut compressed);
    expanded.clear();
    expand(&compressed, &mut expanded).expect("what was compressed expands");
    assert_eq!(expanded, bytes);
});
