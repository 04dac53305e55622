//! Meshes: a header in binary LLSD, and behind it the sections that it names, each compressed with zlib.
//!
//! A section is a map of `offset`, counted from the end of the header, and `size`. The check proves that sections lie within the asset and look like zlib streams;
//! it inflates none, so that a small asset cannot cost much. A viewer takes a section of size 0 as absent, at any offset.

use super::Unfit;
use crate::kind::AssetKind;
use wire::llsd::{Limits, Llsd, binary};

/// Levels of detail. One of them at least is there.
const LEVELS: [&str; 4] = ["lowest_lod", "low_lod", "medium_lod", "high_lod"];

/// Sections besides the levels of detail; the names of old uploaders among them.
const OTHER_SECTIONS: [&str; 6] =
    ["physics_shape", "physics_mesh", "physics_convex", "physics_havok", "skin", "decomposition"];

/// Bytes in which a header ends. That of an uploader has some 500, more with names of materials.
const HEADER_BYTES_MAX: usize = 65_536;

/// Values of a header.
const HEADER_VALUES_MAX: usize = 2_048;

/// First byte of a zlib stream: deflate with a window of 32 KiB.
const ZLIB: u8 = 0x78;

const KIND: AssetKind = AssetKind::Mesh;

/// Checks a mesh.
pub(super) fn check(bytes: &[u8]) -> Result<(), Unfit> {
    let front = &bytes[..bytes.len().min(HEADER_BYTES_MAX)];
    let limits = Limits { bytes_max: HEADER_BYTES_MAX, values_max: HEADER_VALUES_MAX };
    let (header, header_bytes) =
        binary::decode_prefix(front, limits).map_err(|reason| Unfit::Llsd { kind: KIND, reason })?;
    if header.as_map().is_none() {
        return Err(Unfit::OtherForm { kind: KIND, expected: "a mesh with a header of sections" });
    }
    let data = bytes.get(header_bytes..).unwrap_or_default();
    let mut has_level = false;
    for name in LEVELS {
        has_level |= check_section(header.get(name), name, data)?;
    }
    for name in OTHER_SECTIONS {
        check_section(header.get(name), name, data)?;
    }
    if has_level { Ok(()) } else { Err(Unfit::Missing { kind: KIND, part: "level of detail" }) }
}

/// Checks one section of the header; true if there are bytes of it. `data` is all behind the header.
fn check_section(section: &Llsd, name: &'static str, data: &[u8]) -> Result<bool, Unfit> {
    if section.is_undef() {
        return Ok(false);
    }
    let invalid = Unfit::Invalid { kind: KIND, field: name };
    let Some(size) = unsigned(section.get("size")) else { return Err(invalid) };
    if size == 0 {
        return Ok(false);
    }
    let Some(offset) = unsigned(section.get("offset")) else { return Err(invalid) };
    let content = data.get(offset..).and_then(|rest| rest.get(..size));
    match content {
        Some([ZLIB, ..]) => Ok(true),
        Some(_) => Err(invalid),
        None => Err(Unfit::Truncated { kind: KIND, part: name }),
    }
}

fn unsigned(value: &Llsd) -> Option<usize> {
    usize::try_from(value.as_i32()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::assert_whole_only;
    use proptest::prelude::*;
    use wire::Malformed;

    /// A section of the header: name, offset, size.
    type Section = (&'static str, i32, i32);

    fn mesh(sections: &[Section], data: &[u8]) -> Vec<u8> {
        let section =
            |offset, size| Llsd::map([("offset", Llsd::Integer(offset)), ("size", Llsd::Integer(size))]);
        let header = Llsd::map(sections.iter().map(|&(name, offset, size)| (name, section(offset, size))));
        [binary::encode(&header), data.to_vec()].concat()
    }

    fn sample() -> Vec<u8> {
        let sections = [("high_lod", 0, 4), ("physics_convex", 4, 3), ("skin", -1, 0)];
        mesh(&sections, b"\x78\xDAab\x78\xDAc")
    }

    #[test]
    fn meshes_with_and_without_an_opening_line_are_taken() {
        assert_whole_only(&sample(), check);
        assert_whole_only(&[&b"<? LLSD/Binary ?>\n"[..], &sample()[..]].concat(), check);
    }

    #[test]
    fn sections_lie_within_the_asset() {
        let data = b"\x78\xDAab";
        let cut: Result<(), Unfit> = Err(Unfit::Truncated { kind: KIND, part: "high_lod" });
        let invalid: Result<(), Unfit> = Err(Unfit::Invalid { kind: KIND, field: "high_lod" });
        for (offset, size, refused) in [
            (0, 5, &cut),
            (1, 4, &cut),
            (5, 1, &cut),
            (i32::MAX, i32::MAX, &cut),
            (-1, 4, &invalid),
            (0, -4, &invalid),
            (i32::MIN, i32::MIN, &invalid),
            (1, 3, &invalid),
        ] {
            assert_eq!(&check(&mesh(&[("high_lod", offset, size)], data)), refused, "{offset} {size}");
        }
        let skin = [("high_lod", 0, 4), ("skin", 4, 1)];
        assert_eq!(check(&mesh(&skin, data)), Err(Unfit::Truncated { kind: KIND, part: "skin" }));
    }

    #[test]
    fn a_level_of_detail_is_there() {
        let missing = Err(Unfit::Missing { kind: KIND, part: "level of detail" });
        assert_eq!(check(&mesh(&[], b"")), missing);
        assert_eq!(check(&mesh(&[("low_lod", 0, 0)], b"")), missing);
        assert_eq!(check(&mesh(&[("skin", 0, 1)], b"\x78")), missing);
        assert_eq!(check(&mesh(&[("lowest_lod", 0, 1)], b"\x78")), Ok(()));
    }

    #[test]
    fn other_headers_are_refused() {
        let expected = "a mesh with a header of sections";
        assert_eq!(check(b"[\0\0\0\0]data"), Err(Unfit::OtherForm { kind: KIND, expected }));
        let malformed = |reason| Err(Unfit::Llsd { kind: KIND, reason });
        assert_eq!(check(b"glTF\x02\0\0\0"), malformed(Malformed::Syntax));
        assert_eq!(check(b"{\xFF\xFF\xFF\xFF"), malformed(Malformed::Truncated));
        assert_eq!(check(&b"{\0\0\0\x01k\0\0\0\x01a".repeat(10_000)), malformed(Malformed::Depth));
        let number = [&b"{\0\0\0\x01"[..], b"k\0\0\0\x08high_lod", b"i\0\0\0\x01}"].concat();
        assert_eq!(check(&number), Err(Unfit::Invalid { kind: KIND, field: "high_lod" }));
    }

    proptest! {
        #[test]
        fn a_damaged_mesh_never_panics(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut bytes = sample();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = check(&bytes);
        }

        #[test]
        fn any_section_never_panics(offset in any::<i32>(), size in any::<i32>()) {
            let _ = check(&mesh(&[("medium_lod", offset, size)], b"\x78\xDAab"));
        }
    }
}
