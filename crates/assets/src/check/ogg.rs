//! Sounds: Ogg Vorbis (RFC 3533, Vorbis I specification §4.2.2).
//!
//! The check walks all pages of one logical stream, reads the identification header in the first, and takes the duration from the highest granule position.
//! Checksums are not compared and packets are not decoded: a viewer that cannot decode a sound stays silent.
//!
//! ```text
//! "OggS" version flags                0, then 1 continued, 2 first page, 4 last page
//!        granule_position             samples up to here, u64; all bits set: none
//!        stream page checksum         u32 each, little-endian
//!        n_segments lengths           u8, then as many u8, in sum the length of the data
//! data                                of the first page: 01 "vorbis" version n_channels rate …
//! ```

use super::Unfit;
use super::cursor::Cursor;
use crate::kind::AssetKind;

/// A sound lasts at most so long, in seconds. Viewers upload at most 30.
const SECONDS_MAX: u64 = 60;

/// Samples a second.
const RATES: std::ops::RangeInclusive<u32> = 8_000..=48_000;

const CHANNELS: std::ops::RangeInclusive<u8> = 1..=2;

/// Flag of the first page of a stream.
const IS_FIRST: u8 = 2;

/// Granule position of a page on which no packet ends.
const NO_POSITION: u64 = u64::MAX;

const KIND: AssetKind = AssetKind::Sound;

struct Page<'a> {
    flags: u8,
    granule_position: u64,
    stream: u32,
    data: &'a [u8],
}

/// Checks a sound.
pub(super) fn check(bytes: &[u8]) -> Result<(), Unfit> {
    let mut pages = Cursor::new(KIND, bytes);
    let first = read_page(&mut pages)?;
    if first.flags & IS_FIRST == 0 {
        return Err(invalid("first page"));
    }
    let rate = read_identification(first.data)?;
    let mut n_samples = 0_u64;
    // Each page takes 27 bytes at least, so the loop is bounded by the bytes.
    while !pages.is_at_end() {
        let page = read_page(&mut pages)?;
        if page.flags & IS_FIRST != 0 || page.stream != first.stream {
            return Err(invalid("second stream"));
        }
        if page.granule_position == NO_POSITION {
            continue;
        }
        // The position is signed in the format.
        if page.granule_position > u64::MAX / 2 {
            return Err(invalid("granule position"));
        }
        n_samples = page.granule_position.max(n_samples);
    }
    if n_samples == 0 {
        return Err(Unfit::Missing { kind: KIND, part: "samples" });
    }
    let seconds = n_samples.div_ceil(rate.into());
    if seconds > SECONDS_MAX {
        return Err(Unfit::TooLong { kind: KIND, seconds, seconds_max: SECONDS_MAX });
    }
    Ok(())
}

fn read_page<'a>(pages: &mut Cursor<'a>) -> Result<Page<'a>, Unfit> {
    let header = "page header";
    let [capture @ .., version, flags]: [u8; 6] = pages.array(header)?;
    if capture != *b"OggS" || version != 0 {
        return Err(Unfit::OtherForm { kind: KIND, expected: "Ogg Vorbis" });
    }
    let granule_position = u64::from_le_bytes(pages.array(header)?);
    let stream = u32::from_le_bytes(pages.array(header)?);
    let _page_and_checksum: [u8; 8] = pages.array(header)?;
    let [n_segments]: [u8; 1] = pages.array(header)?;
    let lengths = pages.take(n_segments.into(), header)?;
    let length: usize = lengths.iter().map(|&length| usize::from(length)).sum();
    Ok(Page { flags, granule_position, stream, data: pages.take(length, "page")? })
}

/// The rate of the identification header, in samples a second.
fn read_identification(data: &[u8]) -> Result<u32, Unfit> {
    let part = "identification header";
    let mut header = Cursor::new(KIND, data);
    let packet: [u8; 7] = header.array(part)?;
    let version = u32::from_le_bytes(header.array(part)?);
    if packet != *b"\x01vorbis" || version != 0 {
        return Err(Unfit::OtherForm { kind: KIND, expected: "Ogg Vorbis" });
    }
    let [n_channels]: [u8; 1] = header.array(part)?;
    if !CHANNELS.contains(&n_channels) {
        return Err(invalid("number of channels"));
    }
    let rate = u32::from_le_bytes(header.array(part)?);
    if !RATES.contains(&rate) {
        return Err(invalid("sample rate"));
    }
    // Three bit rates, two sizes of blocks, and the framing bit.
    let [.., framing]: [u8; 14] = header.array(part)?;
    if framing & 1 == 0 {
        return Err(invalid(part));
    }
    Ok(rate)
}

const fn invalid(field: &'static str) -> Unfit {
    Unfit::Invalid { kind: KIND, field }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::assert_whole_only;
    use proptest::prelude::*;

    fn page(flags: u8, stream: u32, granule_position: u64, data: &[u8]) -> Vec<u8> {
        let mut lengths = vec![255; data.len() / 255];
        lengths.push(u8::try_from(data.len() % 255).unwrap());
        let mut bytes = b"OggS\0".to_vec();
        bytes.push(flags);
        bytes.extend(granule_position.to_le_bytes());
        bytes.extend(stream.to_le_bytes());
        bytes.extend([0; 8]);
        bytes.push(u8::try_from(lengths.len()).unwrap());
        bytes.extend(lengths);
        bytes.extend(data);
        bytes
    }

    fn identification(n_channels: u8, rate: u32) -> Vec<u8> {
        let mut data = b"\x01vorbis\0\0\0\0".to_vec();
        data.push(n_channels);
        data.extend(rate.to_le_bytes());
        data.extend([0; 12]);
        data.extend([0xB8, 1]);
        data
    }

    /// A sound with so many samples.
    fn sound(n_channels: u8, rate: u32, n_samples: u64) -> Vec<u8> {
        let first = page(IS_FIRST, 7, 0, &identification(n_channels, rate));
        let setup = page(0, 7, 0, &[3; 600]);
        let unfinished = page(0, 7, NO_POSITION, &[4; 255]);
        let last = page(4, 7, n_samples, b"audio");
        [first, setup, unfinished, last].concat()
    }

    #[test]
    fn sounds_up_to_a_minute_are_taken() {
        assert_whole_only(&sound(1, 44_100, 44_100), check);
        assert_eq!(check(&sound(2, 48_000, 60 * 48_000)), Ok(()));
        assert_eq!(check(&sound(1, 8_000, 1)), Ok(()));
    }

    #[test]
    fn longer_sounds_are_refused_with_their_duration() {
        let too_long = |seconds| Err(Unfit::TooLong { kind: KIND, seconds, seconds_max: 60 });
        assert_eq!(check(&sound(1, 44_100, 60 * 44_100 + 1)), too_long(61));
        let endless = u64::MAX / 2;
        assert_eq!(check(&sound(1, 8_000, endless)), too_long(endless.div_ceil(8_000)));
        assert_eq!(check(&sound(1, 44_100, endless + 1)), Err(invalid("granule position")));
    }

    #[test]
    fn sounds_that_do_not_play_are_refused() {
        assert_eq!(check(&sound(0, 44_100, 9)), Err(invalid("number of channels")));
        assert_eq!(check(&sound(3, 44_100, 9)), Err(invalid("number of channels")));
        assert_eq!(check(&sound(1, 0, 9)), Err(invalid("sample rate")));
        assert_eq!(check(&sound(1, 96_000, 9)), Err(invalid("sample rate")));
        assert_eq!(check(&sound(1, 44_100, 0)), Err(Unfit::Missing { kind: KIND, part: "samples" }));
        let unframed = page(IS_FIRST, 7, 0, &[&identification(1, 44_100)[..29], &[0]].concat());
        assert_eq!(check(&unframed), Err(invalid("identification header")));
    }

    #[test]
    fn other_forms_and_second_streams_are_refused() {
        let other = Err(Unfit::OtherForm { kind: KIND, expected: "Ogg Vorbis" });
        assert_eq!(check(b"RIFF\x24\0\0\0WAVEfmt "), other);
        assert_eq!(check(&page(IS_FIRST, 7, 0, b"OpusHead\x01\x01\x38\x01")), other);
        let sample = sound(1, 44_100, 9);
        assert_eq!(check(&[&sample[..], b"ID3 and more"].concat()), other, "bytes behind the last page");
        assert_eq!(check(&[sample.clone(), sample.clone()].concat()), Err(invalid("second stream")));
        assert_eq!(check(&[sample, page(0, 8, 9, b"x")].concat()), Err(invalid("second stream")));
        assert_eq!(check(&page(0, 7, 0, &identification(1, 44_100))), Err(invalid("first page")));
    }

    proptest! {
        #[test]
        fn a_damaged_sound_never_panics(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut bytes = sound(1, 44_100, 9);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = check(&bytes);
        }

        #[test]
        fn any_position_and_rate_never_panic(rate in any::<u32>(), n_samples in any::<u64>()) {
            let _ = check(&sound(1, rate, n_samples));
        }
    }
}
