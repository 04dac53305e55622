//! PNG pictures of 16-bit greys without interlacing: the part of the format that terrain editors exchange.
//!
//! ```text
//! signature, then chunks: length u32 | type [u8; 4] | content | CRC-32 of type and content
//! IHDR  width u32 | height u32 | 16 | 0 (grey) | 0 | 0 | 0 (not interlaced)
//! IDAT  one or more: zlib of all rows, each a filter and its samples
//! IEND  empty
//! ```
//!
//! Integers are big-endian, samples too. Chunks of other types are left out, unless they are needed to show the picture.

use flate2::Compression;
use flate2::Crc;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use std::io::{Read as _, Write as _};

const SIGNATURE: [u8; 8] = *b"\x89PNG\r\n\x1a\n";
/// Pixels along an edge at most: those of the largest region.
const EDGE_MAX: u32 = 1_024;
/// Filter of a row that takes the row before into account.
const UP: u8 = 2;
/// Bytes of a sample.
const SAMPLE: usize = 2;

/// A picture: samples row by row from the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GreyPicture {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) samples: Vec<u16>,
}

/// Reasons for which bytes are not such a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PngError {
    /// Another kind of file.
    #[error("it is not a PNG picture")]
    Signature,
    /// A chunk ends behind the file, or its checksum is wrong.
    #[error("it is damaged or cut off")]
    Damaged,
    /// Colours, another depth, or interlaced.
    #[error("it has other pixels than 16-bit greys without interlacing")]
    Kind,
    /// A chunk that is needed to show the picture.
    #[error("it has a part that is not known here")]
    UnknownPart,
    /// No rows, or more than a region has.
    #[error("it is {0} × {1} pixels: a region has 256 to 1,024 along each edge")]
    Size(u32, u32),
}

/// Reads a picture. Takes memory for no more pixels than a region has.
pub(super) fn decode(bytes: &[u8]) -> Result<GreyPicture, PngError> {
    let mut rest = bytes.strip_prefix(&SIGNATURE).ok_or(PngError::Signature)?;
    let (mut size, mut deflated) = (None, Vec::new());
    loop {
        let (kind, content) = take_chunk(&mut rest).ok_or(PngError::Damaged)?;
        match (&kind, size) {
            (b"IHDR", None) => size = Some(read_header(content)?),
            (b"IHDR", Some(_)) | (_, None) => return Err(PngError::Damaged),
            (b"IDAT", Some(_)) => deflated.extend_from_slice(content),
            (b"IEND", Some((width, height))) => {
                let samples = unfilter(width as usize, inflate(width, height, &deflated)?)?;
                return Ok(GreyPicture { width, height, samples });
            }
            // The fifth bit of the first letter tells that the picture can be shown without it.
            ([first, ..], Some(_)) if first & 0x20 == 0 => return Err(PngError::UnknownPart),
            (_, Some(_)) => {}
        }
    }
}

/// Writes a picture.
///
/// # Panics
/// When there are other than width × height samples, or none.
pub(super) fn encode(picture: &GreyPicture) -> Vec<u8> {
    let GreyPicture { width, height, samples } = picture;
    let width_px = *width as usize;
    assert!(samples.len() == width_px * *height as usize && !samples.is_empty(), "samples of a picture");
    let mut rows = ZlibEncoder::new(Vec::new(), Compression::default());
    let mut before = vec![0_u8; width_px * SAMPLE];
    for row in samples.chunks_exact(width_px) {
        let now: Vec<u8> = row.iter().flat_map(|sample| sample.to_be_bytes()).collect();
        let mut filtered = vec![UP];
        filtered.extend(now.iter().zip(&before).map(|(now, before)| now.wrapping_sub(*before)));
        rows.write_all(&filtered).expect("memory");
        before = now;
    }
    let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
    header.extend([16, 0, 0, 0, 0]);
    let mut out = SIGNATURE.to_vec();
    push_chunk(&mut out, *b"IHDR", &header);
    push_chunk(&mut out, *b"IDAT", &rows.finish().expect("memory"));
    push_chunk(&mut out, *b"IEND", &[]);
    out
}

fn push_chunk(out: &mut Vec<u8>, kind: [u8; 4], content: &[u8]) {
    let len = u32::try_from(content.len()).expect("pictures are smaller");
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(&kind);
    out.extend_from_slice(content);
    out.extend_from_slice(&crc_of(kind, content).to_be_bytes());
}

fn crc_of(kind: [u8; 4], content: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(&kind);
    crc.update(content);
    crc.sum()
}

/// The next chunk, if it is whole.
fn take_chunk<'a>(rest: &mut &'a [u8]) -> Option<([u8; 4], &'a [u8])> {
    let (len, after) = rest.split_first_chunk::<4>()?;
    let (kind, after) = after.split_first_chunk::<4>()?;
    let (content, after) = after.split_at_checked(usize::try_from(u32::from_be_bytes(*len)).ok()?)?;
    let (crc, after) = after.split_first_chunk::<4>()?;
    *rest = after;
    (crc_of(*kind, content) == u32::from_be_bytes(*crc)).then_some((*kind, content))
}

fn read_header(content: &[u8]) -> Result<(u32, u32), PngError> {
    let content: [u8; 13] = content.try_into().map_err(|_| PngError::Damaged)?;
    let [a, b, c, d, e, f, g, h, kind @ ..] = content;
    let (width, height) = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
    if kind != [16, 0, 0, 0, 0] {
        return Err(PngError::Kind);
    }
    let is_edge = |pixels: u32| (1..=EDGE_MAX).contains(&pixels);
    if is_edge(width) && is_edge(height) { Ok((width, height)) } else { Err(PngError::Size(width, height)) }
}

/// Rows with their filters.
fn inflate(width: u32, height: u32, deflated: &[u8]) -> Result<Vec<u8>, PngError> {
    let expected = height as usize * (1 + width as usize * SAMPLE);
    let mut rows = Vec::with_capacity(expected);
    let mut decoder = ZlibDecoder::new(deflated).take(expected as u64 + 1);
    decoder.read_to_end(&mut rows).map_err(|_| PngError::Damaged)?;
    if rows.len() == expected { Ok(rows) } else { Err(PngError::Damaged) }
}

/// Samples of rows with filters.
fn unfilter(width: usize, mut rows: Vec<u8>) -> Result<Vec<u16>, PngError> {
    let mut above = vec![0_u8; width * SAMPLE];
    let mut samples = Vec::with_capacity(rows.len() / SAMPLE);
    for row in rows.chunks_exact_mut(1 + width * SAMPLE) {
        let (filter, bytes) = row.split_first_mut().expect("a filter and samples");
        for at in 0..bytes.len() {
            let (left, corner) = if at >= SAMPLE { (bytes[at - SAMPLE], above[at - SAMPLE]) } else { (0, 0) };
            let predicted = match *filter {
                0 => 0,
                1 => left,
                UP => above[at],
                3 => u8::midpoint(left, above[at]),
                4 => paeth(left, above[at], corner),
                _ => return Err(PngError::Damaged),
            };
            bytes[at] = bytes[at].wrapping_add(predicted);
        }
        above.copy_from_slice(bytes);
        samples.extend(bytes.chunks_exact(SAMPLE).map(|pair| u16::from_be_bytes([pair[0], pair[1]])));
    }
    Ok(samples)
}

/// The neighbour that is nearest to left + above − corner.
fn paeth(left: u8, above: u8, corner: u8) -> u8 {
    let sum = i16::from(left) + i16::from(above) - i16::from(corner);
    let distance = |neighbour: u8| (sum - i16::from(neighbour)).abs();
    let [of_left, of_above, of_corner] = [left, above, corner].map(distance);
    if of_left <= of_above && of_left <= of_corner {
        left
    } else if of_above <= of_corner {
        above
    } else {
        corner
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn picture(width: u32, height: u32) -> GreyPicture {
        let samples = (0..width * height).map(|n| (n.wrapping_mul(2_654_435_761) >> 16) as u16).collect();
        GreyPicture { width, height, samples }
    }

    /// A picture whose rows are as given, whatever they are.
    fn file_of(width: u32, height: u32, kind: [u8; 5], rows: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(rows).unwrap();
        let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
        header.extend(kind);
        let mut out = SIGNATURE.to_vec();
        push_chunk(&mut out, *b"IHDR", &header);
        push_chunk(&mut out, *b"tEXt", b"Comment\0left out");
        let deflated = encoder.finish().unwrap();
        deflated.chunks(7).for_each(|part| push_chunk(&mut out, *b"IDAT", part));
        push_chunk(&mut out, *b"IEND", &[]);
        out
    }

    const GREY: [u8; 5] = [16, 0, 0, 0, 0];

    #[test]
    fn a_picture_is_read_as_it_was_written() {
        for (width, height) in [(1, 1), (3, 5), (256, 256)] {
            assert_eq!(decode(&encode(&picture(width, height))), Ok(picture(width, height)));
        }
    }

    #[test]
    fn rows_of_every_filter_are_read() {
        // One row of each filter, worked out by hand: samples 1, 2, 3 in each row.
        let rows = [
            [0, 0, 1, 0, 2, 0, 3],
            [1, 0, 1, 0, 1, 0, 1],
            [2, 0, 0, 0, 0, 0, 0],
            [3, 0, 1, 0, 1, 0, 1],
            [4, 0, 0, 0, 0, 0, 0],
        ];
        let read = decode(&file_of(3, 5, GREY, &rows.concat())).unwrap();
        assert_eq!(read.samples, [1, 2, 3].repeat(5));
    }

    #[test]
    fn other_pictures_are_refused_with_the_reason() {
        let rows = [0; 15];
        let why = |bytes: &[u8]| decode(bytes).expect_err("refused");
        assert_eq!(why(b"GIF89a"), PngError::Signature);
        for kind in [[8, 0, 0, 0, 0], [16, 2, 0, 0, 0], [16, 0, 0, 0, 1]] {
            assert_eq!(why(&file_of(3, 2, kind, &rows)), PngError::Kind);
        }
        assert_eq!(why(&file_of(0, 2, GREY, &rows)), PngError::Size(0, 2));
        assert_eq!(why(&file_of(3, 1_025, GREY, &rows)), PngError::Size(3, 1_025));
        assert_eq!(why(&file_of(3, 3, GREY, &rows)), PngError::Damaged, "too few rows");
        assert_eq!(why(&file_of(3, 1, GREY, &rows)), PngError::Damaged, "too many rows");
        assert_eq!(why(&file_of(3, 2, GREY, &[9; 14])), PngError::Damaged, "an unknown filter");
        let mut needed = SIGNATURE.to_vec();
        push_chunk(&mut needed, *b"IHDR", &[0, 0, 0, 1, 0, 0, 0, 1, 16, 0, 0, 0, 0]);
        push_chunk(&mut needed, *b"WHAT", &[]);
        assert_eq!(why(&needed), PngError::UnknownPart);
    }

    #[test]
    fn a_picture_that_is_cut_off_or_altered_is_refused() {
        let bytes = encode(&picture(5, 5));
        for at in 0..bytes.len() {
            let mut altered = bytes.clone();
            altered[at] ^= 1;
            assert!(decode(&bytes[..at]).is_err() && decode(&altered).is_err(), "byte {at}");
        }
    }

    proptest! {
        #[test]
        fn any_rows_are_read_without_panic(rows in prop::collection::vec(any::<u8>(), 0..60), width in 0..5_u32, height in 0..5_u32) {
            if let Ok(read) = decode(&file_of(width, height, GREY, &rows)) {
                prop_assert_eq!(decode(&encode(&read)), Ok(read));
            }
        }
    }
}
