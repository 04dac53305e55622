//! Uploads of every kind: any bytes are taken or refused, and a refusal has a text. The first byte chooses the kind. What is read of notecards and landmarks is read of
//! any bytes, too.
#![no_main]

use assets::{AssetKind, SizeLimits, check_asset, read_embedded_items, read_landmark};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static LIMITS: LazyLock<SizeLimits> = LazyLock::new(SizeLimits::default);

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, content)) = bytes.split_first() else { return };
    let n_kinds = AssetKind::all().len();
    let kind = AssetKind::all().nth(usize::from(first) % n_kinds).expect("a kind of that place");
    if let Err(why) = check_asset(kind, content, &LIMITS) {
        assert!(!why.to_string().is_empty());
    }
    match kind {
        AssetKind::Notecard => drop(read_embedded_items(content)),
        AssetKind::Landmark => drop(read_landmark(content)),
        _ => {}
    }
});
