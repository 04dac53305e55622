//! Blocks of ObjectUpdateCompressed, with particles of both forms: what decodes encodes to something that decodes to the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::object_compressed::{decode, encode};

fuzz_target!(|bytes: &[u8]| {
    let Ok((object, motion)) = decode(bytes) else { return };
    let mut encoded = Vec::new();
    encode(&object, &motion, &object.extra_params, &object.ps_block, &mut encoded);
    let (again, _) = decode(&encoded).expect("what was encoded decodes");
    assert_eq!((again.ps_block, again.extra_params), (object.ps_block, object.extra_params));
    assert_eq!((again.texture_entry, again.texture_anim), (object.texture_entry, object.texture_anim));
});
