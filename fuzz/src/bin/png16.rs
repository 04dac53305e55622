//! Pictures of heights: a picture that is read is the same after it was written again. The first byte chooses between bytes as they are, and rows of a small picture,
//! whose chunks are made here: a fuzzer does not find a checksum.
#![no_main]

use flate2::{Compression, Crc, write::ZlibEncoder};
use libfuzzer_sys::fuzz_target;
use std::io::Write as _;

/// The module of the executable, whose crate is not built for this.
#[path = "../../../crates/throng/src/terrain/png16.rs"]
mod png16;

fn chunk(kind: [u8; 4], content: &[u8]) -> Vec<u8> {
    let mut crc = Crc::new();
    crc.update(&kind);
    crc.update(content);
    let len = content.len() as u32;
    [&len.to_be_bytes()[..], &kind, content, &crc.sum().to_be_bytes()].concat()
}

fn picture(width: u8, height: u8, rows: &[u8]) -> Vec<u8> {
    let mut header = [u32::from(width).to_be_bytes(), u32::from(height).to_be_bytes()].concat();
    header.extend([16, 0, 0, 0, 0]);
    let mut deflated = ZlibEncoder::new(Vec::new(), Compression::fast());
    deflated.write_all(rows).expect("a vector takes everything");
    let deflated = deflated.finish().expect("a vector takes everything");
    let (begin, end) = deflated.split_at(deflated.len() / 2);
    let chunks =
        [chunk(*b"IHDR", &header), chunk(*b"IDAT", begin), chunk(*b"IDAT", end), chunk(*b"IEND", &[])];
    [&b"\x89PNG\r\n\x1a\n"[..], &chunks.concat()].concat()
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&[mode, width, height], content)) = bytes.split_first_chunk::<3>() else { return };
    let file = if mode & 1 == 0 {
        content.to_vec()
    } else {
        // As many rows as there have to be, with filters of all kinds.
        let n_bytes = usize::from(height) * (1 + 2 * usize::from(width));
        let rows: Vec<u8> = content.iter().copied().cycle().take(n_bytes).collect();
        picture(width, height, &rows)
    };
    match png16::decode(&file) {
        Ok(picture) => {
            assert_eq!(picture.samples.len(), picture.width as usize * picture.height as usize);
            assert_eq!(png16::decode(&png16::encode(&picture)), Ok(picture));
        }
        Err(why) => assert!(!why.to_string().is_empty()),
    }
});
