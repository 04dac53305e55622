//! The hash by which a shard finds circuits.
//!
//! It is the standard library's own function, SipHash-1-3, but its keys come from the caller: the library draws them
//! from the system, and then no two runs of the simulator or of preflight would execute the same instructions.

use siphasher::sip::SipHasher13;
use std::hash::BuildHasher;

/// Makes hashers with one pair of secret keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct AddressHash {
    keys: [u64; 2],
}

impl AddressHash {
    pub(super) const fn new(keys: [u64; 2]) -> Self {
        Self { keys }
    }
}

impl BuildHasher for AddressHash {
    type Hasher = SipHasher13;

    fn build_hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_keys(self.keys[0], self.keys[1])
    }
}
