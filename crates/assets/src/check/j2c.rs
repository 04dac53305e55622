//! Textures: raw JPEG 2000 codestreams (ITU-T T.800, Annex A), without the boxes of a `.jp2` file.
//!
//! The check reads the size segment and walks the main header to its first tile. Pixels are not decoded, and the codestream may end early: viewers upload and
//! cache textures that are cut behind a quality layer, without the closing marker.
//!
//! ```text
//! FF4F                                start of codestream
//! FF51 length capabilities            size: u16, u16
//!      x_end y_end x_start y_start    of the image: u32 each, big-endian
//!      width height x_start y_start   of the first tile
//!      n_components                   u16; then depth, x step, y step for each: u8
//! FFxx length …                       further segments: u16, which counts itself
//! FF90                                first tile
//! ```

use super::Unfit;
use super::cursor::Cursor;
use crate::kind::AssetKind;

/// Pixels in a row, and rows, at most: twice the side that viewers upload.
pub(super) const PIXELS_MAX: u32 = 4_096;

/// Red, green, blue, alpha, and the bump map of old baked textures.
const COMPONENTS_MAX: u16 = 5;

/// Tiles are numbered from 0 to 65,534 (A.4.2). A decoder allocates for each, so a codestream of a few bytes would cost much without the limit.
const TILES_MAX: u64 = 65_535;

const KIND: AssetKind = AssetKind::Texture;

/// The markers SOC and SIZ.
const OPENING: [u8; 4] = [0xFF, 0x4F, 0xFF, 0x51];

/// The marker SOT.
const FIRST_TILE: u16 = 0xFF90;

const SIZE: &str = "size";
const MAIN_HEADER: &str = "main header";

/// Checks a texture.
pub(super) fn check(bytes: &[u8]) -> Result<(), Unfit> {
    let expected = "a JPEG 2000 codestream";
    let segments = bytes.strip_prefix(&OPENING).ok_or(Unfit::OtherForm { kind: KIND, expected })?;
    let mut header = Cursor::new(KIND, segments);
    check_size(&mut header)?;
    find_first_tile(&mut header)
}

/// Reads the size segment behind its marker.
fn check_size(header: &mut Cursor<'_>) -> Result<(), Unfit> {
    let length = number(header, SIZE)?;
    let _capabilities = number(header, SIZE)?;
    let mut fields = [0_u32; 8];
    for field in &mut fields {
        *field = u32::from_be_bytes(header.array(SIZE)?);
    }
    let [x_end, y_end, x_start, y_start, tile_width, tile_height, tile_x_start, tile_y_start] = fields;
    let n_components = number(header, SIZE)?;
    if n_components == 0 {
        return Err(invalid("number of components"));
    }
    if n_components > COMPONENTS_MAX {
        return Err(Unfit::TooMany {
            kind: KIND,
            items: "components",
            count: n_components.into(),
            count_max: COMPONENTS_MAX.into(),
        });
    }
    if length != 38 + 3 * n_components {
        return Err(invalid("length of the size segment"));
    }
    for _ in 0..n_components {
        let [_depth, x_step, y_step]: [u8; 3] = header.array("components")?;
        if x_step == 0 || y_step == 0 {
            return Err(invalid("subsampling"));
        }
    }
    let width = x_end.saturating_sub(x_start);
    let height = y_end.saturating_sub(y_start);
    if width == 0 || height == 0 {
        return Err(invalid("number of pixels"));
    }
    if width > PIXELS_MAX || height > PIXELS_MAX {
        return Err(Unfit::Pixels { width, height });
    }
    let columns = count_tiles(x_start, x_end, tile_x_start, tile_width);
    let rows = count_tiles(y_start, y_end, tile_y_start, tile_height);
    match (columns, rows) {
        (Some(columns), Some(rows)) if columns * rows <= TILES_MAX => Ok(()),
        _ => Err(invalid("size of tiles")),
    }
}

/// Tiles along one axis of an image from `start` to `end`, which lies behind it. The first tile has to cover a part of the image (B.3).
fn count_tiles(start: u32, end: u32, tile_start: u32, tile_size: u32) -> Option<u64> {
    let [start, end, tile_start, tile_size] = [start, end, tile_start, tile_size].map(u64::from);
    // A tile of size 0 contains nothing, so the division is by more.
    let is_placed = (tile_start..tile_start + tile_size).contains(&start);
    is_placed.then(|| end.saturating_sub(tile_start).div_ceil(tile_size))
}

/// Walks the segments of the main header up to the first tile.
fn find_first_tile(header: &mut Cursor<'_>) -> Result<(), Unfit> {
    loop {
        match number(header, MAIN_HEADER)? {
            FIRST_TILE => return Ok(()),
            // The markers of segments that a main header may have, those of Part 2 among them, but for a second size.
            0xFF50 | 0xFF52..=0xFF8F => {
                let length = number(header, MAIN_HEADER)?;
                let content = length.checked_sub(2).ok_or_else(|| invalid(MAIN_HEADER))?;
                header.take(content.into(), MAIN_HEADER)?;
            }
            _ => return Err(invalid(MAIN_HEADER)),
        }
    }
}

fn number(header: &mut Cursor<'_>, part: &'static str) -> Result<u16, Unfit> {
    header.array(part).map(u16::from_be_bytes)
}

const fn invalid(field: &'static str) -> Unfit {
    Unfit::Invalid { kind: KIND, field }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::assert_whole_only;
    use proptest::prelude::*;

    /// A codestream of the given size fields up to the marker of its first tile.
    fn codestream(fields: [u32; 8], n_components: u16) -> Vec<u8> {
        let mut bytes = OPENING.to_vec();
        bytes.extend((38 + 3 * n_components).to_be_bytes());
        bytes.extend([0, 0]);
        for field in fields {
            bytes.extend(field.to_be_bytes());
        }
        bytes.extend(n_components.to_be_bytes());
        for _ in 0..n_components {
            bytes.extend([7, 1, 1]);
        }
        // Coding style.
        bytes.extend([0xFF, 0x52, 0, 12, 0, 0, 0, 1, 1, 5, 4, 4, 0, 0]);
        bytes.extend([0xFF, 0x90]);
        bytes
    }

    fn sample() -> Vec<u8> {
        codestream([64, 32, 0, 0, 64, 32, 0, 0], 3)
    }

    #[test]
    fn codestreams_up_to_their_first_tile_are_taken() {
        assert_whole_only(&sample(), check);
        assert_eq!(check(include_bytes!("../../../grid/src/asset_sources/body/plywood.j2c")), Ok(()));
        assert_eq!(check(&codestream([4_096, 1, 0, 0, 256, 256, 0, 0], 1)), Ok(()));
        // An image at the far end of the reference grid.
        let far = u32::MAX - 16;
        assert_eq!(check(&codestream([u32::MAX, u32::MAX, far, far, 16, 16, far, far], 5)), Ok(()));
    }

    #[test]
    fn sizes_are_limited() {
        let texture = |fields| check(&codestream(fields, 3));
        assert_eq!(
            texture([70_000, 3, 0, 0, 70_000, 3, 0, 0]),
            Err(Unfit::Pixels { width: 70_000, height: 3 })
        );
        for (fields, field) in [
            ([0, 32, 0, 0, 64, 32, 0, 0], "number of pixels"),
            ([64, 32, 64, 0, 64, 32, 0, 0], "number of pixels"),
            ([64, 32, 0, u32::MAX, 64, 32, 0, 0], "number of pixels"),
            ([64, 32, 0, 0, 0, 32, 0, 0], "size of tiles"),
            ([64, 32, 0, 0, 64, 0, 0, 0], "size of tiles"),
            ([64, 32, 0, 0, 64, 32, 1, 0], "size of tiles"),
            ([64, 32, 32, 0, 32, 32, 0, 0], "size of tiles"),
            ([4_096, 4_096, 0, 0, 1, 1, 0, 0], "size of tiles"),
        ] {
            assert_eq!(texture(fields), Err(invalid(field)), "{fields:?}");
        }
    }

    #[test]
    fn components_are_limited() {
        let size = [64, 32, 0, 0, 64, 32, 0, 0];
        assert_eq!(check(&codestream(size, 0)), Err(invalid("number of components")));
        let many = Unfit::TooMany { kind: KIND, items: "components", count: 6, count_max: 5 };
        assert_eq!(check(&codestream(size, 6)), Err(many));
        let mut unstepped = sample();
        // The first component's step, behind 4 bytes of markers and 38 of the size.
        unstepped[43] = 0;
        assert_eq!(check(&unstepped), Err(invalid("subsampling")));
        let mut short = sample();
        short[5] -= 1;
        assert_eq!(check(&short), Err(invalid("length of the size segment")));
    }

    #[test]
    fn other_forms_and_broken_headers_are_refused() {
        let expected = "a JPEG 2000 codestream";
        for bytes in [&b"\0\0\0\x0CjP  \r\n\x87\n"[..], b"\x89PNG\r\n\x1A\n", b"\xFF\xD8\xFF\xE0"] {
            assert_eq!(check(bytes), Err(Unfit::OtherForm { kind: KIND, expected }));
        }
        let head = sample().len() - 2;
        // An end instead of a tile, a segment shorter than its own length, a second size.
        for marker in [&[0xFF, 0xD9][..], &[0xFF, 0x64, 0, 1], &[0xFF, 0x51, 0, 2]] {
            let broken = [&sample()[..head], marker].concat();
            assert_eq!(check(&broken), Err(invalid(MAIN_HEADER)), "{marker:?}");
        }
    }

    proptest! {
        #[test]
        fn a_damaged_codestream_never_panics(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut bytes = sample();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = check(&bytes);
        }

        #[test]
        fn any_size_never_panics(fields in any::<[u32; 8]>(), n_components in 0_u16..9) {
            let _ = check(&codestream(fields, n_components));
        }
    }
}
