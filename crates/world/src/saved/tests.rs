use super::*;
use std::io::Write;

fn version1(snapshot: &[u8], length: u32) -> Vec<u8> {
    let bytes = [&[1, 0][..], &length.to_le_bytes()].concat();
    let mut encoder = flate2::write::ZlibEncoder::new(bytes, flate2::Compression::fast());
    encoder.write_all(snapshot).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_snapshot_comes_back_as_it_was_and_smaller_meanwhile() {
    for bytes in [vec![], vec![7; 100_000], (0..10_000_u32).flat_map(u32::to_le_bytes).collect()] {
        assert_eq!(snapshot_of(&encode_image(&bytes)).unwrap(), bytes);
        assert_eq!(snapshot_of(&version1(&bytes, bytes.len() as u32)).unwrap(), bytes);
    }
    assert!(encode_image(&vec![7; 100_000]).len() < 1_000);
}

#[test]
fn a_journal_comes_back_as_it_was() {
    assert_eq!(progress_of(&encode_journal(b"blow")).unwrap(), b"blow");
    assert_eq!(progress_of(b"\x01\x00\x01blow").unwrap(), b"blow");
    let upgraded = upgrade_journal(b"\x01\x00\x01blow").unwrap().unwrap();
    assert_eq!(upgraded, encode_journal(b"blow"));
    assert_eq!(upgrade_journal(&upgraded).unwrap(), None);
}

#[test]
fn no_bytes_make_it_panic_or_inflate_without_end() {
    let lengths = [0, 99_999, 100_001, u32::MAX].map(|length| version1(&[7; 100_000], length));
    assert!(lengths.iter().all(|image| snapshot_of(image).is_err_and(|why| why.is_damage())));
    for image in [encode_image(&[7; 100_000]), version1(&[7; 100_000], 100_000)] {
        for length in 0..image.len() {
            assert!(snapshot_of(&image[..length]).is_err(), "{length} bytes");
        }
    }
    for journal in [&encode_journal(b"blow")[..], b"\x01\x00\x01blow"] {
        // All that is cut off behind the form is for the world to judge.
        for length in 0..journal.len().min(3) {
            assert!(progress_of(&journal[..length]).is_err(), "{length} bytes");
        }
    }
    let later = [&b"THRI"[..], &[9, 0, 0, 0]].concat();
    let refused = snapshot_of(&later).unwrap_err();
    assert!(
        !refused.is_damage() && refused.to_string() == "image version 9, this build reads 1 and 2",
        "{refused}"
    );
}
