//! The datagram header: whatever parses writes back as the same datagram.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::header::{Datagram, Flags, write_acks, write_header};

fuzz_target!(|bytes: &[u8]| {
    let Ok(datagram) = Datagram::parse(bytes) else { return };
    let acks: Vec<u32> = datagram.acks().collect();
    let mut written = Vec::new();
    write_header(&mut written, datagram.flags, datagram.sequence);
    written.extend_from_slice(datagram.body);
    if datagram.flags.contains(Flags::ACKS) {
        write_acks(&mut written, &acks);
    }
    let again = Datagram::parse(&written).expect("what was written parses");
    assert_eq!((again.flags, again.sequence, again.body), (datagram.flags, datagram.sequence, datagram.body));
    assert!(again.acks().eq(acks));
});
