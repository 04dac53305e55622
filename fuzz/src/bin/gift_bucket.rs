//! Buckets of instant messages about gifts: what is read of one is in it, and is read of the bucket that it makes.
#![no_main]

use grid::inventory::{GiftAnswer, GiftOffer};
use ids::{AgentId, Uuid};
use libfuzzer_sys::fuzz_target;

fn entry(kind: u8, id: Uuid) -> Vec<u8> {
    [&[kind], &id.as_bytes()[..]].concat()
}

fuzz_target!(|bytes: &[u8]| {
    let (to, transaction) = (AgentId(Uuid::from_u128(1)), Uuid::from_u128(2));
    if let Some(offer) = GiftOffer::of_bucket(to, transaction, bytes) {
        assert!(17 * (1 + offer.listed.len()) <= bytes.len());
        assert!(offer.is_folder || offer.listed.is_empty());
        let mut bucket = entry(bytes[0], offer.id);
        bucket.extend(offer.listed.iter().flat_map(|id| entry(0, *id)));
        assert_eq!(GiftOffer::of_bucket(to, transaction, &bucket), Some(offer));
    }
    let answer = GiftAnswer::of_bucket(transaction, true, bytes);
    assert!(answer.folder.is_none_or(|folder| bytes == &folder.as_bytes()[..]));
});
