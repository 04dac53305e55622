//! The throttles of AgentThrottle: they add up without overflow and write back the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::throttle::Throttles;

fuzz_target!(|bytes: &[u8]| {
    let Ok(throttles) = Throttles::parse(bytes) else { return };
    let _ = throttles.total_bytes_per_s();
    let mut written = Vec::new();
    throttles.write(&mut written);
    assert_eq!(Throttles::parse(&written), Ok(throttles));
});
