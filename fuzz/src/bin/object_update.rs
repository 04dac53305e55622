//! Full updates as an observer reads them.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok((_, objects)) = wire::object_update::decode(bytes) else { return };
    for object in objects {
        let _ = object.name_value("FirstName");
    }
});
